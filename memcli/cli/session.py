"""mem session: record, list, show, import, compact and delete conversations."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..api import add_gates, open_all, open_target
from ..context import Context
from ..errors import MemError, NotFoundError, RejectedError, UsageError
from ..formats import count_noun, parse_event, shorten
from ..index import open_index
from ..store import Replace, Session, Workspace, commit_one, read_file, sessions
from .terminal import Result, ask, build_progress, explain_place

SUMMARY_FIELDS = (
    *("id", "created_at", "updated_at", "state"),
    *("message_count", "token_count", "agent"),
)
SESSION_FIELDS = (*SUMMARY_FIELDS, "messages", "added", "moved", "undo")
MOST_SHOWN = 20  # imported conversations; --json has all
ACTIONS = ("append", "ls", "show", "import", "compact", "clear", "end", "delete")


def run_session(
    context: Context,
    action: Annotated[str, Argument(help=f"One of: {', '.join(ACTIONS)}.")] = "ls",
    name: Annotated[str, Argument(help="The session, or the file or folder to import.")] = "",
    text: Annotated[
        str,
        Argument(
            metavar="[MESSAGE]",
            help="Message text; without it or with -, one JSON event per line from standard input.",
        ),
    ] = "-",
    role: Annotated[str, Option(help="user or assistant, for `append`.")] = "user",
    all_: Annotated[
        bool, Option("--all", help="For `import`: the conversations of all agents in this project.")
    ] = False,
    limit: Annotated[int, Option("-n", "--limit", min=1, help="Show at most this many.")] = 50,
    dry_run: Annotated[
        bool, Option("--dry-run", help="For `import`: only show what would be added.")
    ] = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask (`clear`, `delete`).")] = False,
) -> Result:
    """Record, list, import or delete conversations (sessions).

    A conversation is one file of events below sessions/. git ignores it.

    \b
    append   add one message, or the events on standard input
    ls       list the conversations, the latest first
    show     print the latest messages
    import   add a conversation that an agent stored in a file, or all in a folder
    compact  move all but the latest messages to an archive, and add a summary
    clear    remove the messages, and keep the conversation
    end      mark the conversation as ended, so that mem consolidates it
    delete   remove the conversation
    """
    if action not in ACTIONS:
        raise UsageError(f"unknown action {action!r}", f"one of: {', '.join(ACTIONS)}")
    if action == "ls":
        return list_conversations(context, limit)
    if action == "import":
        return import_conversations(context, name, is_all=all_, is_dry_run=dry_run)
    if not name:
        raise UsageError("no session named", f"mem session {action} ID")
    if action == "append":
        return append_to_session(context, name, text, role)
    workspace, session = find_session(context, name)
    if action == "show":
        return show_session(workspace, session, limit)
    if action == "compact":
        return compact_messages(workspace, session)
    if action == "end":
        sessions.append_events(workspace, session.id, [], state="TERMINATED")
        return Result({"id": session.id}, [f"Ended {session.id}"])
    return remove_session(context, workspace, session, is_delete=action == "delete", yes=yes)


def find_session(context: Context, name: str) -> tuple[Workspace, Session]:
    workspaces = [add_gates(workspace) for workspace in open_all(context)]
    for workspace in workspaces[:-1]:
        try:
            return workspace, sessions.get_session(workspace, name)
        except NotFoundError:
            continue
    return workspaces[-1], sessions.get_session(workspaces[-1], name)


def list_conversations(context: Context, limit: int) -> Result:
    from ..consolidate.batch import has_ended

    lines, rows, items = [], [], []
    for workspace in open_all(context):
        for session in sessions.list_sessions(workspace)[:limit]:
            day = workspace.describe_day(session.updated_at)
            count = count_noun(session.message_count, "message")
            about = ", ".join(part for part in (session.agent, session.project) if part)
            about = f"  {about}" if about else ""
            # Nobody continues an imported conversation, although its file says ACTIVE.
            state = "ended" if has_ended(workspace, session) else session.state.lower()
            lines.append(f"{day}  {count}, {state}{about}  ({session.id})")
            rows.append([session.id, session.updated_at, session.state, session.message_count])
            items.append({name: getattr(session, name) for name in SUMMARY_FIELDS})
    code = 0 if items else 1
    data = {"sessions": items[:limit]}
    return Result(data, lines[:limit], rows[:limit], exit_code=code, nothing="no conversations")


def append_to_session(context: Context, name: str, text: str, role: str) -> Result:
    """Add one message, or the events on standard input."""
    if role not in ("user", "assistant"):
        raise UsageError(f"unknown role {role!r}", "one of: user, assistant")
    workspace = open_target(context)
    events: list[dict[str, Any]] = [{"type": "message", "role": role, "content": text}]
    if text == "-":
        lines = [line for line in context.stdin.read().split("\n") if line.strip()]
        parsed = [parse_event(line) for line in lines]
        if not lines or None in parsed:
            line = parsed.index(None) + 1 if lines else 1
            raise UsageError(
                f"line {line} is not a JSON object",
                'give one event per line: {"role": "user", "content": "…"}',
            )
        events = [event for event in parsed if event is not None]
    added = sessions.append_events(workspace, name, events, project=workspace.project)
    label = sessions.name_session(name)
    summary = f"Added {count_noun(added, 'event')} to {label}"
    return Result({"id": label, "added": added}, [summary], None, explain_place(workspace))


def show_session(workspace: Workspace, session: Session, limit: int) -> Result:
    """Print the latest messages, as the index has them: without secrets and forgotten text."""
    index = open_index(workspace)
    text = index.read_text(f"{sessions.find_sessions_folder(workspace)}/{session.id}/session.jsonl")
    lines = [line for line in (text or "").split("\n") if line.strip()][-limit:]
    data = {name: getattr(session, name) for name in SUMMARY_FIELDS}
    return Result({**data, "messages": lines}, lines)


def compact_messages(workspace: Workspace, session: Session) -> Result:
    from ..consolidate.compaction import compact_session

    moved = compact_session(workspace, session)
    line = f"Moved {count_noun(moved, 'message')} of {session.id} to its archive"
    return Result({"id": session.id, "moved": moved}, [line if moved else "Nothing to compact"])


def remove_session(
    context: Context, workspace: Workspace, session: Session, *, is_delete: bool, yes: bool
) -> Result:
    """Clear or delete a session, if everything in it was consolidated or the user agrees."""
    from ..consolidate.batch import find_due_messages

    if not yes and find_due_messages(workspace, session, is_forced=True):
        action = "Delete" if is_delete else "Clear"
        if not ask(context, f"{action} {session.id}? It was not consolidated yet."):
            raise RejectedError(
                f"{session.id} was not consolidated yet",
                f"mem consolidate {session.id}, or add --yes",
            )
    folder = f"{sessions.find_sessions_folder(workspace)}/{session.id}"
    names = [sessions.EVENTS, sessions.ARCHIVE, *([sessions.METADATA] if is_delete else [])]
    changes = []
    for name in names:
        before = read_file(workspace, f"{folder}/{name}")
        if before is not None:
            is_emptied = name == sessions.EVENTS and not is_delete
            changes.append(Replace(f"{folder}/{name}", before, "" if is_emptied else None))
    done = commit_one(workspace, "session", changes, summary=session.id)
    verb = "Deleted" if is_delete else "Cleared"
    return Result(
        {"id": session.id, "undo": done.number}, [f"{verb} {session.id}", "Undo: mem undo"]
    )


def import_conversations(context: Context, name: str, *, is_all: bool, is_dry_run: bool) -> Result:
    """Import a file, the files in a folder, or the conversations of all agents in this project."""
    from ..transcripts.importer import (
        NO_CONVERSATION,
        ImportResult,
        find_files,
        find_transcripts,
        import_file,
        select_transcripts,
    )

    workspace = open_target(context)
    if bool(name) == is_all:
        raise UsageError("name a file, or use --all", "mem session import FILE")
    # The user's own workspace is for all projects.
    folder = None if workspace.is_own else context.folder.resolve()
    path = (context.folder / Path(name).expanduser()).resolve()
    is_single = not is_all and not path.is_dir()
    if is_all:
        paths = list(find_transcripts(context, folder))
    else:
        paths = [path] if is_single else list(select_transcripts(find_files(path), None))
    imported: list[ImportResult] = []
    messages: list[str] = []
    progress = build_progress(context, "reading")
    for number, path in enumerate(paths):
        problems: list[str] = []
        if progress and not is_single:
            progress(number, len(paths))
        try:
            imported += import_file(
                workspace,
                path,
                problems,
                is_dry_run=is_dry_run,
                on_progress=progress if is_single else None,
            )
        except MemError as error:
            if is_single:
                raise
            problems.append(error.message)
        # A folder may contain other files.
        messages += [f"{path}: {item}" for item in problems if is_single or item != NO_CONVERSATION]
    if progress:
        progress(1, 1)
    total = sum(item.added for item in imported)
    shown = [item for item in imported if item.added or len(paths) == len(imported) == 1]
    lines = [
        f"{shorten(item.path, 60)}: {count_noun(item.added, 'new event')}  ({item.session_id})"
        for item in shown[:MOST_SHOWN]
    ]
    if not is_single or len(imported) != 1:
        count = count_noun(len(imported), "conversation")
        lines.append(f"{count} read, {count_noun(total, 'new event')}")
    if is_dry_run:
        lines.append("Nothing was changed.")
    code = 3 if messages else 1 if name and not imported else 0
    messages += [] if is_dry_run else explain_place(workspace)
    return Result({"sessions": imported, "added": total}, lines, None, messages, exit_code=code)
