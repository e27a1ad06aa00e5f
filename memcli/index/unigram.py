"""Texts to word pieces by a unigram model (SentencePiece), whose 250,000 pieces stay in a file.

The tokenizers library reads such a vocabulary whole, which takes a second; a query needs fifty of its pieces. A word is
cut so that the sum of the scores of its pieces is the highest (Kudo, Subword Regularization, 2018).
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

PAD = 1
_BEGIN, _END, _UNKNOWN = 0, 2, 3
_SPACE = "▁"  # stands for the space before a word
_KNOWN_WORDS = 200_000  # cut words that are kept

Pieces = tuple[tuple[int, int], ...]
"""Number and length in characters of each piece of a word."""


class Encoded(NamedTuple):
    """A text's word pieces, with the marks that the model wants around a text."""

    ids: list[int]
    offsets: list[tuple[int, int]]  # start and end of each in the text, in characters
    special_tokens_mask: list[int]  # 1 for a mark


class UnigramTokenizer:
    """An open vocabulary."""

    def __init__(self, file: Path, max_tokens: int) -> None:
        """Open a vocabulary that `write_vocabulary` made; a text has at most `max_tokens` pieces."""
        self._rows = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        self._most = max_tokens - 2
        (self._longest, self._least) = self._rows.execute("select longest, least from facts").fetchone()
        self._written: dict[str, str] = {}
        self._words: dict[str, Pieces] = {}

    def encode_batch(self, texts: Iterable[str]) -> list[Encoded]:
        """Cut texts into pieces."""
        return [self._encoded(text) for text in texts]

    encode_batch_fast = encode_batch

    def _encoded(self, text: str) -> Encoded:
        ids, offsets = [_BEGIN], [(0, 0)]
        for word, places in self._split(text):
            at = 0
            for number, length in self._words.get(word) or self._cut(word):
                where = places[at : at + length]
                start = where[1] if length > 1 and word[at] == _SPACE else where[0]
                ids.append(number)
                offsets.append((start, where[-1] + (length > 1 or word[at] != _SPACE)))
                at += length
            if len(ids) > self._most:
                break
        ids, offsets = ids[: self._most + 1], offsets[: self._most + 1]
        return Encoded([*ids, _END], [*offsets, (0, 0)], [1, *[0] * (len(ids) - 1), 1])

    def _split(self, text: str) -> Iterable[tuple[str, list[int]]]:
        """Yield the words of a text as the vocabulary writes them, with the place in the text of each character."""
        word, places = _SPACE, [0]
        if unseen := set(text) - self._written.keys():
            self._written |= {**{sign: sign for sign in unseen}, **self._normalized(unseen)}
        for at, sign in enumerate(text):
            for one in self._written[sign]:
                if one == " ":
                    if len(word) > 1:
                        yield word, places
                    word, places = _SPACE, [at]
                else:
                    word += one
                    places.append(at)
        if len(word) > 1:
            yield word, places

    def _normalized(self, signs: Iterable[str]) -> dict[str, str]:
        asked = json.dumps([ord(sign) for sign in signs])
        rows = self._rows.execute(
            "select sign, text from signs where sign in (select value from json_each(?))", (asked,)
        )
        return {chr(sign): text for sign, text in rows}

    def _cut(self, word: str) -> Pieces:
        """Cut a word by the best way from its beginning to each of its characters."""
        size = len(word)
        ends = [range(start + 1, min(size, start + self._longest) + 1) for start in range(size)]
        parts = list(dict.fromkeys(word[start:end] for start in range(size) for end in ends[start]))
        rows = self._rows.execute(
            "select piece, id, score from pieces where piece in (select value from json_each(?))", (json.dumps(parts),)
        )
        known = {piece: (number, score) for piece, number, score in rows}
        best: list[tuple[float, int, int]] = [(0.0, 0, 0), *[(-1e30, 0, 0)] * size]  # sum, begin of the last piece, id
        for start in range(size):
            before = best[start][0]
            for end in ends[start]:
                number, score = known.get(word[start:end], (_UNKNOWN, self._least if end == start + 1 else -1e30))
                if before + score > best[end][0]:
                    best[end] = (before + score, start, number)
        found: list[tuple[int, int]] = []
        end = size
        while end:
            _, start, number = best[end]
            found.append((number, end - start))
            end = start
        if len(self._words) < _KNOWN_WORDS:
            self._words[word] = tuple(reversed(found))
        return tuple(reversed(found))


def write_vocabulary(file: Path, pieces: Sequence[tuple[str, int, float]], signs: Mapping[int, str]) -> None:
    """Write pieces with number and score, and how characters are written before a text is cut."""
    with closing(sqlite3.connect(file)) as rows:
        rows.execute("create table pieces(piece text primary key, id integer, score real) without rowid")
        rows.execute("create table signs(sign integer primary key, text text)")
        rows.execute("create table facts(longest integer, least real)")
        rows.executemany("insert into pieces values(?, ?, ?)", sorted(pieces))
        rows.executemany("insert into signs values(?, ?)", signs.items())
        least = min(score for _, _, score in pieces) - 10
        rows.execute("insert into facts values(?, ?)", (max(len(piece) for piece, _, _ in pieces), least))
        rows.commit()
