"""What tools read from files that are shut out of memory, or wrote there, is stored by no door."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.sample import pairwise
from tests.tables import cases, table

SAID = "The quagga gate opens with the word marzipan"
MARK = "[REDACTED:secret-file]"
RESULTS = ("content", "result", "output", "text")
LINKS = ("call_id", "tool_call_id", "id")
GIVEN = ("path", "file_path", "command", "cmd")
WAYS = table(__file__, "WAYS")


@pytest.fixture
def project(world: Path, workspace: Path) -> Path:
    (world / ".secretsignore").write_text("secrets/\n")
    (world / ".gitignore").write_text("build/\n")
    for file in ("secrets/prod.yaml", "secrets/my keys.txt", ".env.local", "build/report.txt", "docs/open.md"):
        (world / file).parent.mkdir(exist_ok=True)
        (world / file).write_text(f"{SAID}\n")
    (world / "link.yaml").symlink_to(world / "secrets/prod.yaml")
    (world / "linked").symlink_to(world / "secrets")
    return world


def kept(workspace: Path) -> str:
    """Give all that the workspace's files say, derived ones too."""
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in workspace.rglob("*") if path.is_file())


def arguments(key: str, path: str, root: Path) -> dict[str, str]:
    """Give what a tool is called with to read a file."""
    path = path.format(root=root)
    if key in ("command", "cmd"):
        return {key: f"sed -n 1,5p {path} | head -3"}
    return {key: path.strip('"')}


def pair(
    field: str = "content", link: str = "call_id", given: Any = "", said: str = SAID, name: str = "c1"
) -> list[Any]:
    """Give a tool's call and its result, linked by a key."""
    call: dict[str, Any] = {"type": "tool_call", "role": "assistant", "name": "Tool", "args": given}
    result: dict[str, Any] = {"type": "tool_result", "role": "tool", "name": "Tool", field: said}
    call[link], result["call_id" if link == "id" else link] = name, name
    return [call, result]


def lines(events: list[Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize(("field", "link", "key", "batches"), pairwise(RESULTS, LINKS, GIVEN, [1, 2]))
def test_session_append_keeps_nothing(
    mem: Mem, workspace: Path, project: Path, field: str, link: str, key: str, batches: int
) -> None:
    for number, (way, path) in enumerate(WAYS.items()):
        events = pair(field, link, arguments(key, path, project), name=f"call-{number}")
        for batch in [events] if batches == 1 else [[event] for event in events]:
            ran = mem("session", "append", "-", "--session", "s", stdin=lines(batch))
            assert ran.code == 0, ran
            assert "secret-file redacted" in ran.err, (way, ran)
        assert "marzipan" not in kept(workspace), way
    open_ones = pair(field, link, arguments(key, "docs/open.md", project), "An open word", "call-open")
    assert mem("session", "append", "-", "--session", "s", stdin=lines(open_ones)).code == 0
    assert "An open word" in kept(workspace)


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("place", ["args", "arguments", "input", "params", "content"])
def test_arguments_may_be_an_object_or_json_in_a_text(
    mem: Mem, workspace: Path, project: Path, place: str, as_text: bool
) -> None:
    call, result = pair()
    given: Any = {"file_path": "secrets/prod.yaml", "content": SAID}
    call[place] = json.dumps(given) if as_text else given
    if place != "args":
        del call["args"]
    assert mem("session", "append", "-", "--session", "s", stdin=lines([call, result])).code == 0
    assert "marzipan" not in kept(workspace)


def nested_call(tool: str, given: dict[str, str]) -> list[Any]:
    """Give a call and its result as tools write them into messages."""
    openai = {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": json.dumps(given)}}
    return {
        "anthropic": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "Read", "input": given}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": SAID}]},
        ],
        "openai": [
            {"role": "assistant", "content": "", "tool_calls": [openai]},
            {"role": "tool", "tool_call_id": "c1", "content": SAID},
        ],
        "openai before": [
            {"role": "assistant", "content": None, "function_call": openai["function"]},
            {"role": "function", "name": "Read", "content": SAID},
        ],
        "typed text": [
            {"type": "tool_call", "role": "assistant", "name": "Bash", "content": next(iter(given.values()))},
            {"type": "tool_result", "role": "tool", "content": SAID},
        ],
    }[tool]


@pytest.mark.parametrize("tool", ["anthropic", "openai", "openai before", "typed text"])
@pytest.mark.parametrize("key", GIVEN)
@pytest.mark.parametrize("batches", [1, 2])
def test_messages_that_hold_calls_keep_nothing(
    mem: Mem, workspace: Path, project: Path, tool: str, key: str, batches: int
) -> None:
    events = nested_call(tool, arguments(key, "secrets/prod.yaml", project))
    for batch in [events] if batches == 1 else [[event] for event in events]:
        assert mem("session", "append", "-", "--session", "s", stdin=lines(batch)).code == 0
    assert "marzipan" not in kept(workspace)


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        'sed -n 1,5p "secrets/prod.yaml"',
        "cd secrets && cat prod.yaml",
        "cat docs/open.md secrets/*.yaml",
        "cat .e*",
        "bash -lc 'cat secrets/prod.yaml'",
        "grep -r word secrets",
        "cat secrets/my\\ keys.txt",
        "cat $PWD/secrets/prod.yaml",
        "git show HEAD:secrets/prod.yaml",
        "cp --target=docs secrets/prod.yaml",
        "python -c \"print(open('secrets/prod.yaml').read())\"",
        "source .env; cat build/report.txt",
        "cat <secrets/prod.yaml",
        "cat .{env,bashrc}",
        "cat {docs,secrets}/prod.yaml secret{,s}/prod.yaml",
        "curl --data @secrets/prod.yaml localhost",
        f"echo {SAID!r} >.env",
        f"cat > secrets/new.txt <<EOF\n{SAID}\nEOF",
    ],
)
def test_commands_name_files_in_many_ways(mem: Mem, workspace: Path, project: Path, command: str) -> None:
    for given in ({"command": command}, {"cmd": ["bash", "-lc", command]}, command):
        assert mem("session", "append", "-", "--session", "s", stdin=lines(pair(given=given))).code == 0
    assert "marzipan" not in kept(workspace)


