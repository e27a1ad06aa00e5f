"""Choose what of everything gathered a pack shows: new to the session, let through, judged, and within the budget."""

from collections.abc import Sequence
from dataclasses import replace

from ..errors import MemError
from ..store.settings import Settings
from . import surfaced
from .budget import fitted, limited, limits, tokens, without_last
from .gate import asks_memory, is_other_topic, thresholds
from .gathered import Gathered, Recall, asked_for
from .pack import DOCUMENTS, LAYERS, LONG_TERM, RELEVANT, SECTIONS, STANDING, LeftOut, Memory, Pack
from .pack_text import section_text
from .surfaced import Turn

LEFT_OUT = 60


def packed(settings: Settings, request: Recall, found: Gathered) -> tuple[Pack, Turn]:
    """Choose what to show of what was gathered; give the turn to be noted with it."""
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
    fitting, papers = (_near_best(found, settings["recall.cutoff"], out) for found in (fitting, papers))
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


def _reset(request: Recall, found: Gathered, query: str, topic: float, turns: int) -> str:
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


def _near_best(found: Sequence[Memory], share: float, out: list[LeftOut]) -> tuple[Memory, ...]:
    """Keep what fits nearly as well as the best: the tail of a search is there because something has to come last.

    What the session itself said is long and loosely put, so it is held against its own best.
    """
    kept: list[Memory] = []
    best: dict[bool, float] = {}
    for memory in sorted(found, key=lambda memory: -memory.relevance):
        if memory.relevance >= share * best.setdefault(memory.kind == "session", memory.relevance):
            kept.append(memory)
        else:
            out.append(LeftOut(memory.id, memory.section, "cutoff"))
    return tuple(sorted(kept, key=lambda memory: -memory.score))


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
