"""Recall: the memories a prompt should have, found in time, within a budget, and not twice in a session.

Of everything gathered a pack shows what is new to the session, let through and judged. Each section has its share of
the budget. A soft budget is one past which nothing is begun, a hard one nothing passes; in `CharacterBudget` both are
in characters.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby

from ..dataclass import dataclass
from ..errors import MemError, UsageError
from ..formats.text_lines import FileProblem
from ..search.query import asks_memory, gate_of, is_other_topic, is_telling, thresholds
from ..store import access_log
from ..store.settings import Settings
from ..store.workspace import Workspace
from . import request as session_state
from .pack import (
    CHARACTERS_A_TOKEN,
    DAYS,
    DOCUMENTS,
    FRAME,
    HEADINGS,
    LAYERS,
    LONG_TERM,
    NAMES,
    NOTES,
    RECENT,
    RELEVANT,
    SECTIONS,
    STANDING,
    LeftOut,
    Memory,
    Pack,
    always_on_memories,
    cut,
    end_of,
    mark,
    piece,
    section_text,
)
from .request import Matches, PackSources, RecallRequest, SessionState, SurfacedTurn

_SECOND = (RELEVANT, LONG_TERM, NOTES, DOCUMENTS, RECENT)
"""Sections in the order in which they get what the others did not need."""
_GROUP = 60  # the delimiters of a page
_MOST_LEFT_OUT = 60  # entries of `Pack.left_out`


def recall(workspaces: Sequence[Workspace], request: RecallRequest) -> Pack:
    """Return what a prompt should be given, and note it as shown; the first workspace keeps the session's state.

    Raise UsageError for a budget below 0 or an unknown section, and what a search raises.
    """
    _check(request)
    pack, turn = find(workspaces, request)
    note(workspaces, request, pack, turn)
    return pack


def find(workspaces: Sequence[Workspace], request: RecallRequest) -> tuple[Pack, SurfacedTurn]:
    """Return what a prompt should be given, and the turn to be noted with it; raise what a search raises."""
    return select_pack(workspaces[0].settings, request, gather(workspaces, request))


def _check(request: RecallRequest) -> None:
    named = (
        ("the soft budget", request.budget_soft),
        ("the hard budget", request.budget_hard),
        ("the number of characters", request.characters),
    )
    for name, value in named:
        if value is not None and value < 0:
            raise UsageError(f"{name} is {value}", "give 0 or more")
    for section in request.sections:
        if section not in SECTIONS:
            raise UsageError(f"no section {section!r}", f"use some of {', '.join(SECTIONS)}")


def gather(workspaces: Sequence[Workspace], request: RecallRequest) -> PackSources:
    """Return everything a pack is chosen from, of every workspace."""
    state = session_state.load_state(workspaces[0], request.session) if request.session else SessionState()
    for turn in request.earlier:
        state = state.after(turn)
    always: list[Memory] = []
    fits: list[Matches] = []
    papers: list[Matches] = []
    problems: list[FileProblem] = []
    query = request.asked
    if request.gate and not is_telling(query):
        query = ""
    for workspace in workspaces:
        seconds = workspace.settings["recall.embed_budget"]
        if query and RELEVANT in request.sections:
            # Late: with the index and all it needs, which the other sections do not.
            from .sources import relevant_memories

            fits.append(relevant_memories(workspace, query, request, seconds))
        if query and DOCUMENTS in request.sections and workspace.settings["index.include"]:
            from .sources import relevant_documents

            papers.append(relevant_documents(workspace, query, seconds))
        # After a search, which brings the page in step with its entries.
        always_on = tuple(section for section in STANDING if section in request.sections)
        memories, unreadable = always_on_memories(
            workspace, always_on, is_in_step=bool(query) and RELEVANT in request.sections
        )
        always += memories
        problems += unreadable
    fitting = _joined(fits)
    by_meaning = bool(fitting.vector)
    return PackSources(
        state,
        tuple(always),
        fitting,
        _joined(papers),
        tuple(dict.fromkeys((*problems, *fitting.problems))),
        ("hybrid" if by_meaning else "keyword") if fits else "",
    )


def _joined(matches: Sequence[Matches]) -> Matches:
    memories = sorted((memory for match in matches for memory in match.memories), key=lambda memory: -memory.score)
    return Matches(
        tuple(memories),
        tuple(problem for match in matches for problem in match.problems),
        tuple(dict.fromkeys(notice for match in matches for notice in match.notices)),
        next((match.vector for match in matches if match.vector), ()),
        next((match.model for match in matches if match.model), ""),
        tuple(sorted((rule for match in matches for rule in match.rules), key=lambda rule: -rule.score)),
        dict(chain.from_iterable(match.texts.items() for match in matches)),
    )


def note(workspaces: Sequence[Workspace], request: RecallRequest, pack: Pack, turn: SurfacedTurn) -> None:
    """Note that the session was shown a pack, its memories as used, and its tokens as told, in the first workspace."""
    if request.as_of or not request.counts:
        return
    if request.session:
        session_state.record_turn(workspaces[0], request.session, turn)
    count = tokens(pack.text()) if pack.chosen else 0
    for workspace in workspaces:
        ids = [memory.id for memory in pack.chosen if memory.kind == "entry" and memory.scope == workspace.scope]
        access_log.note(workspace, ids, tokens=count)
        count = 0


@dataclass(frozen=True)
class CharacterBudget:
    """Characters a pack may have."""

    soft: int
    hard: int


def tokens(text: str) -> int:
    """Return an estimate of the tokens of a text: its characters by `CHARACTERS_A_TOKEN`, rounded up."""
    return -int(-len(text) // CHARACTERS_A_TOKEN)


def limited(memories: Iterable[Memory], limits: Mapping[str, int]) -> tuple[list[Memory], list[Memory]]:
    """Return as many memories of each layer as it may have, and those over the limit, both in their order."""
    taken: list[Memory] = []
    excess: list[Memory] = []
    count = dict.fromkeys(limits, 0)
    for memory in memories:
        key = memory.layer or memory.section
        fits = count.get(key, 0) < limits.get(key, 0)
        count[key] = count.get(key, 0) + fits
        (taken if fits else excess).append(memory)
    return taken, excess


def fitted(
    by_section: Mapping[str, Sequence[Memory]], shares: Mapping[str, float], within: CharacterBudget
) -> tuple[list[Memory], list[Memory]]:
    """Return the memories that fit, chosen section by section, and those that do not, both in the order shown."""
    room = within.soft - FRAME
    most = within.hard - FRAME - min(NAMES, (within.hard - FRAME) // 4) - 40
    if room <= 0 or most <= 0:
        return [], [memory for section in SECTIONS for memory in by_section.get(section, ())]
    chosen: dict[str, Memory] = {}
    total = 0
    opened: set[tuple[str, str]] = set()
    closed: dict[tuple[str, str], str] = {}  # what of a day's file found no room: older parts would leave a gap

    def take(memory: Memory, until: float) -> None:
        nonlocal total
        file = (memory.section, memory.path)
        if memory.section in DAYS and closed.get(file, _key(memory)) != _key(memory):
            return
        group = (memory.section, memory.layer or memory.date or memory.path)
        cost = _cost(memory) + (_GROUP + len(HEADINGS[memory.section])) * (group not in opened)
        if total >= until or total + cost > most or (memory.section in (LONG_TERM, DOCUMENTS) and total + cost > until):
            if total < until:
                closed[file] = _key(memory)
            left = int(min(until, most) - total - (cost - len(memory.text)))
            shortened = cut(memory, left) if memory.section == LONG_TERM else end_of(memory, left)
            if shortened is None:
                return
            memory, cost = shortened, cost - len(memory.text) + len(shortened.text)
        opened.add(group)
        chosen[_key(memory)] = memory
        total += cost

    for section in SECTIONS:
        before = total
        for memory in by_section.get(section, ()):
            take(memory, min(before + shares.get(section, 0.0) * room, room))
    for section in _SECOND:
        for memory in by_section.get(section, ()):
            shortened = chosen.get(_key(memory))
            if shortened is None:
                take(memory, room)
            elif not shortened.is_whole and memory.is_whole:  # cut to its share, and now there is room
                del chosen[_key(memory)]
                total -= _cost(shortened)
                take(memory, room)
                if _key(memory) not in chosen:
                    chosen[_key(memory)] = shortened
                    total += _cost(shortened)
    every = [memory for section in SECTIONS for memory in by_section.get(section, ())]
    taken = [chosen[_key(memory)] for memory in every if _key(memory) in chosen]
    return taken, [memory for memory in every if _key(memory) not in chosen]


def without_last(memories: Iterable[Memory]) -> list[Memory]:
    """Return the memories without the one that would be missed least."""
    listed = list(memories)
    for section in reversed(_SECOND):
        inside = [memory for memory in listed if memory.section == section]
        if inside:
            of_last_day = [memory for memory in inside if memory.date == inside[-1].date]
            last = of_last_day[0] if section in DAYS else min(reversed(inside), key=lambda memory: memory.score)
            return [memory for memory in listed if memory is not last]
    return listed


def _cost(memory: Memory) -> int:
    return len(piece(memory)) + 1 if memory.section == RELEVANT or memory.kind == "history" else len(memory.text) + 2


def _key(memory: Memory) -> str:
    return f"{memory.section} {memory.scope} {memory.id}"


def select_pack(settings: Settings, request: RecallRequest, sources: PackSources) -> tuple[Pack, SurfacedTurn]:
    """Return the pack chosen from the sources, and the turn to be recorded with it."""
    measured = thresholds(sources.fitting.model)
    gate = gate_of(sources.fitting.model, settings["recall.gate"])
    topic = measured.topic if settings["recall.topic"] < 0 else settings["recall.topic"]
    query = request.asked
    reset = _reset(request, sources, query, topic, settings["recall.turns"])
    state = sources.state.after(SurfacedTurn(reset=reset, turns=0)) if reset else sources.state
    best = max(sources.fitting.best, sources.documents.best)
    is_gated = request.gate and not asks_memory(query, best, gate)
    out: list[LeftOut] = []
    notices = [*sources.fitting.notices, *sources.documents.notices]
    sections, excess = _offered(settings, sources, state, out, is_gated=is_gated)
    texts = sources.fitting.texts
    sections[RELEVANT] = [texts[each.scope, each.id, each.digest](each) for each in sections[RELEVANT]]
    sections |= _judged(request, query, sections, out, notices)
    within = _limits(settings, request)
    chosen, dropped = fitted(sections, {section: settings[f"recall.share.{section}"] for section in SECTIONS}, within)
    cut = [memory for memory in chosen if memory.section in STANDING and not memory.is_whole]
    out += _left([*dropped, *cut], "budget") + _left(excess, "limit")
    pack = Pack(
        _in_order(chosen, sources.always_on),
        tuple(out[:_MOST_LEFT_OUT]),
        sources.problems,
        tuple(dict.fromkeys(notices)),
        {},
        sources.found_by,
        best,
        is_gated=is_gated,
        reset=reset,
    )
    while pack.chosen and len(pack.text()) > within.hard:
        pack = replace(pack, chosen=tuple(without_last(pack.chosen)))
    turn = SurfacedTurn(
        tuple(mark(memory) for memory in pack.chosen if memory.section not in STANDING),
        tuple(mark(memory) for memory in pack.chosen if memory.section in STANDING),
        session_state.moved_topic(() if reset else sources.state.context, sources.fitting.vector),
        reset,
        1 if query else 0,
    )
    return replace(pack, tokens=_tokens(pack)), turn


def _offered(
    settings: Settings, sources: PackSources, state: SessionState, out: list[LeftOut], *, is_gated: bool
) -> tuple[dict[str, list[Memory]], list[Memory]]:
    """Return by section what is new to the session and fits well enough, and what is over the limits of its layer."""
    shown_marks = {*state.shown, *state.standing}

    def new(memories: Sequence[Memory]) -> list[Memory]:
        out.extend(_left([memory for memory in memories if mark(memory) in shown_marks], "shown"))
        return [memory for memory in memories if mark(memory) not in shown_marks]

    fitting, papers = sources.fitting.memories, sources.documents.memories
    if is_gated:
        out += _left([*fitting, *papers], "gate")
        fitting, papers = (), ()
    fitting = _near_best(fitting, settings["recall.cutoff"], out)
    papers = _near_best(papers, settings["recall.cutoff"], out)
    sections = {name: new([memory for memory in sources.always_on if memory.section == name]) for name in STANDING}
    sections[LONG_TERM] = _by_need(sections[LONG_TERM], fitting)
    sections |= {name: _latest_first(sections[name]) for name in DAYS}
    in_view = {_address(memory) for memory in sources.always_on} | _noted_pages(state.standing)
    caps = {layer: settings[f"recall.limit.{layer}"] for layer in (*LAYERS, DOCUMENTS)}
    sections[RELEVANT], excess = limited(new([memory for memory in fitting if _address(memory) not in in_view]), caps)
    sections[DOCUMENTS], excess_papers = limited(new(papers), caps)
    # A rule is wanted where no memory is asked for, and least where one answers well.
    least = settings["recall.cutoff"] * max(
        (memory.relevance for memory in (*sources.fitting.memories, *sources.fitting.rules)), default=0
    )
    relevant_ids = {memory.id for memory in sections[RELEVANT]}
    rules = [rule for rule in sources.fitting.rules if rule.id not in relevant_ids and rule.relevance >= least]
    sections[RELEVANT] += new(rules)
    rule_ids = {rule.id for rule in rules}
    out[:] = [omission for omission in out if omission.id not in rule_ids or omission.why == "shown"]
    return sections, [*(memory for memory in excess if memory.id not in rule_ids), *excess_papers]


def _limits(settings: Settings, request: RecallRequest) -> CharacterBudget:
    """Return the budget in characters, neither part of it above those asked for; settings and request give tokens."""
    soft = settings["recall.soft_budget"] if request.budget_soft is None else request.budget_soft
    hard = settings["recall.hard_budget"] if request.budget_hard is None else request.budget_hard
    most = int(hard * CHARACTERS_A_TOKEN)
    most = most if request.characters is None else min(most, request.characters)
    return CharacterBudget(min(int(soft * CHARACTERS_A_TOKEN), most), most)


def _reset(request: RecallRequest, sources: PackSources, query: str, topic: float, turns: int) -> str:
    """Return why the session begins anew with this turn; "" if it goes on."""
    if not request.session:
        return ""
    if sources.state.is_new:
        return session_state.NEW
    if request.fresh:
        return session_state.ASKED
    if sources.state.turns >= turns:
        return session_state.TURNS
    return session_state.TOPIC if is_other_topic(query, sources.fitting.vector, sources.state.context, topic) else ""


def _near_best(memories: Sequence[Memory], share: float, out: list[LeftOut]) -> tuple[Memory, ...]:
    """Return the memories that fit nearly as well as the best: the tail of a search says little.

    What a session itself said is long and loosely put, so it is held against its own best. So is what answers one of
    several questions, and the best of each question comes first.
    """
    near: list[Memory] = []
    best: dict[bool, float] = {}
    of_part: dict[tuple[bool, str], Memory] = {}
    for memory in sorted(memories, key=lambda memory: -memory.relevance):
        is_talk = memory.kind == "session"
        most = best.setdefault(is_talk, memory.relevance)
        if memory.asked:
            most = of_part.setdefault((is_talk, memory.asked), memory).relevance
        if memory.relevance >= share * most:
            near.append(memory)
        else:
            out.append(LeftOut(memory.id, memory.section, "cutoff"))
    first = {memory.id for memory in of_part.values()}
    return tuple(sorted(near, key=lambda memory: (memory.id not in first, -memory.score)))


def _by_need(page: list[Memory], fitting: Sequence[Memory]) -> list[Memory]:
    """Return the parts of MEMORY.md, those that fit the prompt first: they stay if there is no room for all."""
    score = {memory.id: memory.score for memory in fitting if memory.kind == "memory"}
    return sorted(page, key=lambda memory: -score.get(memory.id, 0.0))


def _latest_first(memories: Sequence[Memory]) -> list[Memory]:
    """Return the notes and the history of each day, the latest first: they stay if there is no room for all."""
    groups = groupby(memories, key=lambda memory: (memory.scope, memory.date, memory.kind))
    return [memory for _, inside in groups for memory in reversed(list(inside))]


def _in_order(chosen: Sequence[Memory], always: Sequence[Memory]) -> tuple[Memory, ...]:
    """Return the memories by section, the parts of a page in the page's order."""
    positions = {(memory.scope, memory.id): number for number, memory in enumerate(always)}
    ranked = sorted(
        enumerate(chosen),
        key=lambda numbered: (
            SECTIONS.index(numbered[1].section),
            positions.get((numbered[1].scope, numbered[1].id), numbered[0]),
        ),
    )
    return tuple(memory for _, memory in ranked)


