"""Gather what is known of the best chunks, and keep the best chunk of each memory."""

from collections.abc import Sequence
from math import log
from typing import Any, NamedTuple

from ..errors import MemError
from ..formats.text import split_words
from ..index.database import read_passages
from ..index.filters import Filter, find_files
from ..index.index import COLUMNS as ENTRY_COLUMNS
from ..index.index import Index, IndexedEntry, build_entry
from ..index.words import get_stop_words
from .names import find_named
from .query import Term, stem_word
from .ranking import LONG_TURN_MALUS, ScoredChunk, get_bonus

NAMED_BONUS = 1.0
# Pieces of a turn are counted up to this many before and after each of them.
NEIGHBORS = 10


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
    text: str


class Candidate(NamedTuple):
    """A chunk that may become a hit."""

    chunk: int
    relevance: float
    parts: dict[str, float]
    passage: Passage
    entry: IndexedEntry | None


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
        words = [word for word in split_words(passage.title) if word not in get_stop_words()]
        bonus = get_bonus(query_words, query_stems, set(map(stem_word, words)), speaker)
        bonus -= LONG_TURN_MALUS * log(passage.pieces)
        if item.file == named:
            bonus += NAMED_BONUS
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
    """Return the file whose id, path, title or alias the query is, if it passes the filter."""
    if len(query) > 200 or "\n" in query:
        return None
    try:
        named = find_named(index, query, accept_parts=False)
    except MemError:  # the name of several memories
        return None
    row = (
        index.run("select file from files where path = ?", (named.path,)).fetchone()
        if named
        else None
    )
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
    rows = index.run(
        "select chunk, chunks.kind, anchor, line, chunks.title, timestamp, vector, path,"
        f" case chunks.kind when 'session' then ({pieces}) else 1 end, file, start, stop,"
        f" {columns} from chunks join files using(file) left join entries using(file)"
        f" where chunk in ({', '.join(map(str, chunks))})"
    ).fetchall()
    texts = read_passages(index.database, [(row[9], "", row[10], row[11]) for row in rows])
    details: dict[int, tuple[Passage, IndexedEntry | None]] = {}
    for row, text in zip(rows, texts, strict=True):
        entry = build_entry((row[7], *row[12:])) if row[12] is not None else None
        details[row[0]] = (Passage(*row[1:9], text), entry)  # type: ignore[call-arg]
    return details
