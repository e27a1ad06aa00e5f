"""Find the files of an agent on this machine.

The agents and the moments of their conversations are in `data/agents.toml`. To connect another
agent, or to use another event, change that file.
"""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..context import Context
from ..data import table
from ..errors import NotFoundError, check_choice
from ..store import find_repository

TOOL_MOMENTS = ("action", "failure")


class Agent(NamedTuple):
    """An agent, and where it reads its settings."""

    title: str
    program: str
    folder: str  # of its settings, in the home folder
    settings_file: str  # in that folder
    project_file: str  # in a project
    page: str = ""  # the page of a project that it reads at every start
    user_page: str = ""  # the same for all projects, in its folder
    variable: str = ""  # names another folder
    events: Sequence[str] = ()  # keys of EVENTS
    tools: str = ""  # a pattern of the tools whose calls it reports; empty: all tools
    second: int = 1  # what its settings call a second
    first_values: Mapping[str, Any] = {}  # required in a new settings file
    mcp_key: str = ""  # without hooks: the key of the MCP servers
    next_step: str = ""  # the user must do this before it works


TABLE = table("agents.toml")
EVENTS: Mapping[str, tuple[str, int]] = {
    event: (moment, TABLE["seconds"][moment])
    for moment, events in TABLE["moments"].items()
    for event in events
}
"""The moment of each event, and the seconds after which the agent continues without mem."""
AGENTS = {name: Agent(**values) for name, values in TABLE["agents"].items()}


def get_agent(name: str) -> Agent:
    check_choice("agent", name, AGENTS)
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
    # A relative path would be another folder in every working folder.
    if chosen.startswith("/"):
        return Path(chosen)
    folder = context.find_home_folder("", agent.folder)
    if agent.folder.startswith(".config/"):
        name = agent.folder.removeprefix(".config/")
        folder = context.find_home_folder("XDG_CONFIG_HOME", ".config", name)
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
    """Return the folder in which a link to the user's settings must end."""
    home = context.environment.get("HOME", "")
    return Path(home) if home and path.is_relative_to(home) else path.parent


def find_page(context: Context, agent: Agent, project: Path | None) -> Path | None:
    """Return the page that gets the protocol. Hooks show it, so only a project's page needs it."""
    if project is not None:
        return project / agent.page
    return find_folder(context, agent) / agent.user_page if agent.user_page else None


def find_project(context: Context) -> Path:
    """Return the top folder of the repository around the working folder, or that folder."""
    repository = find_repository(context.folder)
    return repository.top if repository else context.folder
