"""What each tool's transcript says comes out as it was said, and what nobody said does not."""

import io
import json
from datetime import UTC
from typing import Any

import pytest

from memcli.transcripts.reader import read_transcripts
from memcli.transcripts.transcript_format import TranscriptFile
from tests.tables import table
from tests.transcripts.reading_data import read, said, tools

GEMINI: dict[str, Any] = {
    "sessionId": "5e551017-0000-4000-8000-000000000001",
    "projectHash": "ab" * 32,
    "startTime": "2026-11-20T09:00:00Z",
    "lastUpdated": "2026-11-20T09:10:00Z",
    "messages": [
        {
            "id": "m1",
            "timestamp": "2026-11-20T09:00:00Z",
            "type": "user",
            "content": [
                {"text": "Why does @a.py fail?"},
                {"text": "\n--- Content from referenced files ---\nINJECTED"},
            ],
        },
        {
            "id": "m2",
            "timestamp": "2026-11-20T09:00:01Z",
            "type": "gemini",
            "content": "It divides by zero.",
            "thoughts": [{"subject": "THOUGHT", "description": "THOUGHT"}],
            "toolCalls": [
                {
                    "id": "c1",
                    "name": "run_shell_command",
                    "args": {"command": "python a.py"},
                    "status": "error",
                    "result": [{"functionResponse": {"id": "c1", "response": {"error": "ZeroDivisionError"}}}],
                }
            ],
        },
        {"id": "m3", "timestamp": "2026-11-20T09:00:02Z", "type": "info", "content": "META"},
    ],
}
OPENCODE: dict[str, Any] = table(__file__, "OPENCODE")
COPILOT = table(__file__, "COPILOT")
VSCODE: dict[str, Any] = table(__file__, "VSCODE")
CURSOR = [
    {"role": "user", "message": {"content": [{"type": "text", "text": "<user_info>\nINJECTED\n</user_info>"}]}},
    {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nFix it\n</user_query>"}]}},
    {"role": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}},
    {"type": "turn_ended"},
]
CURSOR_EXPORT = """\
# Fix the clock
_Exported on 7/8/2025 at 19:03:40 PDT from Cursor (1.2.1)_

---

**User**

Why is it late?

---

**Cursor**

The zone is wrong:

```md
**User**
---
```

---

**User**

Thanks. We deploy on Fridays only.
"""


def written(data: object) -> list[str]:
    """Give a document on one line and on many."""
    return [json.dumps(data), json.dumps(data, indent=2)]


@pytest.mark.parametrize("text", written(GEMINI))
def test_a_session_of_gemini_says_what_was_said_and_run(text: str) -> None:
    transcript, events = read(text, "session-2026-11-20T09-00-5e551017.json")
    assert transcript.session_id == GEMINI["sessionId"]
    assert transcript.started == "2026-11-20T09:00:00Z"
    assert said(events) == [("user", "Why does @a.py fail?"), ("assistant", "It divides by zero.")]
    assert tools(events) == [
        ("tool_call", "run_shell_command", "python a.py", False),
        ("tool_result", "run_shell_command", "ZeroDivisionError", True),
    ]
    assert transcript.skipped == {"content of files": 1, "thinking": 1, "type 'info'": 1}


def test_a_session_of_gemini_a_record_a_line_is_read_as_it_was_last() -> None:
    page = {key: value for key, value in GEMINI.items() if key != "messages"}
    first, second, _ = GEMINI["messages"]
    withdrawn = {"id": "m9", "type": "user", "content": "No, delete the database", "timestamp": "2026-11-20T09:05:00Z"}
    rows = [
        page,
        first,
        {**second, "toolCalls": []},
        second,
        withdrawn,
        {"$rewindTo": "m9"},
        {"$set": {"summary": "S"}},
    ]
    transcript, events = read("".join(f"{json.dumps(row)}\n" for row in rows), "session-x.jsonl")
    assert said(events) == [("user", "Why does @a.py fail?"), ("assistant", "It divides by zero.")]
    assert len(tools(events)) == 2
    assert transcript.skipped["taken back"] == 1


@pytest.mark.parametrize("text", written(OPENCODE))
def test_what_opencode_exports_says_what_was_said_and_run(text: str) -> None:
    transcript, events = read(text, "session.json")
    assert (transcript.session_id, transcript.about["cwd"]) == ("ses_1", "/p")
    assert said(events) == [("user", "Which port is free?\n\n[image]"), ("assistant", "8081 is.")]
    assert tools(events) == [("tool_call", "bash", "ss -lnt", False), ("tool_result", "bash", "8080", False)]
    assert transcript.skipped["summary of a compaction"] == 1


def test_a_session_of_the_copilot_cli_leaves_out_what_other_agents_and_the_harness_said() -> None:
    transcript, events = read("".join(f"{json.dumps(row)}\n" for row in COPILOT), "cop-1.jsonl")
    assert (transcript.session_id, transcript.about["cwd"]) == ("cop-1", "/p")
    assert said(events) == [("user", "Build it"), ("assistant", "There is no rule.")]
    assert tools(events) == [("tool_call", "bash", "make", False), ("tool_result", "bash", "no rule", True)]


@pytest.mark.parametrize("text", written(VSCODE))
def test_an_answer_of_copilot_in_vs_code_is_one_text_with_the_names_in_it(text: str) -> None:
    _, events = read(text, "chat.json")
    assert said(events) == [("user", "Where is the clock set?"), ("assistant", "In `clock.py`, at the top.")]
    assert tools(events) == [("tool_call", "run_in_terminal", "pytest -q", False)]


