"""What a prompt wants done is told from what it is about, on prompts by an author who did not know the rules.

A line of `task_prompts.tsv` is a prompt, the parts of it that say what it is about, and those that say what to do.
"""

import re
from pathlib import Path

import pytest

from memcli.language.lexicon import stop_words, without_task
from memcli.search.query import parse_query
from tests.tables import cases

PROMPTS = [
    line.split("\t") for line in (Path(__file__).parent / "task_prompts.tsv").read_text(encoding="utf-8").splitlines()
]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without stop words."""
    return [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in stop_words()]


@pytest.mark.parametrize(("prompt", "about"), [line[:2] for line in PROMPTS])
def test_no_word_of_what_a_prompt_is_about_is_lost(prompt: str, about: str) -> None:
    assert not set(words(about.replace(" | ", " "))) - set(words(without_task(prompt)))


def test_words_of_the_task_are_dropped() -> None:
    dropped = told = 0
    for prompt, about, task in PROMPTS:
        of_task = [word for word in words(task.replace(" | ", " ")) if word not in words(about)]
        kept = words(without_task(prompt))
        told += len(of_task)
        dropped += sum(word not in kept for word in of_task)
    assert dropped / told > 0.33


@cases("prompt", "about")
def test_who_is_asked_and_where_to_look_is_no_subject(prompt: str, about: str) -> None:
    assert without_task(prompt) == about


@cases("query")
def test_what_looks_like_a_task_may_be_the_subject(query: str) -> None:
    assert without_task(query) == query


@pytest.mark.parametrize("prompt", ["", " ", "?", "please", "in order", "a" * 5000])
def test_a_prompt_of_nothing_but_a_task_stays_as_it_is(prompt: str) -> None:
    assert without_task(prompt) == prompt


def test_a_task_is_neither_searched_for_by_words_nor_by_meaning() -> None:
    asked = parse_query(
        "Can you give me a short summary of the greenhouse sensors from our chats, in three bullet points?"
    )
    assert [term.word for term in asked.terms] == ["greenhouse", "sensors"]
    assert asked.parts()[0][0].startswith("the greenhouse sensors")


def test_a_pasted_dialogue_keeps_its_words() -> None:
    assert "summary" in {term.word for term in parse_query("Emi: hello\nKai: give me a summary of the talk").terms}
