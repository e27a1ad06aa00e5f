"""Note what each command changes in the user's files, in `.mem/undo/`, so that it can be taken back.

Nothing here makes a command fail, or waits for the disk: what cannot be noted cannot be taken back, and that is all.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import MemError
from .atomic_files import digest
from .file_steps import Watcher, discard, watcher, write_all
from .privacy import make_derived
from .undo_records import (
    COUNTED,
    FOLDER,
    HOOK,
    key_of,
    places,
    read_record,
    scrub,
    scrubbed,
    sealed,
    sound_lines,
    written,
)
from .workspace import Workspace

MOST, MOST_OF_HOOKS = 50, 20
LARGEST = 16 << 20
"""Bytes of all records together; a command that changes more than that is noted without the texts."""
_GIVES_BACK = "check"
"""The command whose redactions can be taken back: what patterns name later was no secret when it was kept."""
_REDACTED = b"REDACTED:"  # without its bracket, which frontmatter does not have
_APART = (".mem", ".git")
_LEFT_OUT = {"text": None, "large": True}


@contextmanager
def resumed(workspace: Workspace, mark: Any) -> Iterator[Watcher]:
    """Note what is changed meanwhile as part of a command that was killed, which gave the mark."""
    number, command = mark if isinstance(mark, list) and len(mark) == 2 else (0, "")
    own = Recording(command if isinstance(command, str) and command else "a killed command", [workspace])
    if isinstance(number, int) and number:
        own.resume(workspace, number)
    token = watcher.set(own)
    try:
        yield own
    finally:
        watcher.reset(token)
        own.close()


class Recording:
    """One command as it runs, with its record in each workspace that it changes."""

    def __init__(self, command: str, workspaces: Sequence[Workspace]) -> None:
        """Begin with the workspaces that are open; more may be entered."""
        self.command, self._undoes = command, 0
        self._workspaces: dict[str, Workspace] = {}
        self._records: dict[str, _Writer | None] = {}
        for one in workspaces:
            self.entered(one)

    def entered(self, workspace: Workspace) -> None:
        if workspace.beside is None:
            self._workspaces.setdefault(os.fspath(workspace.root), workspace)

    def watches(self, path: Path) -> bool:
        return bool(self._place(path)[1])

    def changed(self, path: Path, before: bytes | None, after: bytes | None, mode: int = 0) -> None:
        record, name = self._record(path)
        if record is None:
            return
        told: dict[str, Any] = {"op": "set", "path": name, "was": None, "now": None if after is None else digest(after)}
        if before is not None:
            told |= {"was": digest(before), "mode": mode}
            is_redacted = after is not None and after.count(_REDACTED) > before.count(_REDACTED)
            if after is not None and is_redacted and self.command != _GIVES_BACK:
                told["purged"] = True  # what was blanked out must not stay here
                lost = set(before.splitlines()) - set(after.splitlines())
                self._scrub(path, {name: b"\n".join(lost)})
            else:
                told["text"] = before.decode("utf-8", "surrogateescape")
        record.add(told)

    def appended(self, path: Path, at: int, data: bytes) -> None:
        record, name = self._record(path)
        if record:
            record.add({"op": "append", "path": name, "at": at, "size": len(data), "now": digest(data)})

    def counted(self, workspace: Workspace, lines: str, *, is_added: bool) -> None:
        record, _ = self._record(workspace.root / "any")
        if record:
            record.add({"op": "count" if is_added else "uncount", "path": COUNTED, "text": lines})

    def moved(self, src: Path, dst: Path, then: Mapping[Path, bytes] | None = None) -> None:
        record, _ = self._record(dst)
        if record is None:
            return
        if dst.is_dir():
            for place, _, names in os.walk(dst):
                self.made(Path(place))
                for name in names:
                    there = Path(place, name)
                    self._moved(record, src / there.relative_to(dst), there, then or {})
        else:
            self._moved(record, src, dst, then or {})

    def _moved(self, record: "_Writer", src: Path, dst: Path, then: Mapping[Path, bytes]) -> None:
        with suppress(OSError):
            now = digest(then[dst] if dst in then else dst.read_bytes())
            record.add({"op": "move", "path": self._place(src)[1], "to": self._place(dst)[1], "now": now})

    def made(self, folder: Path) -> None:
        record, name = self._record(folder)
        if record:
            record.add({"op": "made", "path": name})

    def destroyed(self, contents: dict[Path, bytes]) -> None:
        for path in contents:
            record, name = self._record(path)
            if record:
                record.add({"op": "set", "path": name, "was": digest(b""), "now": None, "purged": True})
        self.forgotten(contents)

    def forgotten(self, contents: dict[Path, bytes]) -> None:
        if contents:
            self._scrub(next(iter(contents)), {self._place(path)[1]: data for path, data in contents.items()})

    def resume(self, workspace: Workspace, number: int) -> None:
        """Go on with a record that there is."""
        for known, path in places(workspace):
            if known == number:
                self._records[os.fspath(workspace.root)] = _Writer.of(workspace, path)

    def takes_back(self, number: int) -> None:
        """Say that the command takes back a record."""
        self._undoes = number

    def mark(self, workspace: Workspace) -> list[Any] | None:
        """Return what the record is known by, for one who may have to finish the command; None for none."""
        record, _ = self._record(workspace.root / "any")
        return [record.number, self.command] if record else None

    def close(self) -> None:
        for record in self._records.values():
            if record:
                record.close()

    def _place(self, path: Path) -> tuple[str, str]:
        """Return the root of a path's workspace and its name there; empty for what is not the user's."""
        whole = os.fspath(path)
        roots = [root for root in self._workspaces if whole.startswith(f"{root}/")]
        root = max(roots, key=len, default="")
        name = whole[len(root) + 1 :] if root else ""
        return ("", "") if name.partition("/")[0] in _APART else (root, name)

    def _record(self, path: Path) -> "tuple[_Writer | None, str]":
        root, name = self._place(path)
        if not name:
            return None, ""
        if root not in self._records:
            self._records[root] = _Writer.begun(self._workspaces[root], self.command, self._undoes)
        return self._records[root], name

    def _scrub(self, path: Path, contents: dict[str, bytes]) -> None:
        workspace = self._workspaces[self._place(path)[0]]
        contents |= {name.removeprefix(workspace.layout.archive): data for name, data in contents.items()}
        with suppress(OSError, MemError, ValueError):
            record = self._records.get(os.fspath(workspace.root))
            scrub(workspace, contents, but=record.number if record else 0)
            if record:
                record.scrub(contents)


class _Writer:
    """A record that is being written."""

    def __init__(self, workspace: Workspace, path: Path, number: int, key: bytes, flags: int) -> None:
        self.workspace, self.path, self.number = workspace, path, number
        self._key, self._seal, self._size = key, path.name, 0
        self._told: set[tuple[str, ...]] = set()  # by who was killed, and is not to be told again
        self._fd = os.open(path, flags | os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    @classmethod
    def begun(cls, workspace: Workspace, command: str, undoes: int) -> "_Writer | None":
        """Begin a record with the next number; None where that cannot be."""
        is_hook = command.partition(" ")[0] == HOOK
        try:
            key = key_of(workspace)
            folder = workspace.derived / FOLDER
            if not key or workspace.derived.is_symlink() or folder.is_symlink():
                return None
            make_derived(folder)
            known = places(workspace)
            number = known[0][0] + 1 if known else 1
            _drop_oldest(known, is_hook=is_hook)
            ending = f"-{HOOK}.jsonl" if is_hook else ".jsonl"
            one = cls(workspace, folder / f"{number}{ending}", number, key, os.O_CREAT | os.O_EXCL)
        except (OSError, MemError):  # another command may have taken the number, too
            return None
        by = next(filter(None, map(workspace.environ.get, ("USER", "LOGNAME"))), str(os.getuid()))
        told = {"command": command, "at": workspace.stamp, "by": by, "host": os.uname().nodename}
        one.add(told | ({"undoes": undoes} if undoes else {}))
        return one

    @classmethod
    def of(cls, workspace: Workspace, path: Path) -> "_Writer | None":
        """Go on with a record, after its last whole line."""
        try:
            lines = sound_lines(workspace, path)
            if not lines:
                return None
            one = cls(workspace, path, int(path.name.partition(".")[0].partition("-")[0]), key_of(workspace), 0)
            one._size = sum(len(line) + 1 for line in lines)
            os.ftruncate(one._fd, one._size)
            one._seal = lines[-1].decode("ascii").partition(" ")[0]
            found = read_record(workspace, path)
            one._told = {_change(row) for row in found.changes} if found else set()
        except (OSError, MemError, ValueError):
            return None
        return one

    def add(self, told: dict[str, Any]) -> None:
        """Write a line; where that fails the record goes, since half of one would be taken back in half."""
        if self._fd < 0 or _change(told) in self._told:
            return
        line = json.dumps(told)
        if self._size + len(line) > LARGEST and "text" in told:
            line = json.dumps(told | _LEFT_OUT)
        self._seal = sealed(self._key, self._seal, line)
        data = f"{self._seal} {line}\n".encode()
        try:
            write_all(self._fd, data)
            self._size += len(data)
        except OSError:
            self.close()
            discard(self.path)

    def scrub(self, contents: dict[str, bytes]) -> None:
        """Take texts out of what was written so far."""
        found = read_record(self.workspace, self.path)
        rows = scrubbed(found.rows, contents) if found else None
        if rows is not None:
            data = written(self._key, self.path.name, rows)
            os.ftruncate(self._fd, 0)
            write_all(self._fd, data.encode())
            self._size, self._seal = len(data), data.splitlines()[-1].partition(" ")[0]

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _change(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which change a row tells of."""
    keys = ("op", "path", "to", "was", "now", *(("text",) if row.get("path") == COUNTED else ()))
    return tuple(str(row.get(key)) for key in keys)


def _drop_oldest(known: Sequence[tuple[int, Path]], *, is_hook: bool) -> None:
    """Make room for one more record: there are so many of a kind, and so many bytes of all."""
    alike = [path for _, path in known if path.stem.endswith(HOOK) == is_hook]
    old = alike[(MOST_OF_HOOKS if is_hook else MOST) - 1 :]
    room = LARGEST
    for _, path in known:
        room -= path.stat().st_size
        if path in old or room < 0:
            discard(path)
