"""A world of its own for every test: home, clock, randomness and a command to run."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import hypothesis
import pytest
from filelock import FileLock

from memcli.cli.app import run
from memcli.index import embeddings
from memcli.index.embedder import OnnxEmbedder, open_embedder
from tests.stage import Stage

if TYPE_CHECKING:
    from tests.team_server import TeamDatabase, TeamServer

NOW = "2026-11-21T20:15:03Z"
CHANGED = 1_795_262_400  # noon of 21 November 2026, UTC
# How long a draw or an example takes says how busy the machine is, not whether a property holds. A test that suppresses
# checks of its own replaces this list, so `too_slow` has to be in it too.
hypothesis.settings.register_profile(
    "any-machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any-machine")
FIXTURES = Path(__file__).parent.parent / "fixtures"
# A script that starts the tests behind it, or nohup, has them ignored, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each process that a test starts would compile mem anew: 0.3 s


@dataclass(frozen=True)
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """The tab-separated lines of stdout."""
        return [line.split("\t") for line in self.out.splitlines()]


class _Input(io.StringIO):
    """Standard input as a pipe of bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data.decode("utf-8", "replace"))
        self.buffer = io.BytesIO(data)


Mem = Callable[..., Ran]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of this run that all its workers have."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def model_cache(shared: Path) -> Path:
    """Give the cache in which the prepared copy of the model is made once for all tests."""
    return shared / "cache"


@pytest.fixture(scope="session")
def indexed(shared: Path, model_cache: Path) -> Path:
    """Embed the fixture workspace once for all; vectors are kept by text, so that a copy has them too."""
    root = shared / "year"
    with FileLock(shared / "year.lock"):
        if not root.exists():
            begun = shared / "begun"
            shutil.copytree(FIXTURES / "workspace", begun)
            for path in begun.rglob("*"):  # a file that states no date has that of its last change: a clone's is now
                os.utime(path, (CHANGED, CHANGED))
            environ = {**os.environ, "HOME": str(shared), "XDG_CACHE_HOME": str(model_cache)}
            command = [sys.executable, "-m", "memcli", "index", "--workspace", str(begun)]
            assert subprocess.run(command, env=environ, capture_output=True, check=False).returncode == 3
            begun.rename(root)
    return root


@pytest.fixture
def year(world: Path, monkeypatch: pytest.MonkeyPatch, indexed: Path, trusted: Callable[[Path], Path]) -> Path:
    """Stand in a copy of the indexed fixture workspace."""
    root = world / "year"
    shutil.copytree(indexed, root)
    monkeypatch.chdir(root)
    return trusted(root)


@pytest.fixture(scope="session", autouse=True)
def _one_model(model_cache: Path) -> Iterator[None]:
    """Let all commands of this process use one open model, as those that a warm process forks do."""
    opened: list[OnnxEmbedder] = []

    def opening(folder: Path | None, **options: Any) -> OnnxEmbedder:
        if folder is not None or options.get("provider", "cpu") != "cpu":
            return open_embedder(folder, **options)
        opened[:] = opened or [open_embedder(None, bulk=True, threads=1, cache=model_cache)]
        return opened[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embeddings, "open_embedder", opening)
        yield


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_cache: Path) -> Path:
    """Keep tests away from the real home and the real clock; give the folder they stand in."""
    home = tmp_path / "home"
    folder = tmp_path / "work"
    home.mkdir()
    folder.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "MEM_WORKSPACE", "EDITOR", "VISUAL", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(model_cache))
    monkeypatch.setenv("MEM_NOW", NOW)
    monkeypatch.setenv("MEM_WARM", "off")  # nor to the warm process of who develops mem
    monkeypatch.setenv("MEM_SEED", "test")
    monkeypatch.setenv("MEM_TIMEZONE", "UTC")
    monkeypatch.setenv("MEM_SEARCH_EMBED_BUDGET", "300")  # what is tested is not how busy the machine is
    monkeypatch.setenv("MEM_RECALL_EMBED_BUDGET", "300")
    monkeypatch.setenv("MEM_HOOKS_WITHIN", "60000")
    monkeypatch.setenv("MEM_WRITE_SOURCE", "user")  # tests write what a person would type at a terminal
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Give a place that a module furnishes once; its own `world` enters it."""
    return Stage(tmp_path_factory.mktemp("stage"))


@pytest.fixture
def mem(monkeypatch: pytest.MonkeyPatch) -> Mem:
    """Run a command in this process."""

    def ran(*arguments: str, stdin: str | bytes = b"") -> Ran:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", _Input(data))
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(list(arguments))
        return Ran(code, out.getvalue(), err.getvalue())

    return ran


@pytest.fixture
def trusted(mem: Mem) -> Callable[[Path], Path]:
    """Trust a workspace that no `mem init` made here; give it back."""

    def given(root: Path) -> Path:
        assert mem("trust", str(root)).code == 0
        return root

    return given


@pytest.fixture
def workspace(mem: Mem, world: Path) -> Path:
    """Give a new, empty workspace in the folder one stands in."""
    assert mem("init").code == 0
    return world / "memory"


@pytest.fixture
def spawn(world: Path) -> Callable[..., Ran]:
    """Run a command in a process of its own."""

    def ran(*arguments: str, stdin: bytes = b"", code: str = "", cwd: Path | None = None) -> Ran:
        command: Sequence[str] = ["-c", code] if code else ["-m", "memcli", *arguments]
        done = subprocess.run(
            [sys.executable, *command], input=stdin, capture_output=True, check=False, cwd=cwd or world
        )
        return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    return ran


@pytest.fixture(scope="session")
def team_server() -> "Iterator[TeamServer]":
    """Run a PostgreSQL server with pgvector for all tests of this process."""
    from tests import team_server

    if team_server.programs() is None:
        pytest.skip(team_server.NO_SERVER)
    with team_server.started() as server:
        team_server.prepared(server)
        yield server


@pytest.fixture
def team(team_server: "TeamServer") -> "TeamDatabase":
    """Give a new database with mem's tables, and nobody in it."""
    from tests.team_server import copied

    return copied(team_server, uuid4().hex)
