"""What an agent is told at the start of a session."""

from collections.abc import Sequence
from dataclasses import replace

from ..git.place import place_of
from ..recall.request import ASKED, SurfacedTurn, TimedWork, record_turn
from ..recall.session_start import SessionStart as SessionStart
from ..recall.session_start import StartLine as StartLine
from ..recall.session_start import Surrounding, known_entries
from ..recall.session_start import session_start as _session_start
from ..results import number_of
from ..store import access_log
from ..store.conversation_keeper import keeper
from .workspace import Workspace, Workspaces, every

START_CHARACTERS = 16_000
"""Characters of the start of a session where nothing less is asked for."""
_PATIENCE = 0.7  # share of the time after which long-term memory alone is told


def session_start(
    workspaces: Workspaces,
    *,
    session: str = "",
    within_ms: int | None = None,
    characters: int = START_CHARACTERS,
    fresh: bool = False,
    for_subagent: bool = False,
) -> SessionStart:
    """Return what an agent is told at the start of a session, in at most so many characters.

    With `session` it is noted as shown there, and that session is not told of as the last one; `fresh` forgets what it
    was shown before. `for_subagent` leaves out the last session, the days and what waits for a person. `within_ms` is
    the time to answer in: what is late is long-term memory alone, and a start that `is_late` has left threads at work.
    Without it raise what a search raises.
    """
    found_in = every(workspaces)
    if within_ms is None:
        start = _whole_start(found_in, session, characters, for_subagent)
    else:
        work = TimedWork(lambda: _whole_start(found_in, session, characters, for_subagent))
        whole = work.answer(within_ms / 1000 * _PATIENCE)
        start = replace(
            whole or _session_start(found_in, None, characters), is_late=work.is_busy, notices=work.failures
        )
    if session:
        shown = tuple(mark for line in start.lines for mark in line.marks)
        record_turn(found_in[0], session, SurfacedTurn(standing=shown, reset=ASKED if fresh else "", turns=0))
        access_log.note(found_in[0], (), tokens=start.tokens)
    return start


def _whole_start(workspaces: Sequence[Workspace], session: str, characters: int, for_subagent: bool) -> SessionStart:
    from ..consolidation.recap import last_session
    from ..recall.retention import waiting_count

    place = place_of(workspaces[0].folder.absolute())
    known = [known_entries(workspace) for workspace in workspaces]
    if for_subagent:
        return _session_start(workspaces, Surrounding(place.name, known, tells_days=False), characters)
    kept_by = keeper(workspaces)
    forgotten = frozenset().union(*(entries.forgotten for entries in known))
    last = last_session(kept_by, place, session, forgotten) if kept_by else []
    count = waiting_count(workspaces[0], known[0].rows)
    waiting = number_of(count, "memory", "needs", "need")
    closing = [f"mem: {waiting} a yes or no: mem review"] if count else []
    return _session_start(workspaces, Surrounding(place.name, known, last, closing), characters)
