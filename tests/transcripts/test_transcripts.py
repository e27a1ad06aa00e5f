"""Conversations that Claude Code and Codex stored become sessions."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memcli.errors import NotFoundError
from memcli.store.sessions import find_events_file, list_sessions
from memcli.store.workspace import Workspace
from memcli.transcripts.importer import find_transcripts, import_file, select_transcripts
from memcli.transcripts.reader import list_formats
from tests.helpers import make_context, make_workspace, run_mem
from tests.store.test_worktrees import git, make_repository

Lines = list[dict[str, Any]]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@pytest.fixture
def import_lines(workspace: Workspace, tmp_path: Path) -> Callable[..., Lines]:
    """Return a function that imports lines, and returns the events of the session."""

    def run(lines: Lines, name: str = "talk") -> Lines:
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        (imported,) = import_file(workspace, path, [])
        text = find_events_file(workspace, imported.session_id).read_text()
        return [json.loads(line) for line in text.splitlines()]

    return run


def say(role: str, content: Any, uuid: str = "u1", **fields: Any) -> dict[str, Any]:
    """Return a line of Claude Code."""
    message = {"role": role, "content": content}
    line = {"type": role, "uuid": uuid, "sessionId": "s1", "message": message}
    return {**line, "timestamp": "2026-11-20T10:00:00Z", **fields}


def respond(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a line of Codex."""
    return {"timestamp": "2026-11-20T10:00:00Z", "type": "response_item", "payload": payload}


def test_claude_code_messages_and_tools(import_lines: Callable[..., Lines]) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make ship"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 900, "is_error": True}
    events = import_lines(
        [
            say("user", "Ship it."),
            say("assistant", [{"type": "text", "text": "Shipping."}, call], "u2"),
            say("user", [result], "u3"),
        ]
    )
    assert [event.get("content") for event in events] == ["Ship it.", "Shipping.", None]
    assert events[2]["arguments"] == {"command": "make ship"}
    assert events[2]["isError"]
    assert "400 characters" in events[2]["result"]
    assert events[0]["timestamp"] == "2026-11-20T10:00:00Z"


@pytest.mark.parametrize(
    "line",
    [
        say("user", "Inner question.", isSidechain=True),
        say("user", "<command-name>/clear</command-name>"),
        say("user", "<system-reminder>Today is Friday.</system-reminder>"),
        say("user", "This session is being continued from a previous conversation.", isMeta=True),
        {
            "type": "api-request-blob",
            "sessionId": "s1",
            "message": {"role": "user", "content": "x"},
        },
    ],
)
def test_text_that_nobody_typed(import_lines: Callable[..., Lines], line: dict[str, Any]) -> None:
    events = import_lines([say("user", "Hello."), line])
    assert [event["content"] for event in events] == ["Hello."]


def test_prompt_typed_while_the_agent_works(import_lines: Callable[..., Lines]) -> None:
    attachment = {"type": "queued_command", "prompt": "And the fonts.", "commandMode": "prompt"}
    events = import_lines([say("user", "Go."), {"sessionId": "s1", "attachment": attachment}])
    assert [event["content"] for event in events] == ["Go.", "And the fonts."]


def test_codex_messages_and_tools(import_lines: Callable[..., Lines]) -> None:
    header = {"type": "session_meta", "payload": {"id": "r1", "cwd": "/home/ana/shop"}}
    part = {"type": "input_text", "text": "<environment_context>linux</environment_context>"}
    typed = {"type": "input_text", "text": "Ship it."}
    output = "Exit code: 2\nWall time: 1 s\nOutput:\nno rule to make target"
    events = import_lines(
        [
            header,
            respond({"type": "message", "role": "developer", "content": [typed]}),
            respond({"type": "message", "role": "user", "content": [part, typed]}),
            # A result can come before its call.
            respond({"type": "function_call_output", "call_id": "c1", "output": output}),
            respond({"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"}),
            {"type": "event_msg", "payload": {"type": "user_message", "message": "Ship it."}},
        ]
    )
    assert [event.get("content") for event in events] == ["Ship it.", None]
    assert events[1]["result"] == "no rule to make target"
    assert events[1]["isError"]
    assert events[1]["name"] == "shell"


