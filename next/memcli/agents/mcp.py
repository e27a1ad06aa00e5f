"""The MCP server: JSON-RPC, one message a line.

This module imports nothing of the index or the model, so that `initialize` is answered at once.
"""

import json
from collections.abc import Callable, Mapping
from typing import IO, Any, NamedTuple

from .. import __version__

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # the latest first
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
    "mem://start": ("start", "What an agent should know when a session starts"),
    "mem://memory": ("MEMORY.md", "The confirmed memories"),
}


class Parameter(NamedTuple):
    """A parameter of a tool. An array may also be given as a text: "a, b"."""

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


LIMIT = Parameter("integer", "At most this many.")
OFFSET = Parameter("integer", "The next_offset of the answer before.")
NAME = Parameter("string", "Path or id of a memory, or MEMORY.md.", True)
PREFIX = Parameter("string", "Only paths that start with this.")
NAMES = Parameter("array", "Ids or paths of memories.", True)
TOOLS = {
    "memory_search": Tool(
        "Find memories by meaning and by words.",
        {
            "query": Parameter("string", "What you look for.", True),
            "tags": Parameter("array", "Only memories with one of these tags."),
            "limit": LIMIT,
            "offset": OFFSET,
        },
    ),
    "memory_read": Tool(
        "Read a memory or file.",
        {
            "path": NAME,
            "offset": OFFSET,
            "limit": Parameter("integer", "At most this many characters."),
        },
    ),
    "memory_write": Tool(
        "Save a memory. The path of an existing memory replaces its text.",
        {
            "content": Parameter("string", "One fact, in one or two sentences.", True),
            "path": Parameter("string", "A file below entries/; optional."),
            "tags": Parameter("array", "Tags."),
            "metadata": Parameter(
                "object", "type, title, key, expires, supersedes, or properties of your own."
            ),
        },
        is_read_only=False,
    ),
    "memory_edit": Tool(
        "Replace a passage that occurs exactly once in a memory or file.",
        {
            "path": NAME,
            "old": Parameter("string", "The passage, copied exactly.", True),
            "new": Parameter("string", "Its replacement.", True),
        },
        is_read_only=False,
    ),
    "memory_ls": Tool(
        "List memories, the latest first.", {"prefix": PREFIX, "limit": LIMIT, "offset": OFFSET}
    ),
    "memory_grep": Tool(
        "Find lines by exact text, in any case.",
        {
            "pattern": Parameter("string", "The text.", True),
            "prefix": PREFIX,
            "limit": LIMIT,
            "offset": OFFSET,
        },
    ),
    "memory_delete": Tool(
        "Forget memories: hide them from searches and agents. The user can restore them.",
        {"path": NAMES, "reason": Parameter("string", "Why.")},
        is_read_only=False,
    ),
    "memory_recall": Tool(
        "Return the memories that fit a prompt.",
        {
            "query": Parameter("string", "The prompt.", True),
            "session": Parameter("string", "Return only what this session was not shown yet."),
        },
    ),
    "memory_promote": Tool(
        "Put memories into MEMORY.md, which agents see at the start of every session.",
        {"path": NAMES, "remove": Parameter("boolean", "Remove their lines instead.")},
        is_read_only=False,
    ),
    "memory_review": Tool(
        "List the questions that the user should decide, or pass on the user's answer to one.",
        {
            "id": Parameter("string", "The question."),
            "answer": Parameter("string", "What the user decided."),
            "limit": LIMIT,
            "offset": OFFSET,
        },
        is_read_only=False,
    ),
    "memory_consolidate": Tool(
        "Turn conversations into memories. Without an answer, return the prompt to answer.",
        {"answer": Parameter("string", "Your answer to the prompt: one JSON object.")},
        is_read_only=False,
    ),
}

CallTool = Callable[[str, dict[str, Any]], tuple[str, bool]]
"""Calls a tool and returns its text, and whether it failed."""


def serve(
    stdin: IO[str], stdout: IO[str], call_tool: CallTool, read_resource: Callable[[str], str]
) -> None:
    """Answer requests until the client closes its end."""

    def answer(message: Any) -> dict[str, Any] | None:
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
                if "\\ud" in line.lower():
                    # A lone surrogate can be neither stored nor printed.
                    text = json.dumps(message, ensure_ascii=False)
                    message = json.loads(text.encode("utf-8", "replace"))
            except (ValueError, RecursionError):
                reply = build_error(None, PARSE_ERROR, "not a JSON message")
            else:
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
) -> dict[str, Any] | None:
    """Return the answer to a request, or None for a notification."""
    if not isinstance(message, dict):
        return build_error(None, INVALID_REQUEST, "a message is a JSON object")
    if "method" not in message and ("result" in message or "error" in message):
        return None  # an answer, but this server asks nothing
    method, parameters = message.get("method"), message.get("params") or {}
    if "id" not in message and isinstance(method, str):
        return None
    message_id = message.get("id")
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
    parameters: dict[str, Any],
    call_tool: CallTool,
    read_resource: Callable[[str], str],
) -> dict[str, Any]:
    if method == "initialize":
        wanted = parameters.get("protocolVersion")
        return {
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
        text, is_error = call_tool(name, arguments)
        return {"content": [{"type": "text", "text": text}], "isError": is_error}
    raise ProtocolError(UNKNOWN_METHOD, f"unknown method {method!r}")


def build_error(message_id: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": message}}


def describe_tool(name: str, tool: Tool) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for parameter_name, parameter in tool.parameters.items():
        schema: dict[str, Any] = {"type": parameter.type, "description": parameter.description}
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
