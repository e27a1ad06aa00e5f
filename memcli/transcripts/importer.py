"""Import conversations that agents stored: find the files, read them, and add the events."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..context import Context
from ..errors import MemError, NotFoundError
from ..formats import UNDATED, build_digest, format_time, parse_events, read_content
from ..llm import FOLDER_PREFIX
from ..store import (
    EVENTS,
    Repository,
    Workspace,
    append_events,
    find_events_file,
    find_repository,
    name_session,
    read_line,
)
from .reader import DATABASES, list_formats, read_file
from .transcript import (
    JsonObject,
    Transcript,
    clean_tool_calls,
    get_object,
    get_text,
    read_timestamp,
)

NOT_SAFE = re.compile(r"[^A-Za-z0-9._-]+")
NO_CONVERSATION = "no conversation in it"
ENDINGS = (".jsonl", ".json", ".txt", ".md", ".zip", *DATABASES)


@dataclass
class ImportResult:
    """The outcome of importing one conversation."""

    path: str
    session_id: str = ""
    agent: str = ""
    added: int = 0


def import_file(
    workspace: Workspace,
    path: Path,
    problems: list[str],
    *,
    project: str = "",
    is_dry_run: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[ImportResult]:
    """Add the new events of the conversations in a file to their sessions.

    Adds a line to `problems` for each part that cannot be read. Raises NotFoundError.
    """
    results = [
        import_transcript(workspace, transcript, path, project=project, is_dry_run=is_dry_run)
        for transcript in read_file(path, problems, workspace.zone, on_progress)
        if transcript.events
    ]
    if not results and not problems:
        problems.append(NO_CONVERSATION)
    return results


def import_transcript(
    workspace: Workspace,
    transcript: Transcript,
    path: Path,
    *,
    written: str = "",
    project: str = "",
    is_dry_run: bool = False,
) -> ImportResult:
    """Add the new events of a conversation, which came from a file, to its session.

    `written` is the time of the file, by default its time on disk.
    """
    add_ids(transcript.events)
    session_id = transcript.session_id or build_session_id(path, transcript)
    date_events(workspace, written or read_time(path), transcript.events)
    clean_tool_calls(workspace, transcript.folder, transcript.events)
    events = remove_known_messages(workspace, session_id, transcript.events)
    imported = ImportResult(str(path), name_session(session_id), transcript.agent)
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


def add_ids(events: Iterable[dict[str, Any]]) -> None:
    """Give events without an id one that is the same at the next import.

    The id is a digest of the event's text and of how often the text came before.
    """
    counts: Counter[str] = Counter()
    for event in events:
        if not event.get("id"):
            text = repr([event.get(key) for key in ("role", "name", "content", "arguments")])
            counts[text] += 1
            digest = build_digest(f"{text}{counts[text]}".encode("utf-8", "replace"))
            event["id"] = f"msg_{digest[:16]}"


def build_session_id(path: Path, transcript: Transcript) -> str:
    """Return an id for a conversation without one. Two chats may have the same file name."""
    if path.name == EVENTS:
        return path.parent.name  # of another workspace of ours
    first = build_digest(str(transcript.events[0].get("id")).encode("utf-8", "replace"))
    stem = NOT_SAFE.sub("-", path.stem).strip("-.")[:60]
    return f"{stem or 'chat'}-{first[:8]}"


def read_time(path: Path) -> str:
    return format_time(datetime.fromtimestamp(find_file(path).stat().st_mtime, UTC))


def date_events(workspace: Workspace, written: str, events: list[dict[str, Any]]) -> None:
    """Give events without a time, or with a future time, the time of their file.

    They bring back no memory that was forgotten: an old conversation may be in a new file.
    """
    for event in events:
        timestamp = read_timestamp(event.get("timestamp"))
        is_known = timestamp and timestamp <= workspace.stamp
        event["timestamp"] = timestamp if is_known else min(written, workspace.stamp)
        if not is_known:
            event[UNDATED] = True


def read_recorded(workspace: Workspace, session_id: str) -> list[dict[str, Any]]:
    """Return the events that a session has already."""
    path = find_events_file(workspace, name_session(session_id))
    stored = path.read_text("utf-8", "replace") if path.is_file() else ""
    return [event for _, event in parse_events(stored)]


def list_ids(events: Iterable[JsonObject]) -> set[str]:
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


def build_signature(event: JsonObject) -> tuple[str, str]:
    """Return a role and a text, or a tool and its arguments, by which to compare events."""
    if event.get("type") == "tool":
        return str(event.get("name")), json.dumps(event.get("arguments"), sort_keys=True)
    text = read_content(event.get("content", event.get("text")))
    return str(event.get("role")), " ".join(text.split())


def find_project(folder: str) -> str:
    """Return the project of the folder that an agent worked in, if it still exists."""
    # Not Path.is_dir, which raises an error for a name that no folder can have.
    repository = find_repository(Path(folder)) if os.path.isdir(folder) else None
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
            for pattern in format_.PATTERNS:
                # Not a pipe, which would never end.
                paths += [path for path in Path(base).glob(pattern) if path.is_file()]
    return select_transcripts(paths, folder)


def find_files(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder that may contain conversations."""
    for path in folder.rglob("*"):
        if path.name.endswith(ENDINGS) and path.is_file():
            yield path


