"""Proposals: what a command means to change, shown as a diff, applied through one door."""

from collections.abc import Collection

from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.memory_page import read_promoted, with_lines
from ..formats.text_lines import require_no_conflict
from ..store import atomic_files
from ..store.entries import decoded
from ..store.journal import Append, Applied, Change, Move, Step, apply, exclusive
from ..store.lock import next_turn
from ..store.workspace import Workspace


@dataclass(frozen=True)
class Plan:
    """Changes that belong together, with a line of explanation each."""

    steps: tuple[Step, ...] = ()
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there is anything to do."""
        return bool(self.steps)

    def __add__(self, other: "Plan") -> "Plan":
        """Do this plan and then the other as one."""
        return Plan(self.steps + other.steps, self.reasons + other.reasons)


def as_diff(plan: Plan) -> str:
    """Write the plan as a unified diff."""
    from ..formats.unified_diff import unified  # late: what is applied unseen needs none

    pieces = []
    for step in plan.steps:
        if isinstance(step, Append):
            pieces.append(unified("", step.text, f"{step.path} (end)"))
        elif isinstance(step, Move):
            pieces.append(f"rename from {step.path}\nrename to {step.to}\n")
        else:
            pieces.append(unified(step.before or "", step.after or "", step.path))
    return "".join(pieces)


def applied(workspace: Workspace, plan: Plan, command: str) -> Applied:
    """Apply a plan under the workspace's lock; raise RefusedError when something it builds on has changed meanwhile."""
    if not plan:
        return Applied()
    with exclusive(workspace, command) as held:
        next_turn(workspace)
        return apply(workspace, plan.steps, held)


def moved(old: str, new: str, text: str) -> tuple[Change, Change]:
    """Return the steps that move a file: the new one stands before the old one goes."""
    return Change(new, None, text), Change(old, text, None)


@dataclass(frozen=True)
class Page:
    """The page; `text` is empty where there is none or it cannot be changed."""

    path: str
    before: str | None  # for a step: None where there is no file
    text: str
    problem: str = ""


def read_page(workspace: Workspace) -> Page:
    """Read the page; what is no UTF-8 or in conflict is left byte for byte, and said."""
    path = workspace.layout.memory
    target = workspace.path(path)
    if not target.exists():
        return Page(path, None, "")
    try:
        text = decoded(path, atomic_files.read(target))
        require_no_conflict(path, text)
    except RefusedError as error:
        return Page(path, None, "", error.message)
    return Page(path, text, text)


def ours_of(text: str, ids: Collection[str]) -> frozenset[str]:
    """Return the ids that have a promoted line on a page which no person has changed."""
    return frozenset(line.id for line in read_promoted(text).lines if line.is_ours and line.id in ids)


def without_lines(workspace: Workspace, ids: Collection[str]) -> Plan:
    """Propose to take the promoted lines of superseded entries off the page; a page that is left alone stays."""
    if not ids:
        return Plan()
    page = read_page(workspace)
    gone = ours_of(page.text, ids)
    return Plan((Change(page.path, page.before, with_lines(page.text, {}, gone)),)) if gone else Plan()