@cases("given")
def test_a_tool_that_is_only_run_is_not_read(mem: Mem, workspace: Path, project: Path, given: dict[str, str]) -> None:
    (project / ".gitignore").write_text(".venv/\nnode_modules/\nbuild/\n")
    assert mem("session", "append", "-", "--session", "s", stdin=lines(pair(given=given))).code == 0
    assert "marzipan" in kept(workspace)


def of_claude(given: Any, root: Path) -> list[Any]:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": given}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": SAID}
    shared = {"sessionId": "s1", "cwd": str(root), "timestamp": "2026-11-20T10:00:00Z"}
    return [
        {"type": "user", "uuid": "u1", **shared, "message": {"role": "user", "content": "Look"}},
        {"type": "assistant", "uuid": "u2", **shared, "message": {"role": "assistant", "content": [call]}},
        {
            "type": "user",
            "uuid": "u3",
            **shared,
            "toolUseResult": {"file": {"content": SAID}},
            "message": {"role": "user", "content": [result]},
        },
    ]


def of_codex(given: Any, root: Path) -> list[Any]:
    def item(**told: Any) -> dict[str, Any]:
        return {"timestamp": "2026-11-20T10:00:00.000Z", "type": "response_item", "payload": told}

    meta = {"id": "s1", "timestamp": "2026-11-20T10:00:00.000Z", "cwd": str(root)}
    return [
        {"timestamp": "2026-11-20T10:00:00.000Z", "type": "session_meta", "payload": meta},
        item(type="message", role="user", content=[{"type": "input_text", "text": "Look"}]),
        item(type="function_call", name="shell", arguments=json.dumps(given), call_id="t1"),
        item(type="function_call_output", call_id="t1", output=json.dumps({"output": SAID})),
    ]


def of_openclaw(given: Any, root: Path) -> list[Any]:
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": given}
    result = {"role": "toolResult", "toolCallId": "t1", "toolName": "read", "content": [{"type": "text", "text": SAID}]}
    return [
        {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-11-20T10:00:00Z", "cwd": str(root)},
        {"type": "message", "id": "m0", "message": {"role": "user", "content": "Look"}},
        {"type": "message", "id": "m1", "message": {"role": "assistant", "content": [call]}},
        {"type": "message", "id": "m2", "message": result},
    ]


def of_cursor(given: Any, root: Path) -> list[Any]:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": given}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": SAID}
    return [
        {"role": "user", "message": {"content": [{"type": "text", "text": "Look"}]}},
        {"role": "assistant", "message": {"content": [call]}},
        {"role": "user", "message": {"content": [result]}},
    ]


def of_lines(given: Any, root: Path) -> list[Any]:
    return [{"role": "user", "content": "Look"}, *pair("result", given=given)]


