"""Say of flagged pairs how likely it is that they repeat or contradict each other; only of those about to be shown."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import MemError
from ..index.index import ask
from ..index.read_texts import ReadTexts
from ..store.workspace import Workspace
from .comparison import Likelihoods, compare, is_comparable
from .learned import Learned
from .review import Kind, Question

if TYPE_CHECKING:
    from ..index.embedder import Embedder

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
        kind: Kind = "same" if verdict.kind == "same" else "conflict"
        return replace(question, kind=kind, reason=reason, likelihoods=likelihoods)


def likeliest(likelihoods: Likelihoods) -> str:
    """Say the likeliest reading with its probability: `likely an update, 0.83`."""
    name, words = max(_READINGS, key=lambda reading: float(getattr(likelihoods, reading[0])))
    chance = getattr(likelihoods, name)
    return f"{'likely' if chance > 0.5 else 'perhaps'} {words}, {chance:.2f}"


def _pair(question: Question) -> tuple[str, str] | None:
    """Return the older and the newer text of a flagged pair; None where there is nothing to compare."""
    if question.kind not in ("conflict", "same"):
        return None
    newer, older = (side.entry.body for side in question.sides)
    return (older, newer) if is_comparable(older) and is_comparable(newer) else None
