"""`mem hook`: what agents, git and cron run, and how it gets there."""

import typer

from . import world
from .app import STYLE
from .options import InScope, InWorkspace

app = typer.Typer(help="Let agents, git and cron run mem.", no_args_is_help=True, **STYLE)


@app.command("run")
def run(agent: str = typer.Argument(metavar="AGENT", help="claude-code or codex.")) -> None:
    """Answer an event of an agent, given as JSON on standard input.

    Whatever happens, the exit code is 0 and the agent goes on; .mem/log says what went wrong.
    """
    from .hook_run import run

    run([agent])


@app.command("close", hidden=True)
def close(
    session: str = typer.Option("", "--session"),
    transcript: str = typer.Option("", "--transcript"),
    keep: int = typer.Option(0, "--keep"),
    workspace: InWorkspace = "",
    scope: InScope = "",
) -> None:
    """Bring in what hooks kept, and consolidate the session: what a hook leaves to a process of its own."""
    from ..agents.keeping import close
    from ..agents.log import log
    from ..errors import MemError
    from ..lifecycle.llm_choice import chosen_llm

    where = world.writing(workspace, scope)
    try:
        close(where, session, chosen_llm(where.settings), world.noise, keep=keep, transcript=transcript)
    except MemError as error:
        log(where, f"hook close {session}: {error}")
        raise
