"""The table of commands. The overview, shell completion and the man pages are made from it."""

from typing import NamedTuple

from ..data import table


class Command(NamedTuple):
    """A command as the overview and the manual show it."""

    group: str  # one of GROUPS; empty if only programs call it
    summary: str
    takes_text: bool  # which may start with a dash


TABLE = table("commands.toml")
GROUPS: dict[str, dict[str, str]] = TABLE["groups"]
MODULES: dict[str, str] = TABLE["modules"]
COMMANDS = {
    name: Command(group, summary, name in TABLE["texts"]["commands"])
    for group, summaries in {**GROUPS, "": TABLE["programs"]}.items()
    for name, summary in summaries.items()
}
