"""Note what each command changes in the user's files, in `.mem/undo/`, so that it can be taken back.

Nothing here makes a command fail, or waits for the disk: what cannot be noted cannot be taken back, and that is all.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import MemError
from ..formats.entry import stated_id
from ..formats.frontmatter import document
from ..formats.ids import blake2b
from . import file_steps
from .atomic_files import digest
from .file_steps import Watcher, discard, watcher, write_all
from .privacy import make_derived, write_private
from .trust import seal_key
from .workspace import Workspace

FOLDER = "undo"
HOOK = "hook"
"""The command of what an agent's hooks do unasked; there are many, so they are counted by themselves."""
COUNTED = ".mem/access"
"""Where confirmations are counted, of which lines are noted and not bytes."""

_SHORTEST = 8  # characters of a line that is known again in another text


@dataclass(frozen=True)
class UndoRecord:
    """What one command changed, in the order in which it did."""

    number: int
    rows: tuple[Mapping[str, Any], ...]
    """As they are written: the first says what the command is."""
    is_hook: bool = False

    def __getitem__(self, key: str) -> Any:
        return self.rows[0].get(key, 0 if key == "undoes" else "")

    @property
    def changes(self) -> tuple[Mapping[str, Any], ...]:
        """Return the changes of files."""
        return tuple(row for row in self.rows[1:] if row["op"] != "made")

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the files it changed, each once."""
        paths = (path for row in self.changes for path in (row["path"], row.get("to")))
        return tuple(dict.fromkeys(path for path in paths if path))


def places(workspace: Workspace) -> list[tuple[int, Path]]:
    """List the records, each with its number, the newest first."""
    folder = workspace.derived / FOLDER
    if workspace.derived.is_symlink() or folder.is_symlink():
        return []
    records = []
    with suppress(OSError):
        for name in os.listdir(folder):
            number = name.partition(".")[0].partition("-")[0]
            if name.endswith(".jsonl") and number.isdecimal() and len(number) < 10:
                records.append((int(number), folder / name))
    return sorted(records, reverse=True)


def sealed(key: bytes, before: str, line: str) -> str:
    """Return the seal of a line of a record, which holds for this line after that one."""
    return blake2b((before + line).encode("utf-8", "surrogatepass"), digest_size=16, key=key[:64]).hexdigest()


def key_of(workspace: Workspace) -> bytes:
    """Return the secret that records are sealed with; no secret where whoever opened it believes it."""
    return seal_key(workspace.state, workspace.root) if workspace.state else b"mem"


def written(key: bytes, name: str, rows: Sequence[dict[str, Any]]) -> str:
    """Write the lines of a record, which hold for a file of this name."""
    lines, seal = [], name
    for row in rows:
        line = json.dumps(row)
        seal = sealed(key, seal, line)
        lines.append(f"{seal} {line}\n")
    return "".join(lines)


def read_records(workspace: Workspace) -> tuple[list[UndoRecord], int]:
    """Return the records, the newest first, and how many others there are, which this user's mem did not make."""
    numbered = places(workspace)
    records = [record for _, path in numbered if (record := read_record(workspace, path))]
    return [record for record in records if record.changes], len(numbered) - len(records)


def read_record(workspace: Workspace, path: Path) -> UndoRecord | None:
    """Return a record as far as it is whole; None if this user's mem did not make it."""
    with suppress(OSError, MemError, ValueError, KeyError, TypeError):
        rows = [json.loads(line.partition(b" ")[2]) for line in sound_lines(workspace, path)]
        number, _, kind = path.stem.partition("-")
        if rows:
            return UndoRecord(int(number), tuple(rows), kind == HOOK)
    return None


def sound_lines(workspace: Workspace, path: Path) -> list[bytes]:
    """Return the lines of a record up to the first that is cut off or bears no seal of this user's."""
    key, seal = key_of(workspace), path.name
    lines: list[bytes] = []
    if not key:
        return lines
    for line in file_steps.contents(path, os.O_NOFOLLOW).split(b"\n")[:-1]:
        parts = line.decode("ascii").partition(" ")
        if parts[0] != sealed(key, seal, parts[2]):
            break
        seal = parts[0]
        lines.append(line)
    return lines


