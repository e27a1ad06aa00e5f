"""The way in: what becomes of new memories when what they say is already there, or contradicts what is.

Looks around and asks the LLM without a lock, decides and writes under it; where somebody else came between, it looks
once more. A crash leaves all of it or nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import LlmError
from ..store.entries import drafted
from ..store.journal import apply, exclusive
from ..store.turn import next_turn, one_by_one, turn
from ..store.workspace import Workspace
from ..text.entry import EPISODIC, Entry
from .admission import Admission, Admitted, Draft
from .beliefs import Verdict, is_comparable
from .neighbours import Surroundings, look_around
from .plan import Plan

Judge = Callable[[str, Sequence[str]], Sequence[Verdict | None]]
"""Says of a new text and some standing ones what it is to each; None where the rules are to say it."""
JUDGED = 5  # standing memories shown to a judge for one new text
SECOND_LOOK = 0.3  # seconds that entries without a vector may take while the lock is held


@dataclass(frozen=True)
class Settled:
    """What became of all drafts, the plan that did it, and what had to be said on the way."""

    admitted: tuple[Admitted, ...]
    plan: Plan
    notices: tuple[str, ...] = ()
    error: str = ""  # why the judge was not heard; the rules decided then


def admit(
    workspace: Workspace, drafts: Sequence[Draft], command: str, judge: Judge | None = None, *, dry_run: bool = False
) -> Settled:
    """Let drafts in, in their order; UsageError, RefusedError and BusyError leave everything as it was."""
    entries = [drafted(workspace, draft.told, draft.body) for draft in drafts]
    if dry_run:
        return _settled(workspace, drafts, entries, _looked(workspace, entries, None), {})
    with one_by_one(workspace, command):
        mark = turn(workspace)
        seen = _looked(workspace, entries, None)
        verdicts, error = _judged(workspace, entries, seen, judge) if judge else ({}, "")
        with exclusive(workspace, command) as held:
            if turn(workspace) != mark:
                seen = _looked(workspace, entries, seen)
            settled = _settled(workspace, drafts, entries, seen, verdicts)
            next_turn(workspace)
            apply(workspace, settled.plan.steps, held)
    return replace(settled, error=error)


def admit_plan(workspace: Workspace, drafts: Sequence[Draft]) -> Settled:
    """Propose what would become of drafts as things stand; for a caller that holds the lock and applies the plan."""
    entries = [drafted(workspace, draft.told, draft.body) for draft in drafts]
    return _settled(workspace, drafts, entries, _looked(workspace, entries, None), {})


def _looked(workspace: Workspace, entries: Sequence[Entry], last: Surroundings | None) -> Surroundings:
    """Look around for those drafts that can be compared with anything."""
    texts = [(entry.type, entry.body if _is_settled_here(entry) else "") for entry in entries]
    if not any(text for _, text in texts):
        return Surroundings([[] for _ in texts], [{} for _ in texts])
    return look_around(workspace, texts, last, budget=None if last is None else SECOND_LOOK)


def _is_settled_here(entry: Entry) -> bool:
    """Tell whether a memory is one belief among others: episodes and long documents stand for themselves."""
    return entry.type not in EPISODIC and entry.status == "active" and is_comparable(entry.body)


def _settled(
    workspace: Workspace,
    drafts: Sequence[Draft],
    entries: Sequence[Entry],
    seen: Surroundings,
    verdicts: Mapping[tuple[str, str], Verdict],
) -> Settled:
    admission = Admission(workspace, seen.model, verdicts)
    admitted = []
    for number, (draft, entry) in enumerate(zip(drafts, entries, strict=True)):
        admission.settle(draft, entry, seen.near[number], seen.before[number], is_open=_is_settled_here(entry))
        admitted.append(admission.admitted[number])
    return Settled(tuple(admitted), admission.plan(), (seen.notice,) if seen.notice else ())


def _judged(
    workspace: Workspace, entries: Sequence[Entry], seen: Surroundings, judge: Judge
) -> tuple[dict[tuple[str, str], Verdict], str]:
    """Ask the judge of every draft and its nearest memories; what it says holds for these two texts."""
    admission = Admission(workspace, seen.model, {})
    found: dict[tuple[str, str], Verdict] = {}
    for entry, near in zip(entries, seen.near, strict=True):
        standing = [one for one in map(admission.standing, (neighbour.path for neighbour in near)) if one]
        texts = [one.entry.body for one in standing][:JUDGED]
        if not texts or not _is_settled_here(entry):
            continue
        try:
            verdicts = judge(entry.body, texts)
        except LlmError as error:
            return found, str(error)
        for text, verdict in zip(texts, verdicts, strict=False):
            if verdict is not None:
                found[text, entry.body] = verdict
    return found, ""
