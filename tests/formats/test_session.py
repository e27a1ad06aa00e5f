"""Events, folders and pages of sessions are read and written."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.session_event import (
    LONGEST,
    Event,
    SessionMetadata,
    folder_name,
    moment,
    parse_event,
    read_item,
    read_metadata,
    render_event,
    render_metadata,
    session_id,
)
from memcli.formats.text_lines import Problem, first_line, shorten, summarise
from tests.tables import cases

LINE = '{"id":"msg_1","type":"message","role":"user","content":"I moved to Lyon","timestamp":"2026-11-21T14:15:00Z"}'
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def events(text: str) -> tuple[list[Event], list[Problem]]:
    """Read the lines of a session's file that say something."""
    lines = text.split("\n")
    items = [
        read_item(line, number, last=number == len(lines))
        for number, line in enumerate(lines, 1)
        if line.strip("\ufeff\x00 \t\r")
    ]
    problems = [item for item in items if isinstance(item, Problem)]
    return [item for item in items if isinstance(item, Event)], problems


def test_an_event_is_read_from_its_line() -> None:
    assert parse_event(LINE) == Event("msg_1", "message", "user", "I moved to Lyon", "2026-11-21T14:15:00Z")


def test_an_event_is_written_with_its_keys_in_one_order_and_what_says_nothing_left_out() -> None:
    event = Event("msg_2", "tool_result", "system", "no such file", name="Read", is_error=True, extra={"cost": 1})
    assert list(json.loads(render_event(event))) == [
        "id",
        "type",
        "role",
        "content",
        "timestamp",
        "name",
        "is_error",
        "cost",
    ]
    assert list(json.loads(render_event(Event("msg_1", text="hi")))) == ["id", "type", "role", "content", "timestamp"]


def test_letters_of_any_script_are_written_as_they_are() -> None:
    assert "café 日本 🎉" in render_event(Event("msg_1", text="café 日本 🎉"))


@given(st.text(), st.dictionaries(st.text(), JSON_VALUES, max_size=3), st.booleans())
def test_whatever_an_event_says_comes_back(text: str, extra: dict[str, object], failed: bool) -> None:
    known = ("id", "type", "role", "content", "timestamp", "name", "is_error")
    kept = {key: value for key, value in extra.items() if key not in known}
    event = Event("msg_1", "tool_call", "assistant", text, name="Bash", is_error=failed, extra=kept)
    line = render_event(event)
    line.encode("utf-8")
    assert "\n" not in line
    back = parse_event(line)
    assert back is not None
    if "\ufffd" not in line:
        assert back == event


def test_half_a_character_is_replaced_since_no_file_could_hold_it() -> None:
    event = parse_event('{"role":"user","content":"a\\ud83d b"}')
    assert event is not None
    assert event.text == "a\ufffd b"
    assert "\ufffd" in render_event(Event("msg_1", text="\udc80"))


def test_content_in_parts_is_read_as_its_words_and_written_back_in_parts() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image", "data": "x"}, {"type": "text", "text": "two"}]
    event = parse_event(json.dumps({"role": "user", "content": parts}))
    assert event is not None
    assert event.text == "one\n\ntwo"
    assert json.loads(render_event(event))["content"] == parts


@cases("role", "kind", "expected")
def test_a_role_of_another_tool_is_understood(role: str | None, kind: str | None, expected: list[str]) -> None:
    data = {"content": "x", **({"role": role} if role else {}), **({"type": kind} if kind else {})}
    event = parse_event(json.dumps(data))
    assert event is not None
    assert [event.type, event.role] == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        "null",
        "42",
        '"words"',
        "[1]",
        "{}",
        '{"type":"metadata","content":"x"}',
        '{"role":"user"}',
        "{torn",
        '{"role":["user"],"content":"x"}',
        "[" * 100_000,
        '{"role":"user","content":' + "9" * 5000 + "}x",
    ],
)
def test_a_line_that_is_no_event_gives_none(line: str) -> None:
    assert parse_event(line) is None


