"""A session yields, without any model, what its user stated and a paragraph of what happened."""

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.lifecycle.extract import MOST, Fact, extract, paths
from memcli.lifecycle.extract.story import LONGEST, story
from memcli.text.session import Event

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = "2026-02-27T23:30:00Z"


def user(text: str, number: int = 1, timestamp: str = SAID, name: str = "") -> Event:
    """Make a message of the user."""
    return Event(f"u{number}", "message", "user", text, timestamp, name)


def assistant(text: str, number: int = 1) -> Event:
    """Make a message of the assistant."""
    return Event(f"a{number}", "message", "assistant", text, SAID)


def facts(*texts: str) -> list[str]:
    """Give the texts of the facts a user's messages yield."""
    return [fact.text for fact in extract([user(text, n) for n, text in enumerate(texts)], now=NOW).facts]


def test_statements_become_facts_with_their_type_source_files_and_message() -> None:
    text = "Hi! I'm a data engineer based in Oslo. Always run `make lint` before editing src/app.py. Can you help me?"
    assert extract([user(text)], now=NOW).facts == (
        Fact("User is a data engineer.", "fact", "user", (), (), "u1"),
        Fact("User is based in Oslo.", "fact", "user", (), (), "u1"),
        Fact("Always run `make lint` before editing src/app.py.", "constraint", "user", ("src/app.py",), (), "u1"),
    )


def test_what_is_to_be_remembered_stands_as_it_was_said_and_is_kept_once() -> None:
    found = extract([user("Remember this: I prefer tabs, see fmt.toml.\n\nNow fix the build.")], now=NOW).facts
    assert found == (Fact("I prefer tabs, see fmt.toml.", "preference", "user", ("fmt.toml",), (), "u1"),)


def test_remember_that_alone_keeps_what_was_said_before() -> None:
    found = extract([assistant("The staging host is 10.0.0.5."), user("remember that")], now=NOW).facts
    assert found == (Fact("The staging host is 10.0.0.5.", "fact", "observed", (), (), "a1"),)
    assert extract([user("remember that")], now=NOW).facts == ()


def test_a_correction_of_the_assistant_is_one() -> None:
    found = extract([assistant("The port is 8080."), user("No, actually the port is 8081.")], now=NOW).facts
    assert [(fact.text, fact.type, fact.source) for fact in found] == [("The port is 8081.", "correction", "user")]


def test_a_short_answer_keeps_its_question() -> None:
    found = extract([assistant("Nice! What's your model size?"), user("About 150M parameters.")], now=NOW).facts
    assert [fact.text for fact in found] == ["What's your model size? About 150M parameters."]


def test_relative_dates_are_resolved_where_the_user_lives() -> None:
    event = user("I moved to Bergen yesterday.")
    told = extract([event], now=NOW).facts[0].text
    assert told == "User moved to Bergen yesterday (2026-02-26)."
    far_east = extract([event], now=NOW, zone=ZoneInfo("Asia/Tokyo"))
    assert far_east.facts[0].text == "User moved to Bergen yesterday (2026-02-27)."
    assert far_east.history.startswith("[2026-02-28 08:30] ")
    assert "(20" not in extract([user("I moved to Bergen yesterday.", timestamp="")], now=NOW).facts[0].text


def test_repetitions_are_dropped_and_other_values_are_not() -> None:
    assert facts("We use Postgres 14 in Oslo.", "We use Postgres 14 in Oslo!", "We use Postgres 15 in Oslo.") == [
        "We use Postgres 14 in Oslo.",
        "We use Postgres 15 in Oslo.",
    ]
    said = ["I like long walks with Ann.", "I don't like long walks with Ann."]
    assert len(facts(*said)) == 2


def test_a_measure_of_likeness_finds_repetitions_in_other_words() -> None:
    events = [user("I prefer dark mode everywhere.", 1), user("I love dark themes in Vim.", 2)]
    assert len(extract(events, now=NOW).facts) == 2
    assert len(extract(events, now=NOW, similar=lambda one, other: 1.0).facts) == 1


def test_only_what_the_user_said_is_stated() -> None:
    events = [
        assistant("I always prefer tabs. We use Postgres 14."),
        Event("s", "message", "system", "I live in Oslo.", SAID),
        Event("t", "tool_result", "system", "I live in Bergen.", SAID, "Read"),
        Event("c", "tool_call", "assistant", "I live in Rome.", SAID, "Bash"),
    ]
    assert extract(events, now=NOW).facts == ()


def test_named_speakers_are_told_apart() -> None:
    events = [user("I live in Oslo.", 1, name="Ann"), user("I live in Rome.", 2, name="Bo")]
    found = extract(events, now=NOW)
    assert [fact.text for fact in found.facts] == ["Ann lives in Oslo.", "Bo lives in Rome."]


