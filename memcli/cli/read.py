"""`mem read`."""

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from ..api import read as api
from ..api.read import Which
from ..errors import UsageError
from . import output, workspaces
from .options import COMMON, Common, EntryKey, EntryName

if TYPE_CHECKING:
    from ..api.read import History, KeyHistory, Origins
    from ..api.workspace import Workspace

_WIDTH = 18
"""Columns of a time and the gap after it."""


def read(
    name: EntryName = "",
    key: EntryKey = "",
    project: Annotated[str, typer.Option(help="With --key: of this project.", show_default=False)] = "",
    as_of: Annotated[
        str, typer.Option("--as-of", metavar="DATE", help="Show what was believed then.", show_default=False)
    ] = "",
    offset: Annotated[int, typer.Option(help="Begin at this character.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Show at most this many characters.", show_default="all")] = None,
    lines: Annotated[
        str, typer.Option("--lines", metavar="A:B", help="Show these lines of the file.", show_default=False)
    ] = "",
    source: Annotated[bool, typer.Option("--source", help="Show what it was taken from: messages, commits.")] = False,
    history: Annotated[
        bool,
        typer.Option("--history", help="Show what it replaced, what replaced it, who said it, and what became of it."),
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Show the file as it is, frontmatter and control characters included.")
    ] = False,
    common: Common = COMMON,
) -> None:
    """Print what an id, a path or a hit's address names.

    Prints the text of the memory; --json adds its fields. Where a page ends before the text does, stderr says how to
    read on.
    """
    found_in = workspaces.reading(common)
    which = Which(name, key, project, as_of)
    if source or history:
        if raw or lines or offset or limit is not None or (source and history):
            raise UsageError("two views of one memory", "give --source, --history, or a part of the text")
        _read_about(found_in, which, source=source, history=history, as_json=common.as_json)
        return
    page = api.read(found_in, which, offset=offset, limit=limit, lines=lines, raw=raw)
    output.notes(page.notices)
    workspaces.tell_problems([page.workspace], page.problems)
    if common.as_json:
        output.say_json(page.as_dict())
        return
    output.say(page.content, end="" if page.content.endswith("\n") or not page.content else "\n", raw=raw)
    if page.linked_from:
        names = ", ".join(link.path for link in page.linked_from)
        more = page.linked_from_count - len(page.linked_from)
        output.note(f"Linked from: {names}{f' and {more:,} more' if more else ''}")
    if page.next_offset is not None:
        shown = f"{len(page.content):,} of {page.total:,} characters"
        output.note(f"{shown}: mem read {quote(page.name)} --offset {page.next_offset}")


def _read_about(found_in: "Sequence[Workspace]", which: Which, *, source: bool, history: bool, as_json: bool) -> None:
    """Show where a memory came from, what it replaced, or every value of a key."""
    if which.key and history:
        values = api.read_key_history(found_in, which.key, which.project)
        if as_json:
            output.say_json(values.as_dict())
        else:
            _show_values(values)
    elif source:
        origins = api.read_origins(found_in, which)
        output.notes(origins.notices)
        if as_json:
            output.say_json(origins.as_dict())
        else:
            _show_origins(origins)
    else:
        memory = api.read_history(found_in, which)
        output.notes((*memory.notices, *memory.problems))
        if as_json:
            output.say_json(memory.as_dict())
        else:
            _show_history(memory)


def _show_history(history: "History") -> None:
    """Print what a memory replaced and what replaced it, the oldest first, then what became of it or of its file."""
    for link in history.chain:
        if output.is_watched():
            output.say_styled((f"{link.created_at[:10]}  ", "1"), (output.wrapped(link.summary, 12), ""))
            after = f" by {link.superseded_by}" if link.superseded_by else ""
            output.say_styled((f"            {output.wrapped(f'{link.id} · {link.status}{after}', 12)}", "36"))
        else:
            path = workspaces.here(history.workspace, link.path)
            output.say_row((link.created_at[:10], link.status, link.id, path, link.summary))
    for item in history.timeline:
        if output.is_watched():
            day, who = item.at[:16].replace("T", " ") or "unknown", f" by {item.by}" if item.by else ""
            about = f"{day:{_WIDTH}}{item.what}{who}  {item.place}"
            gap = "  " if output.width(about) <= output.columns() else f"\n{' ' * _WIDTH}"
            output.say_styled((f"{day:{_WIDTH}}", "1"), (f"{item.what}{who}", ""), (f"{gap}{item.place}", "36"))
            if item.text:
                output.say_styled((" " * _WIDTH, ""), (output.wrapped(item.text, _WIDTH), ""))
            for line in item.lines:
                output.say_styled((f"{' ' * _WIDTH}{output.wrapped(line, _WIDTH)}", "32" if line[0] == "+" else "31"))
        else:
            output.say_row((item.at, item.what, item.by, item.place, item.text))
    for commit in () if history.timeline else history.log:
        if output.is_watched():
            subject = output.wrapped(f"{commit.commit} {commit.subject} ({commit.author})", 12)
            output.say_styled((f"{commit.date[:10]}  ", "1"), (subject, ""))
        else:
            output.say_row((commit.date[:10], "commit", commit.commit, commit.author, commit.subject))


def _show_values(history: "KeyHistory") -> None:
    """Print every value that a key had, the earliest first, with its time and who said it."""
    for value in history.values:
        if output.is_watched():
            output.say_styled((f"{value.since[:10]}  ", "1"), (output.wrapped(value.summary, 12), ""))
            over = f", held until {value.until[:10]}" if value.until else ""
            about = (value.id, value.source, f"{value.status}{over}", value.project)
            output.say_styled((f"            {output.wrapped(' · '.join(filter(None, about)), 12)}", "36"))
        else:
            path = workspaces.here(value.workspace, value.path)
            row = value.since[:10], value.until[:10], value.status, value.source, value.id, path, value.summary
            output.say_row(row)


def _show_origins(origins: "Origins") -> None:
    for source in origins.sources:
        if source.problem:
            output.note(f"{source.source}: {source.problem}")
        else:
            output.say(f"{source.source}\n{source.text}", end="" if source.text.endswith("\n") else "\n")
