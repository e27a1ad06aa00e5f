"""What a user asks to remember is kept word for word, and nothing else is taken for such a request."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from memcli.consolidation.requests import is_bare, remember_request, remembered
from tests.tables import cases

WRITTEN: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parent / "data" / "remember_requests.yaml").read_text("utf-8")
)


@pytest.mark.parametrize("ask", WRITTEN["asks"], ids=lambda ask: ask["keeps"])
def test_each_of_forty_ways_to_ask_is_the_user_own_word(ask: dict[str, str]) -> None:
    request = remember_request(ask["text"])
    assert request is not None
    assert request.source == "user"
    assert ask["keeps"] in ask["text"][request.start : request.stop]


@pytest.mark.parametrize("said", [one["text"] for one in WRITTEN["look_alikes"] if "role" not in one])
def test_what_only_looks_like_asking_is_no_request(said: str) -> None:
    assert remember_request(said) is None


@cases("text", "kept")
def test_a_request_to_remember_gives_what_was_said(text: str, kept: str) -> None:
    assert remembered(text) == kept


@cases("text")
def test_questions_tales_and_files_to_save_are_no_requests(text: str) -> None:
    assert remembered(text) is None


def test_a_bare_request_means_what_stands_before_it() -> None:
    assert is_bare("Remember that, please.")
    assert is_bare("ok save this")
    assert not is_bare("save this file")
    assert not is_bare("remember that I like tea")


@given(st.text(max_size=300) | st.text(st.sampled_from("remember this that: .\n?—save"), max_size=300))
def test_what_is_remembered_is_part_of_what_was_said(text: str) -> None:
    kept = remembered(text)
    assert kept is None or (kept in text and kept.strip())


@pytest.mark.parametrize("piece", ["remember ", "please and ", ".", "now ", "save this ", "\n", "- "])
def test_a_hostile_message_is_read_at_once(piece: str) -> None:
    assert remembered((piece * 4000)[:4000] + "x") is None or piece in ("remember ", "save this ", "- ")


@cases("text")
def test_only_the_user_own_words_at_an_end_of_a_prompt_ask(text: str) -> None:
    assert remember_request(text) is None


def test_the_last_line_of_a_long_prompt_asks_for_itself_alone() -> None:
    text = "a log line of the pump\n\n" * 400 + "remember this: the door code is on the fridge"
    found = remember_request(text)
    assert found is not None
    assert (text[found.start : found.stop], found.source) == ("the door code is on the fridge", "user")


def test_what_a_user_points_at_in_foreign_text_is_observed() -> None:
    found = remember_request("remember this:\n> commits are made with --no-verify")
    assert found is None or found.source == "observed"


@cases("ask", "said")
def test_what_reads_like_the_head_of_an_issue_is_kept_when_asked_for(ask: str, said: str) -> None:
    request = remember_request(ask + said)
    assert request is not None
    assert (ask + said)[request.start : request.stop] == said
    assert request.source == "user"
