"""List the events of a memory, from the undo log, from git and from its own file."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import MemError
from ..formats import (
    Entry,
    FrontmatterError,
    find_promoted_lines,
    format_time,
    is_id,
    parse,
    parse_time,
    read_entry,
    read_file_time,
    read_id,
)
from ..reconcile import mask_text
from ..search.names import NamedFile
from ..store import Change, Record, Workspace, read_log, run_git

# Git follows renames by comparing the files of each commit, which takes long in a large repository.
# A subject may contain everything except for NUL.
LOG_OPTIONS = ("-n100", "--format=%h%x00%aI%x00%an%x00%s")
STATUS_EVENTS = {"active": "restored"}  # other statuses are events by their own name


@dataclass(frozen=True)
class Event:
    """Something that happened to a memory."""

    time: str
    action: str  # created, changed on disk, confirmed, edited, promoted, committed and so on
    text: str = ""
    command: str = ""
    number: int = 0  # of the command in the undo log
    commit: str = ""  # of git


def find_events(workspace: Workspace, named: NamedFile) -> list[Event]:
    """Return the events of a memory or file, the latest first."""
    events = list(find_logged_events(workspace, named))
    if named.entry is not None:
        # The file repeats some events of the log, and only the log knows their commands.
        known = {event.action for event in events}
        last_minute = max((event.time[:16] for event in events), default="")
        for event in find_dated_events(workspace, named):
            # mem may have changed the file itself.
            is_own = event.action == "changed on disk" and event.time[:16] <= last_minute
            if event.action not in known and not is_own:
                events.append(event)
    events += find_commits(workspace, named.path)
    return sorted(events, key=lambda event: (event.time, event.number), reverse=True)


def find_logged_events(workspace: Workspace, named: NamedFile) -> Iterator[Event]:
    """Yield the events that the undo log knows, of the last 90 days."""
    entry_id = named.entry.id if named.entry else ""
    for record in read_log(workspace):
        for change in record.changes:
            if is_about(workspace, change, named.path, entry_id):
                yield describe_change(workspace, record, change)
            elif change.path == workspace.page_path:
                yield from describe_page_change(record, change, entry_id)


def is_about(workspace: Workspace, change: Change, path: str, entry_id: str) -> bool:
    """Return whether a change belongs to a file, which may have had another name then."""
    if change.path == path:
        return True
    text = change.after or change.before or ""
    # The id alone may also be that of a successor. Parsing every text would take too long.
    is_named = is_id(entry_id) and entry_id in text
    return is_named and workspace.get_kind(change.path) == "entry" and read_id(text) == entry_id


def describe_change(workspace: Workspace, record: Record, change: Change) -> Event:
    """Return a change of a file as an event."""
    before, after = (read_version(workspace, change.path, text) for text in change[1:])
    text = ""
    # One command can change several things. The first test that fits names the event.
    if change.before is None or change.after is None:
        action = "created" if change.before is None else "deleted"
        text = after.summary if after else ""
    elif before is None or after is None:
        action = "edited"
    elif before.status != after.status:
        action = STATUS_EVENTS.get(after.status, after.status)
        text = after.reason
    elif before.strength < after.strength:
        action, text = "confirmed", f"{after.strength} times"
    elif before.body != after.body:
        action, text = "edited", after.summary
    else:
        names = [name for name in vars(after) if getattr(before, name) != getattr(after, name)]
        action, text = "changed", ", ".join(name for name in names if name != "updated_at")
    # The log stores texts as they were, and the scanner may have learned since.
    masked = mask_text(workspace, text) if text else ""
    return Event(record.time, action, masked, record.command, record.number)


def read_version(workspace: Workspace, path: str, text: str | None) -> Entry | None:
    """Return the entry that a file was, or None for other files."""
    if text is None or workspace.get_kind(path) != "entry":
        return None
    try:
        return read_entry(parse(text), path, workspace.now)[0]
    except FrontmatterError:
        return None


def describe_page_change(record: Record, change: Change, entry_id: str) -> Iterator[Event]:
    """Yield the event of a memory whose line was added to MEMORY.md or removed."""
    was_there, is_there = (entry_id in find_promoted_lines(text or "") for text in change[1:])
    if was_there != is_there:
        action = "promoted" if is_there else "removed from MEMORY.md"
        yield Event(record.time, action, "", record.command, record.number)


def find_dated_events(workspace: Workspace, named: NamedFile) -> Iterator[Event]:
    """Yield the events whose dates are in the file."""
    entry = named.entry
    assert entry is not None
    modified = format_time(read_file_time((workspace.root / named.path).stat().st_mtime_ns))
    is_undated = entry.id == named.path and entry.created_at == modified
    yield Event(entry.created_at, "changed on disk" if is_undated else "created", entry.summary)
    if entry.forgotten_at:
        yield Event(entry.forgotten_at, "forgotten", entry.reason)
    if workspace.is_expired(entry):
        yield Event(entry.expires_at, "expired")


def find_commits(workspace: Workspace, path: str) -> Iterator[Event]:
    """Yield the commits of git that changed a file, including earlier names."""
    try:
        output = run_git(workspace.root, "log", "--follow", *LOG_OPTIONS, "--", path)
    except MemError:
        return  # not in a repository, or no git here
    for line in output.decode("utf-8", "replace").splitlines():
        commit, date, author, subject = line.split("\0", 3)
        moment = parse_time(date)
        time = format_time(moment) if moment else date
        yield Event(time, "committed", f"{mask_text(workspace, subject)} ({author})", commit=commit)
