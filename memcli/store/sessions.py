"""Conversations: `sessions/ID/session.jsonl` with one event per line, and `metadata.json`.

`append_events` stands next to `commit`: it takes the same lock and uses the same scanner, but a
secret is masked instead of rejected, and `mem undo` does not revert it. Code that removes or
rewrites events (compaction, `session clear`) uses `commit`.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import NotFoundError, RejectedError, UsageError
from ..formats import (
    build_digest,
    count_tokens,
    cut_middle,
    parse_event,
    parse_events,
    replace_surrogates,
)
from .gates import has_secret_name, redact_text
from .workspace import Workspace
from .writer import Replace, append_lines, hold_lock, locate, read_file, write_atomically

EVENTS, METADATA, ARCHIVE = "session.jsonl", "metadata.json", "archive.jsonl"
# Most values of events are shorter than any secret. A private key has thousands of characters.
SHORTEST_SECRET, LONGEST_SECRET = 8, 10_000  # characters
# An id becomes the name of a folder, so it is not `..`, `.hidden` or `-option`.
SAFE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@dataclass
class Session:
    """A conversation, as its metadata describes it."""

    id: str
    created_at: str = ""
    updated_at: str = ""
    state: str = "ACTIVE"
    message_count: int = 0
    token_count: int = 0
    tools_used: list[str] = field(default_factory=list)
    agent: str = ""
    project: str = ""
    folder: str = ""  # where the agent worked
    consolidated_to: str = ""  # the id of the last event that was consolidated
    size: int = 0  # bytes of the events that the counts include
    other: dict[str, Any] = field(default_factory=dict)  # keys of other tools survive


# The keys of metadata.json, as other tools of this kind spell them: `createdAt`.
NAMES = [item.name for item in fields(Session) if item.name != "other"]
KEYS = {name: re.sub("_(.)", lambda match: match[1].upper(), name) for name in NAMES}


def append_events(
    workspace: Workspace,
    session_id: str,
    events: Sequence[Mapping[str, Any]],
    *,
    agent: str = "",
    project: str = "",
    folder: str = "",
    state: str = "",
) -> int:
    """Append the events that a session does not have yet, and return their number.

    An event without an id gets one, and an event without a time gets the current one. Events with
    the id of a stored event are skipped. Secrets are masked.
    """
    name = name_session(session_id)
    session_folder = f"{find_sessions_folder(workspace)}/{name}"
    path = f"{session_folder}/{EVENTS}"
    workspace.ensure_machine()
    with hold_lock(workspace):
        text = read_file(workspace, path) or ""
        session = load_session(workspace, name, text=text)
        known = {str(event.get("id")) for _, event in parse_events(text)}
        new: list[dict[str, Any]] = []
        mask = build_mask(workspace)
        mask_key = cache(mask)  # most events have the same keys
        for event in events:
            event = complete_event(workspace, event)
            if event["id"] not in known:
                known.add(event["id"])
                named = ((mask_key(str(key)), value) for key, value in event.items())
                with suppress(RecursionError):  # no agent nests values so deeply
                    new.append({key: mask_value(value, mask) for key, value in named})
        for key, value in (("agent", agent), ("project", project), ("folder", folder)):
            if value and not getattr(session, key):
                setattr(session, key, mask(value))
        session.state = state or ("ACTIVE" if new else session.state)
        try:
            lines = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in new)
        except TypeError as error:
            raise UsageError(f"cannot save an event: {error}") from None
        target = locate(workspace.root, path)
        try:
            # If the metadata cannot be saved, the lines are removed again.
            with append_lines(target, lines):
                count_events(session, new)
                # A session without a dated event begins now.
                session.created_at = session.created_at or workspace.stamp
                session.updated_at = session.updated_at or session.created_at
                session.size = target.stat().st_size
                metadata = locate(workspace.root, f"{session_folder}/{METADATA}")
                write_atomically(metadata, format_metadata(session).encode())
        except OSError as error:
            raise RejectedError(f"cannot save the conversation: {error.strerror}") from None
    return len(new)


def complete_event(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with an id and a time."""
    completed = dict(event)
    completed["timestamp"] = completed.get("timestamp") or workspace.stamp
    completed["id"] = str(
        completed.get("id")
        or completed.get("uuid")
        or f"evt_{workspace.context.noise.randrange(16**12):012x}"
    )
    return completed


