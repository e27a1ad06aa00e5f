"""A rule that holds from now on is told from a tale of what always or never was."""

import pytest

from memcli.consolidation.standing_rules import exempts, is_standing_rule, plain_type


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


@pytest.mark.parametrize(
    "text",
    [
        "Don't ever email the board without my OK.",
        "Do not ever restart the press while a job is running.",
        "No visitors in the lab without badges, please",
        "No deliveries on Mondays.",
        "I never want invoices paid without a second look.",
        "we don't ever want the heating on at night",
        "You must not prune the roses before March.",
        "It's vital that you never name the patient.",
        "Only Ragna may open the sluice.",
        "Our rule for guests is: shoes off. My rule is: no phones at the table",
        "Normally always ask first.",
        "Bitte niemals die Pumpe vor sechs einschalten.",
        "Niemals den Router neu starten.",
        "以后发票都用英文写",
        "总是先问我再付款，但是水电费可以直接付。",
        "これからは二回確認してください。",
        "毎回、領収書を保存してください。",
        "常に敬語を使ってください。",
        "绝对不要在雨天开窗。",
        "请务必先给我看草稿。",
        "Could you from now on put the totals in the last column, and bold them?",
        "would you please never schedule two fittings in a row, except on Mondays?",
        "Könntest du bitte ab jetzt die Quellen nennen, außer bei Witzen?",
        "Pourriez-vous toujours répondre à ma mère en polonais ?",
        "Don't change the seed data. Ever. Typos are okay.",
        "Please don't archive the Holm folder. Copies are fine.",
    ],
)
def test_a_ban_a_wish_or_a_polite_question_for_the_future_is_a_rule(text: str) -> None:
    assert is_standing_rule(text)


@pytest.mark.parametrize(
    "text",
    [
        "I never want to see that film again.",
        "can you always hear me?",
        "would you always recommend oak?",
        "You must not have seen it.",
        "No news from the bank.",
        "Only one test may be flaky.",
        "两年以后我去了上海。",
        "他总是迟到。",
        "Immer die gleichen Fragen.",
        "Don't water the ferns.",
    ],
)
def test_a_wish_of_the_moment_or_a_question_is_none(text: str) -> None:
    assert not is_standing_rule(text)


@pytest.mark.parametrize(
    "text",
    [
        "Copies are fine.",
        "That only counts for orders below ten crates.",
        "Der Keller ist erlaubt.",
        "An exception is frost.",
        "ただし、駐車場は不要です。",
        "但是测试机不用",
        "It applies only above 50 euros.",
        "the neighbours are exempt",
        "Parkautomaten sind ausgenommen.",
        "Les livres sont permis.",
    ],
)
def test_a_limit_of_a_rule_is_told_from_a_statement(text: str) -> None:
    assert exempts(text)
    assert not exempts("The oven was delivered on Monday.")
