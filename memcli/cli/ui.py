"""mem ui: show the memory in the browser."""

import sys
import threading
import webbrowser
from contextlib import suppress
from typing import Annotated

from typer import Option

from ..api import open_all
from ..context import Context
from ..errors import MemError
from ..index import open_embedder
from ..ui.server import PageServer
from .terminal import Result, print_message


def run_ui(
    context: Context,
    port: Annotated[int, Option(min=0, max=65535, help="Listen on this port; 0 chooses one.")] = 0,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the page in your browser.")
    ] = True,
) -> Result:
    """Show your memory as a web page, for this machine only.

    This command prints the address of the page, which is new each time. To stop the page, press
    Ctrl-C.
    """
    # Without a workspace, this command fails and not the page.
    open_all(context)
    with suppress(MemError):  # if the model is missing, searches report it
        context = context._replace(embedder=open_embedder(context.cache_folder, is_bulk=False))
    server = PageServer(context, port)
    context.stdout.write(f"{server.url}\n")
    context.stdout.flush()
    print_message(context, "press Ctrl-C to stop the page")
    if browser and context.is_terminal and has_desktop(context):
        threading.Thread(target=webbrowser.open, args=(server.url_for_browser,)).start()
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    server.server_close()
    return Result()


def has_desktop(context: Context) -> bool:
    """Return whether a browser can have a window. Otherwise Python starts one in the terminal."""
    names = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform == "darwin" or any(context.environment.get(name) for name in names)