def select_transcripts(paths: Iterable[Path], folder: Path | None) -> Iterator[Path]:
    """Yield the transcripts of a folder's repository, or all without a folder, the oldest first."""
    # A subagent's conversation is not the user's.
    files = [path for path in paths if not path.name.startswith("agent-")]
    rows: list[Path] = []
    for database in [path for path in files if path.name in DATABASES]:
        files.remove(database)
        with suppress(NotFoundError):  # damaged, or of another version
            rows += DATABASES[database.name].list_conversations(database)
    # Cursor stores a conversation in its database and in a transcript, which has no times.
    stored_ids = {row.name for row in rows}
    for path in [path for path in files if "agent-transcripts" in path.parts]:
        if path.stem in stored_ids:
            files.remove(path)
    repository = find_repository(folder) if folder else None
    near = [item for item in (folder, repository.main if repository else None) if item]
    for path in sorted([*rows, *files], key=lambda path: find_file(path).stat().st_mtime):
        work_folder = find_work_folder(path, near)
        # In such a folder, mem itself ran the agent as its language model.
        if work_folder.name.startswith(FOLDER_PREFIX):
            continue
        if folder is None or is_about(work_folder, folder, repository):
            yield path


def find_file(path: Path) -> Path:
    """Return the file of a transcript, which may be a database with several."""
    return path.parent if path.parent.name in DATABASES else path


def find_work_folder(path: Path, near: Sequence[Path] = ()) -> Path:
    """Return the folder in which the conversation of a transcript took place, by default `/`."""
    if path.parent.name in DATABASES:
        objects: Iterable[JsonObject] = DATABASES[path.parent.name].read_conversation(path)
    else:
        for find_folder_of_path in list_functions("find_folder_of_path"):
            folder = find_folder_of_path(path, near)
            if folder:
                return Path(folder)
        with path.open("rb") as file:
            head = file.read(256 * 1024).decode("utf-8", "replace")
        objects = (data for _, data in parse_events(head))
    finders = [find_folder, *list_functions("find_folder")]
    with suppress(MemError, ValueError, TypeError):
        for data in objects:
            for find in finders:
                if find(data):
                    return Path(find(data))
    return Path("/")


def is_about(work_folder: Path, folder: Path, repository: Repository | None) -> bool:
    """Return whether a folder is inside another one, or in a worktree of its repository."""
    if work_folder.is_relative_to(folder):
        return True
    if repository is None:
        return False
    if os.path.isdir(work_folder):
        other = find_repository(work_folder)
        return other is not None and other.git_folder == repository.git_folder
    return is_deleted_worktree(work_folder, repository)


def is_deleted_worktree(work_folder: Path, repository: Repository) -> bool:
    """Return whether a folder that does not exist was a worktree of a repository.

    git remembers it until `git worktree prune`. Afterwards only its path tells: agents create
    worktrees in folders such as `worktrees/REPOSITORY/NAME`.
    """
    for link in repository.git_folder.glob("worktrees/*/gitdir"):
        if work_folder.is_relative_to(Path(read_line(link)).parent):
            return True
    parts = [part.lower() for part in work_folder.parts]
    name = repository.project.lower()
    is_named = any(part == name or part.startswith(f"{name}-worktree") for part in parts)
    return is_named and any("worktree" in part for part in parts)


def list_functions(name: str) -> list[Callable[..., str]]:
    """Return a function that only some formats have, of each format that has it."""
    return [getattr(format_, name) for format_ in list_formats() if hasattr(format_, name)]


def find_folder(data: JsonObject) -> str:
    return get_text(data, "cwd") or get_text(get_object(data, "payload"), "cwd")
