"""Let an LLM propose answers to questions about pairs; with `llm.decides` it decides them within the rules of trust."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..errors import BusyError, MemError
from ..index.index import ask
from ..index.text_vectors import ReadTexts
from ..store import local_log
from ..store.workspace import Workspace
from .comparison import Kind, Likelihoods, compare, is_comparable
from .decisions import LLM as BY
from .decisions import Decision, answer_question
from .llm_judge import MOST, LlmJudge
from .neighbours import Learned
from .review import Question, QuestionKind

if TYPE_CHECKING:
    from ..index.text_vectors import Embedder


_DECISIONS: Mapping[Kind, Decision] = {"same": "same", "update": "newer", "distinct": "keep"}
"""What a verdict proposes; of two that contradict each other only a person knows which holds."""


@dataclass(frozen=True)
class Proposed:
    """What came of asking an LLM."""

    asked: int  # pairs
    settled: int = 0  # questions it decided
    proposed: int = 0
    unheard: str = ""  # why it said nothing of some


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
    open_ones = [one for one in questions if _is_open(one, again=decides)]
    counts: Counter[str] = Counter()
    unheard = ""
    for start in range(0, len(open_ones), MOST):
        part = open_ones[start : start + MOST]
        heard = judge.compare([_texts(one) for one in part])
        for one in part:
            verdict = heard.verdicts.get(_texts(one))
            decision = _DECISIONS.get(verdict.kind) if verdict and verdict.sure else None
            if decision is not None:
                counts[_answered(workspace, one, decision, decides=decides)] += 1
        progress(min(start + MOST, len(open_ones)), len(open_ones))
        unheard = unheard or heard.error
        if heard.error and not heard.verdicts:
            break
    return Proposed(len(open_ones), counts["settled"], counts["proposed"], unheard)


def _answered(workspace: Workspace, question: Question, decision: Decision, *, decides: bool) -> str:
    if decides:
        try:
            return answer_question(workspace, question, decision, BY).action
        except BusyError:
            raise
        except MemError:  # settled or edited meanwhile: there is nothing to propose either
            return "over"
    local_log.note_proposal(workspace, question.id, decision, BY)
    return "proposed"


def _is_open(question: Question, *, again: bool) -> bool:
    """Tell whether an LLM is asked; `again` where it may decide what it only proposed before."""
    is_new = question.proposal is None or (again and question.proposal.by == BY)
    return question.kind in ("conflict", "same") and is_new and all(map(is_comparable, _texts(question)))


def _texts(question: Question) -> tuple[str, str]:
    newer, older = (side.entry.body for side in question.sides)
    return older, newer


_AT_ONCE = 8  # questions weighed before the clock is looked at
_READINGS = (("same", "the same"), ("update", "an update"), ("conflict", "a contradiction"), ("distinct", "unrelated"))


class Weigher:
    """Weigh questions by the learned comparison; the embedding model is opened when the first pair is weighed."""

    def __init__(self, workspace: Workspace) -> None:
        """Belong to a workspace."""
        self._workspace = workspace
        self._learned, self._read = Learned(), ReadTexts()
        self._embedder: Embedder | None = None
        self._is_able = True

    def weighed(self, questions: Sequence[Question], seconds: float = 0.0) -> list[Question]:
        """Return the questions with their likelihoods, as many as there is time for (0: all).

        Where the model is missing, or no comparison was learned for it, they are returned as they are.
        """
        begun = time.monotonic()
        found = list(questions)
        for start in range(0, len(found), _AT_ONCE):
            if not self._is_able or (seconds and time.monotonic() - begun > seconds):
                break
            part = found[start : start + _AT_ONCE]
            self._ask(list(filter(None, map(_pair, part))))
            found[start : start + _AT_ONCE] = map(self._told, part)
        return found

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> None:
        if not pairs:
            return
        try:
            if self._embedder is None:
                self._embedder = ask(self._workspace, lambda index: index.embedding.embedder())
            self._learned.ask(self._embedder, pairs, self._read)
        except MemError:
            self._is_able = False
        self._is_able = self._is_able and not self._learned.notice

    def _told(self, question: Question) -> Question:
        pair = _pair(question)
        likelihoods = self._learned(*pair) if pair else None
        if pair is None or likelihoods is None:
            return question
        verdict = compare(*pair, likelihoods)
        known = compare(*pair).reason  # what the words alone say
        reason = "; ".join(part for part in (known, likeliest(likelihoods)) if part)
        kind: QuestionKind = "same" if verdict.kind == "same" else "conflict"
        return replace(question, kind=kind, reason=reason, likelihoods=likelihoods)


def likeliest(likelihoods: Likelihoods) -> str:
    """Return the likeliest reading with its probability: `likely an update, 0.83`."""
    name, words = max(_READINGS, key=lambda reading: float(getattr(likelihoods, reading[0])))
    chance = getattr(likelihoods, name)
    return f"{'likely' if chance > 0.5 else 'perhaps'} {words}, {chance:.2f}"


def _pair(question: Question) -> tuple[str, str] | None:
    """Return the older and the newer text of a flagged pair; None where there is nothing to compare."""
    if question.kind not in ("conflict", "same"):
        return None
    newer, older = (side.entry.body for side in question.sides)
    return (older, newer) if is_comparable(older) and is_comparable(newer) else None
