"""What is known of each source that was read, in `.mem/imports.jsonl`: losing it costs only the time to read again.

A line is written when what it tells of is safe on disk; the last line about a source holds.
"""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..store.privacy import make_derived, opener, write_private
from ..store.workspace import Workspace
from .sources import Stamp

FILE = "imports.jsonl"
_ROOM = 200  # lines more than sources, from which the file is written anew


@dataclass(frozen=True)
class Seen:
    """A source as it was read."""

    stamp: Stamp
    tool: str = ""  # by which it is counted
    taken: int = 0  # conversations that are in a session
    left_out: Mapping[str, int] = field(default_factory=dict)  # for reasons that stay
    elsewhere: Mapping[str, int] = field(default_factory=dict)  # by working directory, for being another's
    earlier: str = ""  # time of the latest that was left out for its age; empty where none was
    earlier_count: int = 0
    marks: Mapping[str, str] = field(default_factory=dict)  # of each conversation of many: when it was changed


class ImportLog:
    """Reads the file once and adds to it."""

    def __init__(self, workspace: Workspace) -> None:
        """Read what is known; a line that is none says nothing."""
        self._path = workspace.derived / FILE
        self._seen: dict[str, Seen] = {}
        lines = 0
        with suppress(OSError), self._path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                lines += 1
                with suppress(ValueError, TypeError, KeyError):
                    told = json.loads(line)
                    path = told.pop("source")
                    self._seen[path] = Seen(**{**told, "stamp": tuple(told["stamp"])})
        if lines > 2 * len(self._seen) + _ROOM:
            self._write_anew()

    def get(self, path: Path) -> Seen | None:
        """Give what is known of a source."""
        return self._seen.get(os.fspath(path))

    def add(self, seen: Iterable[tuple[Path, Seen]]) -> None:
        """Note sources that were read; what cannot be written is read again next time."""
        fresh = {os.fspath(path): one for path, one in seen}
        self._seen |= fresh
        with suppress(OSError):
            if fresh and not self._path.parent.is_symlink() and not self._path.is_symlink():
                make_derived(self._path.parent)
                with open(self._path, "ab+", opener=opener) as file:
                    size = file.seek(0, os.SEEK_END)
                    file.seek(max(size - 1, 0))
                    torn = file.read(1) not in (b"", b"\n")  # a killed one was in the middle of a line
                    lines = "".join(_line(path, one) for path, one in fresh.items())
                    file.write(b"\n" * torn + lines.encode())

    def _write_anew(self) -> None:
        with suppress(OSError):
            if not self._path.is_symlink():
                fresh = self._path.with_name(f"{FILE}.new")
                write_private(fresh, "".join(_line(path, one) for path, one in self._seen.items()))
                os.replace(fresh, self._path)


def _line(path: str, seen: Seen) -> str:
    told = {name: value for name, value in asdict(seen).items() if value}
    return json.dumps({"source": path, **told}) + "\n"
