"""`mem edit`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ..errors import MemError, RefusedError, UsageError
from ..store import entries, files, revision
from ..store.address import Place
from ..store.removal import remove
from ..store.workspace import Workspace
from . import complete, output, world
from .guarded import AllowSecret, Redact, guarded_change
from .options import AsJson, InScope, InWorkspace, Source, require_source

_Change = Callable[[str], str]


def edit(
    name: Annotated[
        str, typer.Argument(metavar="ID", autocompletion=complete.ids, help="An id, a unique part of one, or a path.")
    ],
    replace: Annotated[
        tuple[str, str] | None,
        typer.Option("--replace", metavar="OLD NEW", help="Replace words that stand there exactly once."),
    ] = None,
    patch: Annotated[
        str,
        typer.Option(
            "--patch", metavar="FILE", help="Apply a unified diff; - reads standard input.", show_default=False
        ),
    ] = "",
    source: Source = "",
    redact: Redact = False,
    allow_secret: AllowSecret = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Change the text of an entry or of another file, in place or in your editor.

    Without --replace or --patch it opens $VISUAL or $EDITOR. What would break the file's frontmatter is refused.
    MEMORY.md, history and notes are changed by their path; mem write --id MEMORY.md puts another text in its place.

    Where an agent, a script or a pipe changes an entry's words without --source user, they are no longer the user's:
    the entry becomes `observed`, and the old text stays in the archive with its own source.
    """
    require_source(source)
    where, place = world.locate(workspace, scope, name, strict=True)
    by = world.author(where, source)
    if replace and patch:
        raise UsageError("two changes at once", "give --replace or --patch, not both")

    def guarded(change: Callable[[str], str]) -> Callable[[str], str]:
        told = said(change) if source and where.layout.kind_of(place.path) == "entry" else change
        return guarded_change(where, place.path, told, redact=redact, allow=allow_secret)

    def said(change: _Change) -> _Change:
        def changed(text: str) -> str:
            new = change(text)
            return new if new == text else revision.changed(place.path, new, {"source": source}, None)

        return changed

    if replace:
        old, new = replace
        written = entries.edit(where, place.path, guarded(lambda text: entries.replaced(text, old, new)), by=by)
    elif patch:
        diff = world.text_of(patch, "the diff", allow_secret=allow_secret)
        written = entries.edit(where, place.path, guarded(_patched(diff)), by=by)
    else:
        written = _in_editor(where, place, guarded, by)
    if as_json:
        output.say_json({"action": written.action, "id": written.id, "path": written.path})
        return
    path = world.here(where, written.path)
    if output.is_watched():
        output.say(f"{written.action} {written.id} ({path})")
    else:
        output.say_row((written.action, written.id, path))


def _patched(diff: str) -> Callable[[str], str]:
    from ..text.patch import apply_patch

    return lambda text: apply_patch(text, diff)


def _in_editor(workspace: Workspace, place: Place, guarded: Callable[[_Change], _Change], by: str) -> entries.Written:
    """Open a copy in the editor and take it back if it is sound; a refused text is kept."""
    import shlex
    import subprocess

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if not editor and not world.at_terminal():
        raise UsageError("no change given", "use --replace OLD NEW or --patch FILE, or set $EDITOR")
    data = files.read(workspace.path(place.path))
    copy = workspace.derived / "edit" / f"{os.getpid()}-{Path(place.path).name}"
    files.create(copy, data)
    try:
        code = subprocess.run([*shlex.split(editor or "vi"), str(copy)], check=False).returncode
    except (OSError, ValueError) as error:
        remove(copy)
        raise UsageError(f"cannot run the editor {editor!r} ({error})", "set $EDITOR") from None
    text = copy.read_bytes()
    if code:
        remove(copy)
        raise RefusedError(f"the editor ended with {code}", "nothing was changed")
    try:
        written = entries.edit(
            workspace,
            place.path,
            guarded(lambda old: entries.decoded(place.path, text)),
            expected=files.digest(data),
            keeps=by != "user",
            by=by,
        )
    except MemError as error:
        raise type(error)(f"{error.message}; your text is kept in {copy}", error.fix) from None
    remove(copy)
    return written
