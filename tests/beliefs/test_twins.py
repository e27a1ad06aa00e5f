"""Texts that are the same but for their form: known as one memory, and only where no sign that counts differs."""

import pytest

from memcli.beliefs.comparison import are_in_other_form, are_twins, compare
from memcli.beliefs.pair_words import lasting_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The bakery closes at 18:00.", "the bakery closes at 18:00!"),
        ("The bakery closes at 18:00.", "The bakery closes at 6 pm."),
        ("The course starts at 7:30 PM", "The course starts at 19:30."),
        ("My daughter does not like olives.", "My daughter doesn’t like olives."),
        ("We cannot park there.", "We can't park there."),
        ("I'm at the chess club; it's fun.", "I am at the chess club, it is fun"),
        ("Leo gets seasick, not Mia; bring ginger tablets.", "leo gets seasick, not mia, bring ginger tablets"),
        ("The bus takes two hours.", "The bus takes 2 hours"),
        ("The lease ends in 2 weeks.", "The lease ends in 14 days."),
        ("The cat, Momo, is three.", "The cat (Momo) is three …"),
        ("The greenhouse thermometer shouldn’t show fourteen", "The greenhouse thermometer should not show 14!"),
        ("The attachment fails in seventeen minutes.", "The attachment fails in 17 minutes."),
        ("The pot is called `Hugo`.", 'The pot is called "Hugo".'),
    ],
)
def test_what_differs_in_form_alone_is_said_again(one: str, other: str) -> None:
    assert are_in_other_form(one, other)
    assert are_in_other_form(other, one)
    assert not are_twins(one, other), "its wording has to be kept"
    assert lasting_words(one) == lasting_words(other)
    verdict = compare(one, other)
    assert (verdict.kind, verdict.sure) == ("same", True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The bakery is open.", "The bakery is open?"),
        ("The shop closes at 6 am.", "The shop closes at 6 pm."),
        ("The port is 8:00.", "The port is 800."),
        ("Budget is 4,200.", "Budget is 4.200"),
        ("The ratio is 1:5.", "The ratio is 15."),
        ("Set it to -5!", "Set it to 5!"),
        ("Written in C!", "Written in C#!"),
        ("Run it at 5", "Run it at 5%"),
        ("The link does 5 Mb!", "The link does 5 MB!"),
        ("Call it with -v!", "Call it with -V!"),
        ("Run ls .", "Run ls .."),
        ("The wait is 2 h.", "The wait is 2 min."),
        ("The bus takes two hours, the train 3 hours.", "The bus takes three hours, the train 2 hours."),
        ("The bakery closes at 18:00.", "The bakery shuts at 18:00."),
        ("Grandma isn't well", "Grandma is well"),
    ],
)
def test_a_sign_that_counts_is_never_taken_for_form(one: str, other: str) -> None:
    assert not are_in_other_form(one, other)
    assert not are_in_other_form(other, one)
