"""Where the hooks of each agent, of git and the skill go: in a project, or for all of a user's."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import GitError, UsageError
from ...formats.times import day_of
from ...store import git, trust
from ...store.init import init
from ...store.workspace import MARKER, Surroundings, Workspace
from ..hooks.dispatch import AGENTS
from . import agent_settings, git_hooks, skill
from .skill import FileChange

TARGETS = (*AGENTS, "git", "cron")


@dataclass(frozen=True)
class Ground:
    """Where something is installed: the folder of the project, the user's home, and the environment."""

    project: Path
    home: Path
    environ: Mapping[str, str]
    is_user: bool  # for all projects, not for this one

    def settings_files(self, agent: str) -> list[Path]:
        """Give the files an agent reads its hooks from: the one that is one's own, then the shared one."""
        if agent == "codex":
            folder = self._own(".codex", "CODEX_HOME") if self.is_user else self.project / ".codex"
            return [folder / "hooks.json"]
        if self.is_user:
            return [self._own(".claude", "CLAUDE_CONFIG_DIR") / "settings.json"]
        return [self.project / ".claude" / name for name in ("settings.local.json", "settings.json")]

    @property
    def skills(self) -> list[Path]:
        """Give the places of SKILL.md: that of Claude Code, and the one other agents share."""
        base = self.home if self.is_user else self.project
        claude = self._own(".claude", "CLAUDE_CONFIG_DIR") if self.is_user else base / ".claude"
        return [folder / "skills" / skill.NAME / "SKILL.md" for folder in (claude, base / ".agents")]

    @property
    def agents_page(self) -> Path:
        """Give the AGENTS.md that gets our block."""
        return self._own(".codex", "CODEX_HOME") / "AGENTS.md" if self.is_user else self.project / "AGENTS.md"

    @property
    def place(self) -> str:
        """Give the path of mem; "" where it is not a program of its own."""
        return shutil.which("mem", path=str(Path(sys.executable).parent)) or shutil.which("mem") or ""

    @property
    def is_on_path(self) -> bool:
        """Tell whether a shell finds mem by its name, and not in a virtual environment active in this one alone."""
        found = shutil.which("mem", path=self.environ.get("PATH", os.defpath))
        active = self.environ.get("VIRTUAL_ENV", "")
        return found is not None and not (active and Path(found).is_relative_to(active))

    @property
    def program(self) -> str:
        """Give the command that runs mem: by its place for one user and where its name is not found."""
        return shlex.quote(self.place) if self.place and (self.is_user or not self.is_on_path) else "mem"

    def _own(self, folder: str, variable: str) -> Path:
        given = self.environ.get(variable, "")
        return Path(given) if given.startswith("/") else self.home / folder


def ground_of(folder: Path, environ: Mapping[str, str], *, is_user: bool) -> Ground:
    """Settle where to install from the folder one stands in: a project is the repository it is in, or itself."""
    project = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)
    home = environ.get("HOME", "")
    if is_user and not home.startswith("/"):
        raise UsageError("there is no home folder", "set HOME")
    return Ground(project, Path(home or "/"), environ, is_user)


def install_plan(target: str, ground: Ground, *, tools: bool = False, shared: bool = False) -> list[FileChange]:
    """Propose the hooks of an agent or of git; `shared` puts those of an agent where all who have the project run them.

    They stand in one file: in the other one they are taken out.
    """
    if target == "git":
        return git_hooks.install_plan(git_hooks.folder_of(ground.project), ground.program)
    events = agent_settings.EVENTS | ({agent_settings.TOOL_EVENT: agent_settings.TOOL_SECONDS} if tools else {})
    files = ground.settings_files(target)
    chosen = files[-1] if shared else files[0]
    plan = [one for path in files if path != chosen for one in agent_settings.uninstall_plan(path)]
    return plan + agent_settings.install_plan(
        chosen, agent_settings.command_of(target, "mem" if shared else ground.program), events
    )


def uninstall_plan(target: str, ground: Ground) -> list[FileChange]:
    """Propose to take the hooks of an agent or of git out again."""
    if target == "git":
        return git_hooks.uninstall_plan(git_hooks.folder_of(ground.project))
    return [one for path in ground.settings_files(target) for one in agent_settings.uninstall_plan(path)]


def skill_plan(ground: Ground, *, is_removal: bool) -> list[FileChange]:
    """Propose the skill and the block of AGENTS.md, or to take both away."""
    plan = skill.no_skill_plan(ground.skills) if is_removal else skill.skill_plan(ground.skills)
    block = (skill.no_block_plan if is_removal else skill.block_plan)(ground.agents_page)
    return [*plan, *([block] if block.before != block.after else [])]


@dataclass(frozen=True)
class Installed:
    """The hooks of a target in a file, or in a folder of scripts."""

    path: str
    events: list[str]
    missing: str  # what is called and not found, so that they do nothing


def status(target: str, ground: Ground) -> list[Installed]:
    """Tell in which files a target's hooks may be, and which of them are installed there."""
    if target == "git":
        folder = git_hooks.folder_of(ground.project)
        return [Installed(str(folder), git_hooks.installed(folder), _missing(git_hooks.programs(folder), ground))]
    return [
        Installed(str(path), agent_settings.installed_events(path), _missing(agent_settings.programs(path), ground))
        for path in ground.settings_files(target)
    ]


def _missing(programs: Sequence[str], ground: Ground) -> str:
    """Give the first program that a shell with this environment does not find."""
    for program in programs:
        try:
            name = shlex.split(program)[-1:]
        except ValueError:
            continue
        if name and shutil.which(name[0], path=ground.environ.get("PATH", os.defpath)) is None:
            return name[0]
    return ""


PLACES = ("project", "user")


def default_place(workspace: Workspace) -> str:
    """Return whose workspace should keep what hooks note: the user's where the project is shared with a remote."""
    if workspace.is_own:
        return "project"
    record = trust.record_of(workspace.state, workspace.root) if workspace.state else None
    if record and record.notes_to:
        return record.notes_to
    try:
        return "user" if git.text(workspace.root, "remote").strip() else "project"
    except GitError:
        return "project"


def record_place(around: Surroundings, workspace: Workspace, place: str) -> None:
    """Record whose workspace keeps what hooks note in a project; make the user's where there is none yet."""
    if place == "user" and not (around.user_root / MARKER).is_file():
        init(around, around.user_root, "mem")
    if workspace.state and not workspace.is_own:
        trust.record(workspace.state, workspace.root, notes_to=place)


def shared_files(workspace: Workspace) -> list[str]:
    """List what hooks write to in a workspace that git does not ignore; nothing outside of a repository."""
    layout = workspace.layout
    today = day_of(workspace.now, workspace.zone).isoformat()
    names = {
        layout.notes.format(date=today): layout.notes,
        layout.history.format(month=today[:7]): layout.history,
        layout.memory: layout.memory,
        f"{layout.entries}/any.md".lstrip("/"): f"{layout.entries}/",
        "sessions/any/session.jsonl": "sessions/",
    }
    return [shown for name, shown in names.items() if is_shared(workspace.root / name)]


def is_shared(path: Path) -> bool:
    """Tell whether a file lies in a git repository that does not ignore it."""
    folder = next((one for one in path.parents if one.is_dir()), path.parent)
    try:
        git.run(folder, "rev-parse", "--show-toplevel")
    except GitError:
        return False
    try:
        git.run(folder, "check-ignore", "--quiet", "--no-index", "--", str(path))
    except GitError:
        return True
    return False
