"""Import conversations that agents stored: detect the format, find the files, add the events.

A format is a module with NAME, FOLDER_VARIABLE, FOLDER, PATTERN, is_line and read_lines, and
perhaps find_session_id. Other packages add formats under the entry point `mem.transcripts`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from ..context import Context
from ..errors import NotFoundError, RejectedError
from ..formats.dates import format_time
from ..formats.session import parse_events, read_content
from ..llm import FOLDER_PREFIX
from ..store.sessions import append_events, find_events_file, name_session
from ..store.workspace import Workspace
from ..store.worktrees import find_repository
from . import claude_code, codex, copilot, gemini, opencode
from .transcript import Transcript, build_message, clean_tool_calls, read_timestamp

LARGEST = 512 * 1024 * 1024  # bytes of a transcript
DETECTION_LINES = 20


@dataclass
class ImportResult:
    """The outcome of importing one conversation."""

    path: str
    session_id: str = ""
    agent: str = ""
    added: int = 0
    problems: list[str] = field(default_factory=list)


def list_formats() -> list[ModuleType]:
    """Return the modules of all transcript formats."""
    from importlib.metadata import entry_points

    own = (claude_code, codex, copilot, gemini, opencode)
    return [*own, *(item.load() for item in entry_points(group="mem.transcripts"))]


def import_file(
    workspace: Workspace, path: Path, *, project: str = "", is_dry_run: bool = False
) -> ImportResult:
    """Add the new events of a transcript to its session."""
    imported = ImportResult(str(path))
    transcript = read_transcript(path, imported.problems)
    if not transcript.events:
        imported.problems.append("no conversation in it")
        return imported
    session_id = transcript.session_id or path.stem
    date_events(workspace, path, transcript.events)
    clean_tool_calls(workspace, transcript.folder, transcript.events)
    events = remove_known_messages(workspace, session_id, transcript.events)
    imported.session_id = name_session(session_id)
    imported.agent = transcript.agent
    if is_dry_run:
        known = list_ids(read_recorded(workspace, session_id))
        imported.added = sum(str(event.get("id")) not in known for event in events)
        return imported
    imported.added = append_events(
        workspace,
        session_id,
        events,
        agent=transcript.agent,
        project=project or find_project(transcript.folder),
        folder=transcript.folder,
    )
    return imported


def read_transcript(path: Path, problems: list[str]) -> Transcript:
    """Read a file in whatever format it has. Raises NotFoundError or RejectedError."""
    if path.parent.name == opencode.DATABASE:
        return opencode.read_lines(opencode.read_conversation(path))
    try:
        if path.stat().st_size > LARGEST:
            raise RejectedError(f"{path} is larger than {LARGEST >> 20} MiB")
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror}") from None
    document = parse_document(text)
    lines = document or [data for _, data in parse_events(text)]
    bad = sum(1 for line in text.split("\n")[:-1] if line.strip()) - len(lines)
    if bad > 0 and not document:
        problems.append(f"{bad} lines are not JSON objects: skipped")
    for format_ in list_formats():
        if any(format_.is_line(data) for data in lines[:DETECTION_LINES]):
            transcript: Transcript = format_.read_lines(lines)
            find_session_id = getattr(format_, "find_session_id", lambda _: "")
            transcript.session_id = find_session_id(path) or transcript.session_id
            return transcript
    return read_plain(lines)


def parse_document(text: str) -> list[dict[str, Any]]:
    """Return the objects of a file that is one JSON document with `messages`, such as an export."""
    if not text.lstrip().startswith("{\n"):
        return []
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return []
    messages = document.pop("messages", None)
    return [document, *messages] if isinstance(messages, list) else []


def read_plain(lines: list[dict[str, Any]]) -> Transcript:
    """Read events of our own format, or objects with role and content."""
    transcript = Transcript("")
    for data in lines:
        if data.get("type") == "tool":
            transcript.events.append(data)
            continue
        role = str(data.get("role") or data.get("type") or "")
        event = build_message(role, data.get("content", data.get("text")), data.get("timestamp"))
        if role in ("user", "assistant") and event is not None:
            transcript.events.append({**data, **event})
    return transcript


def date_events(workspace: Workspace, path: Path, events: list[dict[str, Any]]) -> None:
    """Give events without a time, or with a future time, the time of their file.

    With the current time, they would count as new and bring back memories that were forgotten.
    """
    written = format_time(datetime.fromtimestamp(find_file(path).stat().st_mtime, UTC))
    for event in events:
        timestamp = read_timestamp(event.get("timestamp"))
        is_known = timestamp and timestamp <= workspace.stamp
        event["timestamp"] = timestamp if is_known else min(written, workspace.stamp)


def read_recorded(workspace: Workspace, session_id: str) -> list[dict[str, Any]]:
    """Return the events that a session has already."""
    path = find_events_file(workspace, name_session(session_id))
    stored = path.read_text("utf-8", "replace") if path.is_file() else ""
    return [event for _, event in parse_events(stored)]


def list_ids(events: Iterable[Mapping[str, Any]]) -> set[str]:
    return {str(event.get("id")) for event in events}


def remove_known_messages(
    workspace: Workspace, session_id: str, events: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the events without messages that a hook has recorded under another id."""
    recorded = read_recorded(workspace, session_id)
    known = Counter(build_signature(event) for event in recorded)
    known_ids = list_ids(recorded)
    new = []
    for event in events:
        signature = build_signature(event)
        if known[signature] > 0 and str(event.get("id")) not in known_ids:
            known[signature] -= 1
            continue
        new.append(event)
    return new


