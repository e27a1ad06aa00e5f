"""git, cron and systemd run mem, and forget about it again."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from memcli.agents.schedule import (
    change_crontab,
    change_git_hooks,
    change_timer,
    list_schedules,
)
from memcli.errors import MemError, NotFoundError, RejectedError
from tests.helpers import get_process_environment, make_context, make_workspace, run_mem

CRONTAB = """\
#!/bin/sh
case $1 in
  -l) [ -f "$HOME/tab" ] || { echo "no crontab for ana" >&2; exit 1; }; /bin/cat "$HOME/tab" ;;
  -r) /bin/rm "$HOME/tab" ;;
  -) /bin/cat > "$HOME/tab" ;;
esac
"""


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def run_git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = get_process_environment(folder)
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 1, 4])
def test_a_commit_stops_only_for_problems(code: int, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    program = write_program(tmp_path / "my tools/mem", f"#!/bin/sh\necho $@\nexit {code}\n")
    change_git_hooks(make_context(tmp_path), [str(program)])
    done = run_git(tmp_path, "commit", "--allow-empty", "-qm", "x")
    assert done.returncode == (1 if code == 1 else 0)
    assert "check --staged" in done.stderr
    # mem was removed from the machine.
    program.unlink()
    done = run_git(tmp_path, "commit", "--allow-empty", "-qm", "x")
    assert (done.returncode, done.stderr) == (
        0,
        f"mem: not found at {program}, so this commit was not checked: run mem hook install git\n",
    )


@pytest.mark.parametrize("hooks_path", ["", "../hooks"])
def test_scripts_of_others_get_every_byte_back(hooks_path: str, tmp_path: Path) -> None:
    tmp_path = tmp_path / "project"
    tmp_path.mkdir()
    run_git(tmp_path, "init", "-q")
    folder = tmp_path / ".git/hooks"
    if hooks_path:
        run_git(tmp_path, "config", "core.hooksPath", hooks_path)
        folder = tmp_path / hooks_path
    script = write_program(folder / "pre-commit", "#!/usr/bin/env bash\necho lint >&2\nexit 0")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    context = make_context(tmp_path)
    assert len(change_git_hooks(context, ["/bin/true"]).changed) == 2
    assert change_git_hooks(context, ["/bin/true"]).changed == []
    assert os.access(folder / "post-merge", os.X_OK)
    assert "lint" in run_git(tmp_path, "commit", "--allow-empty", "-qm", "x").stderr
    change_git_hooks(context)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        ("#!/usr/bin/python3\n", 0o755, "is not a shell script"),
        ("#!/bin/sh\r\necho\r\n", 0o755, "is not a shell script"),
        ("#!/bin/sh\n", 0o644, "is not executable"),
    ],
)
def test_a_script_that_would_break_is_refused(
    text: str, mode: int, reason: str, tmp_path: Path
) -> None:
    run_git(tmp_path, "init", "-q")
    script = write_program(tmp_path / ".git/hooks/pre-commit", text)
    script.chmod(mode)
    with pytest.raises(RejectedError, match=reason):
        change_git_hooks(make_context(tmp_path), ["/bin/true"])
    assert script.read_bytes() == text.encode()


def test_no_script_is_written_into_a_folder_of_the_project(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "config", "core.hooksPath", ".husky/_")
    with pytest.raises(MemError, match="the project has its git hooks in"):
        change_git_hooks(make_context(tmp_path), ["/bin/true"])
    assert not (tmp_path / ".husky").exists()


def test_a_hook_that_git_no_longer_runs_is_reported(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    run_git(tmp_path, "init", "-q")
    change_git_hooks(make_context(tmp_path), ["/bin/true"])
    run_git(tmp_path, "config", "core.hooksPath", ".husky/_")
    problem = (
        f"commits are not checked: git runs the hooks in {tmp_path}/.husky/_; add `mem"
        " check --staged` to your own script, such as .husky/pre-commit"
    )
    assert problem in run_mem(tmp_path, "hook", "ls", "--json")[1]
    assert f"error\tgit\t{problem}\t" in run_mem(tmp_path, "doctor")[1]
    write_program(tmp_path / ".husky/pre-commit", "npm test\nmem check --staged\n")
    assert "not checked" not in run_mem(tmp_path, "doctor")[1]
    (tmp_path / ".husky/pre-commit").unlink()
    assert len(change_git_hooks(make_context(tmp_path)).changed) == 2
    assert "not checked" not in run_mem(tmp_path, "doctor")[1]


@pytest.mark.parametrize("before", [None, "MAILTO=me\n5 * * * * date", "# mine\n"])
def test_cron_runs_tend_every_hour(before: str | None, tmp_path: Path) -> None:
    folder = tmp_path / "50% off"
    folder.mkdir()
    workspace = make_workspace(folder)
    write_program(folder / "bin/crontab", CRONTAB)
    workspace.context = make_context(folder, PATH=str(folder / "bin"))
    table = folder / "home/tab"
    table.parent.mkdir(exist_ok=True)
    if before is not None:
        table.write_text(before)
    program = write_program(folder / "my mem", '#!/bin/sh\necho "$@" > "$HOME/ran"\n')
    change_crontab(workspace, [str(program)])
    assert change_crontab(workspace, [str(program)]).changed == []
    line = table.read_text().splitlines()[-1]
    assert line.startswith("17 * * * * ")
    assert not re.search(r"(?<!\\)%", line)
    # As cron does: an escaped percent sign is one, and the rest goes to the shell.
    command = line.removeprefix("17 * * * * ").replace("\\%", "%")
    environment = {"HOME": str(folder / "home"), "PATH": ""}
    subprocess.run(["/bin/sh", "-c", command], env=environment, check=True)
    assert (folder / "home/ran").read_text() == f"tend --workspace {workspace.root}\n"
    change_crontab(workspace)
    assert (table.read_text() if table.exists() else None) == (
        f"{before}\n" if before and not before.endswith("\n") else before
    )


def test_without_crontab_there_is_a_hint(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.context = make_context(tmp_path, PATH="")
    with pytest.raises(NotFoundError) as caught:
        change_crontab(workspace, ["/bin/mem"])
    assert "systemd" in caught.value.hint


def test_without_systemctl_there_is_a_hint_and_no_unit(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.context = make_context(tmp_path, PATH="")
    with pytest.raises(NotFoundError) as caught:
        change_timer(workspace, ["/bin/mem"])
    assert "cron" in caught.value.hint
    assert not (tmp_path / "home/.config/systemd").exists()


@pytest.mark.parametrize("works", [True, False])
def test_systemd_starts_a_timer_or_says_why_not(works: bool, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    log = tmp_path / "calls"
    end = "" if works else "echo 'Failed to connect to bus' >&2; exit 1"
    write_program(tmp_path / "bin/systemctl", f'#!/bin/sh\necho "$@" >> {log}\n{end}\n')
    workspace.context = make_context(tmp_path, PATH=str(tmp_path / "bin"))
    done = change_timer(workspace, ["/opt/100% mem"])
    folder = tmp_path / "home/.config/systemd/user"
    service = next(folder.glob("mem-tend-*.service")).read_text()
    assert f'ExecStart="/opt/100%% mem" tend --workspace {workspace.root}\n' in service
    if works:
        assert not done.notes and "enable --now mem-tend-" in log.read_text()
    else:
        assert "Failed to connect to bus. Try later: systemctl --user enable" in done.notes[0]
    change_timer(workspace)
    code, printed, _ = run_mem(
        tmp_path, "hook", "install", "systemd", PATH=f"{tmp_path}/bin:{os.environ['PATH']}"
    )
    assert (code, "The timer is not running" in printed) == ((0, False) if works else (3, True))
    change_timer(workspace)
    assert not folder.exists()
    assert "disable --now" in log.read_text()


def test_hook_ls_shows_git_cron_and_systemd(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    run_git(tmp_path, "init", "-q")
    write_program(tmp_path / "bin/crontab", CRONTAB)
    write_program(tmp_path / "bin/systemctl", "#!/bin/sh\n")
    context = make_context(tmp_path, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    workspace.context = context
    assert list_schedules(context, [workspace]) == []
    change_git_hooks(context, ["/bin/mem"])
    change_crontab(workspace, ["/bin/mem"])
    change_timer(workspace, ["/bin/mem"])
    command = f"/bin/mem tend --workspace {workspace.root}"
    assert [(item.agent, item.commands[0]) for item in list_schedules(context, [workspace])] == [
        ("git", (tmp_path / ".git/hooks/pre-commit").read_text().splitlines()[3].strip()),
        ("git", (tmp_path / ".git/hooks/post-merge").read_text().splitlines()[3].strip()),
        ("cron", (tmp_path / "home/tab").read_text().rstrip()),
        ("systemd", command),
    ]
    code, printed, _ = run_mem(tmp_path, "hook", "ls", PATH=context.environment["PATH"])
    assert code == 0
    assert f"systemd\tconnected\tproject\t{tmp_path}" in printed and command in printed
    # Without a target, only agents are disconnected.
    code, printed, messages = run_mem(
        tmp_path, "hook", "uninstall", PATH=context.environment["PATH"]
    )
    assert (code, printed) == (0, "")
    assert messages.splitlines() == [
        f"mem: {name} still runs mem: mem hook uninstall {name}"
        for name in ("git", "cron", "systemd")
    ]
