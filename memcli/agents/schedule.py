"""Make git, cron and systemd run mem, and remove that again."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..api import Context, MemError, NotFoundError, RejectedError
from ..formats import build_digest
from ..store import Workspace, find_repository, run_git
from .install import SCRIPT_MARKS, Connection, Installation, insert_block, remove_block
from .settings_file import read_settings, save_text

TARGETS = ("git", "cron", "systemd")
CRONTAB = "your crontab (crontab -l)"
PROGRAM_SECONDS = 60.0
STOPPED = (
    "mem stopped this commit of memories. Fix the lines above, list the file (as entries/…) in"
    " .secretsignore next to mem.yaml, or pass --no-verify."
)
OWN_SCRIPT = "add `mem check --staged` to your own script, such as .husky/pre-commit"
NOT_CHECKED = "so this commit was not checked: run mem hook install git"
# An index that is up to date makes the first search after a large merge fast. No hook runs after
# a commit, because every command reads the files that have changed.
# `mem check` exits with 1 for problems in the files. Any other code, such as that of a missing
# workspace, must not stop a commit. git sets GIT_DIR and GIT_INDEX_FILE for its hooks, and these
# would also direct the git that mem runs in another folder.
GIT_HOOKS = {
    "pre-commit": "{program} check --staged </dev/null >&2\n"
    f"  [ $? -ne 1 ] || {{{{ echo '{STOPPED}' >&2; exit 1; }}}}\n"
    # The program was moved or removed. The commit goes on.
    f"else\n  echo mem: not found at {{first}}', {NOT_CHECKED}' >&2",
    "post-merge": "(unset GIT_DIR GIT_INDEX_FILE; {program} index </dev/null >/dev/null 2>&1 &)",
}
BLOCK = "if [ -x {first} ]; then\n  {line}\nfi"
# `#!/bin/sh`, `#!/usr/bin/env bash`
SHELL_SCRIPT = re.compile(r"#!\s*(?:/usr/bin/env\s+)?(?:/\S*/)?(?:sh|bash|dash|zsh|ksh)\b")
NEW_SCRIPT = "#!/bin/sh\n"
SERVICE = """\
[Unit]
Description=Tend the memory in {root}

[Service]
Type=oneshot
ExecStart={command}
"""
TIMER = """\
[Unit]
Description=Tend the memory in {root} every hour

[Timer]
OnCalendar=hourly

