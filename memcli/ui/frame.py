"""A request of the browser, and the page around a view: navigation, forms, messages."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import MemError
from ..formats import build_digest
from ..index import Index, IndexedEntry, open_index
from ..search.names import NamedFile, find_named, get_named
from ..store import Record, Workspace, find_log_folder, read_file, read_record
from .html import Content, Html, build_address, fill, fill_file, join, link

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
class OpenFile:
    """A memory or another file that a view shows."""

    named: NamedFile
    index: Index
    shown: str  # the text, with secrets and forgotten passages masked
    stored: str | None  # the text on disk; a colleague's memory has none here

    @property
    def path(self) -> str:
        return self.named.path

    @property
    def entry(self) -> IndexedEntry | None:
        return self.named.entry

    @property
    def is_editable(self) -> bool:
        """Whether the page shows the whole text, so that it can be saved without a loss."""
        return self.path.endswith(".md") and self.stored == self.shown

    @property
    def digest(self) -> str:
        return build_digest((self.stored or "").encode("utf-8", "replace"))


@dataclass
class Request:
    """A request of the browser for a view or an action."""

    name: str
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] = field(default_factory=dict)
    workspaces: list[Workspace] = field(default_factory=list)
    # The server remembers how many questions each workspace has, and since when.
    counts: dict[Path, tuple[float, int]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The position of the chosen workspace."""
        number = self.get_number("w")
        return number if number < len(self.workspaces) else 0

    @property
    def workspace(self) -> Workspace:
        return self.workspaces[self.number]

    def get(self, name: str) -> str:
        """Return a value of the form, or else of the address."""
        return self.form.get(name, self.query.get(name, "")).strip()

    def get_number(self, name: str) -> int:
        text = self.get(name)
        return int(text) if text.isdecimal() and len(text) < 10 else 0

    def build_address(self, view: str, **values: Any) -> str:
        """Return the address of a view of the chosen workspace."""
        return build_address(view, {**values, "w": self.number})

    def open_file(self) -> OpenFile:
        """Return the file that `id` names, here or at a colleague's. Raises NotFoundError."""
        name = self.get("id")
        index = open_index(self.workspace)
        named = find_named(index, name)
        if named is None and self.workspace.settings["team.dsn"]:
            from ..team.search import open_named

            index = open_named(self.workspace, name) or index
        named = named or get_named(index, name)
        is_ours = index.workspace is self.workspace
        stored = read_file(self.workspace, named.path) if is_ours else None
        return OpenFile(named, index, index.read_text(named.path) or "", stored)


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
