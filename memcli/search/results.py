"""The results of a search: hits, each with its address and the parts of its relevance."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

from ..dataclass import dataclass
from ..formats.frontmatter import document
from ..formats.text_lines import FileProblems
from ..results import (
    IF_ANY,
    OPTIONAL,
    EntryType,
    Expired,
    FileLine,
    FilePath,
    Id,
    Kind,
    Relevance,
    Result,
    Scope,
    Source,
    Status,
    Summary,
    Title,
)
from ..store.addresses import file_of
from ..store.workspace import Workspace

if TYPE_CHECKING:
    from ..index.filters import Filter
    from ..index.index import Index, Piece
    from ..store.project import Project
    from .ranking import Scored


MODES = ("hybrid", "vector", "keyword")
DOCUMENT = "document"
"""The kind of a hit in a folder of documents."""


def with_flagged(
    index: "Index", scored: "Iterable[Scored]", pieces: Mapping[int, "Piece"], wanted: "Filter"
) -> "dict[int, Piece]":
    """Return the chunks, and those of the active memories that the hits are flagged with."""
    from ..index.lookups import chunks_of

    ids = {identifier for hit in scored for identifier in flags(pieces[hit.chunk])}
    more = set(chunks_of(index, ids, wanted)).difference(pieces) if ids else ()
    return {**pieces, **(index.pieces(more) if more else {})}


def moment(piece: "Piece") -> str:
    """Return a text that sorts memories by their last change, then by their creation, which ids sort by."""
    return f"{piece.timestamp} {piece.entry.get('id', '')}"


def flags(piece: "Piece") -> list[str]:
    """Return the ids that an entry is flagged with."""
    return list(piece.entry.get("conflicts_with") or ())


_HAPPENED = ("history", "note", "session")
"""Kinds that record events: the same words at another time are another memory."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Hit:
    """One memory found."""

    id: Id
    kind: Kind
    path: str  # with the place of an item in its file
    line: FileLine
    summary: Summary  # the passage that matched, at most 160 characters
    relevance: Relevance  # comparable across queries
    timestamp: Annotated[str, "when it was, RFC 3339"]
    scope: Scope
    type: EntryType = ""
    title: Title = ""
    tags: Annotated[tuple[str, ...], "its tags"] = ()
    status: Status = "active"
    source: Source = ""
    key: Annotated[str, "the slot it fills; empty where it has none"] = ""
    conflicts_with: Annotated[
        tuple[str, ...], "ids of the active entries it is flagged with: they may say otherwise, or the same"
    ] = ()
    outdated_by: Annotated[str, "id of the newest of the others, where it is newer; empty otherwise"] = ""
    changed: Annotated[tuple[str, ...], "what became of the lines it cites, where they are not what they were"] = ()
    expired: Expired = ""
    later_than: Annotated[str, "id of the hit that says earlier what this one says; empty where none does"] = ""
    certainty: Annotated[str, "clear, likely, possible or weak, beside the other hits"] = ""
    matched: tuple[str, ...] = ()  # words of the query that stand in it
    parts: Mapping[str, float] = field(default_factory=dict)  # they add up to the relevance
    text: str = ""  # of the chunk or passage that matched, whole
    is_here: bool = True  # and not only on a server, where another machine put it
    is_explained: bool = False  # whether the document says why it was found

    @property
    def path_(self) -> FilePath:
        """Return the path of its file."""
        return file_of(self.path)

    @property
    def elsewhere(self) -> Annotated[bool, "whether its file is not on this machine yet", IF_ANY]:
        """Return whether only another machine has its file."""
        return not self.is_here

    @property
    def matched_(self) -> Annotated[tuple[str, ...] | None, "words of the query that stand in it", OPTIONAL]:
        """Return the words that matched, where that is to be explained."""
        return self.matched if self.is_explained else None

    @property
    def parts_(
        self,
    ) -> Annotated[Mapping[str, float] | None, "what the relevance is made of; they add up to it", OPTIONAL, 4]:
        """Return what the relevance is made of, where that is to be explained."""
        return self.parts if self.is_explained else None

    def explained(self) -> str:
        """Return in words what the relevance is made of."""
        from .query import explained

        return explained(self.relevance, self.parts, self.matched)


@dataclass(frozen=True)
class SearchResults(Result):
    """The answer to a search: hits, and everything that could not be looked at."""

    hits: Annotated[tuple[Hit, ...], "what was found, best first"]
    problems: FileProblems = ()
    notices: Annotated[tuple[str, ...], "what else is to be known, a line each"] = ()
    not_embedded: Annotated[int, "texts known only by their words so far"] = 0
    total: int = 0  # texts there are, counted only where some are not embedded
    vector: tuple[float, ...] = ()  # of the query, where it was embedded
    model: str = ""  # whose vector it is
    weaker: int = 0  # hits below the relevance asked for
    in_conversations: Annotated[
        int, "turns of conversations that match, counted where the hits are weak; at most 100 a workspace"
    ] = 0
    later: tuple[Hit, ...] = ()  # besides the hits: what says later what one of them says
    query: Annotated[str, "what was asked"] = ""


