"""Revert commands (`undo`), and list and extend the history of the memory (`history`)."""

from pathlib import PurePath
from shlex import quote
from typing import Annotated

from typer import Argument

from ..api import (
    CommonOptions,
    Context,
    NotFoundError,
    RejectedError,
    UsageError,
    open_all,
    open_target,
)
from ..formats import build_id, collapse_blanks, format_history_record, shorten, split_history
from ..index import build_filter, open_index
from ..store import (
    Append,
    Record,
    Workspace,
    commit_one,
    find_log_folder,
    find_undone_numbers,
    read_failure,
    read_log,
)
from ..store.undo import undo
from .terminal import Result, ask, declare_limit, explain_place, read_input

LIST_COMMANDS = "list the commands: mem undo --list"
UNDO_FIELDS = ("number", "command", "text", "time", "state", "undo", "paths")
HISTORY_FIELDS = ("id", "timestamp", "text", "path", "undo")


def run_undo(
    context: Context,
    number: Annotated[
        int, Argument(help="The number of the command; default: your last command.")
    ] = 0,
    list_: Annotated[bool, "List the commands in the undo log."] = False,
    limit: Annotated[int | None, declare_limit("For --list: show at most this many.")] = None,
    redo: Annotated[bool, "Redo the last undone command."] = False,
    yes: Annotated[bool, "Do not ask after a failed command."] = False,
) -> Result:
    """Revert the last command, or the command with a number.

    The last command is the last one in the project's memory and your own. A number is that of
    --list.
    Later changes to other lines of the same files stay. An undo can be undone: mem undo --redo.

    \b
    Examples:
      mem undo
      mem undo --list
      mem undo 17
    """
    workspaces = open_all(context)
    chosen = workspaces[:1] if number else workspaces
    logs = [(workspace, read_log(workspace)) for workspace in chosen]
    workspace, records = max(logs, key=lambda log: find_last_time(log[0], log[1], redo))
    option = "" if workspace is workspaces[0] else " --scope user"
    undone = find_undone_numbers(records)
    if list_:
        # Each log has its own numbers.
        listed = list_commands(*logs[0], limit)
        if option:
            listed.messages = [
                f"your last command changed your own memory: mem undo --list{option}"
            ]
        return listed
    # It does not undo several commands.
    if limit:
        raise UsageError("-n is for --list", LIST_COMMANDS)
    failure = read_failure(workspaces)
    # Somebody who undoes after an error means the command that failed.
    if failure and not number and not redo:
        question = (
            f"The last command ({failure}) failed and changed nothing. Undo an older command?"
        )
        if not yes and not ask(context, question):
            raise RejectedError(
                f"the last command ({failure}) failed and changed nothing",
                "undo an older command: mem undo --yes",
            )
    record = choose_record(records, number, redo, option)
    done = undo(workspace, record.number)
    text = record.summary or ", ".join(done.paths)
    shown = next((item for item in records if redo and item.number == record.undoes), record)
    action = "Redone" if redo else "Undone"
    data = {
        "number": record.number,
        "command": record.command,
        "text": text,
        "paths": done.paths,
        "undo": done.number,
    }
    place = " in your own memory" if option else ""
    lines = [f"{action} {shown.number} ({shown.command}){place}: {text}"]
    if not done.paths:
        lines.append("  nothing changed: its files were reverted or deleted already")
    messages = find_other_half(context, workspace, shown, redo)
    later_commands = [
        f"{item.number} ({item.command})"
        for item in records
        if item.number > record.number and item.actor == "hook" and item.number not in undone
    ]
    if later_commands and not number and not redo:
        messages.append(
            f"automatic commands since then were not undone: {', '.join(later_commands)}"
        )
    return Result(data, lines, messages=messages)


def find_other_half(
    context: Context, workspace: Workspace, record: Record, redo: bool
) -> list[str]:
    """Return a message about the rest of a move, which another workspace has in its own log."""
    if record.command != "edit":
        return []
    moved = list_moved_files(record)
    # A move writes to both workspaces, each with a log of its own.
    everywhere = context._replace(common=CommonOptions(scope="all"))
    for other in open_all(everywhere):
        for item in list_revertible(read_log(other), redo):
            if other.root != workspace.root and moved & list_moved_files(item):
                place = "--scope user" if other.is_own else f"--workspace {quote(str(other.root))}"
                return [f"the command also changed {other.root}: mem undo {item.number} {place}"]
    return []


def list_moved_files(record: Record) -> set[str]:
    """Return the names of the files that an edit created or deleted: only a move does that."""
    changes = record.changes if record.command in ("edit", "undo") else ()
    return {PurePath(item.path).name for item in changes if None in (item.before, item.after)}


