"""mem import: bring in memories from a file or folder."""

import io
from pathlib import Path
from typing import IO, Annotated

from typer import Argument, Option

from ..api import open_target
from ..context import Context
from ..errors import NotFoundError, UsageError
from ..formats.entry import SOURCES
from ..formats.text import CONTROL, count_noun, cut_middle
from ..transfer.importer import Choice, ImportResult, Rejection, import_source
from ..transfer.items import open_source
from ..transfer.records import parse_columns
from .export import describe_counts
from .progress import build_progress
from .render import Result
from .write import explain_place, split_list

FIELDS = ("format", "imported", "unchanged", "held", "rejected", "commands")
MOST_SHOWN = 20  # rejected items; --json has all


def run_import(
    context: Context,
    file: Annotated[str, Argument(help="A file or folder; - reads standard input.")],
    format_: Annotated[str, Option("--format", help="Default: mem recognizes the format.")] = "",
    type_: Annotated[list[str], Option("--type", help="Only memories of this type.")] = [],
    tag: Annotated[list[str], Option("--tag", help="Only memories with this tag.")] = [],
    map_: Annotated[
        list[str],
        Option("--map", help="In CSV and JSON: FIELD=NAME, such as text=content,tags=labels."),
    ] = [],
    source_: Annotated[
        str, Option("--source", help=f"Whose word it is: {', '.join(SOURCES)}. Default: inferred.")
    ] = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what would be imported.")] = False,
) -> Result:
    """Import memories that `mem export` wrote, or the memories of another tool.

    mem reads folders and zips of Markdown notes, CSV, JSON and the stores of mem0, basic-memory,
    claude-mem, the MCP memory server and others. Owners and dates stay the same. Importing a file
    again changes nothing. mem lists what it does not import: secrets, forgotten texts, memories
    that have changed here since, and files that it cannot read. Imported memories do not count as
    your own word, unless you add --source user.
    """
    path = (context.folder / Path(file).expanduser()).resolve()
    stream = open_input(context) if file == "-" else None
    workspace = open_target(context)
    try:
        source = open_source(path, file, stream)
    except OSError as error:
        raise NotFoundError(f"cannot read {file}: {error.strerror}") from None
    if source_ and source_ not in SOURCES:
        raise UsageError(f"unknown source {source_!r}", f"one of: {', '.join(SOURCES)}")
    source.columns = parse_columns(map_)
    source.memory_source = source_
    source.on_progress = build_progress(context, "reading")
    workspace.resources["on progress"] = build_progress(context, "saving")
    result = import_source(
        workspace,
        source,
        format_name=format_,
        choice=Choice([item.lower() for item in type_], split_list(tag)),
        is_dry_run=dry_run,
    )
    data = {name: getattr(result, name) for name in FIELDS}
    lines = describe_result(result, is_dry_run=dry_run)
    messages = [describe_rejection(item) for item in result.rejected]
    if len(messages) > MOST_SHOWN:
        rest = len(messages) - MOST_SHOWN
        messages[MOST_SHOWN:] = [f"and {rest:,} more: --json lists all of them"]
    code = 3 if result.rejected else 0
    place = [] if dry_run else explain_place(workspace)
    return Result(data, lines, None, [*result.messages, *messages, *place], exit_code=code)


def describe_rejection(item: Rejection) -> str:
    """Return one line. Names in a hostile archive have line ends, or 300 letters."""
    names = [item.place] if not item.path or item.place in item.path else [item.place, item.path]
    short = [cut_middle(CONTROL.sub("?", name.replace("\n", "?")), 60, 30, "…") for name in names]
    return f"not imported: {': '.join(short)}: {item.reason}"


def open_input(context: Context) -> IO[bytes]:
    """Return the bytes of standard input."""
    buffer = getattr(context.stdin, "buffer", None)
    return buffer or io.BytesIO(context.stdin.read().encode("utf-8", "surrogateescape"))


def describe_result(result: ImportResult, *, is_dry_run: bool) -> list[str]:
    verb = "Would import" if is_dry_run else "Imported"
    lines = [f"{verb} {describe_counts(result.imported)}"]
    lines += [f"  {example}" for example in result.examples]
    rest = result.imported.total() - len(result.examples)
    if result.examples and rest:
        lines.append(f"  and {rest:,} more")
    if result.unchanged:
        lines.append(f"{count_noun(result.unchanged, 'item')} already here")
    if result.held:
        count = count_noun(result.held, "memory")
        lines.append(f"In the inbox: {count} like one that was forgotten (mem review)")
    if result.rejected:
        verb = "Would not import" if is_dry_run else "Not imported:"
        lines.append(f"{verb} {count_noun(len(result.rejected), 'item')}")
    if result.imported["session"] and not is_dry_run:
        lines.append("Learn from it: mem consolidate --all")
    if len(result.commands) > 1:
        lines.append(f"Undo: mem undo, {len(result.commands)} times")
    elif result.commands:
        lines.append("Undo: mem undo")
    return lines
