"""The lists of phrases: what the code names is there, and what is there is used; how sentences are cut."""

import re
from pathlib import Path

import pytest

import memcli.beliefs
from memcli.beliefs.change_phrases import in_full, sentences, without_preamble, words
from memcli.consolidation.withdrawals import KINDS
from memcli.data import table


def test_the_lists_that_the_code_names_are_those_of_the_data_file() -> None:
    code = "".join(path.read_text("utf-8") for path in Path(memcli.beliefs.__file__).parent.parent.rglob("*.py"))
    named = set(re.findall(r'\b(?:starts|several|single)\("(\w+)"\)', code)) | set(KINDS)
    assert named == set(table("change_phrases.toml"))


def test_a_title_ends_no_sentence() -> None:
    assert list(sentences("The plumber is Mr. Novak. He lives in St. Gallen; call at 8.")) == [
        "The plumber is Mr. Novak.",
        "He lives in St. Gallen;",
        "call at 8.",
    ]


@pytest.mark.parametrize(
    ("text", "full"), [("I can’t", "i can not"), ("They're out", "they are out"), ("Won't it?", "will not it?")]
)
def test_short_forms_are_read_as_what_they_stand_for(text: str, full: str) -> None:
    assert in_full(text) == full


def test_a_verb_that_ends_like_a_past_form_stays_one_word_in_every_form() -> None:
    assert words("It needs, they need") == ("it", "need", ",", "they", "need")


def test_what_only_asks_to_remember_is_left_out_however_much_of_it_there_is() -> None:
    assert without_preamble("Sorry, please note that FYI, the gate is open") == "the gate is open"
    assert without_preamble("Notes are kept here") == "Notes are kept here"
