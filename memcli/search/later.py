"""Prefer what was said later: order similar hits, and mark those that a later one may replace.

Similarity does not decide what is true, so no hit is left out, and nothing is written.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ..index.index import Index
from ..index.words import find_content_words
from .candidates import Candidate
from .query import stem_word

if TYPE_CHECKING:
    import numpy as np

# Of two similar, nearly equal hits the later comes first: FactConsolidation, 36 → 98 of 100.
SIMILAR_COSINE = 0.6
SHARED_WORDS = 0.5
NEARLY = 0.9
# The later text often uses other words. Then the best sign of a change is that two of the best hits
# are about as near to each other as to any other hit (finds 102 of 120 changes; 88 of 93 marks are
# right).
COMPARED = 20
MARGIN = -0.1  # sum over both, of their cosine minus the one to the nearest other hit
USUAL_COSINE = 0.4  # of the nearest other hit at least: a small workspace may have no near one
# A text that speaks of a change, or has a telling word of the earlier one, may be less near. Of the
# 60 changes on which this was chosen, 49 instead of 45 are found, and 70 of 82 marks are right.
SIGN_BONUS = 0.2
CHANGE = re.compile(
    r"(?i)\b(?:now|since|as of|from (?:today|now|next)|these days|nowadays|instead|new"
    r"|any ?more|no longer|not any|gone|dropped|finally|after all|actually|make (?:it|that)|gave in"
    r"|(?:moved|switched|changed|renamed|migrated|replaced|swapped|raised|lowered|cut|bumped|capped)"
    r"|took over|goes by|used to|turns out|jetzt|seit|ab (?:heute|sofort|jetzt)|nicht mehr|neue?r?"
    r"|stattdessen|lieber|maintenant|désormais|depuis|ahora|desde|ya no)\b|[→⇒]"
)
# The earlier one seems to answer the query, and the later one is not far behind.
GOOD_SHARE = 0.7  # of the relevance of the best hit
LAST_RANK = 6
# Each of 60 candidates is compared with many others, which would take half of a search.
find_words = lru_cache(maxsize=256)(find_content_words)


def put_later_first(
    index: Index, candidates: list[Candidate]
) -> tuple[list[Candidate], dict[int, str]]:
    """Move the later of two similar, nearly equal entries before the earlier one.

    Return the order, and for the chunk of an entry that a later one may replace, the later id.
    """
    entries, cosines = compare_entries(index, candidates)
    if len(entries) < 2:
        return candidates, {}
    order: list[Candidate] = []
    newer: dict[int, str] = {}
    similar = find_similar_pairs(entries, cosines)
    for candidate in candidates:
        rank = len(order)
        for position, better in enumerate(order):
            if (better.chunk, candidate.chunk) not in similar:
                continue
            if outranks(candidate, better):
                newer.setdefault(better.chunk, get_id(candidate))
                rank = min(rank, position)
            elif outranks(better, candidate):
                newer.setdefault(candidate.chunk, get_id(better))
        # Otherwise hits of several workspaces would be sorted the other way round.
        if rank < len(order):
            candidate = candidate._replace(
                relevance=max(candidate.relevance, order[rank].relevance)
            )
        order.insert(rank, candidate)
    for earlier, later in find_changes(entries[:COMPARED], cosines[:COMPARED, :COMPARED]):
        newer.setdefault(earlier.chunk, get_id(later))
    return order, newer


def compare_entries(
    index: Index, candidates: list[Candidate]
) -> "tuple[list[Candidate], np.ndarray]":
    """Return the candidates that are entries with a vector, and their cosines, (n, n) float32.

    The cosine of an entry with itself is set to -1.
    """
    import numpy as np

    stored = index.matrix.load()
    entries: list[Candidate] = []
    rows: list[int] = []
    for item in candidates:
        row = item.passage.vector
        if item.entry is not None and row is not None and row < len(stored):
            entries.append(item)
            rows.append(row)
    matrix = stored[rows]
    cosines = matrix @ matrix.T
    np.fill_diagonal(cosines, -1.0)
    return entries, cosines


def find_similar_pairs(entries: list[Candidate], cosines: "np.ndarray") -> set[tuple[int, int]]:
    """Return the chunks of similar entries, the better one first."""
    firsts, seconds = (cosines >= SIMILAR_COSINE).nonzero()
    return {
        (entries[first].chunk, entries[second].chunk)
        for first, second in zip(firsts.tolist(), seconds.tolist(), strict=True)
        if first < second
    }


def find_changes(
    entries: list[Candidate], cosines: "np.ndarray"
) -> list[tuple[Candidate, Candidate]]:
    """Return the entries that seem to answer, each with a later one that may replace it."""
    changes = []
    rows = cosines.tolist()
    for first, earlier in enumerate(entries[:LAST_RANK]):
        if earlier.relevance < GOOD_SHARE * entries[0].relevance:
            break
        best_margin, best = MARGIN, None
        for second, later in enumerate(entries[first + 1 : LAST_RANK], first + 1):
            margin = 2 * rows[first][second]
            for row, other in ((rows[first], second), (rows[second], first)):
                margin -= max([*row[:other], *row[other + 1 :], USUAL_COSINE])
            margin += SIGN_BONUS * bool(CHANGE.search(later.passage.text))
            margin += SIGN_BONUS * share_word(earlier, later)
            if margin >= best_margin and is_later(later, earlier):
                best_margin, best = margin, later
        if best is not None:
            changes.append((earlier, best))
    return changes


def share_word(first: Candidate, second: Candidate) -> bool:
    """Return whether two texts have a telling word in common."""
    return bool(find_stems(first) & find_stems(second))


def find_stems(candidate: Candidate) -> set[str]:
    return {stem_word(word) for word in find_content_words(candidate.passage.text)}


def outranks(later: Candidate, earlier: Candidate) -> bool:
    """Return whether a later entry is about the same subject, and nearly as relevant."""
    if later.relevance < NEARLY * earlier.relevance or not is_later(later, earlier):
        return False
    ours, theirs = find_words(later.passage.text), find_words(earlier.passage.text)
    return len(ours & theirs) >= SHARED_WORDS * min(len(ours), len(theirs))


def is_later(later: Candidate, earlier: Candidate) -> bool:
    """Return whether an entry was changed after another one, by a source trusted as much."""
    new, old = later.entry, earlier.entry
    if new is None or old is None or new.trust < old.trust:
        return False
    return (new.updated_at, new.id) > (old.updated_at, old.id)


def get_id(candidate: Candidate) -> str:
    assert candidate.entry is not None
    return candidate.entry.id
