"""A chat as plain text is read in the way it is written, and other texts are not taken for one."""

import pytest

from memcli.errors import UnknownTranscriptError
from tests.tables import cases
from tests.transcripts.reading_data import read, said

NAMED = [("Ada", "shall we meet?"), ("Bob", "yes\nat 4: by the door"), ("Ada", "good")]
LINES = ("shall we meet?", "yes\nat 4: by the door", "good")


@cases("pattern", "first")
def test_named_speakers_are_told_apart(pattern: str, first: str) -> None:
    text = "\n".join(pattern.format(number, *told) for number, told in enumerate(NAMED))
    transcript, events = read(text, "2026-11-19.txt")
    assert transcript.format == "chat"
    assert said(events) == NAMED
    assert events[0].timestamp == first
    assert {event.role for event in events} == {"user"}


@pytest.mark.parametrize(
    "pattern",
    ["{}: {}", "**{}:** {}", "### {}\n\n{}\n", "{}:\n{}\n", "**{}**\n{}\n", "[{}]\n{}", "> {}: {}"],
)
@pytest.mark.parametrize(
    "names", [("User", "Assistant"), ("Human", "Claude"), ("You", "ChatGPT"), ("USER", "assistant")]
)
def test_user_and_assistant_are_told_apart(pattern: str, names: tuple[str, str]) -> None:
    text = "\n".join(pattern.format(names[number % 2], line) for number, line in enumerate(LINES))
    assert said(read(text)[1]) == list(zip(("user", "assistant", "user"), LINES, strict=True))


def test_a_header_quoted_in_code_opens_no_message() -> None:
    text = "User: write a chat\nAssistant: here:\n```\nUser: hi\nAssistant: hello\n```\nUser: thanks\n"
    assert said(read(text)[1]) == [
        ("user", "write a chat"),
        ("assistant", "here:\n```\nUser: hi\nAssistant: hello\n```"),
        ("user", "thanks"),
    ]


def test_a_line_with_a_colon_in_a_reply_opens_no_message() -> None:
    text = "User: which port?\nAssistant: two of them:\nNote: 8080 is for tests\nProduction: 443\n"
    assert said(read(text)[1])[1] == ("assistant", "two of them:\nNote: 8080 is for tests\nProduction: 443")


def test_a_line_that_is_a_day_dates_what_follows() -> None:
    text = "## 2026-11-20\n[23:59] Ada: good night\n--- 2026-11-21 ---\n[00:01] Bob: good morning\n"
    assert [event.timestamp for event in read(text)[1]] == ["2026-11-20T23:59:00Z", "2026-11-21T00:01:00Z"]


def test_a_time_without_a_day_gives_none() -> None:
    assert [event.timestamp for event in read("[23:59] Ada: hi\n[00:01] Bob: ho\n")[1]] == ["", ""]


def test_a_title_before_the_first_message_is_counted() -> None:
    transcript, events = read("# Talk with a model\n\nUser: hi\nAssistant: hello\n")
    assert len(events) == 2
    assert transcript.skipped == {"before the first message": 1}


def test_a_bot_speaks_as_the_assistant() -> None:
    _, events = read("[10:02] Ada: hi\n[10:03] Zion Bot: hello\n")
    assert [(event.role, event.name) for event in events] == [("user", "Ada"), ("assistant", "Zion Bot")]


@pytest.mark.parametrize(
    "text",
    [
        "Chocolate cookies\n\nIngredients:\n- 2 cups flour\n",
        "# Project\n\n## User\n\nA user is …\n\n## System\n\nA system is …\n",
        "**Attendees:** Ada, Bob\n**Date:** 2026-11-20\n**Goal:** a plan\n" + "prose\n" * 20,
        "prose\n" * 12 + "**Deadline** 09:15 — handed in\n" + "prose\n" * 12,
        "<html>\n<p> some text\n<p> more text\n</html>\n",
        "host: db\nUser: postgres\nport: 5432\n",
        "key: value\n",
    ],
)
def test_a_text_that_is_no_chat_is_refused(text: str) -> None:
    with pytest.raises(UnknownTranscriptError, match="no line says who speaks"):
        read(text, "notes.md")


def test_a_text_in_utf_16_is_read() -> None:
    assert said(read("User: ça va ?\r\nAssistant: oui\r\n".encode("utf-16"))[1]) == [
        ("user", "ça va ?"),
        ("assistant", "oui"),
    ]
