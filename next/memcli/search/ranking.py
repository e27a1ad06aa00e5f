"""Rank chunks for a query. Relevance is a sum of few signals and means the same in every query.

relevance = share × meaning + (1 − share) × words + bonuses, cut to 0…1.

Meaning is the cosine of chunk and query; of a long entry it is half the mean of its chunks. Words
is Σ weight × tf / (tf + SATURATION) / Σ weight, with weight = idf ^ IDF_POWER as in BM25 (Robertson
and Zaragoza 2009); of a long entry, two fifths are counted over the whole entry. The constants were
measured on twelve public retrieval sets; each one left out costs .003 to .008 of nDCG@10.
"""

import re
from math import log
from typing import TYPE_CHECKING, NamedTuple

from ..index.index import KINDS, Index
from .query import Term, make_count_array

if TYPE_CHECKING:
    import numpy as np

SHARE_TEXT, SHARE_TALK = 0.5, 0.45  # of meaning
SATURATION = 0.4
IDF_POWER = 1.3
# Pretend to know this many more texts, so that words in a small workspace do not all look rare.
PSEUDO_TEXTS = 3000
PSEUDO_SHARE = 0.002
LEAST_WEIGHT = 2.0  # of each query word in the denominator: common words alone are no match
WHOLE_ENTRY_WORDS = 0.4
WHOLE_ENTRY_MEANING = 0.5
TURN_WEIGHTS = (0.4, 0.25, 0.15, 0.1)  # words of the turns around a turn, by distance
TITLE_BONUS = SPEAKER_BONUS = 0.06
LAST_LINE = 0.7  # of a prompt with several lines
FREQUENT_NAME = 20  # chunks; a name is half of what the model sees, and then answers with anything
NAME = re.compile(r"(?<![.!?\n]\s)(?<!^)\b([A-Z]\w+)(?:['’]s)?\b")
WORD = re.compile(r"[^\W_]+")
SESSION = KINDS.index("session")


class Rows(NamedTuple):
    """The chunks that a query may find: parallel arrays of length n."""

    chunks: "np.ndarray"
    files: "np.ndarray"
    vectors: "np.ndarray"  # row of the matrix, or -1
    is_talk: "np.ndarray"


class Ranking(NamedTuple):
    """Scores of all rows, as parallel arrays."""

    relevance: "np.ndarray"
    cosine: "np.ndarray"
    words: "np.ndarray"


def rank_rows(
    index: Index, query: str, terms: list[Term], rows: Rows, *, mode: str, share: float | None
) -> Ranking:
    """Score every row. `share` overrides the weight of meaning; mode is hybrid, keyword or vector."""
    import numpy as np

    talk_share = np.where(rows.is_talk, SHARE_TALK, SHARE_TEXT)
    weights = talk_share if share is None else np.full(len(rows.chunks), share)
    words = np.zeros(len(rows.chunks))
    cosine = np.zeros(len(rows.chunks))
    _, owner = np.unique(rows.files, return_inverse=True)
    if mode != "vector":
        words = score_words(index, terms, rows, owner)
    if mode != "keyword":
        cosine = score_meaning(index, query, terms, rows)
        meaning = mix_with_whole_entry(cosine, rows, owner)
    if mode == "keyword":
        relevance = words
    elif mode == "vector":
        relevance = meaning
    else:
        has_vector = rows.vectors >= 0
        weights = np.where(has_vector, weights, 0.0)
        if not any(term.counts for term in terms):
            weights = np.where(has_vector, 1.0, 0.0)  # meaning alone has something to say
        relevance = weights * meaning + (1 - weights) * words
    return Ranking(relevance, cosine, words)


def score_words(index: Index, terms: list[Term], rows: Rows, owner: "np.ndarray") -> "np.ndarray":
    """Return the share of the query's words that each row contains, weighted by their rarity."""
    import numpy as np

    total = 0.0
    own = np.zeros(len(rows.chunks))
    whole = np.zeros(len(rows.chunks))
    count = index.run("select count(*) from chunks").fetchone()[0]
    for term in terms:
        frequency = len(term.counts)
        rarity = (count + PSEUDO_TEXTS + 1) / (frequency + 1 + PSEUDO_SHARE * PSEUDO_TEXTS)
        weight = log(max(rarity, 1.0)) ** IDF_POWER * term.count
        total += weight
        if not frequency:
            continue
        counts = make_count_array(term, rows.chunks)
        if rows.is_talk.any():
            counts = np.where(rows.is_talk, spread_over_turns(counts, rows.files), counts)
        own += weight * counts / (counts + SATURATION)
        of_entry = np.bincount(owner, counts, minlength=1)[owner]
        whole += weight * of_entry / (of_entry + SATURATION)
    mixed = (1 - WHOLE_ENTRY_WORDS) * own + WHOLE_ENTRY_WORDS * whole
    score = np.where(rows.is_talk, own, mixed)
    result: np.ndarray = score / max(total, LEAST_WEIGHT * sum(term.count for term in terms), 1e-9)
    return result


def spread_over_turns(counts: "np.ndarray", files: "np.ndarray") -> "np.ndarray":
    """Return counts with a share of the counts of the turns before and after."""
    spread = counts.copy()
    for distance, weight in enumerate(TURN_WEIGHTS, 1):
        if distance >= len(counts):
            break
        is_same = files[distance:] == files[:-distance]
        spread[distance:] += weight * counts[:-distance] * is_same
        spread[:-distance] += weight * counts[distance:] * is_same
    return spread


def score_meaning(index: Index, query: str, terms: list[Term], rows: Rows) -> "np.ndarray":
    """Return the cosine of each row with the query; 0 for a row without a vector."""
    import numpy as np

    matrix = index.matrix.load()
    cosine = np.zeros(len(rows.chunks))
    has_vector = (rows.vectors >= 0) & (rows.vectors < len(matrix))
    if has_vector.any():
        scores = matrix @ embed_query(index, query, terms)
        cosine[has_vector] = scores[rows.vectors[has_vector]]
    return cosine


def embed_query(index: Index, query: str, terms: list[Term]) -> "np.ndarray":
    """Return the unit vector of a query.

    The last line of a prompt counts once more, because that is where the question is. So does the
    query without its frequent names.
    """
    import numpy as np

    lines = [line for line in query.splitlines() if line.strip()]
    texts, weights = [query], [1.0]
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


def mix_with_whole_entry(cosine: "np.ndarray", rows: Rows, owner: "np.ndarray") -> "np.ndarray":
    """Return the meaning of each row: of a long entry, half is the mean of its chunks."""
    import numpy as np

    sums = np.bincount(owner, cosine, minlength=1)
    sizes = np.bincount(owner, minlength=1)
    mean = (sums / np.maximum(sizes, 1))[owner]
    mixed = (1 - WHOLE_ENTRY_MEANING) * cosine + WHOLE_ENTRY_MEANING * mean
    result: np.ndarray = np.where(rows.is_talk, cosine, mixed)
    return result


def get_bonus(
    query_words: set[str], query_stems: set[str], title_stems: set[str], speaker: str
) -> float:
    """Return the bonus for a title whose words the query contains, or for the speaker it names."""
    if speaker:
        asks_user = speaker == "user" and bool(query_words & {"i", "my", "me"})
        asks_assistant = speaker == "assistant" and "you" in query_words
        is_named = bool(query_words.intersection(WORD.findall(speaker.lower())))
        return SPEAKER_BONUS if asks_user or asks_assistant or is_named else 0.0
    return TITLE_BONUS if title_stems and title_stems <= query_stems else 0.0
