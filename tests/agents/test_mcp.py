"""The MCP server, with a client of our own, with hostile input, and with the client of the SDK."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memcli.agents.mcp import TOOLS
from memcli.agents.mcp_tools import FUNCTIONS, MOST_CHARACTERS, Toolbox
from memcli.context import CommonOptions
from memcli.store.workspace import Workspace
from tests.helpers import get_process_environment, make_context, make_workspace, put, run_mem

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LONG = bool(os.environ.get("MEM_LONG"))


class Client:
    """A client of `mem mcp` as a process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.last_id = 0

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, **parameters: Any) -> Any:
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": parameters}
        self.send(json.dumps(message).encode())
        answer = self.read()
        assert answer["id"] == self.last_id
        return answer["result"] if "result" in answer else answer["error"]

    def call(self, name: str, **arguments: Any) -> str:
        result = self.ask("tools/call", name=name, arguments=arguments)
        assert not result["isError"], result
        return str(result["content"][0]["text"])


@contextmanager
def start(folder: Path) -> Iterator[Client]:
    process = subprocess.Popen(
        [sys.executable, "-m", "memcli", "mcp"],
        cwd=folder,
        env=get_process_environment(folder / "home"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield Client(process)
    finally:
        process.kill()
        process.communicate()


def call(workspace: Workspace, name: str, **arguments: Any) -> tuple[str, bool]:
    """Call a tool in process."""
    return Toolbox(workspace.context).call(name, arguments)


def test_every_tool_has_a_function() -> None:
    assert list(TOOLS) == list(FUNCTIONS)


def test_initialize_imports_nothing_of_the_index(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    program = (
        "import io, sys\nfrom memcli.cli import mcp\nfrom memcli.context import build_process_context\n"
        "mcp.run_mcp(build_process_context())\n"
        "print([name for name in ('numpy', 'onnxruntime', 'sqlite3', 'yaml') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input='{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}\n'
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n',
        env=get_process_environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=True,
    )
    initialized, listed, imported = done.stdout.splitlines()
    assert json.loads(initialized)["result"]["serverInfo"]["name"] == "mem"
    assert len(json.loads(listed)["result"]["tools"]) == len(TOOLS)
    assert imported == "[]"


def test_what_an_agent_writes_is_found_read_changed_and_forgotten(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    saved, is_error = call(
        workspace,
        "memory_write",
        content="The canoe is blue.",
        path="boats/canoe",
        tags="boat, blue",
        metadata={"type": "fact", "source": "user", "trust": 1.0, "color": "blue"},
    )
    assert not is_error, saved
    file = workspace.root / "entries/boats/canoe.md"
    text = file.read_text()
    assert "source: inferred" in text and "color: blue" in text
    assert "canoe" in call(workspace, "memory_search", query="boat colour", tags=["boat"])[0]
    assert "boats/canoe.md" in call(workspace, "memory_ls", prefix="boats/")[0]
    assert "The canoe is blue." in call(workspace, "memory_read", id="boats/canoe.md")[0]
    edited = call(workspace, "memory_edit", path="boats/canoe.md", old="blue.", new="green.")
    assert not edited[1] and "The canoe is green." in file.read_text()
    assert (
        "is red"
        in call(
            workspace, "memory_write", content="The canoe is red.", path="entries/boats/canoe.md"
        )[0]
    )
    assert "red" in call(workspace, "memory_recall", query="Which colour has the canoe?")[0]
    assert call(workspace, "memory_promote", path="boats/canoe.md")[1]  # the user did not say it
    run_mem(tmp_path, "write", "The canoe is red inside.", "--path", "paint", "--source", "user")
    promoted = call(workspace, "memory_promote", path="paint")
    assert not promoted[1], promoted
    assert "red" in Toolbox(workspace.context).read_resource("mem://memory")
    assert "red" in Toolbox(workspace.context).read_resource("mem://start")
    assert "Forgotten" in call(workspace, "memory_delete", path="boats/canoe.md")[0]
    assert "Forgotten" in call(workspace, "memory_delete", path=["paint"], reason="sold")[0]
    assert call(workspace, "memory_grep", pattern="canoe")[0] == "no match"
    put(workspace, "entries/row.md", "<<<<<<< HEAD\nBlue.\n=======\nRed.\n>>>>>>> other\n")
    for tool in ("memory_search", "memory_recall"):
        assert "not searched: entries/row.md" in call(workspace, tool, query="xqz")[0]
    assert call(workspace, "memory_review")[0] == "nothing to decide"
    assert call(workspace, "memory_consolidate")[0] == "nothing to consolidate"


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("memory_search", {}, "needs 'query'"),
        ("memory_search", {"query": ""}, "the query is empty"),
        ("memory_search", {"query": 5}, "type string"),
        ("memory_search", {"query": "x", "limit": "many"}, "not negative"),
        ("memory_search", {"query": "x", "tags": [{}]}, "type array"),
        ("memory_read", {"path": "../../etc/passwd"}, "no memory"),
        ("memory_write", {"content": f"The token is {SECRET}"}, "GitHub token"),
        ("memory_write", {"content": "x y", "path": "../../outside"}, "outside"),
        ("memory_write", {"content": "x y", "metadata": "[1]"}, "type object"),
        ("memory_write", {"content": "x y", "metadata": {"type": "car"}}, "unknown type"),
        ("memory_write", {"content": "x y", "metadata": {"expires": "never"}}, "the date"),
        ("memory_write", {"content": "x", "path": "MEMORY.md"}, "memory_edit"),
        ("memory_edit", {"path": "a", "old": "", "new": "x"}, "occurs"),
        ("memory_delete", {"path": ["nothing"]}, "no memory"),
        ("memory_review", {"id": "abc"}, "both"),
        ("memory_consolidate", {"answer": "{}"}, "batch"),
    ],
)
def test_wrong_arguments_are_clear_errors(
    tmp_path: Path, name: str, arguments: dict[str, Any], problem: str
) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", "The kiln is hot.\n")
    text, is_error = call(workspace, name, **arguments)
    assert is_error and problem in text, text
    assert SECRET not in text
    assert not (tmp_path / "outside.md").exists()


def test_unknown_arguments_are_named(tmp_path: Path) -> None:
    text, is_error = call(make_workspace(tmp_path), "memory_ls", color="blue")
    assert not is_error and "ignored: color" in text


def test_answers_are_bounded_and_can_be_continued(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    body = "".join(f"Line {number} of the log.\n" for number in range(3000))
    put(workspace, "entries/long.md", body)
    for number in range(120):
        put(workspace, f"entries/many/{number}.md", f"Memory {number}: " + "word " * 60)
    shown, offset = "", 0
    while True:
        text, _ = call(workspace, "memory_read", path="long.md", offset=offset)
        assert len(text) <= MOST_CHARACTERS
        part, _, more = text.partition("\n(next_offset: ")
        shown += part
        if not more:
            break
        offset = int(more.rstrip(")"))
    assert shown == body
    for name in ("memory_ls", "memory_grep", "memory_search"):
        words = {"pattern": "memory"} if name == "memory_grep" else {"query": "memory"}
        arguments = {} if name == "memory_ls" else words
        first, _ = call(workspace, name, limit=1000, **arguments)
        assert len(first) <= MOST_CHARACTERS
        assert len(call(workspace, name, limit=2, **arguments)[0]) < 6000
        assert "(next_offset: 2)" in call(workspace, name, limit=2, **arguments)[0]


def test_hostile_messages_do_not_stop_the_server(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    with start(tmp_path) as client:
        errors = [
            (b"{", -32700),
            (b"\xff\xfe\x00\x01", -32700),
            (b"[" * 100_000, -32700),
            (b"[]", -32600),
            (b"5", -32600),
            (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
            (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
            (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32600),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}', -32601),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', -32602),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read"}', -32002),
            (b" " * (17 << 20) + b"x", -32600),
        ]
        for line, code in errors:
            client.send(line)
            assert client.read()["error"]["code"] == code, line[:60]
        client.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n\n')
        client.send(b'{"jsonrpc": "2.0", "id": 1, "result": {}}')
        client.send(b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, 5]')
        assert [sorted(item) for item in client.read()] == [
            ["id", "jsonrpc", "result"],
            ["error", "id", "jsonrpc"],
        ]
        content = "x " * (5_000_000 if LONG else 50_000)
        big = client.ask("tools/call", name="memory_write", arguments={"content": content})
        assert len(json.dumps(big)) < 30_000
        result = client.ask("tools/call", name="memory_ls", arguments=[1])
        assert result["code"] == -32602
        assert client.ask("initialize", protocolVersion="1999-01-01")["protocolVersion"] > "2025"
        half = client.ask("tools/call", name="memory_write", arguments={"content": "\ud800 half"})
        assert half["code"] == -32602
        assert client.ask("ping") == {}


def test_the_server_sees_the_disk_and_ends_with_its_client(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    with start(tmp_path) as client:
        assert client.call("memory_ls") == "no memories"
        put(workspace, "entries/a.md", "The heron nests by the pond.\n")
        assert "heron" in client.call("memory_search", query="heron")
        (workspace.root / "entries/a.md").unlink()
        assert client.call("memory_grep", pattern="heron") == "no match"
        os.rename(workspace.root, tmp_path / "elsewhere")
        gone = client.ask("tools/call", name="memory_ls", arguments={})
        assert gone["isError"] and "no workspace" in gone["content"][0]["text"]
        os.rename(tmp_path / "elsewhere", workspace.root)
        assert client.call("memory_ls") == "no memories"
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(20) == 0
        client.process.stdin = None
    with start(tmp_path) as client:
        client.call("memory_ls")
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(20) == -signal.SIGTERM
    assert run_mem(tmp_path, "write", "The server was stopped.")[0] == 0


def test_searches_do_not_wait_for_the_server(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    environment = get_process_environment(tmp_path / "home")
    with start(tmp_path) as client:
        for number in range(200 if LONG else 6):
            client.call("memory_write", content=f"Shelf {number} holds {number * 7} jars.")
            search = subprocess.Popen(
                [sys.executable, "-m", "memcli", "search", f"shelf {number} jars", "-n", "1"],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
            )
            client.call("memory_write", content=f"Crate {number} holds {number * 3} lids.")
            output, _ = search.communicate(timeout=30)
            assert f"Shelf {number} " in output.decode()


def test_a_client_of_the_sdk_can_use_the_server(tmp_path: Path) -> None:
    mcp = pytest.importorskip("mcp")
    from mcp.client.stdio import stdio_client

    make_workspace(tmp_path)
    parameters = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "memcli", "mcp", "--workspace", str(tmp_path / "memory")],
        env=get_process_environment(tmp_path / "home"),
    )

    async def talk() -> None:
        async with stdio_client(parameters) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            tools = await session.list_tools()
            assert {tool.name for tool in tools.tools} == set(TOOLS)
            await session.call_tool("memory_write", {"content": "The ferry is at noon."})
            found = await session.call_tool("memory_search", {"query": "ferry"})
            assert "at noon" in found.content[0].text
            resources = await session.list_resources()
            page = await session.read_resource(resources.resources[0].uri)
            assert "long-term memory" in page.contents[0].text
            await session.send_ping()

    asyncio.run(talk())


CLAIMS = [
    "source: user",
    "",
    "source: inferred\ntrust: 1.0",
    "source: inferred\npin: true",
    "source: inferred\nconfidence: 0.9",
    "source: inferred\nstrength: 9",
    "source: inferred\nowner: ana",
    "source: inferred\nstate: superseded",
    "source: inferred\nsuperseded_by: mem_01",
    'source: inferred\ntitle: "a\\u001b[2J"',
    'source: inferred\ntags: ["a\\e"]',
]


@pytest.mark.parametrize("new", CLAIMS)
def test_an_agent_makes_no_claim_about_a_memory(tmp_path: Path, new: str) -> None:
    workspace = make_workspace(tmp_path)
    call(workspace, "memory_write", content="The canoe is blue.", path="canoe")
    file = workspace.root / "entries/canoe.md"
    before = file.read_text()
    arguments = {"path": "canoe", "old": "source: inferred\n", "new": f"{new}\n" if new else ""}
    answer, is_error = call(workspace, "memory_edit", **arguments)
    assert is_error and ("an agent may not" in answer or "control character" in answer), answer
    assert file.read_text() == before


def test_an_agent_may_change_text_and_tags_and_no_settings(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    run_mem(tmp_path, "write", "The canoe is blue.", "--path", "canoe", "--source", "user")
    edits = [("type: fact", "type: fact\ntags: [boat]\ncolor: blue"), ("blue.", "green.")]
    for old, new in edits:
        answer, is_error = call(workspace, "memory_edit", path="canoe", old=old, new=new)
        assert not is_error, answer
    text = (workspace.root / "entries/canoe.md").read_text()
    assert "tags: [boat]" in text and "green" in text and "source: inferred" in text
    put(workspace, "sessions/s/session.jsonl", '{"role": "assistant", "content": "Hello."}\n')
    put(workspace, "purged.txt", "# ids\n")
    for path, old in (
        ("mem.yaml", "Settings"),
        ("purged.txt", "ids"),
        ("sessions/s/session.jsonl", "assistant"),
    ):
        assert call(workspace, "memory_edit", path=path, old=old, new="user")[1]
        assert old in (workspace.root / path).read_text()
    assert "Error" not in call(workspace, "memory_edit", path="a\0b", old="a", new="b")[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"path": "a\nb"},
        {"path": "a\x1b[2Jb"},
        {"path": "../mem.yaml"},
        {"path": "a" * 300},
        {"tags": ["a\x1b[2J"]},
        {"metadata": {"title": "a\x9b2J"}},
        {"metadata": {"color\x1b": "blue"}},
        {"metadata": {"deep": [{"color": "\u202eblue"}]}},
        {"metadata": {"many": list(range(200_000))}},
        {"metadata": json.loads('{"a":' * 60 + "1" + "}" * 60)},
        {"metadata": json.loads('{"a":' * 900 + "1" + "}" * 900)},
        {"metadata": {"a" * 2000: "blue"}},
    ],
)
def test_fields_that_hide_or_cannot_be_read_again_are_refused(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    workspace = make_workspace(tmp_path)
    answer, is_error = call(workspace, "memory_write", content="The canoe is blue.", **fields)
    assert is_error, answer
    assert "Error" not in answer
    assert not list((workspace.root / "entries").rglob("*.md"))


def test_the_text_of_a_forgotten_memory_stays_to_be_recognized(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = "The canoe is hidden in the reeds."
    run_mem(tmp_path, "write", text, "--path", "canoe", "--source", "user")
    run_mem(tmp_path, "forget", "canoe")
    assert call(workspace, "memory_edit", path="canoe", old="canoe is", new="boat is")[1]
    assert call(workspace, "memory_write", path="canoe", content="Something else.")[1]
    assert call(workspace, "memory_write", content=text)[1]
    assert call(workspace, "memory_read", path="canoe") == (
        "no memory 'canoe'\nhint: search for it: memory_search",
        True,
    )


def test_an_agent_does_not_find_what_belongs_to_other_projects(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    for path in (".git", "memory"):
        (shop / path).mkdir(parents=True)
    (shop / "memory/mem.yaml").touch()
    own = make_workspace(tmp_path / "own")
    for project in ("shop", "rival", ""):
        head = f"---\nid: mem_01kajd3v7m4kq{project:0<5.5}\nproject: {project}\n---\n\n"
        put(own, f"entries/{project or 'all'}.md", f"{head}Deploy {project} to Oslo.\n")
        text = f'{{"role": "user", "content": "Why deploy {project} to Oslo?"}}\n'
        put(own, f"sessions/{project or 'all'}/session.jsonl", text)
        put(own, f"sessions/{project or 'all'}/metadata.json", f'{{"project": "{project}"}}')
        comment = f"hist_01kajd3v7m4kq{project:0<5.5} project: {project}".removesuffix(" project: ")
        record = f"## 2026-11-28T12:00:00Z <!-- {comment} -->\n\nDeployed {project} to Oslo.\n\n"
        with (own.root / "HISTORY-2026-11.md").open("a") as file:
            file.write(record)
    own.root.rename(tmp_path / "mem")
    context = make_context(shop, XDG_DATA_HOME=str(tmp_path))._replace(common=CommonOptions())
    box = Toolbox(context)
    for name, arguments in (("memory_ls", {}), ("memory_search", {"query": "deploy to Oslo"})):
        text = box.call(name, arguments)[0]
        assert "Deploy shop" in text and "Deploy to Oslo" in text
        assert "rival" not in text
    # However many better hits the others have.
    for number in range(90):
        text = f"---\nproject: rival\n---\n\nRival {number}: deploy.\n"
        (tmp_path / f"mem/entries/rival-{number}.md").write_text(text)
    assert "to Oslo" in box.call("memory_search", {"query": "rival deploy", "limit": 3})[0]
    # Only memories name their project in each line.
    assert "Deploy shop" in box.call("memory_grep", {"pattern": "oslo"})[0]
    assert box.call("memory_grep", {"pattern": "rival"})[0] == "no match"
