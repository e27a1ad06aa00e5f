"""mem edit: change a memory or another file."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..api import add_gates, open_all, open_existing, open_target
from ..context import Context
from ..errors import MemError, NotFoundError
from ..reconcile.changes import Outcome
from ..reconcile.edit import get_file, move_to_workspace, replace_passage, replace_text
from ..store.commit import read_file
from ..store.workspace import Workspace
from .render import Result
from .terminal import run_editor

FIELDS = ("path", "id", "text", "undo")


def run_edit(
    context: Context,
    name: Annotated[str, Argument(metavar="MEMORY", help="An id, a path or a title.")],
    replace: Annotated[
        tuple[str, str],
        Option(metavar="OLD NEW", help="Replace a passage instead of opening an editor."),
    ] = ("", ""),
) -> Result:
    """Change a memory or another file of the workspace in your editor.

    With --scope user, move the memory to your own memory; with --scope project, to the project's.
    """
    if context.common.scope in ("project", "user"):
        return move_memory(context, name)
    workspace = open_existing(context, [name])
    if replace[0]:
        return render_edit(
            replace_passage(workspace, name, *replace, is_said_by_user=context.is_terminal)
        )
    path = get_file(workspace, name).path
    before = read_file(workspace, path) or ""
    after = edit_in_editor(context, workspace, path, before)
    try:
        return render_edit(replace_text(workspace, path, before, after, is_said_by_user=True))
    except MemError as error:
        if after.strip():
            # The user's work must not be lost with the editor's copy.
            saved = f"your text is in {save_rejected_text(path, after)}"
            error.hint = f"{error.hint}; {saved}" if error.hint else saved
        raise


def render_edit(outcome: Outcome) -> Result:
    data = {"path": outcome.path, "id": outcome.id, "text": outcome.text, "undo": outcome.undo}
    short_id = f"  ({outcome.short_id})" if outcome.short_id else ""
    label = "Unchanged" if outcome.action == "unchanged" else "Saved"
    return Result(data, [f"{label}: {outcome.text}{short_id}"])


def edit_in_editor(context: Context, workspace: Workspace, path: str, text: str) -> str:
    """Return the text that the user's editor leaves in a copy of the file."""
    # A copy, because editors save in steps, and each would be visible to searches.
    with tempfile.TemporaryDirectory(prefix="mem-edit-") as folder:
        copy = Path(folder, Path(path).name)
        copy.write_bytes(text.encode("utf-8", "surrogateescape"))
        run_editor(context, workspace, copy, f"mem edit {path} --replace OLD NEW")
        if not copy.exists():
            return ""
        return copy.read_bytes().decode("utf-8", "surrogateescape")


def save_rejected_text(path: str, text: str) -> str:
    """Save a text that a gate rejected, so that the user's work is not lost."""
    descriptor, name = tempfile.mkstemp(prefix="mem-rejected-", suffix=f"-{Path(path).name}")
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    return name


def move_memory(context: Context, name: str) -> Result:
    """Move a memory to the workspace of another scope."""
    target = open_target(context)
    # The memory is in any other workspace than the target.
    everywhere = context._replace(common=context.common._replace(scope="all"))
    for source in map(add_gates, open_all(everywhere)):
        if source.root == target.root:
            continue
        try:
            outcome = move_to_workspace(source, target, name)
        except NotFoundError:
            continue
        line = f"Moved: {outcome.text}  ({outcome.short_id})"
        return Result(
            {"path": outcome.path, "undo": outcome.undo}, [line, f"  now in {target.root}"]
        )
    raise NotFoundError(f"no memory {name!r} outside {target.root}")