def build_mask(workspace: Workspace) -> Callable[[str], str]:
    """Return a function that masks secrets and the texts that were purged on this machine."""
    hide_purged = workspace.build_purge_filter(workspace) if workspace.build_purge_filter else str

    def mask(text: str) -> str:
        # JSON can spell a lone surrogate, which no file can store.
        clean = hide_purged(replace_surrogates(text))
        return redact_text(workspace, clean) if len(clean) >= SHORTEST_SECRET else clean

    return mask


def mask_value(value: Any, mask: Callable[[str], str]) -> Any:
    """Return a JSON value with all of its texts masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [mask_value(item, mask) for item in value]
    if isinstance(value, dict):
        named = ((mask(str(key)), item) for key, item in value.items())
        return {name: mask_field(name, item, mask) for name, item in named}
    return value


def mask_field(name: str, value: Any, mask: Callable[[str], str]) -> Any:
    """Return a named value masked. A password is often recognized by its name alone."""
    masked = mask_value(value, mask)
    if not isinstance(masked, str) or "\n" in masked:
        return masked
    return mask(f"{name}: {masked}").removeprefix(f"{name}: ")


def cut_masked(text: str, start: int, end: int, mask: Callable[[str], str]) -> str:
    """Return the first and the last characters of a text, masked before it is cut.

    After a cut, half a secret could stay, because the scanner does not recognize it.
    """
    # Masking megabytes takes seconds, and most of them are not stored.
    masked = mask(cut_middle(text, start + LONGEST_SECRET, end + LONGEST_SECRET, "\n"))
    return cut_middle(masked, start, end, f"\n[… {len(text) - start - end} characters …]\n")


def read_session(workspace: Workspace, name: str, *, text: str | None = None) -> Session:
    """Return the metadata of a session by its id. Raises NotFoundError."""
    folder = workspace.root / find_sessions_folder(workspace) / name
    if not SAFE_ID.fullmatch(name) or not has_events(folder):
        raise NotFoundError(f"no session {name!r}", "list them: mem session ls")
    return load_session(workspace, name, text=text)


def load_session(workspace: Workspace, name: str, *, text: str | None = None) -> Session:
    """Return the metadata of a session, counted again if its events changed meanwhile.

    A session without files is new.
    """
    folder = f"{find_sessions_folder(workspace)}/{name}"
    session = parse_metadata(name, read_file(workspace, f"{folder}/{METADATA}") or "")
    path = workspace.root / folder / EVENTS
    size = path.stat().st_size if path.is_file() else 0
    if size != session.size:
        text = read_file(workspace, f"{folder}/{EVENTS}") if text is None else text
        recount_events(session, text or "")
    return session


def parse_metadata(name: str, text: str) -> Session:
    """Return a session's metadata. A damaged file counts as absent."""
    session = Session(name)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return session
    if not isinstance(data, dict):
        return session
    for attribute, key in KEYS.items():
        value = data.pop(key, None)
        # In Python, True is an int.
        if isinstance(value, type(getattr(session, attribute))) and not isinstance(value, bool):
            setattr(session, attribute, value)
    session.id = name
    session.other = data
    return session


def format_metadata(session: Session) -> str:
    """Return metadata.json: one key per line, so that an undo can merge it."""
    data = {key: getattr(session, attribute) for attribute, key in KEYS.items()}
    return json.dumps({**data, **session.other}, ensure_ascii=False, indent=1) + "\n"


def change_metadata(workspace: Workspace, session: Session) -> Replace:
    """Return the change of a session's metadata, to commit with the memories learned from it."""
    path = f"{find_sessions_folder(workspace)}/{session.id}/{METADATA}"
    return Replace(path, read_file(workspace, path), format_metadata(session))


