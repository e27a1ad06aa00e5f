"""What `mem stats` and `mem tend` print."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Mem, Ran


@pytest.fixture
def kept(mem: Mem, workspace: Path) -> Path:
    """Give a workspace with three memories."""
    mem("write", "--no-dedup", "User prefers tabs.", "--type", "preference", "--tag", "editor")
    mem("write", "--no-dedup", "Staging runs on port 5432.", "--created-at", "2026-10-02")
    mem("write", "--no-dedup", "Weird \x1b[31m tag.", "--tag", "a\tb\x1b[2J")
    return workspace


def test_a_pipe_gets_section_name_and_value(mem: Mem, kept: Path) -> None:
    ran = mem("stats")
    assert ran.code == 0
    for line in (
        ["status", "active", "3"],
        ["type", "fact", "2"],
        ["type", "preference", "1"],
        ["layer", "semantic", "3"],
        ["source", "user", "3"],
        ["age", "under 1 day", "2"],
        ["tag", "editor", "1"],
        ["month", "2026-10", "1"],
        ["month", "2026-11", "2"],
        ["is", "pinned", "0"],
        ["file", "entry", "3"],
        ["memory", "budget", "8192"],
        ["index", "problems", "0"],
    ):
        assert line in ran.rows
    assert all(len(row) in (3, 4) for row in ran.rows)


def test_json_has_every_section(mem: Mem, kept: Path) -> None:
    identifier = mem("ls", "-n", "1").rows[0][0]
    mem("read", identifier)
    document = mem("stats", "--json").json
    assert document["entries"] == 3
    assert document["types"] == {"fact": 2, "preference": 1}
    assert [(one["id"], one["accesses"]) for one in document["most_used"]] == [(identifier, 1)]
    assert document["stalest"][0]["summary"] == "Staging runs on port 5432."
    assert (document["conflicts"], document["faded"], document["problems"]) == ([], 0, [])
    assert document["memory"]["bytes"] == (kept / "MEMORY.md").stat().st_size
    assert document["index"]["chunks"] >= 3


def test_an_empty_workspace_has_numbers_too(mem: Mem, workspace: Path) -> None:
    assert mem("stats").code == 0
    assert mem("stats", "--json").json["entries"] == 0


def test_a_terminal_gets_one_screen_that_nothing_in_a_memory_can_drive(
    mem: Mem, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.cli.output.is_watched", lambda: True)
    monkeypatch.setattr("memcli.cli.output.to_terminal", lambda stream: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    ran = mem("stats")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "3 entries: 3 active; 0 pinned" in ran.out
    assert "type: 2 fact, 1 preference\n" in ran.out
    assert "month: 1 2026-10, 2 2026-11\n" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.out.count("\n") < 40


def test_tend_does_what_is_due_and_then_says_nothing(mem: Mem, kept: Path) -> None:
    ran = mem("tend")
    assert ran.code == 0
    assert [row[0] for row in ran.rows] == ["index"]
    assert "embedded" in ran.rows[0][1]
    again = mem("tend")
    assert (again.code, again.out, again.err) == (0, "", "")
    assert mem("tend", "--json").json == {"done": []}


def test_tend_is_silent_when_quiet(mem: Mem, kept: Path) -> None:
    ran = mem("tend", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_tend_is_partly_done_when_a_task_is_refused(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mem("write", "User prefers tabs.", "--type", "preference", "--strength", "3")
    (workspace / "MEMORY.md").write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    monkeypatch.setenv("MEM_PROMOTE_AUTO", "yes")
    ran = mem("tend", "--quiet")
    assert (ran.code, ran.out) == (3, "")
    assert "MEMORY.md" in ran.err


def test_tend_gives_way_to_another(kept: Path, spawn: Callable[..., Ran]) -> None:
    code = f"""
import subprocess, sys
from pathlib import Path
from memcli.store.lock import locked
folder = Path({str(kept / ".mem")!r})
folder.mkdir(exist_ok=True)
with locked(folder / "tend", command="mem tend", now="2026-11-21T20:15:03Z"):
    sys.exit(subprocess.run([sys.executable, "-m", "memcli", "tend", "--quiet"]).returncode)
"""
    ran = spawn(code=code)
    assert ran.code == 75
    assert "workspace is busy: mem tend" in ran.err