def test_a_command_that_fixed_an_error_is_an_observed_lesson() -> None:
    events = [
        user("Run the tests"),
        Event("1", "tool_call", "assistant", "pytest", SAID, "Bash"),
        Event("2", "tool_result", "system", "No module named yaml", SAID, is_error=True),
        Event("3", "tool_call", "assistant", "pip install pyyaml", SAID, "Bash"),
        Event("4", "tool_result", "system", "ok", SAID),
        Event("5", "tool_call", "assistant", "pytest", SAID, "Bash"),
        Event("6", "tool_result", "system", "3 passed", SAID),
        assistant("All tests pass now."),
    ]
    found = extract(events, now=NOW)
    assert [(fact.type, fact.source, fact.tags, fact.message_id) for fact in found.facts] == [
        ("lesson", "observed", ("fix",), "5")
    ]
    assert found.history == "[2026-02-27 23:30] User asked: Run the tests. Ended: All tests pass now."


def test_the_history_tells_who_asked_what_and_how_it_ended() -> None:
    edit = Event("e", "tool_call", "assistant", json.dumps({"file_path": "src/auth.ts"}), SAID, "Edit")
    events = [user("Hey! Can you please fix the login bug?"), edit, assistant("Done! The session cookie is renewed.")]
    assert extract(events, now=NOW).history == (
        "[2026-02-27 23:30] User asked: fix the login bug. Changed src/auth.ts. Ended: The session cookie is renewed."
    )


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([], ""),
        ([Event("t", "tool_result", "system", "output")], ""),
        ([user("Fix the login bug")], "User asked: Fix the login bug. No answer."),
        ([assistant("Hello there, friend of mine.")], "Assistant said: Hello there, friend of mine."),
        ([user("I live in Oslo."), assistant("A lovely city.")], "User said: I live in Oslo."),
        (
            [user("inspect files"), assistant("There are 3 of them."), user("delete the last")],
            "User asked: inspect files; delete the last. The last request has no answer.",
        ),
        (
            [user("Run it for me"), Event("t", "tool_result", "system", "a\nfatal: no disk\n", is_error=True)],
            "User asked: Run it for me. Ended with an error: fatal: no disk",
        ),
    ],
)
def test_a_story_is_told_of_whatever_there_is(events: list[Event], told: str) -> None:
    assert story(events) == told


def test_a_long_session_keeps_a_short_history_and_the_strongest_facts() -> None:
    events = [user(f"I bought book number {n} in Oslo. Can you write chapter {n} of it?", n) for n in range(400)]
    events.insert(200, user("Remember that the safe is at Ann's."))
    found = extract(events, now=NOW)
    assert len(found.history) < LONGEST + 100
    assert "chapter 0" in found.history
    assert "chapter 399" in found.history
    assert len(found.facts) == MOST
    assert "the safe is at Ann's." in [fact.text for fact in found.facts]


def test_times_that_are_missing_or_odd_fall_back_to_now() -> None:
    assert extract([user("Fix it now", timestamp="")], now=NOW).history.startswith("[2026-03-01 12:00]")
    assert extract([user("Fix it now", timestamp="soon")], now=NOW).history.startswith("[2026-03-01 12:00]")


def test_files_are_told_from_products_addresses_and_versions() -> None:
    text = "See src/a.py, ./b.test.ts and README.md, not Node.js, v1.2.x, e.g. https://x.io/c.py or me@x.py."
    assert paths(text) == ("src/a.py", "./b.test.ts", "README.md")


EVENT = st.builds(
    Event,
    st.text("ab", max_size=2),
    st.sampled_from(["message", "tool_call", "tool_result"]),
    st.sampled_from(["user", "assistant", "system"]),
    st.text(max_size=80) | st.text(st.sampled_from("I'm we use remember this: yesterday? No, .\n`A1"), max_size=80),
    st.sampled_from(["", SAID, "nonsense"]),
    st.sampled_from(["", "Bash", "Ann"]),
    st.booleans(),
)


@given(st.lists(EVENT, max_size=8))
def test_any_session_is_consolidated_the_same_way_twice(events: list[Event]) -> None:
    once = extract(events, now=NOW)
    assert once == extract(events, now=NOW)
    assert all(fact.text.strip() for fact in once.facts)


@pytest.mark.parametrize(
    "piece", ["I really ", "we are ", "A. ", "a — I b ", "(", "```\n", "- ", "so, ", "my a b ", "\n"]
)
def test_a_hostile_message_is_read_at_once(piece: str) -> None:
    assert len(extract([user((piece * 20_000)[:60_000])], now=NOW).facts) <= MOST
