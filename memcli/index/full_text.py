"""How well chunks fit the words of a query, from the full-text table's own postings.

Owns stemming a query with the table's tokenizer, and the counting. Refuses to decide which words are asked for and what
they weigh (retrieval/question). No numpy: a search by words alone must not pay for it.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from .schema import TOKENIZE

_FORMS = 16  # of one word, at most
_SHORTEST = 4  # word that has other endings
_LAST = "\U0010ffff"

Posting = Mapping[int, float]
"""Chunk → how often a word occurs in it, in any of its forms; another name for the same counts less."""


TurnPiece = tuple[int, int, int]
"""The number of the conversation's file that a chunk stands in, its turn's line there, and how many characters it has.

No named tuple: making and reading 10,000 of them takes 6 ms longer."""


def postings(connection: sqlite3.Connection, terms: Sequence[tuple[str, ...]]) -> list[Posting | None]:
    """Return where words occur, each given in its forms; None for a word of a stem that an earlier word has."""
    run = connection.execute
    run(f'create virtual table temp.asked using fts5(word, tokenize="{TOKENIZE}")')
    run("create virtual table temp.stems using fts5vocab(temp, asked, 'instance')")
    run("create virtual table temp.postings using fts5vocab(main, words, 'instance')")
    try:
        connection.executemany(
            "insert into temp.asked(rowid, word) values(?, ?)",
            [
                (number * _FORMS + position, form)
                for number, term in enumerate(terms)
                for position, form in enumerate(term[:_FORMS])
            ],
        )
        stems: dict[int, list[str]] = defaultdict(list)
        for stem, row in run("select term, doc from temp.stems order by doc, offset"):
            stems[row // _FORMS].append(stem)
        seen: set[str] = set()
        result: list[Posting | None] = []
        for number, term in enumerate(terms):
            own = list(dict.fromkeys(stems.get(number, ())))
            if not own or own[0] in seen:
                result.append(None)
                continue
            seen.add(own[0])
            # One character of an unspaced script is asked for as the beginning of the pairs it stands in.
            is_prefix = len(term[0]) == 1 and not term[0].isascii()
            result.append(_posting(connection, own, is_prefix=is_prefix))
        return result
    finally:
        for table in ("postings", "stems", "asked"):
            run(f"drop table temp.{table}")


def _posting(connection: sqlite3.Connection, stems: list[str], *, is_prefix: bool) -> Posting:
    where, values = f"term in ({', '.join('?' * len(stems))})", stems
    if is_prefix:
        where, values = "term >= ? and term < ?", [stems[0], stems[0] + _LAST]
    (chunks,) = connection.execute(
        # A word in the title counts twice.
        "select group_concat(case col when 'title' then doc || ',' || doc else doc end)"
        f" from temp.postings where {where}",
        values,
    ).fetchone()
    return Counter(map(int, chunks.split(","))) if chunks else {}


def alike_postings(connection: sqlite3.Connection, word: str) -> Posting:
    """Return where words stand that begin as a word does and differ at the end: other forms, and words of its kind.

    A third of its letters may be others, three at most, and three be added; one below four letters has no such forms.
    """
    if len(word) < _SHORTEST or not word.isalpha():
        return {}
    begins = word[: max(_SHORTEST, -(-2 * len(word) // 3), len(word) - 3)]
    connection.execute("create virtual table temp.postings using fts5vocab(main, words, 'instance')")
    try:
        where, values = "term >= ? and term < ? and length(term) <= ?", (begins, begins + _LAST, len(word) + 3)
        rows = connection.execute(f"select doc from temp.postings where {where}", values).fetchall()
    finally:
        connection.execute("drop table temp.postings")
    return Counter(chunk for (chunk,) in rows)


def scores(
    postings: Sequence[Posting | None],
    weights: Sequence[float],
    documents: Mapping[int, int],
    turns: Mapping[int, TurnPiece],
    saturation: float,
    window: Sequence[float],
    reach: int,
) -> tuple[dict[int, float], dict[int, float]]:
    """Score chunks, and the documents of those that share one: Σ weight × tf / (tf + saturation), both in [0, 1).

    `documents` gives the document of every chunk that may be found, `turns` those that are of turns; the words of a
    turn count, less with each step of `window`, for those before and after it in its session. Of more characters than
    `reach` they count less for others: what is long speaks of many things.
    """
    counts: list[tuple[float, Mapping[int, float]]] = [
        (weight, posting) for posting, weight in zip(postings, weights, strict=True) if posting and weight
    ]
    if turns:
        order = sorted(turns, key=lambda chunk: (turns[chunk][0], chunk))
        positions = {chunk: position for position, chunk in enumerate(order)}
        counts = [(weight, _spread(posting, order, turns, positions, window, reach)) for weight, posting in counts]
    own: dict[int, float] = {}
    score_of = own.get
    for weight, posting in counts:
        gains = {count: weight * count / (count + saturation) for count in set(posting.values())}
        for chunk, count in posting.items():
            own[chunk] = score_of(chunk, 0.0) + gains[count]
    own = {chunk: score for chunk, score in own.items() if chunk in documents}
    chunks_of: dict[int, list[int]] = defaultdict(list)
    for chunk in own:
        chunks_of[documents[chunk]].append(chunk)
    whole: dict[int, float] = {}
    for chunks in chunks_of.values():
        if len(chunks) > 1:
            totals = ((weight, sum(posting.get(chunk, 0) for chunk in chunks)) for weight, posting in counts)
            whole |= dict.fromkeys(chunks, sum(weight * total / (total + saturation) for weight, total in totals))
    return own, whole


def _spread(
    posting: Mapping[int, float],
    order: Sequence[int],
    turns: Mapping[int, TurnPiece],
    positions: Mapping[int, int],
    window: Sequence[float],
    reach: int,
) -> Mapping[int, float]:
    """Return the counts with a share for the turns around each; `order` has each session's turns one after another."""
    near: dict[int, float] = defaultdict(float, posting)
    steps = [(sign * step, share) for step, share in enumerate(window, 1) for sign in (-1, 1)]
    for chunk, count in posting.items():
        position = positions.get(chunk)
        if position is None:
            continue
        session, _, length = turns[chunk]
        shared = count * min(1.0, reach / max(length, 1))
        for step, share in steps:
            other = position + step
            if 0 <= other < len(order) and turns[order[other]][0] == session:
                near[order[other]] += share * shared
    return near