def joined(answers: Iterable[SearchResults], limit: int | None = None) -> SearchResults:
    """Return several answers to one query as one: the best hits, at most `limit`, all problems and all notices.

    A hit that finds no room remains as what says later what one of the best says, if it does.
    """
    parts = tuple(answers)
    ranked = sorted((hit for part in parts for hit in part.hits), key=lambda hit: -hit.relevance)
    hits = ranked[:limit]
    shown = {hit.id for hit in hits}
    others = chain(ranked, *(part.later for part in parts))
    later = (hit for hit in others if hit.later_than in shown and hit.id not in shown)
    return SearchResults(
        tuple(hits),
        tuple(dict.fromkeys(problem for part in parts for problem in part.problems)),
        tuple(dict.fromkeys(notice for part in parts for notice in part.notices)),
        sum(part.not_embedded for part in parts),
        sum(part.total for part in parts),
        weaker=sum(part.weaker for part in parts),
        in_conversations=sum(part.in_conversations for part in parts),
        later=tuple(later),
    )


def distinct(scored: "Iterable[Scored]", pieces: "Mapping[int, Piece]", limit: int) -> "list[Scored]":
    """Return the best `limit` that say different things, in order; with room left below the limit, doubles.

    A line of MEMORY.md that is an entry as well, or the second copy older tools keep of a record, is returned once.
    """
    pieces_by_text: dict[str, list[Piece]] = {}
    ranked: list[tuple[bool, int, Scored]] = []
    count = 0
    for position, match in enumerate(scored):
        piece = pieces[match.chunk]
        others = pieces_by_text.setdefault(" ".join(_WORD.findall(piece.text)).casefold() or piece.text, [])
        if any(_is_same(piece, other) for other in others):
            continue
        is_double = any(other.kind == piece.kind not in _HAPPENED for other in others)
        others.append(piece)
        ranked.append((is_double, position, match))
        count += not is_double
        if count == limit:
            break
    taken = sorted(ranked, key=itemgetter(0, 1))[: max(count, limit)]
    return [match for _, _, match in sorted(taken, key=itemgetter(1))]


def _is_same(piece: "Piece", other: "Piece") -> bool:
    """Return whether two pieces of the same words are one memory."""
    if piece.kind in _HAPPENED or other.kind in _HAPPENED:
        return piece.kind == other.kind and piece.timestamp == other.timestamp
    return piece.kind != other.kind and piece.status == other.status


def hit_of(
    workspace: Workspace,
    pieces: "Mapping[int, Piece]",
    scored: "Scored",
    query: str,
    matched: Iterable[str],
    later_than: int | None = None,
) -> Hit:
    """Return the hit of a chunk; `pieces` also has the memories that the chunk's entry is flagged with."""
    from .query import snippet

    piece = pieces[scored.chunk]
    entry: Mapping[str, Any] = piece.entry
    named = flags(piece)
    others = {each.entry["id"]: each for each in pieces.values() if each.entry.get("id") in named}
    # Only a key says that one of two is over; what else is flagged is a question.
    newer = {name: moment(each) for name, each in others.items() if entry.get("key") and _fill_one_key(each, piece)}
    newest = max(newer, key=lambda name: newer[name], default="")
    text, offset = snippet(piece.text, query)
    return Hit(
        id=address_of(piece),
        kind=piece.kind,
        path=piece.path,
        line=piece.line + (offset if piece.kind != "session" and piece.path == file_of(piece.path) else 0),
        summary=text or entry.get("summary", ""),
        relevance=scored.relevance,
        timestamp=piece.timestamp,
        scope=workspace.scope,
        type=entry.get("type", ""),
        title=entry.get("title") or piece.title,
        tags=tuple(entry.get("tags", ())),
        status=piece.status,
        source=entry.get("source", ""),
        key=entry.get("key") or "",
        conflicts_with=tuple(name for name in named if name in others),
        outdated_by=newest if newest and newer[newest] > moment(piece) else "",
        later_than=address_of(pieces[later_than]) if later_than is not None else "",
        matched=tuple(matched),
        parts=scored.parts,
        text=piece.text,
        is_here=piece.is_here,
    )


def _fill_one_key(piece: "Piece", other: "Piece") -> bool:
    return all(piece.entry.get(name) == other.entry.get(name) for name in ("key", "project"))


def address_of(piece: "Piece") -> str:
    """Return what `mem read` takes to show a chunk's memory."""
    if piece.kind == "entry":
        identifier: str = piece.entry.get("id", piece.path)
        return identifier
    if piece.anchor.startswith("hist_"):
        return piece.anchor
    if piece.kind == "session":
        # Late: it brings along all that writes conversations.
        from ..store.sessions.reading import session_address

        return session_address(piece.path, piece.anchor)
    return f"{piece.path}#{piece.anchor}" if piece.anchor else piece.path


_MOST_CITATIONS = 20
"""Citations of one memory that are looked at."""

Watch = Callable[[str], tuple[str, ...]]
"""Given an entry's file, what changed of the lines it cites, a few words each."""


def watch(workspace: Workspace, as_of: str = "") -> Watch:
    """Return a function that compares citations with the project's files, each read once; none with `as_of`."""
    project: list[Project] = []

    def changes(text: str) -> tuple[str, ...]:
        if as_of or "cited:" not in text:
            return ()
        if not project:
            from ..store.project import Project, root_of

            project.append(Project(root_of(workspace)))
        return _changes(text, project[0])

    return changes


def _changes(text: str, project: "Project") -> tuple[str, ...]:
    from ..formats.links import KEY, read_citation

    value = document.parse(text).fields.get(KEY)
    lines = value if isinstance(value, list) else [value]
    citations = [read_citation(str(line).strip()) for line in lines[:_MOST_CITATIONS]]
    return tuple(dict.fromkeys(news for each in citations if each is not None and (news := project.news(each))))
