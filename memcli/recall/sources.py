"""Make the memory that a pack shows of a search hit: its text, layer, source, age, and how much is left of it."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ..errors import MemError
from ..formats.entry import REPOSITORY, layer_of
from ..formats.frontmatter import document
from ..formats.ids import day_of, parse_time, past
from ..formats.memory_page import read_promoted, says_something, strip_comments
from ..formats.session_event import folder_name
from ..formats.text_lines import FileProblem, blanked
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import IndexedFile, forgotten_texts, indexed_files
from ..search.index_search import SearchRequest, search_index
from ..search.later import MOST_ADDED
from ..search.query import asks_memory, gate_of, is_telling, snippet
from ..search.reference_docs import folders
from ..search.results import DOCUMENT, Hit, SearchResults, watch
from ..search.search import has_talk, search_parts, search_talk
from ..store import access_log
from ..store.addresses import Place, part
from ..store.layouts import SESSION_FOLDER as SESSIONS
from ..store.sessions.event_file import EVENTS
from ..store.workspace import Workspace
from .pack import DOCUMENTS, EPISODIC, RELEVANT, SEMANTIC, WORKING, Memory, digest
from .request import Matches, RecallRequest
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
        self.texts: dict[tuple[str, ...], Callable[[Memory], Memory]] = {}

    def memory(self, hit: Hit, file: IndexedFile, asked: str) -> Memory | None:
        """Return what a pack may show of a hit; None for what has expired, and for the prompt itself.

        Its text is made by `texts` where it is shown: many fit, few are. `asked` is the part of the prompt that the
        hit fits best, empty where that is the whole.
        """
        workspace, noted = self._workspace, self._noted
        row: Mapping[str, Any] = file.entry
        content = self._entry_content(hit, file) if row else self._page_content(hit, file)
        if content is None:
            return None
        key = hit.scope, hit.id, content.digest
        self.texts.setdefault(key, partial(self._with_text, hit, file, content.text))
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
            "",
            layer=content.layer,
            kind=hit.kind,
            type=hit.type,
            source=source or hit.source,
            # A page states no date, and that of its file is the day it was cloned.
            date="" if hit.kind == "memory" else _day(workspace, hit.timestamp),
            path=hit.path,
            scope=hit.scope,
            relevance=hit.relevance,
            asked=asked,
            parts=hit.parts,
            kept=retained,
            score=hit.relevance * (1 - weight + weight * retained),
            conflicts=tuple(str(row.get("conflicts_with") or "").split()),
            later_than=hit.later_than,
            elsewhere=not hit.is_here,
            digest=content.digest,
        )

    def _with_text(self, hit: Hit, file: IndexedFile, content: str, memory: Memory) -> Memory:
        clean = self._clean(hit, file.entry)
        text = clean(document.parse(file.text).body.strip() if file.entry else content)
        text, is_whole = excerpt(text or hit.title or hit.summary, memory.asked or self._query, hit.text)
        changed = self._changes(file.text) if file.entry else ()
        is_whole = is_whole and hit.kind not in _RUNS
        return replace(memory, text=text, summary=clean(hit.summary), changed=changed, is_whole=is_whole)

    def _clean(self, hit: Hit, row: Mapping[str, Any]) -> Callable[[str], str]:
        """Return what takes out of a text what was forgotten; of a person's own note also secrets: nobody looked."""
        from ..store.redaction import redactor

        if not row or self._workspace.layout.manages(hit.path, str(row.get("id", ""))):
            return lambda text: blanked(text, self._forgotten)
        redacted = redactor(self._workspace, hit.path).text
        return lambda text: redacted(blanked(text, self._forgotten))

    def _entry_content(self, hit: Hit, file: IndexedFile) -> _Content | None:
        """Return an entry without its text; None for one that has expired."""
        if past(file.entry.get("expires_at"), self._workspace.now):
            return None
        own, text = f"session:{self._session}", file.text
        is_own = bool(self._session) and own in text and own in text[: len(text) - len(document.parse(text).body)]
        layer = WORKING if is_own else file.entry.get("layer") or layer_of(hit.type)
        return _Content("", layer, file.digest[:12])

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


def excerpt(text: str, query: str, matched: str) -> tuple[str, bool]:
    """Return a text, or the passage of a long one, in what matched, that fits the query; and whether that is all."""
    return (text, True) if len(text) <= WHOLE else (snippet(text, query, PASSAGE, matched)[0], False)


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


