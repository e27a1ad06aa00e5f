"""The pending messages of a conversation, and the batches in which they are consolidated.

The cursor of a session is the id of the last message that was consolidated. Messages behind it are
pending. Compaction may have moved them, or the message of the cursor, to the session's archive.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ..formats import (
    ANSWERED,
    CONTEXT,
    Message,
    build_digest,
    build_id,
    format_history_record,
    parse_events,
    parse_time,
    read_message,
    shorten,
)
from ..index import Index, open_index
from ..store import (
    ARCHIVE,
    EVENTS,
    Append,
    Session,
    Workspace,
    find_events_file,
    find_sessions_folder,
    load_session,
    read_file,
)
from .rules import PROJECT_LINE

TOOL_CHARACTERS = 400
END_BYTES = 65_536
TOOL = "tool"
# Keys that consolidation adds to a session's metadata.
FALLBACK_TO = "fallbackTo"  # the last message of a stored fallback: try again
CONSOLIDATED_SIZE = "consolidatedSize"  # bytes of the events when nothing was left
BATCH_CHARACTERS = 60_000
LONGEST_MESSAGE = 4_000  # characters of a message that count towards the size of a batch
# A conversation that was resumed later is another piece of history.
LONG_PAUSE = timedelta(hours=12)
# SQLite before 3.32 accepts only 999 variables.
QUERY_SIZE = 500  # ids in one query


def read_pending(workspace: Workspace, session: Session) -> list[Message]:
    """Return the messages and tool calls behind the cursor, numbered in their order."""
    if is_unchanged(workspace, session):
        return []
    items = read_items(workspace, session, EVENTS)
    position = find_position(items, session.consolidated_to)
    if position is None:
        items = read_items(workspace, session, ARCHIVE) + items
        position = find_position(items, session.consolidated_to)
    pending = items[position + 1 if position is not None else 0 :]
    return [item._replace(line=number) for number, item in enumerate(pending, 1)]


def is_unchanged(workspace: Workspace, session: Session) -> bool:
    """Return whether a session has not changed since nothing was pending."""
    if not session.size or session.other.get(CONSOLIDATED_SIZE) != session.size:
        return False
    # A session that was cleared can have the same size again, by chance.
    with find_events_file(workspace, session.id).open("rb") as file:
        file.seek(max(session.size - END_BYTES, 0))
        return session.consolidated_to.encode("utf-8", "replace") in file.read()


def read_items(workspace: Workspace, session: Session, name: str) -> list[Message]:
    path = f"{find_sessions_folder(workspace)}/{session.id}/{name}"
    items = []
    seen: dict[str, int] = {}
    answered: set[str] = set()
    for line, event in parse_events(read_file(workspace, path) or ""):
        item = read_message(event, line) or read_tool_call(event, line)
        if event.get("type") == ANSWERED:
            answered.add(str(event.get("message")))
        if item is None:
            continue
        if not item.id:
            # Files of other tools may have no ids. The same words may be said again.
            digest = build_digest(json.dumps(event, sort_keys=True))[:16]
            seen[digest] = seen.get(digest, 0) + 1
            item = item._replace(id=f"{digest}-{seen[digest]}")
        items.append(item)
    return [item._replace(is_answered=item.id in answered) for item in items]


def read_tool_call(event: dict[str, Any], line: int) -> Message | None:
    """Return a tool call as a message, for the prompt of a language model."""
    if event.get("type") != "tool":
        return None
    outcome = "failed" if event.get("isError") else "answered"
    parts = [event.get("arguments"), event.get("result")]
    texts = [part if isinstance(part, str) else json.dumps(part) for part in parts if part]
    text = shorten(f"{event.get('name')} {outcome}: {' → '.join(texts)}", TOOL_CHARACTERS)
    return Message(line, str(event.get("id") or ""), TOOL, text, "")


def find_position(items: Sequence[Message], cursor: str) -> int | None:
    """Return where the cursor is, or None if it is not among the items."""
    positions = [number for number, item in enumerate(items) if item.id == cursor]
    return positions[-1] if positions and cursor else None


def has_ended(workspace: Workspace, session: Session) -> bool:
    """Return whether a session was ended, or nobody has said anything for a while."""
    said = parse_time(session.updated_at)
    if session.state == "TERMINATED" or said is None:
        return True
    # A session from the future was recorded before the clock went back, so it ended too.
    minutes = abs((workspace.now - said).total_seconds()) / 60
    return minutes >= float(workspace.settings["consolidate.idle_minutes"])


def find_due_messages(
    workspace: Workspace, session: Session, *, is_forced: bool = False
) -> list[Message]:
    """Return the messages to consolidate now, without the latest of a running session."""
    pending = read_pending(workspace, session)
    spoken = [item for item in pending if item.speaker != TOOL]
    if not spoken:
        return []
    if is_forced or has_ended(workspace, session):
        return pending
    failed = find_position(pending, str(session.other.get(FALLBACK_TO) or ""))
    if failed is not None:
        return pending[: failed + 1]
    keep = int(workspace.settings["consolidate.keep"])
    if len(spoken) < max(int(workspace.settings["consolidate.messages"]), keep + 1):
        return []
    return pending[: spoken[-keep - 1].line]


@dataclass
class Batch:
    """Messages that are consolidated together."""

    session_id: str
    after: str  # the cursor before the batch
    last_id: str  # the cursor after it
    project: str = ""
    # What people and assistants said, without texts that repeat mem's own context.
    messages: list[Message] = field(default_factory=list)
    tools: list[Message] = field(default_factory=list)
    is_last: bool = True  # no other batch of its session follows

    @property
    def id(self) -> str:
        return build_batch_id(self.session_id, self.after, self.last_id)

    def get_moment(self, now: datetime) -> datetime:
        """Return when the last message was said. Nothing was said in the future."""
        moments = [parse_time(item.timestamp) for item in self.messages]
        known = [moment for moment in moments if moment is not None]
        return min(known[-1], now) if known else now


def build_batch_id(session_id: str, after: str, last_id: str) -> str:
    return build_digest(f"{session_id}\0{after}\0{last_id}")[:12]


def build_batches(workspace: Workspace, session: Session, items: Sequence[Message]) -> list[Batch]:
    """Cut messages into batches that a language model can read, and leave out repeated ones."""
    foreign = find_foreign_messages(open_index(workspace), session, items) if items else set()
    # A token has about four characters, so half of the input is left for everything else.
    most = min(BATCH_CHARACTERS, int(workspace.settings["llm.input_tokens"]) * 2)
    batches: list[Batch] = []
    cursor = session.consolidated_to
    project = choose_project(workspace, session.project)
    parts = list(cut_items(items, most))
    for part in parts:
        spoken = [item for item in part if item.speaker != TOOL]
        if not spoken:
            continue
        project = choose_project(workspace, find_project(spoken)) or project
        messages = [
            item._replace(text=CONTEXT.sub("\n", item.text).strip())
            for item in spoken
            if (item.id, item.timestamp) not in foreign
        ]
        batch = Batch(session.id, cursor, spoken[-1].id, project)
        batch.messages = [item for item in messages if item.text]
        batch.tools = [item for item in part if item.speaker == TOOL]
        batch.is_last = part is parts[-1]
        batches.append(batch)
        cursor = batch.last_id
    return batches


def cut_items(items: Sequence[Message], most: int) -> Iterator[list[Message]]:
    """Cut where the user speaks, or after a long pause."""
    part: list[Message] = []
    size = 0
    previous: datetime | None = None
    for item in items:
        # 40 for its start in the prompt: `#12 [2026-11-28 14:05] assistant: `
        length = min(len(item.text), LONGEST_MESSAGE) + 40
        moment = parse_time(item.timestamp)
        is_resumed = bool(previous and moment and moment - previous > LONG_PAUSE)
        # An agent can work for hours without a message of the user. Then it is cut anywhere.
        is_full = size + length > most and (item.speaker == "user" or size + length > 1.5 * most)
        if part and (is_resumed or is_full):
            yield part
            part, size = [], 0
        part.append(item)
        size += length
        previous = moment or previous
    if part:
        yield part


def find_project(messages: Sequence[Message]) -> str:
    """Return the project that a line of the user names."""
    for message in messages:
        match = PROJECT_LINE.search(message.text) if message.speaker == "user" else None
        if match:
            return match[1]
    return ""


def choose_project(workspace: Workspace, project: str) -> str:
    """Return the project of memories. In a project's own workspace, its name says nothing."""
    return "" if not workspace.is_own and project == workspace.project else project


