"""An OpenAI-compatible server on loopback that fails in every way a server can."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def build_completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps(body).encode()


class Handler(BaseHTTPRequestHandler):
    server: Any

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.questions.append(
            (self.path, dict(self.headers), json.loads(self.rfile.read(length)))
        )
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        step = 1 if self.server.pause else len(self.server.body)
        try:
            for start in range(0, len(self.server.body), step or 1):
                time.sleep(self.server.pause)
                self.wfile.write(self.server.body[start : start + step])
                self.wfile.flush()
        except OSError:
            pass  # the client is gone

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def run_server(body: bytes, *, status: int = 200, pause: float = 0.0) -> Iterator[Any]:
    """Run a server that answers every question in the same way, byte by byte if it pauses."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.body, server.status, server.pause, server.questions = body, status, pause, []
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
