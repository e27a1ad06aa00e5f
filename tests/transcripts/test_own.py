"""Lines with a role and a content are read whoever wrote them, a first line about the session among them."""

import json

from memcli.formats.session_event import Event, render_event
from tests.transcripts.reading_data import read, said, taken, tools


def test_a_first_line_of_metadata_names_the_session() -> None:
    transcript, events = taken("metadata_first.jsonl")
    assert transcript.format == "jsonl"
    assert transcript.session_id == "telegram:12345"
    assert transcript.started == "2026-11-20T13:00:00Z"
    assert transcript.about["last_consolidated"] == 0
    assert said(events) == [("user", "hello"), ("assistant", "hi there")]
    assert tools(events) == [
        ("tool_call", "save", '{"what": "hello"}', False),
        ("tool_result", "save", "saved", False),
    ]


def test_a_session_of_ours_comes_back_as_it_was() -> None:
    told = [
        Event("msg_1", text="hi", timestamp="2026-11-21T14:15:00Z", name="Alice", line=1, extra={"mood": "good"}),
        Event("msg_2", "tool_call", "assistant", "make test", name="Bash", line=2, extra={"call_id": "c1"}),
        Event("msg_3", "tool_result", "system", "2 failed", "", "Bash", True, 3, {"call_id": "c1"}),
        Event("msg_4", role="system", text="[Conversation summary] tests were fixed", line=4),
    ]
    transcript, events = read("\n".join(map(render_event, told)), "session.jsonl")
    assert transcript.format == "jsonl"
    assert events == told
    assert transcript.skipped == {}


def test_recalled_memory_is_taken_out_of_our_own_sessions_too() -> None:
    told = [
        Event("msg_1", text="[MEMORY CONTEXT]\n- likes tea\n\nwhat do I drink?"),
        Event("msg_2", "tool_call", "assistant", "mem search drink", name="Bash", extra={"call_id": "c1"}),
        Event("msg_3", "tool_result", "system", "likes tea", name="Bash", extra={"call_id": "c1"}),
        Event("msg_4", text="<memory id='x'>likes tea</memory>"),
    ]
    transcript, events = read("\n".join(map(render_event, told)), "session.jsonl")
    assert [event.text for event in events] == ["what do I drink?", "mem search drink"]
    assert transcript.skipped == {"recalled memory": 3}


def test_events_without_an_id_get_the_same_one_at_every_reading() -> None:
    text = "\n".join(json.dumps({"role": "user", "content": word}) for word in ("a", "a", "b"))
    ids = [event.id for event in read(text, "s.jsonl")[1]]
    assert ids == [event.id for event in read(text, "s.jsonl")[1]]
    assert len(set(ids)) == 3
    assert ids == sorted(ids)
    assert ids != [event.id for event in read(text, "other.jsonl")[1]]


def test_equal_lines_are_one_only_where_an_id_or_a_fine_time_says_so() -> None:
    rows = [
        {"role": "user", "content": "ok"},
        {"role": "user", "content": "ok", "timestamp": "2026-11-21T14:15:00Z"},
        {"role": "user", "content": "ok", "timestamp": "2026-11-21T14:15:00.123Z"},
        {"role": "user", "content": "ok", "id": "m1"},
    ]
    transcript, events = read("\n".join(json.dumps(row) for row in rows * 2), "s.jsonl")
    assert len(events) == 6
    assert transcript.skipped == {"duplicate": 2}


def test_ids_that_are_no_names_are_replaced() -> None:
    row = {"role": "user", "content": "hi", "id": "../../x\n" + "y" * 500}
    assert read(json.dumps(row), "s.jsonl")[1][0].id.startswith("msg_")
