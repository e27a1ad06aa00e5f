"""mem mcp: serve the memory to agents over MCP."""

from typing import Any

from ..agents.mcp import serve
from ..context import Context
from .render import Result


def run_mcp(context: Context) -> Result:
    """Serve the memory to agents over the Model Context Protocol.

    You need not run it: an agent starts this command if its settings name it. mem hook install
    adds it to the settings of opencode and Cursor.
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
