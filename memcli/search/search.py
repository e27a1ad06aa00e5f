"""Search workspaces by words and by meaning, and return at most n hits with snippets."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from ..errors import UnavailableError, UsageError
from ..formats import (
    BLOCK_ID,
    LIST_MARK,
    SENTENCE_END,
    SUMMARY_LENGTH,
    collapse_blanks,
    count_noun,
    shorten,
    split_words,
    strip_comments,
)
from ..index import Filter, Index, open_index
from ..store import Workspace
from .candidates import (
    Candidate,
    build_candidates,
    put_later_first,
    put_memories_first,
)
from .ranking import ScoredChunk, Term, look_up_terms, rank_by_meaning_and_words, rank_by_words

EMBED_SECONDS = 2.0  # of new text, before a search answers
CANDIDATES = 60  # chunks whose titles, speakers and texts are compared
MOST_CANDIDATES = 5000
# Conversations are shown only if no memory is this relevant.
GOOD_ANSWER = 0.5
TALK_SHARE = 0.75  # of the relevance of the best memory, that a conversation has at least
# `![A chart](chart.png)`, `![[chart.png]]`, and of Obsidian the mark of a footnote, `[^1]`
MARKUP = re.compile(rf"!\[[^\]]*\]\([^)]*\)|!\[\[[^\]]*\]\]|\[\^\d+\]:?|{BLOCK_ID}")
# `[[Ana Silva]]`, `[[people/ana|Ana]]`
LINK = re.compile(r"\[\[([^\]|]+\|)?([^\]]+)\]\]")


class SearchOptions(NamedTuple):
    """How to search."""

    limit: int = 10
    mode: str = "hybrid"  # or keyword, vector
    wanted: Filter = Filter()
    min_score: float = 0.0
    vector_weight: float = -1.0  # -1: the measured weights
    embed_seconds: float | None = EMBED_SECONDS
    own_project: bool = False  # without what the user's own memory has of other projects

    @property
    def reads_sessions(self) -> bool:
        return not self.wanted.kinds or "session" in self.wanted.kinds


def build_options(
    workspace: Workspace, limit: int | None, *, min_score: float = -1.0, **values: Any
) -> SearchOptions:
    """Return options, with the user's settings for what is not given."""
    settings = workspace.settings
    options = SearchOptions(vector_weight=settings["search.vector_weight"], **values)
    if min_score < 0:
        # Only the hybrid relevance was measured against right and wrong hits.
        min_score = settings["search.min_score"] if options.mode == "hybrid" else 0.0
    return options._replace(limit=limit or settings["search.limit"], min_score=min_score)


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
    project: str = ""  # another project that it belongs to, in the user's own workspace
    owner: str = ""  # the colleague whose memory it is; empty for memories of this machine


@dataclass
class SearchResult:
    """The hits of a search, the best first, and messages for the user."""

    hits: list[Hit] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    weak: int = 0  # hits below the minimum relevance


Found = TypeVar("Found", Candidate, Hit)


def search(workspaces: Sequence[Workspace], query: str, options: SearchOptions) -> SearchResult:
    """Search several workspaces and return the best hits of all, exactly `limit` at most."""
    if not query.strip():
        raise UsageError("the query is empty", "list memories: mem ls")
    result = SearchResult()
    embedder = None
    for workspace in workspaces:
        if embedder is not None:
            workspace.resources.setdefault("embedder", embedder)
        index = open_index(workspace, with_sessions=options.reads_sessions)
        parts = [search_workspace(index, query, options)]
        if workspace.settings["team.dsn"]:
            parts += [search_more(workspace, query, options) for search_more in load_indexes()]
        embedder = workspace.resources.get("embedder")
        for part in parts:
            result.hits += part.hits
            result.messages = list(dict.fromkeys([*result.messages, *part.messages]))
            result.weak += part.weak
    result.hits.sort(key=lambda hit: -hit.relevance)
    # A memory of one workspace answers also for the conversations of another one.
    result.hits = hide_talk(result.hits, options.wanted)
    del result.hits[options.limit :]
    return result


