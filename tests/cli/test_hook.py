"""Hooks are put beside those of others into settings, git's scripts, and taken out again."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.cli.workspaces import shown
from memcli.integrations import AGENTS
from tests.conftest import Mem, Ran

THEIRS = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "ruff format"}]}],
    },
    "model": "größer",
}
STYLES = {
    "two": json.dumps(THEIRS, indent=2, ensure_ascii=False) + "\n",
    "four": json.dumps(THEIRS, indent=4),
    "tabs": json.dumps(THEIRS, indent="\t", ensure_ascii=False) + "\n\n",
    "one line": json.dumps(THEIRS),
    "windows": (json.dumps(THEIRS, indent=2) + "\n").replace("\n", "\r\n"),
    "by hand": (
        '{\n  "hooks": { "Stop": [\n   {"hooks":[{"type":"command","command":"say done"}]} ] ,'
        ' "SessionEnd": []},\n "n": 1.50 }'
    ),
    "empty object": "{}",
    "empty hooks": '{"hooks": {}}\n',
    "empty": "",
}


@pytest.fixture(autouse=True)
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `mem` that does nothing where a shell finds it by name; give its folder."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "mem").write_text("#!/bin/sh\n")
    (folder / "mem").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return folder


@pytest.fixture
def repository(world: Path) -> Path:
    """Make a git repository of the folder one stands in."""
    subprocess.run(["git", "init", "-q", "."], cwd=world, check=True)
    return world


def settings(folder: Path) -> Path:
    return folder / ".claude" / "settings.local.json"


@pytest.mark.parametrize("style", STYLES)
def test_the_settings_of_others_stay_and_come_back_byte_for_byte(mem: Mem, repository: Path, style: str) -> None:
    path = settings(repository)
    path.parent.mkdir()
    before = STYLES[style].encode()
    path.write_bytes(before)
    path.chmod(0o640)
    assert mem("hook", "install", "claude-code", "--project").code == 0
    after = json.loads(path.read_bytes())
    assert set(after["hooks"]) >= {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"}
    for key, value in json.loads(before or b"{}").items():
        if key != "hooks":
            assert after[key] == value
        for event, groups in value.items() if key == "hooks" else ():
            assert after["hooks"][event][: len(groups)] == groups
    once = path.read_bytes()
    ran = mem("hook", "install", "claude-code", "--project")
    assert (ran.code, ran.out) == (0, "")
    assert path.read_bytes() == once
    assert mem("hook", "uninstall", "claude-code").code == 0
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in path.parent.iterdir()] == ["settings.local.json"]


def test_settings_that_were_not_there_are_gone_again(mem: Mem, repository: Path) -> None:
    files = [str(settings(repository)), str(repository / "CLAUDE.md")]
    assert mem("hook", "install", "claude-code").rows == [["made", path] for path in files]
    assert mem("hook", "uninstall", "claude-code").rows == [["removed", path] for path in files]
    assert not settings(repository).exists()
    assert mem("hook", "uninstall", "claude-code").rows == []


def test_what_others_changed_meanwhile_stays(mem: Mem, repository: Path) -> None:
    path = settings(repository)
    path.parent.mkdir()
    path.write_text(STYLES["two"])
    mem("hook", "install", "claude-code")
    told = json.loads(path.read_text())
    told["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "mine"}]})
    path.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    mem("hook", "uninstall", "claude-code")
    expected = json.loads(STYLES["two"])
    expected["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "mine"}]})
    assert path.read_text() == json.dumps(expected, indent=2, ensure_ascii=False) + "\n"


def test_a_switch_beside_the_events_stays(mem: Mem, repository: Path) -> None:
    path = repository / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"hooks": {"enabled": true, "disabled": []}}')
    before = path.read_bytes()
    assert mem("hook", "install", "gemini").code == 0
    hooks = json.loads(path.read_text())["hooks"]
    assert (hooks["enabled"], hooks["disabled"], "BeforeAgent" in hooks) == (True, [], True)
    assert mem("hook", "uninstall", "gemini").code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{\n  // mine\n  "hooks": {}\n}', "comments"),
        (b'\xef\xbb\xbf{"hooks": {}}', "byte order mark"),
        (b'{"hooks": ', "not plain JSON"),
        (b"[]", "does not hold hooks"),
        (b'{"hooks": []}', "does not hold hooks"),
        (b'{"hooks": {"Stop": {}}}', "does not hold hooks"),
        (b'{"hooks": {"Stop": true}}', "does not hold hooks"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a": "\\ud83d",\n\n"b": 1}', "not plain JSON"),
        (b'{"a": 1e999,\n\n"b": 1}', "not plain JSON"),
    ],
)
def test_settings_that_are_not_plain_json_are_refused_and_left_alone(
    mem: Mem, repository: Path, text: bytes, said: str
) -> None:
    path = settings(repository)
    path.parent.mkdir()
    path.write_bytes(text)
    for command in ("install", "uninstall"):
        ran = mem("hook", command, "claude-code")
        assert ran.code == 5
        assert said in ran.err
        assert str(path) in ran.err
    assert path.read_bytes() == text
    assert [one.name for one in path.parent.iterdir()] == ["settings.local.json"]


def test_a_dry_run_shows_and_changes_nothing(mem: Mem, repository: Path) -> None:
    ran = mem("hook", "install", "claude-code", "--dry-run")
    assert "mem hook run claude-code || true" in ran.out
    assert not settings(repository).exists()


def test_a_link_to_the_settings_is_written_through(mem: Mem, repository: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text(STYLES["two"])
    path = settings(repository)
    path.parent.mkdir()
    path.symlink_to(real)
    mem("hook", "install", "claude-code")
    assert path.is_symlink()
    assert "mem hook run" in real.read_text()
    mem("hook", "uninstall", "claude-code")
    assert real.read_text() == STYLES["two"]


def test_a_link_to_nothing_is_named_and_left_alone(mem: Mem, repository: Path) -> None:
    path = settings(repository)
    path.parent.mkdir()
    path.symlink_to("gone.json")
    ran = mem("hook", "install", "claude-code")
    assert ran.code == 5
    assert f"{path} is a link to gone.json, which is not there: mend or remove the link" in ran.err
    assert [one.name for one in path.parent.iterdir()] == ["settings.local.json"]


def test_a_users_own_settings_name_the_program_by_its_place(mem: Mem, repository: Path) -> None:
    home = Path(os.environ["HOME"])
    assert mem("hook", "install", "claude-code", "--user").rows[0] == ["made", str(home / ".claude" / "settings.json")]
    ran = mem("hook", "install", "codex", "--user")
    assert "[features]" in ran.err
    told = json.loads((home / ".codex" / "hooks.json").read_text())
    assert told["hooks"]["Stop"][0]["hooks"][0]["command"].endswith("hook run codex || true")
    assert mem("hook", "install", "codex", "--user").rows == []


def test_failed_tool_calls_are_heard_of_when_asked_for(mem: Mem, repository: Path) -> None:
    mem("hook", "install", "claude-code")
    assert "PostToolUse" not in settings(repository).read_text()
    mem("hook", "install", "claude-code", "--tool-errors")
    told = json.loads(settings(repository).read_text())["hooks"]
    assert "PostToolUse" in told
    assert len(told["Stop"]) == 1


def test_a_file_is_not_named_as_a_folder(repository: Path) -> None:
    settings(repository).parent.mkdir()
    settings(repository).write_text("{}")
    assert shown(settings(repository)) == ".claude/settings.local.json"
    assert shown(settings(repository).parent) == ".claude/"


def test_status_tells_what_is_installed(mem: Mem, repository: Path) -> None:
    mem("hook", "install", "claude-code")
    mem("hook", "install", "git")
    rows = {(row[0], row[1]): row[2] for row in reversed(mem("hook", "status").rows)}
    assert rows[("claude-code", "project")] == "SessionStart UserPromptSubmit PreCompact Stop SessionEnd SubagentStart"
    assert rows[("claude-code", "user")] == "not installed"
    shared = [row for row in mem("hook", "status", "claude-code").rows if row[3].endswith(".claude/settings.json")]
    assert {row[2] for row in shared} == {"not installed"}
    assert rows[("git", "project")] == "pre-commit post-commit post-merge post-checkout"


@pytest.mark.parametrize(
    "words", [("install", "emacs"), ("install", "git", "--user"), ("install", "codex", "--user", "--project")]
)
def test_what_makes_no_sense_is_a_usage_error(mem: Mem, repository: Path, words: tuple[str, ...]) -> None:
    assert mem("hook", *words).code == 2


def scripts(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {one.name: (one.read_bytes(), one.stat().st_mode) for one in folder.iterdir() if one.suffix != ".sample"}


def test_gits_scripts_keep_what_is_there_and_come_back_byte_for_byte(mem: Mem, repository: Path) -> None:
    folder = repository / ".git" / "hooks"
    theirs = "#!/bin/sh\necho theirs >> ran\nexit 0"
    (folder / "pre-commit").write_text(theirs)
    (folder / "pre-commit").chmod(0o755)
    (folder / "post-merge").write_text("#!/usr/bin/env bash\nexec true\n")
    (folder / "post-merge").chmod(0o700)
    before = scripts(folder)
    assert mem("hook", "install", "git").code == 0
    once = scripts(folder)
    assert set(once) == {"pre-commit", "post-commit", "post-merge", "post-checkout"}
    for name in once:
        subprocess.run(["sh", "-n", folder / name], check=True)
        assert (folder / name).stat().st_mode & 0o111
    assert mem("hook", "install", "git").rows == []
    assert scripts(folder) == once
    assert mem("hook", "uninstall", "git").code == 0
    assert scripts(folder) == before


def test_a_lock_that_a_killed_git_left_is_named(mem: Mem, repository: Path) -> None:
    assert mem("hook", "install", "git").code == 0
    lock = repository / ".git" / "config.lock"
    lock.touch()
    said = f"mem: {lock} is there: another git is at work, or was killed: if none runs, delete that file\n"
    ran = mem("hook", "uninstall", "git")
    assert (ran.code, ran.err) == (75, said)
    lock.unlink()
    assert mem("hook", "uninstall", "git").code == 0


@pytest.mark.parametrize(
    ("text", "mode"),
    [("#!/usr/bin/env python3\nprint()\n", 0o755), ("#!/bin/sh\ntrue\n", 0o644), ("#!/bin/sh\r\n", 0o755)],
)
def test_a_script_that_our_lines_would_break_is_refused(mem: Mem, repository: Path, text: str, mode: int) -> None:
    script = repository / ".git" / "hooks" / "post-commit"
    script.write_bytes(text.encode())
    script.chmod(mode)
    before = scripts(script.parent)
    assert mem("hook", "install", "git").code == 5
    assert scripts(script.parent) == before


def test_another_folder_of_hooks_is_heeded(mem: Mem, repository: Path) -> None:
    subprocess.run(["git", "config", "core.hooksPath", "tools/hooks"], cwd=repository, check=True)
    assert mem("hook", "install", "git").code == 0
    assert set(scripts(repository / "tools" / "hooks")) == {"pre-commit", "post-commit", "post-merge", "post-checkout"}


def test_a_linked_worktree_shares_the_scripts(mem: Mem, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repository, "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "worktree", "add", "-q", "../other")
    monkeypatch.chdir(repository.parent / "other")
    assert mem("hook", "install", "git").code == 0
    assert "pre-commit" in scripts(repository / ".git" / "hooks")


def test_outside_of_a_repository_there_is_nothing_to_install(mem: Mem, world: Path) -> None:
    ran = mem("hook", "install", "git")
    assert ran.code == 2
    assert "not in a git repository" in ran.err


def git(folder: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    who = {f"GIT_{role}_{what}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {**os.environ, **who, "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}
    return subprocess.run(["git", *words], cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    """Put a `mem` in a folder that writes down how it was called and ends with what MEM_CODE says."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "mem"
    program.write_text(
        f'#!/bin/sh\necho "$* [$GIT_DIR] [$GIT_INDEX_FILE]" >> {tmp_path}/called\nexit "${{MEM_CODE:-0}}"\n'
    )
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(("code", "committed"), [(0, True), (1, False), (2, True), (4, True), (127, True)])
def test_a_commit_is_stopped_by_a_problem_and_by_nothing_else(
    mem: Mem, repository: Path, recorder: Path, monkeypatch: pytest.MonkeyPatch, code: int, committed: bool
) -> None:
    assert mem("hook", "install", "git").code == 0
    monkeypatch.setenv("MEM_CODE", str(code))
    done = git(repository, "commit", "-q", "--allow-empty", "-m", "x", path=str(recorder))
    assert (done.returncode == 0) == committed
    assert (recorder.parent / "called").read_text().startswith("check --staged")


