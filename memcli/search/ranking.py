"""Rank chunks for a query. Relevance is a sum of few signals and means the same in every query.

relevance = share × meaning + (1 − share) × words + bonuses, cut to 0…1.

Meaning is the cosine of chunk and query; of a long entry, two thirds are the mean of its chunks.
Words is Σ idf × tf / (tf + SATURATION) / Σ idf, with idf as in BM25 (Robertson and Zaragoza 2009);
of a long entry, two fifths are counted over the whole entry. The constants were measured on twelve
public retrieval sets; each signal left out costs .003 to .008 of recall@5 and nDCG@10.
"""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from heapq import nlargest
from math import log
from typing import TYPE_CHECKING, NamedTuple

from ..index import (
    KINDS,
    Filter,
    Index,
    build_chunk_sql,
    find_spellings,
    is_one_edit_apart,
    split_query,
)

if TYPE_CHECKING:
    import numpy as np

TITLE_COUNT = 2  # a word of the title counts like two of the text
# A word that only resembles one of the query counts less.
SIMILAR_COUNT = 0.7
SHORTEST_TYPO = 5
SHORTEST_PART = 4
MOST_SIMILAR = 20
SHARE_TEXT = 0.5  # of meaning
SHARE_TALK = 0.45
SATURATION = 0.4
# Pretend to know this many more texts, so that words in a small workspace do not all look rare.
PSEUDO_TEXTS = 3000
PSEUDO_SHARE = 0.002
LEAST_WEIGHT = 2.0  # of each query word in the denominator: common words alone are no match
WHOLE_ENTRY_WORDS = 0.4
WHOLE_ENTRY_MEANING = 0.65
TURN_WEIGHTS = (0.4, 0.25, 0.15, 0.1)  # words of the turns around a turn, by distance
# Characters. A longer turn has many subjects, so its words say less about the turns around it.
SHORT_TURN = 100
# For each ln(piece) of a turn: the best of many pieces fits a query by chance alone.
LONG_TURN_MALUS = 0.05
TITLE_BONUS = SPEAKER_BONUS = 0.06
LAST_LINE = 0.7  # of a prompt with several lines
FREQUENT_NAME = 20  # chunks; a name is half of what the model sees, and then answers with anything
NAME = re.compile(r"(?<![.!?\n]\s)(?<!^)\b([A-Z]\w+)(?:['’]s)?\b")
WORD = re.compile(r"[^\W_]+")
SESSION = KINDS.index("session")


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
        spellings = find_spellings(word)
        counts = count_word(index, spellings)
        similar: tuple[str, ...] = ()
        # Only for unknown words: a known word must not bring its lookalikes.
        if not counts:
            # Käsekuchen is also indexed as kaesekuchen, and `käse` has the stem kase.
            similar = find_similar_words(index, spellings[-1])
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


class ScoredChunk(NamedTuple):
    """A chunk with its score."""

    chunk: int
    file: int
    relevance: float
    meaning: float
    words: float


class WordScores(NamedTuple):
    """The share of the query's words, weighted by rarity, 0 to 1."""

    chunks: Mapping[int, float]
    files: Mapping[int, float]  # counted over a whole entry
    file_of: Mapping[int, int]  # the file of each chunk
    talk: Mapping[int, int]  # chunks of conversations, and their lengths

    def get(self, chunk: int) -> float:
        own = self.chunks[chunk]
        if chunk in self.talk:
            return own
        return (1 - WHOLE_ENTRY_WORDS) * own + WHOLE_ENTRY_WORDS * self.files[self.file_of[chunk]]


def rank_by_words(index: Index, terms: list[Term], wanted: Filter, count: int) -> list[ScoredChunk]:
    """Return the best chunks by words alone. Needs neither numpy nor the model."""
    words = score_words(index, terms, wanted)
    scores = {chunk: words.get(chunk) for chunk in words.chunks}
    best = nlargest(count, scores, key=lambda chunk: scores[chunk])
    return [
        ScoredChunk(chunk, words.file_of[chunk], scores[chunk], 0.0, scores[chunk])
        for chunk in best
    ]


