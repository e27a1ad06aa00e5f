"""Exports of ChatGPT and Claude.ai: the branch that the user sees, each message once."""

import json
import zipfile
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from memcli.transcripts.importer import import_file
from memcli.transcripts.reader import read_file
from memcli.transcripts.transcript import Transcript
from tests.helpers import make_workspace, run_mem

Node = dict[str, Any]


def say(role: str, text: Any, time: float = 1_794_000_000.5, **fields: Any) -> Node:
    """Return a message of ChatGPT."""
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    author = {"role": role, "name": fields.pop("name", None)}
    return {"author": author, "content": content, "create_time": time, **fields}


def build_chatgpt(*messages: Node, session: str = "chat-1", leaf: str = "") -> Node:
    """Return a conversation of which each message answers the one before."""
    mapping: dict[str, Node] = {"root": {"id": "root", "parent": None, "children": ["n1"]}}
    for number, message in enumerate(messages, 1):
        parent = message.pop("parent", f"n{number - 1}" if number > 1 else "root")
        mapping[f"n{number}"] = {
            "id": f"n{number}",
            "message": {"id": f"{session}-{number}", **message},
            "parent": parent,
            "children": [],
        }
        mapping[parent]["children"].append(f"n{number}")
    node = leaf or f"n{len(messages)}"
    return {"title": "T", "create_time": 1_794_000_000.0, "mapping": mapping} | {
        "conversation_id": session,
        "current_node": node,
    }


def build_claude(*messages: Node) -> Node:
    return {"uuid": "talk-1", "created_at": "2026-10-01T08:00:00Z", "chat_messages": list(messages)}


def read(path: Path, problems: list[str] | None = None) -> list[Transcript]:
    return list(read_file(path, [] if problems is None else problems, UTC))


def save(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data))
    return path


def get_said(transcript: Transcript) -> list[tuple[str, str]]:
    return [(event.get("role", "tool"), event.get("content", "")) for event in transcript.events]


def test_the_active_branch_of_chatgpt(tmp_path: Path) -> None:
    conversation = build_chatgpt(
        say("system", ""),
        say("user", "About me.", metadata={"is_user_system_message": True}),
        say("user", "Which fonts?"),
        say("assistant", "Serif.", parent="n3"),
        say("assistant", "Sans.\ue200cite\ue202turn0\ue201", parent="n3"),
        say("assistant", {"content_type": "thoughts", "parts": ["Hm."]}, parent="n5"),
        say("user", {"content_type": "multimodal_text", "parts": [{"asset_pointer": "x"}, "Why?"]}),
    )
    (transcript,) = read(save(tmp_path / "conversations.json", [conversation]))
    expected = [("user", "Which fonts?"), ("assistant", "Sans."), ("user", "Why?")]
    assert get_said(transcript) == expected
    assert transcript.events[0]["timestamp"] == "2026-11-06T21:20:00Z"
    assert transcript.events[0]["id"] == "chat-1-3"


def test_a_tool_of_chatgpt(tmp_path: Path) -> None:
    conversation = build_chatgpt(
        say("user", "How many?"),
        say("assistant", {"content_type": "code", "text": "len(x)"}, recipient="python"),
        say("tool", {"content_type": "execution_output", "text": "7"}, name="python"),
        say("assistant", "Seven."),
    )
    (transcript,) = read(save(tmp_path / "conversations.json", [conversation]))
    call = transcript.events[1]
    assert (call["name"], call["arguments"], call["result"]) == ("python", {"input": "len(x)"}, "7")
    assert get_said(transcript)[2] == ("assistant", "Seven.")


@pytest.mark.parametrize(
    "fields", [{"text": "Hello."}, {"content": [{"type": "text", "text": "Hello."}]}]
)
def test_claude(tmp_path: Path, fields: Node) -> None:
    answer = [{"type": "text", "text": "Hi."}, {"type": "tool_use", "id": "t", "name": "search"}]
    messages = [
        {"uuid": "m1", "sender": "human", "created_at": "2026-10-01T08:00:05Z", **fields},
        {"uuid": "m2", "sender": "assistant", "content": answer},
    ]
    (transcript,) = read(save(tmp_path / "conversations.json", [build_claude(*messages)]))
    assert get_said(transcript) == [("user", "Hello."), ("assistant", "Hi."), ("tool", "")]
    assert {event["timestamp"] for event in transcript.events} == {"2026-10-01T08:00:05Z"}


