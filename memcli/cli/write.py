"""`mem write`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import NotFoundError, RefusedError, UsageError
from ..store import entries, files
from ..text.entry import SOURCES, TYPES
from . import complete, output, world
from .options import AsJson, InScope, InWorkspace

_Text = Annotated[str, typer.Option(show_default=False)]


def write(
    text: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="What to remember; - reads standard input.", show_default=False)
    ] = "",
    file: Annotated[
        str, typer.Option("--file", metavar="FILE", help="Read the text from a file.", show_default=False)
    ] = "",
    identifier: Annotated[
        str,
        typer.Option(
            "--id",
            metavar="ID",
            autocompletion=complete.ids,
            help="Change this entry instead of making one.",
            show_default=False,
        ),
    ] = "",
    path: Annotated[
        str,
        typer.Option(
            "--path",
            metavar="PATH",
            help="Keep it at this place below the entries, such as projects/hdrpop/status.md.",
            show_default=False,
        ),
    ] = "",
    kind: Annotated[
        str | None,
        typer.Option(
            "--type",
            "-t",
            help=f"What it claims: {', '.join(TYPES)}.",
            show_default="fact",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="A short name.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "--tags", help="A tag; repeat it or separate tags with commas.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="The project it belongs to.")] = None,
    source: Annotated[str | None, typer.Option(help=f"Who said it: {', '.join(SOURCES)}.", show_default="user")] = None,
    trust: Annotated[
        str | None, typer.Option(metavar="0..1", help="How far to trust it; follows from the source.")
    ] = None,
    confidence: Annotated[str | None, typer.Option(metavar="0..1", help="How sure whoever wrote it was.")] = None,
    salience: Annotated[str | None, typer.Option(metavar="0..1", help="How much it matters.")] = None,
    strength: Annotated[int | None, typer.Option(help="How often it was confirmed.")] = None,
    sources: Annotated[
        list[str] | None, typer.Option("--sources", help="A session, message range or commit it came from.")
    ] = None,
    references: Annotated[list[str] | None, typer.Option("--references", help="An id or a link it refers to.")] = None,
    about: Annotated[list[str] | None, typer.Option("--files", help="A file it is about.")] = None,
    status: Annotated[str | None, typer.Option(help="active, superseded or archived.")] = None,
    superseded_by: Annotated[str | None, typer.Option(metavar="ID", help="The entry that took its place.")] = None,
    conflicts_with: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An entry that says otherwise.")
    ] = None,
    pinned: Annotated[bool | None, typer.Option("--pinned/--no-pinned", help="Never let it decay.")] = None,
    expires_at: Annotated[str | None, typer.Option(metavar="DATE", help="When it stops being true.")] = None,
    created_at: Annotated[
        str | None, typer.Option(metavar="DATE", help="When it was first known.", show_default="now")
    ] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Anything else worth keeping.")
    ] = None,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Remember something, or change an entry with --id.

    With --id only the fields given and, where there is one, the text change; an empty value takes a field away.
    """
    told: dict[str, Any] = {
        "type": kind, "title": title, "tags": _split(tag), "project": project, "source": source, "trust": trust,
        "confidence": confidence, "salience": salience, "strength": strength, "sources": sources,
        "references": references, "files": about, "status": status, "superseded_by": superseded_by,
        "conflicts_with": conflicts_with, "pinned": pinned, "expires_at": expires_at, "created_at": created_at,
        "metadata": _pairs(metadata),
    }  # fmt: skip
    told = {key: value for key, value in told.items() if value is not None}
    body = _body(text, file)
    if identifier and path:
        raise UsageError("--id changes an entry where it is", "leave out --path")
    if identifier:
        where, place = world.locate(workspace, scope, identifier, strict=True)
        if body is None and not told:
            raise UsageError("nothing to change", "give a text or a field")
        written = entries.update(where, place.path, told, body)
    else:
        if body is None:
            raise UsageError("nothing to remember", 'give the text: mem write "…", or - to read standard input')
        where = world.writing(workspace, scope)
        written = entries.write(where, told, body, world.noise(body), path)
    if as_json:
        output.say_json(
            {"action": written.action, "id": written.id, "path": written.path, "workspace": str(where.root)}
        )
    elif output.is_watched():
        output.say(f"{written.action} {written.id} ({written.path})")
    else:
        output.say_row((written.action, written.id, written.path))


def _body(text: str, file: str) -> str | None:
    if text and file:
        raise UsageError("two texts", "give the text or --file, not both")
    if file == "-" or text == "-":
        return world.standard_input("the text")
    if file:
        try:
            return world.utf8(files.read(Path(file).expanduser()), file)
        except NotFoundError as error:
            raise UsageError(error.message, "check the name") from None
        except RefusedError as error:
            raise UsageError(error.message, error.fix) from None
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
        key, equals, rest = value.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--metadata {value!r}", "write KEY=VALUE")
        pairs[key.strip()] = rest.strip()
    return pairs
