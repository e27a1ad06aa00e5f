"""What was said in a session and is not in its file yet: kept without a lock, so that a prompt is never waited for.

One file a session in `.mem/turns`. Whoever brings the turns into notes and session gives the file another name first,
and removes it when they are safe there; what a killed or failed process had taken is brought in by the next. Each turn
has its message's id, so that it stands in the session once however often it is brought in.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ...dataclass import dataclass
from ...errors import MemError
from ...formats.ids import blake2b, new_id
from ...formats.session_event import Event
from ..access_log import append, log, sweep
from ..file_steps import is_running
from ..redaction import redactor
from ..workspace import Workspace

FOLDER = "turns"
LONGEST = 100_000  # characters of one message
LARGEST = 4 << 20  # bytes a session may have waiting
_OVERLAP = 4096  # characters beyond which no secret reaches
_TAKEN = ".taken-"
_ABANDONED = 120.0  # seconds after which whoever took a file is dead
_MOST = 200  # files; the oldest go

Turn = Mapping[str, str]


@dataclass(frozen=True)
class Taken:
    """Turns of one session that somebody brings in, the file that holds them until then, and its length when read."""

    path: Path
    size: int
    turns: tuple[Turn, ...]


def keep(workspace: Workspace, session: str, role: str, text: str, remembered: str = "") -> None:
    """Note one message of a session; `remembered` is the id of the entry that was made of it already."""
    # It may wait long, and a backup may take it. Redacted before it is cut, since no rule sees half a secret.
    message = Event("", role=role, text=text[: LONGEST + _OVERLAP])
    guard = redactor(workspace, session)
    for event in _before(workspace, session, message.text):
        guard.hear(event)
    content = guard.said(message)[:LONGEST]
    turn_fields = {"session": session, "role": role, "content": content, "timestamp": workspace.stamp}
    # The nanosecond tells a thing said twice from one brought in twice.
    noise = blake2b(
        f"{turn_fields}{os.getpid()} {time.time_ns()}".encode("utf-8", "surrogateescape"), digest_size=8
    ).digest()
    turn = turn_fields | {"id": new_id("msg", workspace.now, noise)}
    turn |= {"remembered": remembered} if remembered else {}
    turn |= {"cwd": str(workspace.folder)} if workspace.folder.is_absolute() else {}
    path = _file(workspace, session)
    is_first = not path.exists()
    if not is_first and path.stat().st_size > LARGEST:
        log(workspace, f"{LARGEST} bytes of session {session} wait and cannot be brought in: this turn is not kept")
        return
    line = f"{json.dumps(turn, ensure_ascii=False)}\n".encode("utf-8", "replace")
    if append(workspace, f"{FOLDER}/{path.name}", line, 0o600) and is_first:
        sweep(path.parent, "*.jsonl*", _MOST)


def _before(workspace: Workspace, session: str, text: str) -> list[Event]:
    """Return what was said last in a session, where the text could be a password that answers it; else nothing."""
    from ...secrets.prose_passwords import password_answer

    return latest(workspace, session) if password_answer(text) else []


def latest(workspace: Workspace, session: str) -> list[Event]:
    """Return what was said last in a session: the messages that wait, where there are none those at its end."""
    with suppress(OSError):
        turns = _turns(_file(workspace, session).read_bytes())
        if turns:
            return [Event("", role=turn["role"], text=turn["content"]) for turn in turns]
    from .event_file import recent_events
    from .sessions import made

    with suppress(MemError):
        return [
            event for event in recent_events(workspace.path(made(workspace, session).path)) if event.type == "message"
        ]
    return []


def take(workspace: Workspace, session: str = "") -> list[Taken]:
    """Take away what waits of a session, or of all of them, in the order it was said; `drop` or `give_back` each."""
    folder = workspace.derived / FOLDER
    name = _file(workspace, session).name if session else "*.jsonl"
    taken: list[Taken] = []
    for path in [*_abandoned(folder, name), *sorted(folder.glob(name))]:
        mine = path.with_name(f"{path.name.partition(_TAKEN)[0]}{_TAKEN}{time.time_ns()}-{os.getpid()}")
        with suppress(OSError):
            os.rename(path, mine)
            os.utime(mine)
            data = mine.read_bytes()
            taken.append(Taken(mine, len(data), tuple(_turns(data))))
    return taken


def drop(taken: Taken) -> None:
    """Remove what was brought in; a turn that somebody added while it was taken away waits on."""
    with suppress(OSError):
        if taken.path.stat().st_size == taken.size:
            taken.path.unlink()
        else:
            give_back(taken)


def give_back(taken: Taken) -> None:
    """Let the next one bring in what could not be; nothing is written, since the disk may be full."""
    with suppress(OSError):
        os.utime(taken.path, (0, 0))
        os.link(taken.path, taken.path.with_name(taken.path.name.partition(_TAKEN)[0]))
        taken.path.unlink()  # else there are new turns, which are brought in after these


def _file(workspace: Workspace, session: str) -> Path:
    name = blake2b(session.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return workspace.derived / FOLDER / f"{name}.jsonl"


def _turns(data: bytes) -> list[Turn]:
    """Read the turns of a file; a line that was cut off is left out."""
    turns: list[Turn] = []
    for line in data.decode("utf-8", "replace").split("\n"):
        with suppress(ValueError):
            turn = json.loads(line)
            if isinstance(turn, dict) and all(isinstance(turn.get(key), str) for key in _KEYS):
                turns.append({key: turn[key] for key in (*_KEYS, *_MORE_KEYS) if isinstance(turn.get(key), str)})
    return turns


_KEYS = ("session", "role", "content", "timestamp")
_MORE_KEYS = ("id", "remembered", "cwd")


def _abandoned(folder: Path, name: str) -> list[Path]:
    """Find what somebody took who died before it was brought in, or gave back, the oldest first."""
    paths = []
    for path in sorted(folder.glob(f"{name}{_TAKEN}*"), key=lambda path: path.name.partition(_TAKEN)[2]):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED or _is_dead(path.name):
                paths.append(path)
    return paths


def _is_dead(name: str) -> bool:
    process = name.rpartition("-")[2]
    return process.isdecimal() and not is_running(int(process))
