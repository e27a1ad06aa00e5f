"""Search: find by words and by meaning, order, and cut to exactly n hits."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import MemError, UnavailableError, UsageError
from ..formats.text import count_noun, split_words
from ..index.database import read_passages
from ..index.filters import Filter, find_files
from ..index.index import COLUMNS as ENTRY_COLUMNS
from ..index.index import Index, IndexedEntry, build_entry, open_index
from ..index.words import get_stop_words
from ..store.workspace import Workspace
from .names import find_named
from .query import Term, look_up_terms, stem_word
from .ranking import ScoredChunk, get_bonus, rank_by_meaning_and_words, rank_by_words
from .snippets import build_snippet

EMBED_SECONDS = 2.0  # of new text, before a search answers
CANDIDATES = 60  # chunks whose titles, speakers and texts are looked at
MOST_CANDIDATES = 5000
# Conversations are shown only if no memory is this relevant.
GOOD_ANSWER = 0.5
# Of two similar hits the later one comes first: measured on FactConsolidation, 36 → 98 of 100.
SIMILAR_COSINE = 0.6
SHARED_WORDS = 0.5
NEARLY = 0.9
NAMED_BONUS = 1.0


class SearchOptions(NamedTuple):
    """How to search."""

    limit: int = 10
    mode: str = "hybrid"  # or keyword, vector
    wanted: Filter = Filter()
    min_score: float = 0.0
    vector_weight: float = -1.0  # -1: the measured weights
    embed_seconds: float | None = EMBED_SECONDS


@dataclass
class Hit:
    """A memory or passage that a search found."""

    id: str  # empty for passages of other files
    path: str
    line: int
    kind: str
    relevance: float
    text: str  # the sentences that fit the query, in one line
    type: str = ""
    title: str = ""
    tags: Sequence[str] = ()
    timestamp: str = ""
    source: str = ""
    trust: float = 0.0
    status: str = ""
    expires_at: str = ""
    anchor: str = ""
    newer: str = ""  # the id of a later hit about the same
    parts: dict[str, float] = field(default_factory=dict)
    short_id: str = ""
    workspace: str = ""


@dataclass
class SearchResult:
    """The hits of a search, the best first, and messages for the user."""

    hits: list[Hit] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    weak: int = 0  # hits below the minimum relevance


class Passage(NamedTuple):
    """The text of a chunk, and its place."""

    kind: str
    anchor: str
    line: int
    title: str
    timestamp: str
    vector: int | None  # row of the matrix
    path: str
    text: str


class Candidate(NamedTuple):
    """A chunk that may become a hit."""

    chunk: int
    relevance: float
    parts: dict[str, float]
    passage: Passage
    entry: IndexedEntry | None


def search(workspaces: Sequence[Workspace], query: str, options: SearchOptions) -> SearchResult:
    """Search several workspaces and return the best hits of all, exactly `limit` at most."""
    if not query.strip():
        raise UsageError("the query is empty", "list memories: mem ls")
    result = SearchResult()
    embedder = None
    for workspace in workspaces:
        if embedder is not None:
            workspace.resources.setdefault("embedder", embedder)
        part = search_workspace(open_index(workspace), query, options)
        embedder = workspace.resources.get("embedder")
        result.hits += part.hits
        result.messages = list(dict.fromkeys([*result.messages, *part.messages]))
        result.weak += part.weak
    result.hits.sort(key=lambda hit: -hit.relevance)
    del result.hits[options.limit :]
    return result


def search_workspace(index: Index, query: str, options: SearchOptions) -> SearchResult:
    result = SearchResult(messages=index.messages + describe_unread_files(index))
    terms = look_up_terms(index, query)
    if options.mode != "keyword":
        embed_new_texts(index, terms, options, result)
    # Several chunks may be one memory, and conversations may be hidden.
    count = max(CANDIDATES, 4 * options.limit)
    while True:
        scored = rank(index, query, terms, options, result, count)
        candidates = build_candidates(index, query, terms, scored, options.wanted)
        candidates = hide_talk(candidates, options.wanted)
        if len(candidates) >= options.limit or len(scored) < count or count > MOST_CANDIDATES:
            break
        count *= 8  # a long file has crowded out the others
    result.weak = sum(candidate.relevance < options.min_score for candidate in candidates)
    candidates = [item for item in candidates if item.relevance >= options.min_score]
    newer: dict[int, str] = {}
    if options.mode != "keyword":
        candidates, newer = put_later_first(index, candidates)
    similar = [word for term in terms for word in term.similar]
    words = list(dict.fromkeys([*split_words(query), *similar]))
    for candidate in candidates[: options.limit]:
        result.hits.append(build_hit(index, candidate, words, newer.get(candidate.chunk, "")))
    return result


def embed_new_texts(
    index: Index, terms: list[Term], options: SearchOptions, result: SearchResult
) -> None:
    """Embed new texts, first those that contain a word of the query."""
    first = [chunk for term in terms for chunk in term.counts]
    # Without the model, the ranking says so.
    with suppress(UnavailableError):
        missing = index.embed_missing(options.embed_seconds, first)
        if missing:
            number = count_noun(missing, "text")
            result.messages.append(f"not embedded yet: {number}, found by words only (mem index)")


def rank(
    index: Index,
    query: str,
    terms: list[Term],
    options: SearchOptions,
    result: SearchResult,
    count: int,
) -> list[ScoredChunk]:
    """Return the best chunks. Without the model, words alone answer, and a message says so."""
    if options.mode == "keyword":
        return rank_by_words(index, terms, options.wanted, count)
    try:
        share = options.vector_weight if options.vector_weight >= 0 else None
        if options.mode == "vector":
            terms, share = [], 1.0
        return rank_by_meaning_and_words(index, query, terms, options.wanted, count, share=share)
    except UnavailableError as error:
        if options.mode == "vector":
            raise
        result.messages.append(f"searching by words only: {error.message}")
        return rank_by_words(index, terms, options.wanted, count)


def describe_unread_files(index: Index) -> list[str]:
    """Return a message that names what the search could not read."""
    rows = index.run("select path, reason from problems where code in ('unread', 'conflict')")
    unread = [f"{path} ({reason})" for path, reason in rows.fetchmany(4)]
    if not unread:
        return []
    more = " and more" if len(unread) > 3 else ""
    return [f"not searched: {', '.join(unread[:3])}{more}"]


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
        if item.file == named:
            bonus += NAMED_BONUS
        parts = {"meaning": item.meaning, "words": item.words, "bonus": bonus}
        relevance = min(item.relevance + bonus, 1.0)
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
        named = find_named(index, query)
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
    rows = index.run(
        "select chunk, chunks.kind, anchor, line, chunks.title, timestamp, vector, path,"
        f" file, start, stop, {columns} from chunks join files using(file)"
        f" left join entries using(file) where chunk in ({', '.join(map(str, chunks))})"
    ).fetchall()
    texts = read_passages(index.database, [(row[8], "", row[9], row[10]) for row in rows])
    details: dict[int, tuple[Passage, IndexedEntry | None]] = {}
    for row, text in zip(rows, texts, strict=True):
        entry = build_entry((row[7], *row[11:])) if row[11] is not None else None
        details[row[0]] = (Passage(*row[1:8], text), entry)  # type: ignore[call-arg]
    return details


def hide_talk(candidates: list[Candidate], wanted: Filter) -> list[Candidate]:
    """Leave out conversations if a memory answers well, unless they were asked for."""
    if "session" in wanted.kinds:
        return candidates
    memories = [candidate for candidate in candidates if candidate.passage.kind != "session"]
    if memories and memories[0].relevance >= GOOD_ANSWER:
        return memories
    return candidates


def put_later_first(
    index: Index, candidates: list[Candidate]
) -> tuple[list[Candidate], dict[int, str]]:
    """Move the later of two similar, nearly equal entries before the earlier one.

    Return the order, and for the chunk of each earlier entry the id of the later one.
    """
    order: list[Candidate] = []
    newer: dict[int, str] = {}
    similar = find_similar_pairs(index, candidates)
    for candidate in candidates:
        rank = len(order)
        for position, earlier in enumerate(order):
            pair = (earlier.chunk, candidate.chunk)
            if pair in similar and is_later(candidate, earlier):
                assert candidate.entry is not None
                newer.setdefault(earlier.chunk, candidate.entry.id)
                rank = min(rank, position)
            elif pair in similar and is_later(earlier, candidate):
                assert earlier.entry is not None
                newer.setdefault(candidate.chunk, earlier.entry.id)
        # Otherwise hits of several workspaces would be sorted the other way round.
        if rank < len(order):
            candidate = candidate._replace(
                relevance=max(candidate.relevance, order[rank].relevance)
            )
        order.insert(rank, candidate)
    return order, newer


def find_similar_pairs(index: Index, candidates: Sequence[Candidate]) -> set[tuple[int, int]]:
    """Return the pairs of candidates, in their order, whose vectors are similar."""
    stored = index.matrix.load()
    entries = []
    rows = []
    for item in candidates:
        row = item.passage.vector
        if item.entry is not None and row is not None and row < len(stored):
            entries.append(item)
            rows.append(row)
    if len(entries) < 2:
        return set()
    matrix = stored[rows]
    cosines = matrix @ matrix.T
    return {
        (first.chunk, second.chunk)
        for number, first in enumerate(entries)
        for other, second in enumerate(entries[number + 1 :], number + 1)
        if cosines[number, other] >= SIMILAR_COSINE
    }


def is_later(later: Candidate, earlier: Candidate) -> bool:
    """Return whether one entry was said after another about the same, and is nearly as relevant."""
    new, old = later.entry, earlier.entry
    if new is None or old is None or later.relevance < NEARLY * earlier.relevance:
        return False
    if new.trust < old.trust or (new.updated_at, new.id) <= (old.updated_at, old.id):
        return False
    ours, theirs = get_content_words(later.passage.text), get_content_words(earlier.passage.text)
    return len(ours & theirs) >= SHARED_WORDS * min(len(ours), len(theirs))


def get_content_words(text: str) -> set[str]:
    return {word for word in split_words(text) if word not in get_stop_words()}


def build_hit(index: Index, candidate: Candidate, words: list[str], newer: str) -> Hit:
    passage, entry = candidate.passage, candidate.entry
    hit = Hit(
        id=entry.id if entry else "",
        path=passage.path,
        line=passage.line,
        kind=passage.kind,
        relevance=round(candidate.relevance, 4),
        text=build_snippet(passage.text, words) or passage.title,
        title=passage.title,
        timestamp=passage.timestamp,
        anchor=passage.anchor,
        newer=newer,
        parts=candidate.parts,
        workspace=str(index.workspace.root),
    )
    if entry is not None:
        hit.type, hit.tags, hit.status = entry.type, entry.tags, entry.status
        hit.source, hit.trust, hit.expires_at = entry.source, entry.trust, entry.expires_at
        hit.short_id = index.shorten_id(entry.id)
    return hit