def build_signature(event: Mapping[str, Any]) -> tuple[str, str]:
    """Return a role and a text, or a tool and its arguments, by which to compare events."""
    if event.get("type") == "tool":
        return str(event.get("name")), json.dumps(event.get("arguments"), sort_keys=True)
    text = read_content(event.get("content", event.get("text")))
    return str(event.get("role")), " ".join(text.split())


def find_project(folder: str) -> str:
    """Return the project of the folder that an agent worked in, if it still exists."""
    repository = find_repository(Path(folder)) if folder and Path(folder).is_dir() else None
    return repository.project if repository else ""


def find_transcripts(context: Context, folder: Path | None) -> Iterator[Path]:
    """Yield the transcripts of all agents, the oldest first.

    With a folder, only conversations in its repository and in the worktrees of that repository.
    """
    paths: list[Path] = []
    home = context.environment.get("HOME", "")
    for format_ in list_formats():
        base = context.environment.get(format_.FOLDER_VARIABLE) or f"{home}/{format_.FOLDER}"
        if base.startswith("/"):
            for path in Path(base).glob(format_.PATTERN):
                if path.name == opencode.DATABASE:
                    with suppress(NotFoundError):  # damaged, or of another version
                        paths += opencode.list_conversations(path)
                elif path.is_file():  # not a pipe, which would never end
                    paths.append(path)
    return select_transcripts(paths, folder)


def select_transcripts(paths: Iterable[Path], folder: Path | None) -> Iterator[Path]:
    """Yield the transcripts of a folder's repository, or all without a folder, the oldest first."""
    # A subagent's conversation is not the user's.
    files = [path for path in paths if not path.name.startswith("agent-")]
    repository = find_repository(folder) if folder else None
    for path in sorted(files, key=lambda path: find_file(path).stat().st_mtime):
        place = find_place(path)
        # In such a folder, mem itself ran the agent as its language model.
        if place.name.startswith(FOLDER_PREFIX):
            continue
        if folder is None or is_about(place, folder, repository.git_folder if repository else None):
            yield path


def find_file(path: Path) -> Path:
    """Return the file of a transcript, which is a database with several for opencode."""
    return path.parent if path.parent.name == opencode.DATABASE else path


def find_place(path: Path) -> Path:
    """Return the folder in which the conversation of a transcript took place."""
    if path.parent.name == opencode.DATABASE:
        objects: Iterable[Mapping[str, Any]] = opencode.read_conversation(path)
    else:
        with path.open("rb") as file:
            head = file.read(256 * 1024).decode("utf-8", "replace")
        objects = (data for _, data in parse_events(head))
    finders = (find_folder, gemini.find_folder, copilot.find_folder, opencode.find_folder)
    folders = (find(data) for data in objects for find in finders)
    return Path(next((text for text in folders if text), "/"))


def is_about(place: Path, folder: Path, git_folder: Path | None) -> bool:
    """Return whether a folder is inside another one, or in a worktree of its repository."""
    if place.is_relative_to(folder):
        return True
    repository = find_repository(place) if place.is_dir() else None
    return repository is not None and git_folder is not None and repository.git_folder == git_folder


def find_folder(data: Mapping[str, Any]) -> str:
    payload = data.get("payload")
    inner = payload.get("cwd") if isinstance(payload, Mapping) else ""
    return str(data.get("cwd") or inner or "")
