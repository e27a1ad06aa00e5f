"""`mem diff`: what changed between two moments that git knows.

What comes out of memory is hostile until it is read: in a comment on a pull request it stands in code only.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated

import typer

from ..api import sync as api
from ..errors import UsageError
from ..results import number_of
from . import output, workspaces
from .options import COMMON, Common, in_format

MARK = "<!-- mem diff -->"
"""The first line of a comment, by which a workflow finds the one it wrote before."""
LONGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""
MOST_LINES, LONGEST_LINE = 40, 400
"""Of the text of one change."""


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
    common: Common = COMMON,
) -> None:
    """Show what changed between two commits, in the words of memory.

    Without revisions the last commit is compared with the files as they are, which `worktree` names: v1..worktree. A
    change is new, changed, confirmed, superseded, forgotten, restored, purged, flagged (or settled), a clash of keys,
    promoted or taken off MEMORY.md, or one of the page, of history, of notes and of settings.

    In markdown no text of a memory can be anything but text: it stands in code, where it mentions and links nobody.
    """
    if common.as_json and format_ != "text":
        raise UsageError("--json and --format", "give one of them")
    compared = api.diff(workspaces.writing(common, "compared in", even_off=True), revisions)
    if common.as_json:
        output.say_json(compared.as_dict())
    elif format_ == "markdown":
        output.say(_comment(compared), end="")
    elif output.is_watched():
        _show(compared)
    else:
        for change in compared.changes:
            output.say_row((change.kind, change.id, change.path, change.summary, "; ".join(change.details)))
    if not compared.changes and output.is_heard():
        output.note(f"no memory differs between {compared.before} and {compared.after}")


def _show(compared: api.MemoryDiff) -> None:
    """Print the changes by kind for a person, each with its text."""
    for kind, some in groupby(compared.changes, lambda change: change.kind):
        changes = list(some)
        output.say_styled((f"{kind} ({len(changes):,})", "1"))
        for change in changes:
            if kind == "counted" and change is not changes[0]:
                continue
            output.say_styled(("  ", ""), (output.wrapped(change.summary, 2), ""))
            facts = [fact for fact in (change.id, change.type, change.source, "" if change.id else change.path) if fact]
            output.say_styled((f"    {output.wrapped(' · '.join(facts), 4)}", "36"))
            for detail in change.details:
                output.say_styled(("    ", ""), (output.wrapped(detail, 4), ""))
            is_told = kind == "new" and len(change.lines) == 1
            for line in () if is_told else change.lines:
                output.say_styled((f"    {output.wrapped(line, 4)}", "32" if line[0] == "+" else "31"))
    if compared.changes:
        output.note(f"{compared.before}..{compared.after}: {compared.headline}")


def _comment(compared: api.MemoryDiff) -> str:
    """Write what changed as a comment on a pull request."""
    span = code(f"{compared.before}..{compared.after}")
    head = f"{MARK}\n### Memory: {compared.headline or 'nothing changed'}\n\n{span}\n"
    pieces = [head]
    left = 0
    size = len(head)
    for kind, some in groupby(compared.changes, lambda change: change.kind):
        title = f"\n#### {kind[:1].upper()}{kind[1:]}\n\n"
        for change in some:
            piece = f"{title}{''.join(_item(change))}"
            if size + len(piece) > LONGEST:
                left += 1
                continue
            pieces.append(piece)
            size += len(piece)
            title = ""
    if left:
        pieces.append(f"\n{number_of(left, 'change')} more had no room here: see `mem diff`.\n")
    return "".join(pieces)


def _item(change: api.MemoryChange) -> Iterator[str]:
    """Yield a list item of a change: what it is, then its facts, then its text as a diff."""
    yield f"- {code(change.summary)}\n"
    facts = [code(fact) for fact in (change.id, change.type, change.source, change.path) if fact]
    yield f"  {' · '.join(facts)}\n"
    for detail in change.details:
        yield f"  - {code(detail)}\n"
    if change.lines and not (change.kind in ("new", "history") and len(change.lines) == 1):
        yield fenced(change.lines)


def code(text: str) -> str:
    """Write a text as inline code of one line: nothing in it is mark-up, a mention, a link or HTML."""
    plain = output.visible(" ".join(text.split()))
    if not plain:
        return '`""`'
    shown = plain if len(plain) <= LONGEST_LINE else f"{plain[: LONGEST_LINE - 1]}…"
    marks = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    gap = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{marks}{gap}{shown}{gap}{marks}"


def fenced(lines: Sequence[str]) -> str:
    """Write the lines of a diff as a block of code within a list item, that none of them can end."""
    shown = [output.visible(" ".join(line.splitlines())) for line in lines[:MOST_LINES]]
    shown = [line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…" for line in shown]
    if len(lines) > MOST_LINES:
        shown.append(f"… {number_of(len(lines) - MOST_LINES, 'more line')}")
    longest = max(map(len, re.findall("`+", "\n".join(shown))), default=0)
    fence = "`" * max(3, longest + 1)
    body = "".join(f"  {line}\n" for line in shown)
    return f"\n  {fence}diff\n{body}  {fence}\n\n"
