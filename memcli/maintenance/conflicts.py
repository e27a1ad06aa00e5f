"""What merges of git left behind: files with conflict markers, or that git's index has as not merged.

They are merged by the same formats that the merge driver takes. A line that both sides changed stays for a person, and
so does a memory that one side changed and the other one took away, in the archive.
"""

from collections.abc import Mapping, Sequence

from ..dataclass import dataclass
from ..formats.text_lines import conflict_marker
from ..formats.three_way import sides_of
from ..index.file_reader import Reading
from ..store.git import unmerged
from ..store.journal import Change, Step
from ..store.merge_driver import SETTINGS, kind_in, merge_content
from ..store.workspace import Workspace
from .invariants import Fault

RULE = "conflict"
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

    @property
    def is_mended(self) -> bool:
        """Return whether merging it changes anything."""
        return self.merged is not None and self.merged != self.text

    def as_fault(self) -> Fault:
        """Return what there is to say of it."""
        then = ", then `git add` it" if self.is_unmerged else ""
        if self.merged is None and conflict_marker(self.text) is None:
            reason = f"git could not merge it: look it through{then}"
        elif self.is_mended:
            what = "merges it" if not self.clashes else "merges what does not contradict"
            reason = f"a git conflict marker: `mem check --fix` {what}; {_PASSED_OVER}"
        else:
            reason = f"a git conflict marker: resolve the conflict{then}; {_PASSED_OVER}"
        return Fault(self.path, self.line, reason, RULE, self.is_mended)


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
        return Conflict(path, line or 1, text, None, 0, bool(stages))
    base = stages.get(1, sides[0].encode())
    merged = merge_content(
        kind_in(workspace.layout, path), base, sides[1].encode(), sides[2].encode(), is_half_merged=True
    )
    if merged is None:
        return Conflict(path, line or 1, text, None, 0, bool(stages))
    return Conflict(path, line or 1, text, merged[0].decode(), merged[1], bool(stages))


def merge_steps(conflicts: Sequence[Conflict]) -> tuple[list[Step], list[str]]:
    """Return the changes that merge files, and what to say of each."""
    steps: list[Step] = []
    reasons = []
    for one in conflicts:
        if one.merged is None or not one.is_mended:
            continue
        steps.append(Change(one.path, one.text, one.merged))
        left = f", but for {one.clashes} place{'s' if one.clashes > 1 else ''} that both sides changed"
        then = ": `git add` it" if one.is_unmerged and not one.clashes else ""
        reasons.append(f"{one.path}: merged{left if one.clashes else ''}{then}")
    return steps, reasons
