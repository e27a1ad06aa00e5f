"""The forms for a new memory and for a change, and what they save."""

from typing import Any

from ..api import write
from ..errors import ChangedError, MemError, NotFoundError, UsageError
from ..formats import TYPES, edit_entry, get_body, read_tags, replace_body
from ..reconcile.edit import replace_text
from .frame import Page, build_sheet, describe, render_form
from .html import Content, Html, fill, fill_file, render_options
from .markdown import TASK
from .memory import MASKED
from .request import OpenFile, Request


def show_new(request: Request, problem: str = "") -> Page:
    """Show the form for a new memory, after a problem with the text that was typed."""
    inputs = fill_file(
        "form",
        text=request.form.get("text", ""),
        fields=render_fields(request.form, ["", *TYPES]),
        back=request.build_address("memories"),
    )
    return build_form_page("New memory", problem, render_form(request, "write", inputs))


def show_edit(request: Request, problem: str = "") -> Page:
    """Show the form that changes a memory, after a problem with the text that was typed."""
    file = request.open_file()
    # The text of the form must not be saved with a mask in the place of a secret.
    if not file.is_editable:
        raise ChangedError(MASKED)
    entry = file.entry
    text = get_body(file.shown) if entry else file.shown
    fields = None
    if entry is not None:
        stored = {"title": entry.title, "type": entry.type, "tags": ", ".join(entry.tags)}
        types = dict.fromkeys([*TYPES, entry.type])
        fields = render_fields({**stored, **request.form}, list(types))
    inputs = fill_file(
        "form",
        text=request.form.get("text", text),
        fields=fields,
        back=request.build_address("memory", id=file.path),
    )
    form = render_form(request, "save", inputs, id=file.path, digest=file.digest)
    current = fill("<p>The file now says:</p><pre>{}</pre>", text) if problem else None
    title = "Edit memory" if entry else f"Edit {file.path}"
    return build_form_page(title, problem, current, form)


def render_fields(values: dict[str, str], types: list[str]) -> Html:
    return fill_file(
        "fields",
        title=values.get("title", ""),
        types=render_options(types, values.get("type", ""), "Automatic"),
        tags=values.get("tags", ""),
    )


def build_form_page(title: str, problem: str, *content: Content) -> Page:
    if not problem:
        return build_sheet(title, content)
    alert = fill('<p class="problem" role="alert">{}</p>', problem)
    page = build_sheet(title, alert, content)
    page.status = 409
    return page


def write_memory(request: Request) -> Page | str:
    """Save a new memory."""
    fields = read_fields(request)
    try:
        outcome = write(request.workspace, read_text(request), source="user", **fields)
    except MemError as error:
        return show_new(request, describe(error))
    return request.build_address("memory", id=outcome.path, done=outcome.undo)


def save(request: Request) -> Page | str:
    """Change a memory or another file, unless it changed since it was shown."""
    try:
        file = open_unchanged(request)
        return save_text(request, file, build_text(request, file))
    except NotFoundError:
        raise
    except MemError as error:
        return show_edit(request, describe(error))


def save_task(request: Request) -> str:
    """Check or clear one checkbox."""
    file = open_unchanged(request)
    text = file.stored or ""
    before, body, after = text.rpartition(get_body(text))
    lines = body.split("\n")
    number = request.get_number("line")
    task = TASK.search(lines[number]) if number < len(lines) else None
    if task is None:
        raise ChangedError("This line has no checkbox")
    mark = "x" if task[1] == " " else " "
    start, end = task.span(1)
    lines[number] = lines[number][:start] + mark + lines[number][end:]
    address = save_text(request, file, before + "\n".join(lines) + after)
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
    before, body, entry = file.stored or "", read_text(request), file.entry
    if entry is None:
        return body.replace("\n", "\r\n") if "\r\n" in before else body
    after = before
    # A person who only adds a tag changes nothing in the text.
    if body.strip() != get_body(before).replace("\r\n", "\n").strip():
        after = replace_body(before, body.strip())
        if before.endswith("\n") and not after.endswith("\n"):
            after += "\n"
    shown = {"title": entry.title, "type": entry.type, "tags": tuple(entry.tags)}
    fields = read_fields(request).items()
    changes = {name: value for name, value in fields if value != shown[name]}
    return edit_entry(after, changes) if changes else after


def read_text(request: Request) -> str:
    # Browsers send the line ends of Windows.
    return request.form.get("text", "").replace("\r\n", "\n")


def read_fields(request: Request) -> dict[str, Any]:
    tags = read_tags(request.get("tags"))
    return {"title": request.get("title"), "type": request.get("type"), "tags": tags}
