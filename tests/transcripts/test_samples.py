"""Conversations that the real programs wrote: every message once, by the right speaker."""

import json
import sqlite3
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from memcli.transcripts.importer import find_transcripts, import_file
from memcli.transcripts.reader import read_file
from memcli.transcripts.transcript import Transcript
from tests.helpers import make_context, make_workspace

SAMPLES = Path(__file__).parent / "samples"
FIRST = (
    "Zeile eins – Umlaute äöü ✓\nsecond line with `code` & <b>tags</b>\n\nthird line."
    " [[sh echo tool-output-1; echo tool-output-2]] [[sh mem search 'nothing at all']]"
)
RESUMED = [
    ("user", FIRST),
    ("assistant", "ANSWER to: " + " ".join(FIRST.partition(" [[")[0].split())),
    ("user", "Goes on after a while. [[sh false && echo never]]"),
    ("assistant", "ANSWER to: Goes on after a while."),
]
COMPRESSED = [
    ("user", "Tell me when backups of the wiki run. [[sh echo hello-from-tool]] [[usage 90000]]"),
    ("assistant", "ANSWER to: Tell me when backups of the wiki run."),
    ("user", "Say what I asked you first."),
    ("assistant", "ANSWER to: Say what I asked you first."),
    ("user", "And again, tell me when backups of the wiki run."),
    ("assistant", "ANSWER to: And again, tell me when backups of the wiki run."),
]
COMPACTED_CLAUDE = [
    ("user", "When do backups of the wiki run? [[sh echo hello-from-tool]]"),
    ("assistant", "ANSWER to: When do backups of the wiki run?"),
    ("user", "What did I ask you first?"),
    ("assistant", "ANSWER to: What did I ask you first?"),
    ("user", "And again: when do backups of the wiki run?"),
    ("assistant", "ANSWER to: And again: when do backups of the wiki run?"),
]
TYPED = [
    ("user", "This takes a while. [[sh echo working; sleep 6]]"),
    ("user", "And this was typed meanwhile."),
    ("assistant", "ANSWER to: The user sent a new message while you were working: "),
]
COMMANDS = [
    ("echo tool-output-1; echo tool-output-2", False),
    ("mem search 'nothing at all'", True),
    ("false && echo never", True),
]


def read(name: str) -> Transcript:
    problems: list[str] = []
    (transcript,) = read_file(SAMPLES / name, problems, UTC)
    assert not problems
    return transcript


def get_messages(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["role"], event["content"]) for event in events if event["type"] == "message"]


@pytest.mark.parametrize(
    "name",
    [
        "claude-code-2.1.197.jsonl",
        "codex-0.171.0.jsonl",
        "copilot-1.0.102.jsonl",
        "gemini-0.61.0-resumed.jsonl",
        "opencode-1.18.33.json",
    ],
)
def test_a_resumed_conversation_with_tools(name: str) -> None:
    transcript = read(name)
    assert name.startswith(transcript.agent)
    assert get_messages(transcript.events)[:4] == RESUMED
    calls = [event for event in transcript.events if event["type"] == "tool"]
    commands = [(next(iter(call["arguments"].values())), call["isError"]) for call in calls[:3]]
    assert commands == COMMANDS
    assert "tool-output-1\ntool-output-2" in calls[0]["result"]
    assert all(event["timestamp"].startswith("2026-11-28T19:") for event in transcript.events)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("claude-code-2.1.197-compacted.jsonl", COMPACTED_CLAUDE),
        ("codex-0.171.0-compacted.jsonl", COMPACTED_CLAUDE[:4]),
        ("copilot-1.0.102-compacted.jsonl", COMPRESSED),
        ("claude-code-2.1.332-typed.jsonl", TYPED),
    ],
)
def test_a_compaction_and_a_prompt_typed_meanwhile(name: str, said: list[tuple[str, str]]) -> None:
    messages = get_messages(read(name).events)
    # The answer to a prompt that was typed meanwhile quotes it at length.
    assert [(role, text[:60]) for role, text in messages] == [(r, text[:60]) for r, text in said]


def test_gemini_repeats_nothing_after_a_compression() -> None:
    transcript = read("gemini-0.61.0-compressed.jsonl")
    assert get_messages(transcript.events) == COMPRESSED
    assert transcript.folder == "/home/ana/project"


def test_gemini_writes_what_hooks_add_in_front_of_the_prompt() -> None:
    transcript = read("gemini-0.61.0-headless.jsonl")
    prompt = 'Look it up. [[tool memory_search {"query": "who is the release manager"}]]'
    expected = [("user", prompt), ("assistant", "ANSWER to: Look it up.")]
    assert get_messages(transcript.events) == expected
    assert transcript.folder == "/home/ana/project"


def test_opencode_keeps_conversations_in_a_database(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    export = json.loads((SAMPLES / "opencode-1.18.33.json").read_text())
    export["info"]["directory"] = str(tmp_path)
    database = tmp_path / "home/.local/share/opencode/opencode.db"
    fill_database(database, export)
    paths = list(find_transcripts(make_context(tmp_path), tmp_path))
    # The conversation of the subagent is left out.
    assert [path.name for path in paths] == [export["info"]["id"]]
    assert next(read_file(paths[0], [], UTC)).events == read("opencode-1.18.33.json").events
    assert import_file(workspace, paths[0], [])[0].added == 12
    assert import_file(workspace, paths[0], [])[0].added == 0


def fill_database(database: Path, export: dict[str, Any]) -> None:
    """Write a conversation, and an empty one of its subagent, as opencode does."""
    database.parent.mkdir(parents=True)
    connection = sqlite3.connect(database)
    connection.executescript((SAMPLES / "opencode-1.18.33.sql").read_text())
    info = export["info"]
    for session_id, parent in ((info["id"], None), ("ses_subagent", info["id"])):
        values = (session_id, "p", parent, "s", info["directory"], "t", "1.18.33", 1, 2)
        connection.execute(
            "insert into session(id, project_id, parent_id, slug, directory, title, version,"
            " time_created, time_updated) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
    for message in export["messages"]:
        data = {key: value for key, value in message["info"].items() if key != "id"}
        created = message["info"]["time"]["created"]
        row = (message["info"]["id"], info["id"], created, created, json.dumps(data))
        connection.execute("insert into message values (?, ?, ?, ?, ?)", row)
        for part in message["parts"]:
            row = (part["id"], message["info"]["id"], info["id"], created, created)
            connection.execute(
                "insert into part values (?, ?, ?, ?, ?, ?)", (*row, json.dumps(part))
            )
    connection.commit()
    connection.close()
