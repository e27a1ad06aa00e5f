"""Replay a prompt of a conversation: what memory would have given it then, what it gives now, and why.

Asks recall as a hook does, once at the moment before the prompt and once as things are. What belongs to a session's
state has no part in it: MEMORY.md and notes, which a session is given at its start, and what it was shown already.
Writes nothing, not even that a memory was read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from ..data import table
from ..dataclass import dataclass
from ..formats.entry import read_entry
from ..formats.frontmatter.document import parse
from ..formats.times import parse_time, stamp
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import indexed_files
from ..language.keyword_tokens import query_terms
from ..recall.pack import RELEVANT, Memory
from ..recall.recall import gather
from ..recall.request import RecallRequest, query_of
from ..recall.selection import select_pack
from ..store.sessions.event_file import read_events
from ..store.sessions.sessions import Session
from ..store.workspace import Workspace

WHY = {
    "gate": "the prompt asks for no memory",
    "cutoff": "fits much less than the best",
    "limit": "others of its layer fit better",
    "budget": "there was no room for it",
}
"""Why a memory that was found is not given."""
_SHOWN = 6  # words that prompt and memory share


@dataclass(frozen=True)
class GivenPrompt:
    """What a user said in a session."""

    turn: int  # its position, as `mem session show` counts
    moment: str  # RFC 3339; empty where the transcript has no time
    text: str


@dataclass(frozen=True)
class Given:
    """One memory that a prompt is given."""

    memory: Memory
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Return the memory without its text for JSON, numbers rounded to 4 digits, and why it is given."""
        memory = self.memory
        return {
            "id": memory.id,
            "kind": memory.kind,
            "type": memory.type,
            "path": memory.path,
            "scope": memory.scope,
            "date": memory.date,
            "summary": memory.summary,
            "relevance": round(memory.relevance, 4),
            "kept": round(memory.kept, 4),
            "score": round(memory.score, 4),
            "parts": {name: round(value, 4) for name, value in memory.parts.items()},
            "why": self.why,
        }


@dataclass(frozen=True)
class Side:
    """What memory gives to a prompt at a time."""

    given: tuple[Given, ...]
    left_out: Mapping[str, str]  # id → why, the best first
    is_gated: bool
    relevance: float  # of the best memory found
    found_by: str
    notices: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "memories": [given.as_dict() for given in self.given],
            "left_out": [{"id": name, "why": why} for name, why in self.left_out.items()],
            "is_gated": self.is_gated,
            "relevance": round(self.relevance, 4),
            "found_by": self.found_by,
        }


@dataclass(frozen=True)
class Difference:
    """A memory that is given at one of the times alone."""

    id: str
    summary: str
    is_new: bool  # given now and not then
    why: str


