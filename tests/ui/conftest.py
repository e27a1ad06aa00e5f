"""The page as its server answers it, and as a browser shows it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memcli.api.workspace import open_workspaces
from memcli.ui.server import TOKEN, application

PORT, SECRET = 4321, "the-token-of-the-run"
ORIGIN = f"http://127.0.0.1:{PORT}"


class Page:
    """The page without a browser: what it asks for, as it asks for it."""

    def __init__(self) -> None:
        self.client = TestClient(application(open_workspaces, PORT, SECRET), base_url=ORIGIN)
        self.headers = {TOKEN: SECRET, "origin": ORIGIN}

    def view(self, name: str, code: int = 200, **query: str) -> str:
        """Return a view as HTML."""
        answer = self.client.get(f"/view/{name}", params=query, headers=self.headers)
        assert answer.status_code == code, answer.text
        return str(answer.text)

    def act(self, name: str, code: int = 200, **body: Any) -> Any:
        """Return what an action did."""
        headers = {**self.headers, "content-type": "application/json"}
        answer = self.client.post(f"/do/{name}", content=json.dumps(body), headers=headers)
        assert answer.status_code == code, answer.text
        return answer.json() if "json" in answer.headers["content-type"] else answer.text


@pytest.fixture
def page(workspace: Path) -> Page:
    """Give the page of an empty workspace."""
    return Page()


@pytest.fixture
def keep(mem: Any, workspace: Path) -> Callable[..., str]:
    """Give a function that keeps a memory and returns its id."""

    def kept(text: str, *words: str) -> str:
        identifier: str = mem("write", text, "--no-dedup", "--json", *words).json["id"]
        return identifier

    return kept


@pytest.fixture
def file_of(workspace: Path) -> Callable[[str], Path]:
    """Give a function that returns the file of the one memory with some words."""

    def found(words: str) -> Path:
        (path,) = [path for path in workspace.rglob("*.md") if words in path.read_text(encoding="utf-8")]
        return path

    return found
