"""The page around a view: its navigation, its forms, and the report of the last action."""

import re
from contextlib import suppress
from dataclasses import dataclass

from ..errors import MemError
from ..store import Record, find_log_folder, read_record
from .html import Content, Html, build_address, fill, fill_file, join, link
from .request import Request

# By the exit code of an error.
STATUSES = {2: 400, 4: 404, 5: 409, 6: 503, 75: 503}
TABS = ("memories", "review", "days", "changes", "insights")
DONE = {
    "write": "Saved",
    "edit": "Saved",
    "forget": "Forgotten",
    "restore": "Restored",
    "undo": "Undone",
    "older": "Kept the older memory",
    "newer": "Kept the newer memory",
    "both": "Kept both",
    "accept": "Saved",
    "reject": "Rejected",
}


@dataclass
class Page:
    """A view: its title and content."""

    title: str
    content: Content
    tab: str = ""
    status: int = 200
    is_part: bool = False  # the script replaces a part of the page with it


def render_page(request: Request, page: Page) -> str:
    """Return the whole document of a view."""
    if page.is_part:
        return join(page.content)
    return fill_file(
        "document",
        title=page.title,
        start=request.build_address("memories"),
        tabs=[render_tab(request, name, page.tab) for name in TABS],
        workspaces=render_workspaces(request),
        new=request.build_address("new"),
        done=render_done(request),
        content=page.content,
    )


def render_tab(request: Request, name: str, current: str) -> Html:
    mark = Html(' aria-current="page"') if name == current else None
    # The script asks for the number, because finding the questions takes a while.
    count = Html('<span id="pending"></span>') if name == "review" else None
    label = [name.capitalize(), count]
    return fill('<a href="{}"{}>{}</a>', request.build_address(name), mark, label)


def render_workspaces(request: Request) -> list[Html]:
    """Return the name of the workspace, and a link to the other one."""
    names = []
    for number, workspace in enumerate(request.workspaces):
        folder = workspace.root.parent if workspace.root.name == "memory" else workspace.root
        name = "Your own" if workspace.is_own else folder.name
        if number == request.number:
            names.append(fill('<b title="{}">{}</b>', str(workspace.root), name))
        else:
            names.append(link(build_address("memories", {"w": number}), name))
    return names


def link_memory(request: Request, name: str, text: str) -> Html:
    return link(request.build_address("memory", id=name), text)


def render_form(request: Request, action: str, content: Content, **values: str | int) -> Html:
    """Return a form that sends values to an action. It works without the script."""
    template = '<input type="hidden" name="{}" value="{}">'
    hidden = [fill(template, name, value) for name, value in values.items()]
    address = request.build_address(action)
    return fill('<form method="post" action="{}">{}{}</form>', address, hidden, content)


def render_button(request: Request, action: str, label: str, **values: str | int) -> Html:
    return render_form(request, action, fill("<button>{}</button>", label), **values)


def render_done(request: Request) -> Html | None:
    """Return what the last action did, with a button that reverts it."""
    folder = find_log_folder(request.workspace) if request.workspaces else None
    number = request.get_number("done")
    if not folder or not number:
        return None
    with suppress(OSError, ValueError):
        record = read_record(folder / f"{number}.json")
        button = None if record.is_purge else render_undo(request, record)
        template = '<div class="done" role="status"><p>{}</p>{}</div>'
        return fill(template, describe_record(record), button)
    return None


def describe_record(record: Record) -> str:
    """Return what a command did, and to which memory."""
    command = record.command
    text = record.summary or ", ".join(change.path for change in record.changes)
    if command == "review":
        # The summary starts with the answer.
        command, _, text = text.partition(": ")
    return f"{DONE.get(command, command.capitalize())}: {text}"


def render_undo(request: Request, record: Record) -> Html:
    label = "Redo" if record.undoes else "Undo"
    values = {"view": request.name, "id": request.get("id")}
    return render_button(request, "undo", label, number=record.number, **values)


def build_sheet(name: str, *content: Content) -> Page:
    """Return a page with a heading; if it is a view of the navigation, marked there."""
    body = fill('<div class="sheet"><h1>{}</h1>{}</div>', name, content)
    return Page(name, body, name.lower())


def build_error_page(request: Request, error: MemError) -> Page:
    back = link(request.build_address("memories", q=request.get("id")), "Search the memories")
    content = fill('<p class="problem">{}</p><p>{}</p>', describe(error), back)
    page = build_sheet("This did not work", content)
    page.status = get_status(error)
    return page


def get_status(error: MemError) -> int:
    return STATUSES.get(error.exit_code, 500)


def describe(error: MemError) -> str:
    """Return the message and the hint of an error as sentences."""
    sentences = ". ".join(filter(None, (error.message, error.hint)))
    # A path or an option at the start of a sentence stays as it is.
    return re.sub(r"(?:^|(?<=\. ))[a-z]+(?= )", lambda match: match[0].capitalize(), sentences)
