"""Find the agents of this machine, and the settings files and pages that they read."""

import shutil
from contextlib import suppress
from pathlib import Path

from ..context import Context
from ..errors import NotFoundError, UsageError
from ..store.worktrees import find_repository
from .table import AGENTS, Agent


def get_agent(name: str) -> Agent:
    if name not in AGENTS:
        raise UsageError(f"unknown agent {name!r}", f"one of: {', '.join(AGENTS)}")
    return AGENTS[name]


def find_agents(context: Context) -> list[str]:
    """Return the agents that are found on this machine."""
    path = context.environment.get("PATH", "")
    found = []
    for name, agent in AGENTS.items():
        with suppress(NotFoundError):
            if shutil.which(agent.program, path=path) or find_folder(context, agent).is_dir():
                found.append(name)
    return found


def find_folder(context: Context, agent: Agent) -> Path:
    """Return the folder of an agent's own settings."""
    chosen = context.environment.get(agent.variable, "")
    if chosen.startswith("/"):
        return Path(chosen)
    folder = context.find_home_folder("", agent.folder)
    if agent.folder.startswith(".config/"):
        base = context.find_home_folder("XDG_CONFIG_HOME", ".config")
        folder = base / agent.folder.removeprefix(".config/") if base else None
    if folder is None:
        raise NotFoundError("no HOME, so there are no settings of an agent", "set HOME")
    return folder


def find_settings(context: Context, agent: Agent, project: Path | None) -> Path:
    """Return the settings file of an agent: the user's own, or that of a project."""
    if project is not None:
        path = project / agent.project_file
    else:
        path = find_folder(context, agent) / agent.settings_file
    # opencode reads both.
    alternative = path.with_suffix(".jsonc")
    return alternative if not path.exists() and alternative.exists() else path


def find_base(context: Context, path: Path) -> Path:
    """Return the folder that the target of a link to a user's settings must be in."""
    home = context.environment.get("HOME", "")
    return Path(home) if home and path.is_relative_to(home) else path.parent


def find_page(context: Context, agent: Agent, project: Path | None) -> Path | None:
    """Return the page that gets the protocol. Hooks show it, so only a project's page needs it."""
    if project is not None:
        return project / agent.page
    return find_folder(context, agent) / agent.user_page if agent.user_page else None


def find_project(context: Context) -> Path:
    repository = find_repository(context.folder)
    return repository.top if repository else context.folder
