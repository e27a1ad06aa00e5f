"""Memories that a merge of git left at odds: two of one key, two successors of one, one written twice, stale lines.

No file of these is damaged, and no check of a single file sees them. A person has to say which one holds.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from ..beliefs.deduplication import Fold as Fold
from ..beliefs.deduplication import alike, are_duplicates, folds
from ..beliefs.plan import Plan, without_lines
from ..beliefs.supersession import EntryFile, conflicting_text, is_same_slot, restored_text, with_text
from ..dataclass import dataclass, field
from ..errors import MemError
from ..formats.entry import Entry, slot_of
from ..formats.entry_merge import is_said_again
from ..formats.entry_merge import successors as successors
from ..formats.text_lines import conflict_marker
from ..formats.three_way import sides_of
from ..git.commit import Merging, last_merges
from ..git.merge_driver import SETTINGS, kind_in, merge_content
from ..git.resolution import DISPUTED, Resolution, is_of_two, text
from ..git.run import blobs, unmerged
from ..git.tree_merge import add, settle_half_done
from ..index.file_reader import Reading, try_bytes
from ..store.access_log import note_disputed
from ..store.entries import without_marks
from ..store.journal import Change, Move
from ..store.workspace import Workspace
from .archiving import TAKEN_OFF, stale_lines
from .checks import Checked
from .invariants import Fault, line_in_head, shown_name

_TWIN = "says the same as {0}, written on another machine: `mem check --fix` makes one memory of them"
_STALE = "{0} is no longer in use: `mem check --fix` takes its promoted line off the page"
_DISPUTED = f"{DISPUTED}: `mem check --fix` takes it back into use"
_TAKEN = "written on another machine too: now one memory with {0}"


def settle_plan(workspace: Workspace, checked: Checked, disputed: Collection[str], before: Plan) -> Plan:
    """Return a plan that flags what a person has to say which one holds, and what else follows from a merge.

    What the plan changes `before` already waits for another run.
    """
    around = [fault.path for fault in checked.faults if fault.rule == "chain" and fault.fixable]
    changed = {step.path for step in before.steps}
    plan = before + _flag_plan(workspace, checked.readings, around, changed)
    for reading in checked.readings:
        if reading.path in disputed and reading.path not in changed:
            path = workspace.free_name(reading.path.removeprefix(workspace.layout.archive))
            reason = f"{reading.path}: {DISPUTED}: in use again as {path}"
            back = without_marks(workspace, {reading.path: path})  # who forgets it again does so at another moment
            plan += Plan((Move(reading.path, path, reading.digest), *back), (reason,))
    if workspace.layout.memory in changed:
        return plan
    names = _stale_lines(workspace, checked.readings)
    reasons = tuple(TAKEN_OFF.format(workspace.layout.memory, name) for name in names)
    return plan + without_lines(workspace, names) + Plan((), reasons)


def twins_plan(workspace: Workspace, twins: Collection[Fold], changed: Collection[str] = ()) -> Plan:
    """Return a plan that makes one of each memory that two machines wrote; what is `changed` waits for another run.

    Every machine that merges them makes the same files of them.
    """
    plan = Plan()
    for fold in twins:
        entries = [entry.entry for entry in (fold.kept, *fold.taken)]
        steps = fold.steps(
            workspace, max(moment for entry in entries for moment in (entry.created_at, entry.updated_at)), {}
        )
        if not {step.path for step in steps} & {*changed}:
            reasons = (f"{entry.path}: {_TAKEN.format(fold.kept.path)}" for entry in fold.taken)
            plan += Plan(tuple(steps), tuple(reasons))
    return plan


def twins(workspace: Workspace, readings: Sequence[Reading], merges: Sequence[Merging]) -> tuple[Fold, ...]:
    """Return how active entries are to be folded that say the same, and that no machine had both of before a merge.

    They are as that merge made them: what somebody took apart since stays apart.
    """
    changed = {path for merge in merges for side in merge.sides for path in side}
    groups = alike(
        [
            EntryFile(reading.path, reading.text, reading.entry)
            for reading in readings
            if reading.path in changed
            and reading.entry is not None
            and reading.status == "active"
            and not reading.problems
        ]
    )

    def are_one(left: EntryFile, right: EntryFile) -> bool:
        return any(_brings(workspace, merge, left, right) for merge in merges) and are_duplicates(
            left.entry, right.entry
        )

    return tuple(fold for group in groups for fold in folds(workspace, group, {}, are_one))


def _brings(workspace: Workspace, merge: Merging, *pair: EntryFile) -> bool:
    """Return whether a merge made two entries as they are, none of its sides having both active and saying the same."""
    if merge.result is not None:
        hashes = [merge.result.get(file.path, "") for file in pair]
        data = blobs(merge.top, [*filter(None, hashes)])
        merged = [text(data.get(blob, b"")).replace("\r\n", "\n") for blob in hashes]
        if merged != [file.text.replace("\r\n", "\n") for file in pair]:
            return False
    for side in merge.sides:
        if all(file.path in side for file in pair):
            data = blobs(merge.top, [side[file.path] for file in pair])
            if len(data) < len({side[file.path] for file in pair}):
                return False  # a partial clone lacks it
            left, right = (with_text(workspace, file, text(data[side[file.path]])).entry for file in pair)
            if left.status == right.status == "active" and are_duplicates(left, right):
                return False
    return True


def said_again(workspace: Workspace, readings: Sequence[Reading], merges: Sequence[Merging]) -> dict[str, str]:
    """Return path and id of the archived memories that one side of a merge put away and the other one said again.

    git follows such a move, and confirms the memory where it lies. They are as that merge made them: what somebody put
    away since stays there.
    """
    archived = {
        reading.path: reading
        for reading in readings
        if reading.entry is not None and workspace.layout.is_archived(reading.path)
    }
    again: dict[str, str] = {}
    for merge in merges:
        versions = {(path, blob) for side in merge.sides for path, blob in side.items() if path in archived}
        result = {path: (merge.result or {}).get(path, "") for path, _ in versions}
        data = blobs(merge.top, [*{*(blob for _, blob in versions), *result.values()} - {""}])
        for path, blob in versions:
            now = archived[path].text
            is_as_made = merge.result is None or text(data.get(result[path], b"")) == now
            if is_as_made and blob in data and is_said_again(text(data[blob]), now):
                again[path] = archived[path].entry.id  # type: ignore[union-attr]
    return again


def _stale_lines(workspace: Workspace, readings: Sequence[Reading]) -> dict[str, int]:
    page = next(
        (reading.text for reading in readings if reading.path == workspace.layout.memory and not reading.problems), ""
    )
    ids = {reading.entry.id for reading in readings if reading.entry is not None}
    active = {reading.entry.id for reading in readings if reading.entry is not None and reading.status == "active"}
    return stale_lines(workspace, page, ids, active)


class Pair(NamedTuple):
    """Two active entries of which a person has to say which one holds."""

    reading: Reading
    other: Reading
    reason: str

    def as_fault(self) -> Fault:
        """Return what there is to say of it."""
        reason = f"{self.reason}: `mem review` asks which one holds"
        return Fault(self.reading.path, line_in_head(self.reading.text, "key"), reason, "key", fixable=True)


def _unflagged(readings: Sequence[Reading]) -> Iterator[Pair]:
    """Yield the pairs that nothing flags: both fill one key, or each took the place of one memory on its machine."""
    active: dict[str, tuple[Reading, Entry]] = {}
    for reading in readings:
        if reading.entry is not None and reading.status == "active" and not reading.problems:
            active[reading.entry.id] = reading, reading.entry
    slots = defaultdict[tuple[str, str], list[str]](list)
    for identifier, (_, entry) in active.items():
        if entry.key:
            slots[slot_of(entry.key, entry.project)].append(identifier)
    for ids in slots.values():
        for first, second in combinations(sorted(ids), 2):
            if not _are_settled(active[first][1], active[second][1]):
                reason = f"fills {shown_name(active[second][1].key)} as {shown_name(first)} does"
                yield Pair(active[second][0], active[first][0], reason)
    for entry in (reading.entry for reading in readings if reading.entry is not None):
        for first, second in combinations(successors(entry), 2):
            pair = [active[name][1] for name in (first, second) if name in active]
            if len(pair) == 2 and not is_same_slot(pair[0], pair[1]) and not _are_settled(pair[0], pair[1]):
                reason = f"took the place of {shown_name(entry.id)} as {shown_name(first)} did"
                yield Pair(active[second][0], active[first][0], reason)


def _are_settled(left: Entry, right: Entry) -> bool:
    """Return whether two entries are flagged with each other, or somebody found them distinct."""
    settled = {*left.conflicts_with, *left.distinct}, {*right.conflicts_with, *right.distinct}
    return right.id in settled[0] or left.id in settled[1]


def _flag_plan(
    workspace: Workspace, readings: Sequence[Reading], around: Sequence[str], changed: Collection[str]
) -> Plan:
    """Flag the pairs of which a person has to say which one holds, and take what supersedes itself back into use.

    `around` are the files that supersede each other in a circle. What is `changed` already waits for another run.
    """
    before = {
        reading.path: EntryFile(reading.path, reading.text, reading.entry)
        for reading in readings
        if reading.entry is not None and reading.path not in changed
    }
    after = dict(before)
    pairs = []
    ids = {file.entry.id: path for path, file in before.items()}
    for path in (path for path in around if path in before):
        by = before[path].entry.superseded_by
        after[path] = with_text(workspace, before[path], restored_text(workspace, before[path]))
        pairs += [(path, ids[by])] if by in ids else []
    now = [
        replace(reading, entry=after[reading.path].entry, status="active")
        if reading.path in around and reading.path in after
        else reading
        for reading in readings
    ]
    pairs += [(pair.reading.path, pair.other.path) for pair in _unflagged(now)]
    for pair in pairs:
        for path, other in (pair, pair[::-1]):
            if path in after and other in after:
                text = conflicting_text(workspace, after[path], after[other].entry)
                after[path] = with_text(workspace, after[path], text)
    files = [path for path in before if after[path].text != before[path].text]
    reasons = (f"{path}: flagged for `mem review`{', and active again' * (path in around)}" for path in files)
    return Plan(tuple(Change(path, before[path].text, after[path].text) for path in files), tuple(reasons))


RULE = "conflict"
MARKER = "a git conflict marker"
_PASSED_OVER = "until then this file is passed over"


@dataclass(frozen=True)
class Conflict:
    """A file that git could not merge."""

    path: str
    line: int  # of the first conflict marker; 1 without any
    text: str  # as it is on disk
    merged: str | None  # as the formats of memory merge it; None where they cannot
    clashes: int  # places of the merged text that are for a person
    is_unmerged: bool  # for git
    is_one_sided: bool = False  # one side put it away or deleted it, and the other changed it
    is_settled: bool = False  # which is settled as `mem sync` does

    @property
    def is_mended(self) -> bool:
        """Return whether merging it changes anything."""
        return self.is_settled or (self.merged is not None and self.merged != self.text)

    def as_fault(self) -> Fault:
        """Return what there is to say of it."""
        then = ", then `git add` it" if self.is_unmerged else ""
        if self.is_one_sided:
            way = "`mem check --fix` keeps both" if self.is_settled else "look it through, then `git add` it"
            reason = f"one side put it away and the other changed it: {way}"
        elif self.merged is None and conflict_marker(self.text) is None:
            reason = f"git could not merge it: look it through{then}"
        elif self.is_mended:
            what = "merges it" if not self.clashes else "merges what does not contradict"
            reason = f"{MARKER}: `mem check --fix` {what}; {_PASSED_OVER}"
        else:
            reason = f"{MARKER}: resolve the conflict{then}; {_PASSED_OVER}"
        return Fault(self.path, self.line, reason, RULE, self.is_mended)


@dataclass(frozen=True)
class HalfMerge:
    """All that git could not merge, and what settles the files of which one side has none."""

    conflicts: tuple[Conflict, ...] = ()
    changes: tuple[Change, ...] = ()
    settled: Resolution = Resolution({})
    disputed: Mapping[str, str] = field(default_factory=dict)  # path and id of what one side put away, see `said_again`
    twins: tuple[Fold, ...] = ()  # entries that both sides wrote

    def plan(self, workspace: Workspace, checked: Checked, before: Plan) -> Plan:
        """Return a plan with the changes that merge what can be merged, and what follows from a merge.

        What the plan changes `before` already waits for another run.
        """
        steps = list(self.changes)
        reasons = list(self.settled.notices)
        for conflict in self.conflicts:
            if conflict.is_settled:
                reasons += [f"{conflict.path}: settled"] * (
                    not any(reason.startswith(conflict.path) for reason in reasons)
                )
            elif conflict.is_mended and conflict.merged is not None:
                steps.append(Change(conflict.path, conflict.text, conflict.merged))
                left = (
                    f", but for {conflict.clashes} place{'s' if conflict.clashes > 1 else ''} that both sides changed"
                )
                reasons.append(f"{conflict.path}: merged{left if conflict.clashes else ''}")
        plan = before + Plan(tuple(steps), tuple(reasons))
        plan += twins_plan(workspace, self.twins, {step.path for step in plan.steps})
        return settle_plan(workspace, checked, self.disputed, plan)

    def finish(self, workspace: Workspace) -> None:
        """Tell git, once the changes are applied, which files are settled, and note what a person has to say."""
        done = [
            conflict.path
            for conflict in self.conflicts
            if conflict.is_unmerged and conflict.is_mended and not conflict.clashes
        ]
        if done:
            written = [change.path for change in self.changes if change.path not in self.settled.clashes]
            add(workspace, dict.fromkeys([*done, *written]))
        note_disputed(workspace, [*self.settled.disputed, *self.disputed.values()])


def with_conflicts(workspace: Workspace, checked: Checked) -> tuple[Checked, HalfMerge]:
    """Return what a check found with what merges left behind, and what git could not merge."""
    readings, page = checked.readings, workspace.layout.memory
    merge = half_merge(workspace, readings)
    merges = last_merges(workspace) if workspace.layout.is_mems else []
    again = said_again(workspace, readings, merges)
    merge = replace(merge, disputed=again, twins=twins(workspace, readings, merges))
    conflicting = {conflict.path for conflict in merge.conflicts}
    changing = {
        change.path for change in merge.changes
    }  # nothing else mends these, such as an id that two of them have
    faults = [
        fault
        for fault in checked.faults
        if (fault.path not in conflicting or MARKER not in fault.reason)
        and (fault.path not in changing or not fault.fixable)
    ]
    faults += [conflict.as_fault() for conflict in merge.conflicts]
    lines = _stale_lines(workspace, readings)
    stale = {(page, line, "link") for line in lines.values()}
    faults = [fault for fault in faults if (fault.path, fault.line, fault.rule) not in stale]
    taken = {file.path: fold.kept.path for fold in merge.twins for file in fold.taken}
    faults += [pair.as_fault() for pair in _unflagged([file for file in readings if file.path not in taken])]
    faults += [Fault(path, 1, _TWIN.format(remaining), "twin", fixable=True) for path, remaining in taken.items()]
    faults += [Fault(path, 1, _DISPUTED, "archive", fixable=True) for path in merge.disputed]
    faults += [Fault(page, line, _STALE.format(shown_name(name)), "page", fixable=True) for name, line in lines.items()]
    return Checked.of(faults, readings), merge


def half_merge(workspace: Workspace, readings: Sequence[Reading]) -> HalfMerge:
    """Find the files that git could not merge, and merge each as the driver or `mem sync` would have."""
    stages = unmerged(workspace)
    texts = {
        reading.path: reading.text
        for reading in readings
        if (reading.path in stages or conflict_marker(reading.text) is not None)
        and len(reading.text.encode()) == reading.stat[2]
    }
    settings = try_bytes(workspace, SETTINGS)
    if not isinstance(settings, str) and len(settings[0]) == settings[1][2]:
        text = settings[0].decode("utf-8", "replace")
        if SETTINGS in stages or conflict_marker(text) is not None:
            texts[SETTINGS] = text
    one_sided = {path: sides for path, sides in stages.items() if not {2, 3} <= sides.keys() or is_of_two(sides)}
    changes, settled = _one_sided(workspace, one_sided) if one_sided else ((), Resolution({}))
    conflicts = []
    for path in sorted({*texts, *one_sided}):
        if path in settled.files:
            text = texts.get(path, "")
            clashes = int(path in settled.clashes)
            conflicts.append(
                Conflict(path, 1, text, None, clashes, is_unmerged=True, is_one_sided=True, is_settled=True)
            )
        else:
            conflicts.append(_conflict(workspace, path, texts.get(path, ""), stages.get(path, {})))
    return HalfMerge(tuple(conflicts), changes, settled)


def _one_sided(workspace: Workspace, paths: Mapping[str, Mapping[int, bytes]]) -> tuple[tuple[Change, ...], Resolution]:
    """Return the changes that settle files of which one side has none; nothing where that is for a person."""
    try:
        settled = settle_half_done(workspace, paths)
        texts = {path: file[1].decode() if file else None for path, file in settled.files.items()}
        now = {path: _text(workspace, path) for path in texts}
    except (MemError, OSError, UnicodeDecodeError):  # a rewritten or shallow history, another git at work, no text
        return (), Resolution({})
    changes = [Change(path, now[path], text) for path, text in texts.items() if now[path] != text]
    order = sorted(changes, key=lambda change: change.after is None)  # the new file stands before the old one goes
    return tuple(order), settled


def _text(workspace: Workspace, path: str) -> str | None:
    target = workspace.path(path)
    return target.read_bytes().decode() if target.exists() else None


def _conflict(workspace: Workspace, path: str, text: str, stages: Mapping[int, bytes]) -> Conflict:
    line = conflict_marker(text)
    sides = sides_of(text) if line is not None else None
    if sides is None:
        is_one_sided = line is None and bool(stages) and not {2, 3} <= stages.keys()
        return Conflict(path, line or 1, text, None, 0, bool(stages), is_one_sided)
    base = stages.get(1, sides[0].encode())
    merged = merge_content(
        kind_in(workspace.layout, path), base, sides[1].encode(), sides[2].encode(), is_half_merged=True
    )
    if merged is None:
        return Conflict(path, line or 1, text, None, 0, bool(stages))
    return Conflict(path, line or 1, text, merged[0].decode(), merged[1], bool(stages))
