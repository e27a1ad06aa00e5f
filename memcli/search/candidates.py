"""Turn scored chunks into candidates for hits: the best chunk of each memory, in their order.

Of two similar hits the later one comes first and marks the earlier one. Similarity does not decide
what is true, so no hit is left out, and nothing is written.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MemError
from ..formats import find_day_in_name, split_words
from ..index import COLUMNS as ENTRY_COLUMNS
from ..index import (
    Filter,
    Index,
    IndexedEntry,
    build_entry,
    find_content_words,
    find_files,
    get_small_talk,
    get_stop_words,
    read_passages,
)
from .names import find_named
from .ranking import LONG_TURN_MALUS, SHARE_TEXT, ScoredChunk, Term, get_bonus, stem_word

if TYPE_CHECKING:
    import numpy as np

NAMED_BONUS = 1.0
# Pieces of a turn are counted up to this many before and after each of them.
NEIGHBORS = 10
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
LEAST_WORDS = 5  # of a turn without a word of the query, its speaker included
MOST_CHANGED = 4  # words, of texts about two subjects


# Each of 60 candidates is compared with many others, which would take half of a search.
find_words = lru_cache(maxsize=256)(find_content_words)


class Passage(NamedTuple):
    """The text of a chunk, and its place."""

    kind: str
    anchor: str
    line: int
    title: str
    timestamp: str
    vector: int | None  # row of the matrix
    path: str
    pieces: int  # of the turn that it belongs to
    is_dated: bool  # otherwise its date is the time of its file, which a copy changes
    text: str


class Candidate(NamedTuple):
    """A chunk that may become a hit."""

    chunk: int
    relevance: float
    parts: dict[str, float]
    passage: Passage
    entry: IndexedEntry | None

    @property
    def kind(self) -> str:
        return self.passage.kind


def build_candidates(
    index: Index, query: str, terms: list[Term], scored: list[ScoredChunk], wanted: Filter
) -> list[Candidate]:
    """Return the best chunk of each memory, with its bonuses, the best first."""
    named = find_named_file(index, query, wanted)
    if named is not None and all(item.file != named for item in scored):
        row = index.run("select chunk from chunks where file = ? limit 1", (named,)).fetchone()
        scored = [*scored, ScoredChunk(row[0], named, 0.0, 0.0, 0.0)] if row else scored
    details = read_details(index, [item.chunk for item in scored])
    query_words = set(split_words(query))
    query_stems = {stem_word(term.word) for term in terms}
    candidates: dict[Any, Candidate] = {}
    for item in scored:
        passage, entry = details[item.chunk]
        speaker = passage.title if passage.kind == "session" else ""
        # A question that was asked before says nothing new, and "ok, thanks, see you" nothing.
        is_empty = speaker and (
            (query_words | get_small_talk()).issuperset(split_words(passage.text)[1:])
            or (not item.words and len(find_words(passage.text)) < LEAST_WORDS)
        )
        if is_empty and "session" not in wanted.kinds:
            continue
        words = [word for word in split_words(passage.title) if word not in get_stop_words()]
        bonus = get_bonus(query_words, query_stems, set(map(stem_word, words)), speaker)
        bonus -= LONG_TURN_MALUS * log(passage.pieces)
        if item.file == named:
            bonus += NAMED_BONUS
        if not passage.text:
            # A note with only a title says nothing, whatever its title means.
            item = item._replace(relevance=(1 - SHARE_TEXT) * item.words, meaning=0.0)
        parts = {"meaning": item.meaning, "words": item.words, "bonus": bonus}
        relevance = min(max(item.relevance + bonus, 0.0), 1.0)
        candidate = Candidate(item.chunk, relevance, parts, passage, entry)
        # Two passages of one memory are one hit. A history or session has many records.
        is_entry = passage.kind == "entry"
        document = (item.file, "" if is_entry else passage.anchor or passage.line)
        known = candidates.get(document)
        if known is None or relevance > known.relevance:
            candidates[document] = candidate
    return sorted(candidates.values(), key=lambda item: (-item.relevance, -item.chunk))


def find_named_file(index: Index, query: str, wanted: Filter) -> int | None:
    """Return the file that the query names, if it passes the filter."""
    # The prompt of an agent is no name, and looking it up would take time.
    if len(query) > 200 or "\n" in query:
        return None
    try:
        named = find_named(index, query, accept_parts=False)
    except MemError:  # the name of several memories
        return None
    if named is None:
        return None
    row = index.run("select file from files where path = ?", (named.path,)).fetchone()
    # Otherwise a forgotten memory would come back by its name.
    return int(row[0]) if row and row[0] in find_files(index, wanted) else None


def read_details(
    index: Index, chunks: Sequence[int]
) -> dict[int, tuple[Passage, IndexedEntry | None]]:
    """Return the passages of chunks, and the entries that they belong to."""
    columns = ", ".join(f"entries.{name.strip()}" for name in ENTRY_COLUMNS.split(",")[1:])
    # The pieces of a turn have consecutive numbers. The plus keeps SQLite from using the index of
    # files, which is slower.
    pieces = (
        "select count(*) from chunks other where other.line = chunks.line"
        " and +other.file = chunks.file"
        f" and other.chunk between chunks.chunk - {NEIGHBORS} and chunks.chunk + {NEIGHBORS}"
    )
    # Only a file without an id can be without a date.
    is_dated = (
        "entries.id is not path"
        " or updated_at is not strftime('%Y-%m-%dT%H:%M:%SZ', mtime / 1000000000, 'unixepoch')"
    )
    rows = index.run(
        "select chunk, chunks.kind, anchor, line, chunks.title, timestamp, vector, path,"
        f" case chunks.kind when 'session' then ({pieces}) else 1 end, {is_dated},"
        f" file, start, stop, {columns}"
        " from chunks join files using(file) left join entries using(file)"
        f" where chunk in ({', '.join(map(str, chunks))})"
    ).fetchall()
    texts = read_passages(index.database, [(row[10], "", row[11], row[12]) for row in rows])
    details: dict[int, tuple[Passage, IndexedEntry | None]] = {}
    for row, text in zip(rows, texts, strict=True):
        entry = build_entry((row[7], *row[13:])) if row[13] is not None else None
        details[row[0]] = (Passage(*row[1:10], text), entry)  # type: ignore[call-arg]
    return details


def put_later_first(
    index: Index, candidates: list[Candidate], terms: list[Term]
) -> tuple[list[Candidate], dict[int, str]]:
    """Move the later of two similar, nearly equal entries before the earlier one.

    Return the order, and for the chunk of an entry that a later one may replace, the later id.
    """
    entries, cosines = compare_entries(index, candidates)
    if len(entries) < 2:
        return candidates, {}
    order: list[Candidate] = []
    newer: dict[int, str] = {}
    asked = {stem_word(term.word) for term in terms}
    rows, columns = (cosines >= SIMILAR_COSINE).nonzero()
    similar = {
        (entries[first].chunk, entries[second].chunk)
        for first, second in zip(rows.tolist(), columns.tolist(), strict=True)
    }
    for candidate in candidates:
        rank = len(order)
        for position, better in enumerate(order):
            if (better.chunk, candidate.chunk) not in similar:
                continue
            if is_replacement(candidate, better, asked):
                newer.setdefault(better.chunk, get_id(candidate))
                rank = min(rank, position)
            elif is_replacement(better, candidate, asked):
                newer.setdefault(candidate.chunk, get_id(better))
        # Otherwise hits of several workspaces would be sorted the other way round.
        if rank < len(order):
            candidate = candidate._replace(
                relevance=max(candidate.relevance, order[rank].relevance)
            )
        order.insert(rank, candidate)
    for earlier, later in find_changes(entries[:COMPARED], cosines[:COMPARED, :COMPARED], asked):
        newer.setdefault(earlier.chunk, get_id(later))
    return order, newer


def put_memories_first(candidates: list[Candidate]) -> list[Candidate]:
    """Move a memory before another text that repeats it, if that fits hardly better."""
    order: list[Candidate] = []
    for candidate in candidates:
        rank = len(order)
        words = join_words(candidate.passage.text) if candidate.entry else ""
        for position, better in enumerate(order if words.strip() else []):
            is_near = candidate.relevance >= NEARLY * better.relevance
            if is_near and not better.entry and words in join_words(better.passage.text):
                # As above, hits of several workspaces are sorted again.
                candidate = candidate._replace(relevance=better.relevance)
                rank = position
                break
        order.insert(rank, candidate)
    return order


@lru_cache(maxsize=256)
def join_words(text: str) -> str:
    return f" {' '.join(split_words(text))} "


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


def find_changes(
    entries: list[Candidate], cosines: "np.ndarray", asked: set[str]
) -> list[tuple[Candidate, Candidate]]:
    """Return entries that seem to answer, each with a later replacement."""
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
            common, shared_lines = compare_texts(earlier.passage.text, later.passage.text)
            margin += SIGN_BONUS * bool(common)
            # Notes that only have the lines of a template in common are about two things.
            is_related = common or not shared_lines
            if have_two_subjects(earlier.passage.text, later.passage.text, asked):
                continue
            # A note of a day is about many things too.
            if find_day_in_name(later.passage.path):
                continue
            if margin >= best_margin and is_related and is_later(later, earlier):
                best_margin, best = margin, later
        if best is not None:
            changes.append((earlier, best))
    return changes


def compare_texts(first: str, second: str) -> tuple[set[str], set[str]]:
    """Return the telling words that two texts share, and their common lines, which do not count."""
    ours, theirs = set(first.splitlines()), set(second.splitlines())
    words = [find_content_words("\n".join(lines)) for lines in (ours - theirs, theirs - ours)]
    return set(map(stem_word, words[0])) & set(map(stem_word, words[1])), ours & theirs - {""}


def have_two_subjects(first: str, second: str, asked: set[str]) -> bool:
    """Return whether two texts differ in a subject that the query names, and in what they say.

    "Staging uses port 6543." and "Production uses port 5432." do, if somebody asks about staging.
    Of 24 such pairs, 4 instead of 18 are taken for a change, and no change of 180 is missed.
    """
    ours, theirs = list_stems(first), list_stems(second)
    if len(ours) != len(theirs):
        return False
    changed = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    if len(changed) > MOST_CHANGED:
        return False
    # A word that both texts have may also be a part of what they say: a family name, for example.
    subjects = asked & (set(ours) ^ set(theirs))
    is_named = [not subjects.isdisjoint(pair) for pair in changed]
    return any(is_named) and not all(is_named)


@lru_cache(maxsize=256)
def list_stems(text: str) -> list[str]:
    return list(map(stem_word, split_words(text)))


def is_replacement(later: Candidate, earlier: Candidate, asked: set[str]) -> bool:
    """Return whether a later entry is about the same subject, and nearly as relevant."""
    if later.relevance < NEARLY * earlier.relevance or not is_later(later, earlier):
        return False
    ours = find_words(later.passage.text)
    theirs = find_words(earlier.passage.text)
    if len(ours & theirs) < SHARED_WORDS * min(len(ours), len(theirs)):
        return False
    return not have_two_subjects(earlier.passage.text, later.passage.text, asked)


def is_later(later: Candidate, earlier: Candidate) -> bool:
    """Return whether an entry was changed after another one, by a source trusted as much."""
    new, old = later.entry, earlier.entry
    if new is None or old is None or new.trust < old.trust or not later.passage.is_dated:
        return False
    return (new.updated_at, new.id) > (old.updated_at, old.id)


def get_id(candidate: Candidate) -> str:
    assert candidate.entry is not None
    return candidate.entry.id
