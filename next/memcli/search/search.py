"""Search: find by words and by meaning, order, and cut to exactly n hits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UnavailableError
from ..formats.text import count_noun, split_words
from ..index.filters import Filter, find_files
from ..index.index import COLUMNS as ENTRY_COLUMNS
from ..index.index import KINDS, Index, IndexedEntry, make_entry, open_index
from ..index.words import get_stop_words
from ..store.commit import recover
from ..store.workspace import Workspace
from .names import find_named
from .query import Term, look_up_terms, stem_word
from .ranking import SESSION, Ranking, Rows, get_bonus, rank_rows
from .snippets import make_snippet

if TYPE_CHECKING:
    import numpy as np

EMBED_SECONDS = 2.0  # of new text, before a search answers
CANDIDATES = 60  # chunks whose titles, speakers and texts are looked at
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


class Candidate(NamedTuple):
    """A chunk that may become a hit."""

    row: int  # in the arrays of the ranking
    chunk: int
    file: int
    relevance: float
    parts: dict[str, float]
    values: Sequence[Any]  # kind, anchor, line, start, stop, title, timestamp, text, path
    entry: IndexedEntry | None


def search(workspaces: Sequence[Workspace], query: str, options: SearchOptions) -> SearchResult:
    """Search several workspaces and return the best hits of all, exactly `limit` at most."""
    result = SearchResult()
    embedder = None
    for workspace in workspaces:
        if embedder is not None:
            workspace.resources.setdefault("embedder", embedder)
        message = recover(workspace)
        result.messages += [message] if message else []
        part = search_workspace(open_index(workspace), query, options)
        embedder = workspace.resources.get("embedder")
        result.hits += part.hits
        result.messages += [text for text in part.messages if text not in result.messages]
        result.weak += part.weak
    result.hits.sort(key=lambda hit: -hit.relevance)
    del result.hits[options.limit :]
    return result


def search_workspace(index: Index, query: str, options: SearchOptions) -> SearchResult:
    result = SearchResult(messages=index.messages + describe_unread_files(index))
    terms = look_up_terms(index, query)
    mode = options.mode
    if mode != "keyword":
        try:
            first = [chunk for term in terms for chunk in term.counts]
            missing = index.embed_missing(options.embed_seconds, first)
            if missing:
                result.messages.append(
                    f"not embedded yet: {count_noun(missing, 'text')}, found by words only (mem index)"
                )
        except UnavailableError as error:
            if mode == "vector":
                raise
            mode = "keyword"
            result.messages.append(f"searching by words only: {error.message}")
    rows = select_rows(index, options.wanted)
    if not len(rows.chunks):
        return result
    share = options.vector_weight if options.vector_weight >= 0 else None
    ranking = rank_rows(index, query, terms, rows, mode=mode, share=share)
    candidates = make_candidates(index, query, terms, rows, ranking, options)
    candidates = hide_talk(candidates, options.wanted)
    result.weak = sum(candidate.relevance < options.min_score for candidate in candidates)
    candidates = [candidate for candidate in candidates if candidate.relevance >= options.min_score]
    order, newer = put_later_first(index, candidates, rows)
    words = list(
        dict.fromkeys([*split_words(query), *(word for term in terms for word in term.similar)])
    )
    for candidate in order[: options.limit]:
        result.hits.append(make_hit(index, candidate, words, newer.get(candidate.chunk, "")))
    return result


def describe_unread_files(index: Index) -> list[str]:
    """Return a message that names what the search could not read."""
    rows = index.run(
        "select path, reason from problems where file = 0 or reason like 'cannot be read%'"
    )
    unread = [f"{path} ({reason})" for path, reason in rows.fetchmany(4)]
    if not unread:
        return []
    more = " and more" if len(unread) > 3 else ""
    return [f"not searched: {', '.join(unread[:3])}{more}"]


def select_rows(index: Index, wanted: Filter) -> Rows:
    """Return the chunks that pass a filter."""
    import numpy as np

    table = index.load_rows()
    keep = np.ones(len(table), bool)
    if wanted.kinds:
        kinds = [KINDS.index(kind) for kind in wanted.kinds]
        keep &= np.isin(table[:, 3], kinds)
    if wanted.statuses == ("active",):
        keep &= table[:, 4] == 1
    if wanted.is_about_entries or wanted.path:
        keep &= np.isin(table[:, 1], find_files(index, wanted))
    if wanted.since or wanted.until:
        chunks = index.run(
            "select chunk from chunks where timestamp >= ? and (? = '' or timestamp <= ?)",
            (wanted.since, wanted.until, wanted.until),
        ).fetchall()
        keep &= np.isin(table[:, 0], [chunk for (chunk,) in chunks])
    if not keep.all():
        table = table[keep]
    return Rows(table[:, 0], table[:, 1], table[:, 2], table[:, 3] == SESSION)


def make_candidates(
    index: Index,
    query: str,
    terms: list[Term],
    rows: Rows,
    ranking: Ranking,
    options: SearchOptions,
) -> list[Candidate]:
    """Return the best chunk of each of the best memories, with its bonuses, the best first."""
    import numpy as np

    count = min(max(CANDIDATES, 4 * options.limit), len(rows.chunks))
    best = np.argpartition(-ranking.relevance, count - 1)[:count]
    best = [row for row in best.tolist() if ranking.relevance[row] > 0]
    named = find_named_file(index, query)
    if named is not None:
        best += np.flatnonzero(rows.files == named)[:1].tolist()
    details = read_details(index, [int(rows.chunks[row]) for row in best])
    query_words = set(split_words(query))
    query_stems = {stem_word(term.word) for term in terms}
    candidates: dict[Any, Candidate] = {}
    for row in best:
        chunk, file = int(rows.chunks[row]), int(rows.files[row])
        values, entry = details[chunk]
        kind, anchor, line, title = values[0], values[1], values[2], values[5]
        speaker = title if kind == "session" else ""
        title_stems = {
            stem_word(word) for word in split_words(title) if word not in get_stop_words()
        }
        parts = {"meaning": float(ranking.cosine[row]), "words": float(ranking.words[row])}
        bonus = get_bonus(query_words, query_stems, title_stems, speaker)
        if file == named:
            bonus += NAMED_BONUS
        if bonus:
            parts["bonus"] = bonus
        relevance = min(float(ranking.relevance[row]) + bonus, 1.0)
        candidate = Candidate(row, chunk, file, relevance, parts, values, entry)
        # Two passages of one memory are one hit. A history or session has many records.
        document = (file, "") if kind == "entry" else (file, anchor or line)
        known = candidates.get(document)
        if known is None or relevance > known.relevance:
            candidates[document] = candidate
    return sorted(candidates.values(), key=lambda item: (-item.relevance, -item.chunk))


def find_named_file(index: Index, query: str) -> int | None:
    """Return the file whose id, path, title or alias the query is."""
    if len(query) > 200 or "\n" in query:
        return None
    try:
        named = find_named(index, query)
    except Exception:  # a query that is no name, or the name of several
        return None
    row = (
        index.run("select file from files where path = ?", (named.path,)).fetchone()
        if named
        else None
    )
    return int(row[0]) if row else None


def read_details(
    index: Index, chunks: Sequence[int]
) -> dict[int, tuple[Sequence[Any], IndexedEntry | None]]:
    """Return the values of chunks, and the entries that they belong to."""
    marks = ", ".join(map(str, chunks))
    columns = ", ".join(f"entries.{name.strip()}" for name in ENTRY_COLUMNS.split(",")[1:])
    rows = index.run(
        "select chunk, chunks.kind, anchor, line, start, stop, chunks.title, timestamp, texts.text, path,"
        f" {columns} from chunks join files using(file) join texts using(file)"
        f" left join entries using(file) where chunk in ({marks})"
    )
    details: dict[int, tuple[Sequence[Any], IndexedEntry | None]] = {}
    for row in rows:
        values = [*row[1:8], row[8][row[4] : row[5]], row[9]]
        entry = make_entry((row[9], *row[10:])) if row[10] is not None else None
        details[row[0]] = (values, entry)
    return details


def hide_talk(candidates: list[Candidate], wanted: Filter) -> list[Candidate]:
    """Leave out conversations if a memory answers well, unless they were asked for."""
    if "session" in wanted.kinds:
        return candidates
    memories = [candidate for candidate in candidates if candidate.values[0] != "session"]
    if memories and memories[0].relevance >= GOOD_ANSWER:
        return memories
    return candidates


def put_later_first(
    index: Index, candidates: list[Candidate], rows: Rows
) -> tuple[list[Candidate], dict[int, str]]:
    """Move the later of two similar, nearly equal entries before the earlier one.

    Return the order, and for the chunk of each earlier entry the id of the later one.
    """
    order: list[Candidate] = []
    newer: dict[int, str] = {}
    similar = find_similar_pairs(index, candidates, rows)
    for candidate in candidates:
        place = len(order)
        for position, earlier in enumerate(order):
            pair = (earlier.chunk, candidate.chunk)
            if pair in similar and is_later(candidate, earlier):
                assert candidate.entry is not None
                newer.setdefault(earlier.chunk, candidate.entry.id)
                place = min(place, position)
            elif pair in similar and is_later(earlier, candidate):
                assert earlier.entry is not None
                newer.setdefault(candidate.chunk, earlier.entry.id)
        if place < len(order):
            candidate = candidate._replace(
                relevance=max(candidate.relevance, order[place].relevance)
            )
        order.insert(place, candidate)
    return order, newer


def find_similar_pairs(
    index: Index, candidates: Sequence[Candidate], rows: Rows
) -> set[tuple[int, int]]:
    """Return the pairs of candidates, in their order, whose vectors are similar."""
    entries = [
        item for item in candidates if item.entry is not None and rows.vectors[item.row] >= 0
    ]
    if len(entries) < 2 or index.matrix.count_rows() == 0:
        return set()
    matrix: np.ndarray = index.matrix.load()[[int(rows.vectors[item.row]) for item in entries]]
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
    ours, theirs = get_content_words(later.values[7]), get_content_words(earlier.values[7])
    return len(ours & theirs) >= SHARED_WORDS * min(len(ours), len(theirs))


def get_content_words(text: str) -> set[str]:
    return {word for word in split_words(text) if word not in get_stop_words()}


def make_hit(index: Index, candidate: Candidate, words: list[str], newer: str) -> Hit:
    kind, anchor, line, _, _, title, timestamp, text, path = candidate.values
    entry = candidate.entry
    hit = Hit(
        id=entry.id if entry else "",
        path=path,
        line=line,
        kind=kind,
        relevance=round(candidate.relevance, 4),
        text=make_snippet(text, words) or title,
        title=title,
        timestamp=timestamp,
        anchor=anchor,
        newer=newer,
        parts=candidate.parts,
        workspace=str(index.workspace.root),
    )
    if entry is not None:
        hit.type, hit.tags, hit.status = entry.type, entry.tags, entry.status
        hit.source, hit.trust, hit.expires_at = entry.source, entry.trust, entry.expires_at
        hit.short_id = index.shorten_id(entry.id)
    return hit
