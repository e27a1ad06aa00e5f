"""An episode says what happened in one conversation so that it can be found again."""

from datetime import UTC, datetime

from memcli.lifecycle.episode import episode
from memcli.lifecycle.findings import Finding, Findings
from memcli.text.session import Event
from tests.lifecycle.conversations import talk

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_an_episode_has_title_date_topic_outcome_refs_tags_and_summary() -> None:
    found = Findings(
        "", None, (Finding("Use tabs.", "preference", "user", tags=("style",)), Finding("x", "fact", "user"))
    )
    said = talk("Which indent?", "Tabs.", "And width?", "Eight.")
    title, text, tags, day = episode("s", said, found, "[2026-11-20 10:01] They chose tabs.", NOW, UTC)
    assert (title, tags, day) == ("Which indent?", ("style",), "2026-11-20")
    assert text.split("\n") == [
        *("Title: Which indent?", "Date: 2026-11-20", "Topic: And width?", "Outcome: Eight."),
        *("Refs: session:s#m1:m4", "Tags: style", "", "Summary: They chose tabs.", "", "Key decisions:", "- Use tabs."),
    ]


def test_what_nobody_answered_is_an_open_question() -> None:
    _, text, _, _ = episode("s", talk("Hello.", "Hi.", "Which port?"), Findings(""), "Talk.", NOW, UTC)
    assert text.endswith("Open questions:\n- Which port?")


def test_an_episode_of_nothing_but_a_tool_has_its_sessions_name_and_the_day_it_is_told() -> None:
    title, text, _, day = episode("s", [Event("r", "tool_result", "system", "ok")], Findings(""), "Ran.", NOW, UTC)
    assert (title, day) == ("s", "2026-11-21")
    assert "Outcome" not in text
