"""Append lines to a file of this machine in `.mem/`, without the workspace's lock."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from stat import S_ISREG
from typing import Any

from ..formats.times import parse_time, stamp
from .privacy import make_derived, narrowed, write_private
from .workspace import Workspace


def append(folder: Path, name: str, data: bytes) -> int:
    """Append whole lines in one write; return the size of the file after it.

    Return 0, and write nothing, where the folder or the file is a link or no plain file. Raise OSError where it cannot
    be written.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if folder.is_symlink():
        return 0
    try:
        fd = os.open(folder / name, flags, narrowed(0o666, folder))
    except FileNotFoundError:
        make_derived(folder)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        fd = os.open(folder / name, flags, narrowed(0o666, folder))
    try:
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode):
            return 0
        os.write(fd, data)
        return status.st_size + len(data)
    finally:
        os.close(fd)


FILE = "review"


@dataclass(frozen=True)
class ProposedDecision:
    """A decision somebody proposed who may not take it."""

    decision: str
    by: str  # observed, inferred or llm
    at: str  # RFC 3339, UTC


@dataclass(frozen=True)
class Noted:
    """What stands in the log, the last line of each name deciding."""

    added: Mapping[str, str] = field(default_factory=dict)  # id of an entry nobody looked at → what brought it in
    later: Mapping[str, str] = field(default_factory=dict)  # question → when it was put off
    proposals: Mapping[str, ProposedDecision] = field(default_factory=dict)  # by question


def note_added(workspace: Workspace, ids: Iterable[str], origin: str) -> None:
    """Note the entries that a conversation or an import brought in."""
    _note(workspace, [{"added": one, "by": origin} for one in ids])


def note_looked(workspace: Workspace, ids: Iterable[str]) -> None:
    """Note that somebody looked at entries."""
    _note(workspace, [{"looked": one} for one in ids])


def note_later(workspace: Workspace, questions: Iterable[str]) -> None:
    """Note that questions were put off."""
    _note(workspace, [{"later": one} for one in questions])


def note_proposal(workspace: Workspace, question: str, decision: str, by: str) -> None:
    """Note what somebody proposes who may not decide."""
    _note(workspace, [{"proposed": question, "decision": decision, "by": by}])


def read_review(workspace: Workspace) -> Noted:
    """Read the log; lines that are torn or of another kind are skipped."""
    path = workspace.derived / FILE
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() and not path.is_symlink() else ""
    except OSError:
        return Noted()
    added: dict[str, str] = {}
    later: dict[str, str] = {}
    proposals: dict[str, ProposedDecision] = {}
    for line in text.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if not isinstance(told, dict) or not all(isinstance(value, str) for value in told.values()):
            continue
        at = told.get("at", "")
        if "added" in told:
            added[told["added"]] = told.get("by", "")
        elif "looked" in told:
            added.pop(told["looked"], None)
        elif "later" in told:
            later[told["later"]] = at
        elif "proposed" in told and "decision" in told:
            proposals[told["proposed"]] = ProposedDecision(told["decision"], told.get("by", ""), at)
    return Noted(added, later, proposals)


def _note(workspace: Workspace, rows: Iterable[Mapping[str, str]]) -> None:
    at = stamp(workspace.now)
    lines = "".join(f"{json.dumps({**row, 'at': at})}\n" for row in rows)
    with suppress(OSError):
        if lines:
            append(workspace.derived, FILE, lines.encode())


ACCESS_FILE = "access"
TAKEN = "access.taken"
"""Holds the lines that are being folded into the files; left behind where that was killed."""
RESTORED = "restored:"
"""Before the id of a memory that was brought back: its line says when."""
EDITED = "edited:"
"""Before the id of a memory whose text was changed without a word of when: its line says when it was."""
CONFIRMED = "confirmed:"
"""Before the id of a memory that was said again: `mem decay --apply` brings its strength and sources into the file."""
LARGE = 256 * 1024
"""Size in bytes from which lines are summed up; where the sums alone are larger, at twice their size."""
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Access:
    """How often an id was read or confirmed since its count was last folded, and when for the last time."""

    count: int
    last: str  # RFC 3339, UTC
    sources: tuple[str, ...] = ()  # of confirmations, as the entry's frontmatter has them


_Line = tuple[str, str, int, tuple[str, ...]]


def note(workspace: Workspace, ids: Iterable[str], moment: str = "") -> None:
    """Count one access of each id, now unless a moment is given; what cannot be written is not counted."""
    moment = moment or stamp(workspace.now)
    _note_of_access(workspace, "".join(f"{moment}\t{one}\n" for one in ids if one.isprintable() and one.strip()))


def confirm(workspace: Workspace, confirmed: Iterable[tuple[str, Access]]) -> None:
    """Count confirmations of ids; what cannot be written is not counted."""
    _note_of_access(workspace, "".join(_line(CONFIRMED + one, said) for one, said in confirmed if one.isprintable()))


