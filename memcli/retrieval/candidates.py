"""What is known of a chunk when it is weighed against a question."""

from collections.abc import Callable, Container

from ..index.index import Piece
from ..store.workspace import Workspace
from ..text.english import names_a_time
from ..text.sentences import is_question
from ..text.times import day_of, parse_time
from ..text.words import clean, latin_share, query_terms
from .asking import only_asks
from .fusion import LONG, SHORT, SHORT_LENGTH, TURN, Candidate
from .question import Question

Weigh = Callable[[Piece, float, float, float | None], Candidate]
"""Gather what is known of a chunk with its scores by words, its document's, and its cosine."""


def candidate(workspace: Workspace, question: Question, called: Container[int] = ()) -> Weigh:
    """Give the function that gathers a chunk's scores and the signs of relevance its text shows.

    `called` are the chunks that the query calls by name.
    """
    # The model that comes with mem reads English only.
    is_english = not workspace.settings["embedding.model"]
    is_dated = _in_time(workspace, question)

    def weigh(piece: Piece, own: float, whole: float, cosine: float | None) -> Candidate:
        is_turn = piece.kind == "session"
        text = clean(piece.text).casefold()
        speaker, _, said = piece.text.partition(": ") if is_turn else ("", "", "")
        phrases = question.phrases
        return Candidate(
            chunk=piece.chunk,
            document=_document(piece),
            shape=TURN if is_turn else SHORT if piece.is_whole and len(piece.text) < SHORT_LENGTH else LONG,
            keyword=own,
            whole=whole or own,
            cosine=cosine,
            readable=min(question.readable, latin_share(piece.text)) if is_english else 1.0,
            title=frozenset(query_terms(piece.title)) if piece.title and not is_turn else frozenset(),
            speaker=speaker.strip().lower(),
            is_question=is_turn and is_question(said),
            only_asks=not is_turn and only_asks(piece.text, question.words),
            exact=sum(phrase in text for phrase in phrases) / len(phrases) if phrases else 0.0,
            is_named=piece.chunk in called,
            is_dated=is_dated(piece.timestamp),
            timestamp=piece.timestamp,
        )

    return weigh


def _in_time(workspace: Workspace, question: Question) -> Callable[[str], bool]:
    """Give the function that tells whether an instant is in the time the question names."""
    # What somebody tells of last week is news, no question for what was written then.
    if question.is_statement or not names_a_time(question.text):
        return lambda timestamp: False
    from .period import period_in

    period = period_in(question.text, day_of(workspace.now, workspace.zone))

    def holds(timestamp: str) -> bool:
        moment = parse_time(timestamp) if period else None
        return period is not None and moment is not None and period.holds(day_of(moment, workspace.zone))

    return holds


def _document(piece: Piece) -> tuple[int, str]:
    """Name what is one hit: an entry's file, a section, a record, a run of notes, a turn."""
    return piece.file, "" if piece.kind == "entry" else piece.anchor or str(piece.line)
