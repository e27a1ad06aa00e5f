"""A page that is served, and a client that talks to it as a browser does."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from memcli.context import Context
from memcli.store.workspace import Workspace
from memcli.ui.server import PageServer
from tests.helpers import make_context, make_workspace


class Client:
    """Sends requests as a browser does, unless told otherwise."""

    def __init__(self, server: PageServer) -> None:
        self.server = server
        self.base = f"/{server.token}/"

    def send(
        self, path: str, form: dict[str, str] | None = None, /, **headers: str | None
    ) -> tuple[int, str, dict[str, str]]:
        """Return the status, text and headers of the answer to a path, or to a form."""
        values = {"Host": self.server.host, "Sec_Fetch_Site": "same-origin", **headers}
        body = None
        if form is not None:
            values = {"Origin": f"http://{self.server.host}", **values}
            body = urlencode(form)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=20)
        clean = {name.replace("_", "-"): value for name, value in values.items() if value}
        connection.request("GET" if form is None else "POST", path, body, clean)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, text, dict(answer.headers)

    def get(self, view: str) -> str:
        status, text, _ = self.send(self.base + view)
        assert status == 200, text
        return text

    def post(self, action: str, form: dict[str, str]) -> str:
        """Return the address to which an action leads."""
        status, text, headers = self.send(self.base + action, form)
        assert status == 303, text
        return headers["Location"]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@contextmanager
def serve(context: Context) -> Iterator[Client]:
    """Serve the page of a context in a thread."""
    server = PageServer(context)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield Client(server)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def client(workspace: Workspace) -> Iterator[Client]:
    with serve(make_context(workspace.root.parent)) as client:
        yield client
