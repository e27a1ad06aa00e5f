"""A Codex rollout gives each prompt and reply once, though it holds what the model saw and what the screen showed."""

import json
from typing import Any

from tests.transcripts.reading_data import NOBODY_SAID, read, said, taken, tools


def lines(*rows: dict[str, Any]) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def item(role: str, text: str) -> dict[str, Any]:
    content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]
    return {"type": "response_item", "payload": {"type": "message", "role": role, "content": content}}


def shown(kind: str, text: str) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, "message": text}}


def test_each_prompt_and_reply_comes_once() -> None:
    transcript, events = taken("codex.jsonl")
    assert transcript.format == "codex"
    assert said(events) == [
        ("user", "Add a rate limit of 5 a minute"),
        ("assistant", "I will look at the middleware."),
        ("assistant", "Done: 5 requests a minute."),
        ("user", "make it 10\n\n[image]"),
        ("assistant", "Only shown on the screen."),
    ]


def test_tools_come_with_their_commands_and_failures() -> None:
    _, events = taken("codex.jsonl")
    assert tools(events) == [
        ("tool_call", "exec_command", "rg limit", False),
        ("tool_result", "exec_command", "rg: no matches", True),
        ("tool_call", "apply_patch", "*** Begin Patch\n*** Update File: shop/limits.py\n*** End Patch", False),
        ("tool_result", "apply_patch", "Success. Updated shop/limits.py", False),
    ]


def test_an_older_rollout_without_envelopes_is_read_too() -> None:
    transcript, events = taken("codex_older.jsonl")
    assert transcript.format == "codex"
    assert (transcript.session_id, transcript.started) == ("old-1", "2025-06-01T08:00:00.000Z")
    assert said(events) == [("user", "List the files"), ("assistant", "It cannot be listed.")]
    assert tools(events) == [
        ("tool_call", "shell", "ls", False),
        ("tool_result", "shell", "ls: cannot open", True),
    ]


def test_nothing_that_nobody_said_is_left() -> None:
    for name in ("codex.jsonl", "codex_older.jsonl"):
        _, events = taken(name)
        assert [event.text for event in events if any(word in event.text for word in NOBODY_SAID)] == []


def test_what_it_says_of_itself_is_kept() -> None:
    transcript, _ = taken("codex.jsonl")
    assert transcript.session_id == "0199-abc"
    assert transcript.about == {"cwd": "/home/ada/shop", "branch": "vat", "version": "0.99.0"}
    assert transcript.skipped["instructions"] == 1
    assert transcript.skipped["prompt as the model saw it"] == 2
    assert transcript.skipped["shown twice"] == 2


def test_without_the_screen_prompts_are_read_from_what_the_model_saw() -> None:
    text = lines(
        item("user", "# AGENTS.md instructions for /x\n\nINJECTED"),
        item("user", "<user_instructions>INJECTED</user_instructions>"),
        item("user", "<skillful>my own tag</skillful>"),
        item("user", "what are # AGENTS.md instructions for?"),
        item("assistant", "rules"),
    )
    assert said(read(text, "r.jsonl")[1]) == [
        ("user", "<skillful>my own tag</skillful>"),
        ("user", "what are # AGENTS.md instructions for?"),
        ("assistant", "rules"),
    ]


def test_a_prompt_that_only_the_screen_shows_is_read() -> None:
    text = lines(item("user", "a list of plugins"), shown("user_message", "hello"), item("assistant", "hi"))
    assert said(read(text, "r.jsonl")[1]) == [("user", "hello"), ("assistant", "hi")]


def test_a_rollout_whose_screen_begins_late_repeats_nothing() -> None:
    filler = [{"type": "turn_context", "payload": {"x": "y" * 1000}} for _ in range(300)]
    text = lines(
        item("user", "one"),
        item("assistant", "reply one"),
        *filler,
        item("user", "two"),
        shown("user_message", "two"),
        item("assistant", "reply two"),
        shown("agent_message", "reply two"),
        item("user", "three"),
        shown("user_message", "three"),
    )
    assert said(read(text, "r.jsonl")[1]) == [
        ("user", "one"),
        ("assistant", "reply one"),
        ("user", "two"),
        ("assistant", "reply two"),
        ("user", "three"),
    ]


def test_the_same_short_reply_twice_is_two_replies() -> None:
    text = lines(
        *(row for _ in range(2) for row in (item("user", "go"), shown("user_message", "go"), item("assistant", "ok"))),
        shown("agent_message", "ok"),
    )
    assert [text for _, text in said(read(text, "r.jsonl")[1])] == ["go", "ok", "go", "ok"]


def test_a_forked_rollout_keeps_its_own_id() -> None:
    text = lines(
        {"type": "session_meta", "payload": {"id": "child"}},
        {"type": "session_meta", "payload": {"id": "parent"}},
        item("user", "hi"),
    )
    assert read(text, "r.jsonl")[0].session_id == "child"


def test_payloads_of_any_shape_stop_nothing() -> None:
    text = lines(
        {"type": "response_item", "payload": None},
        {"type": "response_item", "payload": {"type": ["message"]}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": 7}},
        {"type": "response_item", "payload": {"type": "function_call", "arguments": "{broken", "name": None}},
        {"type": "response_item", "payload": {"type": "function_call_output", "output": '{"output": null}'}},
        {"type": "response_item", "payload": {"type": "function_call_output", "output": "{broken"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": {"text": "x"}}},
        {"type": "event_msg", "payload": {"type": {}}},
        item("assistant", "still here"),
    )
    assert said(read(text, "r.jsonl")[1]) == [("assistant", "still here")]