def find_foreign_messages(
    index: Index, session: Session, items: Sequence[Message]
) -> set[tuple[str, str]]:
    """Return id and time of the messages that belong to another session.

    A resumed or forked session repeats the messages of an earlier one. A message belongs to the
    session that has consolidated it, otherwise to the earliest one.
    """
    known = {(item.id, item.timestamp) for item in items if item.id and item.timestamp}
    foreign = set()
    sessions: dict[str, Session] = {}
    for anchor, timestamp, path, line in find_places(index, [key[0] for key in known]):
        name = path.split("/")[-2]
        # Two tools may count their messages from 1, so the time must be the same too.
        if name == session.id or (anchor, timestamp) not in known:
            continue
        if name not in sessions:
            sessions[name] = load_session(index.workspace, name)
        other = sessions[name]
        is_earlier = (other.created_at, other.id) < (session.created_at, session.id)
        if is_earlier or is_behind_cursor(index, other, path, line):
            foreign.add((anchor, timestamp))
    return foreign


def find_places(index: Index, ids: Sequence[str]) -> Iterator[tuple[str, str, str, int]]:
    """Yield id, time, path and line of the messages with certain ids, in all sessions."""
    for start in range(0, len(ids), QUERY_SIZE):
        some = ids[start : start + QUERY_SIZE]
        marks = ", ".join("?" * len(some))
        yield from index.run(
            "select distinct anchor, timestamp, path, line from chunks join files using(file)"
            f" where chunks.kind = 'session' and anchor in ({marks})",
            some,
        ).fetchall()


def is_behind_cursor(index: Index, session: Session, path: str, line: int) -> bool:
    """Return whether a session has consolidated the message in a line of its file."""
    if not session.consolidated_to:
        return False
    for _, _, cursor_path, cursor_line in find_places(index, [session.consolidated_to]):
        if cursor_path == path:
            return line <= cursor_line
    # The cursor is not in the same file. The archive is older than the events.
    return path.endswith(ARCHIVE)


def build_history_change(workspace: Workspace, batch: Batch, text: str) -> Append:
    """Return the change that adds a record about a batch to the history."""
    moment = batch.get_moment(workspace.now)
    path = f"{workspace.prefix}HISTORY-{moment.astimezone(workspace.zone):%Y-%m}.md"
    record_id = build_id("hist", moment, workspace.context.noise)
    project = batch.project if workspace.is_own else ""
    return Append(path, format_history_record(record_id, moment, workspace.zone, text, project))