def test_bad_lines_are_named_and_the_others_are_read() -> None:
    text = f'\ufeff{LINE}\r\n\n[1, 2]\nnot json\n{{"silly": 1}}\n{LINE}\n{{"id":"msg_3","type":"mess'
    found, problems = events(text)
    assert [event.line for event in found] == [1, 6]
    assert [(problem.line, problem.reason) for problem in problems] == [
        (3, "not a JSON object: passed over"),
        (4, "not JSON: passed over"),
        (5, "not an event (no type and role of one): passed over"),
        (7, "cut off in the middle: the rest is read"),
    ]


def test_zeros_at_the_end_of_a_file_that_lost_its_power_are_no_problem() -> None:
    assert events(f"{LINE}\n" + "\x00" * 400) == events(f"{LINE}\n")


def test_only_a_newline_ends_a_line() -> None:
    line = render_event(Event("msg_1", text="one\u2028two\x85three\x0cfour"))
    found, problems = events(f"{line}\n{line}\n")
    assert [event.text for event in found] == ["one\u2028two\x85three\x0cfour"] * 2
    assert problems == []


@given(st.text())
def test_no_text_at_all_stops_the_reading(text: str) -> None:
    found, problems = events(text)
    assert len(found) + len(problems) <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("2026-11-21T14:15:00Z", "2026-11-21T14:15:00Z"),
        ("2026-11-21T14:15:00.123456Z", "2026-11-21T14:15:00.123456Z"),
        ("2026-11-21T15:15:00.5+01:00", "2026-11-21T14:15:00.500Z"),
        ("2026-11-21 14:15", "2026-11-21T14:15:00Z"),
        (1795270500, "2026-11-21T14:15:00Z"),
        (1795270500123, "2026-11-21T14:15:00.123Z"),
        (1795270500.25, "2026-11-21T14:15:00.250Z"),
        ("1795270500", "2026-11-21T14:15:00Z"),
        ("2026-13-45T00:00:00Z", ""),
        ("yesterday", ""),
        (True, ""),
        (7, ""),
        (float("nan"), ""),
        (10**30, ""),
        (None, ""),
        (["2026"], ""),
    ],
)
def test_any_spelling_of_an_instant_is_written_the_same(stated: object, expected: str) -> None:
    assert moment(stated) == expected


@cases("identifier", "name")
def test_an_id_is_written_as_a_safe_name(identifier: str, name: str) -> None:
    assert folder_name(identifier) == name
    assert session_id(name) == identifier


@given(st.text(max_size=12))
def test_any_id_is_read_back_from_its_name(identifier: str) -> None:
    name = folder_name(identifier)
    assert re.fullmatch(r"[a-z0-9._@+=%A-F-]+", name)
    assert not name.startswith((".", "-"))
    assert not name.endswith((".", " "))
    assert session_id(name) == identifier


@given(st.text(max_size=12))
def test_two_ids_never_share_a_folder_even_where_capitals_do_not_count(one: str) -> None:
    other = one.swapcase()
    assert (folder_name(one).lower() == folder_name(other).lower()) == (one == other)


def test_a_very_long_id_keeps_its_beginning_and_a_digest() -> None:
    one, other = folder_name("é" * 500 + "1"), folder_name("é" * 500 + "2")
    assert one != other
    assert max(len(one), len(other)) <= LONGEST
    assert one.startswith("%C3%A9%C3")
    assert session_id(one) is None


def test_a_folder_made_by_hand_stands_for_its_own_name() -> None:
    assert session_id("My Session") == "My Session"
    assert session_id("50%zz") == "50%zz"
    assert session_id("bad%FF") == "bad%FF"


FILE = """{
  "channelId": "12345", "id": "telegram:12345", "channelType": "telegram",
  "createdAt": 1795270500, "mood": {"is": "good"}, "state": "PAUSED",
  "messageCount": "many", "consolidatedTo": "msg_7", "metadata": {"topic": "café"}
}"""


