"""A machine of a test: a home, settings and a clone of a workspace."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.index.postgres import connection
from memcli.store.settings import set_in_file
from memcli.store.workspace import Surroundings, Workspace, find
from tests.conftest import NOW, Mem, Ran


class Machine:
    """Runs commands as somebody at one machine."""

    def __init__(
        self,
        name: str,
        dsn: str,
        mem: Mem,
        world: Path,
        monkeypatch: pytest.MonkeyPatch,
        clone_of: "Machine | None" = None,
    ) -> None:
        """Make a workspace, or an empty clone of one, which is trusted."""
        self.home, self.folder = world / f"{name}-home", world / name
        self._mem, self._monkeypatch = mem, monkeypatch
        self.now = NOW
        self.home.mkdir()
        self.folder.mkdir()
        self.root = self.folder / "memory"
        self.set_dsn(dsn)
        self.run("config", "set", "index.backend", "postgres")
        if clone_of is None:
            self.run("init")
        else:
            (self.root / "entries").mkdir(parents=True)
            (self.root / "mem.yaml").write_bytes((clone_of.root / "mem.yaml").read_bytes())
            assert self.run("trust").code == 0

    def put(self, name: str, text: str, *, animal: int = 0) -> None:
        """Write an entry as an editor would."""
        head = f"id: mem_{name.removesuffix('.md')}\ntype: fact\ncreated_at: 2026-11-20\ntags: [{'animal' * animal}]"
        (self.root / "entries").mkdir(exist_ok=True)
        (self.root / "entries" / name).write_text(f"---\n{head}\n---\n{text}\n")

    def set_dsn(self, dsn: str) -> None:
        """Name a server in the settings of the user."""
        file = self.home / ".config" / "mem" / "config.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        set_in_file(file, "index.dsn", dsn)
        connection.close_connection()

    def run(self, *arguments: str) -> Ran:
        """Run a command here."""
        self._monkeypatch.setenv("HOME", str(self.home))
        self._monkeypatch.setenv("MEM_NOW", self.now)
        self._monkeypatch.chdir(self.folder)
        return self._mem(*arguments)

    def opened(self) -> Workspace:
        """Open the workspace as a command would."""
        environ = {**os.environ, "HOME": str(self.home)}
        return find(Surroundings(self.folder, environ, datetime.now(UTC)))[0]