def scrub(workspace: Workspace, contents: Mapping[str, bytes], but: int = 0) -> None:
    """Take texts that were deleted for good out of all records but one; they cannot be taken back afterwards."""
    for number, path in places(workspace):
        record = read_record(workspace, path) if number != but else None
        rows = scrubbed(record.rows, contents) if record else None
        if rows is not None:
            temporary = path.with_suffix(f".{os.getpid()}")
            write_private(temporary, written(key_of(workspace), path.name, rows))
            os.replace(temporary, path)


def noted_ids(workspace: Workspace) -> set[str]:
    """Return the ids of what records could bring back, of lines that were promoted on the page too."""
    from ..formats.entry_merge import stated_ids  # late: few commands ask
    from ..formats.memory_page import promoted_line

    ids = set[str]()
    for row in (row for record in read_records(workspace)[0] for row in record.changes):
        text, path = row.get("text"), row["path"]
        if not isinstance(text, str):
            continue
        if path == workspace.layout.memory:
            ids |= {promoted_line(line)[0] for line in text.split("\n")}
        elif workspace.layout.kind_of(path) == "entry":
            ids |= stated_ids(text)
    return ids - {""}


def forget(workspace: Workspace, contents: Mapping[str, bytes]) -> None:
    """Take texts that were deleted for good elsewhere out of all records, that of the command that runs included."""
    files = {workspace.root / path: data for path, data in contents.items()}
    if watch := file_steps.watcher.get() if files else None:
        watch.forgotten({path: data for path, data in files.items() if watch.watches(path)})


def scrubbed(rows: Sequence[Mapping[str, Any]], contents: Mapping[str, bytes]) -> list[dict[str, Any]] | None:
    """Return the rows of a record without what files said that are gone; None where there is nothing of it."""
    paths = set(contents)
    for row in rows:  # under whichever name it stood
        if row.get("op") == "move" and paths & {row["path"], row["to"]}:
            paths |= {row["path"], row["to"]}
    texts = [data.decode("utf-8", "replace") for data in contents.values()]
    lines = {line for text in texts for line in telling_lines(text)}
    marks = [f"<!-- {name} " for text in texts if (name := stated_id(document.parse(text).fields))]  # of promoted lines
    scrubbed_rows = []
    for row in rows:
        fields = {**row, **{key: _nameless(row[key]) for key in ("path", "to") if row.get(key) in paths}}
        text = row.get("text") if row.get("op") == "set" else None
        if text is not None and (
            row["path"] in paths or not lines.isdisjoint(telling_lines(text)) or any(mark in text for mark in marks)
        ):
            fields |= {"text": None, "purged": True}
        scrubbed_rows.append(fields)
    return scrubbed_rows if scrubbed_rows != list(rows) else None


def _nameless(path: str) -> str:
    """Return a path without the name of an entry, which is made of what it said; the same for the same path."""
    folder, slash, name = path.rpartition("/")
    is_entry = name.endswith(".md") and not name.startswith("purged-")
    return f"{folder}{slash}purged-{blake2b(name.encode(), digest_size=4).hexdigest()}.md" if is_entry else path


def telling_lines(text: str) -> set[str]:
    """Return the lines of a text that say something, without frontmatter and the marks of a list."""
    _, mark, body = text.removeprefix("---\n").partition("\n---\n") if text.startswith("---\n") else ("", "", text)
    lines = (line.strip(" \t\r-*").partition(" <!-- ")[0] for line in (body if mark else text).split("\n"))
    return {line for line in lines if len(line) >= _SHORTEST}


