"""How often memories were read or confirmed since that was last brought into their files: lines of `.mem/access`."""

import errno
import json
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Any

from ..dataclass import dataclass
from ..formats.ids import day_of, parse_time
from .file_steps import watcher
from .privacy import make_derived, narrowed, write_private
from .workspace import Workspace


def append(workspace: Workspace, name: str, data: bytes, mode: int = 0o666) -> int:
    """Append whole lines to a file of `.mem/` in one write; return the size of the file after it, in bytes.

    A last line that was cut off is ended first, so that it costs no other.
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
        seen = os.fstat(fd)
        if not S_ISREG(seen.st_mode):
            return 0
        if seen.st_size and os.pread(fd, 1, seen.st_size - 1) != b"\n":
            data = b"\n" + data
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


def sweep(folder: Path, pattern: str, most: int) -> None:
    """Remove the oldest files of a folder of `.mem/`, so that `most` are left."""
    files = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime if path.exists() else 0.0)
    for path in files[: max(0, len(files) - most)]:
        with suppress(OSError):
            path.unlink()


KEPT = "kept"
"""Paths of entries made of conversations behind an agent's back, each after a mark of its consolidation."""
FAILURES = "log"
LARGEST_LOG = 64 << 10
"""Bytes of a log of failures from which a new one is begun."""
_LONGEST_LINE = 400  # characters


def log(workspace: Workspace, what: str) -> None:
    """Add a line to the log without its secrets; one that cannot be written is dropped: no agent stops for it."""
    from ..secrets.scanner import unsaid

    path = workspace.derived / FAILURES
    # Before it is cut and made one line: no rule sees half a secret.
    line = f"{workspace.stamp} {' '.join(unsaid(what, ()).split())}"[:_LONGEST_LINE]
    with suppress(OSError):
        if path.exists() and path.stat().st_size > LARGEST_LOG and not workspace.derived.is_symlink():
            os.replace(path, path.with_name(f"{FAILURES}.old"))
        append(workspace, FAILURES, f"{line}\n".encode("utf-8", "replace"))


def is_due(workspace: Workspace, name: str, seconds: float) -> bool:
    """Return whether work of a name began more than `seconds` ago, or never, and mark it as begun now.

    Work whose mark can be neither read nor written is due each time: doing it twice is safe. The clock is that of the
    file system, since marks are compared with the times it stamps.
    """
    mark = workspace.derived / "begun" / name
    with suppress(OSError):
        if 0 <= time.time() - mark.stat().st_mtime < seconds:
            return False
    with suppress(OSError):
        make_derived(mark.parent)
        mark.touch()
    return True


REVIEW = "review"


@dataclass(frozen=True)
class ProposedDecision:
    """A decision somebody proposed who may not take it."""

    decision: Annotated[str, "keep, newer, older, same or forget"]
    by: Annotated[str, "observed or llm"]
    at: Annotated[str, "when it was proposed"]


@dataclass(frozen=True)
class ReviewLog:
    """What the review log says, the last line of each name deciding."""

    disputed: frozenset[str] = frozenset()  # ids of entries of which a merge needs a word
    later: Mapping[str, str] = field(default_factory=dict)  # question → when it was put off
    proposals: Mapping[str, ProposedDecision] = field(default_factory=dict)  # by question


DISPUTED = "forgotten on one machine and said again on another"
"""What brought in a memory that stays in use after a merge, until a person has said whether it is to go."""


def note_disputed(workspace: Workspace, ids: Iterable[str]) -> None:
    """Note that a merge brought entries in that one side had forgotten."""
    _append_rows(workspace, [{"added": identifier, "by": DISPUTED} for identifier in ids])


def note_looked(workspace: Workspace, ids: Iterable[str]) -> None:
    """Note that somebody looked at entries."""
    _append_rows(workspace, [{"looked": identifier} for identifier in ids])


def note_later(workspace: Workspace, questions: Iterable[str]) -> None:
    """Note that questions were put off."""
    _append_rows(workspace, [{"later": question} for question in questions])


def note_proposal(workspace: Workspace, question: str, decision: str, by: str) -> None:
    """Note what somebody proposes who may not decide."""
    _append_rows(workspace, [{"proposed": question, "decision": decision, "by": by}])


def read_review(workspace: Workspace) -> ReviewLog:
    """Return what the review log says."""
    disputed: set[str] = set()
    later: dict[str, str] = {}
    proposals: dict[str, ProposedDecision] = {}
    for line in text_of(workspace, REVIEW).splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
            continue
        moment = row.get("at", "")
        if "added" in row:
            disputed |= {row["added"]} if row.get("by") == DISPUTED else set()
        elif "looked" in row:
            disputed.discard(row["looked"])
        elif "later" in row:
            later[row["later"]] = moment
        elif "proposed" in row and "decision" in row:
            proposals[row["proposed"]] = ProposedDecision(row["decision"], row.get("by", ""), moment)
    return ReviewLog(frozenset(disputed), later, proposals)


