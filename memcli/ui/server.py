"""The server of the page. It answers this machine only, and only callers who know its address.

A page of another site can make a browser send requests here, and can let its own name lead to this
address. So every request needs our name as its host, no foreign origin, and a path that begins with
a random token. The token is part of the path and not a cookie, because browsers send a cookie to
every port of this machine.
"""

import sys
import threading
from collections.abc import Callable
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ..api import add_gates, open_all
from ..context import Context
from ..errors import MemError, UsageError
from .actions import ACTIONS
from .frame import Page, Request, build_error_page, get_status, render_frame
from .views import VIEWS, read_image

ADDRESS = "127.0.0.1"
MOST_BYTES = 4 << 20  # of a request
WAIT_SECONDS = 30  # for a caller that says nothing
STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # With no-referrer, browsers would send no origin with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# An image with a script must do nothing, also if it is opened alone.
IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class RefusedError(Exception):
    """A request that is not answered: a status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


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
        self.scans: dict[Any, float] = {}
        self.lock = threading.Lock()  # one person looks at one view at a time

    @property
    def url(self) -> str:
        return f"http://{self.host}/{self.token}/"

    @property
    def url_for_browser(self) -> str:
        """An address that works once. Other users see the arguments of a program that starts."""
        return f"http://{self.host}/open/{self.ticket}"

    def run(self, function: Callable[[Request], Any], request: Request) -> Any:
        """Call a function with the workspaces as they are now, and close them."""
        cleanups: list[Callable[[], None]] = []
        with self.lock:
            context = self.context._replace(cleanups=cleanups)
            try:
                request.scans = self.scans
                request.workspaces = [add_gates(workspace) for workspace in open_all(context)]
                return function(request)
            finally:
                for workspace in request.workspaces:
                    embedder = workspace.resources.get("embedder")
                    if embedder is not None:
                        self.context = self.context._replace(embedder=embedder)
                for cleanup in cleanups:
                    cleanup()

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
            query = dict(parse_qsl(parts.query, errors="replace"))
            function(self.check_token(parts.path), query)
        except RefusedError as error:
            self.send(error.status, f"{error}\n".encode(), "text/plain; charset=utf-8")
        except Exception as error:
            if not isinstance(error, ConnectionError):
                self.send(500, b"This is a bug. The terminal shows it.\n", "text/plain")
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
        """Return the name behind the token. Raises RefusedError."""
        first, _, name = path.removeprefix("/").partition("/")
        ticket = self.server.ticket
        if first == "open" and ticket and compare_digest(name.encode(), ticket.encode()):
            self.server.ticket = ""
            return self.server.url
        if not compare_digest(first.encode(), self.server.token.encode()):
            raise RefusedError(403, "open the address that mem ui printed")
        return name

    def get(self, name: str, query: dict[str, str]) -> None:
        if name in ("", self.server.url):
            self.redirect(f"/{self.server.token}/memories")
        elif name in STATIC:
            data = Path(__file__).with_name("static").joinpath(name).read_bytes()
            # The token, and with it the address, is new in each run.
            self.send(200, data, STATIC[name], {"Cache-Control": "private, max-age=86400"})
        elif name == "file":
            self.send_image(query)
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
        self.show(ACTIONS[name], Request(name, query, form))

    def show(self, function: Callable[[Request], Page | str], request: Request) -> None:
        """Send the page that a function returns, or redirect to the address that it returns."""

        def build(request: Request) -> tuple[int, str]:
            try:
                page = function(request)
            except MemError as error:
                page = build_error_page(request, error)
            if isinstance(page, str):
                return 303, page
            return page.status, render_frame(request, page)

        try:
            status, text = self.server.run(build, request)
        except MemError as error:  # there is no workspace any more
            raise RefusedError(get_status(error), f"{error.message}\n{error.hint}") from None
        if status == 303:
            return self.redirect(text)
        return self.send(status, text.encode("utf-8", "replace"), "text/html; charset=utf-8")

    def send_image(self, query: dict[str, str]) -> None:
        try:
            data, kind = self.server.run(read_image, Request("file", query))
        except MemError as error:
            raise RefusedError(get_status(error), error.message) from None
        self.send(200, data, kind, {"Content-Security-Policy": IMAGE_POLICY})

    def redirect(self, address: str) -> None:
        self.send(303, b"", "text/plain", {"Location": address})

    def send(
        self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        values = {"Content-Type": kind, "Content-Length": str(len(body)), **HEADERS}
        for name, value in {**values, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
