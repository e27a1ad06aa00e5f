"""Where the hooks of agents and git and the skill go, for a project or all of a user's, and what tends a workspace.

The texts for cron and systemd must hold any path. Neither the crontab nor the folder of units is touched.
"""

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

from ...api.installation import (
    KEEPERS,
    FileChange,
    Surroundings,
    Workspace,
    default_keeper,
    git_hooks_folder,
    mem_path,
    record_keeper,
    shared_files,
)
from ...dataclass import dataclass
from ...errors import MemError, RefusedError, UsageError
from ...results import FilePath, Result
from .. import AGENTS
from . import agent_settings, git_hooks, skill

_SERVICE = """\
# From `mem hook install systemd`; `mem hook uninstall systemd` prints what takes it away.
[Unit]
Description=Tend the memory in {described}

[Service]
Type=oneshot
ExecStart={program} tend --quiet --workspace {workspace}
# Another one is at it: the next night does it.
SuccessExitStatus=75
Nice=10
"""
_TIMER = """\
# From `mem hook install systemd`; `mem hook uninstall systemd` prints what takes it away.
[Unit]
Description=Tend the memory in {described} every night

[Timer]
OnCalendar=*-*-* 03:17:00
RandomizedDelaySec=10min
Persistent=true

[Install]
WantedBy=timers.target
"""

SCHEDULERS = ("cron", "systemd")
TARGETS = (*AGENTS, "git", *SCHEDULERS)
_ONE_PLACE = ("git", *SCHEDULERS)
"""Targets that have no place of their own for all projects."""


@dataclass(frozen=True)
class Destination:
    """Where something is installed: the folder of the project, the user's home, and the environment."""

    project: Path
    home: Path
    environ: Mapping[str, str]
    is_user: bool  # for all projects, not for this one

    def settings_files(self, agent: str) -> list[Path]:
        """Return the files an agent reads its hooks from: the one that is one's own, then the shared one."""
        row = AGENTS[agent]
        if self.is_user:
            return [self._own(row.folder, row.variable) / row.user_file]
        return [self.project / path for path in row.project_files]

    @property
    def skills(self) -> list[Path]:
        """Return the places of SKILL.md: that of Claude Code, and the one other agents share."""
        base = self.home if self.is_user else self.project
        claude = self._own(".claude", "CLAUDE_CONFIG_DIR") if self.is_user else base / ".claude"
        return [folder / "skills" / skill.NAME / "SKILL.md" for folder in (claude, base / ".agents")]

    def protocol_page(self, agent: str) -> Path:
        """Return the page an agent reads at the start of every session, which gets the protocol."""
        row = AGENTS[agent]
        if self.is_user:
            return self._own(row.folder, row.variable) / (row.user_page or row.page)
        return self.project / row.page

    @property
    def mem_path(self) -> str:
        """Return the path of mem; empty if it is not a program of its own."""
        return mem_path()

    @property
    def is_on_path(self) -> bool:
        """Tell whether a shell finds mem by its name, and not in a virtual environment active in this one alone."""
        program = shutil.which("mem", path=self.environ.get("PATH", os.defpath))
        active = self.environ.get("VIRTUAL_ENV", "")
        return program is not None and not (active and Path(program).is_relative_to(active))

    @property
    def program(self) -> str:
        """Return the command that runs mem: by its place for one user and where its name is not found."""
        return shlex.quote(self.mem_path) if self.mem_path and (self.is_user or not self.is_on_path) else "mem"

    def _own(self, folder: str, variable: str) -> Path:
        given = self.environ.get(variable, "")
        return Path(given) if given.startswith("/") else self.home / folder


def destination_of(target: str, around: Surroundings, *, project: bool = False, user: bool = False) -> Destination:
    """Settle where to install a target: a project is the repository one stands in, or else the folder itself.

    Raise UsageError for an unknown target, or for a place where it cannot be.
    """
    if target not in (*TARGETS, "skill"):
        near = [name for name in TARGETS if target and name.startswith(target.lower())]
        near = near or get_close_matches(target, TARGETS, 1)
        raise UsageError(
            f"no target {target!r}", f"did you mean {near[0]}?" if near else f"use one of {', '.join(TARGETS)}"
        )
    if project and user:
        raise UsageError("hooks belong to a project or to the user", "give --project or --user")
    if user and target in _ONE_PLACE:
        raise UsageError(f"{target} hooks belong to one repository or workspace", "leave out --user")
    folder, home = around.folder, around.environ.get("HOME", "")
    root = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)
    if user and not home.startswith("/"):
        raise UsageError("there is no home folder", "set HOME")
    return Destination(root, Path(home or "/"), around.environ, user)


