"""Recall: the memories a prompt should have, found in time, within a budget, and not twice in a session."""

from collections.abc import Sequence

from ..errors import UsageError
from ..formats.text_lines import FileProblem
from ..search.query import is_telling
from ..store import access_log
from ..store.workspace import Workspace
from . import request as session_state
from .pack import DOCUMENTS, RELEVANT, SECTIONS, STANDING, Memory, Pack, always_on_memories
from .request import Matches, PackSources, RecallRequest, SessionState, SurfacedTurn
from .selection import select_pack, tokens


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
