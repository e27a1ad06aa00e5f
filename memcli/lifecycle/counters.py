"""Bring the counters of accesses from `.mem/` into the files, touching nothing but the two lines they take.

A change of these is no change of the memory: `updated_at` stays, or every folding would make all of them young.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import MemError, RefusedError
from ..store import files
from ..store.access import Access
from ..store.entries import decoded
from ..store.journal import Change
from ..store.workspace import Workspace
from ..text import frontmatter
from ..text.entry import SPELLINGS, checked


@dataclass(frozen=True)
class Counted:
    """A file whose counter may change."""

    path: str
    text: str
    fields: Mapping[str, object]

    @property
    def last(self) -> str:
        """Give the time of the last access the file knows of."""
        name = _spelled(self.fields, "last_accessed_at")
        return str(checked("last_accessed_at", self.fields[name])) if name in self.fields else ""


def countable(
    workspace: Workspace, rows: Iterable[Mapping[str, Any]], ids: Collection[str]
) -> tuple[dict[str, Counted], list[tuple[str, str]]]:
    """Read the files of entries that were read, by id; one without frontmatter keeps its counter beside it."""
    found: dict[str, Counted] = {}
    problems = []
    for row in rows:
        identifier, path = row["id"], row["path"]
        if identifier not in ids or identifier in found:
            continue
        try:
            text = decoded(path, files.read(workspace.path(path)))
        except MemError as error:
            problems.append((path, str(error)))
            continue
        document = frontmatter.parse(text)
        if document.head is not None and not document.problem:
            found[identifier] = Counted(path, text, document.fields)
    return found, problems


def folding(found: Mapping[str, Counted], taken: Mapping[str, Access]) -> tuple[list[Change], dict[str, Access]]:
    """Propose the new counters; give also which accesses they take in."""
    changes = []
    folded = {}
    for identifier, file in found.items():
        if identifier not in taken:
            continue
        noted = taken[identifier]
        name = _spelled(file.fields, "access_count")
        old = file.fields.get(name)
        counters = {
            name: (old if isinstance(old, int) else 0) + noted.count,
            _spelled(file.fields, "last_accessed_at"): max(noted.last, file.last),
        }
        try:
            changes.append(Change(file.path, file.text, frontmatter.edit(file.text, counters)))
        except RefusedError:  # a frontmatter in which no single line can be changed; its accesses go on counting
            continue
        folded[identifier] = noted
    return changes, folded


def _spelled(fields: Mapping[str, object], key: str) -> str:
    """Find the name under which a file keeps something; one whose value means another thing is not it."""
    for name in (key, *SPELLINGS[key]):
        try:
            if name in fields:
                checked(key, fields[name])
                return name
        except (TypeError, ValueError):
            continue
    return key
