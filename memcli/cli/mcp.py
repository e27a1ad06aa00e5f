"""`mem mcp`."""

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from threading import Lock

from .. import __version__
from ..agents.mcp import serve
from ..agents.mcp_answers import Ran
from . import world
from .options import InScope, InWorkspace

_ONE_AT_A_TIME = Lock()


def mcp(workspace: InWorkspace = "", scope: InScope = "") -> None:
    """Serve the memory to agents over the Model Context Protocol, on standard input and output.

    Tools: memory_search, memory_read, memory_write, memory_edit, memory_ls, memory_grep, memory_delete, memory_promote,
    memory_review, memory_recall. Each answers as the command of its name does. Needs the extra:
    pip install '.[mcp]'
    """
    where = world.reading(workspace, scope)  # a client should hear at once that there is none
    place = ["--workspace", str(where[0].root)] if workspace else []
    place += ["--scope", scope] if scope else []

    def command(words: Sequence[str]) -> Ran:
        from .app import run

        out, err = io.StringIO(), io.StringIO()
        # Commands print; the SDK has taken the real pipes for itself.
        with _ONE_AT_A_TIME, redirect_stdout(out), redirect_stderr(err):
            code = run([words[0], *place, *words[1:]])
        return Ran(code, out.getvalue(), err.getvalue())

    serve(command, __version__)
