"""mem note: add a line to today's notes."""

from typing import Annotated

from typer import Argument

from ..api import open_target
from ..context import Context
from ..errors import UsageError
from ..formats.records import format_note
from ..store.commit import Append, commit_one
from .render import Result
from .write import explain_place

FIELDS = ("path", "text", "undo")


def run_note(
    context: Context,
    text: Annotated[list[str], Argument(help="The note; - reads it from standard input.")],
) -> Result:
    """Add a line with the time to today's notes."""
    workspace = open_target(context)
    # Several words without quotes are one note, as with `echo`.
    words = context.stdin.read() if text == ["-"] else " ".join(text)
    if not words.strip():
        raise UsageError("the note is empty")
    line = format_note(workspace.now, workspace.zone, words)
    done = commit_one(
        workspace,
        "note",
        [Append(workspace.notes_path, line)],
        summary=words.strip(),
        is_said_by_user=context.is_terminal,
    )
    data = {"path": workspace.notes_path, "text": line.strip(), "undo": done.number}
    messages = [*done.messages, *explain_place(workspace)]
    return Result(data, [f"Noted: {line.strip()}  ({workspace.notes_path})"], None, messages)
