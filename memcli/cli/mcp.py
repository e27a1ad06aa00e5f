"""Let programs use the memory: over MCP (`mcp`), or as Anthropic's memory tool (`memory-tool`)."""

import json
from typing import Any

from ..agents.mcp import serve
from ..context import Context
from ..errors import MemError, UsageError
from .terminal import Result

MEMORY_TOOL_FIELDS = ("content", "is_error")


def run_mcp(context: Context) -> Result:
    """Serve the memory to agents over the Model Context Protocol.

    You need not run it: an agent starts this command if its settings name it. mem hook install
    adds it to the settings of opencode and Cursor.

    \b
    Examples:
      mem mcp
    """
    boxes: list[Any] = []

    def get_box() -> Any:
        # Imported at the first call, because agents do not wait for a server that starts slowly.
        if not boxes:
            from ..agents.mcp_tools import Toolbox

            boxes.append(Toolbox(context._replace(is_terminal=False)))
        return boxes[0]

    serve(
        context.stdin,
        context.stdout,
        lambda name, arguments: get_box().call(name, arguments),
        lambda uri: get_box().read_resource(uri),
    )
    return Result()


def run_memory_tool(context: Context) -> Result:
    """Carry out one command of Anthropic's memory tool, given as JSON on standard input.

    The commands are view, create, str_replace, insert, delete and rename. A file below /memories
    is a memory, and deleting it forgets the memory. The reply is {"content", "is_error"}.

    \b
    Examples:
      echo '{"command": "view", "path": "/memories"}' | mem memory-tool
    """
    # Imported here, because `mem mcp` starts faster without them.
    from ..agents.memory_tool import answer
    from ..api import open_target

    try:
        # Bytes that are not text become question marks.
        call = json.loads(context.stdin.read().encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        call = None
    if not isinstance(call, dict):
        example = '{"command": "view", "path": "/memories"}'
        raise UsageError("standard input is not a JSON object", f"for example: {example}")
    code, content = 0, ""
    try:
        content = answer(open_target(context), call)
    except MemError as error:
        code, content = error.exit_code, error.message
    data = {"content": content, "is_error": bool(code)}
    return Result(data, [json.dumps(data, ensure_ascii=False)], exit_code=code)
