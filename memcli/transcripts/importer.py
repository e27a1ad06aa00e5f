"""Import the conversations that agents stored.

The first half adds the events of a file to a session, the second half finds the files.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..context import Context
from ..errors import MemError, NotFoundError
from ..formats import (
    UNDATED,
    Progress,
    build_digest,
    collapse_blanks,
    format_time,
    parse_events,
    read_content,
)
from ..llm import FOLDER_PREFIX
from ..store import (
    EVENTS,
    Repository,
    Workspace,
    append_events,
    find_events_file,
    find_repository,
    name_project,
    name_session,
    read_line,
)
from .reader import DATABASES, list_formats, list_functions, list_stored_conversations, read_file
from .transcript import (
    Event,
    JsonObject,
    Transcript,
    clean_tool_calls,
    get_object,
    get_text,
    read_timestamp,
)

NOT_SAFE = re.compile(r"[^A-Za-z0-9._-]+")
HEAD_LENGTH = 256 * 1024  # bytes of a transcript in which its folder is searched
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
    on_progress: Progress | None = None,
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
    modified: str = "",
    project: str = "",
    is_dry_run: bool = False,
) -> ImportResult:
    """Add the new events of a conversation, which came from a file, to its session.

    `modified` is the time of the file, by default its time on disk.
    """
    add_ids(transcript.events)
    session_id = transcript.session_id or build_session_id(path, transcript)
    date_events(workspace, modified or read_time(path), transcript.events)
    clean_tool_calls(workspace, transcript.folder, transcript.events)
    recorded = read_recorded_events(workspace, session_id)
    events = remove_known_messages(recorded, transcript.events)
    imported = ImportResult(str(path), name_session(session_id), transcript.agent)
    if is_dry_run:
        imported.added = len(list_ids(events) - list_ids(recorded))
        return imported
    imported.added = append_events(
        workspace,
        session_id,
        events,
        agent=transcript.agent,
        project=find_project(workspace, transcript.folder) or project,
        folder=transcript.folder,
    )
    return imported


def add_ids(events: Iterable[Event]) -> None:
    """Give events without an id one that is the same at the next import.

    The id is a digest of the event's text and of how often the text came before.
    """
    counts: Counter[str] = Counter()
    for event in events:
        if event.get("id"):
            continue
        text = repr([event.get(key) for key in ("role", "name", "content", "arguments")])
        counts[text] += 1
        digest = build_digest(f"{text}{counts[text]}")
        event["id"] = f"msg_{digest[:16]}"


def build_session_id(path: Path, transcript: Transcript) -> str:
    """Return an id for a conversation without one.

    Two chats may have the same file name.
    """
    if path.name == EVENTS:
        return path.parent.name  # of another workspace of ours
    digest = build_digest(str(transcript.events[0].get("id")))
    stem = NOT_SAFE.sub("-", path.stem).strip("-.")[:60]
    return f"{stem or 'chat'}-{digest[:8]}"


def read_time(path: Path) -> str:
    seconds = find_file(path).stat().st_mtime
    return format_time(datetime.fromtimestamp(seconds, UTC))


def date_events(workspace: Workspace, modified: str, events: list[Event]) -> None:
    """Give events without a time, or with a future time, the time of their file.

    They bring back no memory that was forgotten: an old conversation may be in a new file.
    """
    for event in events:
        timestamp = read_timestamp(event.get("timestamp"))
        if timestamp and timestamp <= workspace.stamp:
            event["timestamp"] = timestamp
        else:
            event["timestamp"] = min(modified, workspace.stamp)
            event[UNDATED] = True


def read_recorded_events(workspace: Workspace, session_id: str) -> list[Event]:
    """Return the events that a session has already."""
    path = find_events_file(workspace, name_session(session_id))
    if not path.is_file():
        return []
    return [event for _, event in parse_events(path.read_text("utf-8", "replace"))]


def list_ids(events: Iterable[JsonObject]) -> set[str]:
    return {str(event.get("id")) for event in events}


def remove_known_messages(recorded: list[Event], events: list[Event]) -> list[Event]:
    """Return the events without messages that a hook has recorded under another id."""
    known = Counter(build_signature(event) for event in recorded)
    known_ids = list_ids(recorded)
    new = []
    for event in events:
        signature = build_signature(event)
        # An event with a recorded id is no copy: `append_events` itself skips it.
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
    return str(event.get("role")), collapse_blanks(text)


def find_project(workspace: Workspace, folder: str) -> str:
    """Return the project of the folder that an agent worked in, if it still exists."""
    # Not Path.is_dir, which raises an error for a name that no folder can have.
    if not os.path.isdir(folder):
        return ""
    return name_project(find_repository(Path(folder)), workspace.context.state_folder)


def find_transcripts(context: Context, folder: Path | None) -> Iterator[Path]:
    """Yield the transcripts of all agents, the oldest first.

    With a folder, only conversations in its repository and in the worktrees of that repository.
    """
    paths: list[Path] = []
    home = context.environment.get("HOME", "")
    for format_ in list_formats():
        base = context.environment.get(format_.FOLDER_VARIABLE) or f"{home}/{format_.FOLDER}"
        if not base.startswith("/"):
            continue
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
    repository = find_repository(folder) if folder else None
    near = [folder] if folder else []
    if repository and repository.main:
        near.append(repository.main)
    conversations = list_conversations(paths)
    conversations.sort(key=lambda path: find_file(path).stat().st_mtime)
    for path in conversations:
        work_folder = find_work_folder(path, near)
        # In such a folder, mem itself ran the agent as its language model.
        if work_folder.name.startswith(FOLDER_PREFIX):
            continue
        if folder is None or is_in_project(work_folder, folder, repository):
            yield path


def list_conversations(paths: Iterable[Path]) -> list[Path]:
    """Return the paths of the conversations in databases, and then of those in files."""
    conversations: list[Path] = []
    files: list[Path] = []
    for path in paths:
        if path.name in DATABASES:
            with suppress(NotFoundError):  # damaged, or of another version
                conversations += list_stored_conversations(path)
        elif not path.name.startswith("agent-"):  # a subagent's conversation is not the user's
            files.append(path)
    # Cursor stores a conversation in its database and in a transcript, which has no times.
    stored_ids = {path.name for path in conversations}
    for path in files:
        is_copy = "agent-transcripts" in path.parts and path.stem in stored_ids
        if not is_copy:
            conversations.append(path)
    return conversations


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
            head = file.read(HEAD_LENGTH).decode("utf-8", "replace")
        objects = (data for _, data in parse_events(head))
    finders = [find_folder, *list_functions("find_folder")]
    with suppress(MemError, ValueError, TypeError):
        for data in objects:
            for find in finders:
                folder = find(data)
                if folder:
                    return Path(folder)
    return Path("/")


def is_in_project(work_folder: Path, folder: Path, repository: Repository | None) -> bool:
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


def find_folder(data: JsonObject) -> str:
    """Return the folder that a line names in the most common way, or an empty string."""
    return get_text(data, "cwd") or get_text(get_object(data, "payload"), "cwd")
