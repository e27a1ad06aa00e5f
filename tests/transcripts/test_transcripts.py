"""Any transcript streams through, whatever is in it; what cannot be read says why and what to do."""

import io
import json
from collections.abc import Iterator
from itertools import count, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import UnknownTranscriptError
from memcli.transcripts import transcript_format
from memcli.transcripts.reader import read_transcript
from tests.transcripts.reading_data import DATA, read, said


class Endless(io.RawIOBase):
    """A file that never ends, and counts what is read of it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.rest = b""
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self.rest or next(self.pieces)
        piece, self.rest = piece[: len(buffer)], piece[len(buffer) :]
        buffer[: len(piece)] = piece
        self.given += len(piece)
        return len(piece)


ENDLESS = {
    "claude-code": ("", '{"type":"user","uuid":"u%d","message":{"content":"hi"}}\n'),
    "codex": ("", '{"type":"response_item","payload":{"role":"user","content":[{"type":"input_text","text":"%d"}]}}\n'),
    "openclaw": ("", '{"type":"message","id":"m%d","message":{"role":"user","content":"hi"}}\n'),
    "jsonl": ("", '{"role":"user","content":"%d"}\n'),
    "golemcore": ('{"id":"x",\n"messages":[\n{"role":"user","content":"hi"}', ',{"role":"user","content":"%d"}'),
    "chat": ("User: hi\n", "Assistant: %d\n"),
}


@pytest.mark.parametrize("found", ENDLESS)
def test_events_come_before_the_file_has_ended(found: str) -> None:
    first, pattern = ENDLESS[found]
    pieces = (((first if number == 0 else "") + pattern % number).encode() for number in count())
    file = Endless(pieces)
    transcript = read_transcript(io.BufferedReader(file), "endless")
    assert transcript.format == found
    assert len(list(islice(transcript.events, 1000))) == 1000
    assert file.given < 4 * transcript_format.HEAD


def test_a_line_too_long_is_passed_over_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_format, "LONGEST_LINE", 5000)
    rows = ["short", "x" * 20_000, "short too"]
    text = "\n".join(json.dumps({"role": "user", "content": row}) for row in rows)
    transcript, events = read(text, "s.jsonl")
    assert said(events) == [("user", "short"), ("user", "short too")]
    assert [event.line for event in events] == [1, 3]
    assert transcript.skipped == {"line too long": 1}


def test_what_a_tool_answers_is_cut_cleaned_and_named() -> None:
    answers = [
        "x y " * 1250,
        "\x1b[1mbold\x1b[0m\r\nline\x00",
        "\x00\x01\x02\ufffd" * 50,
        "A" * 4000,
        "so far " * 10 + "\ud83d",
    ]
    rows = [{"role": "tool", "name": "Bash", "content": answer} for answer in answers]
    transcript, events = read("\n".join(map(json.dumps, rows)), "s.jsonl")
    assert len(events[0].text) == 2000
    assert "characters left out" in events[0].text
    assert [event.text for event in events[1:4]] == ["bold\nline", "[binary, 200 characters]", "[base64]"]
    assert events[4].text.endswith("far \ufffd")
    assert transcript.skipped == {"tool output cut": 2}


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "x.jsonl", "x.jsonl is empty: there is nothing to import"),
        (b" \n\n\x00", "x.jsonl", "x.jsonl is empty: there is nothing to import"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "x.png", "x.png is not text: unpack or convert it first"),
        (b'{"a": 1}\n{"b": 2}\n', "x.jsonl", "none has a role or a message (keys: a): mem reads transcripts of"),
        (b'{"body": "User: hi\\nAssistant: ho"}\n', "x.jsonl", "the text under 'body' is a chat: import it as a file"),
        (b'{\n "a": 1\n}\n', "x.json", "a JSON document without a list of messages: mem reads transcripts of"),
        (b'[\n {"mapping": {}}\n]', "x.json", "x.json holds many conversations: give the name of the file"),
        (b'[{"chat_messages": []}]', "x.json", "x.json holds many conversations: give the name of the file"),
        (b"42\n", "x.jsonl", "no line says who speaks"),
    ],
)
def test_what_cannot_be_read_says_why(content: bytes, name: str, message: str) -> None:
    with pytest.raises(UnknownTranscriptError) as caught:
        read(content, name)
    assert caught.value.fix
    assert message in str(caught.value)


def test_a_session_that_has_only_begun_has_no_events() -> None:
    transcript, events = read('{"_type": "metadata", "key": "cli:direct"}\n', "s.jsonl")
    assert (transcript.format, transcript.session_id, events) == ("jsonl", "cli:direct", [])


def test_a_byte_order_mark_and_windows_newlines_change_nothing() -> None:
    plain = (DATA / "claude_code.jsonl").read_bytes()
    marked = b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")
    assert read(marked, "s.jsonl")[1] == read(plain, "s.jsonl")[1]


def test_a_format_is_found_below_bookkeeping_and_nonsense() -> None:
    rows = [
        'cut":"off"}',
        "[1]",
        '{"type":"summary","summary":"x","leafUuid":"y"}',
        '{"type":"user","message":{"content":"hi"}}',
    ]
    transcript, events = read("\n".join(rows), "s.jsonl")
    assert transcript.format == "claude-code"
    assert said(events) == [("user", "hi")]


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir()))
def test_every_cut_of_a_transcript_is_read_or_refused(name: str) -> None:
    content = (DATA / name).read_bytes()
    whole = read(content, name)[1]
    for end in range(0, len(content), 97):
        try:
            events = read(content[:end], name)[1]
        except UnknownTranscriptError:
            continue
        # A rollout cut before its first prompt is on the screen is read as one without a screen.
        if name != "codex.jsonl":
            assert [event.text for event in events] == [event.text for event in whole][: len(events)]


@settings(max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(b"".join(path.read_bytes() for path in sorted(DATA.glob("*.jsonl"))).splitlines()),
        ),
        max_size=12,
    )
)
def test_no_bytes_at_all_break_the_reading(lines: list[bytes]) -> None:
    try:
        _, events = read(b"\n".join(lines), "x.jsonl")
    except UnknownTranscriptError:
        return
    assert len({event.id for event in events}) == len(events)
    for event in events:
        event.text.encode("utf-8")
