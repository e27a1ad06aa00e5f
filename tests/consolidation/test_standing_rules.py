"""A rule that holds from now on is told from a tale of what always or never was."""

import pytest

from memcli.consolidation.standing_rules import is_standing_rule, plain_type


@pytest.mark.parametrize(
    "text",
    [
        "Never push to main",
        "always run the linter before you commit",
        "please never deploy on a Friday",
        "if in doubt, always ask Petra first",
        "test only on staging, never on the live shop",
        "for the runbook: never fail over to r2",
        "the backup first. never skip it",
        "from now on answer in German",
        "update the changelog every time you touch the api",
        "Tests must never depend on the date",
        "ab jetzt bitte nur noch auf Deutsch",
        "ne commite jamais sur main",
        "nunca borres la carpeta data",
        "今后用中文回答",
    ],
)
def test_a_rule_for_the_future_is_one(text: str) -> None:
    assert is_standing_rule(text)
    assert plain_type(text) == "constraint"


@pytest.mark.parametrize(
    "text",
    [
        "it never works",
        "always a pleasure",
        "never seen that before",
        "never mind",
        "never again",
        "I always forget that",
        "you always mix up the two dates",
        "You never answer what I ask!",
        "we always have leaks in autumn",
        "We never get a seat on that train.",
        "we always seem to be late for the ferry",
        "you never know",
        "why do you always ask?",
        "das war immer so",
        "the export fails in one of ten runs, only in ci, never on my mac",
        "We use Postgres 16",
    ],
)
def test_a_tale_or_a_sigh_is_none(text: str) -> None:
    assert not is_standing_rule(text)
