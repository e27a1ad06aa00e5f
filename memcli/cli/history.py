"""mem history: list the log, or add to it."""

from typing import Annotated

from typer import Option

from ..api import open_all, open_target
from ..context import Context
from ..errors import UsageError
from ..formats.dates import format_time
from ..formats.ids import build_id
from ..formats.records import format_history_record, split_history
from ..index.filters import parse_date
from ..index.index import open_index
from ..store.commit import Append, commit_one
from .render import Result
from .write import explain_place

FIELDS = ("id", "timestamp", "text", "path", "undo")


def run_history(
    context: Context,
    add: Annotated[
        str, Option(help="Add this text to the log; - reads it from standard input.")
    ] = "",
    limit: Annotated[
        int, Option("-n", "--limit", min=1, help="Show at most this many records.")
    ] = 20,
    since: Annotated[str, Option(help="Only records since this date.")] = "",
    until: Annotated[str, Option(help="Only records until this date.")] = "",
) -> Result:
    """List the log of the workspace, the latest record last, or add a record."""
    if add:
        return add_record(context, context.stdin.read() if add == "-" else add)
    first, last = "", "9999"
    records = []
    for workspace in open_all(context):
        if since:
            first = format_time(parse_date(since, workspace.now, workspace.zone)[0])
        if until:
            last = format_time(parse_date(until, workspace.now, workspace.zone)[1])
        index = open_index(workspace)
        rows = index.run(
            "select path, text from files join texts using(file) where kind = 'history'"
        )
        for path, text in rows.fetchall():
            for record in split_history(text):
                body = text[record.start : record.end].strip()
                if first <= record.timestamp <= last:
                    records.append(
                        {"id": record.id, "timestamp": record.timestamp, "text": body, "path": path}
                    )
    # Months and workspaces come in the order of their paths.
    records.sort(key=lambda record: record["timestamp"])
    records = records[-limit:]
    lines = [line for record in records for line in record["text"].splitlines()]
    cells = [[record["timestamp"], record["id"], record["text"]] for record in records]
    return Result({"records": records}, lines, cells, nothing="No records.")


def add_record(context: Context, text: str) -> Result:
    if not text.strip():
        raise UsageError("the record is empty")
    workspace = open_target(context)
    record_id = build_id("hist", workspace.now, context.noise)
    project = workspace.project if workspace.is_own else ""
    record = format_history_record(record_id, workspace.now, workspace.zone, text, project)
    done = commit_one(
        workspace,
        "history",
        [Append(workspace.history_path, record)],
        summary=" ".join(text.split()),
        is_said_by_user=context.is_terminal,
    )
    data = {"id": record_id, "path": workspace.history_path, "undo": done.number}
    messages = [*done.messages, *explain_place(workspace)]
    return Result(data, [f"Added to {workspace.history_path}"], None, messages)
