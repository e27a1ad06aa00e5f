"""What a person's or an agent's answer to a question of the review changes: a plan, and who may have it carried out.

An agent's answer counts as `observed`: it retires nothing that a user said, vouches for none of it and lifts nothing to
MEMORY.md; it is noted with the question, and a person decides.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from ..dataclass import dataclass
from ..errors import BusyError, MemError, RefusedError, UsageError
from ..formats.entry import TRUST
from ..results import Result
from ..store import access_log
from ..store.access_log import confirmations
from ..store.journal import Change
from ..store.workspace import Workspace
from .deduplication import could_be_one, taking_in
from .forgotten import accepting, forgetting, refusing
from .llm_judge import MOST, LlmJudge
from .neighbours import Kind, is_comparable
from .plan import Plan, applied, listed
from .review import Decision, Now, Proposed, Question, fresh
from .supersession import (
    EntryFile,
    flags_left,
    is_believed_over,
    may_replace,
    put_away_note,
    revised_entry,
    supersede_plan,
)

LLM = "llm"
"""The source of what an LLM decides, where `llm.decides` lets it."""


@dataclass(frozen=True)
class Answered(Result):
    """What became of an answer."""

    id: Annotated[str, "the question"]
    decision: Annotated[str, "keep, newer, older, same, forget or later"]
    action: Annotated[str, "what was done: settled, proposed (a person decides) or later"]
    changed: Annotated[tuple[str, ...], "ids of the memories it is about; empty for later"] = ()


def answer_question(
    workspace: Workspace, question: Question, decision: Decision, source: str = "user", reason: str = ""
) -> Answered:
    """Carry out a decision, or note what an agent proposes; `reason` is that of an LLM's verdict.

    Raises UsageError for one the question does not take, NotFoundError where it was settled meanwhile and RefusedError
    where a text changed since it was asked.
    """
    if decision not in question.answers:
        fix = f"use one of {', '.join(question.answers)}"
        if question.kind == "key" and decision == "keep":
            fix = "give one of them another key with `mem write --id ID --key KEY`, or decide which holds"
        raise UsageError(f"{decision!r} does not answer {question.id}", fix)
    if decision == "later":
        access_log.note_later(workspace, [question.id])
        return Answered(question.id, decision, "later")
    now = _unchanged(question, Now(workspace))
    ids = tuple(side.entry.id for side in now.sides)
    if _is_for_a_person(now, decision, source):
        access_log.note_proposal(workspace, now.id, decision, source)
        return Answered(question.id, decision, "proposed", ids)
    plan = decision_plan(workspace, now, decision, by_person=source == "user", reason=reason)
    applied(workspace, plan, "mem review")
    access_log.note_looked(workspace, ids)
    return Answered(question.id, decision, "settled", ids)


def keep_all(
    workspace: Workspace,
    questions: Sequence[Question],
    progress: Callable[[int, int], object],
) -> tuple[list[Question], list[str]]:
    """Keep what questions ask about, as one change; return those that are settled, and why others wait.

    One that was settled meanwhile, of which a text changed, or that cannot be kept, is left as it is.
    """
    now = Now(workspace)
    current: list[Question] = []
    problems: list[str] = []
    for question in questions:
        try:
            current.append(_unchanged(question, now))
        except MemError as error:
            problems.append(str(error))
    sides = {side.path: side for question in current for side in question.sides}
    others: dict[str, list[str]] = {}
    for question in current:
        if question.is_pair:
            for side, other in (question.sides, question.sides[::-1]):
                others.setdefault(side.path, []).append(other.entry.id)
    changed = []
    for path, names in others.items():
        changed.append(_kept_apart(workspace, sides[path], names))
        progress(len(changed), len(others))
    plan = Plan()
    for question in current:
        plan += decision_plan(workspace, question, "keep") if question.kind == "held" else Plan()
    changed += [_renewed(workspace, question.sides[0]) for question in current if question.kind == "faded"]
    steps = [
        Change(file.path, sides[file.path].text, file.text) for file in changed if file.text != sides[file.path].text
    ]
    applied(workspace, Plan(tuple(steps)) + plan, "mem review")
    access_log.note_looked(workspace, [side.entry.id for side in sides.values()])
    return current, problems


def _unchanged(question: Question, now: Now) -> Question:
    """Return a question as its files stand; raise RefusedError where a text changed since it was asked."""
    current = fresh(question, now)
    if current.id != question.id:
        raise RefusedError(f"a text of {question.id} changed meanwhile", "look at it again with `mem review`")
    return current


def _is_for_a_person(question: Question, decision: Decision, source: str) -> bool:
    """Return whether a decision of that source is only a proposal."""
    if source == LLM:
        return not is_by_trust(question, decision)
    return source != "user" and needs_person(question, decision)


def is_by_trust(question: Question, decision: Decision) -> bool:
    """Return whether the rules of trust allow what is decided about a pair, whoever compared the texts."""
    newer, older = (side.entry for side in question.sides)
    if decision == "newer":
        is_over = may_replace(older, newer) and is_believed_over(older, newer, is_told_now=False)
        return is_over and not older.pinned
    if decision == "same":
        return could_be_one(older, newer)
    return decision == "keep"


def needs_person(question: Question, decision: Decision) -> bool:
    """Return whether a decision retires, rewrites or renews what a user said or pinned."""
    if decision == "keep":
        return question.kind == "held" or (question.kind == "faded" and _is_a_persons(question.sides[0]))
    retired = {"newer": question.sides[1:], "older": question.sides[:1]}.get(decision, question.sides)
    return any(map(_is_a_persons, retired))


def decision_plan(
    workspace: Workspace, question: Question, decision: Decision, *, by_person: bool = True, reason: str = ""
) -> Plan:
    """Propose the changes of a decision about a question as its files stand."""
    if decision == "later":
        return Plan()
    if question.kind == "held":
        (file,) = question.sides
        return accepting(workspace, file) if decision == "keep" else refusing(workspace, file)
    if decision == "forget":
        return _forgetting(workspace, question, by_person=by_person)
    if not question.is_pair:
        return _steps(question, [_renewed(workspace, question.sides[0])] if question.kind == "faded" else [])
    if decision == "keep":
        both = (question.sides, question.sides[::-1])
        return _steps(question, [_kept_apart(workspace, side, [other.entry.id]) for side, other in both])
    first, second = (_unflagged(workspace, *both) for both in (question.sides, question.sides[::-1]))
    if decision == "same":
        return _same(workspace, question, first, second, by_person=by_person, reason=reason)
    return _settled(workspace, question, *((second, first) if decision == "newer" else (first, second)), reason)


def _is_a_persons(side: EntryFile) -> bool:
    return side.entry.source == "user" or side.entry.trust > TRUST["observed"] or side.entry.pinned


def _unflagged(workspace: Workspace, file: EntryFile, other: EntryFile) -> EntryFile:
    """Return an entry without its flag with another one."""
    left = [name for name in file.entry.conflicts_with if name != other.entry.id]
    if len(left) == len(file.entry.conflicts_with):
        return file
    return revised_entry(workspace, file, flags_left(file.entry, left))


def _kept_apart(workspace: Workspace, file: EntryFile, others: Sequence[str]) -> EntryFile:
    """Return an entry that names others as distinct and is flagged with none of them."""
    distinct = frozenset(others)
    left = [name for name in file.entry.conflicts_with if name not in distinct]
    fields: dict[str, object] = {"distinct": list(dict.fromkeys([*file.entry.distinct, *others]))}
    if len(left) != len(file.entry.conflicts_with):
        fields |= flags_left(file.entry, left)
    return revised_entry(workspace, file, fields)


def _settled(workspace: Workspace, question: Question, loser: EntryFile, winner: EntryFile, reason: str) -> Plan:
    """Return the plan by which one of a pair takes the other's place, and its key where it has none."""
    if loser.entry.key and not winner.entry.key and loser.entry.project == winner.entry.project:
        winner = revised_entry(workspace, winner, {"key": loser.entry.key})
    plan = supersede_plan(workspace, loser, winner, reason)
    texts = {step.path: step.after for step in plan.steps if isinstance(step, Change)}
    changed = [replace(file, text=texts.get(file.path) or file.text) for file in (loser, winner)]
    return replace(_steps(question, changed), reasons=plan.reasons)


