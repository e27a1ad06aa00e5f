"""Words of texts and questions, seen through a real full-text table."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.index.database import TOKENIZE
from memcli.language.keyword_tokens import (
    MAX_TERMS,
    _bigrams,
    _runs,
    _words,
    fold,
    index_text,
    latin_share,
    phrases,
    query_terms,
)
from memcli.language.lexicon import stop_words
from tests.tables import cases

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=60) | st.text(
    st.sampled_from('"*()^:+-{}\x00\ud800 aANDOR東ิ🙂é_./\\NEAR'), max_size=40
)


def quoted(term: str) -> str:
    """Return one term as a full-text match expression; empty when it holds no letter or digit.

    It is a quoted string, so no text of a user is ever syntax; several words in one term must stand together. One
    character of an unspaced script is asked for as a prefix.
    """
    term = fold(term)
    if not term.isascii():
        term = _runs().sub(lambda run: f" {_bigrams(run[0], closed=False)} ", term)
    words = " ".join(_words(term))
    if not words:
        return ""
    return f'"{words}"*' if len(words) == 1 and _runs().match(words) else f'"{words}"'


def found(text: str, query: str) -> bool:
    """Tell whether a workspace that holds only the text answers the query."""
    expression = " OR ".join(filter(None, map(quoted, query_terms(query))))
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f'CREATE VIRTUAL TABLE t USING fts5(x, tokenize="{TOKENIZE}")')
        db.execute("INSERT INTO t VALUES (?)", (index_text(text),))
        rows = db.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall() if expression else []
        return bool(rows)


@cases("text", "query")
def test_a_text_is_found_by_what_a_user_types(text: str, query: str) -> None:
    assert found(text, query)


@cases("text", "query")
def test_a_text_that_shares_only_stop_words_or_single_letters_is_not_found(text: str, query: str) -> None:
    assert not found(text, query)


@given(st.lists(st.text(st.sampled_from("aAb10_-,é東"), min_size=1, max_size=9), max_size=9))
def test_what_a_word_hides_does_not_depend_on_its_neighbours(words: list[str]) -> None:
    def hidden(text: str) -> list[str]:
        return index_text(text).partition("\n")[2].split()

    alone = dict.fromkeys(part for word in words for part in hidden(word))
    assert hidden(f"plain {' '.join(words)} prose") == list(alone)
    assert hidden("  and  ".join(words)) == list(alone)


@given(ANYTHING, ANYTHING)
def test_no_text_and_no_query_is_ever_a_syntax_error(text: str, query: str) -> None:
    found(text, query)
    found(text, " ".join(f'"{phrase}"' for phrase in phrases(query)))


@given(ANYTHING)
def test_a_single_term_of_anything_is_never_syntax(term: str) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f'CREATE VIRTUAL TABLE t USING fts5(x, tokenize="{TOKENIZE}")')
        if expression := quoted(term):
            db.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall()


@given(st.text(st.sampled_from("東京都大阪府の"), min_size=1, max_size=12), st.data())
def test_every_substring_of_an_unspaced_text_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert found(text, text[start:end])


@given(st.text())
def test_terms_are_few_and_each_once(query: str) -> None:
    terms = query_terms(query)
    assert len(terms) == len(set(terms)) <= MAX_TERMS


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_what_is_indexed_can_be_stored(text: str) -> None:
    index_text(text).encode("utf-8")


@cases("query", "terms")
def test_a_question_keeps_its_telling_words(query: str, terms: list[str]) -> None:
    assert [*query_terms(query)] == terms


def test_a_very_long_query_keeps_the_words_it_repeats_and_its_longest() -> None:
    filler = " ".join(f"word{number}" for number in range(5000))
    terms = query_terms(f"{filler} deadlock deadlock extraordinarily {filler}"[: len(filler) + 40])
    assert len(terms) == MAX_TERMS
    assert {"deadlock", "extraordinarily"} <= set(terms)


@cases("query", "exact")
def test_identifiers_numbers_and_quotes_are_wanted_exactly(query: str, exact: list[str]) -> None:
    assert [*phrases(query)] == exact


@pytest.mark.parametrize(
    ("text", "share"),
    [("plain", 1.0), ("1234 !!", 1.0), ("Żółć", 1.0), ("東京", 0.0), ("Мир", 0.0), ("ab東京", 0.5)],
)
def test_the_latin_share_tells_how_far_an_english_model_reads_a_text(text: str, share: float) -> None:
    assert latin_share(text) == share


def test_stop_words_are_stored_as_they_are_compared() -> None:
    assert all(word == word.lower() and word.isalpha() for word in stop_words())