def of_gemini(given: Any, root: Path) -> list[Any]:
    response = {"functionResponse": {"id": "t1", "name": "read_file", "response": {"output": SAID}}}
    call = {"id": "t1", "name": "read_file", "args": given, "result": [response], "resultDisplay": SAID}
    return [
        {"sessionId": "s1", "projectHash": "0" * 64, "startTime": "2026-11-20T10:00:00Z"},
        {"id": "g1", "timestamp": "2026-11-20T10:00:01Z", "type": "user", "content": "Look"},
        {
            "id": "g2",
            "timestamp": "2026-11-20T10:00:02Z",
            "type": "gemini",
            "content": "Done",
            "toolCalls": [{**call, "status": "success"}],
        },
    ]


def of_gemini_json(given: Any, root: Path) -> list[Any]:
    head, *messages = of_gemini(given, root)
    return [{**head, "messages": messages}]


def of_copilot(given: Any, root: Path) -> list[Any]:
    def event(kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "id": kind, "timestamp": "2026-11-20T10:00:00Z", "data": data}

    return [
        event("session.start", sessionId="s1", context={"cwd": str(root)}),
        event("user.message", content="Look"),
        event("tool.execution_start", toolCallId="t1", toolName="view", arguments=given),
        event("tool.execution_complete", toolCallId="t1", success=True, result={"content": SAID}),
    ]


def of_copilot_chat(given: Any, root: Path) -> list[Any]:
    tool = {
        "kind": "toolInvocationSerialized",
        "toolCallId": "t1",
        "toolId": "copilot_readFile",
        "resultDetails": {"input": json.dumps(given), "output": [{"value": SAID}]},
    }
    request = {"requestId": "r1", "message": {"text": "Look"}, "response": [{"value": "Done"}, tool]}
    return [{"sessionId": "s1", "requests": [request]}]


def of_copilot_chat_log(given: Any, root: Path) -> list[Any]:
    return [{"kind": 0, "v": of_copilot_chat(given, root)[0]}]


def of_opencode(given: Any, root: Path) -> list[Any]:
    state = {"status": "completed", "input": given, "output": SAID}
    tool = {"type": "tool", "callID": "t1", "tool": "read", "state": state}
    messages = [
        {"info": {"id": "m1", "role": "user"}, "parts": [{"type": "text", "text": "Look"}]},
        {"info": {"id": "m2", "role": "assistant"}, "parts": [tool, {"type": "text", "text": "Done"}]},
    ]
    return [{"info": {"id": "s1", "directory": str(root)}, "messages": messages}]


def of_golemcore(given: Any, root: Path) -> list[Any]:
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": json.dumps(given)}}
    messages = [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": "", "toolCalls": [call]},
        {"role": "tool", "toolCallId": "t1", "toolName": "read", "content": SAID},
    ]
    return [{"id": "s1", "channelType": "cli", "messages": messages}]


def of_chatgpt(given: Any, root: Path) -> list[Any]:
    def node(name: str, parent: str, author: dict[str, str], content: dict[str, Any], **more: str) -> dict[str, Any]:
        return {"id": name, "parent": parent, "message": {"id": name, "author": author, "content": content, **more}}

    text = {"content_type": "code", "text": json.dumps(given)}
    said = {"content_type": "text", "parts": [SAID]}
    nodes = [
        node("n1", "", {"role": "user"}, {"content_type": "text", "parts": ["Look"]}),
        node("n2", "n1", {"role": "assistant"}, text, recipient="python"),
        node("n3", "n2", {"role": "tool", "name": "python"}, said),
    ]
    mapping = {one["id"]: one for one in nodes}
    return [[{"id": "s1", "title": "T", "create_time": 1_795_165_200, "mapping": mapping, "current_node": "n3"}]]


FORMATS = {name.removeprefix("of_"): function for name, function in list(globals().items()) if name.startswith("of_")}


def written(form: str, given: Any, root: Path, file: Path) -> Path:
    """Write a transcript as a tool would."""
    file.write_text(lines(FORMATS[form](given, root)))
    return file


def everywhere() -> Iterator[tuple[str, str, str]]:
    """Give every format with each way to name the path and each key of it."""
    yield from ((form, way, key) for form in FORMATS for way in WAYS for key in ("file_path", "command"))


@pytest.mark.parametrize("form", FORMATS)
def test_session_import_keeps_what_is_open(mem: Mem, workspace: Path, project: Path, form: str) -> None:
    file = written(form, {"file_path": "docs/open.md"}, project, project / "talk.json")
    for ran in (mem("session", "import", str(file)), mem("session", "import", str(project))):
        assert ran.code == 0, ran
    assert "marzipan" in kept(workspace)


