"""Who may ask: the page of this run alone, and no other page, name or program."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from tests.conftest import Ran
from tests.ui.conftest import ORIGIN, SECRET, Page

TOKEN = {"x-mem-token": SECRET}
JSON = {"content-type": "application/json"}
FROM_THE_PAGE = {**TOKEN, **JSON, "origin": ORIGIN}


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 200),
        ("GET", "/static/page.js", {}, 200),
        ("GET", "/static/..%2Fserver.py", {}, 404),
        ("GET", "/static/%2Fetc%2Fpasswd", {}, 404),
        ("POST", "/", FROM_THE_PAGE, 405),
        ("GET", "/view/memories", TOKEN, 200),
        ("GET", "/view/memories", {}, 403),
        ("GET", "/view/memories", {"x-mem-token": "wrong"}, 403),
        ("GET", "/view/memories", {"x-mem-token": "gült"}, 403),
        ("GET", "/view/memories", {**TOKEN, "host": "evil.example:4321"}, 421),
        ("GET", "/", {"host": "evil.example:4321"}, 421),
        ("GET", "/view/memories", {**TOKEN, "host": "127.0.0.1:80"}, 421),
        ("GET", "/view/memories", {**TOKEN, "host": "localhost:4321"}, 200),
        ("GET", "/view/memories", {**TOKEN, "origin": "http://evil.example"}, 403),
        ("GET", "/view/memories", {**TOKEN, "origin": "null"}, 403),
        ("GET", "/view/memories", {**TOKEN, "sec-fetch-site": "cross-site"}, 403),
        ("GET", "/view/memories", {**TOKEN, "sec-fetch-site": "same-site"}, 403),
        ("GET", "/view/none", TOKEN, 404),
        ("POST", "/do/forget", FROM_THE_PAGE, 400),
        ("POST", "/do/none", FROM_THE_PAGE, 404),
        ("POST", "/do/forget", {**TOKEN, **JSON}, 403),
        ("POST", "/do/forget", {**JSON, "origin": ORIGIN}, 403),
        ("POST", "/do/forget", {**TOKEN, "origin": ORIGIN, "content-type": "text/plain"}, 403),
        ("POST", "/do/forget", {**FROM_THE_PAGE, "origin": "http://evil.example"}, 403),
        ("POST", "/view/memories", FROM_THE_PAGE, 405),
        ("GET", "/do/forget", TOKEN, 405),
    ],
)
def test_only_the_page_of_this_run_is_answered(
    page: Page, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    given = {name: value.encode() for name, value in headers.items()}
    answer = page.client.request(method, path, headers=given, content=b"{}" if method == "POST" else None)
    assert answer.status_code == status, answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"ids": [1]}',
        b'{"ids": []}',
        b'{"w": "7"}',
        b'{"ids": ["\\ud800"]}',
        b"[" * 200_000,
    ],
)
def test_what_is_no_request_of_the_page_is_refused_and_changes_nothing(page: Page, body: bytes) -> None:
    answer = page.client.post("/do/forget", content=body, headers=FROM_THE_PAGE)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]


def test_a_request_that_is_too_long_is_not_read(page: Page) -> None:
    answer = page.client.post("/do/save", content=b" " * (5 << 20), headers=FROM_THE_PAGE)
    assert answer.status_code == 413
    streamed = page.client.post("/do/save", content=iter([b"{}"]), headers=FROM_THE_PAGE)
    assert streamed.status_code == 413


def test_no_template_and_no_page_has_script_or_style_of_its_own() -> None:
    folder = Path(__file__).parents[2] / "memcli" / "ui"
    for file in (*folder.glob("templates/*.html"), folder / "static" / "index.html"):
        text = file.read_text(encoding="utf-8")
        assert not {part for part in ("<style", " style=", " onclick=", "javascript:", "|safe") if part in text}, file
        assert text.count("<script") == text.count('<script type="module" src="/static/')


class Run:
    """A `mem ui` of its own."""

    def __init__(self, *words: str, **options: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memcli", "ui", "--no-open", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()

    def end(self) -> tuple[int, str]:
        """Return how it ended, and what it said."""
        _, told = self.process.communicate(timeout=20)
        return self.process.returncode, told


@pytest.fixture
def run(workspace: Path) -> Iterator[type[Run]]:
    """Give what starts the page as a process, and see to it that none is left."""
    runs: list[Run] = []

    class Noted(Run):
        def __init__(self, *words: str, **options: Any) -> None:
            super().__init__(*words, **options)
            runs.append(self)

    yield Noted
    for each in runs:
        each.process.kill()
        each.process.communicate()


def test_it_listens_to_this_machine_alone_and_ends_cleanly_at_ctrl_c(run: type[Run]) -> None:
    started = run()
    port = int(started.url.split(":")[2].split("/")[0])
    assert started.url.startswith("http://127.0.0.1:")
    assert len(started.url.split("#token=")[1]) >= 32
    with socket.create_connection(("127.0.0.1", port), 5):
        pass
    with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.2", port), 5):
        pass
    started.process.send_signal(signal.SIGINT)
    code, told = started.end()
    assert code == 0
    assert told == "mem: Ctrl-C ends the page\nmem: the page has ended\n"


def test_the_workspaces_are_those_of_its_start_whatever_is_made_meanwhile(
    run: type[Run], mem: Any, spawn: Any, workspace: Path
) -> None:
    mem("write", "The port is 8443.")
    inside = workspace.parent / "inside"
    inside.mkdir()
    started = run(cwd=inside)
    assert spawn("init", cwd=inside).code == 0
    address, token = started.url.split("/#token=")
    answer = httpx.get(f"{address}/view/memories", headers={"x-mem-token": token})
    assert "The port is 8443." in answer.text


def test_it_ends_when_nobody_asks(run: type[Run]) -> None:
    begun = monotonic()
    code, told = run("--idle", "1s").end()
    assert code == 0
    assert told.endswith("mem: the page has ended\n")
    assert monotonic() - begun < 15


def test_a_port_that_is_taken_is_told_in_one_line(spawn: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ran: Ran = spawn("ui", "--demo", "--no-open", "--port", port)
    assert ran.code == 2
    assert ran.err == f"mem: port {port} is taken: leave out --port for one that is free\n"


def test_without_its_extra_it_says_what_to_install(spawn: Any, workspace: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\nfrom memcli.cli.app import run\nsys.exit(run(['ui', '--no-open']))"
    )
    ran: Ran = spawn(code=code)
    assert ran.code == 6
    assert ran.err == "mem: what serves the page is not installed (uvicorn): run `pip install 'memcli[ui]'`\n"


def test_without_a_browser_the_address_is_printed(run: type[Run], monkeypatch: pytest.MonkeyPatch, world: Path) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    process = subprocess.run(
        [sys.executable, "-m", "memcli", "ui", "--idle", "1s"], capture_output=True, text=True, check=True, cwd=world
    )
    assert process.stdout.startswith("http://127.0.0.1:")
    assert "no browser could be started: open the address above" in process.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_sample_touches_nothing_of_the_persons_and_is_gone_afterwards(
    run: type[Run], world: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    scratch = world / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    stood = sorted(world.parent.rglob("*"))
    started = run("--demo")
    assert list(scratch.glob("mem-demo-*/bakery/memory/entries/**/*.md"))
    started.process.send_signal(number)
    assert started.end()[0] == 0
    assert sorted(world.parent.rglob("*")) == stood


def test_questions_at_once_and_changes_between_them_are_all_answered(page: Page, workspace: Path) -> None:
    folder = workspace / "entries" / "2026-11"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(40):
        (folder / f"{number}.md").write_text(
            f"---\nid: mem_01kb00000000{number:04}\n---\n\nNumber {number} is known.\n"
        )

    def ask(number: int) -> int:
        (folder / f"{number}.md").write_text(f"---\nid: mem_01kb00000000{number:04}\n---\n\nNumber {number} is new.\n")
        if number % 4 == 0:
            return int(page.act("save", text=f"Said at once, {number}.")["undo"])
        return len(page.view(("memories", "waiting", "inbox")[number % 3], q="number"))

    with page.client, ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(40)))
    assert "50 memories" in page.view("memories")