def install_plan(target: str, to: Destination, *, tools: bool = False, shared: bool = False) -> list[FileChange]:
    """Propose the hooks of an agent, with the protocol on its page, or those of git.

    `shared` puts those of an agent where all who have the project run them.
    They stand in one file: in the other one they are taken out. Raise UsageError for `shared` where nothing is shared.
    """
    if shared and (to.is_user or target == "git"):
        raise UsageError("only the hooks of an agent in a project can be shared", "leave out --shared")
    if target == "git":
        return git_hooks.install_plan(git_hooks_folder(to.project), to.program)
    agent = AGENTS[target]
    if tools and not any(event.is_optional for event in agent.events.values()):
        raise UsageError(f"{agent.title} tells nothing of failed tool calls", "leave out --tool-errors")
    files = to.settings_files(target)
    chosen = files[-1] if shared else files[0]
    command = agent_settings.command_of(target, "mem" if shared else to.program)
    hooks = agent_settings.hooks_of(agent, command, tools=tools)
    plan = [change for path in files if path != chosen for change in agent_settings.uninstall_plan(path, agent)]
    plan += agent_settings.install_plan(chosen, agent, hooks)
    return plan + skill.protocol_plan(to.protocol_page(target))


def uninstall_plan(target: str, to: Destination) -> list[FileChange]:
    """Propose to take the hooks of an agent or of git out again."""
    if target == "git":
        return git_hooks.uninstall_plan(git_hooks_folder(to.project))
    agent = AGENTS[target]
    plan = [change for path in to.settings_files(target) for change in agent_settings.uninstall_plan(path, agent)]
    page = to.protocol_page(target)
    readers = [name for name in AGENTS if to.protocol_page(name).resolve() == page.resolve()]
    sharing = [path for name in readers for path in to.settings_files(name)]
    if any(map(agent_settings.installed_events, set(sharing) - set(to.settings_files(target)))):
        return plan  # another agent reads the same page
    return plan + skill.no_protocol_plan(page)


@dataclass(frozen=True)
class InstalledHooks:
    """The hooks of a target in a file, or in a folder of scripts."""

    path: FilePath
    events: Annotated[list[str], "the events that are answered"]
    missing: Annotated[str, "the program that the hooks call and nobody finds; empty where it is found"]


@dataclass(frozen=True)
class HooksOfTarget(InstalledHooks):
    """The hooks in a file, with whose they are."""

    target: Annotated[str, "an agent, or git"]
    scope: Annotated[str, "project or user"]


@dataclass(frozen=True)
class HookStatus(Result):
    """The hooks that are or may be installed."""

    hooks: Annotated[tuple[HooksOfTarget, ...], "the hooks"]
    faults: tuple[str, ...]  # why others cannot be read


def status(target: str, to: Destination) -> list[InstalledHooks]:
    """Tell in which files a target's hooks may be, and which of them are installed there."""
    if target == "git":
        folder = git_hooks_folder(to.project)
        return [InstalledHooks(str(folder), git_hooks.installed(folder), _missing(git_hooks.programs(folder), to))]
    return [
        InstalledHooks(str(path), agent_settings.installed_events(path), _missing(agent_settings.programs(path), to))
        for path in to.settings_files(target)
    ]


def all_statuses(target: str, around: Surroundings, *, project: bool, user: bool) -> HookStatus:
    """Return a row for each place where the hooks of a target, or of all, may be, and why others cannot be read."""
    if target in SCHEDULERS:
        raise UsageError(f"mem only prints what {target} needs", "`crontab -l`, `systemctl --user list-timers` show it")
    rows: list[HooksOfTarget] = []
    faults: list[str] = []
    for name in [target] if target else (*AGENTS, "git"):
        for is_user in [False, True] if not (project or user) and name not in _ONE_PLACE else [user]:
            to = destination_of(name, around, project=not is_user, user=is_user and name not in _ONE_PLACE)
            try:
                statuses = status(name, to)
            except MemError as error:
                if target:
                    raise
                if not isinstance(error, UsageError):  # that there is no repository, hence no scripts of git
                    faults.append(str(error))
                continue
            whose = "user" if is_user else "project"
            rows += [HooksOfTarget(**vars(hooks), target=name, scope=whose) for hooks in statuses]
    return HookStatus(tuple(rows), tuple(faults))


def settle_keeper(around: Surroundings, workspace: Workspace, notes: str, *, dry_run: bool) -> dict[str, Any]:
    """Settle and record whose workspace keeps what is said in a project: `notes`, or the default if it is empty.

    Return what an installation tells of it. Raise UsageError if there is no such keeper.
    """
    keeper = notes or default_keeper(workspace)
    if not dry_run:
        record_keeper(around, workspace, keeper)
    kept_in = around.user_root if keeper == "user" else workspace.root
    return {"notes": keeper, "kept_in": str(kept_in), "shared": [] if keeper == "user" else shared_files(workspace)}


