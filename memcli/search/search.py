"""Search memories in one workspace or several, with conversations where those help and folders of documents."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

from ..dataclass import dataclass
from ..errors import MemError
from ..formats.ids import parse_time, past
from ..formats.text_lines import blanked
from ..index.filters import Filter
from ..index.index import Index, MemoryIndex, ask
from ..language.sentences import is_question, sentences
from ..store.layouts import SESSION_FOLDER
from ..store.workspace import Workspace
from .index_search import POOL, SearchRequest, search_index
from .later import MOST_ADDED
from .query import LIKELY, LIMIT, asks_memory, certainty, gate_of, is_telling, snippet
from .reference_docs import folders
from .results import DOCUMENT, Hit, SearchResults, joined, watch

LONGEST = 6
"""Turns of a passage."""
LEAST = 0.1
"""Relevance of a turn that takes the place of another hit: below it one in ten is right, whatever it says."""
KIND = "session"
_EACH = 2  # turns looked at for each hit asked for
_NEW = 0.35  # share of the words of a record or an episode that no other hit has, if it tells something new
_WORD = re.compile(r"\w{3,}")
_BUDGET = 0.25  # share of the time for embedding: most of a workspace is not conversations


@dataclass
class _Passage:
    best: Hit
    turns: dict[int, tuple[str, int]]  # number and chunk, by the line
    texts: dict[int, str]  # what fits in those that matched, by the line
    relevance: float


def has_talk(workspace: Workspace) -> bool:
    """Return whether a workspace may have conversations, without looking into them."""
    return any(
        (workspace.root / folder).is_dir() for folder in (SESSION_FOLDER, f"{workspace.layout.archive}{SESSION_FOLDER}")
    )


def search_talk(index: Index, request: SearchRequest, room: int = LIMIT, *, has_places: bool = False) -> SearchResults:
    """Return passages of a workspace's conversations, the best first, each of at most `room` characters.

    Those of little relevance are among them where there are places which no other hit takes.
    """
    wanted = replace(request.wanted, kinds=(KIND,))
    budget = _BUDGET * request.embed_budget
    results = search_index(index, replace(request, wanted=wanted, limit=POOL, embed_budget=budget))
    turns = [hit for hit in results.hits if hit.relevance >= LEAST or has_places]
    hits = passages(index, turns[: _EACH * request.limit], request.query, room)
    # A turn without a vector is found by its words; who asks for conversations learns how many there are.
    return SearchResults(hits, results.problems, in_conversations=len(turns))


def passages(index: MemoryIndex, hits: Sequence[Hit], query: str, room: int = LIMIT) -> tuple[Hit, ...]:
    """Return turns that stand together joined into passages, the best first, each in at most `room` characters.

    The relevance of a passage is the probability that one of its turns is right, of those of more than little
    relevance: 1 − Π (1 − relevance).
    """
    groups: list[_Passage] = []
    for hit in hits:
        turns = {line: (number, chunk) for line, number, chunk in index.turns_around(hit.path, hit.line)}
        passage = next((each for each in groups if _meet(each, hit, turns)), None)
        if passage is None:
            groups.append(_Passage(hit, turns, {hit.line: hit.text}, hit.relevance))
        else:
            passage.turns |= turns
            passage.texts[hit.line] = hit.text
            if hit.relevance >= LEAST:  # many that say nothing are no evidence together
                passage.relevance += (1 - passage.relevance) * hit.relevance
    pieces = index.pieces(
        set(chain.from_iterable((chunk for _, chunk in passage.turns.values()) for passage in groups))
    )
    texts = {chunk: piece.text for chunk, piece in pieces.items()}
    return tuple(sorted((_hit(passage, texts, query, room) for passage in groups), key=lambda hit: -hit.relevance))


def _meet(passage: _Passage, hit: Hit, turns: dict[int, tuple[str, int]]) -> bool:
    return (
        passage.best.path == hit.path
        and bool(passage.turns.keys() & turns.keys())
        and len(passage.turns | turns) <= LONGEST
    )


def _hit(passage: _Passage, texts: dict[int, str], query: str, room: int) -> Hit:
    from ..store.sessions.reading import session_address  # it brings along all that writes conversations

    turns = [(*passage.turns[line], passage.texts.get(line)) for line in sorted(passage.turns)]
    ends = dict.fromkeys((turns[0][0], turns[-1][0]))
    lines = [text or texts[chunk] for _, chunk, text in turns]
    telling = [text for text in lines if not is_question(text)]  # the question is no answer
    best = passage.best
    return replace(
        best,
        id=session_address(best.path, ":".join(ends)),
        line=min(passage.turns),
        summary=snippet("\n".join(telling or lines), query, room)[0],
        relevance=passage.relevance,
        text="\n".join(lines),
        parts={**best.parts, "passage": passage.relevance - best.relevance},
    )


MOST = 4
"""Parts that are searched for; each costs one more search."""
_ASKS = (
    r"(?:who|whom|whose|what|when|where|which|why|how"
    r"|wer|wem|wen|wessen|was|wann|wo|wohin|woher|warum|wieso|wie|welche[mnrs]?"
    r"|qui|quand|où|pourquoi|comment|combien|quel(?:le)?s?"
    r"|quién(?:es)?|qué|cuándo|dónde|cómo|cuál(?:es)?|cuánt[oa]s?)\b"
)
_DOES_IT = (
    r"(?:(?:do|does|did|is|are|was|were|has|have|had|can|could|should|will|would|must)"
    r" (?:(?:i|we|you|he|she|it|they|there)\b|(?-i:[A-Z]))"
    r"|(?:do|does|did|is|are|was|were) (?:the|my|our|your|his|her|their)\b)"
)
_JOINED = re.compile(
    r"[,;]?\s+(?:and|or|but|plus|also|und|oder|aber|et|ou|y|o|e)\s+(?:also |then |auch |aussi |también )?"
    rf"(?={_ASKS}|{_DOES_IT})|;\s*(?={_ASKS})",
    re.IGNORECASE,
)
_TURN = re.compile(r"^[ \t]*[A-Z][\w .-]{0,30}: ", re.MULTILINE)
"""Opens a line of a pasted dialogue: only its last turn asks."""
_ASKED = re.compile(rf"\b{_ASKS}|^{_DOES_IT}", re.IGNORECASE)


def parts_of(prompt: str) -> tuple[str, ...]:
    """Return the questions of a prompt that has two to four, each as it stands there; none where it asks one thing.

    Only what has a question word or form of its own is a part, and words that are not everyday ones.
    """
    turns = list(_TURN.finditer(prompt))
    last_turn = prompt[turns[-1].end() :] if len(turns) > 1 else prompt
    questions: list[str] = []
    for sentence in sentences(last_turn):
        clauses = _JOINED.split(sentence.text)
        asks = [clause for clause in clauses if _ASKED.search(clause)]
        if is_question(sentence.text) or len(asks) > 1:
            questions += asks or [sentence.text]
    parts = tuple(dict.fromkeys(part.strip() for part in questions if is_telling(part)))
    return parts[:MOST] if len(parts) > 1 else ()


def search_parts(index: Index, request: SearchRequest, gate: float) -> tuple[SearchResults, Mapping[str, str]]:
    """Search for a prompt and each of its parts; return hits, and by id the part that one fits better than the whole.

    A part adds hits where it would get memories as a prompt of its own: where its best hit reaches the
    setting `gate`.
    """
    results = search_index(index, request)
    best: dict[str, Hit] = {hit.id: hit for hit in reversed(results.hits)}
    answers: dict[str, str] = {}
    for part in parts_of(request.query):
        part_results = search_index(index, replace(request, query=part))
        if not asks_memory(
            part, max((hit.relevance for hit in part_results.hits), default=0.0), gate_of(part_results.model, gate)
        ):
            continue
        for hit in part_results.hits:
            if hit.id not in best or hit.relevance > best[hit.id].relevance:
                best[hit.id], answers[hit.id] = hit, part
    if not answers:
        return results, answers
    hits = sorted(best.values(), key=lambda hit: -hit.relevance)
    return replace(results, hits=tuple(hits[: request.limit])), answers


def search(workspaces: Sequence[Workspace], request: SearchRequest) -> SearchResults:
    """Return the hits of every workspace for the kinds that the request asks for, merged by relevance.

    Where the best hit is more likely wrong than right, passages of conversations compete with the hits. Hits in
    documents have the names `mem read` takes them by; a document has no type, tag, layer, source or project, so none
    is found where one of these is asked for. Raise UnavailableError where an index fails, or where the request asks for
    meaning alone and there is no model for it.
    """
    # One more than asked for says how far the first is ahead.
    results = _search(workspaces, replace(request, limit=max(request.limit, 2), shown=request.limit))
    judged = _judged((*results.hits, *results.later))
    results = replace(results, hits=judged[: len(results.hits)], later=judged[len(results.hits) :])
    hits, others = results.hits[: request.limit], (*results.hits[request.limit :], *results.later)
    shown = {hit.id for hit in hits}
    added = [hit for hit in others if hit.later_than in shown and hit.id not in shown]
    return replace(results, hits=(*hits, *added[:MOST_ADDED]), later=())


def _judged(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits with their certainty; the hits that the best one is flagged with do not lower it."""
    best = hits[0].relevance if hits else 0.0
    following = max((hit.relevance for hit in hits[1:] if hit.id not in hits[0].conflicts_with), default=0.0)
    return tuple(
        replace(hit, certainty=certainty(hit.relevance, best, following, is_turn=hit.kind == "session")) for hit in hits
    )


