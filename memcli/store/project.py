"""The project around a workspace: the files that memories cite, read and never changed.

A citation may come from a clone: no path leads out of the project, into `.git` or to what is no regular file.
"""

import os
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from ..errors import GitError, RefusedError
from ..formats.links import Citation, blob_id, digest_of, found_at, lines_of
from .privacy import contained
from .workspace import Workspace

LARGEST = 4 << 20
"""Bytes of a file whose lines can be cited."""
_SECONDS = 5.0
_COMPARED = 5_000  # lines of a file


class State(NamedTuple):
    """What became of cited lines: same, moved within their file, changed, gone, or new where nobody looked yet."""

    kind: str
    now: Citation | None = None  # the citation as it would be made now; None where it cannot be
    why: str = ""  # it cannot


class Project:
    """The files of one project, each read once."""

    def __init__(self, root: Path) -> None:
        """Take the folder that cited paths are relative to, as `root_of` finds it."""
        self.root = root
        self._read: dict[str, bytes | str] = {}
        self._lines: dict[str, list[bytes]] = {}

    def data(self, path: str) -> bytes | str:
        """Return a file's bytes, or why its lines cannot be cited."""
        if path not in self._read:
            self._read[path] = _data(self.root, path)
        return self._read[path]

    def state(self, citation: Citation) -> State:
        """Compare a citation with its file, and make it anew of what stands there."""
        kind, first = self._looked(citation)
        data = self.data(citation.path)
        if isinstance(data, str):
            return State(kind, why=data)
        lines, last = self._lines[citation.path], first + citation.last - citation.first
        if not 1 <= first <= last <= len(lines):
            return State(kind, why=f"has {len(lines):,} lines")
        cited = lines[first - 1 : last]
        return State(kind, Citation(citation.path, first, last, blob_id(data), digest_of(cited)))

    def _looked(self, citation: Citation) -> tuple[str, int]:
        """Return what became of cited lines, as `State.kind` says it, and the line from which they stand."""
        data = self.data(citation.path)
        if isinstance(data, str):
            return ("changed" if (self.root / citation.path).is_file() else "gone"), citation.first
        if citation.path not in self._lines:
            self._lines[citation.path] = lines_of(data)
        if not citation.digest:
            return "new", citation.first
        is_some = citation.last >= citation.first
        start = found_at(self._lines[citation.path], citation) if is_some else 0
        if not start:
            return "changed", citation.first
        return ("same" if start == citation.first else "moved"), start

    def followed(self, citation: Citation) -> Citation:
        """Return a citation with the numbers its lines have now, by a comparison with the version that git keeps.

        As it is where git does not have that version, and for files too long to compare.
        """
        from difflib import SequenceMatcher

        from ..git import run

        now = self.data(citation.path)
        try:
            before = run.run(self.root, "cat-file", "blob", citation.blob, seconds=_SECONDS)
        except GitError:
            return citation
        if isinstance(now, str) or max(before.count(b"\n"), now.count(b"\n")) > _COMPARED:
            return citation
        first, last = len(now), 0
        for kind, old, old_end, new, new_end in SequenceMatcher(
            None, lines_of(before), lines_of(now), autojunk=False
        ).get_opcodes():
            from_, to = max(old, citation.first - 1), min(old_end, citation.last)
            if from_ >= to:
                continue
            # Lines that stand in both keep their distance; of a part that was replaced all counts.
            first = min(first, new + from_ - old if kind == "equal" else new)
            last = max(last, new + to - old if kind == "equal" else new_end)
        return citation._replace(first=first + 1, last=last) if first < last else citation

    def news(self, citation: Citation) -> str:
        """Return in a few words what became of cited lines; empty if they are as they were, wherever they stand."""
        kind = self._looked(citation)[0] if citation.digest else "new"
        if kind == "changed":
            return f"{citation.path} changed since {citation.since}"
        return f"{citation.path} is gone (was {citation.since})" if kind == "gone" else ""


def root_of(workspace: Workspace) -> Path:
    """Return the top of the repository a workspace lies in; without one the folder around the workspace."""
    for folder in (workspace.root, *workspace.root.parents):
        if (folder / ".git").exists():
            return folder
    return workspace.root.parent


def _data(root: Path, path: str) -> bytes | str:
    try:
        if os.path.isabs(path):
            raise RefusedError("is no path within the project")
        real = contained(root, root / path)
        status = os.stat(real)
        if not S_ISREG(status.st_mode):
            return "is no file"
        if status.st_size > LARGEST:
            return f"is larger than {LARGEST >> 20} MB"
        with open(os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            data = file.read(LARGEST + 1)
    except RefusedError:
        return f"is no file of the project {root}"
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return f"cannot be read ({(error.strerror or 'unknown').lower()})"
    return "is not text" if b"\0" in data else data
