"""A model for tests of real agents: it speaks their wire formats and does what the prompt says.

The prompt contains the script, so a test and the server share no state:

    [[sh COMMAND]]          call the agent's shell tool
    [[tool NAME {JSON}]]    call the tool whose name ends with NAME (agents prefix MCP tools)
    [[say TEXT]]            the answer; otherwise it is `ANSWER to: ` and the prompt
    [[usage N]]             the input tokens to report, for an agent that compacts automatically
    [[slow SECONDS]]        a pause before the answer
    [[fail STATUS]]         an error of the service

`((…))` in the JSON of a tool stands for `[[…]]`, for the prompt of a subagent. The calls are made
one per request: as many are done as there are tool results behind the prompt. A request without
tools (for a title or a summary) gets a plain text, and one with a schema an object that fits it.

The server stores each request as `NNNN.json` in a folder: method, path, body, and the reply.
Formats: Anthropic Messages, OpenAI Responses and Chat Completions, Gemini generateContent.
"""

import gzip
import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

Json = Mapping[str, Any]

SHELLS = (
    "Bash",
    "bash",
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "run_shell_command",
    "container.exec",
)
# How a prompt of mem itself starts, when an agent is its language model.
ASKED_BY_MEM = "You keep the long-term memory of an assistant and its user."
BATCH = re.compile(r'"batch": "([^"]+)"')
LEARNED = "The cafeteria closes at 14:30."
SUMMARY = "SUMMARY-OF-THE-CONVERSATION"
# The requests for a compaction, which are answered with SUMMARY.
SUMMARY_REQUEST = re.compile(
    r"create a detailed summary|CONTEXT CHECKPOINT COMPACTION|<state_snapshot>"
    r"|summarize the conversation|detailed summary of (?:our|the) conversation|<analysis>",
    re.IGNORECASE,
)
DIRECTIVE = re.compile(r"\[\[(sh|tool|say|usage|slow|fail)\s+(.*?)\]\]", re.DOTALL)
# Texts that agents and their hooks add to the user's turn.
INJECTED = re.compile(
    r"<(system-reminder|system_reminder|current_datetime|reminder|memory-context|hook_context"
    r"|session_context|environment_context|user_instructions|INSTRUCTIONS)\b.*?</\1>",
    re.DOTALL,
)


class Request(NamedTuple):
    """A request in any format."""

    prompt: str  # the last text that a person may have typed
    results: list[str]  # of tools, after the prompt
    tools: Mapping[str, Json]  # by name, with the schema of their input
    schema: Json | None  # of the answer