def _search(workspaces: Sequence[Workspace], request: SearchRequest) -> SearchResults:
    if DOCUMENT not in request.wanted.kinds:
        return _search_memories(workspaces, request)
    kinds = tuple(kind for kind in request.wanted.kinds if kind != DOCUMENT)
    of_memories = replace(request, wanted=replace(request.wanted, kinds=kinds))
    parts = [_search_memories(workspaces, of_memories)] if kinds else []
    if not request.wanted.asks_entries:
        parts += [_search_documents(workspace, request) for workspace in workspaces]
    return joined(parts, request.limit)


def _search_memories(workspaces: Sequence[Workspace], request: SearchRequest) -> SearchResults:
    def answer(index: Index) -> tuple[SearchResults, SearchResults | None]:
        results = _mark_changed(index, search_index(index, request), request.wanted.as_of)
        if not request.draws_on_talk or _is_likely(results):
            return results, None
        from ..index.lookups import forgotten_texts

        # While the index is open with its model: opening both again would take a third of the time of a search.
        has_places = sum(not _is_retelling(hit) for hit in results.hits) < request.shown
        talk = search_talk(index, request, has_places=has_places) if has_talk(index.workspace) else None
        if talk and (forgotten := forgotten_texts(index)):  # nobody asked for what was said
            talk = replace(talk, hits=tuple(_blanked(hit, forgotten) for hit in talk.hits))
        return results, talk

    answers = [ask(workspace, answer, may_guess=True) for workspace in workspaces]
    merged = joined((own for own, _ in answers), request.limit)
    if not _is_likely(merged):
        merged = joined((merged, *(talk for _, talk in answers if talk)))
    hits = _told_once(merged.hits, request.limit)
    return joined([replace(merged, hits=hits, later=(*merged.hits, *merged.later))])


