"""Bring the counters of accesses and confirmations from `.mem/` into the files, touching only the lines they take.

An access is no change of the memory: `updated_at` stays, or every folding would make all of them young. A
confirmation is one: strength, `updated_at` and sources follow it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..dataclass import dataclass
from ..errors import MemError, RefusedError
from ..formats.entry import SPELLINGS, checked
from ..formats.frontmatter import document as frontmatter
from ..index.filters import Filter
from ..index.lookups import ask_current
from ..recall.retention import last_accessed
from ..store import access_log, atomic_files
from ..store.access_log import CONFIRMED, Access
from ..store.entries import decoded
from ..store.journal import Change, apply, exclusive
from ..store.workspace import Workspace


@dataclass(frozen=True)
class Counted:
    """A file whose counter may change."""

    path: str
    text: str
    fields: Mapping[str, object]

    @property
    def last(self) -> str:
        """Return the time of the last access the file knows of."""
        return self._moment("last_accessed_at")

    def lasts(self, identifier: str) -> list[tuple[str, str]]:
        """Return the names under which it is counted with the last moments that the file knows of."""
        return [(identifier, self.last), (CONFIRMED + identifier, self._moment("updated_at"))]

    def _moment(self, key: str) -> str:
        name = _spelled(self.fields, key)
        return str(checked(key, self.fields[name])) if name in self.fields else ""


def countable(
    workspace: Workspace, rows: Iterable[Mapping[str, Any]], ids: Collection[str]
) -> tuple[dict[str, Counted], list[tuple[str, str]]]:
    """Read the files of entries that were read or confirmed, by id.

    One without frontmatter keeps its counters beside it. `ids` are the names under which they are counted.
    """
    counted: dict[str, Counted] = {}
    problems = []
    for row in rows:
        identifier, path = row["id"], row["path"]
        if identifier in counted or not (identifier in ids or CONFIRMED + identifier in ids):
            continue
        try:
            text = decoded(path, atomic_files.read(workspace.path(path)))
        except MemError as error:
            problems.append((path, str(error)))
            continue
        document = frontmatter.parse(text)
        if document.head is not None and not document.problem:
            counted[identifier] = Counted(path, text, document.fields)
    return counted, problems


def folding(counted: Mapping[str, Counted], taken: Mapping[str, Access]) -> tuple[list[Change], list[str]]:
    """Propose the new counters; give also the names of those that they take in."""
    changes = []
    folded = []
    for identifier, file in counted.items():
        names = [name for name in (identifier, CONFIRMED + identifier) if name in taken]
        if not names:
            continue
        fields = _accessed(file, taken[identifier]) if identifier in names else {}
        if CONFIRMED + identifier in names:
            fields |= _confirmed(file, taken[CONFIRMED + identifier])
        try:
            changes.append(Change(file.path, file.text, frontmatter.edit(file.text, fields)))
        except RefusedError:  # a frontmatter in which no single line can be changed; its counters go on counting
            continue
        folded += names
    return changes, folded


@dataclass(frozen=True)
class Folding:
    """Counters that are being brought into files: the changes, and which they take in."""

    changes: tuple[Change, ...]
    folded: tuple[str, ...]  # names under which they were counted
    problems: tuple[tuple[str, str], ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids whose files change."""
        return tuple(dict.fromkeys(name.removeprefix(CONFIRMED) for name in self.folded))

    def finish(self, workspace: Workspace) -> None:
        """Note again what no file has taken in, once the changes are applied."""
        access_log.finish_folding(workspace, self.folded)


def begin_folding(workspace: Workspace, rows: Iterable[Mapping[str, Any]]) -> Folding:
    """Take the counters of entries and propose what their files become; the caller holds the workspace's lock."""
    counted, problems = countable(workspace, rows, access_log.counts(workspace))
    last_times = {name: last for identifier, file in counted.items() for name, last in file.lasts(identifier)}
    taken = access_log.take(workspace, last_times)
    changes, folded = folding(counted, taken)
    return Folding(tuple(changes), tuple(folded), tuple(problems))


def waiting(workspace: Workspace) -> tuple[bool, bool]:
    """Return whether counters wait beside the files, and whether confirmations are among them."""
    counts = access_log.counts(workspace)
    return bool(counts), any(name.startswith(CONFIRMED) for name in counts)


def fold(workspace: Workspace, command: str, rows: Sequence[Mapping[str, Any]] = ()) -> tuple[str, ...]:
    """Bring the counters of entries, by default of all active ones, into their files; return their ids."""
    chosen = rows or ask_current(workspace, lambda index: index.list_entries(Filter(managed=True), "path"))
    with exclusive(workspace, command) as held:
        prepared = begin_folding(workspace, chosen)
        apply(workspace, prepared.changes, held, folded=prepared.folded)
        prepared.finish(workspace)
    return prepared.ids


def _accessed(file: Counted, noted: Access) -> dict[str, Any]:
    name = _spelled(file.fields, "access_count")
    old = file.fields.get(name)
    return {
        name: (old if isinstance(old, int) else 0) + noted.count,
        _spelled(file.fields, "last_accessed_at"): max(noted.last, file.last),
    }


def _confirmed(file: Counted, noted: Access) -> dict[str, Any]:
    fields = file.fields
    strength, updated, sources = (_spelled(fields, key) for key in ("strength", "updated_at", "sources"))
    old = checked("strength", fields[strength]) if strength in fields else 1
    changes: dict[str, Any] = {strength: old + noted.count}
    changes[updated] = max(noted.last, str(checked("updated_at", fields[updated])) if updated in fields else "")
    old_sources = checked("sources", fields[sources]) if sources in fields else ()
    if more := [source for source in noted.sources if source not in old_sources]:
        changes[sources] = [*old_sources, *more]
    return changes


def _spelled(fields: Mapping[str, object], key: str) -> str:
    """Return the name under which a file has a key with a value that fits it; else the key itself."""
    for name in (key, *SPELLINGS[key]):
        try:
            if name in fields:
                checked(key, fields[name])
                return name
        except (TypeError, ValueError):
            continue
    return key


def rows_with_accesses(workspace: Workspace) -> tuple[list[dict[str, Any]], dict[str, Access]]:
    """Return the rows of all entries by path, whatever their status, and the accesses that are not in their files."""
    rows = ask_current(workspace, lambda index: index.list_entries(Filter(statuses=(), managed=True), "path"))
    return rows, access_log.counts(workspace, last_accessed(rows))
