"""`mem write`."""

import os
from functools import partial
from typing import Annotated

import typer

from ..api import workspace as api
from ..api.write import SOURCES, TYPES, NewEntry, Written
from ..api.write import write as write_entry
from ..errors import UsageError
from . import completion, output, workspaces
from .app import FIELDS
from .options import COMMON, MORE, AllowSecret, Common, Judge, Redact
from .output import judge_progress, relations, tell_redacted, tell_unheard

_more = partial(typer.Option, rich_help_panel=MORE)
_field = partial(typer.Option, rich_help_panel=FIELDS)
PRIVATE = "project, on this machine"
"""The audience of a memory that goes without saying."""


def write(
    text: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="What to remember; - reads standard input.", show_default=False)
    ] = "",
    entry_type: Annotated[
        str | None,
        typer.Option(
            "--type",
            "-t",
            autocompletion=completion.types,
            help=f"What it claims: {', '.join(TYPES)}.",
            show_default="fact",
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag; repeat it, or use commas.")] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            autocompletion=completion.keys,
            help="Its slot, as staging/port: what filled it is superseded.",
        ),
    ] = None,
    project: Annotated[str | None, typer.Option(help="The project it belongs to.")] = None,
    source: Annotated[
        str | None,
        typer.Option(help=f"Who said it: {', '.join(SOURCES)}.", show_default="user at a terminal, else observed"),
    ] = None,
    supersedes: Annotated[
        str,
        typer.Option(
            metavar="ID",
            autocompletion=completion.ids,
            help="The entry it takes the place of.",
            show_default=False,
        ),
    ] = "",
    identifier: Annotated[
        str,
        typer.Option(
            "--id",
            metavar="ID",
            autocompletion=completion.ids,
            help="Change this entry instead of making one.",
            show_default=False,
        ),
    ] = "",
    common: Common = COMMON,
    file: Annotated[str, _more("--file", metavar="FILE", help="Read the text from a file.", show_default=False)] = "",
    about: Annotated[
        list[str] | None, _more("--about", metavar="FILE", help="A file it is about; a.py:12-20 watches lines.")
    ] = None,
    origin: Annotated[list[str] | None, _more("--origin", help="The session, messages or commit it came from.")] = None,
    path: Annotated[
        str, _more("--path", metavar="PATH", help="Its place below the entries, as shop/port.md.", show_default=False)
    ] = "",
    title: Annotated[str | None, _more(help="A short name.")] = None,
    alias: Annotated[list[str] | None, _more("--alias", help="Another name for it; repeat it.")] = None,
    pinned: Annotated[bool | None, _more("--pinned/--no-pinned", help="Never let it decay.")] = None,
    expires_at: Annotated[str | None, _more(metavar="DATE", help="When it stops being true.")] = None,
    no_dedup: Annotated[bool, _more("--no-dedup", help="Compare it with nothing; loads no model.")] = False,
    created_at: Annotated[
        str | None, _field(metavar="DATE", help="When it was first known.", show_default="now")
    ] = None,
    trust: Annotated[str | None, _field(metavar="0..1", help="How far to trust it; follows from the source.")] = None,
    confidence: Annotated[str | None, _field(metavar="0..1", help="How sure whoever wrote it was.")] = None,
    salience: Annotated[str | None, _field(metavar="0..1", help="How much it matters.")] = None,
    strength: Annotated[int | None, _field(help="How often it was confirmed.")] = None,
    references: Annotated[list[str] | None, _field("--references", help="An id or a link it refers to.")] = None,
    status: Annotated[str | None, _field(help="active, superseded or archived.")] = None,
    superseded_by: Annotated[str | None, _field(metavar="ID", help="The entry that took its place.")] = None,
    conflicts_with: Annotated[list[str] | None, _field(metavar="ID", help="An entry that says otherwise.")] = None,
    metadata: Annotated[list[str] | None, _field(metavar="KEY=VALUE", help="Anything else worth keeping.")] = None,
    judge: Judge = False,
    redact: Redact = False,
    allow_secret: AllowSecret = False,
) -> None:
    """Write an entry, or change one with --id.

    What is known already is confirmed, and not kept twice. A new entry takes the place of what --supersedes names, of
    what fills its --key, and of what it repeats with another value after "Correction:"; what is trusted more, such as
    the user's word, is flagged with it instead. What else lies near is named: `mem supersede` says which one holds.

    What is typed at a terminal is the user's word; elsewhere --source user says so. With --id only what is given
    changes, an empty value takes a field away, and the old text stays in the archive.
    """
    entry = NewEntry(
        text=_body(text, file, allow_secret=allow_secret),
        id=identifier,
        path=path,
        supersedes=supersedes,
        type=entry_type,
        key=key,
        title=title,
        tags=_split(tag),
        aliases=_split(alias),
        project=project,
        source=source,
        trust=trust,
        confidence=confidence,
        salience=salience,
        strength=strength,
        sources=origin,
        references=references,
        files=about,
        status=status,
        superseded_by=superseded_by,
        conflicts_with=conflicts_with,
        pinned=pinned,
        expires_at=expires_at,
        created_at=created_at,
        metadata=_pairs(metadata),
    )
    done = write_entry(
        workspaces.reading(common) if identifier else workspaces.writable(common, make=True),
        entry,
        by=workspaces.speaker(),
        dedup=not no_dedup,
        judge=judge,
        redact=redact,
        allow_secret=allow_secret,
        routes=not (common.scope or common.workspace or os.environ.get("MEM_WORKSPACE")),
        progress=judge_progress(),
    )
    _tell(done, as_json=common.as_json)
    if done.error:
        raise typer.Exit(7)


def _tell(done: Written, *, as_json: bool) -> None:
    tell_redacted(done.redacted)
    output.notes(done.notices)
    tell_unheard(done.error)
    if as_json:
        output.say_json(done.as_dict())
    else:
        _tell_row(done)
        for near in done.near:
            output.note(near.line(done.id))


def _tell_row(done: Written) -> None:
    path = workspaces.here(done.workspace, done.path)
    remark = relations(done.supersedes, done.superseded_by, done.conflicts_with)
    if not output.is_watched():
        row = [done.action, done.id, path]
        output.say_row([*row, remark] if remark else row)
        return
    remark_shown = f"confirmed {done.strength} times" if done.action == "merged" else remark
    action = "merged into" if done.action == "merged" else done.action
    seen_by = api.audience(done.workspace) if done.action == "created" else PRIVATE
    where = "" if seen_by == PRIVATE else f", {seen_by.removeprefix('project, ')}"
    output.say_wrapped(f"{action} {done.id} ({path}){where}" + (f": {remark_shown}" if remark_shown else ""))
    if done.conflicts_with:
        output.note("`mem review` settles which of them holds")


def _body(text: str, file: str, *, allow_secret: bool) -> str | None:
    if text and file:
        raise UsageError("two texts", "give the text or --file, not both")
    if file or text == "-":
        return workspaces.text_of(file or text, "the text", allow_secret=allow_secret, gitignored=False)
    return text or None


def _split(values: list[str] | None) -> list[str] | None:
    if values is None:
        return None
    return [tag.strip() for value in values for tag in value.split(",") if tag.strip()]


def _pairs(values: list[str] | None) -> dict[str, str] | None:
    if values is None:
        return None
    pairs = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--metadata {value!r}", "write KEY=VALUE")
        pairs[key.strip()] = text.strip()
    return pairs
