"""`mem edit`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ..api.choice import require_source
from ..beliefs.plan import applied, shown, without_lines
from ..beliefs.precedence import is_trusted_less
from ..beliefs.supersession import flagging_plan, standing, successors, supersede_plan
from ..errors import MemError, RefusedError, UsageError
from ..index.index import ask
from ..store import atomic_files, entries, entry_revision
from ..store.addresses import Place
from ..store.file_moves import remove
from ..store.workspace import Workspace
from . import context, output, value_completion
from .admission import AllowSecret, Redact, guarded_change, kept_by_trust
from .options import AsJson, DryRun, InScope, InWorkspace, Source

_Change = Callable[[str], str]


def edit(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID", autocompletion=value_completion.ids, help="An id, a unique part of one, or a path."
        ),
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
    where, place = context.locate(workspace, scope, name, strict=True)
    by = context.author(where, source)
    if replace and patch:
        raise UsageError("two changes at once", "give --replace or --patch, not both")

    def guarded(change: Callable[[str], str]) -> Callable[[str], str]:
        told = said(change) if source and where.layout.kind_of(place.path) == "entry" else change
        return guarded_change(where, place.path, told, redact=redact, allow=allow_secret)

    def said(change: _Change) -> _Change:
        def changed(text: str) -> str:
            new = change(text)
            return new if new == text else entry_revision.changed(place.path, new, {"source": source}, None)

        return changed

    if replace:
        old, new = replace
        written = entries.edit(where, place.path, guarded(lambda text: entries.replaced(text, old, new)), by=by)
    elif patch:
        diff = context.text_of(patch, "the diff", allow_secret=allow_secret)
        written = entries.edit(where, place.path, guarded(_patched(diff)), by=by)
    else:
        written = _in_editor(where, place, guarded, by)
    if as_json:
        output.say_json({"action": written.action, "id": written.id, "path": written.path})
        return
    path = context.here(where, written.path)
    if output.is_watched():
        output.say(f"{written.action} {written.id} ({path})")
    else:
        output.say_row((written.action, written.id, path))


def _patched(diff: str) -> Callable[[str], str]:
    from ..formats.unified_diff import apply_patch

    return lambda text: apply_patch(text, diff)


def _in_editor(workspace: Workspace, place: Place, guarded: Callable[[_Change], _Change], by: str) -> entries.Written:
    """Open a copy in the editor and take it back if it is sound; a refused text is kept."""
    import shlex
    import subprocess

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if not editor and not context.at_terminal():
        raise UsageError("no change given", "use --replace OLD NEW or --patch FILE, or set $EDITOR")
    data = atomic_files.read(workspace.path(place.path))
    copy = workspace.derived / "edit" / f"{os.getpid()}-{Path(place.path).name}"
    atomic_files.create(copy, data)
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
            expected=atomic_files.digest(data),
            keeps=by != "user",
            by=by,
        )
    except MemError as error:
        raise type(error)(f"{error.message}; your text is kept in {copy}", error.fix) from None
    remove(copy)
    return written


def supersede(
    old: Annotated[
        str, typer.Argument(metavar="OLD", autocompletion=value_completion.ids, help="The entry that is over.")
    ],
    new: Annotated[
        str, typer.Argument(metavar="NEW", autocompletion=value_completion.ids, help="The entry that holds now.")
    ],
    source: Source = "",
    dry_run: DryRun = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Let one entry take the place of another.

    The old one stays where it is, out of search, and says what replaced it; `mem read --history` shows the chain and
    `mem restore` brings it back into use. What is trusted more, such as the user's word, gives way to the user alone,
    at a terminal or with --source user: otherwise both are flagged, and `mem review` settles it.
    """
    require_source(source)
    where, place = context.locate(workspace, scope, old, strict=True)
    there, other = context.locate(workspace, scope, new, strict=True)
    if where.root != there.root:
        raise UsageError(f"{old} and {new} are in two workspaces", "an entry is superseded within its own")
    for name, one in ((old, place), (new, other)):
        if where.layout.kind_of(one.path) != "entry" or one.anchor:
            raise UsageError(f"{name} is not an entry", "name two entries; `mem ls` lists them")
    after_each = ask(where, successors)
    before, after = standing(where, place.path), standing(where, other.path)
    plan = supersede_plan(where, before, after, lambda one: after_each.get(one, ""))
    by_user = context.is_typed() or context.author(where, source) == "user"
    is_flagged = bool(plan) and not by_user and is_trusted_less(after.entry, before.entry)
    if is_flagged:
        plan = flagging_plan(where, before, after)
        output.note(kept_by_trust(before.entry.id, after.entry.id))
    else:
        plan += without_lines(where, [before.entry.id])
    if not dry_run:
        applied(where, plan, "mem supersede")
    action = "unchanged" if not plan else "flagged" if is_flagged else "superseded"
    if as_json:
        fields = {
            "action": action,
            "id": before.entry.id,
            "superseded_by": "" if is_flagged else after.entry.id,
            "conflicts_with": [after.entry.id] if is_flagged else [],
            "path": place.path,
        }
        output.say_json({**fields, "diff": shown(plan)} if dry_run else fields)
    elif dry_run:
        output.say(shown(plan), end="")
    elif output.is_watched() and not is_flagged:
        output.say(f"{before.entry.id} is {'now ' if plan else ''}superseded by {after.entry.id}")
    else:
        output.say_row((action, before.entry.id, after.entry.id))
