"""Files of this machine in `.mem/` that only grow, written without the workspace's lock; two of them: review, accesses.

Lines that are torn or damaged are skipped by those who read them.
"""

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from stat import S_ISREG
from typing import Any

from ..formats.times import parse_time, stamp
from .privacy import make_derived, narrowed, write_private
from .workspace import Workspace


def append(workspace: Workspace, name: str, data: bytes, mode: int = 0o666) -> int:
    """Append whole lines to a file of `.mem/` in one write; return the size of the file after it, in bytes.

    `name` may begin with a folder, which is made if it is missing; `mode` is that of a new file, before it is narrowed
    to its folder's. Returns 0, and writes nothing, if `.mem/`, the folder or the file is a link, which may have come
    with a clone and lead anywhere, or if the file is no regular file. Raises OSError if it cannot be written.
    """
    path = workspace.derived / name
    if workspace.derived.is_symlink() or path.parent.is_symlink():
        return 0
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, narrowed(mode, path.parent))
    except FileNotFoundError:
        make_derived(path.parent)
        fd = os.open(path, flags, narrowed(mode, path.parent))
    try:
        if not S_ISREG(os.fstat(fd).st_mode):
            return 0
        if os.write(fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def text_of(workspace: Workspace, name: str, most: int = -1) -> str:
    """Return the text of a file of `.mem/`, up to `most` bytes of it; empty if it is a link or cannot be read."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError), open(os.open(workspace.derived / name, flags), "rb") as file:
        if S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read(most).decode("utf-8", "replace")
    return ""


def replace_text(workspace: Workspace, name: str, text: str) -> None:
    """Replace a file of `.mem/`; what another process appends at that moment may be lost. Raises OSError."""
    path = workspace.derived / name
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    write_private(temporary, text)
    os.replace(temporary, path)


REVIEW = "review"


@dataclass(frozen=True)
class ProposedDecision:
    """A decision somebody proposed who may not take it."""

    decision: str
    by: str  # observed, inferred or llm
    at: str  # RFC 3339, UTC


@dataclass(frozen=True)
class ReviewLog:
    """What the review log says, the last line of each name deciding."""

    added: Mapping[str, str] = field(default_factory=dict)  # id of an entry nobody looked at → what brought it in
    later: Mapping[str, str] = field(default_factory=dict)  # question → when it was put off
    proposals: Mapping[str, ProposedDecision] = field(default_factory=dict)  # by question


def note_added(workspace: Workspace, ids: Iterable[str], origin: str) -> None:
    """Note that a conversation or an import, named by `origin`, brought entries in."""
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


def read_review(workspace: Workspace) -> ReviewLog:
    """Return what the review log says."""
    added: dict[str, str] = {}
    later: dict[str, str] = {}
    proposals: dict[str, ProposedDecision] = {}
    for line in text_of(workspace, REVIEW).splitlines():
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
    return ReviewLog(added, later, proposals)


def _note(workspace: Workspace, rows: Iterable[Mapping[str, str]]) -> None:
    at = stamp(workspace.now)
    lines = "".join(f"{json.dumps({**row, 'at': at})}\n" for row in rows)
    with suppress(OSError):
        if lines:
            append(workspace, REVIEW, lines.encode())


ACCESSES = "access"
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
    _note_access(workspace, "".join(f"{moment}\t{one}\n" for one in ids if one.isprintable() and one.strip()))


def confirm(workspace: Workspace, confirmed: Iterable[tuple[str, Access]]) -> None:
    """Count confirmations of ids; what cannot be written is not counted."""
    _note_access(workspace, "".join(_line(CONFIRMED + one, said) for one, said in confirmed if one.isprintable()))


def confirmations(workspace: Workspace) -> dict[str, Access]:
    """Return the confirmations that are not in the files yet, by id."""
    return {
        name.removeprefix(CONFIRMED): noted for name, noted in counts(workspace).items() if name.startswith(CONFIRMED)
    }


def renewed(fields: Mapping[str, Any], noted: Access | None) -> Mapping[str, Any]:
    """Return an entry's fields with the confirmations that wait beside its file."""
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


def _note_access(workspace: Workspace, lines: str) -> None:
    with suppress(OSError, UnicodeEncodeError):
        size = append(workspace, ACCESSES, lines.encode()) if lines else 0
        if size > LARGE and size > 2 * _size_of_sums(workspace):
            text = "".join(_line(one, noted) for one, noted in _summed(_lines(workspace, ACCESSES)).items())
            replace_text(workspace, ACCESSES, f"#{len(text.encode())}\n{text}")


def counts(workspace: Workspace, folded: Mapping[str, str] = _NOTHING) -> dict[str, Access]:
    """Return the accesses noted since the last folding, by id.

    `folded` is the `last_accessed_at` of the files: it tells which lines a killed folding had brought into them.
    """
    return _summed(_counting(workspace, folded))


def take(workspace: Workspace, folded: Mapping[str, str] = _NOTHING) -> dict[str, Access]:
    """Set the noted lines aside, to be folded into the files, and return their sums; the caller holds the lock."""
    lines = list(_counting(workspace, folded))
    noted, taken = workspace.derived / ACCESSES, workspace.derived / TAKEN
    with suppress(OSError):
        if taken.exists():  # left by a folding that was killed
            text = "".join(_line(one, Access(count, moment, sources)) for moment, one, count, sources in lines)
            replace_text(workspace, TAKEN, text)
            noted.unlink()
        else:
            noted.rename(taken)
    return _summed(lines)


def finish_folding(workspace: Workspace, taken: Mapping[str, Access], folded: Mapping[str, Access]) -> None:
    """End a folding: drop what is in the files now, and note the rest again."""
    rest = ""
    for identifier, access in taken.items():
        left = access.count - (folded[identifier].count if identifier in folded else 0)
        rest += _line(identifier, replace(access, count=left)) * (left > 0)
    with suppress(OSError):
        if rest:
            append(workspace, ACCESSES, rest.encode())
        (workspace.derived / TAKEN).unlink()


def _size_of_sums(workspace: Workspace) -> int:
    """Return the size in bytes that the sums had when the file was last summed up; 0 if it never was."""
    head = text_of(workspace, ACCESSES, 32)
    number = head.partition("\n")[0].removeprefix("#")
    return int(number) if head.startswith("#") and number.isdigit() else 0


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
    for line in _lines(workspace, TAKEN):
        if line[0] > folded.get(line[1], ""):
            yield line
    yield from _lines(workspace, ACCESSES)


def _lines(workspace: Workspace, name: str) -> Iterator[_Line]:
    """Yield moment, id, count and sources of each sound line."""
    for line in text_of(workspace, name).split("\n"):
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
