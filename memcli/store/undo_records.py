"""Read and write the records of `.mem/undo/`, and take texts out of them.

A record is a file of lines, named by its number: what the command is, then each change once it was made. Each line is
sealed by the user's own key and the line before, so that a record that came with a clone is none.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import MemError
from ..formats.entry import stated_id
from ..formats.frontmatter import document
from ..formats.ids import blake2b
from . import file_steps
from .privacy import write_private
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
        found = (path for row in self.changes for path in (row["path"], row.get("to")))
        return tuple(dict.fromkeys(path for path in found if path))


def places(workspace: Workspace) -> list[tuple[int, Path]]:
    """List the records, each with its number, the newest first."""
    folder = workspace.derived / FOLDER
    if workspace.derived.is_symlink() or folder.is_symlink():
        return []
    found = []
    with suppress(OSError):
        for name in os.listdir(folder):
            number = name.partition(".")[0].partition("-")[0]
            if name.endswith(".jsonl") and number.isdecimal() and len(number) < 10:
                found.append((int(number), folder / name))
    return sorted(found, reverse=True)


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
    known = places(workspace)
    found = [record for _, path in known if (record := read_record(workspace, path))]
    return [record for record in found if record.changes], len(known) - len(found)


def read_record(workspace: Workspace, path: Path) -> UndoRecord | None:
    """Return a record as far as it is whole; None if this user's mem did not make it."""
    with suppress(OSError, MemError, ValueError, KeyError, TypeError):
        rows = [json.loads(line.partition(b" ")[2]) for line in sound_lines(workspace, path)]
        number, _, rest = path.stem.partition("-")
        if rows:
            return UndoRecord(int(number), tuple(rows), rest == HOOK)
    return None


def sound_lines(workspace: Workspace, path: Path) -> list[bytes]:
    """Return the lines of a record up to the first that is cut off or bears no seal of this user's."""
    key, seal = key_of(workspace), path.name
    found: list[bytes] = []
    if not key:
        return found
    for line in file_steps.contents(path, os.O_NOFOLLOW).split(b"\n")[:-1]:
        told = line.decode("ascii").partition(" ")
        if told[0] != sealed(key, seal, told[2]):
            break
        seal = told[0]
        found.append(line)
    return found


def scrub(workspace: Workspace, contents: Mapping[str, bytes], but: int = 0) -> None:
    """Take texts that were deleted for good out of all records but one; they cannot be taken back afterwards."""
    for number, path in places(workspace):
        found = read_record(workspace, path) if number != but else None
        rows = scrubbed(found.rows, contents) if found else None
        if rows is not None:
            temporary = path.with_suffix(f".{os.getpid()}")
            write_private(temporary, written(key_of(workspace), path.name, rows))
            os.replace(temporary, path)


def noted_ids(workspace: Workspace) -> set[str]:
    """Return the ids of what records could bring back, of lines that were promoted on the page too."""
    from ..formats.entry_merge import stated_ids  # late: few commands ask
    from ..formats.memory_page import promoted_line

    found = set[str]()
    for row in (row for record in read_records(workspace)[0] for row in record.changes):
        text, path = row.get("text"), row["path"]
        if not isinstance(text, str):
            continue
        if path == workspace.layout.memory:
            found |= {promoted_line(line)[0] for line in text.split("\n")}
        elif workspace.layout.kind_of(path) == "entry":
            found |= stated_ids(text)
    return found - {""}


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
    kept = []
    for row in rows:
        told = {**row, **{key: _nameless(row[key]) for key in ("path", "to") if row.get(key) in paths}}
        text = row.get("text") if row.get("op") == "set" else None
        if text is not None and (
            row["path"] in paths or not lines.isdisjoint(telling_lines(text)) or any(mark in text for mark in marks)
        ):
            told |= {"text": None, "purged": True}
        kept.append(told)
    return kept if kept != list(rows) else None


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
