"""mem ls: list memories."""

from typing import Annotated

from typer import Option

from ..api import open_all
from ..context import Context
from ..index.filters import build_filter, find_files
from ..index.index import Index, IndexedEntry, open_index
from .render import Result

FIELDS = (*IndexedEntry._fields, "text", "short_id", "workspace")


def run_ls(
    context: Context,
    limit: Annotated[
        int | None, Option("-n", "--limit", min=1, help="List at most this many.")
    ] = None,
    type_: Annotated[list[str], Option("--type", help="Only memories of this type.")] = [],
    tag: Annotated[list[str], Option(help="Only memories with this tag.")] = [],
    status: Annotated[
        list[str], Option(help="active (default), superseded, forgotten, faded or all.")
    ] = [],
    source: Annotated[str, Option(help="Only memories from user, observed or inferred.")] = "",
    since: Annotated[str, Option(help="Only memories changed since this date.")] = "",
    until: Annotated[str, Option(help="Only memories changed until this date.")] = "",
    where: Annotated[list[str], Option(help='Only memories with this property: "rating>=4".')] = [],
) -> Result:
    """List memories, the latest first."""
    workspaces = open_all(context)
    first = workspaces[0]
    wanted = build_filter(
        first.now,
        first.zone,
        since=since,
        until=until,
        types=tuple(type_),
        tags=tuple(tag),
        statuses=tuple(status),
        conditions=(*where, *([f"source={source}"] if source else [])),
    )
    matches: list[tuple[Index, IndexedEntry]] = []
    messages: list[str] = []
    for workspace in workspaces:
        index = open_index(workspace)
        messages += index.messages
        files = ", ".join(map(str, find_files(index, wanted)))
        entries = index.list_entries(
            f"file in ({files}) and updated_at >= ? and (? = '' or updated_at <= ?)",
            (wanted.since, wanted.until, wanted.until),
        )
        matches += [(index, entry) for entry in entries]
    # Each list is in order already.
    if len(workspaces) > 1:
        matches.sort(key=lambda item: item[1].updated_at, reverse=True)
    lines, rows, items = [], [], []
    for index, entry in matches[: limit or None]:
        # Shortening an id costs a query, and a pipe gets whole ids.
        if not context.is_terminal and not context.common.as_json:
            scope = "user" if index.workspace.is_own else "project"
            row = [entry.id, entry.type, entry.updated_at, entry.path, entry.summary, scope]
            rows.append(row)
            continue
        short_id = index.shorten_id(entry.id)
        day = first.describe_day(entry.updated_at)
        marks = "" if entry.status == "active" else f"{entry.status} · "
        marks += "expired · " if first.is_expired(entry) else ""
        marks += "your own · " if index.workspace.is_own and len(workspaces) > 1 else ""
        lines.append(f"{entry.summary}  ({entry.type} · {marks}{day} · {short_id})")
        item = {"text": entry.summary, "short_id": short_id}
        items.append({**entry._asdict(), **item, "workspace": str(index.workspace.root)})
    code = 0 if matches else 1
    return Result({"entries": items}, lines, rows, messages, (), code, "no memories")