def require_keeper(notes: str) -> None:
    """Raise UsageError for what is no name of a keeper; empty is none given."""
    if notes and notes not in KEEPERS:
        raise UsageError(f"nobody called {notes!r} keeps notes", f"give --notes one of {', '.join(KEEPERS)}")


def tending_line(around: Surroundings, root: Path) -> str:
    """Return the line of a crontab that tends a workspace; it has the path of mem, since cron's own PATH is short."""
    return cron_line(Destination(Path("/"), Path("/"), around.environ, is_user=True).program, root)


def tending_units(around: Surroundings, root: Path) -> dict[Path, str]:
    """Return the units of systemd that tend a workspace; they have the path of mem, as there is no PATH of a shell."""
    home = around.environ.get("HOME", "")
    if not home.startswith("/"):
        raise UsageError("there is no home folder", "set HOME")
    to = Destination(Path("/"), Path(home), around.environ, is_user=True)
    if not to.mem_path:
        raise UsageError("mem is no program of its own here, which systemd could start", "install it, as README says")
    mark = blake2b(str(root).encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    return units_of(folder_of(to.home, around.environ), to.mem_path, root, mark)


def folder_of(home: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder in which systemd looks for a user's own units."""
    given = environ.get("XDG_CONFIG_HOME", "")
    return (Path(given) if given.startswith("/") else home / ".config") / "systemd" / "user"


def units_of(folder: Path, program: str, root: Path, mark: str) -> dict[Path, str]:
    """Return the service and the timer of a workspace, each the text of a file.

    `program` is the path of mem, `mark` tells the workspace from others of its folder's name. Raise RefusedError for a
    path that no unit can hold.
    """
    if any(not letter.isprintable() for letter in f"{program}{root}"):
        raise RefusedError(f"{str(root)!r} cannot stand in a unit of systemd", "rename the folder")
    slug = re.sub(r"[^\w-]+", "-", root.parent.name if root.name == "memory" else root.name, flags=re.ASCII).strip("-")
    fields = {"described": str(root).replace("%", "%%"), "program": _program(program), "workspace": _word(str(root))}
    name = f"mem-tend-{slug[:40] or 'memory'}-{mark}"
    return {
        folder / f"{name}.service": _SERVICE.format(**fields),
        folder / f"{name}.timer": _TIMER.format(**fields),
    }


def commands_of(units: Mapping[Path, str], *, is_removal: bool) -> list[str]:
    """Return the commands of a shell that start the timer once its units are there, or that stop it and remove them."""
    timer = list(units)[-1].name
    reload = "systemctl --user daemon-reload"
    if is_removal:
        return [f"systemctl --user disable --now {timer}", f"rm -f {shlex.join(map(str, units))}", reload]
    return [reload, f"systemctl --user enable --now {timer}"]


def script(units: Mapping[Path, str], *, is_removal: bool) -> str:
    """Return a script of the shell that puts the units there and starts the timer, or that takes both away."""
    lines = commands_of(units, is_removal=is_removal)
    if not is_removal:
        files = [f"cat > {shlex.quote(str(path))} <<'END'\n{text}END" for path, text in units.items()]
        lines = [f"mkdir -p {shlex.quote(str(next(iter(units)).parent))}", *files, *lines]
    return "\n".join(lines)


def _word(text: str) -> str:
    """Write one word of a command as systemd reads it: its own quotes, and no specifier or variable."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return quoted if re.fullmatch(r"[\w/.+@:=,~-]+", quoted, re.ASCII) else f'"{quoted}"'


def _program(path: str) -> str:
    """Write the path of a program; one that systemd takes for no path, since it has a quote in it, is given to env."""
    return f"/usr/bin/env {_word(path)}" if set(path) & set("\"'\\$") else _word(path)


def cron_line(program: str, root: Path) -> str:
    """Return the line that tends a workspace each night; cron takes a percent sign for the end of it."""
    quoted = "'" + str(root).replace("'", "'\\''") + "'"
    if "\n" in quoted:
        raise RefusedError(f"{str(root)!r} cannot stand in a crontab", "rename the folder")
    return f"17 3 * * * {program} tend --quiet --workspace {quoted} # mem hook cron".replace("%", "\\%")


def _missing(programs: Sequence[str], to: Destination) -> str:
    """Return the first program that a shell with this environment does not find."""
    for program in programs:
        try:
            name = shlex.split(program)[-1:]
        except ValueError:
            continue
        if name and shutil.which(name[0], path=to.environ.get("PATH", os.defpath)) is None:
            return name[0]
    return ""
