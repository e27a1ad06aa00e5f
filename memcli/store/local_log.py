"""Files of this machine in `.mem/` that only grow, written without the workspace's lock; two of them: failures, review.

Lines that are torn or damaged are skipped by those who read them. `log` has one line a failure of work that nobody
watches. `begun/NAME` was touched when work of that name began, so that a hook that runs often does not begin it each
time. Neither of these two is needed: both may be deleted at any time.
"""

import errno
import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from stat import S_ISREG
from typing import Annotated

from ..dataclass import dataclass
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
    _note(workspace, [{"added": one, "by": DISPUTED} for one in ids])


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
    disputed: set[str] = set()
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
            disputed |= {told["added"]} if told.get("by") == DISPUTED else set()
        elif "looked" in told:
            disputed.discard(told["looked"])
        elif "later" in told:
            later[told["later"]] = at
        elif "proposed" in told and "decision" in told:
            proposals[told["proposed"]] = ProposedDecision(told["decision"], told.get("by", ""), at)
    return ReviewLog(frozenset(disputed), later, proposals)


def _note(workspace: Workspace, rows: Iterable[Mapping[str, str]]) -> None:
    at = workspace.stamp
    lines = "".join(f"{json.dumps({**row, 'at': at})}\n" for row in rows)
    with suppress(OSError):
        if lines:
            append(workspace, REVIEW, lines.encode())
