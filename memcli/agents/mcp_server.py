"""The SDK's server, which tells in one plain line what is wrong with the arguments of a call."""

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent


class Server(MCPServer):
    """Answers calls of tools."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool; say which of its arguments are missing or wrong."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            faults = getattr(error.__cause__, "errors", None)  # those of the schema, by whatever validates it
            if faults is None:
                raise
            told = "; ".join(_told(one) for one in faults())
        return CallToolResult(content=[TextContent(type="text", text=f"{name}: {told}")], is_error=True)


def _told(fault: Any) -> str:
    named = ".".join(str(part) for part in fault["loc"] if isinstance(part, int) or part.isidentifier())
    if fault["type"] == "missing":
        return f"the argument {named} is missing"
    return f"the argument {named}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"