def _append_rows(workspace: Workspace, rows: Iterable[Mapping[str, str]]) -> None:
    stamp = workspace.stamp
    lines = "".join(f"{json.dumps({**row, 'at': stamp})}\n" for row in rows)
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
TOLD = "told:"
"""Before a day: its line counts the tokens that agents were told on it."""
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


def note(workspace: Workspace, ids: Iterable[str], moment: str = "", *, tokens: int = 0) -> None:
    """Count one access of each id, now unless a moment is given, and the tokens that an agent was told today.

    What cannot be written is not counted.
    """
    moment = moment or workspace.stamp
    lines = [f"{moment}\t{identifier}\n" for identifier in ids if identifier.isprintable() and identifier.strip()]
    if tokens:
        lines.append(f"{moment}\t{TOLD}{day_of(workspace.now, workspace.zone)}\t{tokens}\n")
    _append_accesses(workspace, "".join(lines))


def tokens_by_day(workspace: Workspace) -> dict[str, int]:
    """Return how many tokens agents were told on each day on which they were told any."""
    return {name.removeprefix(TOLD): noted.count for name, noted in counts(workspace).items() if name.startswith(TOLD)}


def confirm(workspace: Workspace, confirmed: Iterable[tuple[str, Access]]) -> None:
    """Count confirmations of ids; what cannot be written is not counted."""
    count(
        workspace,
        "".join(_line(CONFIRMED + identifier, access) for identifier, access in confirmed if identifier.isprintable()),
    )


def count(workspace: Workspace, lines: str) -> None:
    """Note lines of confirmations, as a change that can be taken back."""
    _append_accesses(workspace, lines)
    if lines and (watch := watcher.get()):
        watch.counted(workspace, lines, is_added=True)


def holds(workspace: Workspace, lines: str) -> bool:
    """Return whether all of these lines are noted as they are, neither summed up nor folded."""
    return not lines or not Counter(lines.splitlines()) - Counter(text_of(workspace, ACCESSES).splitlines())


def uncount(workspace: Workspace, lines: str) -> None:
    """Take lines of confirmations out again; the caller holds the lock."""
    if not lines:
        return
    removed = Counter(lines.splitlines(keepends=True))
    remaining = []
    for line in text_of(workspace, ACCESSES).splitlines(keepends=True):
        if removed[line] > 0:
            removed[line] -= 1
        else:
            remaining.append(line)
    with suppress(OSError):
        replace_text(workspace, ACCESSES, "".join(remaining))
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
    sources = fields.get("sources")
    listed = list(sources) if isinstance(sources, list | tuple) else []
    return {**fields, **more} | ({"sources": [*listed, *noted.sources]} if noted.sources else {})


def _append_accesses(workspace: Workspace, lines: str) -> None:
    with suppress(OSError, UnicodeEncodeError):
        size = append(workspace, ACCESSES, lines.encode()) if lines else 0
        if size > LARGE and size > 2 * _size_of_sums(workspace):
            text = "".join(
                _line(identifier, access) for identifier, access in _summed(_lines(workspace, ACCESSES)).items()
            )
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
            text = "".join(
                _line(identifier, Access(count, moment, sources)) for moment, identifier, count, sources in lines
            )
            replace_text(workspace, TAKEN, text)
            noted.unlink()
        else:
            noted.rename(taken)
    return _summed(lines)


def finish_folding(workspace: Workspace, folded: Collection[str]) -> None:
    """End a folding: drop what is in the files now, and note the rest again, line by line.

    Confirmations that went are noted as a change that can be taken back, as `count` notes those that come.
    """
    remaining = dropped = ""
    for line in text_of(workspace, TAKEN).split("\n"):
        for _, name, _, _ in _sound([line]):
            if name not in folded:
                remaining += f"{line}\n"
            elif name.startswith(CONFIRMED):
                dropped += f"{line}\n"
    if dropped and (watch := watcher.get()):  # first: what is noted twice is noted once, what is gone cannot be noted
        watch.counted(workspace, dropped, is_added=False)
    with suppress(OSError):
        if remaining:
            append(workspace, ACCESSES, remaining.encode())
        (workspace.derived / TAKEN).unlink()


def _size_of_sums(workspace: Workspace) -> int:
    """Return the size in bytes that the sums had when the file was last summed up; 0 if it never was."""
    head = text_of(workspace, ACCESSES, 32)
    number = head.partition("\n")[0].removeprefix("#")
    return int(number) if head.startswith("#") and number.isdigit() else 0


def _summed(lines: Iterable[_Line]) -> dict[str, Access]:
    sums: dict[str, Access] = {}
    for moment, identifier, count, sources in lines:
        access = sums.get(identifier, Access(0, moment))
        joined = tuple(dict.fromkeys(access.sources + sources)) if sources else access.sources
        sums[identifier] = Access(access.count + count, max(access.last, moment), joined)
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
        sources = json.loads(text)
    except ValueError:
        return ()
    return tuple(source for source in sources if isinstance(source, str)) if isinstance(sources, list) else ()