def test_a_chat_of_vs_code_kept_as_a_log_of_changes_is_read_as_it_is_now() -> None:
    request = VSCODE["requests"][0]
    first, *rest = request["response"]
    log = [
        {"kind": 0, "v": {"version": 3, "sessionId": "code-1", "creationDate": 1_795_165_200_000, "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [{**request, "response": [first, {"value": "DRAFT"}]}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": rest, "i": 1},
        {"kind": 1, "k": ["requests", 0, "message", "text"], "v": "Where do we set the clock?"},
        {"kind": 1, "k": ["inputState", "selections", 4], "v": []},
        {"kind": 3, "k": ["version"]},
    ]
    transcript, events = read("".join(f"{json.dumps(row)}\n" for row in log), "code-1.jsonl")
    assert (transcript.session_id, transcript.started) == ("code-1", "2026-11-20T09:00:00Z")
    assert said(events) == [("user", "Where do we set the clock?"), ("assistant", "In `clock.py`, at the top.")]
    assert transcript.skipped == {"change of something unknown": 1, "thinking": 1}


def test_a_log_of_changes_without_a_change_is_no_empty_chat() -> None:
    _, events = read(json.dumps({"kind": 0, "v": {**VSCODE, "sessionId": "code-2"}}) + "\n", "code-2.jsonl")
    assert said(events)[0] == ("user", "Where is the clock set?")


def test_a_transcript_of_cursor_says_what_the_person_asked_and_not_what_the_editor_added() -> None:
    name = "0f0f0f0f-0000-4000-8000-000000000000"
    transcript, events = read("".join(f"{json.dumps(row)}\n" for row in CURSOR), f"{name}.jsonl")
    assert transcript.session_id == name
    assert said(events) == [("user", "Fix it"), ("assistant", "Done.")]


def test_a_chat_that_cursor_exported_loses_the_rules_between_messages_and_nothing_else() -> None:
    _, events = read(CURSOR_EXPORT, "cursor_fix_the_clock.md")
    assert said(events) == [
        ("user", "Why is it late?"),
        ("assistant", "The zone is wrong:\n\n```md\n**User**\n---\n```"),
        ("user", "Thanks. We deploy on Fridays only."),
    ]


def node(name: str, parent: str, role: str, text: object, **more: Any) -> dict[str, Any]:
    """Give a node of ChatGPT's tree."""
    content = {"content_type": "text", "parts": [text]}
    message = {"id": name, "author": {"role": role}, "create_time": 1_795_165_200.5, "content": content, **more}
    return {"id": name, "parent": parent, "children": [], "message": message}


def chatgpt(current: str | None = "a2") -> dict[str, Any]:
    """Give a conversation whose first prompt was edited."""
    nodes = [
        {"id": "root", "parent": None, "children": ["s"], "message": None},
        node("s", "root", "system", "META", metadata={"is_visually_hidden_from_conversation": True}),
        node("u1", "s", "user", "What is the capitol of Peru?"),
        node("a1", "u1", "assistant", "Did you mean capital?"),
        node("u2", "s", "user", "What is the capital of Peru?"),
        node("t", "u2", "assistant", "search('Peru')", recipient="web"),
        node("r", "t", "tool", "Lima, says the atlas", author={"role": "tool", "name": "web"}),
        node("a2", "r", "assistant", "Lima\ue200cite\ue202turn0search1\ue201."),
    ]
    nodes[-1]["message"]["create_time"] = 1_795_165_300.0
    for one in nodes[:-1]:
        one["children"] = [other["id"] for other in nodes if other["parent"] == one["id"]]
    mapping = {one["id"]: one for one in nodes}
    return {"conversation_id": "gpt-1", "title": "Peru", "update_time": 1_795_165_400, "current_node": current,
            "create_time": 1_795_165_200, "mapping": mapping}  # fmt: skip


CLAUDE_AI = table(__file__, "CLAUDE_AI")


def conversations(data: object) -> list[tuple[str, list[tuple[str, str]]]]:
    """Read an export: the id of each conversation and what was said."""
    feed = TranscriptFile(io.BytesIO(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")))
    return [(one.session_id, said(list(one.events))) for one in read_transcripts(feed, "conversations.json", UTC)]


@pytest.mark.parametrize("current", ["a2", None, "gone"])
def test_of_a_tree_of_chatgpt_the_branch_last_in_view_is_read(current: str | None) -> None:
    peru = [("user", "What is the capital of Peru?"), ("assistant", "Lima.")]
    assert conversations([chatgpt(current)]) == [("gpt-1", peru)]


def test_a_tree_that_leads_to_itself_comes_to_an_end() -> None:
    looped = chatgpt()
    looped["mapping"]["u2"]["parent"] = "a2"
    assert conversations([looped])[0][1][-1] == ("assistant", "Lima.")


def test_every_conversation_of_an_export_is_read() -> None:
    found = conversations([CLAUDE_AI, {"uuid": "cl-2", "name": "", "chat_messages": []}, chatgpt()])
    assert [name for name, _ in found] == ["cl-1", "cl-2", "gpt-1"]
    assert found[0][1] == [("user", "How long does rye rise?\n\n[document]"), ("assistant", "Two hours.")]
