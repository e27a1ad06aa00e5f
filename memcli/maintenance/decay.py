"""Let memories fade: score each entry, explain its number, and propose the archive for what has faded.

Archiving moves a file as it is. Spared are pinned entries, constraints, entities, what the user prefers, episodes,
summaries and what does not parse; kept is what was read or recalled lately. An entry past its `expires_at` has faded
whatever its score. One that was restored, or edited by hand, is as young as if it had changed that day. The formula is
in `recall/retention.py`.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ..beliefs.plan import Plan
from ..errors import MemError, RefusedError
from ..formats.entry import EPISODIC
from ..formats.frontmatter import document
from ..formats.times import parse_time
from ..recall.retention import Fading, fading
from ..store import atomic_files, local_log
from ..store.entries import free_name, require_archive
from ..store.history import history_steps
from ..store.journal import Move, Step, apply, exclusive
from ..store.local_log import Access
from ..store.settings import Settings
from ..store.workspace import Workspace
from .access_counters import countable, folding

SPARED = (*EPISODIC, "constraint", "entity")
"""Types whose entries stay: a rule holds until somebody changes it, and whom or what one knows is not worth less for
being known long."""
FRACTION = 0.25
"""Share of the active entries that goes in one run unless more is allowed."""
LATELY = 30.0
"""Days after a reading in which nothing goes; the time constant of the type where that is longer."""
NAMED = 20
"""Ids that a history record lists at most."""


@dataclass(frozen=True)
class Judged:
    """An entry with its score and what is to become of it."""

    row: Mapping[str, Any]
    fading: Fading
    score: float
    verdict: str  # archive, keep or spare
    reason: str


@dataclass(frozen=True)
class Decayed:
    """What an archiving did."""

    archived: tuple[tuple[str, str], ...] = ()  # id and the path in the archive
    folded: tuple[str, ...] = ()  # ids whose counters went into their files
    problems: tuple[tuple[str, str], ...] = ()  # path and why it was passed over


def judged(
    rows: Iterable[Mapping[str, Any]],
    now: datetime,
    settings: Settings,
    accesses: Mapping[str, Access],
    unread: Collection[str] = (),
) -> list[Judged]:
    """Judge active entries, the lowest score first; `unread` are paths whose frontmatter does not parse."""
    found = []
    for row in rows:
        noted = accesses.get(row["id"])
        back, edited = (_last(accesses, kind + row["id"]) for kind in (local_log.RESTORED, local_log.EDITED))
        numbers = fading(_as_young_as(row, max(back, edited)), now, settings, noted.count if noted else 0)
        read = max(noted.last if noted else "", row.get("last_accessed_at") or "")
        if row["path"] in unread:
            verdict, why = "unread", "left alone: its frontmatter does not parse"
        else:
            verdict, why = _verdict(row, numbers, back, read, now, settings["decay.threshold"])
        found.append(Judged(row, numbers, numbers.score, verdict, f"{_explained(numbers)}; {why}"))
    return sorted(found, key=lambda one: (one.score, one.row["id"], one.row["path"]))


def decay_plan(
    workspace: Workspace, entries: Sequence[Judged], noise: Callable[[int], bytes], fraction: float = FRACTION
) -> Plan:
    """Propose the moves of all that has faded, and the line of history that tells of it.

    Raises RefusedError for more than a fraction of the active entries; a file that is gone or cannot be read is left
    out.
    """
    faded = [one for one in entries if one.verdict == "archive"]
    if needed := needed_fraction(entries, fraction):
        raise RefusedError(
            f"{len(faded):,} of {len(entries):,} active entries have faded, more than {fraction:.0%}",
            f"look at them with `mem decay`; --max-fraction {needed:g} archives them all",
        )
    steps: list[Step] = []
    reasons = []
    for one in faded:
        path = one.row["path"]
        try:
            digest = atomic_files.digest(atomic_files.read(workspace.path(path)))
        except MemError:
            continue
        steps.append(Move(path, free_name(workspace, workspace.layout.archive + path), digest))
        reasons.append(f"{one.row['id']}: {one.reason}")
    if steps:
        gone = {step.path for step in steps if isinstance(step, Move)}
        names = [one.row["id"] for one in faded if one.row["path"] in gone]
        steps += history_steps(workspace, _told(names), noise(0))
    return Plan(tuple(steps), tuple(reasons))


def decay(
    workspace: Workspace, entries: Sequence[Judged], noise: Callable[[int], bytes], fraction: float = FRACTION
) -> Decayed:
    """Archive what has faded and fold the counters of the rest into their files, as one journaled change."""
    require_archive(workspace)
    if not workspace.settings["decay.enabled"]:
        raise RefusedError("decay is switched off", "switch it on with `mem config set decay.enabled true`")
    if not workspace.is_trusted:  # there everything fades: what its files say of their weight does not count
        raise RefusedError(f"{workspace.root} is not trusted", "look through it, then run `mem trust`")
    staying = [one.row for one in entries if one.verdict in ("keep", "spare")]
    with exclusive(workspace, "mem decay") as held:
        # Under the lock, since another run may just have archived the same, or having the lock finished a killed one.
        plan = decay_plan(workspace, entries, noise, fraction)
        counted, problems = countable(workspace, staying, local_log.counts(workspace))
        known = {name: last for identifier, file in counted.items() for name, last in file.lasts(identifier)}
        taken = local_log.take(workspace, known)
        changes, folded = folding(counted, taken)
        apply(workspace, [*changes, *plan.steps], held)
        local_log.settle(workspace, taken, folded)
    moves = {step.path: step.to for step in plan.steps if isinstance(step, Move)}
    for one in entries:
        path = one.row["path"]
        if one.verdict == "unread":
            problems.append((path, one.reason.rpartition("; ")[2]))
        elif one.verdict == "archive" and path not in moves and os.path.lexists(workspace.root / path):
            problems.append((path, "cannot be read"))
    archived = tuple((one.row["id"], moves[one.row["path"]]) for one in entries if one.row["path"] in moves)
    return Decayed(
        archived, tuple(dict.fromkeys(name.removeprefix(local_log.CONFIRMED) for name in folded)), tuple(problems)
    )


def needed_fraction(entries: Sequence[Judged], fraction: float = FRACTION) -> float:
    """Give the share that has to be allowed, to two digits, where more than a fraction has faded; else 0."""
    faded = sum(one.verdict == "archive" for one in entries)
    return min(1.0, -(-100 * faded // len(entries)) / 100) if faded > fraction * len(entries) else 0.0


def last_accessed(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Give the time of the last access that each entry's file knows of."""
    return {row["id"]: row["last_accessed_at"] for row in rows if row["last_accessed_at"]}


