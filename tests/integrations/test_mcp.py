"""The official SDK's own client talks to the server, in this process but for what a pipe could change."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client._memory import InMemoryTransport
from mcp.client.stdio import stdio_client

from memcli.api.workspace import open_workspaces
from memcli.formats.entry import SOURCES, TYPES
from memcli.index.filters import SORTS
from memcli.integrations.mcp_tools import server_of
from memcli.store.layouts import KINDS
from tests.cli.test_review import flagged
from tests.conftest import Mem, Ran

CHANGING = {f"memory_{name}" for name in ("write", "edit", "delete", "promote", "review", "consolidate")}
TOOLS = CHANGING | {f"memory_{name}" for name in ("search", "read", "ls", "grep", "recall")}
SECRET = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
Call = Callable[..., Coroutine[Any, Any, Any]]
Connection = AbstractAsyncContextManager[Any]


def by_pipe(workspace: Path) -> Connection:
    """Start the server in a process of its own."""
    words = ["-m", "memcli", "mcp", "--workspace", str(workspace)]
    return stdio_client(StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ)))


def in_process(workspace: Path) -> Connection:
    """Start the server in this process."""
    return InMemoryTransport(server_of(lambda: open_workspaces(str(workspace)), "1"))


def talk(
    workspace: Path,
    said: Callable[[ClientSession, Call], Coroutine[Any, Any, None]],
    connection: Callable[[Path], Connection] = in_process,
) -> None:
    """Hold a conversation with the server."""

    async def conversation() -> None:
        async with connection(workspace) as (reads, writes), ClientSession(reads, writes) as session:
            instructions = (await session.initialize()).instructions
            assert instructions
            assert "memory_write takes" in instructions
            assert not re.search(r"`mem |--", instructions)

            async def call(name: str, **arguments: object) -> Any:
                answer = await session.call_tool(f"memory_{name}", arguments)
                text = "".join(part.text for part in answer.content if part.type == "text")
                if answer.is_error:
                    return f"refused: {text}"
                return text if name == "recall" else json.loads(text)

            await said(session, call)

    anyio.run(conversation)


def test_a_client_lists_the_tools_writes_searches_and_reads_a_page(workspace: Path) -> None:
    async def said(session: ClientSession, call: Call) -> None:
        tools = (await session.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        assert all(tool.description for tool in tools)
        assert {tool.name for tool in tools if tool.annotations and not tool.annotations.read_only_hint} == CHANGING
        written = await call("write", text="User prefers dark mode.", type="preference", tags=["ui", "editor"])
        assert written["action"] == "created"
        assert (workspace / written["path"]).exists()
        hits = (await call("search", query="which editor theme", limit=3))["hits"]
        assert hits[0]["id"] == written["id"]
        page = await call("read", id=written["id"], offset=5, limit=7)
        assert (page["content"], page["next_offset"]) == ("prefers", 12)

    talk(workspace, said, by_pipe)


def test_the_start_of_a_session_is_a_resource(workspace: Path, mem: Mem) -> None:
    mem("write", "Never push on Fridays.", "--type", "constraint")

    async def said(session: ClientSession, call: Call) -> None:
        (resource,) = (await session.list_resources()).resources
        assert (str(resource.uri), bool(resource.description)) == ("mem://start", True)
        (content,) = (await session.read_resource(resource.uri)).contents
        assert content.text == mem("context").out

    talk(workspace, said)


def test_an_agent_writes_as_the_user_only_where_it_says_so(workspace: Path, mem: Mem) -> None:
    async def said(session: ClientSession, call: Call) -> None:
        guess = await call("write", text="The staging port is 8080.")
        told = await call("write", text="User prefers dark mode.", source="user")
        await call("write", text="User prefers dark mode and large letters.", id=told["id"])
        rows = {one["id"]: one["source"] for one in (await call("ls"))["entries"]}
        assert rows == {guess["id"]: "observed", told["id"]: "user"}

    talk(workspace, said)


@pytest.mark.parametrize(
    ("key", "old", "new"), [("staging/port", "8080", "9090"), ("crew/lunch room", "Aspen", "Birch")]
)
def test_a_client_reads_what_fills_a_key_without_knowing_an_id(workspace: Path, key: str, old: str, new: str) -> None:
    async def said(session: ClientSession, call: Call) -> None:
        await call("write", text=f"It is {old}.", key=key)
        await call("write", text=f"It is {new}.", key=key)
        await call("write", text="Elsewhere it is green.", key=key, project="attic")
        assert (await call("read", key=key))["content"].strip() == f"It is {new}."
        assert (await call("read", key=key, project="attic"))["content"].strip() == "Elsewhere it is green."
        for refused in (
            await call("read"),
            await call("read", key="nobody/fills"),
            await call("read", id="x", key=key),
        ):
            assert refused.startswith("refused: ")
            assert "--" not in refused

    talk(workspace, said)


def test_a_client_is_asked_about_a_conversation_and_hands_in_what_to_keep(workspace: Path, mem: Mem) -> None:
    rule = "We deploy from CI only, never by hand."
    assert mem("session", "append", "--session", "s", "--text", rule).code == 0

    async def said(session: ClientSession, call: Call) -> None:
        asked = await call("consolidate", session="s")
        assert rule in asked["messages"][1]["content"]
        wrong = await call("consolidate", session="s", answer=f"{SECRET}?", upto=asked["upto"])
        assert wrong.startswith("refused: That reply cannot be used")
        assert SECRET not in wrong
        for refused in (
            await call("consolidate", session="s", answer="{}", upto="m0"),
            await call("consolidate", session="s", upto="m0"),
        ):
            assert refused.startswith("refused: ")
            assert not re.search(r"`mem |--", refused)
        assert (await call("consolidate", session="nobody")).startswith("refused: no session")
        reply = json.dumps({"history_entry": "They met.", "entries": [{"content": rule}]})
        done = await call("consolidate", session="s", answer=reply, upto=asked["upto"])
        assert [(one["messages"], one["entries"]) for one in done["sessions"]] == [(1, 1)]
        assert (await call("ls", type=["fact"]))["entries"][0]["source"] == "user"
        assert (await call("consolidate", session="s"))["covers"] == []

    talk(workspace, said)


def test_a_client_settles_what_it_saw_itself_and_proposes_for_what_the_user_said(workspace: Path, mem: Mem) -> None:
    _, theirs = flagged(mem, "The staging port is 8080.", "The staging port is 9090.", source="user")
    over, _ = flagged(mem, "Lunch is in room Aspen.", "Lunch is in room Birch.")

    async def said(session: ClientSession, call: Call) -> None:
        found = await call("review")
        assert found["count"] == 2
        questions = {one["memories"][0]["id"] == theirs: one["id"] for one in found["questions"]}
        assert (await call("review", id=questions[True], decision="newer"))["action"] == "proposed"
        assert (await call("review", id=questions[False], decision="newer"))["action"] == "settled"
        left = (await call("review", limit=5))["questions"]
        assert [one["proposal"]["decision"] for one in left] == ["newer"]
        for wrong in ({"id": questions[False]}, {"id": "q_1"}, {"id": questions[True], "decision": "merge"}):
            refused = await call("review", **wrong)
            assert refused.startswith("refused: ")
            assert "--" not in refused

    talk(workspace, said)
    statuses = {row["id"]: row["status"] for row in mem("ls", "--status", "superseded", "--json").json["entries"]}
    assert statuses == {over: "superseded"}


def test_a_client_is_told_what_every_argument_means_and_may_be(workspace: Path) -> None:
    closed = {
        "type": set(TYPES),
        "kind": {*KINDS, "document", "all"},
        "source": set(SOURCES),
        "sort": set(SORTS),
    }

    async def said(session: ClientSession, call: Call) -> None:
        seen = set()
        for tool in (await session.list_tools()).tools:
            schema = tool.model_dump(by_alias=True)["inputSchema"]
            for name, one in schema["properties"].items():
                assert len(one.get("description", "")) > 10, (tool.name, name)
                assert name not in ("ids", "path_or_id", "entry_id"), tool.name
                if name in closed:
                    seen.add(name)
                    assert set(enums(one)) == closed[name], (tool.name, name)
            if tool.name.removeprefix("memory_") in ("edit", "delete", "promote"):
                assert "id" in schema["required"], tool.name
        assert seen == closed.keys()

    talk(workspace, said)


def enums(schema: Any) -> list[str]:
    """Collect the values a schema gives to choose from, however deep they stand."""
    if isinstance(schema, dict):
        return [*schema.get("enum", []), *(one for part in schema.values() for one in enums(part))]
    return [one for part in schema for one in enums(part)] if isinstance(schema, list) else []


def test_each_tool_answers_as_its_command(mem: Mem, workspace: Path) -> None:
    for text in ("-- A dash at the start", "Tea at five."):
        assert mem("write", "--", text).code == 0

    async def said(session: ClientSession, call: Call) -> None:
        assert await call("ls") == mem("ls", "-n", "50", "--json").json
        assert await call("grep", pattern="-- A", fixed=True) == mem("grep", "--json", "-F", "--", "-- A").json
        assert (await call("grep", pattern="nothing here"))["matches"] == []
        asked = await call("search", query="tea")
        assert asked["hits"] == mem("search", "tea", "--json").json["hits"]
        identifier = asked["hits"][0]["id"]
        assert (await call("edit", id=identifier, old="five", new="six"))["action"] == "updated"
        assert mem("read", identifier).out == "Tea at six.\n"
        assert (await call("promote", id=[identifier]))["applied"]
        assert "Tea at six." in (workspace / "MEMORY.md").read_text()
        assert "Tea at six." in await call("recall", query="tea")
        assert (await call("delete", id=identifier))["entries"][0]["action"] == "archived"
        assert (await call("write", text="- a list item"))["action"] == "created"

    talk(workspace, said)


REFUSALS: list[tuple[str, dict[str, object], str]] = [
    ("read", {"id": "mem_nobody"}, "no entry 'mem_nobody': find it with"),
    ("search", {"query": " "}, "the query is empty"),
    ("search", {"query": "x", "kind": ["song"]}, "no kind 'song'"),
    ("write", {"text": ""}, "nothing to remember"),
    ("write", {"text": "-"}, "nothing to remember"),
    ("edit", {"id": "MEMORY.md", "old": "not there", "new": "x"}, "does not stand in the text"),
    ("read", {"id": "../../etc/passwd"}, "no entry"),
    ("grep", {"pattern": "("}, "not a regular expression"),
    ("read", {"id": "mem_nobody"}, "find it with memory_search or memory_ls"),
    ("read", {"id": "MEMORY.md", "offset": -1}, "check offset and limit"),
    ("search", {"query": "x", "limit": 0}, "a limit of 0: ask for at least one"),
    ("search", {"query": "x", "since": "soon"}, "since 'soon' is no date"),
    ("search", {"query": "x", "type": ["song"]}, "no type 'song'"),
    ("ls", {"sort": "size"}, "no order 'size'"),
    ("ls", {"limit": -1}, "a limit of -1"),
    ("write", {"text": "x", "type": "song"}, "no type 'song'"),
    ("write", {"text": "x", "source": "nobody"}, "no source 'nobody'"),
    ("write", {"text": "x", "path": "MEMORY.md"}, "memory_write replaces it, memory_edit changes it"),
    (
        "write",
        {"text": "x", "id": "mem_a", "path": "b.md"},
        "an entry that is changed stays where it is: give an id or a path",
    ),
    ("write", {"text": "x", "id": "mem_a", "supersedes": "mem_b"}, "leave out id and path"),
    ("write", {"text": f"The token is {SECRET}"}, "looks like a secret (github-token): leave it out"),
    ("delete", {"id": ["MEMORY.md"]}, "is not an entry: change it with memory_edit"),
    ("promote", {"id": "MEMORY.md"}, "is not an entry"),
]


def test_refusals_are_those_of_the_commands(workspace: Path) -> None:
    """They name arguments and tools, never what only the command line has."""

    async def asked(session: ClientSession, call: Call) -> None:
        for name, arguments, said in REFUSALS:
            answer = await call(name, **arguments)
            assert isinstance(answer, str), (name, arguments)
            assert answer.startswith("refused: "), (name, arguments)
            assert said in answer
            assert not re.search(r"(^|[\s(])--?[a-zA-Z]", answer)

    talk(workspace, asked)


def test_a_secret_is_refused_in_the_words_of_the_command(mem: Mem, workspace: Path) -> None:
    refused = mem("write", f"The token is {SECRET}")
    assert refused.code == 5
    words = refused.err.removeprefix("mem: ").partition(";")[0].strip()
    assert mem("write", "Tea at five.").code == 0
    before = {path: path.read_bytes() for path in workspace.rglob("*.md")}

    async def said(session: ClientSession, call: Call) -> None:
        assert await call("write", text=f"The token is {SECRET}") == f"refused: {words}"
        (tea,) = (await call("ls"))["entries"]
        for name, arguments in (
            ("write", {"text": "Tea at six.", "title": SECRET}),
            ("write", {"text": "Tea at six.", "tags": [SECRET]}),
            ("write", {"text": SECRET, "id": tea["id"]}),
            ("edit", {"id": tea["id"], "old": "five", "new": SECRET}),
        ):
            answer = await call(name, **arguments)
            assert isinstance(answer, str)
            assert "looks like a secret" in answer
            assert SECRET not in answer

    talk(workspace, said)
    assert {path: path.read_bytes() for path in workspace.rglob("*.md")} == before


def test_a_write_says_what_became_of_it_as_the_command_does(mem: Mem, workspace: Path) -> None:
    async def said(session: ClientSession, call: Call) -> None:
        first = await call("write", text="The staging port is 8080.")
        assert (first["action"], set(first)) == ("created", {"action", "id", "path", "workspace"})
        again = await call("write", text="The staging port is 8080.")
        assert (again["action"], again["id"], again["strength"]) == ("merged", first["id"], 2)
        newer = await call("write", text="The staging port is 9090 now.")
        assert (newer["action"], [one["id"] for one in newer["near"]]) == ("created", [first["id"]])
        over = await call("write", text="", id=newer["id"], supersedes=first["id"])
        assert (over["action"], over["id"], over["superseded_by"]) == ("superseded", first["id"], newer["id"])
        other = await call("write", text="The retry limit is 3.", key="retries")
        against = await call("write", text="The retry limit is 5.", key="retries", source="inferred")
        assert against["conflicts_with"] == [other["id"]]
        settled = await call("write", text="User uses helix.", supersedes=other["id"])
        assert (settled["action"], settled["supersedes"]) == ("created", [other["id"]])

    talk(workspace, said)


def test_nothing_but_the_protocol_is_on_stdout(workspace: Path) -> None:
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    calls = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "memory_search", "arguments": {"query": "tea"}}},
    ]  # fmt: skip
    command = [sys.executable, "-m", "memcli", "mcp", "--workspace", str(workspace)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(f"{json.dumps(one)}\n" for one in (hello, *calls)).encode())
        server.stdin.flush()
        lines = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        server.stdin = None
        rest, _ = server.communicate(timeout=600)
    assert [line["id"] for line in lines] == [1, 2]
    assert rest == b""
    assert server.returncode == 0


def test_without_a_workspace_the_server_says_so(spawn: Callable[..., Ran], world: Path) -> None:
    ran = spawn("mcp")
    assert (ran.code, ran.out) == (4, "")
    assert "no workspace" in ran.err


def test_a_path_narrows_search_and_grep(workspace: Path) -> None:
    async def said(session: ClientSession, call: Call) -> None:
        for place in ("projects/tea/a.md", "projects/coffee/b.md"):
            await call("write", text=f"The cup of {place} is blue.", path=place)
        for tool, asked, rows in (("search", {"query": "cup"}, "hits"), ("grep", {"pattern": "cup"}, "matches")):
            for path in ("projects/tea/", "entries/projects/tea", "*/tea/*"):
                answer = await call(tool, **asked, path=path)
                assert [row["path"] for row in answer[rows]] == ["entries/projects/tea/a.md"], (tool, path)
            assert len((await call(tool, **asked))[rows]) == 2

    talk(workspace, said)


def test_metadata_is_kept_and_a_diff_edits(mem: Mem, workspace: Path) -> None:
    async def said(session: ClientSession, call: Call) -> None:
        entry = await call("write", text="Tea at five.\nCake at six.", metadata={"room": "hall", "seats": 12})
        page = await call("read", id=entry["id"])
        assert page["fields"]["metadata"] == {"room": "hall", "seats": "12"}
        diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n Tea at five.\n-Cake at six.\n+Cake at seven.\n"
        assert (await call("edit", id=entry["id"], diff=diff))["action"] == "updated"
        assert (await call("read", id=entry["id"]))["content"] == "Tea at five.\nCake at seven.\n"
        assert "give old and new, or diff" in await call("edit", id=entry["id"], diff=diff, old="Tea", new="Milk")
        assert "hunk 1 does not apply" in await call("edit", id=entry["id"], diff=diff)
        secret = await call("write", text="Tea at nine.", metadata={"token": SECRET})
        assert "looks like a secret" in secret
        assert SECRET not in secret

    talk(workspace, said)


def test_a_value_of_another_kind_is_refused_in_one_short_line(workspace: Path) -> None:
    async def said(session: ClientSession, call: Call) -> None:
        for name, arguments, told in (
            ("write", {"text": "Tea.", "metadata": {"a": {"b": 1}}}, "metadata.a: input should be a valid string"),
            ("write", {"text": "Tea.", "tags": ["a", 2]}, "tags.1: input should be a valid string"),
            ("write", {"text": "Tea.", "metadata": "room"}, "metadata: input should be a valid dictionary"),
            ("write", {"text": 5}, "text: input should be a valid string"),
            ("delete", {"id": {"a": 1}}, "id: input should be a valid string"),
            ("search", {"query": "tea", "limit": "many"}, "limit: input should be a valid integer"),
        ):
            answer = await call(name, **arguments)
            assert answer.startswith(f"refused: memory_{name}: the argument {told}"), answer
            assert "\n" not in answer
        assert SECRET not in await call("write", text="Tea.", metadata={SECRET: {"b": 1}})
        assert (await call("ls"))["entries"] == []

    talk(workspace, said)


def test_an_argument_that_a_tool_does_not_have_is_refused(mem: Mem, workspace: Path) -> None:
    async def said(session: ClientSession, call: Call) -> None:
        refused = await call("write", text="Tea at five.", tag=["drinks"], room="hall")
        assert refused.startswith("refused: memory_write: no argument 'tag', 'room': it takes text, type, title, tags")
        for tool in (await session.list_tools()).tools:
            answer = await call(tool.name.removeprefix("memory_"), **{SECRET: 1})
            assert answer.startswith(f"refused: {tool.name}: no argument ")
            assert SECRET not in answer
        assert (await call("ls"))["entries"] == []

    talk(workspace, said)


def test_a_missing_argument_is_told_in_one_plain_line(workspace: Path) -> None:
    async def said(session: ClientSession, call: Call) -> None:
        for name, arguments, named in (("search", {}, "query"), ("write", {}, "text"), ("delete", {}, "id")):
            answer = await call(name, **arguments)
            assert f"memory_{name}: the argument {named}: field required" in answer
            assert "pydantic" not in answer
            assert "\n" not in answer
        wrong = await call("search", query="x", limit="many")
        assert wrong.startswith("refused: memory_search: the argument limit: ")
        assert "http" not in wrong

    talk(workspace, said)