def run_history(
    context: Context,
    add: Annotated[str, "Add this text; - reads it from standard input."] = "",
    limit: Annotated[int, declare_limit("Show at most this many records.")] = 20,
    since: Annotated[str, "Only records since this date."] = "",
    until: Annotated[str, "Only records until this date."] = "",
) -> Result:
    """List the log of the workspace, the latest record last, or add a record.

    \b
    Examples:
      mem history
      mem history --add "Released 1.2."
    """
    if add:
        return add_record(context, read_input(context) if add == "-" else add)
    workspaces = open_all(context)
    wanted = build_filter(workspaces[0], since=since, until=until)
    last = wanted.until or "9999"
    records = []
    for workspace in workspaces:
        index = open_index(workspace)
        rows = index.run(
            "select path, text from files join texts using(file) where kind = 'history'"
        )
        for path, text in rows.fetchall():
            for record in split_history(text):
                body = text[record.start : record.end].strip()
                if workspace.is_foreign(record.project):
                    body += f"  (from {record.project})"
                if wanted.since <= record.timestamp <= last:
                    records.append(
                        {"id": record.id, "timestamp": record.timestamp, "text": body, "path": path}
                    )
    # Months and workspaces come in the order of their paths.
    records.sort(key=lambda record: record["timestamp"])
    # The latest records are the last, next to the prompt of the shell.
    records = records[-limit:]
    lines = [line for record in records for line in record["text"].splitlines()]
    cells = [[record["timestamp"], record["id"], record["text"]] for record in records]
    return Result({"records": records}, lines, cells, nothing="No records.")


def find_last_time(workspace: Workspace, log: list[Record], redo: bool) -> int:
    """Return when the command was saved that undo reverts without a number."""
    folder, records = find_log_folder(workspace), list_revertible(log, redo)
    if folder is None or not records:
        return 0
    # Its own time has no fractions of seconds, and a script may run two commands in one.
    return (folder / f"{records[-1].number}.json").stat().st_mtime_ns


def list_revertible(records: list[Record], redo: bool) -> list[Record]:
    """Return the commands of people and agents to undo, or the undos to redo, the latest last."""
    undone = find_undone_numbers(records)
    done = [record for record in records if record.number not in undone]
    if not redo:
        return [record for record in done if not record.undoes and record.actor != "hook"]
    # An undo of an undo is a redo already, so it is not redone.
    undos = {record.number for record in records if record.undoes}
    return [record for record in done if record.undoes and record.undoes not in undos]


def choose_record(records: list[Record], number: int, redo: bool, option: str) -> Record:
    """Return the command to revert. `option` is that of its workspace, for a hint."""
    if number:
        nothing = f"no command {number} in the undo log"
        chosen = [record for record in records if record.number == number]
    else:
        nothing = f"nothing to {'redo' if redo else 'undo'}"
        chosen = list_revertible(records, redo)
    if not chosen:
        raise NotFoundError(nothing, LIST_COMMANDS)
    record = chosen[-1]
    if number and record.command == "sync":
        problem = f"cannot undo {number} (sync): other machines have its memories too"
        raise RejectedError(problem, "to hide a memory that it brought: mem forget ID")
    # Reverting an older command instead would surprise. A purge deletes its text from the records
    # of earlier commands, which then cannot be undone either.
    if record.is_purge and not number:
        older = [item.number for item in chosen if not item.is_purge]
        hint = f"undo an older command: mem undo {older[-1]}{option}" if older else ""
        problem = f"cannot undo {record.number} ({record.command}): a purge deleted the text"
        raise RejectedError(problem, hint)
    return record


def list_commands(workspace: Workspace, records: list[Record], limit: int | None) -> Result:
    undone = find_undone_numbers(records)
    lines, rows, items = [], [], []
    for record in list(reversed(records))[:limit]:
        state = "undone" if record.number in undone else "purge" if record.is_purge else ""
        day = workspace.describe_day(record.time)
        note = f"  ({state})" if state else ""
        start = f"{record.number:4}  {record.command:11} {day:10}  "
        room = workspace.context.width - len(start) - len(note)
        lines.append(f"{start}{shorten(record.summary, room)}{note}")
        rows.append([record.number, record.command, record.time, state, record.summary])
        items.append(
            {
                "number": record.number,
                "command": record.command,
                "text": record.summary,
                "time": record.time,
                "state": state,
                "paths": [change.path for change in record.changes],
            }
        )
    return Result({"commands": items}, lines, rows, nothing="No commands.")


def add_record(context: Context, text: str) -> Result:
    if not text.strip():
        raise UsageError("nothing to add: the text is empty")
    workspace = open_target(context)
    record_id = build_id("hist", workspace.now, context.noise)
    # The history of all projects is one file, so a record names its project.
    project = workspace.project if workspace.is_own else ""
    record = format_history_record(record_id, workspace.now, workspace.zone, text, project)
    done = commit_one(
        workspace,
        "history",
        [Append(workspace.history_path, record)],
        summary=collapse_blanks(text),
        is_said_by_user=context.is_terminal,
    )
    data = {"id": record_id, "path": workspace.history_path, "undo": done.number}
    messages = [*done.messages, *explain_place(workspace)]
    return Result(data, [f"Added to {workspace.history_path}"], None, messages)
