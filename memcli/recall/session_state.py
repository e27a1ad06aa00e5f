"""What each session was shown, in `.mem/surfaced/`, so that no memory is shown twice while it is still in view.

A file a session, a line a turn, only ever added to: two processes on one session lose nothing and wait for nothing.
A line that is torn or makes no sense is passed over. What cannot be written is not noted, and nobody fails for it.
"""

import json
from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import NotFoundError
from ..formats.ids import blake2b
from ..store import local_log
from ..store.workspace import Workspace

FOLDER = "surfaced"
LARGE = 64 * 1024
"""Bytes from which a session's file is written anew, shorter."""
SHOWN = 500
"""Memories a session remembers having been shown; the oldest are forgotten first."""
SESSIONS = 200
"""Files kept; those not touched for the longest go first."""
TOPIC, TURNS, ASKED, NEW = "topic", "turns", "asked", "new session"


@dataclass(frozen=True)
class SessionState:
    """What a session was shown since it last began anew."""

    shown: tuple[str, ...] = ()  # of what was relevant: `id digest`
    standing: tuple[str, ...] = ()  # of pages and notes
    context: tuple[float, ...] = ()  # the vector of what was talked about
    turns: int = 0
    is_new: bool = True

    def after(self, turn: "SurfacedTurn") -> "SessionState":
        """Return the state after a turn; another topic makes only what was relevant new again."""
        begins = turn.reset in (TURNS, ASKED, NEW)
        shown = () if turn.reset else self.shown
        standing = () if begins else self.standing
        return SessionState(
            tuple(dict.fromkeys((*shown, *turn.shown)))[-SHOWN:],
            tuple(dict.fromkeys((*standing, *turn.standing)))[-SHOWN:],
            turn.context or self.context,
            turn.turns + (0 if begins else self.turns),
            is_new=False,
        )


@dataclass(frozen=True)
class SurfacedTurn:
    """One turn: what was shown, and why the session began anew with it if it did."""

    shown: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    context: tuple[float, ...] = ()
    reset: str = ""
    turns: int = 1


def load_state(workspace: Workspace, session: str) -> SessionState:
    """Return a session's state; one that nothing is known of is new. Never raise."""
    state = SessionState()
    for line in local_log.text_of(workspace, _name(session), 16 * LARGE).splitlines():
        turn = _turn(line)
        state = state.after(turn) if turn else state
    return state


def record_turn(workspace: Workspace, session: str, turn: SurfacedTurn) -> None:
    """Append a turn to a session's state; do nothing where that cannot be written."""
    path = workspace.derived / _name(session)
    with suppress(OSError, NotFoundError):  # the workspace may be gone by now
        is_first = not path.exists()
        size = local_log.append(workspace, _name(session), _line(turn).encode(), 0o600)
        if size > LARGE:
            state = load_state(workspace, session)
            whole = SurfacedTurn(state.shown, state.standing, state.context, NEW, state.turns)
            local_log.replace_text(workspace, _name(session), _line(whole))
        if size and is_first:
            _sweep(path.parent)


def moved_topic(context: Sequence[float], vector: Sequence[float]) -> tuple[float, ...]:
    """Return the vector of the topic after a turn, which counts twice as much as what was before it."""
    if not vector or len(context) != len(vector):
        return tuple(vector or context)
    return tuple((a + 2 * b) / 3 for a, b in zip(context, vector, strict=True))


def _name(session: str) -> str:
    return f"{FOLDER}/{blake2b(session.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


def _line(turn: SurfacedTurn) -> str:
    """Return a turn as a line of JSON."""
    fields: dict[str, Any] = {"shown": turn.shown, "standing": turn.standing, "reset": turn.reset, "turns": turn.turns}
    if turn.context:
        largest = max(map(abs, turn.context)) or 1.0
        fields["context"] = b64encode(array("b", [round(127 * number / largest) for number in turn.context])).decode()
    return f"{json.dumps({name: value for name, value in fields.items() if value})}\n"


def _turn(line: str) -> SurfacedTurn | None:
    try:
        fields = json.loads(line)
        context = tuple(float(number) for number in array("b", b64decode(fields.get("context", ""))))
        turns = fields.get("turns", 1)
        return SurfacedTurn(
            _texts(fields.get("shown", ())),
            _texts(fields.get("standing", ())),
            context,
            str(fields.get("reset", "")),
            turns if isinstance(turns, int) and turns > 0 else 1,
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _sweep(folder: Path) -> None:
    files = sorted((path for path in folder.iterdir()), key=lambda path: path.stat().st_mtime)
    for path in files[: max(len(files) - SESSIONS, 0)]:
        path.unlink()