[Install]
WantedBy=timers.target
"""


def change_git_hooks(context: Context, program: Sequence[str] = ()) -> Installation:
    """Add a block to the hooks of the repository, or remove it if there is no program."""
    folder, own_folder, is_in_project = find_git_hooks(context)
    if program and is_in_project:
        # husky writes its scripts again, and in another folder the path of mem may be committed.
        raise RejectedError(f"the project has its git hooks in {folder}", OWN_SCRIPT)
    changes = []
    # Removed also from hooks that git no longer runs.
    folders = [folder] if program else {folder.resolve(), own_folder.resolve()}
    for path in (place / name for place in folders for name in GIT_HOOKS):
        before = read_settings(path)
        after = remove_block(before, SCRIPT_MARKS)
        if program:
            check_script(path, before)
            first = shlex.quote(program[0])
            line = GIT_HOOKS[path.name].format(program=shlex.join(program), first=first)
            after = insert_block(after or NEW_SCRIPT, BLOCK.format(first=first, line=line))
        if after != before:
            changes.append((path, before, after))
    # Written only after every script was checked, so that a refusal changes nothing.
    done = Installation("git")
    for path, before, after in changes:
        # If only the first line is left, mem created the script.
        done.changed += save_text(path, None if after == NEW_SCRIPT else after, path.parent)
        if program and not before:
            path.chmod(0o755)
    return done


def find_git_hooks(context: Context) -> tuple[Path, Path, bool]:
    """Return the folder of hooks that git runs, the usual one, and whether the project has it."""
    repository = find_repository(context.folder)
    if repository is None:
        raise NotFoundError("no git repository in this folder or above it", "create one: git init")
    top, git_folder = repository.top, repository.git_folder.resolve()
    # This respects core.hooksPath and linked worktrees.
    folder = top / run_git(top, "rev-parse", "--git-path", "hooks").decode().strip()
    hooks_folder = folder.resolve()
    is_in_git = hooks_folder.is_relative_to(git_folder)
    is_in_project = hooks_folder.is_relative_to(top.resolve()) and not is_in_git
    return folder, git_folder / "hooks", is_in_project


def list_schedules(context: Context, workspaces: Sequence[Workspace]) -> list[Connection]:
    """Return where git, cron and systemd run mem, with the commands."""
    connections = []
    with suppress(MemError):
        folder, own_folder, _ = find_git_hooks(context)
        for path in (folder / name for name in GIT_HOOKS):
            # The command is in the second line of the block, which begins with a test.
            lines = read_settings(path).partition(SCRIPT_MARKS[0])[2].splitlines()
            commands = [line.strip() for line in lines[2:3]]
            connections.append(Connection("git", "project", str(path), commands))
        # husky was installed after mem. It runs .husky/pre-commit from .husky/_.
        scripts = [read_settings(place / "pre-commit") for place in (folder, folder.parent)]
        old = own_folder / "pre-commit"
        if SCRIPT_MARKS[0] in read_settings(old) and "check --staged" not in "".join(scripts):
            problem = f"commits are not checked: git runs the hooks in {folder}; {OWN_SCRIPT}"
            connections.append(Connection("git", "project", str(old), error=problem))
    for workspace in workspaces:
        scope = "user" if workspace.is_own else "project"
        with suppress(MemError):
            lines = run_crontab(workspace, "-l").splitlines()
            commands = [line for line in lines if line.endswith(build_cron_mark(workspace))]
            connections.append(Connection("cron", scope, CRONTAB, commands))
        with suppress(MemError):
            path = find_unit(workspace, "service")
            commands = re.findall(r"(?m)^ExecStart=(.*)", read_settings(path))
            connections.append(Connection("systemd", scope, str(path), commands))
    return [item for item in connections if item.commands or item.error]


def check_script(path: Path, text: str) -> None:
    """Refuse a script that the block would break, or that git does not run."""
    if not text:
        return
    if not SHELL_SCRIPT.match(text) or "\r\n" in text:
        raise RejectedError(
            f"{path} is not a shell script", "add `mem check --staged` to it yourself"
        )
    if not path.stat().st_mode & 0o100:
        raise RejectedError(f"{path} is not executable", f"chmod +x {shlex.quote(str(path))}")


def build_tend_command(workspace: Workspace, program: Sequence[str]) -> list[str]:
    # With --workspace, mem would treat the user's own workspace as a project's.
    place = ["--scope", "user"] if workspace.is_own else ["--workspace", str(workspace.root)]
    return [*program, "tend", *place]


def change_crontab(workspace: Workspace, program: Sequence[str] = ()) -> Installation:
    """Add a line to the user's crontab that tends a workspace, or remove it without a program."""
    check_path(workspace)
    mark = build_cron_mark(workspace)
    before = run_crontab(workspace, "-l")
    after = "".join(
        line for line in before.splitlines(keepends=True) if not line.rstrip().endswith(mark)
    )
    if program:
        command = shlex.join(build_tend_command(workspace, program)).replace("%", "\\%")
        # Otherwise mem's line would become a part of the last command.
        if after and not after.endswith("\n"):
            after += "\n"
        after += f"17 * * * * {command} >/dev/null {mark}\n"
    if after == before:
        return Installation("cron")
    if after:
        run_crontab(workspace, "-", after)
    else:
        run_crontab(workspace, "-r")
    return Installation("cron", [CRONTAB])