def test_git_goes_on_without_mem(mem: Mem, repository: Path) -> None:
    mem("hook", "install", "git")
    environ = {**os.environ, "PATH": "/usr/bin:/bin"}
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "x"]
    assert subprocess.run(command, cwd=repository, env=environ, check=False).returncode == 0


def test_nothing_runs_inside_a_hook_of_mem(
    mem: Mem, repository: Path, recorder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem("hook", "install", "git")
    monkeypatch.setenv("MEM_INSIDE_HOOK", "1")
    assert git(repository, "commit", "-q", "--allow-empty", "-m", "x", path=str(recorder)).returncode == 0
    assert not (recorder.parent / "called").exists()


def test_the_line_for_cron_is_printed_and_no_crontab_asked_for(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    line = mem("hook", "install", "cron").out
    assert line.startswith("17 3 * * * ")
    assert f"tend --quiet --workspace '{workspace}'" in line
    assert mem("hook", "uninstall", "cron").out == line
    assert mem("hook", "status", "cron").code == 2


def test_the_skill_comes_and_goes(mem: Mem, repository: Path) -> None:
    mine = repository / ".claude" / "skills" / "mem-memory" / "SKILL.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert mem("hook", "skill").code == 0
    shared = repository / ".agents" / "skills" / "mem-memory" / "SKILL.md"
    head = shared.read_text().split("---")[1]
    assert "name: mem-memory\n" in head  # the folder's name
    assert mine.read_text() == shared.read_text()
    assert mem("hook", "skill").rows == []
    assert mem("hook", "skill", "--remove").code == 0
    assert mine.read_text() == "mine"
    assert not shared.exists()


PAGES = [("claude-code", "CLAUDE.md"), ("codex", "AGENTS.md")]


@pytest.mark.parametrize(("agent", "name"), PAGES)
@pytest.mark.parametrize("text", [b"# Rules\n\nBe kind.", b"# Rules\r\n\r\nBe kind.\r\n", b"", "Señor\n".encode()])
def test_the_protocol_stands_between_marks_and_goes_byte_for_byte(
    mem: Mem, repository: Path, agent: str, name: str, text: bytes
) -> None:
    page = repository / name
    page.write_bytes(text)
    assert mem("hook", "install", agent).code == 0
    written = page.read_bytes()
    protocol = mem("help", "protocol").out
    assert f"<!-- mem:agents -->\n{protocol}<!-- /mem:agents -->\n" in written.decode().replace("\r\n", "\n")
    assert written.startswith(text)
    assert mem("hook", "install", agent).rows == []
    page.write_bytes(written.replace(b"**Search first.**", b"**Mine.**") + b"Added later.\n")
    assert mem("hook", "install", agent).rows != []
    assert page.read_bytes() == written + b"Added later.\n"  # what was edited inside the marks is ours
    page.write_bytes(written)
    assert mem("hook", "uninstall", agent).code == 0
    assert page.read_bytes() == text


def test_every_skill_that_said_something_else_is_kept(mem: Mem, repository: Path) -> None:
    mine = repository / ".claude" / "skills" / "mem-memory" / "SKILL.md"
    mine.parent.mkdir(parents=True)
    for text in ("first", "second", "second", "third"):
        mine.write_text(text)
        assert mem("hook", "skill").code == 0
    assert sorted(path.read_text() for path in mine.parent.glob("*.before-mem*")) == ["first", "second", "third"]
    assert mem("hook", "skill", "--remove").code == 0
    assert mine.read_text() == "first"


@pytest.mark.parametrize(("agent", "name"), PAGES)
def test_a_page_that_was_not_there_is_gone_again(mem: Mem, repository: Path, agent: str, name: str) -> None:
    page = Path(os.environ["HOME"]) / {"codex": ".codex", "claude-code": ".claude"}[agent] / name
    assert mem("hook", "install", agent, "--user").code == 0
    assert "mem search" in page.read_text()
    assert not (repository / name).exists()
    assert mem("hook", "uninstall", agent, "--user").code == 0
    assert not page.exists()


def test_no_empty_folder_is_left_behind_and_no_other_is_touched(mem: Mem, repository: Path) -> None:
    (repository / ".agents" / "mine").mkdir(parents=True)
    for agent in AGENTS:
        assert mem("hook", "install", agent).code == 0
    assert mem("hook", "skill").code == 0
    for agent in AGENTS:
        assert mem("hook", "uninstall", agent).code == 0
    assert mem("hook", "skill", "--remove").code == 0
    left = sorted(str(path.relative_to(repository)) for path in repository.rglob("*") if ".git" not in path.parts)
    assert left == [".agents", ".agents/mine"]


FILES = {
    "claude-code": ".claude/settings.local.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".github/hooks/mem.json",
}


@pytest.mark.parametrize("agent", AGENTS)
def test_the_hooks_of_an_agent_stand_in_its_file_in_its_form(mem: Mem, repository: Path, agent: str) -> None:
    path = repository / FILES[agent]
    assert mem("hook", "install", agent).code == 0
    told = json.loads(path.read_text())
    assert told.get("version") == (1 if agent == "copilot" else None)
    assert told["hooks"].keys() == {name for name, event in AGENTS[agent].events.items() if not event.is_optional}
    ((hook,),) = [group["hooks"] for group in told["hooks"]["SessionStart"]]
    seconds = 10_000 if agent == "gemini" else 10
    assert hook == {"type": "command", "command": f"mem hook run {agent} || true", "timeout": seconds}
    assert mem("hook", "install", agent).rows == []
    assert mem("hook", "status", agent).rows[0][2] == " ".join(told["hooks"])
    path.write_text(json.dumps(told | {"theirs": 1}))
    assert mem("hook", "uninstall", agent).code == 0
    assert json.loads(path.read_text()).pop("theirs") == 1


def test_a_page_that_two_agents_read_keeps_the_protocol_for_the_other(mem: Mem, repository: Path) -> None:
    for agent in ("codex", "copilot"):
        assert mem("hook", "install", agent).code == 0
    assert mem("hook", "uninstall", "codex").code == 0
    assert (repository / "AGENTS.md").exists()
    assert mem("hook", "uninstall", "copilot").code == 0
    assert not (repository / "AGENTS.md").exists()


def test_tool_errors_are_refused_where_an_agent_tells_none(mem: Mem, repository: Path) -> None:
    assert mem("hook", "install", "gemini", "--tool-errors").code == 2
    assert not (repository / ".gemini").exists()


def test_half_a_block_is_refused(mem: Mem, repository: Path) -> None:
    (repository / "AGENTS.md").write_text("<!-- mem:agents -->\nhalf\n")
    assert mem("hook", "install", "codex").code == 5
    assert not (repository / ".codex").exists()


def test_what_is_installed_runs(spawn: Callable[..., Ran], mem: Mem, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("The user is called Inês.\n")
    mem("hook", "install", "claude-code", "--user")
    told = json.loads((Path(os.environ["HOME"]) / ".claude" / "settings.json").read_text())
    command = told["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    event = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": str(workspace)}
    done = subprocess.run(["sh", "-c", command], input=json.dumps(event), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Inês" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def without_mem(on_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no shell find mem by its name."""
    folders = os.environ["PATH"].split(":")
    kept = [one for one in folders if not (Path(one) / "mem").exists()]
    monkeypatch.setenv("PATH", ":".join(kept))


@pytest.mark.parametrize("how", ["absent", "in an active virtual environment"])
@pytest.mark.parametrize("target", ["claude-code", "codex", "git"])
def test_hooks_name_mem_by_its_place_where_its_name_is_not_found(
    mem: Mem, repository: Path, on_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, how: str
) -> None:
    if how == "absent":
        without_mem(on_path, monkeypatch)
    else:
        monkeypatch.setenv("VIRTUAL_ENV", str(on_path.parent))
    ran = mem("hook", "install", target)
    assert ran.code == 0
    assert "not found" not in ran.err
    places = [repository / ".claude", repository / ".codex", repository / ".git" / "hooks"]
    texts = [path.read_text() for folder in places if folder.exists() for path in folder.iterdir()]
    calls = [line for text in texts for line in text.splitlines() if "hook run" in line or "check --staged" in line]
    program = Path(sys.executable).with_name("mem")
    assert calls
    assert all(str(program) in line for line in calls)
    assert "not found" not in mem("hook", "status", target).err


def test_hooks_that_find_no_mem_say_so_when_installed_and_ever_after(
    mem: Mem, repository: Path, on_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "not found" not in mem("hook", "install", "claude-code").err
    without_mem(on_path, monkeypatch)
    assert "mem is not found, so these hooks do nothing" in mem("hook", "status").err
    row = next(row for row in mem("hook", "status", "claude-code", "--json").json["hooks"] if row["events"])
    assert row["missing"] == "mem"
    shared = mem("hook", "install", "claude-code", "--shared")
    assert "so these hooks do nothing" in shared.err
    assert "ln -s" in shared.err


@pytest.mark.parametrize("target", ["claude-code", "git"])
def test_hooks_without_a_workspace_say_how_to_make_one(mem: Mem, repository: Path, target: str) -> None:
    assert "mem init" in mem("hook", "install", target).err
    assert mem("init").code == 0
    assert "mem init" not in mem("hook", "install", target).err


def test_status_outside_of_a_repository_complains_of_nothing(mem: Mem, world: Path) -> None:
    ran = mem("hook", "status")
    assert (ran.code, ran.err) == (0, "")


def test_a_stopped_commit_says_who_stopped_it_and_how_to_pass(
    mem: Mem, repository: Path, recorder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mem("hook", "install", "git").code == 0
    monkeypatch.setenv("MEM_CODE", "1")
    done = git(repository, "commit", "-q", "--allow-empty", "-m", "x", path=str(recorder))
    assert "mem stopped this commit" in done.stderr
    assert "git commit --no-verify" in done.stderr
    again = git(repository, "commit", "-q", "--no-verify", "--allow-empty", "-m", "x", path=str(recorder))
    assert again.returncode == 0