MOST, MOST_OF_HOOKS = 50, 20
LARGEST = 16 << 20
"""Bytes of all records together; a command that changes more than that is noted without the texts."""
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
        for workspace in workspaces:
            self.entered(workspace)

    def entered(self, workspace: Workspace) -> None:
        if workspace.beside is None:
            self._workspaces.setdefault(os.fspath(workspace.root), workspace)

    def watches(self, path: Path) -> bool:
        return bool(self._place(path)[1])

    def changed(self, path: Path, before: bytes | None, after: bytes | None, mode: int = 0) -> None:
        record, name = self._record(path)
        if record is None:
            return
        fields: dict[str, Any] = {
            "op": "set",
            "path": name,
            "was": None,
            "now": None if after is None else digest(after),
        }
        if before is not None:
            fields |= {"was": digest(before), "mode": mode}
            is_redacted = after is not None and after.count(_REDACTED) > before.count(_REDACTED)
            if after is not None and is_redacted:
                fields["purged"] = True  # what was blanked out must not stay here
                lost = set(before.splitlines()) - set(after.splitlines())
                self._scrub(path, {name: b"\n".join(lost)})
            else:
                fields["text"] = before.decode("utf-8", "surrogateescape")
        record.add(fields)

    def appended(self, path: Path, offset: int, data: bytes) -> None:
        record, name = self._record(path)
        if record:
            record.add({"op": "append", "path": name, "at": offset, "size": len(data), "now": digest(data)})

    def counted(self, workspace: Workspace, lines: str, *, is_added: bool) -> None:
        record, _ = self._record(workspace.root / "any")
        if record:
            record.add({"op": "count" if is_added else "uncount", "path": COUNTED, "text": lines})

    def moved(self, src: Path, dst: Path, then: Mapping[Path, bytes] | None = None) -> None:
        record, _ = self._record(dst)
        if record is None:
            return
        if dst.is_dir():
            for folder, _, names in os.walk(dst):
                self.made(Path(folder))
                for name in names:
                    there = Path(folder, name)
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
        for record_number, path in places(workspace):
            if record_number == number:
                self._records[os.fspath(workspace.root)] = _Writer.of(workspace, path)

    def takes_back(self, number: int) -> None:
        """Say that the command takes back a record."""
        self._undoes = number

    def mark(self, workspace: Workspace) -> list[Any] | None:
        """Return what the record is known by, for one who may have to finish the command; None for none."""
        record, _ = self._record(workspace.root / "any")
        return [record.number, self.command] if record else None

    def number(self, workspace: Workspace) -> int:
        record = self._records.get(os.fspath(workspace.root))
        return record.number if record and record.path.exists() else 0

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
            numbered = places(workspace)
            number = numbered[0][0] + 1 if numbered else 1
            _drop_oldest(numbered, is_hook=is_hook)
            ending = f"-{HOOK}.jsonl" if is_hook else ".jsonl"
            writer = cls(workspace, folder / f"{number}{ending}", number, key, os.O_CREAT | os.O_EXCL)
        except (OSError, MemError):  # another command may have taken the number, too
            return None
        by = next(filter(None, map(workspace.environ.get, ("USER", "LOGNAME"))), str(os.getuid()))
        head = {"command": command, "at": workspace.stamp, "by": by, "host": os.uname().nodename}
        writer.add(head | ({"undoes": undoes} if undoes else {}))
        return writer

    @classmethod
    def of(cls, workspace: Workspace, path: Path) -> "_Writer | None":
        """Go on with a record, after its last whole line."""
        try:
            lines = sound_lines(workspace, path)
            if not lines:
                return None
            writer = cls(workspace, path, int(path.name.partition(".")[0].partition("-")[0]), key_of(workspace), 0)
            writer._size = sum(len(line) + 1 for line in lines)
            os.ftruncate(writer._fd, writer._size)
            writer._seal = lines[-1].decode("ascii").partition(" ")[0]
            record = read_record(workspace, path)
            writer._told = {_change(row) for row in record.changes} if record else set()
        except (OSError, MemError, ValueError):
            return None
        return writer

    def add(self, fields: dict[str, Any]) -> None:
        """Write a line; where that fails the record goes, since half of one would be taken back in half."""
        if self._fd < 0 or _change(fields) in self._told:
            return
        line = json.dumps(fields)
        if self._size + len(line) > LARGEST and "text" in fields:
            line = json.dumps(fields | _LEFT_OUT)
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
        record = read_record(self.workspace, self.path)
        rows = scrubbed(record.rows, contents) if record else None
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


def _drop_oldest(numbered: Sequence[tuple[int, Path]], *, is_hook: bool) -> None:
    """Make room for one more record: there are so many of a kind, and so many bytes of all."""
    alike = [path for _, path in numbered if path.stem.endswith(HOOK) == is_hook]
    old = alike[(MOST_OF_HOOKS if is_hook else MOST) - 1 :]
    room = LARGEST
    for _, path in numbered:
        room -= path.stat().st_size
        if path in old or room < 0:
            discard(path)