def rank_by_meaning_and_words(
    index: Index,
    query: str,
    terms: list[Term],
    wanted: Filter,
    count: int,
    *,
    share: float | None = None,
) -> list[ScoredChunk]:
    """Return the best chunks. `share` overrides the measured weight of meaning."""
    import numpy as np

    rows = select_rows(index, wanted)
    if not len(rows):
        return []
    chunks, files, vectors = rows[:, 0], rows[:, 1], rows[:, 2]
    is_talk = rows[:, 3] == SESSION
    _, owner = np.unique(files, return_inverse=True)
    cosine, has_vector = score_meaning(index, query, terms, vectors)
    counts = np.maximum(np.bincount(owner, minlength=1), 1)
    of_entry = np.bincount(owner, cosine, minlength=1) / counts
    mixed = (1 - WHOLE_ENTRY_MEANING) * cosine + WHOLE_ENTRY_MEANING * of_entry[owner]
    meaning = np.where(is_talk, cosine, mixed)
    word_scores = score_words(index, terms, wanted, rows)
    own = spread_to_array(word_scores.chunks, chunks)
    whole = spread_to_array(word_scores.files, files)
    mixed = (1 - WHOLE_ENTRY_WORDS) * own + WHOLE_ENTRY_WORDS * whole
    words = np.where(is_talk, own, mixed)
    weights = np.where(is_talk, SHARE_TALK, SHARE_TEXT) if share is None else share
    weights = np.where(has_vector, weights, 0.0)
    relevance = weights * meaning + (1 - weights) * words
    # Sorting 100,000 scores takes 8 ms, partitioning them 1 ms.
    count = min(count, len(rows))
    best = np.argpartition(-relevance, count - 1)[:count]
    columns = [array[best].tolist() for array in (chunks, files, relevance, cosine, words)]
    scored = zip(*columns, strict=True)
    return [ScoredChunk(*row) for row in scored if row[2] > 0]


def select_rows(index: Index, wanted: Filter) -> "np.ndarray":
    """Return the rows of the chunks that pass a filter, as `Index.load_rows` describes them."""
    import numpy as np

    rows = index.load_rows()
    if wanted == Filter():
        active: np.ndarray = rows[rows[:, 4] == 1]
        return active
    condition, values = build_chunk_sql(index, wanted)
    chunks = index.run(f"select chunk from chunks where {condition}", values).fetchall()
    selected: np.ndarray = rows[np.isin(rows[:, 0], [chunk for (chunk,) in chunks])]
    return selected


def spread_to_array(scores: Mapping[int, float], keys: "np.ndarray") -> "np.ndarray":
    """Return the score of each key, (n,) float64; 0 for keys without one."""
    import numpy as np

    known = np.array(sorted(scores), np.int64)
    if not len(known):
        return np.zeros(len(keys))
    values = np.array([scores[key] for key in known.tolist()])
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    result: np.ndarray = np.where(known[places] == keys, values[places], 0.0)
    return result


def score_words(
    index: Index, terms: list[Term], wanted: Filter, rows: "np.ndarray | None" = None
) -> WordScores:
    """Score the chunks with words of the query, and the turns next to them."""
    file_of, talk = find_chunks(index, terms, wanted, rows)
    weights = weigh_terms(index, terms)
    total = max(sum(weights), LEAST_WEIGHT * sum(term.repeats for term in terms), 1e-9)
    own: dict[int, float] = defaultdict(float)
    whole: dict[int, float] = defaultdict(float)
    for term, weight in zip(terms, weights, strict=True):
        counts = {chunk: count for chunk, count in term.counts.items() if chunk in file_of}
        of_file: dict[int, float] = defaultdict(float)
        for chunk, count in counts.items():
            of_file[file_of[chunk]] += count
        if talk:
            counts = spread_over_turns(counts, file_of, talk)
        for chunk, count in counts.items():
            own[chunk] += weight / total * count / (count + SATURATION)
        for file, count in of_file.items():
            whole[file] += weight / total * count / (count + SATURATION)
    return WordScores(own, whole, file_of, talk)


def weigh_terms(index: Index, terms: list[Term]) -> list[float]:
    """Return the weight of each term: its rarity, times its count in the query."""
    texts = index.run("select count(*) from chunks").fetchone()[0] + PSEUDO_TEXTS
    texts += index.texts_elsewhere
    weights = []
    for term in terms:
        known = max(len(term.counts), index.frequencies.get(term.word, 0))
        frequency = known + PSEUDO_SHARE * PSEUDO_TEXTS
        weights.append(log(max((texts + 1) / (frequency + 1), 1.0)) * term.repeats)
    return weights


