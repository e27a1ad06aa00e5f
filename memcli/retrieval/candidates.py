"""What is known of a chunk when it is weighed against a question."""

from ..index.index import Piece
from ..text.words import clean, latin_share, query_terms
from .fusion import LONG, SHORT, SHORT_LENGTH, TURN, Candidate
from .question import Question


def candidate(
    piece: Piece, question: Question, own: float, whole: float, cosine: float | None, *, is_english: bool
) -> Candidate:
    """Gather a chunk's scores and the signs of relevance that its text shows; `is_english` says so of the model."""
    is_turn = piece.kind == "session"
    text = clean(piece.text).casefold()
    speaker, _, said = piece.text.partition(": ") if is_turn else ("", "", "")
    exact = sum(phrase in text for phrase in question.phrases) / len(question.phrases) if question.phrases else 0.0
    return Candidate(
        chunk=piece.chunk,
        document=_document(piece),
        shape=TURN if is_turn else SHORT if piece.is_whole and len(piece.text) < SHORT_LENGTH else LONG,
        keyword=own,
        whole=whole or own,
        cosine=cosine,
        readable=min(latin_share(question.text), latin_share(piece.text)) if is_english else 1.0,
        title=frozenset(query_terms(piece.title)) if piece.title and not is_turn else frozenset(),
        speaker=speaker.strip().lower(),
        is_question=is_turn and said.rstrip().endswith("?"),
        exact=exact,
        timestamp=piece.timestamp,
    )


def _document(piece: Piece) -> tuple[int, str]:
    """Name what is one hit: an entry's file, a section, a record, a run of notes, a turn."""
    return piece.file, "" if piece.kind == "entry" else piece.anchor or str(piece.line)
