"""Answer MCP requests: JSON-RPC, one message per line.

This module imports neither the index nor the model, so the answer to `initialize` is immediate.
"""

import json
from collections.abc import Callable, Mapping
from typing import IO, Any, NamedTuple

from .. import __version__
from ..data import table

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # the latest first
# A client that never ends its line would otherwise fill the memory of the machine.
LARGEST = 16 * 1024 * 1024  # characters of a message
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMETERS = -32700, -32600, -32601, -32602
UNKNOWN_RESOURCE = -32002
INSTRUCTIONS = (
    "Long-term memory of this project and its user. Call memory_search before you ask about"
    " earlier decisions, preferences or conventions, or assume them. Call memory_write when the"
    " user states a lasting rule, preference, decision or correction: one fact per memory, never"
    " secrets."
)
RESOURCES = {
    "mem://start": ("start", "The text for the start of a session"),
    "mem://memory": ("MEMORY.md", "The confirmed memories"),
}


class Parameter(NamedTuple):
    """A parameter of a tool. An agent may also pass an array as text: "a, b"."""

    type: str
    description: str
    is_required: bool = False


class Tool(NamedTuple):
    """A tool as `tools/list` describes it."""

    description: str
    parameters: Mapping[str, Parameter]
    is_read_only: bool = True


class ProtocolError(Exception):
    """A request that cannot be answered."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def load_tools() -> dict[str, Tool]:
    tools = {}
    for name, fields in table("mcp_tools.toml").items():
        parameters = {}
        for key, text in fields["parameters"].items():
            type_, _, description = text.partition(": ")
            parameters[key] = Parameter(type_, description, key in fields["required"])
        tools[name] = Tool(fields["description"], parameters, fields["read_only"])
    return tools


TOOLS = load_tools()
JsonObject = dict[str, Any]
CallTool = Callable[[str, JsonObject], tuple[str, bool]]
"""Calls a tool and returns its text, and whether it failed."""


def serve(
    stdin: IO[str], stdout: IO[str], call_tool: CallTool, read_resource: Callable[[str], str]
) -> None:
    """Answer requests until the client closes standard input."""

    def answer(message: Any) -> JsonObject | None:
        return answer_message(message, call_tool, read_resource)

    while line := stdin.readline(LARGEST + 1):
        if len(line) > LARGEST:
            while line and not line.endswith("\n"):
                line = stdin.readline(LARGEST)
            reply: Any = build_error(None, INVALID_REQUEST, "the message is too long")
        elif not line.strip():
            continue
        else:
            try:
                message = json.loads(line.encode("utf-8", "replace"))
            except (ValueError, RecursionError):
                reply = build_error(None, PARSE_ERROR, "not a JSON message")
            else:
                # Only the version 2025-03-26 of the protocol has batches.
                if isinstance(message, list) and message:
                    reply = [item for item in map(answer, message) if item] or None
                else:
                    reply = answer(message)
        if reply is not None:
            text = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace").decode()
            stdout.write(f"{text}\n")
            stdout.flush()


def answer_message(
    message: Any, call_tool: CallTool, read_resource: Callable[[str], str]
) -> JsonObject | None:
    """Return the answer to a request, or None for a notification."""
    if not isinstance(message, dict):
        return build_error(None, INVALID_REQUEST, "a message is a JSON object")
    if "method" not in message and ("result" in message or "error" in message):
        return None  # an answer, but this server sends no requests
    method, parameters = message.get("method"), message.get("params") or {}
    # A notification, such as notifications/initialized.
    if "id" not in message and isinstance(method, str):
        return None
    message_id = message.get("id")
    # In Python, a bool is an int. JSON-RPC has no other types of ids.
    if isinstance(message_id, bool) or not isinstance(message_id, str | int | float):
        return build_error(None, INVALID_REQUEST, "the id must be a text or a number")
    if not isinstance(method, str) or not isinstance(parameters, dict):
        return build_error(message_id, INVALID_REQUEST, "not a request")
    try:
        result = answer_request(method, parameters, call_tool, read_resource)
    except ProtocolError as error:
        return build_error(message_id, error.code, error.message)
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def answer_request(
    method: str,
    parameters: JsonObject,
    call_tool: CallTool,
    read_resource: Callable[[str], str],
) -> JsonObject:
    if method == "initialize":
        wanted = parameters.get("protocolVersion")
        return {
            # With another version the client decides whether it goes on.
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "mem", "version": __version__},
            "instructions": INSTRUCTIONS,
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [describe_tool(name, tool) for name, tool in TOOLS.items()]}
    if method == "resources/list":
        return {
            "resources": [
                {"uri": uri, "name": name, "description": text, "mimeType": "text/markdown"}
                for uri, (name, text) in RESOURCES.items()
            ]
        }
    if method == "resources/templates/list":
        return {"resourceTemplates": []}
    if method == "resources/read":
        uri = parameters.get("uri")
        if not isinstance(uri, str) or uri not in RESOURCES:
            raise ProtocolError(UNKNOWN_RESOURCE, f"unknown resource {uri!r}")
        text = read_resource(uri)
        return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}
    if method == "tools/call":
        name, arguments = parameters.get("name"), parameters.get("arguments") or {}
        if not isinstance(name, str) or name not in TOOLS:
            raise ProtocolError(INVALID_PARAMETERS, f"unknown tool {name!r}")
        if not isinstance(arguments, dict):
            raise ProtocolError(INVALID_PARAMETERS, "the arguments must be an object")
        try:
            json.dumps(arguments, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ProtocolError(INVALID_PARAMETERS, "an argument has half of an emoji") from None
        text, is_error = call_tool(name, arguments)
        return {"content": [{"type": "text", "text": text}], "isError": is_error}
    raise ProtocolError(UNKNOWN_METHOD, f"unknown method {method!r}")


def build_error(message_id: Any, code: int, message: str) -> JsonObject:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": message}}


def describe_tool(name: str, tool: Tool) -> JsonObject:
    properties: JsonObject = {}
    for parameter_name, parameter in tool.parameters.items():
        schema: JsonObject = {"type": parameter.type, "description": parameter.description}
        if parameter.type == "array":
            schema["items"] = {"type": "string"}
        properties[parameter_name] = schema
    required = [key for key, parameter in tool.parameters.items() if parameter.is_required]
    return {
        "name": name,
        "description": tool.description,
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "annotations": {"readOnlyHint": tool.is_read_only, "openWorldHint": False},
    }
