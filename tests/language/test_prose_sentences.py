"""A message falls into sentences; what was pasted is passed over."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.language.sentences import is_question, sentences
from tests.growth import growth
from tests.tables import cases


def texts(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [one.text for one in sentences(text)]


def test_sentences_end_where_a_reader_would_end_them() -> None:
    text = "My advisor is Prof. Martinez. We use v1.2.3 of it, e.g. Foo! Is it up? $2M is a lot."
    assert texts(text) == [
        "My advisor is Prof. Martinez.",
        "We use v1.2.3 of it, e.g. Foo!",
        "Is it up?",
        "$2M is a lot.",
    ]


def test_a_chat_in_small_letters_has_sentences_too() -> None:
    text = "cool. py 3.9 goes in october. der vorstand tagt am 6. mai wieder\nwe stay on 8.2 for now"
    assert texts(text) == [
        "cool.",
        "py 3.9 goes in october.",
        "der vorstand tagt am 6. mai wieder",
        "we stay on 8.2 for now",
    ]


def test_lines_stand_alone_unless_they_were_only_wrapped() -> None:
    text = (
        "I work on the services that send the bills to all of the\ncustomers we have.\n"
        "- uses Postgres\n- never Redis\nfrom now on use tabs"
    )
    assert texts(text) == [
        "I work on the services that send the bills to all of the\ncustomers we have.",
        "uses Postgres",
        "never Redis",
        "from now on use tabs",
    ]


@cases("pasted")
def test_code_logs_and_quoted_lines_are_passed_over(pasted: str) -> None:
    assert texts(f"We use tabs.\n\n{pasted}\n") == ["We use tabs."]


@given(st.text(alphabet="ab .!?\n-`>,(If1", max_size=200))
def test_each_sentence_stands_where_it_says(text: str) -> None:
    found = sentences(text)
    assert all(text[one.start : one.stop] == one.text == one.text.strip() for one in found)
    assert all(one.stop <= other.start for one, other in pairwise(found))


@pytest.mark.parametrize("piece", ["a. ", "(", "```\n", "and\n", "if ", "- "])
def test_splitting_takes_time_in_proportion_to_the_length(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * length)[:length]
        begun = time.process_time()
        sentences(text)
        return time.process_time() - begun

    assert growth(seconds, 2_000, 20_000, 35) < 35  # ten times as long; by the square it would be a hundred times


@pytest.mark.parametrize(
    "text", ["why?", "why? ", "(is it?)", '"who said it?"', "**really?**", "为什么？", "لماذا؟", "„wer?“ "]
)
def test_a_question_is_one_in_every_script_and_inside_quotes(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", ["why? because", "what it is.", "a?b", ""])
def test_what_only_holds_a_question_is_none(text: str) -> None:
    assert not is_question(text)
