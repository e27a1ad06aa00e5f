"""`mem demo` shows the main job in short lines, and leaves nothing behind."""

import re
import tempfile
from pathlib import Path

import pytest

from tests.helpers import run_mem

SCREEN = 80


def test_the_demo_shows_the_main_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    code, output, messages = run_mem(tmp_path, "demo")
    assert (code, messages) == (0, "")
    assert max(map(len, output.splitlines())) <= SCREEN
    commands = re.findall(r"(?m)^\$ mem (\w+)", output)
    assert set(commands) == {"init", "write", "search", "forget", "undo", "read"}
    first_hit, second_hit, rest = re.split(r"-n 1\n|agent\$ make deploy\n", output)[-3:]
    assert first_hit.startswith("Staging runs on port 6543.")
    assert second_hit.startswith("Staging runs on port 7654.")
    assert "Always run make lint before make deploy.</memory>" in rest.replace("\n  ", " ")
    assert "mem: no match" in rest
    assert "Undone 4 (forget): Always run make lint" in rest
    assert not list((tmp_path / "temporary").iterdir())
    assert not (tmp_path / "home").exists()


def test_the_demo_as_json_has_the_output_of_each_command(tmp_path: Path) -> None:
    output = run_mem(tmp_path, "demo", "--json", "command,output")[1]
    assert output.startswith('{"steps": [{"command": "mem init", "output": "Created memory/')