def test_result_of_an_ignored_file(
    workspace: Workspace, import_lines: Callable[..., Lines]
) -> None:
    (workspace.root / ".secretsignore").write_text("vault/\n")
    events: Lines = []
    for number, command in enumerate(("cat .env.local", "cat vault/keys.txt", "ls")):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash"}
        call["input"] = {"command": command}  # type: ignore[assignment]
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "blue horse"}
        events += [say("assistant", [call], f"a{number}"), say("user", [result], f"b{number}")]
    stored = import_lines(events)
    assert [event["result"] for event in stored] == [
        "[result not stored: the call names an ignored file]",
        "[result not stored: the call names an ignored file]",
        "blue horse",
    ]


def test_a_token_at_the_cut_of_a_result(import_lines: Callable[..., Lines]) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"password": "Zx9!kkPq77vLm"}}
    result = {"type": "tool_result", "tool_use_id": "t1"}
    result["content"] = "x " * 90 + token + " y" * 300
    (event,) = import_lines([say("assistant", [call], "u1"), say("user", [result], "u2")])
    assert "ghp_" not in event["result"]
    assert event["arguments"] == {"password": "[REDACTED:password]"}


@pytest.mark.parametrize(
    ("timestamp", "stored"),
    [
        (None, "2026-11-10T00:00:00Z"),
        ("yesterday", "2026-11-10T00:00:00Z"),
        ("0", "2026-11-10T00:00:00Z"),
        ("2099-01-01T00:00:00Z", "2026-11-10T00:00:00Z"),
        (1_794_000_000_000, "2026-11-06T21:20:00Z"),
    ],
)
def test_undated_messages_are_as_old_as_their_file(
    workspace: Workspace, tmp_path: Path, timestamp: Any, stored: str
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps(say("user", "Hello.", timestamp=timestamp)) + "\n")
    os.utime(path, (1_794_268_800, 1_794_268_800))
    import_file(workspace, path, [])
    assert json.loads(find_events_file(workspace, "s1").read_text())["timestamp"] == stored


def test_second_import_and_messages_of_a_hook(
    workspace: Workspace, import_lines: Callable[..., Lines]
) -> None:
    from memcli.store.sessions import append_events

    append_events(workspace, "s1", [{"role": "user", "content": "yes"}])
    lines = [say("user", "yes", "u1"), say("user", "yes", "u2"), say("assistant", "Done.", "u3")]
    # The hook recorded one of the two.
    assert len(import_lines(lines)) == 3
    assert len(import_lines(lines)) == 3


