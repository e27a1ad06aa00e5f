"""Let an LLM propose answers to questions about pairs; with `llm.decides` it decides them within the rules of trust."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import BusyError, MemError
from ..store import local_log
from ..store.workspace import Workspace
from .comparison import Kind, is_comparable
from .decisions import LLM as BY
from .decisions import answer_question
from .llm_judge import MOST, LlmJudge
from .review import Decision, Proposed, Question

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
        heard = judge.compare([_texts(question) for question in part])
        for question in part:
            verdict = heard.verdicts.get(_texts(question))
            decision = _DECISIONS.get(verdict.kind) if verdict and verdict.sure else None
            if verdict is not None and decision is not None:
                counts[_answered(workspace, question, decision, verdict.reason, decides=decides)] += 1
        progress(min(start + MOST, len(open_ones)), len(open_ones))
        unheard = unheard or heard.error
        if heard.error and not heard.verdicts:
            break
    return Proposed(len(open_ones), counts["settled"], counts["proposed"], unheard)


def _answered(workspace: Workspace, question: Question, decision: Decision, reason: str, *, decides: bool) -> str:
    if decides:
        try:
            return answer_question(workspace, question, decision, BY, reason).action
        except BusyError:
            raise
        except MemError:  # settled or edited meanwhile: there is nothing to propose either
            return "over"
    local_log.note_proposal(workspace, question.id, decision, BY)
    return "proposed"


def _is_open(question: Question, *, again: bool) -> bool:
    """Return whether an LLM is asked; `again` where it may decide what it only proposed before."""
    is_new = question.proposal is None or (again and question.proposal.by == BY)
    return question.kind == "conflict" and is_new and all(map(is_comparable, _texts(question)))


def _texts(question: Question) -> tuple[str, str]:
    newer, older = (side.entry.body for side in question.sides)
    return older, newer