def find_chunks(
    index: Index, terms: list[Term], wanted: Filter, rows: "np.ndarray | None"
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the files of matching chunks, and the lengths of those of talk.

    `rows` has the chunks that pass the filter. SQLite would take longer to find thousands.
    """
    # Terms are counted over all chunks, so the filter is applied here.
    chunks = {chunk for term in terms for chunk in term.counts}
    if rows is None:
        found = [row[:3] for row in read_chunks(index, chunks, wanted)]
    else:
        import numpy as np

        matching = rows[np.isin(rows[:, 0], list(chunks))].tolist()
        found = [(chunk, file, kind == SESSION) for chunk, file, _, kind, _ in matching]
    file_of = {chunk: file for chunk, file, _ in found}
    steps = range(-len(TURN_WEIGHTS), len(TURN_WEIGHTS) + 1)
    near = {chunk + step for chunk, _, is_talk in found if is_talk for step in steps}
    talk = {}
    for chunk, file, is_talk, length in read_chunks(index, near, wanted) if near else ():
        if is_talk:
            file_of[chunk], talk[chunk] = file, length
    return file_of, talk


def read_chunks(index: Index, chunks: set[int], wanted: Filter) -> list[tuple[int, ...]]:
    """Return chunk, file, whether it is talk and length of the chunks that pass the filter."""
    condition, values = build_chunk_sql(index, wanted)
    return index.run(
        "select chunk, file, kind = 'session', stop - start from chunks"
        f" where chunk in ({', '.join(map(str, chunks))}) and {condition}",
        values,
    ).fetchall()


def spread_over_turns(
    counts: Mapping[int, float], file_of: Mapping[int, int], lengths: Mapping[int, int]
) -> dict[int, float]:
    """Return counts with a share of the counts of the turns before and after.

    The chunks of a session have consecutive numbers.
    """
    spread = defaultdict(float, counts)
    for chunk, count in counts.items():
        if chunk not in lengths:
            continue
        shared = count * SHORT_TURN / max(lengths[chunk], SHORT_TURN)
        for distance, weight in enumerate(TURN_WEIGHTS, 1):
            for neighbor in (chunk - distance, chunk + distance):
                if file_of.get(neighbor) == file_of[chunk]:
                    spread[neighbor] += weight * shared
    return spread


def score_meaning(
    index: Index, query: str, terms: list[Term], vectors: "np.ndarray"
) -> "tuple[np.ndarray, np.ndarray]":
    """Return the cosine of each row with the query, and whether it has a vector."""
    import numpy as np

    matrix = index.matrix.load()
    cosine = np.zeros(len(vectors))
    has_vector = (vectors >= 0) & (vectors < len(matrix))
    if has_vector.any():
        scores = matrix @ embed_query(index, query, terms)
        cosine[has_vector] = scores[vectors[has_vector]]
    return cosine, has_vector


def embed_query(index: Index, query: str, terms: list[Term]) -> "np.ndarray":
    """Return the unit vector of a query.

    The last line of a prompt counts once more, because that is where the question is. So does the
    query without its frequent names.
    """
    import numpy as np

    lines = [line for line in query.splitlines() if line.strip()]
    texts = [query]
    weights = [1.0]
    # A pasted conversation is long, and its topic drowns the question.
    if len(lines) > 1:
        texts.append(lines[-1])
        weights.append(LAST_LINE)
    elif lines:
        frequencies = {term.word: len(term.counts) for term in terms}
        names = {name.lower() for name in NAME.findall(query)}
        frequent = {
            name: min(frequencies.get(name, 0) / FREQUENT_NAME, 1.0)
            for name in names
            if frequencies.get(name, 0) * 5 >= FREQUENT_NAME
        }
        if frequent and len(frequent) < len(terms):
            nameless = NAME.sub(
                lambda match: "" if match[1].lower() in frequent else match[0], query
            )
            texts.append(" ".join(nameless.split()))
            weights.append(min(frequent.values()))
    vector = np.asarray(weights, np.float32) @ index.get_embedder().embed(texts)
    result: np.ndarray = vector / (np.linalg.norm(vector) or 1.0)
    return result


def get_bonus(
    query_words: set[str], query_stems: set[str], title_stems: set[str], speaker: str
) -> float:
    """Return the bonus for a title or speaker that the query names."""
    if speaker:
        asks_user = speaker == "user" and bool(query_words & {"i", "my", "me"})
        asks_assistant = speaker == "assistant" and "you" in query_words
        is_named = bool(query_words.intersection(WORD.findall(speaker.lower())))
        return SPEAKER_BONUS if asks_user or asks_assistant or is_named else 0.0
    return TITLE_BONUS if title_stems and title_stems <= query_stems else 0.0
