"""An OpenClaw session gives what was said on its channel, without the gateway's envelope and housekeeping."""

import pytest

from memcli.errors import UnknownTranscriptError
from tests.transcripts.reading_data import DATA, NOBODY_SAID, read, said, taken, tools


def test_prompts_and_replies_come_without_what_the_gateway_adds() -> None:
    transcript, events = taken("openclaw.jsonl")
    assert transcript.format == "openclaw"
    assert said(events) == [("user", "Is the heating on?"), ("assistant", "Looking."), ("assistant", "It is off.")]
    assert [event.text for event in events if any(word in event.text for word in NOBODY_SAID)] == []


def test_tools_and_commands_run_by_hand_come_too() -> None:
    _, events = taken("openclaw.jsonl")
    assert tools(events) == [
        ("tool_call", "exec", "heating status", False),
        ("tool_result", "exec", "off", False),
        ("tool_call", "bash", "uptime", False),
        ("tool_result", "bash", "up 3 days", False),
    ]


def test_what_was_left_out_is_counted() -> None:
    transcript, _ = taken("openclaw.jsonl")
    assert transcript.session_id == "claw-1"
    assert transcript.started == "2026-11-20T11:00:00.000Z"
    assert transcript.skipped == {
        "type 'model_change'": 1,
        "type 'compaction'": 1,
        "about the sender": 1,
        "thinking": 1,
        "recalled memory": 1,
        "housekeeping": 2,
    }


def test_a_checkpoint_is_refused_since_its_session_has_it_all() -> None:
    content = (DATA / "openclaw.jsonl").read_bytes()
    with pytest.raises(UnknownTranscriptError, match="checkpoint's copy: import the session's own file"):
        read(content, "claw-1.checkpoint.11111111-aaaa-bbbb-cccc-222222222222.jsonl")
