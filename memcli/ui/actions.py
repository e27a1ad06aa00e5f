"""What a person changes on the page. Each action calls the function of a command.

An action returns the address to show next, or a page that says why nothing was changed.
"""

import shutil
import subprocess
import sys
import threading
from typing import Any
from urllib.parse import parse_qsl

from ..errors import ChangedError, MemError, NotFoundError, UsageError
from ..formats.entry import edit_entry, read_tags, replace_body
from ..formats.frontmatter import get_body
from ..formats.text import build_digest
from ..index.index import IndexedEntry
from ..reconcile.admit import Draft, write_memories
from ..reconcile.edit import replace_text
from ..reconcile.forget import forget, restore
from ..reconcile.review import answer_questions, list_questions
from ..search.names import find_named, get_named
from ..store.commit import locate, read_file
from ..store.undo import undo
from .frame import Page, Request
from .html import build_address
from .memories import show_edit, show_new


def save(request: Request) -> Page | str:
    """Change a memory or another file, unless it changed since it was shown."""
    request.query["id"] = request.form.get("id", "")
    try:
        path, number = save_edit(request)
    except MemError as error:
        if isinstance(error, NotFoundError):
            raise
        return show_edit(request, describe(error))
    return request.build_address("memory", id=path, done=number)


def save_edit(request: Request) -> tuple[str, int]:
    index, form = request.open_index(), request.form
    named = get_named(index, form.get("id", ""))
    before = read_file(request.workspace, named.path) or ""
    if build_digest(before.encode("utf-8", "replace")) != form.get("digest"):
        raise ChangedError(
            "The memory changed while you edited it", "save again to replace it with your text"
        )
    if before != index.read_text(named.path):
        raise UsageError("the page hides a part of this file", "use an editor")
    after = build_text(form, before, named.entry)
    outcome = replace_text(request.workspace, named.path, before, after, is_said_by_user=True)
    return named.path, outcome.undo


def build_text(form: dict[str, str], before: str, entry: IndexedEntry | None) -> str:
    """Return the text of a file with what was typed. Everything else stays as it is."""
    body = read_text(form)
    if entry is None:
        return body.replace("\n", "\r\n") if "\r\n" in before else body
    after = before
    # Who only adds a tag changes nothing in the text.
    if body.strip() != get_body(before).replace("\r\n", "\n").strip():
        after = replace_body(before, body.strip())
        if before.endswith("\n") and not after.endswith("\n"):
            after += "\n"
    shown = {"title": entry.title, "type": entry.type, "tags": tuple(entry.tags)}
    changes = {name: value for name, value in read_fields(form).items() if value != shown[name]}
    return edit_entry(after, changes) if changes else after


def read_text(form: dict[str, str]) -> str:
    # Browsers send the line ends of Windows.
    return form.get("text", "").replace("\r\n", "\n")


def read_fields(form: dict[str, str]) -> dict[str, Any]:
    return {
        "title": form.get("title", "").strip(),
        "type": form.get("type", ""),
        "tags": tuple(read_tags(form.get("tags", ""))),
    }


def write(request: Request) -> Page | str:
    """Save a new memory."""
    draft = Draft(read_text(request.form), source="user", **read_fields(request.form))
    draft.is_typed = bool(draft.type)
    try:
        if not draft.body.strip():
            raise UsageError("the memory is empty")
        (outcome,), done = write_memories(request.workspace, [draft])
        if outcome.error is not None:
            raise outcome.error
    except MemError as error:
        return show_new(request, describe(error))
    return request.build_address("memory", id=outcome.path, done=done.number)


def forget_memory(request: Request) -> str:
    """Hide a memory from search and agents."""
    done = forget(request.workspace, [request.form.get("id", "")])
    return request.build_address("memories", done=done.result.number)


def restore_memory(request: Request) -> str:
    """Make a memory active again."""
    name = request.form.get("id", "")
    done = restore(request.workspace, [name])
    if done.outcomes[0].error is not None:
        raise done.outcomes[0].error
    return request.build_address("memory", id=name, done=done.result.number)


def answer_question(request: Request) -> str:
    """Answer an open question."""
    form = request.form
    is_duplicate = form.get("kind") == "duplicate"
    questions = list_questions(request.workspace, duplicates=is_duplicate)
    asked = [question for question in questions if question.id == form.get("question")]
    if not asked:
        raise ChangedError("this question was answered already")
    done = answer_questions(request.workspace, asked, form.get("answer", ""))
    return request.build_address("review", done=done.number, duplicates=int(is_duplicate))


def undo_command(request: Request) -> str:
    """Revert a command of the undo log."""
    number = request.form.get("number", "")
    if not number.isdecimal() or len(number) > 9:
        raise UsageError(f"{number!r} is not the number of a command")
    done = undo(request.workspace, int(number))
    view, _, query = request.form.get("back", "").partition("?")
    values = dict(parse_qsl(query))
    is_deleted = "id" in values and not find_named(request.open_index(), values["id"])
    if view not in ("memory", "review", "changes") or is_deleted:
        view, values = "memories", {}
    return build_address(view, {**values, "done": done.number})


def open_in_editor(request: Request) -> str:
    """Open a file with the program that the desktop has for it."""
    path = get_named(request.open_index(), request.form.get("id", "")).path
    file = locate(request.workspace.root, path)
    program = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    if program is None:
        raise NotFoundError("no program here opens files", f"open it yourself: {file}")
    try:
        process = subprocess.Popen(
            [program, str(file)],
            env=dict(request.workspace.context.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise NotFoundError(f"cannot open it: {error.strerror}", f"the file is {file}") from None
    # It may run as long as the editor, and must not stay as a zombie.
    threading.Thread(target=process.wait, daemon=True).start()
    return request.build_address("memory", id=path)


def describe(error: MemError) -> str:
    return f"{error.message}. {error.hint}" if error.hint else error.message


ACTIONS = {
    "save": save,
    "write": write,
    "forget": forget_memory,
    "restore": restore_memory,
    "answer": answer_question,
    "undo": undo_command,
    "open": open_in_editor,
}