def _same(
    workspace: Workspace, question: Question, left: EntryFile, right: EntryFile, *, by_person: bool, reason: str
) -> Plan:
    """Make one memory of two that say the same, both wordings kept; only a person's answer counts as confirming."""
    remaining, merged = sorted(
        (left, right), key=lambda side: (-side.entry.trust, side.entry.created_at, side.entry.id)
    )
    waiting = confirmations(workspace).get(merged.entry.id)
    strength = merged.entry.strength + (waiting.count if waiting else 0)
    whole = taking_in(workspace, remaining, merged.entry, strength if by_person else 0)
    return _settled(workspace, question, merged, whole, reason)


def _forgetting(workspace: Workspace, question: Question, *, by_person: bool) -> Plan:
    """Move the memories of a question to the archive as forgotten."""
    forgotten = forgetting(workspace, [side.path for side in question.sides], by="user" if by_person else "inferred")
    ids = [side.entry.id for side in question.sides]
    reasons = (*(f"{name} is forgotten" for name in ids), *put_away_note(listed(ids), forgotten.earlier))
    return replace(forgotten.plan, reasons=reasons)


def _renewed(workspace: Workspace, rule: EntryFile) -> EntryFile:
    """Return a rule that counts as confirmed today."""
    return revised_entry(workspace, rule, {"updated_at": workspace.stamp})