def test_what_a_file_says_is_read() -> None:
    session = read_metadata(FILE)
    assert session == SessionMetadata(
        "telegram:12345",
        "12345",
        "telegram",
        state="PAUSED",
        created_at="2026-11-21T14:15:00Z",
        consolidated_to="msg_7",
        metadata={"topic": "café"},
    )


def test_only_what_changed_is_written_anew() -> None:
    session = read_metadata(FILE)
    assert session is not None
    changed = json.loads(render_metadata(replace(session, message_count=3, updated_at="2026-11-22T00:00:00Z")))
    assert list(changed)[:6] == ["channelId", "id", "channelType", "createdAt", "mood", "state"]
    assert changed["createdAt"] == 1795270500
    assert changed["mood"] == {"is": "good"}
    assert changed["messageCount"] == 3
    assert changed["updatedAt"] == "2026-11-22T00:00:00Z"


def test_the_time_of_creation_survives_every_rewrite() -> None:
    session = SessionMetadata("s", created_at="2026-11-21T14:15:00Z")
    for count in range(3):
        again = read_metadata(render_metadata(replace(session, message_count=count)))
        assert again is not None
        session = again
    assert session.created_at == "2026-11-21T14:15:00Z"
    assert session.message_count == 2


def test_a_new_file_has_every_key_in_one_order() -> None:
    assert list(json.loads(render_metadata(SessionMetadata("s")))) == [
        "id",
        "channelId",
        "channelType",
        "userId",
        "state",
        "messageCount",
        "tokenCount",
        "messageTokens",
        "toolsUsed",
        "createdAt",
        "updatedAt",
        "consolidatedTo",
        "metadata",
    ]


@pytest.mark.parametrize("text", ["", "{torn", "[]", "null", '"x"'])
def test_a_file_that_is_no_object_gives_none(text: str) -> None:
    assert read_metadata(text) is None


def test_wrong_values_are_their_defaults() -> None:
    session = read_metadata('{"id": 7, "state": "ASLEEP", "messageCount": -1, "tokenCount": true, "metadata": []}')
    assert session == SessionMetadata("7")


MARKDOWN = st.lists(
    st.sampled_from(
        ["# Head", "- item", "> said", "1. one", "```", "~~~sh", "---", "", "  ", "plain words", "日本語", "\x0c"]
    )
    | st.text(max_size=30),
    max_size=8,
).map("\n".join)


@given(MARKDOWN | st.text(max_size=400), st.text(max_size=40), st.integers(2, 200))
def test_a_summary_is_one_line_within_its_limit(text: str, title: str, limit: int) -> None:
    for line in (shorten(text, limit), summarise(title, text, limit)):
        assert len(line) <= max(limit, 0) or line == title
        assert len(line.splitlines()) <= 1
    assert len(first_line(text).splitlines()) <= 1


@given(MARKDOWN)
def test_a_text_that_says_something_has_a_summary(text: str) -> None:
    if any(word in text for word in ("Head", "item", "said", "one", "plain", "日本語")):
        assert summarise("", text)


@cases("title", "body", "line")
def test_a_summary_reads_like_a_sentence(title: str, body: str, line: str) -> None:
    assert summarise(title, body) == line


@cases("text", "line")
def test_the_first_line_is_the_first_that_says_something(text: str, line: str) -> None:
    assert first_line(text) == line


def test_a_long_text_is_cut_at_a_word() -> None:
    assert shorten("one two three, four", 15) == "one two three…"
    assert shorten("x" * 30, 10) == "x" * 9 + "…"


def test_a_comment_alone_on_its_line_says_nothing() -> None:
    assert first_line("<!-- mem:rollup 1 -->\nThe shop.") == "The shop."
    assert summarise("Shop", "<!-- a -->\nIt sells <!-- b --> tea.") == "Shop: It sells <!-- b --> tea."
    assert first_line("<!-- a --> tea <!-- b -->") == "<!-- a --> tea <!-- b -->"
