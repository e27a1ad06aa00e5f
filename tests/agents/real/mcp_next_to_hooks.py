"""Searches and hooks next to a running MCP server.

    python -m tests.agents.real.mcp_next_to_hooks [SECTION…]

A process that has loaded the model must not fork: the fork waits forever. So a server that forked
to answer others would stop every search in the agent's shell. No agent is needed.
"""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

from .lab import Lab, run_sections

PACKAGE, PROGRAM, AGENT = "", "", "claude-code"
QUESTION = "Who is the release manager?"
ANSWER = "Dana Okafor"
LONGEST = 20  # seconds; after this a search counts as one that hangs
FEW, MANY = 6, 200


class Server:
    """A running `mem mcp`, as an agent uses it."""

    def __init__(self, lab: Lab) -> None:
        self.process = subprocess.Popen(
            [lab.mem_program, "mcp"],
            cwd=lab.project,
            env=lab.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ids = count(1)
        info = {"name": "lab", "version": "1"}
        version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.request("initialize", version)
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, parameters: dict[str, Any]) -> str:
        """Send a request, and return the line that answers it."""
        assert self.process.stdout
        number = next(self.ids)
        self.send({"id": number, "method": method, "params": parameters})
        for line in self.process.stdout:
            if json.loads(line).get("id") == number:
                return line
        return ""

    def call(self, tool: str, **arguments: Any) -> str:
        return self.request("tools/call", {"name": tool, "arguments": arguments})


@contextmanager
def run_server(lab: Lab) -> Iterator[Server]:
    server = Server(lab)
    lab.check_has("the server answers", server.call("memory_search", query=QUESTION), ANSWER)
    assert server.process.stdin and server.process.stdout
    try:
        yield server
        server.process.stdin.close()
        lab.check("the server ends with its input", server.process.wait(30) == 0)
    finally:
        server.process.kill()
        server.process.stdout.close()


def add_by_hand(lab: Lab, number: int) -> None:
    """Add a memory as git or an editor does: nobody has embedded its text."""
    path = lab.project / f"memory/entries/by-hand-{uuid.uuid4().hex[:8]}.md"
    path.write_text(f"Shelf {number} of the store holds spare fans of size {number + 40}.\n")


def search(lab: Lab) -> tuple[float, str]:
    """Search in a shell. Return the seconds and the output."""
    done = lab.run(lab.mem_program, "search", QUESTION, seconds=LONGEST)
    return lab.seconds, done.stdout if done.returncode == 0 else f"exit code {done.returncode}"


def run_prompt_hook(lab: Lab) -> tuple[float, str]:
    """Run the hook of a prompt in a new session. Return the seconds and the answer."""
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": str(uuid.uuid4()),
        "cwd": str(lab.project),
        "prompt": QUESTION,
    }
    command = (lab.mem_program, "hook", "run", AGENT)
    done = lab.run(*command, stdin=json.dumps(event), seconds=LONGEST)
    return lab.seconds, done.stdout


def write_and_search(server: Server, number: int) -> str:
    """Let the server save a memory and find it, and return what it found."""
    text = f"Lorry {number} carries the crates of hall {number + 300}."
    path = f"entries/lorry-{number}.md"
    written = server.call("memory_write", path=path, content=text, tags=[], metadata={})
    return written if "error" in written else server.call("memory_search", query=text)


def use_next_to_server(lab: Lab, searches: int) -> None:
    """Search again and again, while the server runs and memories are new to it."""
    searched, hooks, missed = [], [], []
    with run_server(lab) as server, ThreadPoolExecutor(1) as pool:
        for number in range(searches):
            add_by_hand(lab, number)
            answer = pool.submit(write_and_search, server, number)
            searched.append(search(lab))
            if number % 5 == 0:
                hooks.append(run_prompt_hook(lab))
            if f"Lorry {number} carries" not in (found := answer.result(LONGEST * 3)):
                missed.append(found)
    for name, results in (("search", searched), ("hook", hooks)):
        lab.note(f"longest {name} in seconds", round(max(seconds for seconds, _ in results), 2))
        hung = [result for result in results if result[0] >= LONGEST]
        lab.check(f"none of {len(results)} runs of a {name} hangs", not hung, hung)
        wrong = [result for result in results if ANSWER not in result[1]]
        lab.check(f"every {name} is answered", not wrong, wrong)
    lab.check("the server finds each memory that it saves", not missed, missed)
    lab.check("nothing is in the log", not lab.read_log(), lab.read_log())


def search_few(lab: Lab) -> None:
    use_next_to_server(lab, FEW)


def search_many(lab: Lab) -> None:
    use_next_to_server(lab, MANY)


SECTIONS: dict[str, Callable[[Lab], None]] = {"few": search_few, "many": search_many}
FAST = ("few",)

if __name__ == "__main__":
    sys.exit(run_sections(Lab(AGENT, PACKAGE, PROGRAM, {}), SECTIONS, sys.argv[1:]))
