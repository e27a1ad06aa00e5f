"""Make the memory that a pack shows of a search hit: its text, layer, source, age, and how much is left of it."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ..errors import MemError
from ..formats.entry import REPOSITORY, layer_of
from ..formats.frontmatter import document
from ..formats.memory_page import says_something, strip_comments
from ..formats.text_lines import blanked
from ..formats.times import day_of, parse_time, past
from ..index.lookups import IndexedFile
from ..search.query import snippet
from ..search.results import Hit, watch
from ..store import access_log
from ..store.addresses import Place, part
from ..store.workspace import Workspace
from .always_on_context import digest
from .pack import EPISODIC, RELEVANT, SEMANTIC, WORKING, Memory
from .retention import retention

WHOLE, PASSAGE = 500, 320
"""Characters up to which a memory is shown whole, and of the passage of a longer one: `mem read` shows the rest."""
NOTHING = IndexedFile("", "", {})


_RUNS = ("note", "session")


class _Content(NamedTuple):
    """The text of a memory, its layer, and the digest by which a change of it is noticed."""

    text: str
    layer: str
    digest: str


class MemoryReader:
    """Reads what hits say, for one prompt of one session in one workspace."""

    def __init__(
        self, workspace: Workspace, query: str, session: str, folder: str, as_of: str, forgotten: Collection[str]
    ) -> None:
        """Take the prompt, the session and the folder of its conversation, which may be empty; `as_of` is RFC 3339.

        `forgotten` are texts, as `normalized` gives them, that are blanked out of what says them still.
        """
        self._forgotten = forgotten
        self._workspace = workspace
        self._query = query
        self._session = session
        self._folder = folder
        self._noted = access_log.counts(workspace)
        self._changes = watch(workspace, as_of)

    def memory(self, hit: Hit, file: IndexedFile, asked: str) -> Memory | None:
        """Return what a pack shows of a hit; None for what has expired, and for the prompt itself.

        `asked` is the part of the prompt that the hit fits best, empty where that is the whole.
        """
        workspace, noted = self._workspace, self._noted
        row: Mapping[str, Any] = file.entry
        content = self._entry_content(hit, file) if row else self._page_content(hit, file)
        if content is None:
            return None
        content = content._replace(text=blanked(content.text, self._forgotten))
        text, is_whole = excerpt(content.text or hit.title or hit.summary, asked or self._query)
        accesses = noted[hit.id].count if hit.id in noted else 0
        # What is no entry fades like an episode, and was observed.
        source = "" if workspace.is_trusted else REPOSITORY
        renewed = access_log.renewed(row, noted.get(access_log.CONFIRMED + hit.id))
        measured = renewed or {"type": "episode", "source": source or "observed"}
        retained = retention(measured, workspace.now, workspace.settings, accesses)
        weight = workspace.settings["recall.recency_weight"]
        return Memory(
            hit.id,
            RELEVANT,
            text,
            layer=content.layer,
            kind=hit.kind,
            type=hit.type,
            source=source or hit.source,
            # A page states no date, and that of its file is the day it was cloned.
            date="" if hit.kind == "memory" else _day(workspace, hit.timestamp),
            path=hit.path,
            scope=hit.scope,
            summary=blanked(hit.summary, self._forgotten),
            relevance=hit.relevance,
            asked=asked,
            parts=hit.parts,
            kept=retained,
            score=hit.relevance * (1 - weight + weight * retained),
            conflicts=tuple(str(row.get("conflicts_with") or "").split()),
            changed=self._changes(file.text) if row else (),
            later_than=hit.later_than,
            is_whole=is_whole and hit.kind not in _RUNS,
            digest=content.digest,
        )

    def _entry_content(self, hit: Hit, file: IndexedFile) -> _Content | None:
        """Read an entry; return None for one that has expired."""
        if past(file.entry.get("expires_at"), self._workspace.now):
            return None
        body = document.parse(file.text).body
        fields = file.text[: len(file.text) - len(body)]
        is_own = bool(self._session) and f"session:{self._session}" in fields
        layer = WORKING if is_own else file.entry.get("layer") or layer_of(hit.type)
        return _Content(body.strip(), layer, file.digest[:12])

    def _page_content(self, hit: Hit, file: IndexedFile) -> _Content | None:
        """Read what is no entry; return None for a heading alone, and for the prompt itself."""
        if hit.kind in _RUNS:
            # The passage differs from question to question, so the mark of a change is made of the id.
            is_turn = hit.kind == "session"
            is_prompt = is_turn and " ".join(self._query.split()) in " ".join(hit.summary.split())
            is_own = is_turn and bool(self._folder) and hit.path.startswith(self._folder)
            return None if is_prompt else _Content(hit.summary, WORKING if is_own else EPISODIC, digest(hit.id))
        body = part_named(self._workspace, hit, file.text)
        if hit.kind != "memory":
            return _Content(body, EPISODIC, digest(body))
        return _Content(strip_comments(body), SEMANTIC, digest(body)) if says_something(body) else None


def excerpt(text: str, query: str) -> tuple[str, bool]:
    """Return a text, or the passage of a long one that fits the query; and whether that is the whole text."""
    return (text, True) if len(text) <= WHOLE else (snippet(text, query, PASSAGE)[0], False)


def part_named(workspace: Workspace, hit: Hit, text: str) -> str:
    """Read the section, the record or the notes a hit names; its passage where the file has changed meanwhile."""
    of_file = f"{hit.path}#"
    anchor = hit.id.removeprefix(of_file) if hit.id.startswith(of_file) else hit.id if hit.kind == "history" else ""
    try:
        start, stop = part(workspace, Place(hit.path, anchor), text)
    except MemError:
        return hit.summary
    body = text[start:stop].strip("\ufeff \t\r\n")
    return body.partition("\n")[2].strip() if hit.kind == "history" and body.startswith("##") else body


def _day(workspace: Workspace, timestamp: str) -> str:
    moment = parse_time(timestamp)
    return day_of(moment, workspace.zone).isoformat() if moment else ""
