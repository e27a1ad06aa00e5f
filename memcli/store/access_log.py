"""How often memories were read or confirmed since that was last brought into their files: lines of `.mem/access`."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..dataclass import dataclass
from ..formats.times import parse_time
from .file_steps import watcher
from .local_log import append, replace_text, text_of
from .workspace import Workspace

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
    moment = moment or workspace.stamp
    _note(workspace, "".join(f"{moment}\t{one}\n" for one in ids if one.isprintable() and one.strip()))


def confirm(workspace: Workspace, confirmed: Iterable[tuple[str, Access]]) -> None:
    """Count confirmations of ids; what cannot be written is not counted."""
    count(workspace, "".join(_line(CONFIRMED + one, said) for one, said in confirmed if one.isprintable()))


def count(workspace: Workspace, lines: str) -> None:
    """Note lines of confirmations, as a change that can be taken back."""
    _note(workspace, lines)
    if lines and (watch := watcher.get()):
        watch.counted(workspace, lines, is_added=True)


def holds(workspace: Workspace, lines: str) -> bool:
    """Return whether all of these lines are noted as they are, neither summed up nor folded."""
    return not lines or not Counter(lines.splitlines()) - Counter(text_of(workspace, ACCESSES).splitlines())


def uncount(workspace: Workspace, lines: str) -> None:
    """Take lines of confirmations out again; the caller holds the lock."""
    if not lines:
        return
    gone = Counter(lines.splitlines(keepends=True))
    kept = []
    for line in text_of(workspace, ACCESSES).splitlines(keepends=True):
        if gone[line] > 0:
            gone[line] -= 1
        else:
            kept.append(line)
    with suppress(OSError):
        replace_text(workspace, ACCESSES, "".join(kept))
        if watch := watcher.get():
            watch.counted(workspace, lines, is_added=False)


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


def _note(workspace: Workspace, lines: str) -> None:
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


def finish_folding(workspace: Workspace, folded: Collection[str]) -> None:
    """End a folding: drop what is in the files now, and note the rest again, line by line.

    Confirmations that went are noted as a change that can be taken back, as `count` notes those that come.
    """
    rest = gone = ""
    for line in text_of(workspace, TAKEN).split("\n"):
        for _, name, _, _ in _sound([line]):
            if name not in folded:
                rest += f"{line}\n"
            elif name.startswith(CONFIRMED):
                gone += f"{line}\n"
    if gone and (watch := watcher.get()):  # first: what is noted twice is noted once, what is gone cannot be noted
        watch.counted(workspace, gone, is_added=False)
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
    return _sound(text_of(workspace, name).split("\n"))


def _sound(lines: Iterable[str]) -> Iterator[_Line]:
    """Yield moment, id, count and sources of each sound line."""
    for line in lines:
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
