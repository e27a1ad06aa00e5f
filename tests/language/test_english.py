"""What is known of English beforehand, and how it is told from other languages."""

import pytest

from memcli.language.lexicon import (
    common_share,
    common_words,
    forms,
    language_of,
    names_a_time,
    opens_a_question,
    stop_words,
)
from tests.tables import cases


@pytest.mark.parametrize(
    ("word", "known"), [("make", True), ("makes", True), ("making", True), ("build", True), ("marigold", False)]
)
def test_a_common_word_is_known_as_it_is_used(word: str, known: bool) -> None:
    assert (common_share(word) > 0) is known


def test_an_everyday_word_is_in_more_texts_than_a_merely_common_one() -> None:
    assert common_share("good") > common_share("family") > common_share("build") > common_share("deadlock") == 0


def test_shares_are_shares() -> None:
    assert all(0 < share < 0.5 and word == word.lower() for word, share in common_words().items())


@cases("text", "language")
def test_a_language_is_told_by_its_stop_words_and_is_english_in_doubt(text: str, language: str) -> None:
    assert language_of(text.split()) == language


def test_everyday_words_and_stop_words_are_those_of_the_language() -> None:
    assert common_share("jahre", "de") > 0 == common_share("jahre")
    assert "mit" in stop_words("de") - stop_words()


@pytest.mark.parametrize("word", ["go", "went", "gone"])
def test_irregular_forms_belong_together(word: str) -> None:
    assert set(forms(word)) == {"go", "went", "gone"}


def test_a_word_and_what_it_is_short_for_belong_together() -> None:
    assert {"config", "configuration"} <= set(forms("config"))
    assert forms("authentication") == forms("auth")


@cases("text", "may")
def test_a_text_may_name_a_time_or_not(text: str, may: bool) -> None:
    assert names_a_time(text) is may


def test_any_other_word_stands_alone() -> None:
    assert forms("walked") == ("walked",)


@pytest.mark.parametrize(("word", "opens"), [("When", True), ("did", True), ("I", False), ("", False)])
def test_a_question_is_known_by_its_first_word(word: str, opens: bool) -> None:
    assert opens_a_question(word) is opens
