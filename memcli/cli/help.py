"""mem help: show help of a command."""

from typing import Annotated

from typer import Argument

from ..context import Context
from ..errors import UsageError
from .commands import COMMANDS
from .main import call_command, format_overview, suggest
from .render import Result

FIELDS = ()


def run_help(
    context: Context,
    command: Annotated[str, Argument(help="The command.")] = "",
) -> Result:
    """Show the help of a command, or the list of commands."""
    if not command:
        return Result({}, format_overview().splitlines())
    if command not in COMMANDS:
        raise UsageError(f"unknown command {command!r}", suggest(command))
    return call_command(context, command, ["--help"])[1]
