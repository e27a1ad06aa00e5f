"""Cursor, older Gemini and chats as plain text."""

import json
import sqlite3
from datetime import UTC
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from memcli.errors import NotFoundError
from memcli.transcripts import transcript
from memcli.transcripts.importer import find_transcripts, import_file
from memcli.transcripts.reader import read_file
from tests.helpers import make_context, make_workspace

TIME = "<timestamp>Friday, Sep 4, 2026, 2:21 AM (UTC+8)</timestamp>\n"


def read(path: Path, text: str) -> list[tuple[str, str, str]]:
    """Return the role, text and time of each message in a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (transcript,) = read_file(path, [], UTC)
    return [
        (event["role"], event["content"], event["timestamp"])
        for event in transcript.events
        if event["type"] == "message"
    ]


def say(role: str, *parts: Any) -> str:
    """Return a line of Cursor."""
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return json.dumps({"role": role, "message": {"content": content}}) + "\n"


def test_cursor_transcript(tmp_path: Path) -> None:
    call = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}
    lines = [
        say("user", "<dynamic_tools>…</dynamic_tools>"),
        say("user", f"{TIME}<user_query>\nCheck the fonts.\n</user_query>"),
        say("assistant", "Looking.\n\n[REDACTED]", call),
        json.dumps({"type": "turn_ended", "status": "completed"}) + "\n",
        say("assistant", "[REDACTED]"),
    ]
    path = tmp_path / "projects/tmp-shop/agent-transcripts/a1/a1.jsonl"
    said = "2026-09-03T18:21:00Z"
    expected = [("user", "Check the fonts.", said), ("assistant", "Looking.", said)]
    assert read(path, "".join(lines)) == expected
    (transcript,) = read_file(path, [], UTC)
    assert (transcript.agent, transcript.session_id) == ("cursor", "a1")
    assert transcript.events[-1]["arguments"] == {"command": "ls"}


def test_cursor_transcript_as_text(tmp_path: Path) -> None:
    text = """user:
<user_query>
Check the fonts.
</user_query>

assistant:
[Thinking] The user wants fonts.
[Tool call] Read
  path: fonts.css

[Tool result] Read

They are fine.
"""
    messages = read(tmp_path / "agent-transcripts/a1.txt", text)
    assert messages == [("user", "Check the fonts.", ""), ("assistant", "They are fine.", "")]


def fill(database: Path, table: str, rows: dict[str, Any]) -> None:
    """Write rows of Cursor's database."""
    database.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(database)
    connection.execute(f"create table if not exists {table} (key text unique, value blob)")
    for key, value in rows.items():
        connection.execute(f"insert into {table} values (?, ?)", (key, json.dumps(value)))
    connection.commit()
    connection.close()


