"""Where hnswlib could not be compiled there is no graph to test, and all else must still pass."""

import os
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.index import embeddings
from memcli.index.hnsw import graph_available
from memcli.store.workspace import Surroundings, Workspace, opened
from tests.fakes import CountingEmbedder
from tests.index.permissions import reopen

collect_ignore = [] if graph_available() else ["test_graph.py"]


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> CountingEmbedder:
    """Put an embedder that counts in the place of the model."""
    counting = CountingEmbedder()
    monkeypatch.setattr(embeddings, "open_embedder", lambda *args, **options: counting)
    monkeypatch.setattr(embeddings, "built_in_name", lambda: counting.model)
    return counting


@pytest.fixture
def here(workspace: Path) -> Workspace:
    """Open the new workspace as a command would."""
    return opened(Surroundings(workspace.parent, os.environ, datetime.now(UTC)), workspace)


Put = Callable[..., Path]


@pytest.fixture
def put(workspace: Path) -> Put:
    """Give a function that writes a file below the entries, as an editor would."""

    def writing(name: str, text: str | bytes = "a text of its own\n") -> Path:
        path = workspace / "entries" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return writing


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder that others than its maker can reach, which pytest's own is not, as home and place to stand in."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("HOME", name)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        yield folder
        reopen(folder)