@pytest.mark.parametrize(("form", "way", "key"), list(everywhere()))
def test_session_import_keeps_nothing(mem: Mem, workspace: Path, project: Path, form: str, way: str, key: str) -> None:
    file = written(form, arguments(key, WAYS[way], project), project, project / "talk.json")
    args = [] if form == "chatgpt" else ["--session", "one"]
    ran = mem("session", "import", str(file), *args)
    assert ran.code == 0, ran
    assert "redacted" in ran.err, ran
    assert MARK in kept(workspace)
    assert "marzipan" not in kept(workspace)


@pytest.mark.parametrize("form", FORMATS)
def test_folders_of_transcripts_and_consolidation_keep_nothing(
    mem: Mem, workspace: Path, project: Path, form: str
) -> None:
    file = written(form, {"file_path": "secrets/prod.yaml", "content": SAID * 200}, project, project / "talk.json")
    assert mem("session", "import", str(project)).code == 0
    if form != "chatgpt":
        assert mem("consolidate", str(file)).code == 0
    assert "Look" in kept(workspace)
    assert "marzipan" not in kept(workspace)


def test_a_path_is_relative_to_the_folder_the_conversation_took_place_in(
    mem: Mem, workspace: Path, project: Path
) -> None:
    (project / "app/private").mkdir(parents=True)
    (project / ".secretsignore").write_text("/app/private/\n")
    file = written("claude", {"file_path": "private/a.txt"}, project / "app", project / "talk.jsonl")
    assert mem("session", "import", str(file)).code == 0
    assert "marzipan" not in kept(workspace)


def test_a_call_whose_arguments_are_too_long_to_be_kept_is_known_by_all_of_them(
    mem: Mem, workspace: Path, project: Path
) -> None:
    given = {"content": "x" * 9000, "file_path": "secrets/prod.yaml", "new_string": "y" * 9000}
    file = written("claude", given, project, project / "talk.jsonl")
    assert mem("session", "import", str(file)).code == 0
    assert "marzipan" not in kept(workspace)


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "of none: SessionEnd only begins what follows"])
def test_hooks_keep_nothing(mem: Mem, workspace: Path, project: Path, event: str) -> None:
    talk = FORMATS["claude"]({"file_path": ".env"}, project)
    talk.append({**talk[0], "uuid": "u9", "type": "assistant", "message": {"role": "assistant", "content": "Done"}})
    file = project / "talk.jsonl"
    file.write_text(lines(talk))
    told = {"session_id": "s1", "cwd": str(project), "transcript_path": str(file), "hook_event_name": event}
    assert mem("hook", "run", "claude-code", stdin=json.dumps(told)).code == 0
    assert mem("hook", "close", "--session", "s1", "--transcript", str(file)).code == 0
    assert "Done" in kept(workspace)
    assert "marzipan" not in kept(workspace)


@pytest.mark.parametrize("file", [".env", ".env.local", "build/report.txt", "secrets/prod.yaml", "link.yaml"])
def test_write_takes_no_such_file_and_watches_no_line_of_it(
    mem: Mem, workspace: Path, project: Path, file: str
) -> None:
    (project / ".env").write_text(f"{SAID}\n")
    for name in (file, str(project / file)):
        ran = mem("write", "--file", name)
        assert ran.code == 5, ran
        assert "shut out of memory by" in ran.err
        ran = mem("write", "A gate", "--about", f"{name}:1", "--no-dedup")
        assert ran.code == (0 if file.startswith("build") else 5), ran
    assert "marzipan" not in kept(workspace)
    assert "digest" not in kept(workspace)
    assert mem("write", "--file", file, "--allow-secret").code == 0
    assert "marzipan" in kept(workspace)


def test_what_came_into_a_session_before_is_not_consolidated(mem: Mem, workspace: Path, project: Path) -> None:
    (project / ".secretsignore").unlink()
    events = [*pair(given={"file_path": "secrets/prod.yaml"}), {"role": "user", "content": "Remember that I like tea."}]
    assert mem("session", "append", "-", "--session", "s", stdin=lines(events)).code == 0
    assert "marzipan" in kept(workspace)
    (project / ".secretsignore").write_text("secrets/\n")
    ran = mem("consolidate", "s")
    assert ran.code == 0, ran
    assert "secret-file redacted" in ran.err


BATCHES = [
    ("a call and its result come at the same time, the result first", [1, 0]),
    ("two results", [0, 1, 1]),
    ("the result before and after", [1, 0, 1]),
]


