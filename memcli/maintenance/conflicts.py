"""What merges of git left behind: files with conflict markers, and files that one side put away and the other changed.

The former are merged by the same formats that the merge driver takes, the latter settled as `mem sync` does. A line
that both sides changed stays for a person.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..beliefs.plan import Plan
from ..dataclass import dataclass, field
from ..errors import MemError
from ..formats.text_lines import conflict_marker, underlines
from ..formats.three_way import sides_of
from ..index.file_reader import Reading, try_bytes
from ..store.git import unmerged
from ..store.git_merge import add, made_by_merges, settle_half_done
from ..store.journal import Change
from ..store.local_log import note_disputed
from ..store.merge_driver import SETTINGS, kind_in, merge_content
from ..store.merge_resolution import Resolution, is_of_two
from ..store.workspace import Workspace
from .checks import Checked
from .invariants import Fault, left_over
from .rivals import Fold, at_odds, said_again, settle_plan, twins, twins_plan

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
    disputed: Mapping[str, str] = field(default_factory=dict)  # path and id of what one side forgot, see `said_again`
    twins: tuple[Fold, ...] = ()  # entries that both sides wrote

    def plan(self, workspace: Workspace, found: Checked, before: Plan) -> Plan:
        """Return a plan with the changes that merge what can be merged, and what follows from a merge.

        What the plan changes `before` already waits for another run.
        """
        steps = list(self.changes)
        reasons = list(self.settled.notices)
        for one in self.conflicts:
            if one.is_settled:
                reasons += [f"{one.path}: settled"] * (not any(told.startswith(one.path) for told in reasons))
            elif one.is_mended and one.merged is not None:
                steps.append(Change(one.path, one.text, one.merged))
                left = f", but for {one.clashes} place{'s' if one.clashes > 1 else ''} that both sides changed"
                reasons.append(f"{one.path}: merged{left if one.clashes else ''}")
        plan = before + Plan(tuple(steps), tuple(reasons))
        plan += twins_plan(workspace, self.twins, {step.path for step in plan.steps})
        return settle_plan(workspace, found, self.disputed, plan)

    def finish(self, workspace: Workspace) -> None:
        """Tell git, once the changes are applied, which files are settled, and note what a person has to say."""
        done = [one.path for one in self.conflicts if one.is_unmerged and one.is_mended and not one.clashes]
        if done:
            made = [one.path for one in self.changes if one.path not in self.settled.clashes]
            add(workspace, dict.fromkeys([*done, *made]))
        note_disputed(workspace, [*self.settled.disputed, *self.disputed.values()])


def with_conflicts(workspace: Workspace, found: Checked) -> tuple[Checked, HalfMerge]:
    """Return what a check found with what merges left behind, and what git could not merge."""
    merge = half_merge(workspace, found.readings)
    told = {one.path for one in merge.conflicts}
    changing = {one.path for one in merge.changes}  # nothing else mends these, such as an id that two of them have
    faults = [one for one in found.faults if one.path not in told or MARKER not in one.reason]
    faults = [one for one in faults if one.path not in changing or not one.fixable]
    faults += [one.as_fault() for one in merge.conflicts]
    named = {one.path for one in faults if MARKER in one.reason}
    faults += [
        one for reading in found.readings if reading.path not in named for one in _left_by_merge(workspace, reading)
    ]
    disputed = said_again(workspace, found)
    pairs = twins(workspace, found.readings)
    merge = replace(merge, disputed=disputed, twins=pairs)
    return at_odds(workspace, Checked(tuple(faults), found.readings), disputed, pairs), merge


def _left_by_merge(workspace: Workspace, reading: Reading) -> Iterator[Fault]:
    """Yield the `=======` that a merge left: none of its sides had it, so that it underlines no heading of theirs."""
    marks = set[tuple[str, str]]()
    for made, *sides in made_by_merges(workspace, reading.path) if underlines(reading.text) else ():
        marks |= underlines(made) - underlines(*sides)
    if fault := left_over(reading, marks):
        yield fault


def half_merge(workspace: Workspace, readings: Sequence[Reading]) -> HalfMerge:
    """Find the files that git could not merge, and merge each as the driver or `mem sync` would have."""
    stages = unmerged(workspace)
    texts = {
        one.path: one.text
        for one in readings
        if (one.path in stages or conflict_marker(one.text) is not None) and len(one.text.encode()) == one.stat[2]
    }
    settings = try_bytes(workspace, SETTINGS)
    if not isinstance(settings, str) and len(settings[0]) == settings[1][2]:
        text = settings[0].decode("utf-8", "replace")
        if SETTINGS in stages or conflict_marker(text) is not None:
            texts[SETTINGS] = text
    one_sided = {path: sides for path, sides in stages.items() if not {2, 3} <= sides.keys() or is_of_two(sides)}
    changes, settled = _one_sided(workspace, one_sided) if one_sided else ((), Resolution({}))
    found = []
    for path in sorted({*texts, *one_sided}):
        if path in settled.files:
            text = texts.get(path, "")
            clashes = int(path in settled.clashes)
            found.append(Conflict(path, 1, text, None, clashes, is_unmerged=True, is_one_sided=True, is_settled=True))
        else:
            found.append(_conflict(workspace, path, texts.get(path, ""), stages.get(path, {})))
    return HalfMerge(tuple(found), changes, settled)


def _one_sided(workspace: Workspace, paths: Mapping[str, Mapping[int, bytes]]) -> tuple[tuple[Change, ...], Resolution]:
    """Return the changes that settle files of which one side has none; nothing where that is for a person."""
    try:
        settled = settle_half_done(workspace, paths)
        told = {path: file[1].decode() if file else None for path, file in settled.files.items()}
        now = {path: _text(workspace, path) for path in told}
    except (MemError, OSError, UnicodeDecodeError):  # a rewritten or shallow history, another git at work, no text
        return (), Resolution({})
    changes = [Change(path, now[path], text) for path, text in told.items() if now[path] != text]
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