def test_a_dry_run_counts_a_repeated_message_once(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text((json.dumps(say("user", "Hello.")) + "\n") * 2)
    assert import_file(workspace, path, [], is_dry_run=True)[0].added == 1
    assert import_file(workspace, path, [])[0].added == 1


def test_metadata(workspace: Workspace, import_lines: Callable[..., Lines]) -> None:
    import_lines([say("user", "Hello."), say("assistant", "Hi.", "u2")])
    (session,) = list_sessions(workspace)
    assert session.created_at == session.updated_at == "2026-11-20T10:00:00Z"
    assert session.message_count == 2
    assert session.agent == "claude-code"


@pytest.mark.parametrize(
    "data", [b"", b"{}\n", b"\x00\x01\x02", b'{"type": "user", "mess', b"[1]\n"]
)
def test_files_without_a_conversation(workspace: Workspace, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(data)
    problems: list[str] = []
    assert import_file(workspace, path, problems) == []
    assert len(problems) == 1
    assert not list_sessions(workspace)


def test_missing_file(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        import_file(workspace, tmp_path / "none.jsonl", [])


def test_conversations_of_this_project(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    folder = Path(context.environment["HOME"]) / ".claude" / "projects" / "x"
    folder.mkdir(parents=True)
    (tmp_path / "shop").mkdir()
    for name in ("shop", "other"):
        line = say("user", "Hello.", cwd=str(tmp_path / name))
        (folder / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    names = [path.stem for path in find_transcripts(context, tmp_path / "shop")]
    assert names == ["shop"]
    assert len(list(find_transcripts(context, None))) == 2


def test_a_folder_is_imported_in_order_of_time(tmp_path: Path) -> None:
    # A session that was resumed elsewhere has its parts in two files.
    workspace = make_workspace(tmp_path)
    for name, text, day in (("b", "first part", 20), ("a", "second part", 21)):
        path = tmp_path / "talks" / name / "s1.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(say("user", text, uuid=name)) + "\n")
        os.utime(path, (day * 86_400, day * 86_400))
    code, output, _ = run_mem(tmp_path, "session", "import", "talks", "--dry-run")
    assert (code, output.count("1 new event "), list_sessions(workspace)) == (0, 2, [])
    assert run_mem(tmp_path, "session", "import", "talks")[0] == 0
    output = run_mem(tmp_path, "session", "show", "s1")[1]
    assert output.index("first part") < output.index("second part")
    assert "0 new events" in run_mem(tmp_path, "session", "import", "talks", "--dry-run")[1]


def test_questions_of_mem_itself_are_not_imported(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(json.dumps(say("user", "Read this.", cwd="/tmp/mem-llm-x1")) + "\n")
    assert not list(select_transcripts([path], None))


def test_odd_files_of_other_agents_do_not_stop_the_search(tmp_path: Path) -> None:
    database = tmp_path / ".local/share/opencode/opencode.db"
    sessions = tmp_path / ".copilot/session-state"
    (sessions / "a/events.jsonl").mkdir(parents=True)
    (sessions / "b").mkdir()
    os.mkfifo(sessions / "b/events.jsonl")
    database.parent.mkdir(parents=True)
    database.write_text("no database")
    assert list(find_transcripts(make_context(tmp_path), None)) == []


def test_lines_of_the_wrong_kind_are_skipped(import_lines: Callable[..., Lines]) -> None:
    odd = {"type": "gemini", "id": "1", "content": "hello there", "toolCalls": 5}
    lines = import_lines([{"parentId": 1, "data": {}}, {"projectHash": "x"}, odd])
    assert [line["content"] for line in lines] == ["hello there"]


@pytest.mark.parametrize(
    ("folder", "is_ours"),
    [
        ("worktrees/9f3a/shop", True),
        ("shop-worktrees/fix", True),
        ("recorded", True),
        ("worktrees/other/fix", False),
        ("shop-mobile", False),
    ],
)
def test_conversations_of_a_deleted_worktree(tmp_path: Path, folder: str, is_ours: bool) -> None:
    shop = make_repository(tmp_path / "shop")
    git(shop, "worktree", "add", "-q", "../recorded")
    shutil.rmtree(tmp_path / "recorded")
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps(say("user", "Hello.", cwd=str(tmp_path / folder))) + "\n")
    assert list(select_transcripts([path], shop)) == ([path] if is_ours else [])


def test_an_undated_message_brings_back_no_forgotten_memory(
    workspace: Workspace, tmp_path: Path
) -> None:
    run_mem(tmp_path, "write", "The ferry leaves at nine.", "--path", "a", "--source", "user")
    run_mem(tmp_path, "forget", "a")
    prompts = ("Remember that the ferry leaves at nine.", "Remember: at nine the ferry leaves.")
    for number, prompt in enumerate(prompts):
        path = tmp_path / f"talk{number}.jsonl"
        path.write_text(json.dumps({"role": "user", "content": prompt}) + "\n")
        os.utime(path, (1_795_900_000, 1_795_900_000))  # after the memory was forgotten
        assert import_file(workspace, path, [])[0].added == 1
    run_mem(tmp_path, "consolidate", "--all")
    assert "ferry" not in run_mem(tmp_path, "ls")[1]
    assert "At nine" in run_mem(tmp_path, "review", "--json")[1]


FOREIGN_FORMAT = """
from memcli.transcripts.transcript import Transcript

NAME = "parrot"
FOLDER_VARIABLE, FOLDER, PATTERNS = "", ".parrot", ("talks/*.jsonl",)


def is_line(data):
    return "squawk" in data


def read_lines(lines):
    transcript = Transcript(NAME)
    for data in lines:
        transcript.session_id = data["perch"]
        transcript.add_message("user", data["squawk"], "2026-11-20T10:00:00Z")
    return transcript


def find_folder(data):
    return data.get("tree", "")
"""


@pytest.fixture
def foreign_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package with a format of its own."""
    site = tmp_path / "site"
    metadata = site / "parrot-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "parrot_format.py").write_text(FOREIGN_FORMAT)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[mem.transcripts]\nparrot = parrot_format\n")
    monkeypatch.syspath_prepend(site)
    list_formats.cache_clear()
    yield
    list_formats.cache_clear()
    sys.modules.pop("parrot_format", None)


@pytest.mark.usefixtures("workspace", "foreign_format")
def test_another_package_adds_a_format(tmp_path: Path) -> None:
    talks = tmp_path / "home/.parrot/talks"
    talks.mkdir(parents=True)
    for perch, tree in (("here", tmp_path), ("there", tmp_path.parent)):
        line = {"squawk": f"Nuts are {perch}.", "perch": perch, "tree": str(tree)}
        (talks / f"{perch}.jsonl").write_text(json.dumps(line) + "\n")
    # Only its `find_folder` knows which conversation is about this project.
    code, output, _ = run_mem(tmp_path, "session", "import", "--all", "--json")
    (imported,) = json.loads(output)["sessions"]
    assert (code, imported["agent"], imported["session_id"]) == (0, "parrot", "here")
    assert "Nuts are here." in run_mem(tmp_path, "session", "show", "here")[1]
    code, output, _ = run_mem(tmp_path, "import", str(talks / "there.jsonl"))
    assert (code, output.splitlines()[0]) == (0, "Imported 1 conversation file")
    # Each has its metadata in a second file.
    output = run_mem(tmp_path, "export", "out", "--all")[1]
    assert output.startswith("Exported 2 conversation files")


def build_cursor_store(folder: Path) -> Path:
    """Write a chat as the command-line program of Cursor does."""
    path = folder / "store.db"
    with sqlite3.connect(path) as database:
        database.execute("create table meta (key text primary key, value text)")
        database.execute("create table blobs (id text primary key, data blob)")
        message = json.dumps({"role": "user", "content": "Check the fonts."})
        database.execute("insert into blobs values ('a', ?)", (message.encode(),))
    database.close()
    return path


def build_old_opencode(folder: Path, name: str) -> Path:
    """Write a part of a conversation as opencode did before it had a database."""
    times = {"created": 1_794_000_000_000}
    record = {
        "session": {"id": "ses_1", "version": "0.3.1", "title": "Fonts", "time": times},
        "message": {"id": "msg_1", "role": "user", "sessionID": "ses_1", "time": times},
        "part": {"id": "prt_1", "messageID": "msg_1", "type": "text", "text": "Check the fonts."},
    }[name]
    path = folder / "storage" / name / "1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record, indent=2))
    return path


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("name", ["store.db", "session", "message", "part"])
def test_a_format_that_mem_does_not_read(tmp_path: Path, name: str) -> None:
    if name == "store.db":
        path = build_cursor_store(tmp_path)
    else:
        path = build_old_opencode(tmp_path, name)
    code, output, messages = run_mem(tmp_path, "import", str(path))
    assert (code, output) == (2, "")
    assert messages.splitlines()[0] == f"mem: {path} is in no format that mem knows"
    code, output, messages = run_mem(tmp_path, "session", "import", str(path))
    assert (code, output) == (3, "0 conversations read, 0 new events\n")
    assert messages == f"mem: {path}: no conversation in it\n"
    assert run_mem(tmp_path, "session", "import", str(path.parent))[0] == 1