@pytest.mark.parametrize("order", [order for _, order in BATCHES], ids=[name for name, _ in BATCHES])
@pytest.mark.parametrize("is_one", [True, False])
@pytest.mark.parametrize("has_ids", [True, False])
def test_results_come_in_any_order(
    mem: Mem, workspace: Path, project: Path, order: list[int], is_one: bool, has_ids: bool
) -> None:
    events = pair(given={"command": "cat .env"})
    for event in [] if has_ids else events:
        del event["call_id"]
    given = [{**events[number], "id": f"e{place}"} for place, number in enumerate(order)]
    for batch in [given] if is_one else [[event] for event in given]:
        assert mem("session", "append", "-", "--session", "s", stdin=lines(batch)).code == 0
    assert "marzipan" not in kept(workspace)
    if is_one:
        (project / "talk.jsonl").write_text(lines([{"role": "user", "content": "Look"}, *given]))
        assert mem("session", "import", "talk.jsonl", "--session", "t").code == 0
        assert "marzipan" not in kept(workspace)


def test_calls_without_ids_are_known_by_their_order(mem: Mem, workspace: Path, project: Path) -> None:
    def events(path: str, said: str) -> list[Any]:
        found = pair(given={"file_path": path}, said=said)
        return [{key: event[key] for key in event if key != "call_id"} for event in found]

    batches = [
        events("docs/a.md", "one"),
        events(".env", SAID),
        events("docs/b.md", "two"),
        events("docs/c.md", "three"),
    ]
    for batch in batches:
        for event in batch:
            assert mem("session", "append", "-", "--session", "s", stdin=lines([event])).code == 0
    said = kept(workspace)
    assert "marzipan" not in said
    assert all(f'"{word}"' in said for word in ("one", "two", "three"))


def test_one_id_for_two_calls_and_binary_and_long_results(mem: Mem, workspace: Path, project: Path) -> None:
    open_call, _ = pair(given={"file_path": "docs/open.md"})
    call, result = pair(given={"file_path": ".env"})
    given = [open_call, call, result, result]
    assert mem("session", "append", "-", "--session", "s", stdin=lines(given)).code == 0
    long = pair(given={"path": ".env"}, said=f"{SAID}\n" * 250_000, name="c2")
    assert mem("session", "append", "-", "--session", "s", stdin=lines(long)).code == 0
    binary = pair(given={"path": ".env"}, said=f"\x00\x01\ufffd{SAID}\ud800" * 30, name="c3")
    assert mem("session", "append", "-", "--session", "s", stdin=lines(binary)).code == 0
    assert "marzipan" not in kept(workspace)


def test_an_id_that_is_used_again_for_an_open_file_is_another_call(mem: Mem, workspace: Path, project: Path) -> None:
    events = [*pair(given={"path": ".env"}), *pair(given={"path": "docs/open.md"}, said="An open word")]
    for batch in ([event] for event in events):
        assert mem("session", "append", "-", "--session", "s", stdin=lines(batch)).code == 0
    assert "marzipan" not in kept(workspace)
    assert "An open word" in kept(workspace)


@pytest.mark.parametrize(
    ("patterns", "is_out"),
    [
        (b"*\n", True),
        (b"\xef\xbb\xbfsecrets/\r\n", True),
        (b"secrets/*\r\n!secrets/prod.yaml\r\n", False),
        (b"secrets/\n!secrets/prod.yaml\n", True),
        (b"".join(b"file-%d.txt\n*.ending%d\n" % (number, number) for number in range(5000)) + b"prod.yaml\n", True),
        (b"\x00\xff\xfe[\n\\\n", False),
    ],
    ids=["everything", "BOM and CRLF", "brought back", "in a folder", "10,000 lines", "binary"],
)
def test_ignore_files_of_every_kind_are_read(
    mem: Mem, workspace: Path, project: Path, patterns: bytes, is_out: bool
) -> None:
    (project / ".secretsignore").write_bytes(patterns)
    for path in ("secrets/prod.yaml", str(project / "secrets/prod.yaml")):
        given = {"command": f"sed -n 1,5p {path}"}
        assert mem("session", "append", "-", "--session", "s", stdin=lines(pair(given=given))).code == 0
    assert ("marzipan" not in kept(workspace)) == is_out


def test_many_processes_at_the_same_time_keep_nothing(workspace: Path, project: Path) -> None:
    def begin(event: Any) -> "subprocess.Popen[bytes]":
        words = [sys.executable, "-m", "memcli", "session", "append", json.dumps(event), "--session", "s"]
        return subprocess.Popen(words, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    events = [event for number in range(6) for event in pair(given={"path": ".env"}, name=f"c{number}")]
    ran = [begin(event) for event in (*events[1::2], *events[::2])]
    assert [process.wait() for process in ran] == [0] * 12
    assert "marzipan" not in kept(workspace)
    stored = (workspace / "sessions/s/session.jsonl").read_text()
    assert stored.count(MARK) == 12
