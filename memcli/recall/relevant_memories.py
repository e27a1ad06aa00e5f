"""What fits a prompt: memories of every layer by relevance and by how much is left of them, and documents."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import MemError
from ..formats.entry import REPOSITORY, layer_of
from ..formats.frontmatter import document
from ..formats.session_metadata import folder_name
from ..formats.text_lines import FileProblem
from ..formats.times import day_of, parse_time
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import Known, known
from ..search.passages import search_parts
from ..search.provenance import Watch, watch
from ..search.reference_docs import folders
from ..search.results import DOCUMENT, side_by_side, snippet
from ..search.search import Found, Hit, Request, search_index
from ..search.thresholds import asks_memory, gate_of
from ..store import local_log
from ..store.addresses import Place, part
from ..store.local_log import Access
from ..store.sessions.sessions import EVENTS
from ..store.sessions.sessions import FOLDER as SESSIONS
from ..store.workspace import Workspace
from .always_on_context import digest, plain, promoted_ids, says_something
from .pack import DOCUMENTS, EPISODIC, RELEVANT, SEMANTIC, WORKING, Fitting, Memory, Recall
from .retention import retention

POOL = 60
"""Hits looked at; the limits of the layers, what was shown and what has faded take from them."""
WHOLE, PASSAGE = 500, 320
"""Characters up to which a memory is shown whole, and of the passage of a longer one: `mem read` shows the rest."""
PASSAGES = 5
"""Passages of conversations that may be shown where memories have nothing."""
LATEST = 20
"""Turns of a session that are still before its eyes."""
KINDS = ("entry", "memory", "history", "note")
_RUNS = ("note", "session")


class _Said(NamedTuple):
    """What a memory says, its layer, and the mark by which a change of it is noticed."""

    text: str
    layer: str
    digest: str


def relevant(workspace: Workspace, query: str, recall: Recall, mode: str, seconds: float) -> Fitting:
    """Find the memories of a workspace that fit a prompt, those of the session among them.

    A session has its latest turns, and what was noted of them today, before its eyes, unless it is fresh: compacted.
    """
    settings, session, is_fresh = workspace.settings, recall.session, recall.fresh
    folder = f"{SESSIONS}/{folder_name(session)}/" if session else ""
    # Looked for only where it exists: conversations are long, and most are not kept here.
    has_talk = bool(folder) and (workspace.root / folder).is_dir()

    answers: dict[str, str] = {}

    def asked(index: Index) -> tuple[Found, list[tuple[Hit, Known]]]:
        request = Request(
            query,
            POOL,
            Filter(kinds=KINDS, as_of=recall.as_of),
            mode,
            settings["recall.min_score"],
            weight if (weight := settings["search.vector_weight"]) >= 0 else None,
            seconds,
        )
        found, parts = search_parts(index, request, settings["recall.gate"])
        answers.update(parts)
        hits = list(found.hits)
        if has_talk:
            talk = Filter(kinds=("session",), paths=(folder,))
            said = search_index(index, Request(query, POOL, talk, mode, request.min_score, None, seconds)).hits
            seen_from = 0 if is_fresh else _lines(workspace, folder) - LATEST
            hits += [hit for hit in said if is_fresh or hit.line <= seen_from]
        if settings["search.conversations"] and not recall.as_of and not _has_enough(workspace, query, found):
            hits += [hit for hit in _told_before(index, request) if not hit.path.startswith(folder or "/")]
        texts = known(index, {hit.path for hit in hits if hit.kind != "session"} | {workspace.layout.memory})
        page = texts.get(workspace.layout.memory)
        promoted = promoted_ids(page.text) if page and not recall.as_of else set()
        # An entry that is a line of MEMORY.md is there already.
        return found, [(hit, texts.get(hit.path, _NOTHING)) for hit in hits if hit.id not in promoted]

    found, hits = ask(workspace, asked)
    noted = local_log.counts(workspace)
    in_view = workspace.layout.notes.format(date=day_of(workspace.now, workspace.zone).isoformat()) if session else ""
    changes = watch(workspace, recall.as_of)
    memories = [
        memory
        for hit, file in hits
        if (is_fresh or hit.path != in_view)
        and (memory := _memory(workspace, hit, file, answers.get(hit.id, ""), query, session, noted, changes))
        is not None
    ]
    memories.sort(key=lambda memory: -memory.score)
    groups = side_by_side(memories, lambda one: one.id, lambda one: one.conflicts, lambda one: one.date + one.id)
    # Ordered by their score again where several workspaces meet, so that a pair has one.
    memories = [replace(one, score=max(each.score for each in group)) for group in groups for one in group]
    return Fitting(tuple(memories), found.problems, found.notices, found.vector, found.model)


def _has_enough(workspace: Workspace, query: str, found: Found) -> bool:
    """Tell whether what was found would be shown to a prompt unasked."""
    best = max((hit.relevance for hit in found.hits), default=0.0)
    return asks_memory(query, best, gate_of(found.model, workspace.settings["recall.gate"]))


def _told_before(index: Index, request: Request) -> tuple[Hit, ...]:
    """Find passages of conversations; one counts no more than its best turn, lest many weak ones pass for a memory."""
    from ..search.passages import has_talk, talk

    if not has_talk(index.workspace):
        return ()
    hits = talk(index, replace(request, limit=PASSAGES), PASSAGE).hits
    return tuple(replace(hit, relevance=hit.relevance - hit.parts["passage"]) for hit in hits if "passage" in hit.parts)


def documents(workspace: Workspace, query: str, mode: str, seconds: float) -> Fitting:
    """Find the passages of the folders of `index.include` that fit a prompt."""
    from ..store.redaction import redactor

    named, refused = folders(workspace)
    clean = redactor(workspace, "documents").text  # nobody looked through them when they were written
    notices = list(refused)
    memories: list[Memory] = []
    problems: list[FileProblem] = []
    for name, folder in named.items():
        request = Request(
            query, POOL, Filter(), mode, workspace.settings["recall.min_score"], embed_budget=seconds / len(named)
        )
        try:
            found, texts = ask(folder, lambda index, request=request: _with_texts(index, request))  # type: ignore[misc]
        except MemError as error:
            notices.append(f"index.include: {name}: {error}")
            continue
        problems += [replace(one, path=f"{name}/{one.path}") for one in found.problems]
        for hit in found.hits:
            if (folder.root / hit.path).is_relative_to(workspace.root):
                continue  # memories, which have their own rules
            memories.append(_document(folder, name, hit, texts.get(hit.path, _NOTHING), query, clean))
    memories.sort(key=lambda memory: -memory.score)
    return Fitting(tuple(memories), tuple(problems), tuple(notices))


_NOTHING = Known("", "", {})


def _with_texts(index: Index, request: Request) -> tuple[Found, Mapping[str, Known]]:
    found = search_index(index, request)
    return found, known(index, {hit.path for hit in found.hits})


def _memory(
    workspace: Workspace,
    hit: Hit,
    file: Known,
    asked: str,
    query: str,
    session: str,
    noted: Mapping[str, Access],
    changes: Watch,
) -> Memory | None:
    """Make of a hit what a pack shows; None for what has expired, and for the prompt itself."""
    row: Mapping[str, Any] = file.entry
    said = _entry_said(workspace, hit, file, session) if row else _page_said(workspace, hit, file, query, session)
    if said is None:
        return None
    text, is_whole = shown(said.text or hit.title or hit.summary, asked or query)
    accesses = noted[hit.id].count if hit.id in noted else 0
    # What is no entry fades like an episode, and was observed.
    source = "" if workspace.is_trusted else REPOSITORY
    renewed = local_log.renewed(row, noted.get(local_log.CONFIRMED + hit.id))
    measured = renewed or {"type": "episode", "source": source or "observed"}
    kept = retention(measured, workspace.now, workspace.settings, accesses)
    weight = workspace.settings["recall.recency_weight"]
    return Memory(
        hit.id,
        RELEVANT,
        text,
        layer=said.layer,
        kind=hit.kind,
        type=hit.type,
        source=source or hit.source,
        # A page states no date, and that of its file is the day it was cloned.
        date="" if hit.kind == "memory" else _day(workspace, hit.timestamp),
        path=hit.path,
        scope=hit.scope,
        summary=hit.summary,
        relevance=hit.relevance,
        asked=asked,
        parts=hit.parts,
        kept=kept,
        score=hit.relevance * (1 - weight + weight * kept),
        conflicts=tuple(str(row.get("conflicts_with") or "").split()),
        likely_same=tuple(str(row.get("likely_same") or "").split()),
        changed=changes(file.text) if row else (),
        is_whole=is_whole and hit.kind not in _RUNS,
        digest=said.digest,
    )


def _entry_said(workspace: Workspace, hit: Hit, file: Known, session: str) -> _Said | None:
    """Read an entry; None for one that has expired."""
    expires = parse_time(str(file.entry.get("expires_at") or ""))
    if expires is not None and expires <= workspace.now:
        return None
    body = document.parse(file.text).body
    is_own = bool(session) and f"session:{session}" in file.text[: len(file.text) - len(body)]
    layer = WORKING if is_own else file.entry.get("layer") or layer_of(hit.type)
    return _Said(body.strip(), layer, file.digest[:12])


def _page_said(workspace: Workspace, hit: Hit, file: Known, query: str, session: str) -> _Said | None:
    """Read what is no entry; None for a heading alone, and for the prompt itself."""
    if hit.kind in _RUNS:
        # It is found as one; the passage says which of them it was, and differs from question to question.
        is_prompt = hit.kind == "session" and " ".join(query.split()) in " ".join(hit.summary.split())
        is_own = hit.kind == "session" and bool(session) and hit.path.startswith(f"{SESSIONS}/{folder_name(session)}/")
        return None if is_prompt else _Said(hit.summary, WORKING if is_own else EPISODIC, digest(hit.id))
    told = _part(workspace, hit, file.text)
    if hit.kind != "memory":
        return _Said(told, EPISODIC, digest(told))
    return _Said(plain(told), SEMANTIC, digest(told)) if says_something(told) else None


def _document(folder: Workspace, name: str, hit: Hit, file: Known, query: str, clean: Callable[[str], str]) -> Memory:
    told = _part(folder, hit, file.text)
    # Before it is cut: half a secret is one too, and no rule would see it.
    text, is_whole = shown(clean(plain(told) or hit.summary), query)
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
        digest=digest(told),
    )


def shown(text: str, query: str) -> tuple[str, bool]:
    """Give a text, or the passage of a long one that fits the query; and whether it is the whole."""
    return (text, True) if len(text) <= WHOLE else (snippet(text, query, PASSAGE)[0], False)


def _lines(workspace: Workspace, folder: str) -> int:
    try:
        return (workspace.root / folder / EVENTS).read_bytes().count(b"\n")
    except OSError:
        return 0


def _part(workspace: Workspace, hit: Hit, text: str) -> str:
    """Read the section, the record or the notes a hit names; its passage where the file has changed meanwhile."""
    of_file = f"{hit.path}#"
    anchor = hit.id.removeprefix(of_file) if hit.id.startswith(of_file) else hit.id if hit.kind == "history" else ""
    try:
        start, stop = part(workspace, Place(hit.path, anchor), text)
    except MemError:
        return hit.summary
    told = text[start:stop].strip("\ufeff \t\r\n")
    return told.partition("\n")[2].strip() if hit.kind == "history" and told.startswith("##") else told


def _day(workspace: Workspace, timestamp: str) -> str:
    moment = parse_time(timestamp)
    return moment.astimezone(workspace.zone).date().isoformat() if moment else ""
