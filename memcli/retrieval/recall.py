"""Recall: the memories a prompt should have, found in time, within a budget, and not twice in a session."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from ..errors import MemError, UsageError
from ..index.index import FileProblem
from ..store import access
from ..store.workspace import Workspace
from ..text.injected import without_injected
from . import surfaced
from .budget import fitted, limits, tokens, without_last
from .gate import asks_memory, is_other_topic, thresholds
from .pack import (
    DOCUMENTS,
    FORMATS,
    LAYERS,
    LONG_TERM,
    NOTES,
    RECENT,
    RELEVANT,
    SECTIONS,
    STANDING,
    LeftOut,
    Memory,
    Pack,
)
from .pack_text import section_text
from .relevant import Fitting, documents, limited, relevant
from .standing import standing
from .surfaced import Surfaced, Turn

__all__ = ["DOCUMENTS", "FORMATS", "LONG_TERM", "NOTES", "RECENT", "RELEVANT", "SECTIONS", "Memory", "Pack"]

Judge = Callable[[str, Sequence[Memory]], Collection[str]]
"""Given the prompt and what was found, the ids worth showing; a MemError it raises keeps them all."""
QUERY = 4000
"""Characters of a prompt that are searched for: its first half and its end, where a pasted log has its question."""
LEFT_OUT = 60
_PATIENCE = 0.6
"""Share of the time after which the words are asked alone too."""


@dataclass(frozen=True)
class Recall:
    """What is asked for; None takes the setting."""

    query: str = ""  # empty: only the standing sections
    session: str = ""  # shown once per session; empty: nothing is noted
    within_ms: int | None = None  # None: as long as it takes
    budget_soft: int | None = None  # tokens past which nothing more begins
    budget_hard: int | None = None  # tokens never passed
    characters: int | None = None  # never passed either; a hook has 10,000
    gate: bool = False  # give nothing relevant for a turn that asks for no memory
    judge: Judge | None = None
    sections: tuple[str, ...] = SECTIONS
    fresh: bool = False  # forget what the session was shown: after a compaction


@dataclass(frozen=True)
class _Gathered:
    """Everything a pack is chosen from."""

    state: Surfaced
    standing: tuple[Memory, ...] = ()
    fitting: Fitting = field(default_factory=Fitting)
    documents: Fitting = field(default_factory=Fitting)
    problems: tuple[FileProblem, ...] = ()
    found_by: str = ""


def recall(workspaces: Sequence[Workspace], request: Recall) -> Pack:
    """Find, choose and note what a prompt should be given; the first workspace keeps the session's state.

    Raises UsageError for a budget below 0. With `within_ms` nothing else is raised, and nothing is waited for longer.
    """
    _check(request)
    if request.within_ms is None:
        pack, turn = _packed(workspaces, request, _gathered(workspaces, request, "hybrid"))
        _note(workspaces, request, pack, turn)
        return pack
    from .deadline import Race

    seconds = request.within_ms / 1000
    race: Race[tuple[Pack, Turn]] = Race(monotonic() + seconds)
    race.enter(lambda: _packed(workspaces, request, _gathered(workspaces, request, "hybrid")))
    done = race.first(seconds * _PATIENCE)
    if done is None:
        race.enter(lambda: _packed(workspaces, request, _gathered(workspaces, request, "keyword")))
        done = race.first()
    if done is None:
        why = race.failures or (f"nothing was found within {request.within_ms:,} ms",)
        return Pack(notices=why, is_late=race.is_busy)
    pack, turn = done
    race.enter(lambda: _note(workspaces, request, pack, turn))
    race.settled()
    return replace(pack, is_late=race.is_busy, notices=(*pack.notices, *race.failures))


def _check(request: Recall) -> None:
    named = (
        ("the soft budget", request.budget_soft),
        ("the hard budget", request.budget_hard),
        ("the number of characters", request.characters),
        ("the time", request.within_ms),
    )
    for name, value in named:
        if value is not None and value < 0:
            raise UsageError(f"{name} is {value}", "give 0 or more")
    for section in request.sections:
        if section not in SECTIONS:
            raise UsageError(f"no section {section!r}", f"use some of {', '.join(SECTIONS)}")


def _gathered(workspaces: Sequence[Workspace], request: Recall, mode: str) -> _Gathered:
    """Read and search everything, in every workspace."""
    state = surfaced.read(workspaces[0], request.session) if request.session else Surfaced()
    always: list[Memory] = []
    fits: list[Fitting] = []
    papers: list[Fitting] = []
    problems: list[FileProblem] = []
    query = asked_for(request.query)
    for workspace in workspaces:
        seconds = workspace.settings["recall.embed_budget"]
        if request.within_ms is not None:
            seconds = min(seconds, request.within_ms / 4000)
        found, wrong = standing(workspace, tuple(one for one in STANDING if one in request.sections))
        always += found
        problems += wrong
        if query and RELEVANT in request.sections:
            fits.append(relevant(workspace, query, request.session, mode, seconds, is_fresh=request.fresh))
        if query and DOCUMENTS in request.sections:
            papers.append(documents(workspace, query, mode, seconds))
    fitting = _joined(fits)
    by_meaning = bool(fitting.vector)
    return _Gathered(
        state,
        tuple(always),
        fitting,
        _joined(papers),
        tuple(dict.fromkeys((*problems, *fitting.problems))),
        ("hybrid" if by_meaning else "keyword") if fits else "",
    )


def asked_for(prompt: str) -> str:
    """Give what of a prompt is searched for: what was said, without what tools put in, and no more than is useful."""
    text = without_injected(prompt).replace("\x00", " ").strip()
    return text if len(text) <= QUERY else f"{text[: QUERY // 2]}\n{text[-QUERY // 2 :]}"


def _joined(found: Sequence[Fitting]) -> Fitting:
    memories = sorted((memory for one in found for memory in one.memories), key=lambda memory: -memory.score)
    return Fitting(
        tuple(memories),
        tuple(problem for one in found for problem in one.problems),
        tuple(dict.fromkeys(notice for one in found for notice in one.notices)),
        next((one.vector for one in found if one.vector), ()),
        next((one.model for one in found if one.model), ""),
    )


def _packed(workspaces: Sequence[Workspace], request: Recall, found: _Gathered) -> tuple[Pack, Turn]:
    """Choose what to show of what was gathered; give the turn to be noted with it."""
    settings = workspaces[0].settings
    measured = thresholds(found.fitting.model)
    gate = measured.gate if settings["recall.gate"] < 0 else settings["recall.gate"]
    topic = measured.topic if settings["recall.topic"] < 0 else settings["recall.topic"]
    query = asked_for(request.query)
    reset = _reset(request, found, query, topic, settings["recall.turns"])
    begun = found.state.after(Turn(reset=reset, turns=0)) if reset else found.state
    known = {*begun.shown, *begun.standing}
    out: list[LeftOut] = []

    def new(memories: Sequence[Memory]) -> list[Memory]:
        fresh = [memory for memory in memories if _mark(memory) not in known]
        out.extend(LeftOut(memory.id, memory.section, "shown") for memory in memories if _mark(memory) in known)
        return fresh

    best = max(found.fitting.best, found.documents.best)
    is_gated = request.gate and not asks_memory(query, best, gate)
    fitting = () if is_gated else found.fitting.memories
    papers = () if is_gated else found.documents.memories
    if is_gated:
        out += [LeftOut(one.id, one.section, "gate") for one in (*found.fitting.memories, *found.documents.memories)]
    sections: dict[str, list[Memory]] = {}
    for section in STANDING:
        sections[section] = new([memory for memory in found.standing if memory.section == section])
    sections[LONG_TERM] = _by_need(sections[LONG_TERM], fitting)
    in_view = {_place(memory) for memory in found.standing} | _noted_places(begun.standing)
    caps = {layer: settings[f"recall.limit.{layer}"] for layer in (*LAYERS, DOCUMENTS)}
    candidates, over = limited(new([one for one in fitting if _place(one) not in in_view]), caps)
    papers_taken, papers_over = limited(new(papers), caps)
    notices = [*found.fitting.notices, *found.documents.notices]
    candidates, papers_taken = _judged(request, query, candidates, papers_taken, out, notices)
    sections[RELEVANT], sections[DOCUMENTS] = candidates, papers_taken
    soft = settings["recall.soft_budget"] if request.budget_soft is None else request.budget_soft
    hard = settings["recall.hard_budget"] if request.budget_hard is None else request.budget_hard
    within = limits(soft, hard, request.characters)
    shares = {section: settings[f"recall.share.{section}"] for section in SECTIONS}
    chosen, dropped = fitted(sections, shares, within)
    out += [LeftOut(memory.id, memory.section, "budget") for memory in dropped]
    out += [LeftOut(memory.id, memory.section, "budget") for memory in chosen if _is_cut(memory)]
    out += [LeftOut(memory.id, memory.section, "limit") for memory in (*over, *papers_over)]
    pack = Pack(
        _in_order(chosen, found.standing),
        tuple(out[:LEFT_OUT]),
        found.problems,
        tuple(dict.fromkeys(notices)),
        {},
        found.found_by,
        best,
        is_gated=is_gated,
        reset=reset,
    )
    while pack.chosen and len(pack.text()) > within.hard:
        pack = replace(pack, chosen=tuple(without_last(pack.chosen)))
    pack = replace(pack, tokens=_tokens(pack))
    turn = Turn(
        tuple(_mark(memory) for memory in pack.chosen if memory.section not in STANDING),
        tuple(_mark(memory) for memory in pack.chosen if memory.section in STANDING),
        surfaced.mixed(() if reset else found.state.context, found.fitting.vector),
        reset,
        1 if query else 0,
    )
    return pack, turn


def _reset(request: Recall, found: _Gathered, query: str, topic: float, turns: int) -> str:
    """Say why the session begins anew with this turn; empty where it goes on."""
    if not request.session:
        return ""
    if found.state.is_new:
        return surfaced.NEW
    if request.fresh:
        return surfaced.ASKED
    if found.state.turns >= turns:
        return surfaced.TURNS
    return surfaced.TOPIC if is_other_topic(query, found.fitting.vector, found.state.context, topic) else ""


def _by_need(page: list[Memory], fitting: Sequence[Memory]) -> list[Memory]:
    """Put the parts of MEMORY.md that fit the prompt first: where there is no room for all, they are kept."""
    score = {memory.id: memory.score for memory in fitting if memory.kind == "memory"}
    return sorted(page, key=lambda memory: -score.get(memory.id, 0.0))


def _in_order(chosen: Sequence[Memory], always: Sequence[Memory]) -> tuple[Memory, ...]:
    """Bring the parts of a page back into the page's order."""
    place = {(memory.scope, memory.id): number for number, memory in enumerate(always)}
    ranked = sorted(
        enumerate(chosen),
        key=lambda one: (SECTIONS.index(one[1].section), place.get((one[1].scope, one[1].id), one[0])),
    )
    return tuple(memory for _, memory in ranked)


