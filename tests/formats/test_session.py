"""A session is read from whatever stands in its file, and written back with nothing lost."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.session_event import Event, events, moment, parse_event, render_event, turns

LINE = '{"id":"msg_1","type":"message","role":"user","content":"I moved to Lyon","timestamp":"2026-11-21T14:15:00Z"}'
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


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


@pytest.mark.parametrize(
    ("role", "kind", "expected"),
    [
        ("human", None, ("message", "user")),
        ("AI", None, ("message", "assistant")),
        ("tool", None, ("tool_result", "system")),
        (None, "tool_call", ("tool_call", "assistant")),
        (None, "tool_result", ("tool_result", "system")),
        ("nobody", "message", ("message", "user")),
    ],
)
def test_a_role_of_another_tool_is_understood(role: str | None, kind: str | None, expected: tuple[str, str]) -> None:
    data = {"content": "x", **({"role": role} if role else {}), **({"type": kind} if kind else {})}
    event = parse_event(json.dumps(data))
    assert event is not None
    assert (event.type, event.role) == expected


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
    turns(text)


def test_turns_are_the_messages_with_their_positions_and_places() -> None:
    told = [
        Event("msg_1", text="fix the tests", timestamp="2026-11-21T14:15:00Z"),
        Event("msg_2", "tool_call", "assistant", "make test", name="Bash"),
        Event("msg_3", "tool_result", "system", "2 failed", name="Bash"),
        Event("msg_4", role="assistant", text="done"),
        Event("msg_5", role="assistant", text="  "),
        Event("msg_6", role="system", text="[Conversation summary] …"),
        Event("msg_7", role="user", text="thanks", name="Alice"),
    ]
    text = "".join(render_event(event) + "\n" for event in told)
    found = turns(text)
    assert [(turn.anchor, turn.line, turn.speaker, turn.text) for turn in found] == [
        ("1", 1, "user", "fix the tests"),
        ("4", 4, "assistant", "done"),
        ("7", 7, "Alice", "thanks"),
    ]
    for turn in found:
        assert parse_event(text[turn.start : turn.stop]).text == turn.text  # type: ignore[union-attr]


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
