"""The server of the page. It answers this machine only, and only callers who know its address.

A page of another site can make a browser send requests here, and can let its own name lead to this
address. So every request needs our name as its host, no foreign origin, and a path that begins with
a random token. The token is part of the path and not a cookie, because browsers send a cookie to
every port of this machine.
"""

import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from glob import escape
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import add_type, guess_type
from pathlib import Path
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ..api import Context, MemError, NotFoundError, UsageError, add_gates, open_all
from ..store import locate
from .edit import (
    answer_question,
    forget_memory,
    open_in_editor,
    restore_memory,
    save,
    save_task,
    show_edit,
    show_new,
    show_pending,
    show_review,
    undo_command,
    write_memory,
)
from .html import Page, Request, build_error_page, get_kind, get_status, render_page
from .journal import show_changes, show_days, show_history, show_insights
from .memories import show_memories, show_memory

ADDRESS = "127.0.0.1"
MOST_BYTES = 4 << 20  # of a request
WAIT_SECONDS = 30  # for a caller that says nothing
STATIC = Path(__file__).with_name("static")
# Python 3.11 does not know it.
add_type("font/woff2", ".woff2")
FILES = {path.name: guess_type(path.name)[0] or "" for path in STATIC.iterdir()}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # With no-referrer, browsers would send no origin with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Type": "text/html; charset=utf-8",
}
PLAIN = {"Content-Type": "text/plain; charset=utf-8"}
# An image with a script must do nothing, also if it is opened alone.
IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
LARGEST_IMAGE = 32 << 20  # bytes


Image = tuple[bytes, str]
"""An image or PDF of the workspace, and its media type."""


def read_image(request: Request) -> Image:
    """Return an image of the workspace. Raises NotFoundError or OutsideError."""
    root, path = request.workspace.root, request.get("path")
    file = locate(root, path)
    if not file.is_file():
        # Obsidian finds an image by its name alone.
        for other in root.rglob(escape(file.name)):
            if other.is_file():
                file = locate(root, other.relative_to(root).as_posix())
    # Nothing else, so that the address of a picture cannot show the text of another file unmasked.
    kind = get_kind(path)
    if not kind or not file.is_file() or file.stat().st_size > LARGEST_IMAGE:
        raise NotFoundError(f"no image {path!r}")
    return file.read_bytes(), kind


View = Callable[[Request], Page | Image | str]
"""A view returns what to show; an action returns the address to show next."""
Answer = tuple[int, bytes, dict[str, str]]
"""The status, body and headers that are sent to the browser."""
VIEWS: dict[str, View] = {
    "memories": show_memories,
    "memory": show_memory,
    "edit": show_edit,
    "new": show_new,
    "history": show_history,
    "review": show_review,
    "pending": show_pending,
    "file": read_image,
    "days": show_days,
    "changes": show_changes,
    "insights": show_insights,
}
ACTIONS: dict[str, View] = {
    "save": save,
    "task": save_task,
    "write": write_memory,
    "forget": forget_memory,
    "restore": restore_memory,
    "answer": answer_question,
    "undo": undo_command,
    "open": open_in_editor,
}


class RefusedError(Exception):
    """A request that is not answered: a status and the reason."""


