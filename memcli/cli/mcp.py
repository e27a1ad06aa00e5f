"""`mem mcp`."""

import json

import typer

from .. import __version__
from ..api import maintain
from ..api.workspace import open_workspaces, surroundings
from ..errors import MemError, UnavailableError, UsageError
from ..integrations.memory_tool import ToolReply, answer
from . import output, workspaces
from .options import COMMON, Common, InScope, InWorkspace
from .serve import serve_beside


def mcp(workspace: InWorkspace = "", scope: InScope = "") -> None:
    """Serve the memory to agents over the Model Context Protocol, on standard input and output.

    Tools: memory_search, memory_read, memory_write, memory_edit, memory_ls, memory_grep, memory_delete, memory_promote,
    memory_review, memory_consolidate, memory_recall. Each answers as the command of its name does. Needs the extra:
    pip install '.[mcp]'
    """
    where = workspaces.reading(Common(workspace, scope), make=True)  # a client should hear at once that there is none
    path = where[0].root if workspace else ""
    if not where[0].settings["embedding.model"]:
        maintain.hold_model(surroundings())
    if where[0].settings["mcp.warm"]:
        serve_beside()  # before there are threads
    try:
        from ..integrations.mcp_tools import server_of
    except ImportError as error:
        raise UnavailableError(
            f"the MCP SDK is not installed ({error})", "run `pip install '.[mcp]'` in mem's folder"
        ) from None
    server_of(lambda: open_workspaces(path, scope=scope), __version__, is_one=scope != "all").run("stdio")


_SUCH_AS = 'such as {"command": "view", "path": "/memories"}'


def memory_tool(common: Common = COMMON) -> None:
    """Carry out one command of Anthropic's memory tool, given as JSON on standard input.

    `view`, `create`, `str_replace`, `insert`, `delete` and `rename` below /memories, which is this workspace. The reply
    for the model is on stdout, also where the command fails; the exit code says whether it did. What is deleted moves
    to the archive, and a secret is refused. --json answers with {"content", "is_error"}.
    """
    where = workspaces.writing(common, make=True)
    try:
        call = json.loads(workspaces.standard_input("the command"))
    except ValueError as error:
        raise UsageError(f"standard input is not JSON ({error})", _SUCH_AS) from None
    if not isinstance(call, dict):
        raise UsageError("standard input is no JSON object", _SUCH_AS)
    code = 0
    try:
        reply = answer(where, call)
    except MemError as error:
        reply, code = str(error), error.exit_code
    if common.as_json:
        output.say_json(ToolReply(reply, code != 0).as_dict())
    else:
        output.say(reply, raw=True)
    if code:
        raise typer.Exit(code)
