"""What merges of git left behind: files with conflict markers, and memories that contradict each other unseen.

The files are merged by the same formats that the merge driver takes. A line that both sides changed stays for a person.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from ..beliefs.merging import is_same_slot, slot_of
from ..beliefs.plan import Plan
from ..beliefs.supersession import EntryFile, conflicting_text, restored_text, with_text
from ..dataclass import dataclass
from ..formats.entry import Entry
from ..formats.entry_merge import LOST
from ..formats.links import bare
from ..formats.text_lines import conflict_marker
from ..formats.three_way import sides_of
from ..index.file_reader import Reading
from ..store.git import unmerged
from ..store.journal import Change, Step
from ..store.merge_driver import SETTINGS, kind_in, merge_content
from ..store.workspace import Workspace
from .checks import Checked
from .invariants import Fault, line_in_head, shown_name

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

    @property
    def is_mended(self) -> bool:
        """Return whether merging it changes anything."""
        return self.merged is not None and self.merged != self.text

    def as_fault(self) -> Fault:
        """Return what there is to say of it."""
        then = ", then `git add` it" if self.is_unmerged else ""
        if self.is_one_sided:
            reason = (
                "one side put it away and the other changed it: `git merge --abort` and then `mem sync` keep both; or"
                " look it through, then `git add` it"
            )
        elif self.merged is None and conflict_marker(self.text) is None:
            reason = f"git could not merge it: look it through{then}"
        elif self.is_mended:
            what = "merges it" if not self.clashes else "merges what does not contradict"
            reason = f"{MARKER}: `mem check --fix` {what}; {_PASSED_OVER}"
        else:
            reason = f"{MARKER}: resolve the conflict{then}; {_PASSED_OVER}"
        return Fault(self.path, self.line, reason, RULE, self.is_mended)


def with_conflicts(workspace: Workspace, found: Checked) -> tuple[Checked, list[Conflict]]:
    """Return what a check found with what merges left behind, and the files that git could not merge."""
    conflicts = find_conflicts(workspace, found.readings)
    told = {one.path for one in conflicts}
    faults = [one for one in found.faults if one.path not in told or MARKER not in one.reason]
    faults += [*(one.as_fault() for one in conflicts), *(one.as_fault() for one in unflagged(found.readings))]
    return Checked(tuple(sorted(faults, key=lambda one: (one.path, one.line, one.reason))), found.readings), conflicts


def find_conflicts(workspace: Workspace, readings: Sequence[Reading]) -> list[Conflict]:
    """Find the files that git could not merge, and merge each as the driver would have."""
    stages = unmerged(workspace)
    texts = {
        one.path: one.text
        for one in readings
        if (one.path in stages or conflict_marker(one.text) is not None) and len(one.text.encode()) == one.stat[2]
    }
    settings = workspace.root / SETTINGS
    if settings.is_file():
        text = settings.read_bytes().decode("utf-8", "replace")
        if SETTINGS in stages or conflict_marker(text) is not None:
            texts[SETTINGS] = text
    return [_conflict(workspace, path, text, stages.get(path, {})) for path, text in sorted(texts.items())]


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


def resolve_plan(workspace: Workspace, found: Checked, conflicts: Sequence[Conflict], before: Plan) -> Plan:
    """Return a plan with the changes that merge files, and flag what a person has to say which one holds.

    What the plan changes `before` already waits for another run.
    """
    steps: list[Step] = []
    reasons = []
    for one in conflicts:
        if one.merged is None or not one.is_mended:
            continue
        steps.append(Change(one.path, one.text, one.merged))
        left = f", but for {one.clashes} place{'s' if one.clashes > 1 else ''} that both sides changed"
        then = ": `git add` it" if one.is_unmerged and not one.clashes else ""
        reasons.append(f"{one.path}: merged{left if one.clashes else ''}{then}")
    plan = before + Plan(tuple(steps), tuple(reasons))
    around = [one.path for one in found.faults if one.rule == "chain" and one.mends]
    return plan + _flag_plan(workspace, found.readings, around, {step.path for step in plan.steps})


class Pair(NamedTuple):
    """Two active entries of which a person has to say which one holds."""

    one: Reading
    other: Reading
    reason: str

    def as_fault(self) -> Fault:
        """Return what there is to say of it."""
        reason = f"{self.reason}: `mem review` asks which one holds"
        return Fault(self.one.path, line_in_head(self.one.text, "key"), reason, "key", mends=True)


def unflagged(readings: Sequence[Reading]) -> Iterator[Pair]:
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
        for first, second in combinations(_successors(entry), 2):
            pair = [active[name][1] for name in (first, second) if name in active]
            if len(pair) == 2 and not is_same_slot(pair[0], pair[1]) and not _are_settled(pair[0], pair[1]):
                reason = f"took the place of {shown_name(entry.id)} as {shown_name(first)} did"
                yield Pair(active[second][0], active[first][0], reason)


def _successors(entry: Entry) -> list[str]:
    """Return what took the place of an entry on all machines, by the marks that a merge left."""
    merged = entry.metadata.get(LOST)
    others = merged.get("superseded_by") if isinstance(merged, Mapping) else None
    return list(dict.fromkeys(bare(str(name)) for name in (entry.superseded_by, *(others or ()))))


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
    pairs += [(pair.one.path, pair.other.path) for pair in unflagged(now)]
    for pair in pairs:
        for path, other in (pair, pair[::-1]):
            if path in after and other in after:
                text = conflicting_text(workspace, after[path], after[other].entry.id)
                after[path] = with_text(workspace, after[path], text)
    files = [path for path in before if after[path].text != before[path].text]
    reasons = (f"{path}: flagged for `mem review`{', and active again' * (path in around)}" for path in files)
    return Plan(tuple(Change(path, before[path].text, after[path].text) for path in files), tuple(reasons))