class PageServer(ThreadingHTTPServer):
    """Serves the page of the workspaces of a context."""

    daemon_threads = True

    def __init__(self, context: Context, port: int = 0) -> None:
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            raise UsageError(
                f"cannot listen on port {port}: {error.strerror}", "leave out --port"
            ) from None
        self.context = context
        self.token = token_urlsafe(24)
        self.ticket = token_urlsafe(24)
        self.host = f"{ADDRESS}:{self.server_port}"
        self.names = (self.host, f"localhost:{self.server_port}")
        self.lock = threading.Lock()  # one person looks at one view at a time

    @property
    def url(self) -> str:
        return f"http://{self.host}/{self.token}/"

    @property
    def url_for_browser(self) -> str:
        """An address that works once. Other users see the arguments of a program that starts."""
        return f"http://{self.host}/open/{self.ticket}"

    def call_view(self, view: View, request: Request) -> Answer:
        """Call a view or an action with the workspaces as they are now, and close them."""
        with self.lock, ExitStack() as cleanups:
            # A person answers questions on the page, also if a script has started the server.
            context = self.context._replace(cleanups=cleanups, is_terminal=True)
            request.workspaces = [add_gates(workspace) for workspace in open_all(context)]
            return build_answer(view, request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A browser hangs up when another letter was typed.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: PageServer
    timeout = WAIT_SECONDS
    wbufsize = -1  # one packet instead of two, for the second of which Linux waits 40 ms
    server_version, sys_version = "mem", ""

    def do_GET(self) -> None:
        self.answer(self.get)

    def do_POST(self) -> None:
        self.answer(self.post)

    def log_message(self, *_: Any) -> None:
        """Print nothing: the terminal belongs to the user."""

    def answer(self, function: Callable[[str, dict[str, str]], None]) -> None:
        try:
            self.check_caller()
            parts = urlsplit(self.path)
            function(self.check_token(parts.path), dict(parse_qsl(parts.query, errors="replace")))
        except RefusedError as error:
            status, reason = error.args
            self.send(status, f"{reason}\n".encode(), PLAIN)
        except Exception:
            self.send(500, b"This is a bug. The terminal shows it.\n", PLAIN)
            raise

    def check_caller(self) -> None:
        """Refuse other sites. Raises RefusedError."""
        if self.headers.get("Host") not in self.server.names:
            raise RefusedError(421, "this is not the name of the page")
        origin = self.headers.get("Origin")
        is_foreign = origin is not None and origin.removeprefix("http://") not in self.server.names
        site = self.headers.get("Sec-Fetch-Site", "none")
        # A link to the page in another program is fine. It has the token.
        is_opened = self.command == "GET" and self.headers.get("Sec-Fetch-Mode") == "navigate"
        if is_foreign or not (site in ("none", "same-origin") or is_opened):
            raise RefusedError(403, "another site asks")
        # Every browser sends the origin of a form.
        if self.command == "POST" and origin is None:
            raise RefusedError(403, "not sent by the page")

    def check_token(self, path: str) -> str:
        """Return the name behind the token, empty for the first view. Raises RefusedError."""
        first, _, name = path.removeprefix("/").partition("/")
        ticket = self.server.ticket
        # compare_digest takes the same time for each guess. It compares only ASCII texts or bytes.
        if first == "open" and ticket and compare_digest(name.encode(), ticket.encode()):
            self.server.ticket = ""
            return ""
        if not compare_digest(first.encode(), self.server.token.encode()):
            raise RefusedError(403, "open the address that mem ui printed")
        return name

    def get(self, name: str, query: dict[str, str]) -> None:
        if not name:
            self.send(303, b"", {"Location": f"/{self.server.token}/memories"})
        elif name in FILES:
            # The token, and with it the address, is new in each run.
            headers = {"Cache-Control": "private, max-age=31536000, immutable"}
            headers["Content-Type"] = FILES[name]
            self.send(200, STATIC.joinpath(name).read_bytes(), headers)
        elif name in VIEWS:
            self.show(VIEWS[name], Request(name, query))
        else:
            raise RefusedError(404, "no such page")

    def post(self, name: str, query: dict[str, str]) -> None:
        if name not in ACTIONS:
            raise RefusedError(404, "no such action")
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > MOST_BYTES:
            raise RefusedError(413, "too long for the page: edit the file")
        body = self.rfile.read(int(size)).decode("utf-8", "replace")
        form = dict(parse_qsl(body, keep_blank_values=True, errors="replace"))
        self.show(ACTIONS[name], Request(name, {**query, **form}))

    def show(self, view: View, request: Request) -> None:
        """Send what a view or an action returns."""
        try:
            status, body, headers = self.server.call_view(view, request)
        except MemError as error:  # there is no workspace any more
            raise RefusedError(get_status(error), f"{error.message}\n{error.hint}") from None
        self.send(status, body, headers)

    def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def build_answer(view: View, request: Request) -> Answer:
    """Call a view or an action, and return the answer to the browser."""
    try:
        result = view(request)
    except MemError as error:
        result = build_error_page(request, error)
    if isinstance(result, str):
        return 303, b"", {"Location": result}
    if isinstance(result, tuple):
        data, kind = result
        headers = {"Content-Type": kind, "Content-Security-Policy": IMAGE_POLICY}
        return 200, data, headers
    seconds = result.cache_seconds
    headers = {"Cache-Control": f"private, max-age={seconds}"} if seconds else {}
    return result.status, render_page(request, result).encode("utf-8", "replace"), headers