def _judged(
    request: RecallRequest, query: str, sections: Mapping[str, list[Memory]], out: list[LeftOut], notices: list[str]
) -> dict[str, list[Memory]]:
    """Return what was searched for and is worth showing by the judge, by section; all of it if nobody can judge."""
    by_section = {section: sections[section] for section in (RELEVANT, DOCUMENTS)}
    every = [memory for memories in by_section.values() for memory in memories]
    if request.judge is None or not every:
        return by_section
    try:
        kept_ids = set(request.judge(query, every))
    except MemError as error:
        notices.append(f"nobody judged what was recalled: {error}")
        return by_section
    out += _left([memory for memory in every if memory.id not in kept_ids], "judged")
    return {
        section: [memory for memory in memories if memory.id in kept_ids] for section, memories in by_section.items()
    }


def _left(memories: Sequence[Memory], why: str) -> list[LeftOut]:
    """Return what is left out: notes and history by file with the number of parts, others one by one."""
    parts = Counter((memory.path, memory.section) for memory in memories if memory.section in DAYS)
    files = [LeftOut(path, section, why, count) for (path, section), count in parts.items()]
    others = [memory for memory in memories if memory.section not in DAYS]
    return [*files, *(LeftOut(memory.id, memory.section, why) for memory in others)]


def _address(memory: Memory) -> tuple[str, str]:
    """Return scope and address of a memory; of a note its file, since notes are found in runs and shown one by one."""
    return memory.scope, memory.path if memory.kind == "note" else memory.id


def _noted_pages(marks: Sequence[str]) -> set[tuple[str, str]]:
    """Return the days' pages a session was shown notes of."""
    named = (noted.rpartition(" ")[0].partition(" ") for noted in marks)  # a path may hold spaces
    return {(scope, name.partition("#")[0]) for scope, _, name in named}


def _tokens(pack: Pack) -> dict[str, int]:
    by_section = {
        section: tokens(section_text(section, [memory for memory in pack.chosen if memory.section == section]))
        for section in SECTIONS
    }
    return {**{section: count for section, count in by_section.items() if count}, "total": tokens(pack.text())}
