"""Rankings to compare with, made of plain parts: BM25, one vector a text, and the usual ways to join the two.

They are what the field does by default. Long documents (3,000 characters on average) are cut to pieces of 700, of which
the best counts.
"""

import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bench.measures import Scores, scores
from bench.retrieval.sets import Collection
from memcli.formats.chunking import windows

NAMES = ("BM25", "vector", "0.7 vector + 0.3 BM25", "reciprocal ranks (60)", "0.5 + 0.5, question words dropped")
STOP = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with""".split()  # noqa: SIM905
)
_QUESTION = STOP | frozenset(
    """what when where which who whom whose why how did do does done doing have has had having i me my mine we us our
    ours you your yours he him his she her hers its them theirs am were been being can could would should may might
    must about from so than too very just any some all""".split()  # noqa: SIM905
)
_LONG, _PIECE = 3000, 700
_WORD = re.compile(r"\w\w+")


def rankings(collection: Collection, embed: Callable[..., Any]) -> dict[str, dict[str, Scores]]:
    """Measure every reference on every query of a collection: name → query → scores."""
    texts = {document["id"]: document["text"] for document in collection.documents}
    references = References(texts, embed, cut=sum(map(len, texts.values())) > _LONG * len(texts))
    found: dict[str, dict[str, Scores]] = {name: {} for name in NAMES}
    for query in collection.queries:
        for name, ranking in references.rankings(query.text).items():
            found[name][query.id] = scores(ranking, query.grades)
    return found


class References:
    """The reference rankings of one collection of texts."""

    def __init__(self, texts: Mapping[str, str], embed: Callable[..., Any], *, cut: bool) -> None:
        """Take the texts by their ids; `cut` ranks long ones by their best piece."""
        pieces = [
            (name, text[start:stop])
            for name, text in texts.items()
            for start, stop in (windows(text, 0, len(text), _PIECE) if cut else [(0, len(text))])
        ]
        self._owners = [name for name, _ in pieces]
        self._embed = embed
        self._matrix = embed([text for _, text in pieces])
        self._stem = _Stems()
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths = []
        for place, (_, text) in enumerate(pieces):
            words = self._words(text, STOP)
            self._lengths.append(len(words))
            for word, count in Counter(words).items():
                self._postings[word].append((place, count))

    def rankings(self, query: str) -> dict[str, list[str]]:
        """Rank the documents in every way, the first ten of each."""
        cosines = self._matrix @ self._embed([query], is_query=True)[0]
        words, fewer = self._bm25(query, STOP), self._bm25(query, _QUESTION)
        places = np.empty((2, len(cosines)))
        for row, values in enumerate((cosines, words)):
            places[row, np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
        reciprocal = 1 / (60 + places[0]) + np.where(words > 0, 1 / (60 + places[1]), 0)
        joined = (words, cosines, 0.7 * cosines + 0.3 * _share(words), reciprocal, 0.5 * cosines + 0.5 * _share(fewer))
        return {name: self._best(values) for name, values in zip(NAMES, joined, strict=True)}

    def _bm25(self, query: str, stop: frozenset[str], k1: float = 1.2, b: float = 0.75) -> Any:
        """Score as Lucene does."""
        found = np.zeros(len(self._lengths))
        average = sum(self._lengths) / max(len(self._lengths), 1)
        for word in self._words(query, stop):
            postings = self._postings.get(word, [])
            idf = math.log(1 + (len(found) - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, count in postings:
                found[place] += idf * count / (count + k1 * (1 - b + b * self._lengths[place] / average))
        return found

    def _words(self, text: str, stop: frozenset[str]) -> list[str]:
        return [self._stem(word) for word in _WORD.findall(text.lower()) if word not in stop]

    def _best(self, values: Any) -> list[str]:
        ranked = dict.fromkeys(self._owners[place] for place in np.argsort(-values, kind="stable") if values[place] > 0)
        return list(ranked)[:10]


class _Stems:
    """The Porter stemmer of SQLite, asked once for each word."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute("create virtual table words using fts5(word, tokenize='porter ascii')")
        self._connection.execute("create virtual table stems using fts5vocab(words, instance)")
        self._known: dict[str, str] = {}

    def __call__(self, word: str) -> str:
        if word not in self._known:
            self._connection.execute("delete from words")
            self._connection.execute("insert into words values(?)", (word,))
            row = self._connection.execute("select term from stems").fetchone()
            self._known[word] = row[0] if row else word
        return self._known[word]


def _share(values: Any) -> Any:
    top = values.max() if len(values) else 0
    return values / top if top > 0 else values
