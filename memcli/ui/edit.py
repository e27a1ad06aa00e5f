"""The forms and actions of the page, and the questions that a person decides.

An action returns the address to show next, or a page that says why nothing was changed.
"""

import os
import re
import shutil
import sys
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any

from ..api import ChangedError, MemError, NotFoundError, UsageError, write
from ..formats import TYPES, count_noun, frontmatter, get_body, read_entry, read_tags
from ..index import IndexedEntry
from ..reconcile import (
    Choice,
    Question,
    answer_questions,
    edit_file,
    forget,
    list_questions,
    replace_text,
    restore,
)
from ..store import locate
from ..store.undo import undo
from .html import (
    TASK,
    Html,
    OpenFile,
    Page,
    Request,
    build_sheet,
    describe,
    fill,
    fill_file,
    link_button,
    link_memory,
    render_button,
    render_form,
    render_options,
)
from .memories import MASKED, show_memory

# As Markdown counts lines: after "\n", "\r\n" and a lone "\r". The line ends stay in the parts.
LINE_START = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
NOT_CHECKED = "This file has changed, so your click was not saved. This is its current text."
QUESTIONS = 50  # on a page
# Finding the questions among 10,000 memories takes 150 ms, so the browser may cache their number.
COUNT_SECONDS = 60
ANSWERS = {
    "older": "Keep the older memory",
    "newer": "Keep the newer memory",
    "copy": "Keep the copy",
    "note": "Keep the note",
    "both": "Keep both",
    "accept": "Save",
    "reject": "Reject",
}


def show_new(request: Request, problem: str = "") -> Page:
    """Show the form for a new memory. After a problem, it has the typed text."""
    back = request.build_address("memories")
    inputs = render_inputs(request.values, ["", *TYPES], back)
    form = render_form(request, "write", inputs)
    return build_sheet("New memory", form, problem=problem)


def write_memory(request: Request) -> Page | str:
    """Save a new memory."""
    fields = read_fields(request)
    try:
        outcome = write(request.workspace, read_text(request), source="user", **fields)
    except MemError as error:
        return show_new(request, describe(error))
    return request.build_address("memory", id=outcome.path, done=outcome.undo)


def show_edit(request: Request, problem: str = "") -> Page:
    """Show the form that changes a memory. After a problem, it has the typed text."""
    file = request.open_file()
    if not file.is_editable:
        # The text of the form must not be saved with a mask in the place of a secret.
        raise ChangedError(MASKED)
    name, types = f"Edit {file.path}", []
    values = {"text": file.shown}
    entry = find_entry(file)
    if entry is not None:
        # Another tool may have a type of its own.
        name = "Edit memory" if request.workspace.is_managed(file.path) else "Edit note"
        types = list(dict.fromkeys([*TYPES, entry.type]))
        tags = ", ".join(read_own_tags(request, file))
        body = get_body(file.shown)
        values = {"title": entry.title, "type": entry.type, "tags": tags, "text": body}
    template = '<p>The file now says:</p><pre class="current" tabindex="0">{}</pre>'
    current = fill(template, values["text"]) if problem else None
    back = request.build_address("memory", id=file.path)
    inputs = render_inputs({**values, **request.values}, types, back)
    form = render_form(request, "save", inputs, id=file.path, digest=file.digest)
    return build_sheet(name, current, form, problem=problem)


def save(request: Request) -> Page | str:
    """Change a memory or another file, unless it changed since it was shown."""
    try:
        file = open_unchanged(request)
        return save_text(request, file, build_text(request, file))
    except MemError as error:
        return show_edit(request, describe(error))


def save_task(request: Request) -> Page | str:
    """Check or clear one checkbox, unless the file changed since it was shown."""
    number = request.get_number("line")
    try:
        file = open_unchanged(request)
        text = file.stored or ""
        before, body, after = text.rpartition(get_body(text))
        lines = LINE_START.split(body)
        task = TASK.search(lines[number]) if number < len(lines) else None
        if task is None:
            raise ChangedError("this line has no checkbox")
        mark = "[x] " if task[1] == " " else "[ ] "
        lines[number] = TASK.sub(mark, lines[number], count=1)
        address = save_text(request, file, f"{before}{''.join(lines)}{after}")
    except ChangedError:
        return show_memory(request, NOT_CHECKED)
    return f"{address}#line-{number}"


def open_unchanged(request: Request) -> OpenFile:
    """Return the file that a form shows. Raises ChangedError if it has another text now."""
    file = request.open_file()
    if file.digest != request.get("digest"):
        raise ChangedError(
            "The memory changed while you edited it", "save again to replace it with your text"
        )
    if not file.is_editable:
        raise UsageError(MASKED)
    return file


def save_text(request: Request, file: OpenFile, text: str) -> str:
    before = file.stored or ""
    outcome = replace_text(request.workspace, file.path, before, text, is_said_by_user=True)
    return request.build_address("memory", id=file.path, done=outcome.undo)


def build_text(request: Request, file: OpenFile) -> str:
    """Return the text of a file with what was typed. Everything else stays as it is."""
    before = file.stored or ""
    body = read_text(request)
    # `read_text` removed the carriage returns. `edit_file` below restores those of an entry.
    entry = find_entry(file)
    if entry is None:
        return body.replace("\n", "\r\n") if "\r\n" in before else body
    old = {"title": entry.title, "type": entry.type, "tags": read_own_tags(request, file)}
    changes = {name: value for name, value in read_fields(request).items() if value != old[name]}
    return edit_file(request.workspace, file.path, changes, body).after or ""


