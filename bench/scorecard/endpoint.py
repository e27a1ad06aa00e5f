"""An endpoint of embeddings on loopback, in the form that most tools ask: `POST …/embeddings` of OpenAI's interface.

Tools that take vectors from a server get those of the model that mem has built in, from a process of its own. Neither
the time nor the memory of this process is counted to them.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from memcli.index.embedder import open_embedder

MODEL = "all-MiniLM-L6-v2"


@contextmanager
def endpoint() -> Iterator[str]:
    """Give the address of a server that embeds, while it runs."""
    with subprocess.Popen([sys.executable, "-m", __name__], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def serve() -> None:
    """Answer until killed; print the address first."""
    embedder, lock = open_embedder(None, bulk=True), threading.Lock()

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            with lock:
                vectors = embedder.embed(texts)
            data = [{"object": "embedding", "index": at, "embedding": one.tolist()} for at, one in enumerate(vectors)]
            usage = {"prompt_tokens": 0, "total_tokens": 0}
            answer = json.dumps({"object": "list", "model": MODEL, "data": data, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve()
