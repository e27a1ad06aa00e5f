"""Memories that a merge of git left at odds: two of one key, two successors of one, one written twice, stale lines.

No file of these is damaged, and no check of a single file sees them. A person has to say which one holds.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from ..beliefs.deduplication import Fold as Fold
from ..beliefs.deduplication import alike, are_duplicates, folds
from ..beliefs.merging import is_same_slot, slot_of
from ..beliefs.plan import Plan, without_lines
from ..beliefs.supersession import EntryFile, conflicting_text, restored_text, with_text
from ..formats.entry import Entry
from ..formats.entry_merge import is_said_again
from ..formats.entry_merge import successors as successors
from ..index.file_reader import Reading
from ..store.archive import CHANGED, is_recorded
from ..store.git_commit import Merging, before_merge, last_merges
from ..store.journal import Change, Move
from ..store.merge_resolution import DISPUTED, text
from ..store.workspace import Workspace
from .checks import Checked
from .invariants import Fault, line_in_head, shown_name
from .purging import TAKEN_OFF, stale_lines

_TWIN = "says the same as {0}, written on another machine: `mem check --fix` makes one memory of them"
_TAKEN = "written on another machine too: now one memory with {0}"


def at_odds(workspace: Workspace, found: Checked, disputed: Collection[str], twins: Collection[Fold]) -> Checked:
    """Return what a check found with what there is to say of all of these; `disputed` are paths of `said_again`."""
    page = workspace.layout.memory
    stale = "{0} is no longer in use: `mem check --fix` takes its promoted line off the page"
    again = f"{DISPUTED}: `mem check --fix` takes it back into use"
    lines = _stale_lines(workspace, found.readings)
    told = {(page, line, "link") for line in lines.values()}
    faults = [one for one in found.faults if one.path not in disputed and (one.path, one.line, one.rule) not in told]
    taken = {one.path: fold.kept for fold in twins for one in fold.taken}
    faults += [one.as_fault() for one in _unflagged([one for one in found.readings if one.path not in taken])]
    faults += [Fault(path, 1, _TWIN.format(kept.path), "twin", fixable=True) for path, kept in taken.items()]
    faults += [Fault(path, 1, again, "archive", fixable=True) for path in disputed]
    faults += [Fault(page, line, stale.format(shown_name(name)), "page", fixable=True) for name, line in lines.items()]
    return Checked(tuple(sorted(faults, key=lambda one: (one.path, one.line, one.reason))), found.readings)


def settle_plan(workspace: Workspace, found: Checked, disputed: Collection[str], before: Plan) -> Plan:
    """Return a plan that flags what a person has to say which one holds, and what else follows from a merge.

    What the plan changes `before` already waits for another run.
    """
    around = [one.path for one in found.faults if one.rule == "chain" and one.fixable]
    changed = {step.path for step in before.steps}
    plan = before + _flag_plan(workspace, found.readings, around, changed)
    for one in (one for one in found.readings if one.path in disputed and one.path not in changed):
        place = workspace.free_name(one.path.removeprefix(workspace.layout.archive))
        reason = f"{one.path}: {DISPUTED}: in use again as {place}"
        plan += Plan((Move(one.path, place, one.digest),), (reason,))
    if workspace.layout.memory in changed:
        return plan
    names = _stale_lines(workspace, found.readings)
    reasons = tuple(TAKEN_OFF.format(workspace.layout.memory, name) for name in names)
    return plan + without_lines(workspace, names) + Plan((), reasons)


def twins_plan(workspace: Workspace, twins: Collection[Fold], changed: Collection[str] = ()) -> Plan:
    """Return a plan that makes one of each memory that two machines wrote; what is `changed` waits for another run.

    Every machine that merges them makes the same files of them.
    """
    plan = Plan()
    for fold in twins:
        entries = [one.entry for one in (fold.kept, *fold.taken)]
        steps = fold.steps(workspace, max(moment for one in entries for moment in (one.created_at, one.updated_at)), {})
        if not {step.path for step in steps} & {*changed}:
            reasons = (f"{one.path}: {_TAKEN.format(fold.kept.path)}" for one in fold.taken)
            plan += Plan(tuple(steps), tuple(reasons))
    return plan


def twins(workspace: Workspace, readings: Sequence[Reading]) -> tuple[Fold, ...]:
    """Return how active entries are to be folded that say the same, and that no machine had both of before a merge.

    They are as that merge made them: what somebody took apart since stays apart.
    """
    merges = last_merges(workspace) if workspace.layout.is_mems else []
    changed = {path for merge in merges for side in merge.sides for path in side}
    groups = alike(
        [
            EntryFile(one.path, one.text, one.entry)
            for one in readings
            if one.path in changed and one.entry is not None and one.status == "active" and not one.problems
        ]
    )

    def are_one(one: EntryFile, other: EntryFile) -> bool:
        return any(_brings(workspace, merge, one, other) for merge in merges) and are_duplicates(one.entry, other.entry)

    return tuple(fold for group in groups for fold in folds(workspace, group, {}, are_one))


def _brings(workspace: Workspace, merge: Merging, *pair: EntryFile) -> bool:
    """Return whether a merge made two entries as they are, none of its sides having both active and saying the same."""
    if merge.made is not None:
        made = [merge.made.get(one.path, "") for one in pair]
        data = merge.read([*filter(None, made)])
        texts = [text(data.get(blob, b"")) for blob in made]
        if [told.replace("\r\n", "\n") for told in texts] != [one.text.replace("\r\n", "\n") for one in pair]:
            return False
    for side in merge.sides:
        if all(one.path in side for one in pair):
            data = merge.read([side[one.path] for one in pair])
            if len(data) < len({side[one.path] for one in pair}):
                return False  # a partial clone lacks it
            one, other = (with_text(workspace, one, text(data[side[one.path]])).entry for one in pair)
            if one.status == other.status == "active" and are_duplicates(one, other):
                return False
    return True


def said_again(workspace: Workspace, found: Checked) -> dict[str, str]:
    """Return path and id of the archived memories that one side of the last merge forgot and the other said again.

    git follows such a move, and confirms the memory where it lies.
    """
    strays = {one.path for one in found.faults if one.rule == "archive" and one.reason.startswith(CHANGED)}
    return {
        one.path: one.entry.id
        for one in found.readings
        if one.path in strays and one.entry is not None
        for data in before_merge(workspace, one.path)
        if is_recorded(workspace, one.path, data) and is_said_again(text(data), one.text)
    }


def _stale_lines(workspace: Workspace, readings: Sequence[Reading]) -> dict[str, int]:
    page = next((one.text for one in readings if one.path == workspace.layout.memory and not one.problems), "")
    known = {one.entry.id for one in readings if one.entry is not None}
    active = {one.entry.id for one in readings if one.entry is not None and one.status == "active"}
    return stale_lines(workspace, page, known, active)


class Pair(NamedTuple):
    """Two active entries of which a person has to say which one holds."""

    one: Reading
    other: Reading
    reason: str

    def as_fault(self) -> Fault:
        """Return what there is to say of it."""
        reason = f"{self.reason}: `mem review` asks which one holds"
        return Fault(self.one.path, line_in_head(self.one.text, "key"), reason, "key", fixable=True)


def _unflagged(readings: Sequence[Reading]) -> Iterator[Pair]:
    """Yield the pairs that nothing flags: both fill one key, or each took the place of one memory on its machine."""
    active: dict[str, tuple[Reading, Entry]] = {}
    for one in readings:
        if one.entry is not None and one.status == "active" and not one.problems:
            active[one.entry.id] = one, one.entry
    slots = defaultdict[tuple[str, str], list[str]](list)
    for identifier, (_, entry) in active.items():
        if entry.key:
            slots[slot_of(entry)].append(identifier)
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


def _are_settled(one: Entry, other: Entry) -> bool:
    """Return whether two entries are flagged with each other, or somebody found them distinct."""
    told = {*one.conflicts_with, *one.distinct}, {*other.conflicts_with, *other.distinct}
    return other.id in told[0] or one.id in told[1]


def _flag_plan(
    workspace: Workspace, readings: Sequence[Reading], around: Sequence[str], changed: Collection[str]
) -> Plan:
    """Flag the pairs of which a person has to say which one holds, and take what supersedes itself back into use.

    `around` are the files that supersede each other in a circle. What is `changed` already waits for another run.
    """
    before = {
        one.path: EntryFile(one.path, one.text, one.entry)
        for one in readings
        if one.entry is not None and one.path not in changed
    }
    after = dict(before)
    pairs = []
    ids = {one.entry.id: path for path, one in before.items()}
    for path in (path for path in around if path in before):
        by = before[path].entry.superseded_by
        after[path] = with_text(workspace, before[path], restored_text(workspace, before[path]))
        pairs += [(path, ids[by])] if by in ids else []
    now = [
        replace(one, entry=after[one.path].entry, status="active") if one.path in around and one.path in after else one
        for one in readings
    ]
    pairs += [(pair.one.path, pair.other.path) for pair in _unflagged(now)]
    for pair in pairs:
        for path, other in (pair, pair[::-1]):
            if path in after and other in after:
                text = conflicting_text(workspace, after[path], after[other].entry)
                after[path] = with_text(workspace, after[path], text)
    files = [path for path in before if after[path].text != before[path].text]
    reasons = (f"{path}: flagged for `mem review`{', and active again' * (path in around)}" for path in files)
    return Plan(tuple(Change(path, before[path].text, after[path].text) for path in files), tuple(reasons))