def recount_events(session: Session, text: str) -> None:
    """Count the events of a session again, from the text of its file."""
    session.message_count = session.token_count = 0
    count_events(session, [event for _, event in parse_events(text)])
    session.size = len(text.encode("utf-8", "surrogateescape"))


def count_events(session: Session, events: Sequence[Mapping[str, Any]]) -> None:
    """Add events to the counts of a session."""
    for event in events:
        is_message = event.get("type", "message") in ("message", "user", "assistant")
        session.message_count += is_message
        session.token_count += count_tokens(json.dumps(event, ensure_ascii=False))
        tool = event.get("name") if event.get("type") == "tool" else ""
        if tool and tool not in session.tools_used:
            session.tools_used.append(str(tool))
        timestamp = str(event.get("timestamp") or "")
        if timestamp:
            session.created_at = min(session.created_at or timestamp, timestamp)
            session.updated_at = max(session.updated_at, timestamp)


def list_sessions(workspace: Workspace) -> list[Session]:
    """Return all sessions, the latest first."""
    folder = workspace.root / find_sessions_folder(workspace)
    names: list[str] = []
    with suppress(OSError):
        names = [name for name in os.listdir(folder) if SAFE_ID.fullmatch(name)]
    sessions = [load_session(workspace, name) for name in names if has_events(folder / name)]
    return sorted(sessions, key=lambda session: (session.updated_at, session.id), reverse=True)


def has_events(folder: Path) -> bool:
    """Return whether a folder is a session. A clone may bring links, or folders as its files."""
    files = [folder / name for name in (EVENTS, METADATA, ARCHIVE)]
    is_odd = any(path.is_symlink() or path.is_dir() for path in files)
    return files[0].is_file() and not folder.is_symlink() and not is_odd


def get_session(workspace: Workspace, name: str) -> Session:
    """Return a session by its id or by a unique start of it. Raises NotFoundError."""
    matches = [item for item in list_sessions(workspace) if item.id.startswith(name)]
    exact = [item for item in matches if item.id == name]
    if name and (exact or len(matches) == 1):
        return (exact or matches)[0]
    if name and matches:
        names = ", ".join(item.id for item in matches[:3])
        raise UsageError(f"{name!r} is the start of several sessions", f"one of: {names}")
    raise NotFoundError(f"no session {name!r}", "list them: mem session ls")


def has_last_line_end(workspace: Workspace, session: Session) -> bool:
    with find_events_file(workspace, session.id).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read(1) in (b"", b"\n")


def repair_events(workspace: Workspace, session: Session) -> tuple[int, list[Replace]]:
    """Return the changes that remove incomplete lines, and the number of the first one."""
    path = f"{find_sessions_folder(workspace)}/{session.id}/{EVENTS}"
    text = read_file(workspace, path) or ""
    lines = text.split("\n")
    torn = [number for number, line in enumerate(lines, 1) if is_torn(line)]
    if not torn:
        return 1, []
    whole = [line for number, line in enumerate(lines, 1) if number not in torn]
    clean = "\n".join(whole).removesuffix("\n") + "\n"
    recount_events(session, clean)
    return torn[0], [Replace(path, text, clean), change_metadata(workspace, session)]


def is_torn(line: str) -> bool:
    # A killed process leaves the start of a JSON line. Any other line is a stranger's, and stays.
    return line.startswith("{") and not line.rstrip().endswith("}") and parse_event(line) is None


def find_sessions_folder(workspace: Workspace) -> str:
    return f"{workspace.prefix}sessions"


def find_events_file(workspace: Workspace, name: str) -> Path:
    return workspace.root / find_sessions_folder(workspace) / name / EVENTS


def name_session(session_id: str) -> str:
    """Return an agent's session id as the name of a folder. A name cannot be masked."""
    if SAFE_ID.fullmatch(session_id) and not has_secret_name(session_id):
        return session_id
    if not session_id.strip():
        raise UsageError("the session has no id")
    return f"s-{build_digest(session_id)[:16]}"