def relevant_memories(workspace: Workspace, query: str, recall: RecallRequest, seconds: float) -> Matches:
    """Return the memories of a workspace that fit a prompt, the best first, those of the session among them.

    Embedding texts that have no vector takes at most `seconds`.

    A session has its latest turns, and what was noted of them today, before its eyes, unless it is fresh: compacted.
    """
    settings, session, is_fresh = workspace.settings, recall.session, recall.fresh
    folder = f"{SESSIONS}/{folder_name(session)}/" if session else ""
    # Looked for only where it exists: conversations are long, and most are not kept here.
    is_kept = bool(folder) and (workspace.root / folder).is_dir()
    answers: Mapping[str, str] = {}

    def find(
        index: Index,
    ) -> tuple[SearchResults, list[tuple[Hit, IndexedFile]], list[tuple[Hit, IndexedFile]], frozenset[str]]:
        nonlocal answers
        request = SearchRequest.of(
            workspace,
            query,
            Filter(kinds=KINDS, as_of=recall.as_of),
            limit=POOL,
            is_recall=True,
            draws_on_talk=not recall.as_of,
            embed_budget=seconds,
            marks_later=True,
            reaches_others=True,
        )
        results, parts = search_parts(index, request, settings["recall.gate"])
        answers = parts
        hits = [*results.hits, *results.later]
        rules = _rules(index, request, results)
        if is_kept:
            talk = Filter(kinds=("session",), paths=(folder,))
            own_request = replace(request, wanted=talk, marks_later=False)
            last_unseen = 0 if is_fresh else _lines(workspace, folder) - LATEST
            hits += [hit for hit in search_index(index, own_request).hits if is_fresh or hit.line <= last_unseen]
        if request.draws_on_talk and not _has_enough(workspace, query, results):
            hits += [hit for hit in _from_conversations(index, request) if not hit.path.startswith(folder or "/")]
        hit_files, rule_files = (_with_files(index, group, recall.as_of) for group in (hits, rules))
        return results, hit_files, rule_files, forgotten_texts(index)

    results, hits, rules, forgotten = ask(workspace, find, may_guess=True)
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
    return _matches(memories, results, binding, reader)


def _with_files(index: Index, hits: Sequence[Hit], as_of: str) -> list[tuple[Hit, IndexedFile]]:
    """Return hits with their files, without the entries that are lines of MEMORY.md and are shown with the page."""
    memory = index.workspace.layout.memory
    texts = indexed_files(index, {hit.path for hit in hits if hit.kind != "session"} | {memory})
    promoted = {line.id for line in read_promoted(texts[memory].text).lines} if memory in texts and not as_of else set()
    theirs: dict[str, IndexedFile] = {}
    for file in index.their_files({hit.path for hit in hits if not hit.is_here}, POOL):
        row = {**file.entry, "conflicts_with": " ".join(file.entry["conflicts_with"])} if file.entry else {}
        theirs[file.path] = IndexedFile(file.text, file.digest, row)
    return [(hit, (texts if hit.is_here else theirs).get(hit.path, NOTHING)) for hit in hits if hit.id not in promoted]


def _matches(
    memories: Sequence[Memory], results: SearchResults, rules: tuple[Memory, ...], reader: MemoryReader
) -> Matches:
    about = results.problems, results.notices, results.vector, results.model
    return Matches(tuple(memories), *about, rules, reader.texts)


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


def relevant_documents(workspace: Workspace, query: str, seconds: float) -> Matches:
    """Return the passages of the folders of `index.include` that fit a prompt, the best first.

    A folder that cannot be searched becomes a notice. Embedding takes at most `seconds` in all.
    """
    from ..store.redaction import redactor

    named, refused = folders(workspace)
    clean = redactor(workspace, "documents").text  # nobody looked through them when they were written
    notices = list(refused)
    memories: list[Memory] = []
    problems: list[FileProblem] = []
    budget = seconds / max(len(named), 1)
    request = SearchRequest.of(workspace, query, Filter(), limit=POOL, is_recall=True, embed_budget=budget)
    for name, folder in named.items():
        try:
            results, texts = ask(folder, lambda index: _with_texts(index, request))
        except MemError as error:
            notices.append(f"index.include: {name}: {error}")
            continue
        problems += [replace(problem, path=f"{name}/{problem.path}") for problem in results.problems]
        for hit in results.hits:
            if (folder.root / hit.path).is_relative_to(workspace.root):
                continue  # memories, which have their own rules
            memories.append(_document(folder, name, hit, texts.get(hit.path, NOTHING), query, clean))
    memories.sort(key=lambda memory: -memory.score)
    return Matches(tuple(memories), tuple(problems), tuple(notices))


def _with_texts(index: Index, request: SearchRequest) -> tuple[SearchResults, Mapping[str, IndexedFile]]:
    results = search_index(index, request)
    return results, indexed_files(index, {hit.path for hit in results.hits})


def _document(
    folder: Workspace, name: str, hit: Hit, file: IndexedFile, query: str, clean: Callable[[str], str]
) -> Memory:
    body = part_named(folder, hit, file.text)
    # Before it is cut: half a secret is one too, and no rule would see it.
    text, is_whole = excerpt(clean(strip_comments(body) or hit.summary), query, hit.text)
    return Memory(
        f"{name}/{hit.id}",
        DOCUMENTS,
        text,
        kind=DOCUMENT,
        path=f"{name}/{hit.path}",
        scope=hit.scope,
        summary=clean(hit.summary),
        relevance=hit.relevance,
        score=hit.relevance,
        is_whole=is_whole,
        digest=digest(body),
    )
