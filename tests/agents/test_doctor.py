"""`mem doctor` finds what does not work, and changes nothing."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from memcli.agents.doctor import Check, diagnose
from memcli.agents.install import connect
from memcli.agents.schedule import change_git_hooks
from memcli.context import Context
from memcli.store.git import run_git
from memcli.store.workspace import Workspace
from memcli.sync.files import install_driver
from tests.helpers import get_process_environment, make_context, make_workspace, put, run_mem

RULE = "---\ntype: constraint\nsource: user\n---\n\nNever deploy on a Friday.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/rule.md", RULE)
    # A hook is a process: it has no --workspace.
    environment = get_process_environment(tmp_path / "home")
    workspace.context = make_context(tmp_path, **environment)._replace(folder=tmp_path)
    return workspace


def write_program(folder: Path, text: str = "") -> Path:
    program = folder / "my tools/mem"
    program.parent.mkdir(exist_ok=True)
    code = Path(__file__).parents[2]
    run = f'PYTHONPATH={shlex.quote(str(code))} exec {sys.executable} -P -m memcli "$@"'
    program.write_text(f"#!/bin/sh\n{text or run}\n")
    program.chmod(0o755)
    return program


def find(context: Context, name: str, program: Path) -> list[Check]:
    checks = diagnose(context, [str(program)], context.folder)
    return [check for check in checks if check.name == name]


def list_files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if path.is_file()}


def test_a_hook_is_run_as_the_agent_runs_it(workspace: Workspace, tmp_path: Path) -> None:
    context, program = workspace.context, write_program(tmp_path)
    connect(context, "claude-code", [str(program)])
    find(context, "agent", program)
    before = list_files(tmp_path)
    (check,) = find(context, "agent", program)
    assert check.state == "ok" and "the hook answers in" in check.text
    assert "nothing to show" not in check.text
    assert list_files(tmp_path) == before
    assert not list_files(tmp_path / "home/.local/state/mem/shown")


def test_a_plugin_connects_too(workspace: Workspace, tmp_path: Path) -> None:
    settings = tmp_path / "home/.claude/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"enabledPlugins": {"mem@mem": true}}')
    (check,) = find(workspace.context, "agent", write_program(tmp_path))
    assert check.text == "Claude Code uses the plugin mem@mem"


def test_a_hook_runs_in_an_agent_that_was_started_from_the_desktop(
    workspace: Workspace, tmp_path: Path
) -> None:
    # kunchenguid/axi#110, NevaMind-AI/memU#569, thedotmack/claude-mem#1598
    context, program = workspace.context, write_program(tmp_path)
    for project in (None, tmp_path):
        (path,) = connect(context, "claude-code", [str(program)], project, with_page=False).changed
        hooks = json.loads(Path(path).read_text())["hooks"]
        event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": str(project)}
        done = subprocess.run(
            ["sh", "-c", hooks["SessionStart"][0]["hooks"][0]["command"]],
            input=json.dumps(event),
            env={"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "Never deploy" in done.stdout


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo no JSON", "the hook's answer is not JSON"),
        ("echo broken >&2", "the hook failed: broken"),
        ('echo "$PATH" >&2', f"the hook failed: {os.defpath}"),
    ],
)
def test_a_hook_that_fails_is_an_error(
    script: str, reason: str, workspace: Workspace, tmp_path: Path
) -> None:
    program = write_program(tmp_path, script)
    connect(workspace.context, "codex", [str(program)])
    (check,) = find(workspace.context, "agent", program)
    assert (check.state, check.text) == ("error", f"Codex: {reason}")


def test_a_program_that_was_removed_is_an_error(workspace: Workspace, tmp_path: Path) -> None:
    connect(workspace.context, "claude-code", ["/nowhere/mem"])
    (check,) = find(workspace.context, "agent", write_program(tmp_path))
    assert check.text == "Claude Code runs /nowhere/mem, which does not exist"
    assert check.hint == "mem hook install claude-code"


def test_what_git_no_longer_runs_is_shown(workspace: Workspace, tmp_path: Path) -> None:
    def list_problems() -> list[str]:
        checks = find(workspace.context, "git", program)
        return [f"{check.state}: {check.text}" for check in checks if check.state != "ok"]

    program = write_program(tmp_path)
    run_git(tmp_path, "init", "-q")
    assert list_problems() == [
        "warning: git merges this memory as plain text: its merge driver is missing"
    ]
    install_driver(workspace, [str(program)])
    change_git_hooks(workspace.context, [str(program)])
    assert list_problems() == []
    program.unlink()
    missing, unchecked = list_problems()
    assert missing.endswith("its merge driver is missing")
    assert unchecked.startswith("error: commits are not checked: ")
    assert unchecked.endswith(f"runs {program}, which does not exist")


def test_a_command_that_came_with_a_project_is_not_run(
    workspace: Workspace, tmp_path: Path
) -> None:
    evil = write_program(tmp_path, f"touch {tmp_path}/ran")
    connect(workspace.context, "claude-code", [str(evil)], tmp_path, with_page=False)
    (check,) = find(workspace.context, "agent", Path("/usr/bin/mem"))
    assert check.state == "warning" and "another command" in check.text
    assert not (tmp_path / "ran").exists()


def test_problems_of_the_workspace_are_shown(workspace: Workspace, tmp_path: Path) -> None:
    program = write_program(tmp_path)
    workspace.ensure_machine()
    workspace.machine.append_log(workspace.stamp, "hook claude-code Stop: out of order")
    workspace.machine.append_log("2026-01-01T00:00:00Z", "long ago")
    workspace.machine.save_trust(workspace.root, False)
    put(workspace, "entries/broken.md", "---\nid: [\n---\n\nBroken.\n")
    (log,) = find(workspace.context, "log", program)
    assert log.text.endswith("out of order")
    assert find(workspace.context, "trust", program)[0].state == "warning"
    assert find(workspace.context, "files", program)[0].hint == "mem check"
    (lock,) = [c for c in diagnose(workspace.context, ["/m"], tmp_path) if c.name == "state"]
    assert lock.state == "ok"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("COMMAND", "no-such-program -p", "no-such-program is not found"),
        ("URL", "http://127.0.0.1:1/v1", "Connection refused"),
    ],
)
def test_a_configured_model_that_is_missing_is_an_error(
    workspace: Workspace, name: str, value: str, problem: str
) -> None:
    environment = {**workspace.context.environment, f"MEM_LLM_{name}": value}
    context = workspace.context._replace(environment=environment)
    (check,) = find(context, "llm", Path("/m"))
    assert check.state == "error" and check.text.endswith(problem)


def test_the_command_prints_json_and_fails_on_errors(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    path = os.environ["PATH"]
    context = make_context(tmp_path)
    code, output, _ = run_mem(tmp_path, "doctor", "--json", PATH=path)
    assert {check["state"] for check in json.loads(output)["checks"]} <= {"ok", "warning"}
    assert code == 0
    connect(context, "gemini", ["/nowhere/mem"])
    code, output, _ = run_mem(tmp_path, "doctor", PATH=path)
    assert code == 1 and "error\tagent\tGemini CLI runs /nowhere/mem" in output