def _judged(
    request: Recall,
    query: str,
    memories: list[Memory],
    papers: list[Memory],
    out: list[LeftOut],
    notices: list[str],
) -> tuple[list[Memory], list[Memory]]:
    if request.judge is None or not (memories or papers):
        return memories, papers
    try:
        kept = set(request.judge(query, [*memories, *papers]))
    except MemError as error:
        notices.append(f"nobody judged what was recalled: {error}")
        return memories, papers
    out += [LeftOut(one.id, one.section, "judged") for one in (*memories, *papers) if one.id not in kept]
    return [one for one in memories if one.id in kept], [one for one in papers if one.id in kept]


def _place(memory: Memory) -> tuple[str, str]:
    """Name what a memory stands in: notes are found in runs, and shown one by one."""
    return memory.scope, memory.path if memory.kind == "note" else memory.id


def _noted_places(marks: Sequence[str]) -> set[tuple[str, str]]:
    """Give the days' pages a session was shown notes of."""
    named = (mark.split(" ") for mark in marks)
    return {(parts[0], parts[1].partition("#")[0]) for parts in named if len(parts) == 3}


def _is_cut(memory: Memory) -> bool:
    return memory.section == LONG_TERM and not memory.is_whole


def _mark(memory: Memory) -> str:
    return f"{memory.scope} {memory.id} {memory.digest}"


def _tokens(pack: Pack) -> dict[str, int]:
    by_section = {
        section: tokens(section_text(section, [memory for memory in pack.chosen if memory.section == section]))
        for section in SECTIONS
    }
    return {**{section: count for section, count in by_section.items() if count}, "total": tokens(pack.text())}


def _note(workspaces: Sequence[Workspace], request: Recall, pack: Pack, turn: Turn) -> None:
    """Note what was shown: for the session, and as an access of each entry."""
    if request.session:
        surfaced.note(workspaces[0], request.session, turn)
    for workspace in workspaces:
        ids = [memory.id for memory in pack.chosen if memory.kind == "entry" and memory.scope == workspace.scope]
        if ids:
            access.note(workspace, ids)