class ToolCall(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: Json


class Reply(NamedTuple):
    """The answer of the model."""

    text: str = ""
    call: ToolCall | None = None
    usage: int = 1000
    status: int = 200
    slow: float = 0.0


def choose_reply(request: Request) -> Reply:
    """Return the reply that the prompt asks for."""
    text = INJECTED.sub("", request.prompt)
    if ASKED_BY_MEM in text:
        return Reply(json.dumps(build_consolidation(text)))
    if request.schema is not None:
        return Reply(json.dumps(build_fitting_value(request.schema)))
    directives = DIRECTIVE.findall(text)
    values = dict(directives)
    if "fail" in values and request.tools:
        return Reply("scripted failure", status=int(values["fail"]))
    if SUMMARY_REQUEST.search(text):
        snapshot = f"<state_snapshot>{SUMMARY}</state_snapshot>"
        return Reply(f"<analysis>{SUMMARY}</analysis>\n<summary>{SUMMARY}</summary>\n{snapshot}")
    usage, slow = int(values.get("usage", 1000)), float(values.get("slow", 0))
    steps = [(kind, value) for kind, value in directives if kind in ("sh", "tool")]
    if request.tools and len(request.results) < len(steps):
        kind, value = steps[len(request.results)]
        build_call = build_shell_call if kind == "sh" else build_tool_call
        return Reply(call=build_call(value, request.tools), usage=usage, slow=slow)
    plain = " ".join(DIRECTIVE.sub("", text).split())
    return Reply(values.get("say") or f"ANSWER to: {plain[:160]}", usage=usage, slow=slow)


def build_consolidation(prompt: str) -> dict[str, Any]:
    """Return what mem's request for memories asks for."""
    batch = BATCH.search(prompt)
    memory = {"text": LEARNED, "type": "fact", "said_by": "user", "message": 1}
    history = "HISTORY-BY-THE-MODEL: somebody mentioned the cafeteria."
    return {"batch": batch[1] if batch else "", "history_entry": history, "memories": [memory]}


def build_tool_call(value: str, tools: Mapping[str, Json]) -> ToolCall:
    suffix, _, arguments = value.strip().partition(" ")
    name = next((name for name in tools if name.endswith(suffix)), suffix)
    inner = (arguments or "{}").replace("((", "[[").replace("))", "]]")
    return ToolCall(name, json.loads(inner))


def build_shell_call(value: str, tools: Mapping[str, Json]) -> ToolCall:
    name = next((shell for shell in SHELLS if shell in tools), SHELLS[0])
    schema = tools.get(name, {})
    properties = schema.get("properties", {})
    key = next((key for key in ("command", "cmd", "script") if key in properties), "command")
    command: Any = value.strip()
    if properties.get(key, {}).get("type") == "array":
        command = ["bash", "-lc", command]
    arguments = {key: command}
    for needed in schema.get("required", ()):
        if needed not in arguments:
            arguments[needed] = build_fitting_value(properties.get(needed, {}))
    return ToolCall(name, arguments)


def build_fitting_value(schema: Json) -> Any:
    """Return the smallest value of a JSON schema."""
    if "enum" in schema:
        return schema["enum"][-1]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    kind = str(kind[0] if isinstance(kind, list) else kind).lower()
    properties = schema.get("properties", {})
    if kind == "object" or properties:
        required = schema.get("required", properties)
        return {key: build_fitting_value(properties.get(key, {})) for key in required}
    values: dict[str, Any] = {
        "array": [],
        "integer": 0,
        "number": 0,
        "boolean": False,
        "null": None,
    }
    return values.get(kind, "scripted")


def read_text(content: Any) -> str:
    """Return the text in a message or in a part of one."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(read_text, content) if text)
    if isinstance(content, Mapping):
        for key in ("text", "content", "output", "response", "error"):
            if content.get(key):
                return read_text(content[key])
    return ""


def find_last_round(
    turns: Sequence[tuple[str, str]], tools: Mapping[str, Json], schema: Json | None
) -> Request:
    """Find the prompt and the results in turns of the kinds `user`, `result` and `model`.

    A round starts after the last answer without a tool call. Its prompt is the last text before a
    tool has answered.
    """
    ends = [
        number
        for number, (kind, _) in enumerate(turns[:-1])
        if kind == "model" and turns[number + 1][0] == "user"
    ]
    last = turns[ends[-1] + 1 if ends else 0 :]
    first = next((n for n, (kind, _) in enumerate(last) if kind == "result"), len(last))
    texts = [t for kind, t in last[:first] if kind == "user" and INJECTED.sub("", t).strip()]
    results = [text for kind, text in last if kind == "result"]
    return Request((texts or [""])[-1], results, tools, schema)


def list_parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]


# Anthropic Messages


def parse_anthropic(body: Json) -> Request:
    turns = []
    for message in body.get("messages", []):
        content = message.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if message.get("role") == "assistant":
                turns.append(("model", read_text(block)))
            elif block.get("type") == "tool_result":
                turns.append(("result", read_text(block.get("content"))))
            elif block.get("type") == "text" and message.get("role") == "user":
                turns.append(("user", block.get("text") or ""))
    tools = {t["name"]: t.get("input_schema", {}) for t in body.get("tools") or [] if "name" in t}
    output = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return find_last_round(turns, tools, output.get("schema"))


def build_anthropic(body: Json, reply: Reply, number: int) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": reply.text}
    if reply.call:
        block = {"type": "tool_use", "id": f"toolu_{number:024d}", "name": reply.call.name}
        block["input"] = reply.call.arguments
    return {
        "id": f"msg_{number:024d}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": [block],
        "stop_reason": "tool_use" if reply.call else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": reply.usage, "output_tokens": 20},
    }


def stream_anthropic(body: Json, reply: Reply, number: int) -> Iterator[bytes]:
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    usage = {"input_tokens": reply.usage, **cache}
    message = build_anthropic(body, reply, number)
    start = {**message, "content": [], "stop_reason": None}
    yield format_event("message_start", message={**start, "usage": {**usage, "output_tokens": 1}})
    block = message["content"][0]
    if block["type"] == "text":
        opening, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}
    else:
        opening = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield format_event("content_block_start", index=0, content_block=opening)
    yield format_event("content_block_delta", index=0, delta=delta)
    yield format_event("content_block_stop", index=0)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield format_event("message_delta", delta=end, usage={**usage, "output_tokens": 20})
    yield format_event("message_stop")


def format_event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


# OpenAI Responses


def parse_responses(body: Json) -> Request:
    turns = []
    items = body.get("input", [])
    for item in items if isinstance(items, list) else [{"role": "user", "content": items}]:
        kind = str(item.get("type", "message"))
        if kind.endswith("_output"):
            turns.append(("result", read_text(item.get("output"))))
        elif kind == "message" and item.get("role") == "user":
            turns += [("user", read_text(part)) for part in list_parts(item.get("content"))]
        elif item.get("role") == "assistant" or kind.endswith("_call"):
            turns.append(("model", read_text(item.get("content"))))
    tools: dict[str, Json] = {}
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            for inner in tool.get("tools", []):
                tools[f"{tool['name']}\0{inner['name']}"] = inner.get("parameters", {})
        else:
            tools[tool.get("name") or tool.get("type")] = tool.get("parameters") or {}
    form = (body.get("text") or {}).get("format") or {}
    return find_last_round(turns, tools, form.get("schema"))


def build_responses(body: Json, reply: Reply, number: int) -> dict[str, Any]:
    item: dict[str, Any] = {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
    }
    if reply.call:
        space, _, name = reply.call.name.rpartition("\0")
        item = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "status": "completed",
            "name": name,
            "arguments": json.dumps(reply.call.arguments),
            **({"namespace": space} if space else {}),
        }
    usage = {"input_tokens": reply.usage, "output_tokens": 20, "total_tokens": reply.usage + 20}
    details = {"cached_tokens": 0}, {"reasoning_tokens": 0}
    usage |= {"input_tokens_details": details[0], "output_tokens_details": details[1]}  # type: ignore[dict-item]
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": body.get("model", "scripted"),
        "output": [item],
        "usage": usage,
    }


def stream_responses(body: Json, reply: Reply, number: int) -> Iterator[bytes]:
    response = build_responses(body, reply, number)
    item = response["output"][0]
    empty = {**response, "output": [], "status": "in_progress", "usage": None}
    yield format_event("response.created", response=empty)
    is_message = item["type"] == "message"
    opening = {**item, "content": []} if is_message else {**item, "arguments": ""}
    yield format_event("response.output_item.added", output_index=0, item=opening)
    place = {"item_id": item["id"], "output_index": 0}
    if is_message:
        place["content_index"] = 0
        part = {"type": "output_text", "text": "", "annotations": []}
        yield format_event("response.content_part.added", **place, part=part)
        yield format_event("response.output_text.delta", **place, delta=reply.text)
        yield format_event("response.output_text.done", **place, text=reply.text)
        part = {**part, "text": reply.text}
        yield format_event("response.content_part.done", **place, part=part)
    else:
        name, arguments = "response.function_call_arguments", item["arguments"]
        yield format_event(f"{name}.delta", **place, delta=arguments)
        yield format_event(f"{name}.done", **place, arguments=arguments)
    yield format_event("response.output_item.done", output_index=0, item=item)
    yield format_event("response.completed", response=response)


# OpenAI Chat Completions


def parse_chat(body: Json) -> Request:
    turns = []
    for message in body.get("messages", []):
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            turns.append(("result", read_text(content)))
        elif role == "user":
            turns += [("user", read_text(part)) for part in list_parts(content)]
        elif role == "assistant":
            turns.append(("model", read_text(content)))
    functions = [tool.get("function", {}) for tool in body.get("tools") or []]
    tools = {item["name"]: item.get("parameters", {}) for item in functions if "name" in item}
    form = (body.get("response_format") or {}).get("json_schema") or {}
    return find_last_round(turns, tools, form.get("schema"))


def build_chat(body: Json, reply: Reply, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.call:
        function = {"name": reply.call.name, "arguments": json.dumps(reply.call.arguments)}
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
    finish = "tool_calls" if reply.call else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", "scripted"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": reply.usage,
            "completion_tokens": 20,
            "total_tokens": reply.usage + 20,
        },
    }


def stream_chat(body: Json, reply: Reply, number: int) -> Iterator[bytes]:
    whole = build_chat(body, reply, number)
    choice = whole["choices"][0]
    delta = {"role": "assistant", "content": choice["message"]["content"]}
    if reply.call:
        delta["tool_calls"] = [{"index": 0, **choice["message"]["tool_calls"][0]}]
    usage = whole.pop("usage")
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunk = {**whole, "object": "chat.completion.chunk"}
    first = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    for data in (first, {**chunk, "choices": [end], "usage": usage}):
        yield f"data: {json.dumps(data)}\n\n".encode()
    yield b"data: [DONE]\n\n"


# Gemini


def parse_gemini(body: Json) -> Request:
    turns = []
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            if content.get("role") == "model":
                turns.append(("model", part.get("text") or ""))
            elif "functionResponse" in part:
                turns.append(("result", json.dumps(part["functionResponse"].get("response"))))
            elif part.get("text"):
                turns.append(("user", part["text"]))
    functions = [
        function
        for group in body.get("tools") or []
        for function in group.get("functionDeclarations", [])
    ]
    tools = {
        item["name"]: item.get("parametersJsonSchema") or item.get("parameters") or {}
        for item in functions
    }
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    return find_last_round(turns, tools, schema)


def build_gemini(body: Json, reply: Reply, number: int) -> dict[str, Any]:
    part: dict[str, Any] = {"text": reply.text}
    if reply.call:
        part = {"functionCall": {"name": reply.call.name, "args": reply.call.arguments}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": reply.usage, "candidatesTokenCount": 20}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {**usage, "totalTokenCount": reply.usage + 20},
        "modelVersion": "scripted",
        "responseId": f"r{number}",
    }


def stream_gemini(body: Json, reply: Reply, number: int) -> Iterator[bytes]:
    yield f"data: {json.dumps(build_gemini(body, reply, number))}\r\n\r\n".encode()


class Format(NamedTuple):
    """A wire format: how its requests are read and its replies are built."""

    parse: Callable[[Json], Request]
    build: Callable[[Json, Reply, int], dict[str, Any]]
    stream: Callable[[Json, Reply, int], Iterator[bytes]]


FORMATS = {
    "/messages": Format(parse_anthropic, build_anthropic, stream_anthropic),
    "/responses": Format(parse_responses, build_responses, stream_responses),
    "/chat/completions": Format(parse_chat, build_chat, stream_chat),
    ":streamGenerateContent": Format(parse_gemini, build_gemini, stream_gemini),
    ":generateContent": Format(parse_gemini, build_gemini, stream_gemini),
}


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    server: "ScriptedModel"

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing, because the requests are in the folder."""

    def do_HEAD(self) -> None:
        self.send(b"", "text/plain")

    def do_GET(self) -> None:
        document: Any = {}
        if "/models" in self.path:
            model = {"id": "scripted", "object": "model", "type": "model"}
            model |= {"display_name": "scripted", "created_at": "2026-01-01"}
            document = {"object": "list", "data": [model], "models": [], "has_more": False}
        self.server.save(self.server.get_number(), "GET", self.path, None, document)
        self.send_json(document)

    def do_POST(self) -> None:
        number, body = self.server.get_number(), self.read_body()
        path = self.path.partition("?")[0]
        format_ = next((f for ending, f in FORMATS.items() if path.endswith(ending)), None)
        if not isinstance(body, dict) or format_ is None:
            self.server.save(number, "POST", self.path, body, None)
            is_count = path.endswith(("count_tokens", ":countTokens"))
            self.send_json({"input_tokens": 1000, "totalTokens": 1000} if is_count else {})
            return
        reply = choose_reply(format_.parse(body))
        record = {**reply._asdict(), "call": reply.call and reply.call._asdict()}
        self.server.save(number, "POST", self.path, body, record)
        time.sleep(reply.slow)
        if reply.status != 200:
            error = {"type": "invalid_request_error", "message": reply.text}
            self.send_json({"type": "error", "error": error}, reply.status)
        elif body.get("stream") or "streamGenerateContent" in path:
            self.send(b"".join(format_.stream(body, reply, number)), "text/event-stream")
        else:
            self.send_json(format_.build(body, reply, number))

    def read_body(self) -> Any:
        data = self.read_data()
        encoding = self.headers.get("Content-Encoding", "")
        try:
            if encoding == "gzip":
                data = gzip.decompress(data)
            elif encoding == "deflate":
                data = zlib.decompress(data)
            return json.loads(data) if data else {}
        except (OSError, ValueError, zlib.error):
            return data[:2000].decode("latin-1")

    def read_data(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def send_json(self, document: Any, status: int = 200) -> None:
        self.send(json.dumps(document).encode(), "application/json", status)

    def send(self, data: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class ScriptedModel(ThreadingHTTPServer):
    """Serves on a free port of the loopback address, and stores each request in a folder."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.lock = threading.Lock()
        self.number = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: an agent that is interrupted closes its connection."""

    def get_number(self) -> int:
        with self.lock:
            self.number += 1
            return self.number

    def save(self, number: int, method: str, path: str, body: Any, reply: Any) -> None:
        record = {"number": number, "method": method, "path": path, "body": body, "reply": reply}
        part = self.folder / f".{number:04d}"
        part.write_text(json.dumps(record, indent=1, ensure_ascii=False), "utf-8")
        part.rename(self.folder / f"{number:04d}.json")