@dataclass(frozen=True)
class Replayed:
    """A prompt, and what memory gives to it."""

    prompt: GivenPrompt
    then: Side | None  # None where nobody knows when it was said
    now: Side
    changed: tuple[Difference, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return one of the `prompts` of the JSON document of `mem replay`."""
        return {
            "turn": self.prompt.turn,
            "timestamp": self.prompt.moment,
            "prompt": self.prompt.text,
            "then": None if self.then is None else self.then.as_dict(),
            "now": self.now.as_dict(),
            "changed": [
                {"id": one.id, "summary": one.summary, "is_new": one.is_new, "why": one.why} for one in self.changed
            ],
        }


def prompts(workspace: Workspace, session: Session) -> list[GivenPrompt]:
    """List what the user said in a session's file, without what tools put in."""
    return [
        GivenPrompt(position, event.timestamp, event.text)
        for position, event in read_events(workspace.path(session.path))
        if event.type == "message" and event.role == "user" and query_of(event.text)
    ]


def replay(workspaces: Sequence[Workspace], session: str, prompt: GivenPrompt) -> Replayed:
    """Ask memory for a prompt as it was before it was said, and as it is; raise what a recall raises."""
    said = parse_time(prompt.moment)
    # A second before: what came of the prompt itself is as old as the prompt.
    moment = stamp(said - timedelta(seconds=1)) if said else ""
    now = _side(workspaces, session, prompt.text, "")
    if not moment:
        return Replayed(prompt, None, now, ())
    then = _side(workspaces, session, prompt.text, moment)
    return Replayed(prompt, then, now, _differences(workspaces, then, now, moment))


def _side(workspaces: Sequence[Workspace], session: str, query: str, moment: str) -> Side:
    request = RecallRequest(query, gate=True, sections=(RELEVANT,), as_of=moment)
    places = [replace(one, now=datetime.fromisoformat(moment)) for one in workspaces] if moment else workspaces
    found = gather(places, request, "hybrid")
    pack, _ = select_pack(places[0].settings, request, found)
    own = _learnt_from(workspaces, session, pack.chosen)
    words = query_terms(query_of(query))
    given = tuple(Given(one, _why(one, words) + (_OWN if one.id in own else "")) for one in pack.chosen)
    left_out = {one.id: WHY.get(one.why, one.why) for one in pack.left_out}
    return Side(given, left_out, pack.is_gated, pack.relevance, pack.found_by, pack.notices)


_OWN = "; learnt from this conversation, so it may have been kept only later"


def _why(memory: Memory, words: Sequence[str]) -> str:
    """Return in words what a memory's relevance and its place are made of."""
    shared = [word for word in words if word in set(query_terms(memory.text))][:_SHOWN]
    told = []
    for name, value in memory.parts.items():
        if abs(value) >= 0.005 or name in ("vector", "keyword"):
            also = f" ({', '.join(shared)})" if name == "keyword" and shared else ""
            told.append(f"{table('relevance_parts.toml').get(name, name)} {value:.2f}{also}")
    fading = f"{memory.kept:.0%} of it is left by age, trust and use"
    return f"{', '.join(told)} = relevance {memory.relevance:.2f}; {fading}: score {memory.score:.2f}"


def _learnt_from(workspaces: Sequence[Workspace], session: str, memories: Sequence[Memory]) -> set[str]:
    """Return the ids of those entries that name the session as a source."""
    found = set()
    for workspace in workspaces:
        paths = {one.path: one.id for one in memories if one.kind == "entry" and one.scope == workspace.scope}
        for path, file in ask(workspace, lambda index, paths=paths: indexed_files(index, paths)).items():  # type: ignore[misc]
            sources = read_entry(parse(file.text), path, workspace.now)[0].sources
            if any(str(one).partition("#")[0] == f"session:{session}" for one in sources):
                found.add(paths[path])
    return found


def _differences(workspaces: Sequence[Workspace], then: Side, now: Side, moment: str) -> tuple[Difference, ...]:
    """Return what became of what was given then, and where what is given now comes from."""
    before, after = ({one.memory.id: one.memory for one in side.given} for side in (then, now))
    rows = _rows(workspaces) if before.keys() != after.keys() else {}
    gone = [
        Difference(name, memory.summary, False, _lost(rows.get(name), memory, now))
        for name, memory in before.items()
        if name not in after
    ]
    new = [
        Difference(name, memory.summary, True, _won(rows.get(name), memory, then, moment))
        for name, memory in after.items()
        if name not in before
    ]
    return (*gone, *new)


def _rows(workspaces: Sequence[Workspace]) -> dict[str, Mapping[str, Any]]:
    def asked(index: Index) -> list[dict[str, Any]]:
        return index.list_entries(Filter(statuses=()), "path")

    return {row["id"]: row for workspace in workspaces for row in ask(workspace, asked)}


def _lost(row: Mapping[str, Any] | None, memory: Memory, now: Side) -> str:
    if row is not None and row["superseded_by"]:
        since = f" since {row['superseded_at'][:10]}" if row["superseded_at"] else ""
        return f"superseded by {row['superseded_by']}{since}"
    if memory.kind == "entry" and (row is None or row["status"] == "archived"):
        return "in the archive" if row else "its file is gone"
    return now.left_out.get(memory.id, "it fits too little now, or has faded or expired")


def _won(row: Mapping[str, Any] | None, memory: Memory, then: Side, moment: str) -> str:
    if memory.kind == "memory":
        return "a part of MEMORY.md, of which only git knows what it said then"
    made = str(row["created_at"]) if row is not None else ""
    if made > moment or memory.date > moment[:10]:
        return f"made later, on {(made or memory.date)[:10]}"
    return then.left_out.get(memory.id, "another text of it stood there then, or it was not found")
