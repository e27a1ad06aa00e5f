"""`mem diff` and `mem blame`: what changed between two moments that git knows, and what became of one entry."""

from itertools import groupby
from typing import Annotated

import typer

from ..api import changes as api
from ..api.read import Which
from ..errors import UsageError
from . import context, output
from .options import AsJson, EntryKey, EntryName, InScope, InWorkspace, in_format

_WIDTH = 18
"""Columns of a time and the gap after it."""


def diff(
    revisions: Annotated[
        str,
        typer.Argument(
            metavar="[REV..REV]",
            help="A..B, or A...B for what B changed since it left A; one commit is compared with the files.",
            show_default=False,
        ),
    ] = "",
    format_: Annotated[
        str, in_format(("text", "markdown"), "text, or markdown for a comment on a pull request.")
    ] = "text",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Show what changed between two commits, in the words of memory.

    Without revisions the last commit is compared with the files as they are, which `worktree` names: v1..worktree. A
    change is new, changed, confirmed, superseded, forgotten, restored, purged, flagged (or settled), a clash of keys,
    promoted or taken off MEMORY.md, or one of the page, of history, of notes and of settings.

    In markdown no text of a memory can be anything but text: it stands in code, where it mentions and links nobody.
    """
    if as_json and format_ != "text":
        raise UsageError("--json and --format", "give one of them")
    found = api.diff(context.writing(workspace, scope, "compared in", even_off=True), revisions)
    if as_json:
        output.say_json(found.as_dict())
    elif format_ == "markdown":
        from .pull_request import comment

        output.say(comment(found), end="")
    elif output.is_watched():
        _show(found)
    else:
        for one in found.changes:
            output.say_row((one.kind, one.id, one.path, one.summary, "; ".join(one.details)))
    if not found.changes and output.is_heard():
        output.note(f"no memory differs between {found.before} and {found.after}")


def _show(found: api.MemoryDiff) -> None:
    """Print the changes by kind for a person, each with its text."""
    for kind, some in groupby(found.changes, lambda one: one.kind):
        changes = list(some)
        output.say_styled((f"{kind} ({len(changes):,})", "1"))
        for one in changes:
            if kind == "counted" and one is not changes[0]:
                continue
            output.say_styled(("  ", ""), (output.wrapped(one.summary, 2), ""))
            facts = [fact for fact in (one.id, one.type, one.source, "" if one.id else one.path) if fact]
            output.say_styled((f"    {' · '.join(facts)}", "36"))
            for detail in one.details:
                output.say_styled(("    ", ""), (output.wrapped(detail, 4), ""))
            is_told = kind == "new" and len(one.lines) == 1
            for line in () if is_told else one.lines:
                output.say_styled((f"    {line}", "32" if line[0] == "+" else "31"))
    if found.changes:
        output.note(f"{found.before}..{found.after}: {found.headline}")


def blame(
    name: EntryName = "",
    key: EntryKey = "",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Show who said an entry, and who confirmed, changed or promoted it.

    A line for each thing that became of it, the newest last: the message it comes from with its words, the texts it had
    before, what it took the place of and what took its own, when it was on MEMORY.md, how often it was read, and what
    the last commands and each commit changed. Where each stands is said too. Without git all but the commits is known.
    """
    found = api.blame(context.reading(workspace, scope), Which(name, key))
    for notice in found.notices:
        output.note(notice)
    if as_json:
        output.say_json(found.as_dict())
        return
    for one in found.timeline:
        if output.is_watched():
            who = f" by {one.by}" if one.by else ""
            output.say_styled(
                (f"{one.at[:16].replace('T', ' ') or 'unknown':{_WIDTH}}", "1"),
                (f"{one.what}{who}", ""),
                (f"  {one.place}", "36"),
            )
            if one.text:
                output.say_styled((" " * _WIDTH, ""), (output.wrapped(one.text, _WIDTH), ""))
            for line in one.lines:
                output.say_styled((f"{' ' * _WIDTH}{line}", "32" if line[0] == "+" else "31"))
        else:
            output.say_row((one.at, one.what, one.by, one.place, one.text))
