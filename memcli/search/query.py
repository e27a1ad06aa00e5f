"""Look up the words of a query in the index: how often each occurs in each chunk."""

import sqlite3
from functools import cache
from typing import NamedTuple

from ..index import Index, find_spellings, is_one_edit_apart, split_query

TITLE_COUNT = 2  # a word of the title counts like two of the text
# A word that only resembles one of the query counts less.
SIMILAR_COUNT = 0.7
SHORTEST_TYPO = 5
SHORTEST_PART = 4
MOST_SIMILAR = 20


class Term(NamedTuple):
    """A word of a query."""

    word: str
    repeats: int  # in the query
    counts: dict[int, float]  # chunk → how often it contains the word, titles counted double
    similar: tuple[str, ...] = ()  # words that stand in for it


def look_up_terms(index: Index, query: str) -> list[Term]:
    """Return the words of a query with their counts in each chunk.

    Similar words stand in for a word that no chunk contains.
    """
    terms = []
    for word, count in split_query(query).items():
        counts = count_word(index, find_spellings(word))
        similar: tuple[str, ...] = ()
        # Only for unknown words: a known word must not bring its lookalikes.
        if not counts:
            similar = find_similar_words(index, word)
            similar_counts = count_word(index, list(similar))
            counts = {chunk: SIMILAR_COUNT * number for chunk, number in similar_counts.items()}
        terms.append(Term(word, count, counts, similar))
    return terms


def count_word(index: Index, spellings: list[str]) -> dict[int, float]:
    """Return how often a word, in any of its forms, occurs in each chunk."""
    counts: dict[int, float] = {}
    for stem in {stem_word(word) for word in spellings}:
        rows = index.run(
            "select doc, sum(case col when 'title' then ? else 1 end) from counts"
            " where term = ? group by doc",
            (TITLE_COUNT, stem),
        )
        for chunk, number in rows:
            counts[chunk] = max(counts.get(chunk, 0.0), float(number))
    return counts


def find_similar_words(index: Index, word: str) -> tuple[str, ...]:
    """Return indexed words that an unknown word may mean: compounds that contain it, or typos.

    The index stems English only, so a German compound or an inflected form is found here too.
    """
    if not word.isalpha() or len(word) < SHORTEST_PART:
        return ()
    stem = stem_word(word)
    rows = index.run(
        "select word from spellings where instr(word, ?) > 0 limit ?", (stem, MOST_SIMILAR)
    ).fetchall()
    compounds = tuple(
        other
        for (other,) in rows
        if other.endswith(stem) or other.startswith(stem) or len(stem) >= SHORTEST_TYPO
    )
    if compounds or len(word) < SHORTEST_TYPO:
        return compounds
    # One letter for the edit, and one more for a plural s.
    rows = index.run(
        "select word from spellings where length(word) between ? and ?",
        (len(word) - 1, len(word) + 2),
    ).fetchall()
    return tuple(other for (other,) in rows if is_typo(word, other))[:MOST_SIMILAR]


def is_typo(word: str, other: str) -> bool:
    """Return whether a word is one edit away from another, or from its singular."""
    return is_one_edit_apart(word, other) or is_one_edit_apart(word, other.removesuffix("s"))


@cache
def stem_word(word: str) -> str:
    """Return a word as SQLite's tokenizer stores it."""
    connection = get_tokenizer()
    connection.execute("delete from words")
    connection.execute("insert into words values(?)", (word,))
    row = connection.execute("select term from terms").fetchone()
    return str(row[0]) if row else word


@cache
def get_tokenizer() -> sqlite3.Connection:
    from ..index import TOKENIZER

    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.execute(f'create virtual table words using fts5(body, tokenize="{TOKENIZER}")')
    connection.execute("create virtual table terms using fts5vocab(words, row)")
    return connection
