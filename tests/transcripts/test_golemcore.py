"""A conversation in one JSON document is read message by message, wherever it is cut off."""

import io
import json
from typing import TextIO, cast

import pytest

from memcli.formats.session_event import Event
from memcli.transcripts import messages
from memcli.transcripts.transcript_format import Transcript, TranscriptFile
from tests.transcripts.reading_data import DATA, read, said, taken, tools


def test_its_messages_tools_and_page_are_read() -> None:
    transcript, events = taken("golemcore.json")
    assert transcript.format == "golemcore"
    assert said(events) == [
        ("user", "Remember that I live in Lyon"),
        ("assistant", "Noted."),
        ("user", "and tomorrow?"),
    ]
    assert tools(events) == [
        ("tool_call", "weather", '{"city": "Lyon"}', False),
        ("tool_result", "weather", "12 °C, rain", False),
    ]
    assert [event.timestamp for event in events][1] == "2026-11-21T12:00:01.500Z"
    assert transcript.session_id == "telegram:777"
    assert transcript.about["channelType"] == "telegram"
    assert transcript.about["metadata"] == {"lang": "fr"}
    assert transcript.skipped == {"not an object": 1}


def test_a_plain_list_of_messages_is_one_too() -> None:
    told = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    for text in (json.dumps(told), json.dumps(told, indent=2), json.dumps({"messages": told})):
        transcript, events = read(text, "dump.json")
        assert transcript.format == "golemcore"
        assert transcript.session_id == "dump"
        assert said(events) == [("user", "hi"), ("assistant", "hello")]


class Dribble(io.TextIOBase):
    """A stream that gives one character at a time, whatever it is asked for."""

    def __init__(self, text: str) -> None:
        self.rest = text

    def read(self, size: int | None = -1) -> str:
        given, self.rest = self.rest[:1], self.rest[1:]
        return given


def test_where_the_pieces_are_cut_changes_nothing() -> None:
    text = (DATA / "golemcore.json").read_text(encoding="utf-8")

    def taken_from(stream: TextIO) -> tuple[list[Event], Transcript]:
        file, reading = TranscriptFile(io.BytesIO()), Transcript()
        file.stream = stream
        return list(messages.DOCUMENT.read(file, reading)), reading

    assert taken_from(cast("TextIO", Dribble(text))) == taken_from(io.StringIO(text))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
def test_a_document_cut_off_gives_what_came_before(share: float) -> None:
    content = (DATA / "golemcore.json").read_bytes()
    transcript, events = read(content[: int(len(content) * share)], "telegram:777.json")
    assert 0 < len(events) <= 5
    assert transcript.skipped["the rest is cut off or not JSON"] == 1


@pytest.mark.parametrize("rest", ["]}{", '] "x"', ', {"role": "user"', "] , , ", "", "\\"])
def test_nonsense_after_the_messages_is_counted(rest: str) -> None:
    transcript, events = read('{"messages": [{"role": "user", "content": "hi"}' + rest, "x.json")
    assert said(events) == [("user", "hi")]
    assert transcript.skipped.total() == 1


def test_a_long_document_may_begin_with_a_blank_line() -> None:
    told = {"messages": [{"role": "user", "content": "x" * 1000}] * 300}
    transcript, events = read("\n" + json.dumps(told), "dump.json")
    assert (transcript.format, len(events)) == ("golemcore", 300)


def test_content_nested_deeper_than_calls_go_is_read() -> None:
    content = "[" * 900 + '"tea"' + "]" * 900
    _, events = read(f'{{"role": "user", "content": "hi"}}\n{{"role": "user", "content": {content}}}\n', "deep.jsonl")
    assert said(events) == [("user", "hi"), ("user", "tea")]