def _steps(question: Question, changed: list[EntryFile]) -> Plan:
    """Return the changes from the files as the question has them."""
    before: Mapping[str, str] = {side.path: side.text for side in question.sides}
    steps = [Change(file.path, before[file.path], file.text) for file in changed if file.text != before[file.path]]
    return Plan(tuple(steps))


_DECISIONS: Mapping[Kind, Decision] = {"same": "same", "update": "newer", "distinct": "keep"}
"""What a verdict proposes; of two that contradict each other only a person knows which holds."""


def propose(
    workspace: Workspace,
    questions: Sequence[Question],
    judge: LlmJudge,
    progress: Callable[[int, int], Any] = lambda done, total: None,
) -> Proposed:
    """Ask about every flagged pair that nobody proposed an answer for, and note what the LLM is sure of, part by part.

    With `llm.decides` an answer is carried out at once where the rules of trust allow it.
    """
    decides = workspace.settings["llm.decides"]
    open_ones = [question for question in questions if _is_open(question, again=decides)]
    counts: Counter[str] = Counter()
    unheard = ""
    for start in range(0, len(open_ones), MOST):
        part = open_ones[start : start + MOST]
        verdicts, error = judge.compare([_texts(question) for question in part])
        for question in part:
            verdict = verdicts.get(_texts(question))
            decision = _DECISIONS.get(verdict.kind) if verdict and verdict.sure else None
            if verdict is not None and decision is not None:
                counts[_answered(workspace, question, decision, verdict.reason, decides=decides)] += 1
        progress(min(start + MOST, len(open_ones)), len(open_ones))
        unheard = unheard or error
        if error and not verdicts:
            break
    return Proposed(len(open_ones), counts["settled"], counts["proposed"], unheard)


def _answered(workspace: Workspace, question: Question, decision: Decision, reason: str, *, decides: bool) -> str:
    if decides:
        try:
            return answer_question(workspace, question, decision, LLM, reason).action
        except BusyError:
            raise
        except MemError:  # settled or edited meanwhile: there is nothing to propose either
            return "over"
    access_log.note_proposal(workspace, question.id, decision, LLM)
    return "proposed"


def _is_open(question: Question, *, again: bool) -> bool:
    """Return whether an LLM is asked; `again` where it may decide what it only proposed before."""
    is_new = question.proposal is None or (again and question.proposal.by == LLM)
    return question.kind == "conflict" and is_new and all(map(is_comparable, _texts(question)))


def _texts(question: Question) -> tuple[str, str]:
    newer, older = (side.entry.body for side in question.sides)
    return older, newer
