"""`mem ui`."""

import os
import signal
import webbrowser
from contextlib import ExitStack, suppress
from typing import Annotated

import typer

from ..api import maintain
from ..api.workspace import Workspace, open_workspaces, surroundings
from ..errors import UnavailableError
from . import output, workspaces
from .options import InScope, InWorkspace
from .serve import seconds_in


def ui(
    demo: Annotated[
        bool, typer.Option("--demo", help="Show a memory made up for it, which is gone at the end.")
    ] = False,
    port: Annotated[
        int,
        typer.Option(metavar="PORT", min=0, max=65535, help="Listen at this port.", show_default="one that is free"),
    ] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser: print the address alone.")] = False,
    idle: Annotated[str, typer.Option(metavar="TIME", help="End after so long without a request.")] = "30m",
    workspace: InWorkspace = "",
    scope: InScope = "",
) -> None:
    """Look at memory in a browser, and correct it: a page that this machine alone can open.

    Search and filter, edit, pin, forget, merge and supersede, answer what waits in `mem review`, see the days, and what
    a session is told. What is changed there `mem undo` takes back. The address has a token of this run: whoever has it
    may change memory. It ends at Ctrl-C, and when nobody asks any more. Needs the extra: pip install 'memcli[ui]'
    """
    seconds = seconds_in(idle)
    try:
        from ..ui.server import PageServer
    except ImportError as error:
        raise UnavailableError(
            f"what serves the page is not installed ({error.name})", "run `pip install 'memcli[ui]'`"
        ) from None
    for number in (signal.SIGTERM, signal.SIGHUP):  # a sample is deleted at these too
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    with ExitStack() as stack:
        if demo:
            from ..ui.demo import sample

            open_now = stack.enter_context(sample())
        else:
            opened = workspaces.reading(
                workspaces.Common(workspace, scope)
            )  # a person should hear at once that there is none
            at_start = [("user", "") if each.scope == "user" else ("", each.root) for each in opened]

            def open_now() -> list[Workspace]:  # these same ones, in this order, whatever is made or deleted meanwhile
                return [open_workspaces(root, scope=scope)[0] for scope, root in at_start]

        page = PageServer(open_now, port)
        if signal.getsignal(signal.SIGHUP) is signal.default_int_handler:
            signal.signal(signal.SIGHUP, lambda *_: page.stop())

        def ready() -> None:
            output.say(page.url)
            output.note("Ctrl-C ends the page")
            output.flush()
            if not (no_open or _opens(page.url)):
                output.note("no browser could be started: open the address above")
            maintain.hold_model(surroundings())

        page.serve(seconds, ready)
    output.note("the page has ended")


def _opens(url: str) -> bool:
    """Open an address in a browser with a window of its own; return whether there was one."""
    has_window = os.name != "posix" or os.uname().sysname == "Darwin" or "BROWSER" in os.environ
    if not has_window and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        return False  # it would be one of text, in this terminal
    with suppress(webbrowser.Error, OSError):
        return webbrowser.open(url)
    return False
