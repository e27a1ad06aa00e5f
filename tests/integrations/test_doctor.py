"""`mem hook doctor` tries our own hooks, shows those that differ without running them, and keeps nothing."""

import json
import os
import sys
from pathlib import Path

import pytest

from memcli.integrations import AGENTS
from tests.conftest import Mem


@pytest.fixture(autouse=True)
def by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a `mem` where a shell finds it by its name."""
    program = tmp_path / "programs" / "mem"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


def settings(world: Path) -> Path:
    return world / ".claude" / "settings.local.json"


def files(folder: Path) -> dict[str, bytes]:
    """Return every file but the index and its vectors, which each question brings up to date."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(("index", "vectors")))
    return {str(path): path.read_bytes() for path in paths}


@pytest.mark.parametrize("agent", AGENTS)
def test_each_event_is_tried_and_nothing_is_kept(mem: Mem, workspace: Path, world: Path, agent: str) -> None:
    (workspace / "MEMORY.md").write_text("The user is called Inês.\n")
    mem("hook", "install", agent, *["--tool-errors"][: agent == "claude-code"])
    before = files(world)
    ran = mem("hook", "doctor", agent, "--json")
    assert (ran.code, ran.json["faults"]) == (0, [])
    tried = {row["event"]: row for row in ran.json["tried"]}
    assert list(tried) == [
        name for name, event in AGENTS[agent].events.items() if agent == "claude-code" or not event.is_optional
    ]
    assert {row["outcome"] for row in tried.values()} == {"ok", "empty"}
    assert tried["SessionStart"]["outcome"] == "ok"
    assert tried["SessionStart"]["tokens"] > 10
    assert tried["SessionStart"]["milliseconds"] > 10
    assert ran.json["notes"] == [AGENTS[agent].condition][: bool(AGENTS[agent].condition)]
    assert files(world) == before


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("mem hook run claude-code", "touch pwned; mem hook run claude-code", "was not run"),
        ('"timeout": 10', '"timeout": 99', "SessionStart is not as mem writes it"),
        ('"SessionEnd"', '"SomethingElse"', "not installed: SessionEnd"),
        ('"SubagentStart"', '"Subagents"', "Subagents is not as mem writes it"),
        ("mem hook run", "/nowhere/mem hook run", "/nowhere/mem is not found"),
        ("{", "{\n// mine\n", "comments"),
    ],
)
def test_what_is_not_as_mem_writes_it_is_shown_and_never_run(
    mem: Mem, workspace: Path, world: Path, old: str, new: str, words: str
) -> None:
    mem("hook", "install", "claude-code")
    settings(world).write_text(settings(world).read_text().replace(old, new))
    ran = mem("hook", "doctor", "claude-code")
    assert (ran.code, words in ran.err) == (1, True)
    assert not list(world.rglob("pwned"))


def test_what_is_not_installed_is_told(mem: Mem, workspace: Path) -> None:
    ran = mem("hook", "doctor")
    assert (ran.code, ran.out) == (1, "")
    assert "no hooks are installed: mem hook install AGENT" in ran.err
    mem("hook", "install", "codex")
    ran = mem("hook", "doctor")
    assert ran.code == 0
    assert "Gemini CLI: not installed" in ran.err
    assert "/hooks" in ran.err


def test_an_empty_memory_and_a_slow_machine_are_no_fault(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem("hook", "install", "claude-code")
    monkeypatch.setenv("MEM_HOOKS_WITHIN", "50")
    ran = mem("hook", "doctor", "claude-code")
    assert (ran.code, "error" in ran.out) == (0, False)
    assert "nothing is in memory yet" in ran.err
    assert "UserPromptSubmit took longer than hooks.within (50 ms)" in ran.err
    mem("write", "Always run the linter before a commit.", "--type", "constraint")
    ran = mem("hook", "doctor", "claude-code")
    assert (ran.code, "nothing is in memory" in ran.err) == (0, False)
    assert not (workspace / ".mem" / "log").exists()


def test_an_unknown_agent_is_a_usage_error(mem: Mem, workspace: Path) -> None:
    assert mem("hook", "doctor", "emacs").code == 2


def test_hooks_that_do_nothing_here_say_why(
    mem: Mem, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem("hook", "install", "claude-code")
    ran = mem("hook", "doctor")
    assert (ran.code, "mem init" in ran.err) == (1, True)
    assert mem("init").code == 0
    assert mem("hook", "doctor").code == 0
    mem("config", "set", "hooks.enabled", "false")
    ran = mem("hook", "doctor")
    assert (ran.code, "hooks.enabled is off" in ran.err) == (1, True)
    (world / "memory" / "mem.yaml").write_text("layout: [\n")
    ran = mem("hook", "doctor")
    assert (ran.code, "mem.yaml" in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 3", "exit code 3"),
        ("echo oh no >&2", "oh no"),
        ("echo plain", "not what Claude Code reads"),
        ("echo '{\"additionalContext\": 1}'", "not what Claude Code reads"),
        ("echo '2026 hook failed' >> memory/.mem/log", "2026 hook failed"),
    ],
)
def test_what_goes_wrong_in_a_hook_is_an_error(
    mem: Mem, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    mem("hook", "install", "claude-code")
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    ran = mem("hook", "doctor", "--json")
    assert ran.code == 1
    assert {(row["outcome"], words in row["error"]) for row in ran.json["tried"]} == {("error", True)}
    assert json.loads(ran.out)["is_fine"] is False
