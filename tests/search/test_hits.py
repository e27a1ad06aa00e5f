"""Which of the scored become hits: the same words are not told twice where others have something to say."""

from typing import Any

import pytest

from memcli.index.index import Piece
from memcli.search.query import certainty
from memcli.search.ranking import Scored
from memcli.search.results import distinct


def piece(chunk: int, text: str, **known: Any) -> Piece:
    values = {"kind": "entry", "status": "active", "timestamp": "2026-11-21"} | known
    path = f"entries/{chunk}.md"
    return Piece(chunk, chunk, path, anchor="", line=1, title="", text=text, is_whole=True, entry={}, **values)


def told(*pieces: Piece, limit: int = 5) -> list[int]:
    """Give the chunks that are told of pieces in the order of their relevance."""
    scored = [Scored(one.chunk, one.chunk, 1 / one.chunk, {}) for one in pieces]
    return [one.chunk for one in distinct(scored, {one.chunk: one for one in pieces}, limit)]


def test_a_line_of_the_memory_page_that_is_an_entry_too_is_told_once() -> None:
    page = piece(2, "- User prefers **dark** mode.\n", kind="memory")
    assert told(piece(1, "User prefers dark mode"), page, piece(3, "another")) == [1, 3]
    assert told(piece(3, "- User prefers dark mode", kind="memory"), piece(4, "user prefers dark mode")) == [3]


def test_entries_of_the_same_words_make_room_for_others() -> None:
    pieces = [piece(1, "tea"), piece(2, "Tea."), piece(3, "tea"), piece(4, "coffee"), piece(5, "water")]
    assert told(*pieces, limit=3) == [1, 4, 5]
    assert told(*pieces, limit=4) == [1, 2, 4, 5]
    assert told(*pieces) == [1, 2, 3, 4, 5]


def test_what_happened_twice_is_told_twice_but_a_second_copy_of_the_record_is_not() -> None:
    ran = {"kind": "history", "timestamp": "2026-11-20"}
    copies = [piece(1, "went running", **ran), piece(2, "went running", **ran)]
    assert told(*copies, piece(3, "went running", kind="history", timestamp="2026-11-19")) == [1, 3]
    assert told(piece(1, "went running"), piece(2, "went running", **ran)) == [1, 2]


def test_what_was_superseded_is_no_copy_of_what_holds() -> None:
    assert told(piece(1, "tea"), piece(2, "tea", kind="memory", status="archived")) == [1, 2]


def test_signs_alone_are_words_enough_to_be_told_apart() -> None:
    assert told(piece(1, "🙂", kind="memory"), piece(2, "🙁"), limit=2) == [1, 2]


@pytest.mark.parametrize(
    ("relevances", "words"),
    [
        ((0.5, 0.3, 0.1), ["clear", "weak", "weak"]),
        ((0.25, 0.1), ["likely", "weak"]),
        ((0.5, 0.42, 0.3), ["likely", "possible", "weak"]),
        ((0.5, 0.49, 0.41), ["possible", "possible", "possible"]),
        ((0.19, 0.0), ["weak", "weak"]),
        ((1.0, 1.0), ["possible", "possible"]),
        ((0.6,), ["clear"]),
    ],
)
def test_a_hit_is_clear_by_how_far_it_is_ahead_of_the_others(relevances: tuple[float, ...], words: list[str]) -> None:
    best, following = relevances[0], max(relevances[1:], default=0.0)
    assert [certainty(one, best, following) for one in relevances] == words