def find_entry(file: OpenFile) -> IndexedEntry | None:
    """Return the entry whose fields the form shows. Broken frontmatter is shown as text."""
    is_broken = file.shown.startswith("---") and not file.index.read_fields(file.path)
    return None if is_broken else file.entry


def read_own_tags(request: Request, file: OpenFile) -> tuple[str, ...]:
    """Return the tags in the frontmatter of a file, without those in its text."""
    document = frontmatter.Document("", file.index.read_fields(file.path), "")
    return read_entry(document, file.path, request.workspace.now)[0].tags


def read_text(request: Request) -> str:
    # Browsers send the line ends of Windows.
    return request.values.get("text", "").replace("\r\n", "\n")


def read_fields(request: Request) -> dict[str, Any]:
    tags = read_tags(request.get("tags"))
    return {"title": request.get("title"), "type": request.get("type"), "tags": tags}


def render_inputs(values: dict[str, str], types: list[str], back: str) -> Html:
    """Return the inputs of a form. Without types, it is about the text of a page."""
    fields = None
    if types:
        options = render_options(types, values.get("type", ""), "Automatic")
        title, tags = values.get("title"), values.get("tags")
        fields = fill_file("fields", title=title, types=options, tags=tags)
    return fill_file("form", text=values.get("text"), fields=fields, back=back)


def forget_memory(request: Request) -> str:
    """Hide a memory from search and agents."""
    done = forget(request.workspace, [request.get("id")])
    return request.build_address("memories", done=done.result.number)


def restore_memory(request: Request) -> str:
    """Make a memory active again."""
    name = request.get("id")
    done = restore(request.workspace, [name])
    error = done.outcomes[0].error
    if error is not None:
        raise error
    return request.build_address("memory", id=name, done=done.result.number)


def undo_command(request: Request) -> str:
    """Revert a command, and return to the view that has the button."""
    done = undo(request.workspace, request.get_number("number"))
    view = request.get("view")
    # The undo of a new memory deletes its file, so there is no view of it any more.
    with suppress(NotFoundError):
        request.open_file()
        return request.build_address("memory", id=request.get("id"), done=done.number)
    # The name of the view comes from the form. It must not lead to another site.
    if view not in ("review", "changes"):
        view = "memories"
    return request.build_address(view, done=done.number)


def open_in_editor(request: Request) -> str:
    """Open a file with the program that the desktop has for it."""
    path = request.open_file().path
    file = locate(request.workspace.root, path)
    program = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    if program is None:
        raise NotFoundError("No program here opens files", f"open it yourself: {file}")
    environment = dict(request.workspace.context.environment)
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    # In a group of its own, because Ctrl-C stops the page and not the editor.
    command = [program, str(file)]
    number = os.posix_spawn(program, command, environment, file_actions=nothing, setpgroup=0)
    Thread(target=os.waitpid, args=(number, 0), daemon=True).start()
    return request.build_address("memory", id=path)


def show_review(request: Request) -> Page:
    """Show the questions that need a person's decision."""
    has_duplicates = bool(request.get("duplicates"))
    questions = list_questions(request.workspace, duplicates=has_duplicates)
    count = count_noun(len(questions), "open question") if questions else "Nothing to decide."
    more = None
    if not has_duplicates:
        address = request.build_address("review", duplicates=1)
        more = link_button(address, "Look for likely duplicates")
    items = [render_question(request, question) for question in questions[:QUESTIONS]]
    return build_sheet("Review", fill('<p class="quiet">{}</p>', count), items, more)


def render_question(request: Request, question: Question) -> Html:
    hidden = {"question": question.id, "kind": question.kind}
    answers = [
        render_button(request, "answer", ANSWERS[answer], answer=answer, **hidden)
        for answer in question.answers
    ]
    labels = map(str.capitalize, question.answers) if len(question.memories) > 1 else [""]
    sides = map(partial(render_side, request), labels, question.memories)
    values = {"text": question.text, "reason": question.reason}
    return fill_file("question", sides=sides, answers=answers, **values)


def render_side(request: Request, label: str, choice: Choice) -> Html:
    day = request.workspace.describe_day(choice.date)
    about = " · ".join(filter(None, [label, choice.source, day]))
    text = choice.text
    if label:
        # A memory in the inbox has no view of its own.
        text = link_memory(request, choice.path, text)
    return fill('<div><p class="quiet">{}</p><p>{}</p></div>', about, text)


def answer_question(request: Request) -> str:
    """Answer an open question."""
    is_duplicate = request.get("kind") == "duplicate"
    questions = list_questions(request.workspace, duplicates=is_duplicate)
    # An agent or another window may have answered it since the page was shown.
    asked = [question for question in questions if question.id == request.get("question")]
    if not asked:
        raise ChangedError("This question was answered already")
    done = answer_questions(request.workspace, asked, request.get("answer"))
    return request.build_address("review", done=done.number, duplicates=int(is_duplicate))


def show_pending(request: Request) -> Page:
    """Return the number of open questions, or nothing if there are none."""
    count = len(list_questions(request.workspace))
    return Page("", count or "", is_part=True, cache_seconds=COUNT_SECONDS)
