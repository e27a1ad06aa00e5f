"""mem memory-tool: carry out one command of Anthropic's memory tool."""

import json

from ..agents.memory_tool import answer
from ..api import open_target
from ..context import Context
from ..errors import MemError, UsageError
from .render import Result

FIELDS = ("content", "is_error")


def run_memory_tool(context: Context) -> Result:
    """Carry out one command of Anthropic's memory tool, given as JSON on standard input.

    The commands are view, create, str_replace, insert, delete and rename. A file below /memories
    is a memory, and deleting it forgets the memory. The reply is {"content", "is_error"}.
    """
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