def _is_retelling(hit: Hit) -> bool:
    return hit.kind == "history" or hit.type == "episode"


def _told_once(hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the best `limit`; a record or an episode that repeats the words of others comes where there is room."""
    others = [hit for hit in hits if not _is_retelling(hit)][:limit]
    words = set(chain.from_iterable(_words(hit) for hit in others))
    repeats: list[Hit] = []
    for hit in filter(_is_retelling, hits):
        own = _words(hit)
        if len(own - words) < _NEW * len(own):
            repeats.append(hit)
        words |= own
    telling = [hit for hit in hits if hit not in repeats][:limit]
    return tuple(sorted((*telling, *repeats[: limit - len(telling)]), key=lambda hit: -hit.relevance))


def _words(hit: Hit) -> set[str]:
    return set(_WORD.findall(hit.text.casefold()))


def _mark_changed(index: Index, results: SearchResults, as_of: str) -> SearchResults:
    """Return the results with the hits marked that have expired, or whose cited lines changed or are gone."""
    from ..index.lookups import forgotten_texts, indexed_files

    changes = watch(index.workspace, as_of)
    texts = indexed_files(index, {hit.path for hit in (*results.hits, *results.later) if hit.kind == "entry"})
    now = parse_time(as_of) or index.workspace.now
    marks: dict[str, dict[str, Any]] = {}
    for path, file in texts.items():
        marks[path] = {"changed": changes(file.text), "expired": past(file.entry.get("expires_at"), now)}
    hits, later = (
        tuple(replace(hit, **marks.get(hit.path, {})) for hit in group) for group in (results.hits, results.later)
    )
    forgotten = forgotten_texts(index)
    hits, later = (
        tuple(hit if hit.kind == "session" else _blanked(hit, forgotten) for hit in group) for group in (hits, later)
    )
    return replace(results, hits=hits, later=later)


def _blanked(hit: Hit, forgotten: frozenset[str]) -> Hit:
    if not forgotten or hit.status == "archived":
        return hit
    return replace(hit, summary=blanked(hit.summary, forgotten), text=blanked(hit.text, forgotten))


def _is_likely(results: SearchResults) -> bool:
    """Return whether the best hit is likely right: what tells of a conversation repeats what was asked in it."""
    return max((hit.relevance for hit in results.hits if not _is_retelling(hit)), default=0.0) >= LIKELY


def _search_documents(workspace: Workspace, request: SearchRequest) -> SearchResults:
    """Search the folders of one workspace; redact secrets, since nothing checked the documents for them."""
    from ..store.redaction import redactor

    named, refused = folders(workspace)
    clean = redactor(workspace, "documents").text
    wanted = Filter(since=request.wanted.since, until=request.wanted.until)
    budget = request.embed_budget / max(len(named), 1)
    answers = [SearchResults((), notices=refused)]
    for name, folder in named.items():
        own = replace(request, wanted=wanted, embed_budget=budget, folder=None)
        try:
            part = ask(folder, lambda index, own=own: search_index(index, own))  # type: ignore[misc]
        except MemError as error:
            answers.append(SearchResults((), notices=(f"index.include: {name}: {error}",)))
            continue
        hits = [
            replace(
                hit,
                id=f"{name}/{hit.id}",
                path=f"{name}/{hit.path}",
                kind=DOCUMENT,
                summary=clean(hit.summary),
                title=clean(hit.title),
                text=clean(hit.text),
                scope=workspace.scope,
            )
            for hit in part.hits
            if not (folder.root / hit.path).is_relative_to(workspace.root)  # a memory, found as one
        ]
        problems = tuple(
            replace(problem, path=f"{name}/{problem.path}", scope=workspace.scope) for problem in part.problems
        )
        answers.append(replace(part, hits=tuple(hits), problems=problems))
    whole = joined(answers)
    return replace(whole, hits=tuple(hit for hit in whole.hits if _is_below(workspace, hit, request)))


def _is_below(workspace: Workspace, hit: Hit, request: SearchRequest) -> bool:
    """Return whether a document lies under the paths asked for, by its own name or seen from the current folder."""
    if not request.wanted.paths:
        return True
    names = {hit.path, os.path.relpath(workspace.root / hit.path, request.folder)}
    paths = [path.removeprefix("./") for path in request.wanted.paths]
    return any(name.startswith(path) or fnmatchcase(name, path) for name in names for path in paths)
