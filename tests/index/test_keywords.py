"""Postings of a query's words, and what they make of chunks, their documents and the turns around them."""

import sqlite3
from collections.abc import Iterator

import pytest

from memcli.index.database import TOKENIZE
from memcli.index.filters import postings, scores
from memcli.language.keyword_tokens import index_text

ROWS = {
    1: ("Tea", "drinks", "Green tea in the morning, never tea at night."),
    2: ("", "tea", "Coffee."),
    3: ("", "", "went to Kyoto"),
    4: ("", "", "東京タワーに登った"),
    5: ("", "", "Crème brûlée im Café"),
}


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:")
    opened.execute(f'create virtual table words using fts5(title, tags, body, tokenize="{TOKENIZE}")')
    for row, columns in ROWS.items():
        opened.execute(
            "insert into words(rowid, title, tags, body) values(?, ?, ?, ?)", (row, *map(index_text, columns))
        )
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("forms", "found"),
    [
        (("teas",), {1: 4, 2: 1}),  # twice in the text, once in the title, which counts double
        (("go", "went"), {3: 1}),
        (("タワ",), {4: 1}),
        (("登",), {4: 1}),
        (("creme",), {5: 1}),
        (("absent",), {}),
    ],
)
def test_a_word_is_found_where_it_occurs_in_any_of_its_forms(
    connection: sqlite3.Connection, forms: tuple[str, ...], found: dict[int, int]
) -> None:
    assert postings(connection, [forms]) == [found]


def test_a_word_of_a_stem_that_came_before_is_no_word_of_its_own(connection: sqlite3.Connection) -> None:
    assert postings(connection, [("tea",), ("teas",), ("...",)])[1:] == [None, None]


def test_a_chunk_scores_by_the_weight_of_the_words_it_holds_and_not_by_its_length() -> None:
    own, whole = scores([{1: 1, 2: 3}, {2: 1}], [0.75, 0.25], {1: 1, 2: 2, 3: 3}, {}, 1.0, (), 100)
    assert own == {1: pytest.approx(0.375), 2: pytest.approx(0.75 * 0.75 + 0.25 * 0.5)}
    assert whole == {}


def test_what_may_not_be_found_has_no_score() -> None:
    assert scores([{1: 1, 2: 1}], [1.0], {2: 2}, {}, 1.0, (), 100)[0] == {2: 0.5}


def test_the_chunks_of_a_document_are_scored_together_too() -> None:
    own, whole = scores([{1: 1}, {2: 1}], [0.5, 0.5], {1: 7, 2: 7, 3: 8}, {}, 1.0, (), 100)
    assert own == {1: 0.25, 2: 0.25}
    assert whole == {1: 0.5, 2: 0.5}


def test_a_turn_has_part_of_the_words_of_the_turns_around_it_in_its_session() -> None:
    # What was said later has a higher number, also with others between.
    turns = {chunk: (session, chunk, 9) for chunk, session in {1: 5, 2: 5, 9: 5, 10: 6}.items()}
    own, whole = scores([{2: 1}], [1.0], {one: -one for one in turns}, turns, 1.0, (0.5, 0.25), 100)
    assert own == {2: 0.5, 1: pytest.approx(0.5 / 1.5), 9: pytest.approx(0.5 / 1.5)}
    assert whole == {}
    turns[2] = (5, 2, 400)  # of four times the reach
    assert scores([{2: 1}], [1.0], {one: -one for one in turns}, turns, 1.0, (0.5,), 100)[0][1] == pytest.approx(
        0.125 / 1.125
    )
    assert 10 not in scores([{9: 1}], [1.0], {one: -one for one in turns}, turns, 1.0, (0.5, 0.25), 100)[0]
