"""The history record of a conversation. All sentences are made up."""

import pytest

from memcli.consolidate.compaction import LONGEST_RECORD, build_history_text

from .test_rules import build_talk

TALK = build_talk(
    "user: hey, the bakery export is broken again, can you have a look at it please",
    "assistant: Let me check the log of the last run and see what I can find in there.",
    "assistant: The export fails because column `flour_kg` is now `flour`.",
    "user: ah ok. that explains a lot, thanks for looking into it so quickly today",
    "user: we go with the old name until June, the mill reads it",
    "assistant: Would you like me to write to them about it as well, or is that for later?",
    "user: how many ovens do we have?",
    "assistant: There are 7 ovens in Bergen.",
    "user: lol great, that is a lot of ovens for such a small town if you ask me",
)


def test_the_record_consists_of_decisions_causes_and_answers() -> None:
    text = build_history_text(TALK)
    assert text == (
        "The export fails because column `flour_kg` is now `flour`."
        " We go with the old name until June, the mill reads it."
        " There are 7 ovens in Bergen."
    )


def test_a_corrected_value_is_left_out() -> None:
    text = build_history_text(
        build_talk("user: shipping is free from 79 euro", "assistant: OK.", "user: no sorry, 89")
    )
    assert text == "Shipping is free from 89 euro."


def test_the_record_takes_at_most_a_third_of_a_conversation() -> None:
    lines = [
        f"user: Room {number} of house {number * 7} holds {number * 3} chairs since May {number}."
        for number in range(100, 2000)
    ]
    talk = build_talk(*lines)
    size = sum(len(message.text) for message in talk[:100])
    assert 0.2 * size < len(build_history_text(talk[:100]).encode()) <= 0.3 * size
    assert len(build_history_text(talk).encode()) <= LONGEST_RECORD


@pytest.mark.parametrize(
    "text",
    [
        "what is the port?",
        "ok thanks",
        "```\nport = 8080\n```",
        "<memory-context>Port 80.</memory-context>",
    ],
)
def test_questions_thanks_and_foreign_text_are_no_history(text: str) -> None:
    assert build_history_text(build_talk(f"user: {text}")) == ""


def test_the_record_leaves_out_what_should_not_be_stored() -> None:
    said = "Forget that we use helm because it is gone since March."
    talk = build_talk(f"user: {said}", "user: From now on we deploy on Tuesdays.")
    assert build_history_text(talk) == "From now on we deploy on Tuesdays."