def load_indexes() -> list[Callable[[Workspace, str, SearchOptions], SearchResult]]:
    """Return the functions that search another index of a workspace, such as a team's."""
    from importlib.metadata import entry_points

    return [item.load() for item in entry_points(group="mem.index")]


def search_workspace(index: Index, query: str, options: SearchOptions) -> SearchResult:
    """Search one workspace."""
    result = SearchResult(messages=index.messages + index.describe_unread())
    terms = look_up_terms(index, query)
    if options.mode != "keyword":
        embed_new_texts(index, terms, options, result)
    # Several chunks may be one memory, and conversations may be hidden.
    count = max(CANDIDATES, 4 * options.limit)
    while True:
        scored = rank_chunks(index, query, terms, options, result, count)
        candidates = build_candidates(index, query, terms, scored, options.wanted)
        if options.own_project:
            candidates = [item for item in candidates if not find_other_project(index, item)]
        candidates = hide_talk(candidates, options.wanted)
        if len(candidates) >= options.limit or len(scored) < count or count > MOST_CANDIDATES:
            break
        count *= 8  # a long file has crowded out the others
    result.weak = sum(candidate.relevance < options.min_score for candidate in candidates)
    candidates = [item for item in candidates if item.relevance >= options.min_score]
    newer: dict[int, str] = {}
    if options.mode != "keyword":
        candidates, newer = put_later_first(index, candidates, terms)
    candidates = put_memories_first(candidates)
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
        missing = index.embed_missing(
            options.embed_seconds, first, with_sessions=options.reads_sessions
        )
        if missing:
            number = count_noun(missing, "text")
            result.messages.append(f"not embedded yet: {number}, found by words only (mem index)")


def rank_chunks(
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


def hide_talk(items: list[Found], wanted: Filter) -> list[Found]:
    """Leave out conversations if a memory answers as well, unless they were asked for."""
    memories = [item for item in items if item.kind != "session"]
    if "session" in wanted.kinds or not memories:
        return items
    best = memories[0].relevance
    if best >= GOOD_ANSWER:
        return memories
    # Small talk shares words with every query.
    return [item for item in items if item.kind != "session" or item.relevance >= TALK_SHARE * best]


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
    hit.project = find_other_project(index, candidate)
    return hit


def find_other_project(index: Index, candidate: Candidate) -> str:
    passage, entry = candidate.passage, candidate.entry
    project = entry.project if entry else ""
    return index.find_other_project(passage.path, passage.kind, passage.line, project)


def build_snippet(text: str, words: list[str], limit: int = SUMMARY_LENGTH) -> str:
    """Return the sentence with most of the words, and the next ones that fit."""
    sentences = split_sentences(text)
    if not sentences:
        return ""
    whole = " ".join(sentences)
    # A short memory is shown whole, so that nothing of it is missed.
    if len(whole) <= limit:
        return whole
    wanted = set(words)
    scores = [len(wanted.intersection(split_words(sentence))) for sentence in sentences]
    best = scores.index(max(scores))
    snippet = sentences[best]
    if len(snippet) > limit:
        return cut_around(snippet, wanted, limit)
    for sentence in sentences[best + 1 :]:
        if len(snippet) + len(sentence) + 1 > limit:
            break
        snippet = f"{snippet} {sentence}"
    return snippet


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a Markdown text without list marks, comments and link brackets."""
    sentences = []
    for line in strip_comments(text).splitlines():
        content = LIST_MARK.sub("", line.strip().lstrip("\ufeff"), count=1)
        content = MARKUP.sub("", content)
        content = LINK.sub(lambda match: match[2], content).replace("**", "").strip()
        if any(character.isalnum() for character in content):
            sentences += [collapse_blanks(part) for part in SENTENCE_END.split(content)]
    return [sentence for sentence in sentences if sentence]


def cut_around(sentence: str, words: set[str], limit: int) -> str:
    """Return the part of a long sentence around its first matching word."""
    position = 0
    for match in re.finditer(r"\w+", sentence):
        if match[0].casefold() in words:
            position = match.start()
            break
    if position < limit // 2:
        return shorten(sentence, limit)
    start = sentence.rfind(" ", 0, position - limit // 3) + 1
    return f"…{shorten(sentence[start:], limit - 1)}"
