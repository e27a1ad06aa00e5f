"""The actions of the page that need no form of their own: forget, restore, undo and open.

An action returns the address to show next, or a page that says why nothing was changed.
"""

import shutil
import subprocess
import sys
import threading
from functools import partial

from ..errors import NotFoundError
from ..index import open_index
from ..reconcile.forget import forget, restore
from ..search.names import find_named
from ..store import locate
from ..store.undo import undo
from .request import Request


def forget_memory(request: Request) -> str:
    """Hide a memory from search and agents."""
    done = forget(request.workspace, [request.get("id")])
    return request.build_address("memories", done=done.result.number)


def restore_memory(request: Request) -> str:
    """Make a memory active again."""
    name = request.get("id")
    done = restore(request.workspace, [name])
    error = done.outcomes[0].error
    if error is not None:
        raise error
    return request.build_address("memory", id=name, done=done.result.number)


def undo_command(request: Request) -> str:
    """Revert a command, and return to the view that has the button."""
    done = undo(request.workspace, request.get_number("number"))
    view, name = request.get("view"), request.get("id")
    if name and find_named(open_index(request.workspace), name):
        return request.build_address("memory", id=name, done=done.number)
    if view not in ("review", "changes"):
        view = "memories"
    return request.build_address(view, done=done.number)


def open_in_editor(request: Request) -> str:
    """Open a file with the program that the desktop has for it."""
    path = request.open_file().path
    file = locate(request.workspace.root, path)
    program = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    if program is None:
        raise NotFoundError("No program here opens files", f"open it yourself: {file}")
    # It may run as long as the editor, and longer than the page.
    run = partial(
        subprocess.run,
        [program, str(file)],
        env=dict(request.workspace.context.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=run, daemon=True).start()
    return request.build_address("memory", id=path)
