"""Find the memories of every layer that fit a prompt, by relevance and by how much is left of them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ..formats.memory_page import read_promoted
from ..formats.session_metadata import folder_name
from ..formats.times import day_of
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import IndexedFile, forgotten_texts, indexed_files
from ..search.index_search import SearchRequest, search_index
from ..search.later import MOST_ADDED
from ..search.passages import has_talk, search_parts, search_talk
from ..search.results import Hit, SearchResults
from ..search.thresholds import asks_memory, gate_of, is_telling
from ..store.layouts import SESSION_FOLDER as SESSIONS
from ..store.sessions.event_file import EVENTS
from ..store.workspace import Workspace
from .memory_reader import NOTHING, PASSAGE, MemoryReader
from .pack import Memory
from .request import Matches, RecallRequest

POOL = 60
"""Hits looked at; the limits of the layers, what was shown and what has faded take from them."""
PASSAGES = 5
"""Passages of conversations that may be shown where memories have nothing."""
LATEST = 20
"""Turns of a session that are still before its eyes."""
KINDS = ("entry", "memory", "history", "note")
RULES = ("preference", "constraint", "instruction")
"""Types that guide whoever works on their subject: they are wanted unasked, and share few words with what is asked."""
RULE_SHARE = 0.5
"""Of the least relevance of a memory that of a rule: one that is missed is broken, one too many costs a line."""


def relevant_memories(workspace: Workspace, query: str, recall: RecallRequest, mode: str, seconds: float) -> Matches:
    """Return the memories of a workspace that fit a prompt, the best first, those of the session among them.

    `mode` is one of `index_search.MODES`; embedding texts that have no vector takes at most `seconds`.

    A session has its latest turns, and what was noted of them today, before its eyes, unless it is fresh: compacted.
    """
    settings, session, is_fresh = workspace.settings, recall.session, recall.fresh
    folder = f"{SESSIONS}/{folder_name(session)}/" if session else ""
    # Looked for only where it exists: conversations are long, and most are not kept here.
    is_kept = bool(folder) and (workspace.root / folder).is_dir()
    answers: dict[str, str] = {}

    def find(
        index: Index,
    ) -> tuple[SearchResults, list[tuple[Hit, IndexedFile]], list[tuple[Hit, IndexedFile]], frozenset[str]]:
        request = SearchRequest(
            query,
            POOL,
            Filter(kinds=KINDS, as_of=recall.as_of),
            mode,
            settings["recall.min_score"],
            weight if (weight := settings["search.vector_weight"]) >= 0 else None,
            seconds,
            marks_later=True,
        )
        results, parts = search_parts(index, request, settings["recall.gate"])
        answers.update(parts)
        hits = [*results.hits, *results.later]
        rules = _rules(index, request, results)
        if is_kept:
            talk = Filter(kinds=("session",), paths=(folder,))
            own_request = SearchRequest(query, POOL, talk, mode, request.min_score, None, seconds)
            last_unseen = 0 if is_fresh else _lines(workspace, folder) - LATEST
            hits += [hit for hit in search_index(index, own_request).hits if is_fresh or hit.line <= last_unseen]
        if settings["search.conversations"] and not recall.as_of and not _has_enough(workspace, query, results):
            hits += [hit for hit in _from_conversations(index, request) if not hit.path.startswith(folder or "/")]
        paths = {hit.path for hit in (*hits, *rules) if hit.kind != "session"} | {workspace.layout.memory}
        texts = indexed_files(index, paths)
        page = texts.get(workspace.layout.memory)
        promoted = {line.id for line in read_promoted(page.text).lines} if page and not recall.as_of else set()
        # An entry that is a line of MEMORY.md is shown with the page.
        hit_files, rule_files = (
            [(hit, texts.get(hit.path, NOTHING)) for hit in group if hit.id not in promoted] for group in (hits, rules)
        )
        return results, hit_files, rule_files, forgotten_texts(index)

    results, hits, rules, forgotten = ask(workspace, find)
    reader = MemoryReader(workspace, query, session, folder, recall.as_of, forgotten)
    in_view = workspace.layout.notes.format(date=day_of(workspace.now, workspace.zone).isoformat()) if session else ""
    memories = [
        memory
        for hit, file in hits
        if (is_fresh or hit.path != in_view)
        and (memory := reader.memory(hit, file, answers.get(hit.id, ""))) is not None
    ]
    memories = _with_later(sorted(memories, key=lambda memory: -memory.score))
    binding = tuple(memory for hit, file in rules if (memory := reader.memory(hit, file, "")) is not None)
    return Matches(tuple(memories), results.problems, results.notices, results.vector, results.model, binding)


def _with_later(memories: Sequence[Memory]) -> list[Memory]:
    """Return memories; one that is later than another about the same is put beside it, with the same score.

    The later stands before the other where a search puts it there, else after it: so at most `MOST_ADDED`. Where
    several workspaces meet they are ordered by their scores again, so that both have one.
    """
    ids = {memory.id for memory in memories}
    # What has expired is not shown, so that nothing is later than it.
    memories = [memory if memory.later_than in ids else replace(memory, later_than="") for memory in memories]
    by_id = {memory.id: memory for memory in memories}
    before: dict[str, list[Memory]] = defaultdict(list)
    after: dict[str, list[Memory]] = defaultdict(list)
    placed: set[str] = set()
    for memory in memories:
        earlier = by_id.get(memory.later_than)
        if earlier is None or earlier.id in placed or memory.score >= earlier.score:
            continue
        is_first = memory.relevance >= earlier.relevance
        if is_first or sum(map(len, after.values())) < MOST_ADDED:
            (before if is_first else after)[earlier.id].append(replace(memory, score=earlier.score))
            placed.add(memory.id)
    return [
        each
        for memory in memories
        if memory.id not in placed
        for each in (*before[memory.id], memory, *after[memory.id])
    ]


def _rules(index: Index, request: SearchRequest, results: SearchResults) -> tuple[Hit, ...]:
    """Return the rules and preferences whose subject a prompt is about, by meaning alone."""
    settings = index.workspace.settings
    most = settings["recall.limit.rules"]
    if not (most and results.vector and is_telling(request.query)):
        return ()
    wanted = replace(request.wanted, kinds=("entry",), types=RULES)
    least = RULE_SHARE * settings["recall.min_score"]
    return search_index(index, replace(request, wanted=wanted, mode="vector", limit=most, min_score=least)).hits


def _has_enough(workspace: Workspace, query: str, results: SearchResults) -> bool:
    """Return whether the best hit is relevant enough for a prompt that does not ask for memories."""
    best = max((hit.relevance for hit in results.hits), default=0.0)
    return asks_memory(query, best, gate_of(results.model, workspace.settings["recall.gate"]))


def _from_conversations(index: Index, request: SearchRequest) -> tuple[Hit, ...]:
    """Return passages of conversations, each as relevant as its best turn: many weak turns make no memory."""
    if not has_talk(index.workspace):
        return ()
    hits = search_talk(index, replace(request, limit=PASSAGES), PASSAGE).hits
    return tuple(replace(hit, relevance=hit.relevance - hit.parts["passage"]) for hit in hits if "passage" in hit.parts)


def _lines(workspace: Workspace, folder: str) -> int:
    try:
        return (workspace.root / folder / EVENTS).read_bytes().count(b"\n")
    except OSError:
        return 0
