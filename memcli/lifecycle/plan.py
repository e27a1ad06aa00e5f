"""Proposals: what a command means to change, shown as a diff, applied through one door."""

from dataclasses import dataclass

from ..store.journal import Append, Applied, Change, Move, Step, apply, exclusive
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


def shown(plan: Plan) -> str:
    """Write the plan as a unified diff."""
    from ..text.patch import unified  # late: what is applied unseen needs none

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
    """Apply a plan under the workspace's lock; RefusedError when something it builds on has changed meanwhile."""
    if not plan:
        return Applied()
    with exclusive(workspace, command) as held:
        return apply(workspace, plan.steps, held)


def moved(old: str, new: str, text: str) -> tuple[Change, Change]:
    """Give the steps that move a file: the new one stands before the old one goes."""
    return Change(new, None, text), Change(old, text, None)