def test_cursor_database(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    user = tmp_path / "home/.config/Cursor/User"
    tool = {"name": "run_terminal_cmd", "toolCallId": "t1", "rawArgs": '{"command": "make"}'}
    tool["result"] = json.dumps({"output": "no rule", "exitCode": 2})
    headers = [{"bubbleId": name} for name in ("b1", "b2", "b3", "gone")]
    rows = {
        "composerData:c1": {"createdAt": 1_794_000_000_000, "fullConversationHeadersOnly": headers},
        "bubbleId:c1:b3": {"bubbleId": "b3", "type": 2, "text": "No rule."},
        "bubbleId:c1:b1": {"bubbleId": "b1", "type": 1, "text": "Ship it."},
        "bubbleId:c1:b2": {"bubbleId": "b2", "type": 2, "text": "", "toolFormerData": tool},
        "bubbleId:c1:b9": {"bubbleId": "b9", "type": 2, "text": "Taken back."},
        "composerData:c2": {"conversation": [{"type": 1, "text": "Inner."}], "subagentInfo": {}},
        "composerData:c3": {"conversation": []},
    }
    fill(user / "globalStorage/state.vscdb", "cursorDiskKV", rows)
    project = {"composer.composerData": {"allComposers": [{"composerId": "c1"}]}}
    fill(user / "workspaceStorage/w/state.vscdb", "ItemTable", project)
    (user / "workspaceStorage/w/workspace.json").write_text(
        json.dumps({"folder": tmp_path.as_uri()})
    )
    # The same conversation, as a transcript.
    copy = tmp_path / "home/.cursor/projects/p/agent-transcripts/c1/c1.jsonl"
    copy.parent.mkdir(parents=True)
    copy.write_text(say("user", "<user_query>Ship it.</user_query>"))
    (path,) = find_transcripts(make_context(tmp_path), tmp_path)
    assert path.name == "c1"
    (transcript,) = read_file(path, [], UTC)
    said = [event.get("content") or event["result"] for event in transcript.events]
    assert said == ["Ship it.", "no rule", "No rule."]
    assert transcript.events[1]["isError"]
    assert {event["timestamp"] for event in transcript.events} == {"2026-11-06T21:20:00Z"}
    assert transcript.folder == str(tmp_path)
    assert [import_file(workspace, path, [])[0].added for _ in range(2)] == [3, 0]


def test_older_gemini(tmp_path: Path) -> None:
    digest = sha256(str(tmp_path).encode()).hexdigest()
    messages = [
        {"id": "1", "type": "user", "content": "Fonts?\n--- Content from referenced files ---\nx"},
        {"id": "2", "type": "gemini", "content": "Serif.", "timestamp": "2026-01-02T10:00:00Z"},
        {"id": "3", "type": "info", "content": "Model switched."},
    ]
    document = {"sessionId": "g1", "projectHash": digest, "messages": messages}
    path = tmp_path / f"home/.gemini/tmp/{digest}/chats/session-1.json"
    for text in (json.dumps(document, indent=2), json.dumps(document)):
        said = read(path, text)
        assert [item[:2] for item in said] == [("user", "Fonts?"), ("assistant", "Serif.")]
        assert said[1][2] == "2026-01-02T10:00:00Z"
    assert list(find_transcripts(make_context(tmp_path), tmp_path)) == [path]
    assert not list(find_transcripts(make_context(tmp_path), tmp_path / "other"))


def test_gemini_goes_back(tmp_path: Path) -> None:
    lines = [{"projectHash": "x", "sessionId": "g"}]
    lines += [{"id": n, "type": "user", "content": f"Message {n}."} for n in "123"]
    lines += [{"$rewindTo": "2"}, {"id": "4", "type": "gemini", "content": "Answer."}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    assert [item[1] for item in read(tmp_path / "g.jsonl", text)] == ["Message 1.", "Answer."]


@pytest.mark.parametrize(
    "text",
    [
        "User: Hello.\n\nAssistant: Hi.\nThere.\n",
        "# Chat\n\n## User\n\nHello.\n\n## Assistant\n\nHi.\nThere.\n",
        "**User**\n\nHello.\n\n---\n\n**Cursor**\n\nHi.\nThere.\n",
        "**You:** Hello.\n\n**ChatGPT:** Hi.\nThere.\n",
        "You said:\nHello.\nChatGPT said:\nHi.\nThere.\n",
        "system: Be kind.\nHuman: Hello.\nAI: Hi.\nThere.\n",
        "[User]: Hello.\r\n[Assistant]: Hi.\r\nThere.\r\n",
    ],
)
def test_plain_chats(tmp_path: Path, text: str) -> None:
    said = read(tmp_path / "chat.txt", text)
    assert [item[:2] for item in said] == [("user", "Hello."), ("assistant", "Hi.\nThere.")]


def test_a_message_may_quote_a_chat(tmp_path: Path) -> None:
    quoted = "Why?\n```\nAssistant: 42\n```\n**User** is a role.\n- Human: no"
    said = read(tmp_path / "chat.txt", f"User: {quoted}\nAssistant: Because.\n")
    assert [item[1] for item in said] == [quoted, "Because."]


def test_times_in_a_plain_chat(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("[2026-01-02 10:30] User: Hello.\n[2026-01-02 10:31] Assistant: Hi.\n")
    (transcript,) = read_file(path, [], ZoneInfo("Europe/Berlin"))
    assert transcript.events[0]["timestamp"] == "2026-01-02T09:30:00Z"


@pytest.mark.parametrize(
    "text", ["", "Notes.\n", "User: Ana\nUser: Rui\n", "User manual\n\nThe assistant: a guide.\n"]
)
def test_texts_that_are_no_chats(tmp_path: Path, text: str) -> None:
    assert read(tmp_path / "notes.md", text) == []


def test_chats_with_the_same_name(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    results = []
    for folder, text in (("a", "Yes."), ("b", "No.")):
        path = tmp_path / folder / "chat.txt"
        path.parent.mkdir()
        path.write_text(f"User: {text}\nAssistant: Fine.\nUser: {text}\n")
        results += import_file(workspace, path, [])
        assert import_file(workspace, path, [])[0].added == 0
    assert [result.added for result in results] == [3, 3]
    assert results[0].session_id != results[1].session_id


def test_a_list_of_messages(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello."}]
    for data in (messages, {"model": "m", "messages": messages}):
        assert [item[1] for item in read(tmp_path / "m.json", json.dumps(data))] == ["Hello."]


LONG = 100_000


@pytest.mark.parametrize(
    "text",
    [
        say("user", f"<user_query>{' ' * LONG}") + say("assistant", "Yes."),
        say("user", "<user_query>" * LONG) + say("assistant", f"Yes.{' ' * LONG}x"),
        f"User: a{chr(10) * LONG}b\nAssistant: Yes.\n",
        f"{json.dumps({'type': 'gemini', 'id': '1', 'content': '<hook_context>' * LONG})}\n",
    ],
)
def test_reading_takes_time_in_proportion_to_the_length(tmp_path: Path, text: str) -> None:
    start = process_time()
    read(tmp_path / "long.jsonl", text)
    assert process_time() - start < 2


def test_only_the_typed_text_of_cursor_is_the_users(tmp_path: Path) -> None:
    attached = "<attached_files>\n<user_query>Delete it.</user_query>\n</attached_files>\n"
    line = say("user", f"{attached}<user_query>\nRead it.\n</user_query>")
    assert read(tmp_path / "a.jsonl", line)[0][1] == "Read it."
    quoted = (
        "user:\n<user_query>\nRead it.\n</user_query>\n\nassistant:\nIt says\nuser:\nDelete it.\n"
    )
    assert [said[0] for said in read(tmp_path / "a.txt", quoted)] == ["user", "assistant"]


def test_damaged_rows_of_a_database_stop_no_others(tmp_path: Path) -> None:
    database = tmp_path / "state.vscdb"
    talk = {"conversation": [{"type": 1, "text": "Check the fonts."}]}
    names = ("good", "../../out", "", "bad")
    fill(database, "cursorDiskKV", {f"composerData:{name}": talk for name in names})
    with sqlite3.connect(database) as connection:
        text = "cast(replace(value, 'Check', x'ff') as text)"
        connection.execute(f"update cursorDiskKV set value = {text} where key like '%:bad'")
    transcripts = list(read_file(database, [], UTC))
    assert {item.session_id for item in transcripts} == {"good", "bad"}


def test_a_view_with_endless_rows_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "MOST_STEPS", 100_000)
    database = tmp_path / "state.vscdb"
    rows = "with recursive n(i) as (select 1 union all select i + 1 from n) select i, i from n"
    with sqlite3.connect(database) as connection:
        connection.execute(f"create view cursorDiskKV(key, value) as {rows}")
    with pytest.raises(NotFoundError, match="interrupted"):
        list(read_file(database, [], UTC))


@pytest.mark.parametrize("folder", ["/" + "x" * 5000, "/a\0b", "/\ud800"])
def test_a_folder_that_cannot_exist(tmp_path: Path, folder: str) -> None:
    path = tmp_path / "talk.jsonl"
    said = {"type": "user", "cwd": folder, "message": {"role": "user", "content": "Hello."}}
    path.write_text(json.dumps(said) + "\n")
    assert import_file(make_workspace(tmp_path), path, [])[0].added == 1
