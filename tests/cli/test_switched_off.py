"""Memory that is switched off keeps, finds and recalls nothing, through whatever door."""

import json
from pathlib import Path

import pytest

from tests.conftest import Mem

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(params=["workspace", "user", "environment"])
def off(request: pytest.FixtureRequest, mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a workspace with a memory, switched off in one of the three places."""
    (workspace / "MEMORY.md").write_text("The staging port is 8080.\n")
    assert mem("write", "The staging port is 8080.", "--no-dedup").code == 0
    if request.param == "environment":
        monkeypatch.setenv("MEM_MEMORY_ENABLED", "off")
    else:
        assert mem("config", "set", "memory.enabled", "false", *["--user"][: request.param == "user"]).code == 0
    return workspace


@pytest.mark.parametrize("name", EVENTS)
def test_a_hook_does_nothing_at_all(mem: Mem, off: Path, name: str) -> None:
    before = files(off)
    told = {"prompt": "Remember this: the port is 9090.", "last_assistant_message": "Done.", "source": "startup"}
    event = {"hook_event_name": name, "session_id": "s", "cwd": str(off.parent), **told}
    assert mem("hook", "run", "claude-code", stdin=json.dumps(event)).out == ""
    assert files(off) == before


@pytest.mark.parametrize(
    "words",
    [
        ("write", "The port is 9090."),
        ("note", "The port is 9090."),
        ("search", "port"),
        ("recall", "which port"),
        ("consolidate", "--all"),
        ("promote", "--auto"),
        ("ls",),
        ("mcp",),
        ("memory-tool",),
    ],
)
def test_a_command_says_that_memory_is_off_and_how_to_switch_it_on(mem: Mem, off: Path, words: tuple[str, ...]) -> None:
    before = files(off)
    ran = mem(*words, stdin='{"command": "view", "path": "/memories"}')
    assert ran.code == 5
    assert "memory is switched off" in ran.err
    assert "mem config set memory.enabled true" in ran.err
    assert ran.out == ""
    assert files(off) == before


def test_cron_hears_nothing_of_it(mem: Mem, off: Path) -> None:
    ran = mem("tend", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_the_folder_can_still_be_checked_taken_out_and_switched_on(
    mem: Mem, off: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mem("check").code == 0
    assert "8080" in mem("export").out
    monkeypatch.delenv("MEM_MEMORY_ENABLED", raising=False)
    assert mem("config", "set", "memory.enabled", "true").code == 0
    assert mem("config", "set", "memory.enabled", "true", "--user").code == 0
    assert "8080" in mem("search", "port").out


def test_a_project_that_is_off_does_not_write_to_the_users_workspace(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    own = tmp_path / "home/.local/share/mem"
    assert mem("init", str(own)).code == 0
    assert mem("config", "set", "memory.enabled", "false").code == 0
    before = files(own)
    assert mem("write", "The port is 9090.").code == 5
    assert files(own) == before
    assert mem("write", "The port is 9090.", "--scope", "user").code == 0


def test_the_users_workspace_alone_may_be_off(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    own = tmp_path / "home/.local/share/mem"
    assert mem("init", str(own)).code == 0
    assert mem("write", "The cat is called Tom.", "--scope", "user").code == 0
    (own / "mem.yaml").write_text("memory.enabled: false\n")
    assert mem("write", "The port is 9090.").code == 0
    assert "Tom" not in mem("search", "cat").out
    assert "9090" in mem("search", "port").out