def unread_paths(workspace: Workspace, named: Iterable[str]) -> frozenset[str]:
    """Pick from the files with problems those whose frontmatter does not parse, so that nothing is known of them."""
    found = set()
    for path in named:
        try:
            text = atomic_files.read(workspace.path(path)).decode("utf-8")
        except (MemError, UnicodeDecodeError):
            found.add(path)
            continue
        if document.parse(text).problem:
            found.add(path)
    return frozenset(found)


def _as_young_as(row: Mapping[str, Any], moment: str) -> Mapping[str, Any]:
    """Let an entry's age count from a moment, if that is later than its own times."""
    return {**row, "updated_at": moment} if moment > max(row["created_at"] or "", row["updated_at"] or "") else row


def _last(accesses: Mapping[str, Access], key: str) -> str:
    return accesses[key].last if key in accesses else ""


def _verdict(
    row: Mapping[str, Any], numbers: Fading, back: str, read: str, now: datetime, threshold: float
) -> tuple[str, str]:
    if row["pinned"]:
        return "spare", "pinned"
    expires = parse_time(row["expires_at"] or "")
    if expires is not None and expires <= now and back < row["expires_at"]:
        return "archive", f"expired at {row['expires_at']}"
    if row["layer"] == "episodic" or row["type"] in SPARED:
        return "spare", f"{_a(row['type'])} does not fade"
    if row["type"] == "preference" and row["source"] == "user":
        return "spare", "what the user prefers does not fade"
    if numbers.score >= threshold:
        restored = f", restored at {back}" if back else ""
        return "keep", f"not below {threshold:g}{restored}"
    days = max(LATELY, numbers.days)
    moment = parse_time(read)
    if moment is not None and now - moment < timedelta(days=days):
        return "keep", f"read at {read}, less than {days:g} days ago"
    return "archive", f"below {threshold:g}"


def _explained(numbers: Fading) -> str:
    """Write a score as the sum it is."""
    return (
        f"e^(-{numbers.age:.1f}/{numbers.days:g}) × (1 + ln({numbers.accesses} + 1)) × {numbers.trust:g}"
        f" = {numbers.score:.3f}"
    )


def _a(word: str) -> str:
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"


def _told(ids: Sequence[str]) -> str:
    """Say for the history what was archived."""
    names = ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else "")
    what = "1 entry has" if len(ids) == 1 else f"{len(ids):,} entries have"
    return f"{what} faded and went to the archive: {names}."
