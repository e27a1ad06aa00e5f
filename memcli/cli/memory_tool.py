"""`mem memory-tool`."""

import json

import typer

from ..agents.memory_tool import answer
from ..errors import MemError, UsageError
from . import output, world
from .options import AsJson, InScope, InWorkspace

_SUCH_AS = 'such as {"command": "view", "path": "/memories"}'


def memory_tool(workspace: InWorkspace = "", scope: InScope = "", as_json: AsJson = False) -> None:
    """Carry out one command of Anthropic's memory tool, given as JSON on standard input.

    `view`, `create`, `str_replace`, `insert`, `delete` and `rename` below /memories, which is this workspace. The reply
    for the model is on stdout, also where the command fails; the exit code says whether it did. What is deleted moves
    to the archive, and a secret is refused. --json answers with {"content", "is_error"}.
    """
    where = world.writing(workspace, scope)
    try:
        call = json.loads(world.standard_input("the command"))
    except ValueError as error:
        raise UsageError(f"standard input is not JSON ({error})", _SUCH_AS) from None
    if not isinstance(call, dict):
        raise UsageError("standard input is no JSON object", _SUCH_AS)
    code = 0
    try:
        reply = answer(where, call)
    except MemError as error:
        reply, code = str(error), error.exit_code
    if as_json:
        output.say_json({"content": reply, "is_error": code != 0})
    else:
        output.say(reply, raw=True)
    if code:
        raise typer.Exit(code)
