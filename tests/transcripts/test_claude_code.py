"""A transcript of Claude Code gives the prompts and replies, the tools, and nothing that nobody said."""

import json

from tests.transcripts.reading_data import NOBODY_SAID, read, said, taken, tools


def test_prompts_and_replies_come_in_their_order() -> None:
    transcript, events = taken("claude_code.jsonl")
    assert transcript.format == "claude-code"
    assert said(events) == [
        ("user", "Why does the checkout test fail?"),
        ("assistant", "Let me run it."),
        ("user", "and add a test for a missing country"),
        ("assistant", "The table has no rate for an unknown country; fixed in shop/tax.py."),
        ("user", "Thanks! Here is the receipt:\n\n[image]"),
    ]


def test_tools_come_with_what_they_were_given_and_what_they_answered() -> None:
    _, events = taken("claude_code.jsonl")
    assert tools(events) == [
        ("tool_call", "Bash", "pytest tests/test_checkout.py", False),
        ("tool_result", "Bash", "FAILED tests/test_checkout.py\nKeyError: 'vat'", True),
        ("tool_call", "Bash", "mem search vat", False),
        ("tool_call", "Read", '{"file_path": "shop/tax.py"}', False),
        ("tool_result", "Read", "VAT = {}\n[image]", False),
    ]


def test_nothing_that_nobody_said_is_left() -> None:
    _, events = taken("claude_code.jsonl")
    assert [(word, event.text) for event in events for word in NOBODY_SAID if word in event.text] == []


def test_what_was_left_out_is_counted_by_reason() -> None:
    transcript, _ = taken("claude_code.jsonl")
    assert transcript.skipped == {
        "type 'file-history-snapshot'": 1,
        "type 'summary'": 1,
        "type 'attachment'": 1,
        "type 'system'": 1,
        "reminder": 2,
        "thinking": 1,
        "sidechain": 1,
        "meta": 2,
        "command": 3,
        "recalled memory": 2,
        "duplicate": 1,
        "error of the service": 1,
        "not JSON": 1,
    }


def test_the_session_is_known_by_id_start_and_folder() -> None:
    transcript, events = taken("claude_code.jsonl")
    assert transcript.session_id == "5b1c0d9e-0c1a-4a7e-9a51-6f6c2b7f3e11"
    assert transcript.started == "2026-11-20T09:00:00.000Z"
    assert transcript.about == {"cwd": "/home/ada/shop", "branch": "main", "version": "2.1.0"}
    assert [event.id for event in events][:3] == ["u1", "a1", "a1.2"]
    assert [event.line for event in events][:4] == [3, 4, 4, 5]


def test_a_time_that_goes_backwards_stays_where_it_is() -> None:
    _, events = taken("claude_code.jsonl")
    assert events[-1].timestamp == "2026-11-20T08:59:00.000Z"


def test_a_resumed_session_has_the_id_of_its_own_file() -> None:
    line = json.dumps({"type": "user", "uuid": "u1", "sessionId": "before", "message": {"content": "hi"}})
    own = "0f0e0d0c-0b0a-4000-8000-000000000001"
    assert read(line, f"{own}.jsonl")[0].session_id == own
    assert read(line, "copy.jsonl")[0].session_id == "before"


def test_one_id_with_two_contents_keeps_both() -> None:
    lines = [{"type": "user", "uuid": "u1", "message": {"content": text}} for text in ("one", "two", "one")]
    transcript, events = read("\n".join(map(json.dumps, lines)), "s.jsonl")
    assert said(events) == [("user", "one"), ("user", "two")]
    assert events[0].id == "u1"
    assert events[1].id.startswith("msg_")
    assert transcript.skipped["duplicate"] == 1


def test_lines_of_any_shape_stop_nothing() -> None:
    lines = [
        {"type": "user", "message": {}},
        {"type": "user", "message": "error"},
        {"type": "user", "message": None, "timestamp": []},
        {"type": ["user"], "message": {"content": "x"}},
        {"type": "user", "message": {"role": "user", "content": [None, 7, [], {}, {"type": 7}, {"text": 7}]}},
        {"type": "assistant", "message": {"role": "robot", "content": "x"}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": {}, "input": {"command": {}}}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": {"a": 1}}]}},
        {"type": "user", "uuid": "ok", "message": {"content": "still here"}},
    ]
    _, events = read("\n".join(map(json.dumps, lines)), "s.jsonl")
    assert said(events) == [("user", "still here")]


def test_a_copy_of_a_request_is_no_message() -> None:
    """Claude Code 2.1.332 writes `api-request-blob` lines that repeat each message."""
    message = {"role": "user", "content": "Use tabs in the Makefile."}
    line = {
        "type": "user",
        "uuid": "u1",
        "sessionId": "s1",
        "timestamp": "2026-11-20T09:00:00.000Z",
        "message": message,
    }
    copy = {**line, "type": "api-request-blob", "uuid": "b1"}
    _, events = read("\n".join(map(json.dumps, (line, copy))), "a.jsonl")
    assert said(events) == [("user", "Use tabs in the Makefile.")]
