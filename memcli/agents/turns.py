"""What was said in a session and is not in its file yet: kept without a lock, so that a prompt is never waited for.

One file a session in `.mem/turns`. Whoever brings the turns into notes and session takes the file away first, so that
no turn is kept twice; what cannot be brought in is put back.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..store.workspace import Workspace
from ..text.blake import blake2b
from ..text.times import stamp

FOLDER = "turns"
LONGEST = 100_000  # characters of one message
LARGEST = 4 << 20  # bytes a session may have waiting
_TAKEN = ".taken-"
_ABANDONED = 120.0  # seconds after which whoever took a file is dead
_MOST = 200  # files; the oldest go

Turn = Mapping[str, str]


def keep(workspace: Workspace, session: str, role: str, text: str, remembered: str = "") -> None:
    """Note one message of a session; `remembered` is the id of the entry that was made of it already."""
    turn = {"session": session, "role": role, "content": text[:LONGEST], "timestamp": stamp(workspace.now)}
    turn |= {"remembered": remembered} if remembered else {}
    path = _file(workspace, session)
    if workspace.derived.is_symlink() or path.parent.is_symlink():
        return  # a folder that came with a clone may lead anywhere
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        if path.stat().st_size > LARGEST:
            return
    else:
        _sweep(path.parent)
    _add(path, json.dumps(turn, ensure_ascii=False) + "\n")


def take(workspace: Workspace, session: str = "") -> list[Turn]:
    """Take away what waits of a session, or of all of them, in the order it was said."""
    folder = workspace.derived / FOLDER
    name = _file(workspace, session).name if session else "*.jsonl"
    turns: list[Turn] = []
    for path in [*_abandoned(folder, name), *sorted(folder.glob(name))]:
        mine = path.with_name(f"{path.name.partition(_TAKEN)[0]}{_TAKEN}{os.getpid()}-{time.time_ns()}")
        with suppress(OSError):
            os.rename(path, mine)
            os.utime(mine)
            turns += _turns(mine)
            mine.unlink()
    return turns


def give_back(workspace: Workspace, turns: list[Turn]) -> None:
    """Keep again what could not be brought in."""
    for turn in turns:
        with suppress(OSError):
            _add(_file(workspace, turn["session"]), json.dumps(turn, ensure_ascii=False) + "\n")


def _file(workspace: Workspace, session: str) -> Path:
    name = blake2b(session.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return workspace.derived / FOLDER / f"{name}.jsonl"


def _add(path: Path, line: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, line.encode("utf-8", "replace"))
    finally:
        os.close(fd)


def _turns(path: Path) -> list[Turn]:
    """Read the turns of a file; a line that was cut off is left out."""
    found: list[Turn] = []
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        with suppress(ValueError):
            turn = json.loads(line)
            if isinstance(turn, dict) and all(isinstance(turn.get(key), str) for key in _KEYS):
                found.append({key: turn[key] for key in (*_KEYS, "remembered") if key in turn})
    return found


_KEYS = ("session", "role", "content", "timestamp")


def _abandoned(folder: Path, name: str) -> list[Path]:
    """Find what somebody took who died before it was brought in."""
    found = []
    for path in sorted(folder.glob(f"{name}{_TAKEN}*")):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                found.append(path)
    return found


def _sweep(folder: Path) -> None:
    files = sorted(folder.glob("*.jsonl*"), key=lambda path: path.stat().st_mtime if path.exists() else 0.0)
    for path in files[: max(0, len(files) - _MOST)]:
        with suppress(OSError):
            path.unlink()
