"""Recall: the memories a prompt should have, found in time, within a budget, and not twice in a session."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from time import monotonic

from ..errors import LlmError, UsageError
from ..formats.text_lines import FileProblem
from ..search.query import is_telling
from ..store import access_log
from ..store.workspace import Workspace
from . import request as session_state
from .pack import DOCUMENTS, RELEVANT, SECTIONS, STANDING, Memory, Pack, always_on_memories
from .request import DeadlineRunner, Judge, Matches, PackSources, RecallRequest, SessionState, SurfacedTurn
from .selection import select_pack, tokens

_PATIENCE = 0.6
"""Share of the time after which the words are asked alone too."""
_NOTING = 0.1
"""Share of the time that no judge gets: it is needed to note and print the pack."""


def recall(workspaces: Sequence[Workspace], request: RecallRequest) -> Pack:
    """Return what a prompt should be given, and note it as shown; the first workspace keeps the session's state.

    Raise UsageError for a budget below 0 or an unknown section, and without `within_ms` what a search raises. With
    `within_ms`, in milliseconds, nothing is waited for longer: the pack says what went wrong.
    """
    _check(request)
    if request.within_ms is None:
        pack, turn = find(workspaces, request)
        note(workspaces, request, pack, turn)
        return pack
    seconds = request.within_ms / 1000
    race: DeadlineRunner[PackSources] = DeadlineRunner(monotonic() + seconds)
    race.enter(lambda: gather(workspaces, request, "hybrid"))
    sources = race.first(seconds * _PATIENCE)
    if sources is None:
        race.enter(lambda: gather(workspaces, request, "keyword"))
        sources = race.first()
    if sources is None:
        why = race.failures or (f"nothing was found within {request.within_ms:,} ms",)
        return Pack(notices=why, is_late=race.is_busy)
    judging: DeadlineRunner[Collection[str]] = DeadlineRunner(race.deadline - _NOTING * seconds)
    pack, turn = select_pack(workspaces[0].settings, replace(request, judge=_timely(request.judge, judging)), sources)
    race.enter(lambda: note(workspaces, request, pack, turn))
    race.settled()
    return replace(pack, is_late=race.is_busy or judging.is_busy, notices=(*pack.notices, *race.failures))


def find(workspaces: Sequence[Workspace], request: RecallRequest) -> tuple[Pack, SurfacedTurn]:
    """Return what a prompt should be given, and the turn to be noted with it; raise what a search raises."""
    return select_pack(workspaces[0].settings, request, gather(workspaces, request, "hybrid"))


def _timely(judge: Judge | None, race: "DeadlineRunner[Collection[str]]") -> Judge | None:
    """Return a judge that raises LlmError at the deadline, so that all memories are shown."""
    if judge is None:
        return None

    def judged(prompt: str, memories: Sequence[Memory]) -> Collection[str]:
        race.enter(lambda: judge(prompt, memories))
        ids = race.first()
        if ids is None:
            raise LlmError(race.failures[0] if race.failures else "it took too long")
        return ids

    return judged


def _check(request: RecallRequest) -> None:
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


def gather(workspaces: Sequence[Workspace], request: RecallRequest, mode: str) -> PackSources:
    """Return everything a pack is chosen from, of every workspace; `mode` is hybrid, vector or keyword."""
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
        if request.within_ms is not None:
            seconds = min(seconds, request.within_ms / 4000)
        if query and RELEVANT in request.sections:
            # Late: with the index and all it needs, which the other sections do not.
            from .sources import relevant_memories

            fits.append(relevant_memories(workspace, query, request, mode, seconds))
        if query and DOCUMENTS in request.sections and workspace.settings["index.include"]:
            from .sources import relevant_documents

            papers.append(relevant_documents(workspace, query, mode, seconds))
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
