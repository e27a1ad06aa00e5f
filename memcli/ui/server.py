"""The server of the page: it answers this machine alone, and only who has the token of the run.

A page of another site can make a browser send requests here, and can give its own name this address: so every request
needs our name as its host, no foreign origin, and for all that memory says a token that only the page's address holds.
"""

import json
import socket
from asyncio import Lock
from collections.abc import Callable, Mapping
from errno import EADDRINUSE
from functools import partial
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from threading import Event, Thread
from time import monotonic
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..api.workspace import Workspace
from ..errors import BusyError, MemError, NotFoundError, RefusedError, UsageError
from .actions import ACTIONS, ChangedMeanwhile
from .views import VIEWS, Asked, rendered

ADDRESS = "127.0.0.1"
TOKEN = "x-mem-token"
MOST_BYTES = 4 << 20
"""Of a request."""
STATIC = Path(__file__).with_name("static")
_CHANGES = "changes of memory"
_OPEN = ("/", "/static/")
"""What is served without a token: the page before it knows anything."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATUSES = {NotFoundError: 404, RefusedError: 409, UsageError: 400, BusyError: 503}

Open = Callable[[], list[Workspace]]
"""Opens the workspaces of the page, as they are now."""


class Door:
    """Lets in who asks from the page of this run, and puts on every answer what a browser may do with it."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        """Stand before an application that listens at a port."""
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}".removesuffix(":80") for name in (ADDRESS, "localhost")}
        self.last_request = monotonic()

    def refusal(self, headers: Mapping[str, str], path: str, method: str) -> tuple[int, str]:
        """Return the status and the reason with which a request is turned away; 0 for one that is let in."""
        origin = headers.get("origin", "")
        if headers.get("host", "") not in self._hosts:
            return 421, "this is not the name of the page"
        if origin and origin.removeprefix("http://") not in self._hosts:
            return 403, "another site asks"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and path != "/":
            return 403, "another site asks"
        if path == "/" or path.startswith(_OPEN[1]):
            return (0, "") if method in ("GET", "HEAD") else (405, "only to be read")
        if not compare_digest(headers.get(TOKEN, "").encode(), self._token.encode()):
            return 403, "open the address that `mem ui` printed: the page has no token of this run"
        if method == "POST":
            size = headers.get("content-length", "")
            if not origin or headers.get("content-type", "") != "application/json":
                return 403, "not sent by the page"
            if not size.isdecimal() or int(size) > MOST_BYTES:
                return 413, f"more than {MOST_BYTES >> 20} MB: change so long a text in an editor"
        return 0, ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or turn it away."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        if scope["type"] != "http":  # there are no web sockets, which would be refused there
            await self._app(scope, receive, send)
            return
        status, reason = self.refusal(Headers(scope=scope), scope["path"], scope["method"])
        if status:
            await _refused(status, reason)(scope, receive, send_guarded)
            return
        self.last_request = monotonic()
        await self._app(scope, receive, send_guarded)
        self.last_request = monotonic()


def application(open_now: Open, port: int, token: str) -> Door:
    """Return the application, which answers what is asked for one thing after the other: one person sits before it."""
    turns: dict[str, Lock] = {name: Lock() for name in (*VIEWS, _CHANGES)}

    async def serve(request: Request) -> Response:
        body = await request.body() if request.method == "POST" else b""
        name = _CHANGES if request.method == "POST" else request.path_params["name"]
        async with turns.get(name, turns[_CHANGES]):
            if name != _CHANGES and await request.is_disconnected():  # another letter was typed meanwhile
                return Response(status_code=499)
            return await run_in_threadpool(partial(answer, open_now, request, body))

    routes = [
        Route("/", partial(_static, name="index.html")),
        Route("/static/{name}", _static),
        Route("/view/{name}", serve, methods=["GET"]),
        Route("/do/{name}", serve, methods=["POST"]),
    ]
    return Door(Starlette(routes=routes), port, token)


def answer(open_now: Open, request: Request, body: bytes) -> Response:
    """Return a view as HTML, or what an action did as JSON; an error of the user's world says what mends it."""
    name = request.path_params["name"]
    try:
        opened = open_now()
        if request.method == "GET":
            if name not in VIEWS:
                raise NotFoundError(f"no view {name!r}")
            asked = Asked(opened, dict(request.query_params))
            return _html(rendered(asked, name))
        values = _values(body)
        if name not in ACTIONS:
            raise NotFoundError(f"no action {name!r}")
        texts = {key: value for key, value in values.items() if isinstance(value, str)}
        return _json(ACTIONS[name](Asked(opened, texts, values)))
    except ChangedMeanwhile as conflict:
        return _html(conflict.html, 409)
    except MemError as error:
        status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)
        return _refused(status, error.message, error.fix)


def _values(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        raise UsageError("the request is no JSON") from None
    if not isinstance(values, dict):
        raise UsageError("the request is no JSON object")
    return values


def _html(text: str, status: int = 200) -> Response:
    return Response(text.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8")


def _json(document: Mapping[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(document), status, media_type="application/json")


def _refused(status: int, message: str, fix: str = "") -> Response:
    return _json({"error": message, "fix": fix}, status)


async def _static(request: Request, name: str = "") -> Response:
    file = STATIC / Path(name or request.path_params["name"]).name
    return FileResponse(file) if file.is_file() else _refused(404, "no such file")


class PageServer:
    """A server that listens, and the address of its page."""

    def __init__(self, open_now: Open, port: int = 0) -> None:
        """Listen at a port of this machine, 0 for one that is free; raise UsageError where it is taken."""
        # Named, or asyncio would not know it for TCP: each answer would wait 40 ms for an acknowledgement of its head.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((ADDRESS, port))
        except OSError as error:
            self._socket.close()
            why = "is taken" if error.errno == EADDRINUSE else f"cannot be had ({error.strerror})"
            raise UsageError(f"port {port} {why}", "leave out --port for one that is free") from None
        self._server: uvicorn.Server | None = None
        self._token = token_urlsafe(24)
        self.port = self._socket.getsockname()[1]
        self._door = application(open_now, self.port, self._token)

    @property
    def url(self) -> str:
        """Return the address to open; what stands behind `#` no server and no other page is sent."""
        return f"http://{ADDRESS}:{self.port}/#token={self._token}"

    def stop(self) -> None:
        """Have `serve` come to its end."""
        if self._server:
            self._server.should_exit = True

    def serve(self, idle: float, ready: Callable[[], object] = lambda: None) -> None:
        """Answer until nothing was asked for so many seconds, or this is interrupted."""
        config = uvicorn.Config(
            self._door,
            log_level="error",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=10,  # what is being written is finished
        )
        self._server = server = uvicorn.Server(config)
        is_over = Event()

        def watch() -> None:
            while not server.started and not is_over.wait(0.02):
                pass
            ready()
            while not is_over.wait(min(1, idle / 4)):
                server.should_exit |= monotonic() - self._door.last_request > idle

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass
        finally:
            is_over.set()
            self._socket.close()
