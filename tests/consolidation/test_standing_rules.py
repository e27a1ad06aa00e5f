"""A rule that holds from now on is told from a tale of what always or never was."""

from memcli.consolidation.attribution import exempts, is_standing_rule, plain_type
from tests.tables import cases


@cases("text")
def test_a_rule_for_the_future_is_one(text: str) -> None:
    assert is_standing_rule(text)
    assert plain_type(text) == "constraint"


@cases("text")
def test_a_tale_or_a_sigh_is_none(text: str) -> None:
    assert not is_standing_rule(text)


@cases("text")
def test_a_ban_a_wish_or_a_polite_question_for_the_future_is_a_rule(text: str) -> None:
    assert is_standing_rule(text)


@cases("text")
def test_a_wish_of_the_moment_or_a_question_is_none(text: str) -> None:
    assert not is_standing_rule(text)


@cases("text")
def test_a_limit_of_a_rule_is_told_from_a_statement(text: str) -> None:
    assert exempts(text)
    assert not exempts("The oven was delivered on Monday.")