def test_an_edited_prompt_of_claude(tmp_path: Path) -> None:
    first = {"uuid": "m1", "sender": "human", "text": "Helo."}
    root = "00000000-0000-4000-8000-000000000000"
    messages = [{**first, "parent_message_uuid": root}]
    messages.append({**first, "uuid": "m2", "text": "Hello.", "parent_message_uuid": root})
    (transcript,) = read(save(tmp_path / "c.json", [build_claude(*messages)]))
    assert get_said(transcript) == [("user", "Hello.")]


def test_a_zip_is_imported_once(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    talks = [build_chatgpt(say("user", f"Talk {n}."), session=f"chat-{n}") for n in range(3)]
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("export/conversations-000.json", json.dumps(talks[:2]))
        archive.writestr("export/conversations-001.json", json.dumps(talks[2:]))
        archive.writestr("export/user.json", "{}")
    code, output, _ = run_mem(tmp_path, "session", "import", "export.zip")
    assert (code, output.splitlines()[-1]) == (0, "3 conversations read, 3 new events")
    output = run_mem(tmp_path, "session", "import", "export.zip")[1]
    assert output == "3 conversations read, 0 new events\n"
    code, output, _ = run_mem(tmp_path, "import", "export.zip")
    assert (code, output.splitlines()) == (0, ["Imported nothing", "3 items already here"])


@pytest.mark.parametrize("name", ["conversations.json", "export.zip"])
def test_reading_reports_its_progress(tmp_path: Path, name: str) -> None:
    talks = [build_chatgpt(say("user", f"{n} fonts? " * 20_000), session=f"c{n}") for n in range(3)]
    path = save(tmp_path / "conversations.json", talks)
    if name.endswith(".zip"):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(tmp_path / "conversations.json", "conversations.json")
    shown: list[tuple[int, int]] = []
    list(read_file(path, [], UTC, lambda done, total: shown.append((done, total))))
    positions = [done for done, _ in shown]
    assert len(positions) == 3 and 0 < positions[0] < positions[2] <= path.stat().st_size
    assert all(done < total for done, total in shown)


def test_a_tool_call_that_looks_like_an_export(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Put", "input": {"mapping": {"a": 1}}}
    line = {"type": "assistant", "message": {"role": "assistant", "content": [call]}}
    (transcript,) = read(save(tmp_path / "s.jsonl", line))
    assert transcript.agent == "claude-code"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_other_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([build_chatgpt(say("user", "Grüße"))], ensure_ascii=False), encoding)
    assert get_said(read(path)[0]) == [("user", "Grüße")]


def test_a_cut_export(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    talks = [build_chatgpt(say("user", f"Talk {n}."), session=f"chat-{n}") for n in range(3)]
    text = json.dumps(talks)
    (tmp_path / "conversations.json").write_bytes(text[:-200].encode() + b"\xff")
    code, output, errors = run_mem(tmp_path, "session", "import", "conversations.json")
    assert (code, output.splitlines()[-1]) == (3, "2 conversations read, 2 new events")
    assert "conversation 3 cannot be read" in errors


def test_a_zip_bomb(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + " " * 20_000_000)
    problems: list[str] = []
    assert import_file(workspace, tmp_path / "a.zip", problems) == []
    assert "too large" in problems[0]


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04 no archive", b"PK\x03\x04", b'[{"mapping": {', b'{"mapping": {"a']
)
def test_damaged_files(tmp_path: Path, data: bytes) -> None:
    problems: list[str] = []
    (tmp_path / "conversations.json").write_bytes(data)
    assert read(tmp_path / "conversations.json", problems) == []
    assert len(problems) == 1


@pytest.mark.parametrize("odd", [None, 7, "x", [], {}, {"content": 5}, {"author": 3, "parts": {}}])
def test_fields_of_the_wrong_kind(tmp_path: Path, odd: Any) -> None:
    chatgpt = build_chatgpt(say("user", "Hello."))
    chatgpt["mapping"]["n1"]["children"] = odd
    chatgpt["mapping"]["odd"] = odd
    nodes = {"a": {"message": odd}, "b": {"message": {"author": {"role": "user"}, "content": odd}}}
    claude = build_claude({"sender": "human", "content": odd, "created_at": odd, "text": "Hello."})
    claude["chat_messages"].append(odd)
    path = save(tmp_path / "c.json", [chatgpt, {"mapping": nodes}, claude, odd])
    transcripts = read(path)
    assert get_said(transcripts[0]) == get_said(transcripts[2]) == [("user", "Hello.")]
