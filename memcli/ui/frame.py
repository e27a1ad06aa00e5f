"""What all views share: the request, the page around a view, its forms, and the last change."""

from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from ..errors import (
    BusyError,
    MemError,
    NotFoundError,
    RejectedError,
    UnavailableError,
    UsageError,
)
from ..index.index import Index, open_index
from ..store.undo_log import Record, find_log_folder, read_record
from ..store.workspace import Workspace
from .html import Content, Html, build_address, element, link

SCAN_SECONDS = 2.0  # while somebody types; scanning 10,000 files takes 30 ms
STATUSES: dict[type[MemError], int] = {
    NotFoundError: 404,
    UsageError: 400,
    RejectedError: 409,
    BusyError: 503,
    UnavailableError: 503,
}
TABS = {
    "memories": "Memories",
    "review": "Review",
    "days": "Days",
    "changes": "Changes",
    "insights": "Insights",
}
DONE = {
    "write": "Saved",
    "edit": "Saved",
    "forget": "Forgotten",
    "restore": "Restored",
    "review": "Answered",
    "undo": "Undone",
}


@dataclass
class Request:
    """What the browser asks for."""

    name: str
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] = field(default_factory=dict)
    workspaces: list[Workspace] = field(default_factory=list)
    scans: dict[Any, float] = field(default_factory=dict)  # when each folder was last scanned

    @property
    def number(self) -> int:
        """The position of the chosen workspace."""
        text = self.query.get("w", "")
        return int(text) if text.isdecimal() and int(text) < len(self.workspaces) else 0

    @property
    def workspace(self) -> Workspace:
        return self.workspaces[self.number]

    def open_index(self, *, with_sessions: bool = True, is_typing: bool = False) -> Index:
        """Return the index, in step with the files. Between two letters no file is looked at."""
        root, now = self.workspace.root, monotonic()
        is_recent = is_typing and now - self.scans.get(root, 0.0) < SCAN_SECONDS
        if not is_recent:
            self.scans[root] = now
        return open_index(self.workspace, refresh_first=not is_recent, with_sessions=with_sessions)

    def get(self, name: str) -> str:
        return self.query.get(name, "").strip()

    def get_number(self, name: str) -> int:
        text = self.query.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 10 else 0

    def build_address(self, view: str, **values: Any) -> str:
        """Return the address of a view of the chosen workspace."""
        return build_address(view, {**values, "w": self.number})


@dataclass
class Page:
    """A view: its title and content."""

    title: str
    content: Content
    tab: str = ""
    status: int = 200
    is_part: bool = False  # the script replaces a part of the page with it


def render_frame(request: Request, page: Page) -> str:
    """Return the whole document of a view."""
    if page.is_part:
        return element("div", page.content)
    tabs = [
        link(request.build_address(name), label, aria_current="page" if name == page.tab else None)
        for name, label in TABS.items()
    ]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{page.title} · mem"),
        element("link", rel="icon", href="icon.svg"),
        element("link", rel="stylesheet", href="page.css"),
        element("script", src="page.js", defer=True),
    )
    body = element(
        "body",
        link("#main", "Skip to the content", class_="skip"),
        element(
            "header",
            link(request.build_address("memories"), "mem", class_="brand"),
            element("nav", tabs, aria_label="Views"),
            render_workspaces(request),
            link(request.build_address("new"), "New memory", class_="button primary"),
        ),
        element("main", render_done(request), page.content, id="main"),
        element("p", id="message", role="status"),
    )
    return f"<!doctype html>{element('html', head, body, lang='en')}"


def render_workspaces(request: Request) -> Html:
    """Return the name of the workspace, and a link to the other one."""
    names: list[Content] = []
    for number, workspace in enumerate(request.workspaces):
        folder = workspace.root.parent if workspace.root.name == "memory" else workspace.root
        name = "Your own" if workspace.is_own else folder.name
        if number == request.number:
            names.append(element("b", name, title=str(workspace.root)))
        else:
            names.append(link(build_address("memories", {"w": number}), name))
    return element("span", [element("span", name) for name in names], class_="workspaces")


def render_form(
    request: Request, action: str, *content: Content, class_: str = "", **values: Any
) -> Html:
    """Return a form that sends values to an action. It works without the script."""
    hidden = [
        element("input", type="hidden", name=name, value=value) for name, value in values.items()
    ]
    address = request.build_address(action)
    return element("form", hidden, content, method="post", action=address, class_=class_ or None)


def render_button(request: Request, action: str, label: str, **values: Any) -> Html:
    return render_form(request, action, element("button", label), class_="inline", **values)


def render_done(request: Request) -> Html | None:
    """Return what the last action did, with a button that reverts it."""
    folder = find_log_folder(request.workspace) if request.workspaces else None
    number = request.get_number("done")
    if not folder or not number:
        return None
    with suppress(OSError, ValueError):
        record = read_record(folder / f"{number}.json")
        label = DONE.get(record.command, record.command)
        button = None if record.is_purge else render_undo(request, record)
        return element("div", element("p", f"{label}: {record.summary}"), button, class_="done")
    return None


def render_undo(request: Request, record: Record) -> Html:
    label = "Redo" if record.undoes else "Undo"
    query = {key: value for key, value in request.query.items() if key != "done"}
    back = build_address(request.name, query)
    return render_button(request, "undo", label, number=record.number, back=back)


def build_error_page(request: Request, error: MemError) -> Page:
    content = [
        element("h1", "This did not work"),
        element("p", error.message, class_="problem"),
        element("p", error.hint) if error.hint else None,
        element("p", link(request.build_address("memories"), "Back to the memories")),
    ]
    return Page("Problem", element("div", content, class_="sheet"), status=get_status(error))


def get_status(error: MemError) -> int:
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)