def confirmations(workspace: Workspace) -> dict[str, Access]:
    """Give the confirmations that are not in the files yet, by id."""
    return {
        name.removeprefix(CONFIRMED): noted for name, noted in counts(workspace).items() if name.startswith(CONFIRMED)
    }


def renewed(fields: Mapping[str, Any], noted: Access | None) -> Mapping[str, Any]:
    """Give an entry's fields with the confirmations that wait beside its file."""
    if noted is None or not fields:
        return fields
    strength = fields.get("strength")
    more = {
        "strength": (strength if isinstance(strength, int) else 1) + noted.count,
        "updated_at": max(str(fields.get("updated_at") or ""), noted.last),
    }
    known = fields.get("sources")
    listed = list(known) if isinstance(known, list | tuple) else []
    return {**fields, **more} | ({"sources": [*listed, *noted.sources]} if noted.sources else {})


def _note_of_access(workspace: Workspace, lines: str) -> None:
    with suppress(OSError, UnicodeEncodeError):
        size = append(workspace.derived, ACCESS_FILE, lines.encode()) if lines else 0
        path = workspace.derived / ACCESS_FILE
        if size > LARGE and size > 2 * _size_of_sums(path):
            _write(path, _summed(_lines(path)))


def counts(workspace: Workspace, folded: Mapping[str, str] = _NOTHING) -> dict[str, Access]:
    """Give the accesses noted since the last folding, by id.

    `folded` is the `last_accessed_at` of the files: it tells which lines a killed folding had brought into them.
    """
    return _summed(_counting(workspace, folded))


def take(workspace: Workspace, folded: Mapping[str, str] = _NOTHING) -> dict[str, Access]:
    """Set the noted lines aside, to be folded into the files, and give their sums; the caller holds the lock."""
    lines = list(_counting(workspace, folded))
    noted, taken = workspace.derived / ACCESS_FILE, workspace.derived / TAKEN
    with suppress(OSError):
        if taken.exists():  # left by a folding that was killed
            _replace(
                taken, "".join(_line(one, Access(count, moment, sources)) for moment, one, count, sources in lines)
            )
            noted.unlink()
        else:
            noted.rename(taken)
    return _summed(lines)


def finish_folding(workspace: Workspace, taken: Mapping[str, Access], folded: Mapping[str, Access]) -> None:
    """End a folding: drop what is in the files now; the rest goes on counting."""
    rest = ""
    for identifier, access in taken.items():
        left = access.count - (folded[identifier].count if identifier in folded else 0)
        rest += _line(identifier, replace(access, count=left)) * (left > 0)
    with suppress(OSError):
        if rest:
            append(workspace.derived, ACCESS_FILE, rest.encode())
        (workspace.derived / TAKEN).unlink()


def _write(path: Path, sums: Mapping[str, Access]) -> None:
    """Write one line an id; an access noted by another process in this very moment may go uncounted."""
    text = "".join(_line(identifier, one) for identifier, one in sums.items())
    _replace(path, f"#{len(text.encode())}\n{text}")


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    write_private(temporary, text)
    os.replace(temporary, path)


def _size_of_sums(path: Path) -> int:
    """Read how large the file was when it was last summed up."""
    with path.open("rb") as file:
        head = file.read(32)
    number = head.partition(b"\n")[0].removeprefix(b"#")
    return int(number) if head.startswith(b"#") and number.isdigit() else 0


def _summed(lines: Iterable[_Line]) -> dict[str, Access]:
    sums: dict[str, Access] = {}
    for moment, identifier, count, sources in lines:
        known = sums.get(identifier, Access(0, moment))
        joined = tuple(dict.fromkeys(known.sources + sources)) if sources else known.sources
        sums[identifier] = Access(known.count + count, max(known.last, moment), joined)
    return sums


def _line(name: str, noted: Access) -> str:
    """Write a line; JSON has neither tabs nor newlines of its own."""
    sources = f"\t{json.dumps(noted.sources, ensure_ascii=False)}" if noted.sources else ""
    return f"{noted.last}\t{name}\t{noted.count}{sources}\n"


def _counting(workspace: Workspace, folded: Mapping[str, str]) -> Iterator[_Line]:
    for line in _lines(workspace.derived / TAKEN):
        if line[0] > folded.get(line[1], ""):
            yield line
    yield from _lines(workspace.derived / ACCESS_FILE)


def _lines(path: Path) -> Iterator[_Line]:
    """Yield moment, id, count and sources of each sound line; torn and damaged ones are skipped."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() and not path.is_symlink() else ""
    except OSError:
        return
    for line in text.split("\n"):
        fields = line.split("\t")
        if len(fields) in (2, 3, 4) and fields[1] and parse_time(fields[0]):
            count = fields[2] if len(fields) > 2 else "1"
            if count.isdecimal() and len(count) < 10:
                yield fields[0], fields[1], int(count), _sources(fields[3]) if len(fields) == 4 else ()


def _sources(text: str) -> tuple[str, ...]:
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()
