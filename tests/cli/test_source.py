"""Only what a person types at a terminal is the user's word by itself; whoever writes elsewhere must say so."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Mem, Ran


@pytest.fixture(autouse=True)
def unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEM_WRITE_SOURCE")


def typed(*arguments: str, stdin: bytes | None = None, is_read: bool = True) -> None:
    """Run a command at a terminal; with its input from a pipe, or its output into one, where asked for."""
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "memcli", *arguments],
            stdout=slave if is_read else subprocess.DEVNULL,
            stderr=slave,
            check=False,
            timeout=600,
            **({"stdin": slave} if stdin is None else {"input": stdin}),
        )
        assert done.returncode == 0
    finally:
        os.close(slave)
        os.close(master)


def sources(mem: Mem) -> list[tuple[str, float]]:
    return [(one["source"], one["trust"]) for one in mem("ls", "--json").json["entries"]]


def test_what_is_typed_at_a_terminal_is_the_users(workspace: Path, mem: Mem) -> None:
    typed("write", "User prefers dark mode.", "--no-dedup")
    assert sources(mem) == [("user", 1.0)]


@pytest.mark.parametrize("way", ["agent", "pipe in", "pipe out", "path", "admitted", "supersedes"])
def test_what_is_written_elsewhere_is_not(workspace: Path, mem: Mem, spawn: Callable[..., Ran], way: str) -> None:
    if way == "agent":
        assert spawn("write", "The port is 8080.", "--no-dedup").code == 0
    elif way == "pipe in":
        typed("write", "-", "--no-dedup", stdin=b"The port is 8080.")
    elif way == "pipe out":
        typed("write", "The port is 8080.", "--no-dedup", is_read=False)
    elif way == "path":
        mem("write", "The port is 8080.", "--path", "ports.md")
    elif way == "supersedes":
        old = mem("write", "The port is 9090.", "--source", "user", "--json").json["id"]
        new = mem("write", "The port is 8080.", "--supersedes", old, "--json").json["id"]
        (row,) = [one for one in mem("ls", "--json").json["entries"] if one["id"] == new]
        assert row["source"] == "observed"
        return
    else:
        mem("write", "The port is 8080.")
    assert sources(mem) == [("observed", 0.7)]


def test_user_can_be_said_everywhere(workspace: Path, mem: Mem) -> None:
    mem("write", "The port is 8080.", "--source", "user")
    assert sources(mem) == [("user", 1.0)]


def test_the_users_own_settings_may_say_otherwise_and_a_workspace_may_not(workspace: Path, mem: Mem) -> None:
    (workspace / "mem.yaml").write_text("write:\n  source: user\n")
    mem("write", "The port is 8080.")
    assert sources(mem) == [("observed", 0.7)]
    (workspace / "mem.yaml").write_text("")
    assert mem("config", "set", "write.source", "inferred").code == 0
    mem("write", "The cat is called Tom.")
    assert ("inferred", 0.5) in sources(mem)


def test_the_memory_tool_writes_as_observed(workspace: Path, mem: Mem) -> None:
    call = {"command": "create", "path": "/memories/port.md", "file_text": "The port is 8080.\n"}
    assert mem("memory-tool", stdin=json.dumps(call)).code == 0
    assert sources(mem) == [("observed", 0.7)]