def build_cron_mark(workspace: Workspace) -> str:
    # cron takes a percent sign for the end of the command.
    return f"# mem hook cron: {workspace.root}".replace("%", "\\%")


def check_path(workspace: Workspace) -> None:
    if not str(workspace.root).isprintable():
        raise RejectedError(f"{str(workspace.root)!r} cannot be scheduled", "rename the folder")


def run_crontab(workspace: Workspace, argument: str, text: str = "") -> str:
    """Run crontab and return its output. Without a crontab, return an empty text."""
    done = run_program(workspace.context, ["crontab", argument], text)
    if done is None:
        raise NotFoundError("crontab is not installed", "use systemd: mem hook install systemd")
    # `no crontab for ana`: crontab calls that an error.
    if done.returncode and not (argument == "-l" and "no crontab" in done.stderr):
        raise RejectedError(f"crontab: {done.stderr.strip() or 'failed'}")
    return "" if done.returncode else done.stdout


def run_program(
    context: Context, words: Sequence[str], text: str = "", seconds: float = PROGRAM_SECONDS
) -> subprocess.CompletedProcess[str] | None:
    """Run a program of the system; None if it is not installed or does not end."""
    program = shutil.which(words[0], path=context.environment.get("PATH", os.defpath))
    if program is None:
        return None
    with suppress(subprocess.TimeoutExpired):
        return subprocess.run(
            [program, *words[1:]],
            input=text,
            cwd=context.folder,
            env=dict(context.environment),
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=seconds,
            check=False,
        )
    return None


def change_timer(workspace: Workspace, program: Sequence[str] = ()) -> Installation:
    """Write the units of a timer that tends a workspace and start it, or remove them."""
    check_path(workspace)
    programs = workspace.context.environment.get("PATH", os.defpath)
    if program and shutil.which("systemctl", path=programs) is None:  # for example on macOS
        raise NotFoundError("systemctl is not installed", "use cron: mem hook install cron")
    name = find_unit(workspace, "timer").name
    command = " ".join(map(quote_for_systemd, build_tend_command(workspace, program)))
    done = Installation("systemd")
    if not program:
        # Before the files are deleted, because systemd disables only a unit that it finds.
        run_systemctl(workspace, "disable", "--now", name)
    for kind, template in (("service", SERVICE), ("timer", TIMER)):
        path = find_unit(workspace, kind)
        root = str(workspace.root).replace("%", "%%")
        text = template.format(root=root, command=command) if program else None
        if text != (read_settings(path) or None):
            done.changed += save_text(path, text, path.parents[2])
    if done.changed:
        reason = run_systemctl(workspace, "daemon-reload")
        if program:
            reason = reason or run_systemctl(workspace, "enable", "--now", name)
            later = f"Try later: systemctl --user enable --now {name}"
            done.notes += [f"The timer is not running: {reason}. {later}"] if reason else []
    return done


def find_unit(workspace: Workspace, kind: str) -> Path:
    """Return the file of a unit that tends a workspace."""
    folder = workspace.context.find_home_folder("XDG_CONFIG_HOME", ".config", "systemd", "user")
    if folder is None:
        raise NotFoundError("no HOME, so there are no units of systemd", "set HOME")
    return folder / f"mem-tend-{build_digest(str(workspace.root))[:8]}.{kind}"


def run_systemctl(workspace: Workspace, *words: str) -> str:
    """Run systemctl for this user, and return why it failed."""
    done = run_program(workspace.context, ["systemctl", "--user", *words])
    if done is None:
        return "systemctl did not answer"
    return done.stderr.strip().partition("\n")[0] if done.returncode else ""


def quote_for_systemd(word: str) -> str:
    """Write a word of a command as systemd reads it."""
    quoted = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return quoted if re.fullmatch(r"[\w/.+@:=,~-]+", quoted, re.ASCII) else f'"{quoted}"'
