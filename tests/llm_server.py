"""A real HTTP server on loopback that speaks the OpenAI protocol and answers from a script.

Each answer writes what it likes to the connection, so that every way a server can fail is one line to script.
The last answer is given again for every further question.
"""

import json
import socket
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Answer = Callable[["Connection"], None]


def say(text: str | None, finish_reason: str = "stop") -> Answer:
    """Answer with a text, whole."""
    return body(completion(text, finish_reason))


def body(document: object, status: int = 200) -> Answer:
    """Answer with any JSON document."""
    return plain(json.dumps(document), "application/json", status)


def plain(text: str, kind: str = "text/plain", status: int = 200) -> Answer:
    """Answer with any text, such as a proxy's error page."""
    return lambda connection: connection.send(status, kind, text.encode())


def fail(status: int, message: str) -> Answer:
    """Refuse as the protocol does."""
    return body({"error": {"message": message, "type": "error", "code": None}}, status)


def slow(seconds: float, answer: Answer) -> Answer:
    """Answer after a while, unless the server is closed before."""

    def late(connection: Connection) -> None:
        if not connection.server.closing.wait(seconds):
            answer(connection)

    return late


def dribble(text: str, pause: float) -> Answer:
    """Answer byte by byte, each soon enough to keep a client's read timeout from firing."""

    def drip(connection: Connection) -> None:
        whole = json.dumps(completion(text)).encode()
        connection.head(200, "application/json", len(whole))
        for at in range(len(whole)):
            connection.wfile.write(whole[at : at + 1])
            connection.wfile.flush()
            if connection.server.closing.wait(pause):
                return

    return drip


def reset(text: str) -> Answer:
    """Send half an answer, then reset the connection."""

    def cut(connection: Connection) -> None:
        whole = json.dumps(completion(text)).encode()
        connection.head(200, "application/json", len(whole))
        connection.wfile.write(whole[: len(whole) // 2])
        connection.wfile.flush()
        connection.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.connection.close()

    return cut


def completion(text: str | None, finish_reason: str = "stop") -> dict[str, Any]:
    """Make the document of a completed chat."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish_reason,
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


class Connection(BaseHTTPRequestHandler):
    """One question and its answer."""

    server: "LlmServer"

    def do_POST(self) -> None:
        """Note the question and give the next answer of the script."""
        length = int(self.headers.get("Content-Length", 0))
        question = json.loads(self.rfile.read(length))
        try:
            self.server.next_answer(question)(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def head(self, status: int, kind: str, length: int) -> None:
        """Send the head of an answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def send(self, status: int, kind: str, content: bytes) -> None:
        """Send a whole answer."""
        self.head(status, kind, len(content))
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


class LlmServer(ThreadingHTTPServer):
    """The server; `questions` are the documents it was sent, oldest first."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *script: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.script = list(script)
        self.questions: list[dict[str, Any]] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()

    @property
    def api_base(self) -> str:
        """Give the address for `llm.api_base`."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next_answer(self, question: dict[str, Any]) -> Answer:
        """Take the next answer; the last one stays."""
        with self._lock:
            self.questions.append(question)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep quiet about a client that went away."""

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()
