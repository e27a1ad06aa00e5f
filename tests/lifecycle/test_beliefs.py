"""What is said of two texts of memory: sure only where acting on it is right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.lifecycle.beliefs import LONGEST, NEVER, Verdict, compare, thresholds

LIMITS = thresholds("all-MiniLM-L6-v2-int8@1234abcd")
NEAR, FAR = 0.95, 0.2


def told(old: str, new: str, cosine: float = NEAR) -> tuple[str, bool]:
    verdict = compare(old, new, cosine, LIMITS)
    return verdict.kind, verdict.sure


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User prefers tabs", "The user prefers tabs."),
        ("Never push directly to main", "Do not ever push directly to main"),
        ("The invoice export was written by Tomás", "Tomás wrote the invoice export"),
        ("Redis is fast", "redis is fast"),
        ("The user hates long meetings", "The user really hates long meetings"),
        ("Max upload size is 10 MB", "The maximum upload size is 10 megabytes"),
    ],
)
def test_one_statement_put_in_two_ways_is_the_same(old: str, new: str) -> None:
    assert told(old, new) == ("same", True)
    assert told(new, old) == ("same", True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use 4 spaces for indentation", "Use 2 spaces for indentation"),
        ("The limit is 10 MB", "The limit is 10 GB"),
        ("Ana owns the billing service", "Rita owns the billing service"),
        ("The cache is enabled", "The cache is not enabled"),
        ("The turtle follows the fish", "The fish follows the turtle"),
        ("Back up before the migration", "Back up after the migration"),
        ("User knows Python", "User knows Python and Go"),
        ("User runs every morning", "User runs 5 km every morning"),
        ("User prefers short answers", "User prefers short answers except in reviews"),
        ("User has two children", "User has three children"),
        ("Deploys need approval", "Deploys to production need approval from two people"),
        ("Das Büro ist in Köln", "Das Büro ist nicht in Köln"),
        ("Il mange de la viande", "Il ne mange pas de viande"),
        ("用户喜欢猫", "用户不喜欢猫"),
    ],
)
def test_a_number_a_name_a_unit_or_a_denial_is_never_merged_away(old: str, new: str) -> None:
    assert told(old, new, 0.999) != ("same", True)


def test_the_same_statement_is_sure_only_above_the_model_s_threshold() -> None:
    assert told("User prefers tabs", "The user prefers tabs", LIMITS.same + 0.01) == ("same", True)
    assert told("User prefers tabs", "The user prefers tabs", LIMITS.same) == ("same", False)
    assert compare("User prefers tabs", "The user prefers tabs", None, LIMITS).sure is False


def test_a_model_nobody_measured_merges_only_the_same_words() -> None:
    assert thresholds("other-model@1") == NEVER
    assert compare("User prefers tabs", "The user prefers tabs", 0.999, NEVER).sure is False
    assert compare("User prefers tabs", "user prefers  tabs.", None, NEVER) == Verdict("same", True, "the same words")
    assert compare("The limit is 5", "The limit is 6", 0.999, NEVER).is_against


@pytest.mark.parametrize(
    ("old", "new", "values"),
    [
        ("Deploys run on Fly", "No, deploys run on Hetzner", ("Fly", "Hetzner")),
        ("The API listens on port 8080", "The API listens on port 9090", ("8080", "9090")),
        ("Standup is at 9:30", "Standup has moved to 10:00", ("9:30", "10:00")),
        ("The project uses npm", "The project switched from npm to pnpm", ("npm", "pnpm")),
        ("The session timeout is 30 minutes", "The session timeout is 2 hours", ("30 minutes", "2 hours")),
        ("The default branch is master", "The default branch is main", ("master", "main")),
        ("Ana is the tech lead of payments", "Miguel is now the tech lead of payments", ("Ana", "Miguel")),
        ("We use Jenkins for CI", "We use GitHub Actions instead of Jenkins for CI", ("Jenkins", "GitHub Actions")),
        ("User works at Netflix", "User works at Spotify", ("Netflix", "Spotify")),
    ],
)
def test_the_same_statement_with_another_value_revises_at_any_cosine(
    old: str, new: str, values: tuple[str, str]
) -> None:
    verdict = compare(old, new, FAR, LIMITS)
    assert (verdict.kind, verdict.sure) == ("revises", True)
    assert verdict.values == (values,)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("User eats meat", "User does not eat meat", "contradicts"),
        ("User prefers tabs", "User prefers spaces", "contradicts"),
        ("User drinks coffee every morning", "User no longer drinks coffee", "revises"),
        ("Always squash commits", "Never squash commits", "contradicts"),
        ("The office is open on Saturdays", "The office is closed on Saturdays", "contradicts"),
        ("The migration is reversible", "The migration is irreversible", "contradicts"),
        ("User trusts the QA team", "User distrusts the QA team", "contradicts"),
        ("The feature is on by default", "The feature is off by default", "contradicts"),
        ("User prefers Postgres over MySQL", "User prefers MySQL over Postgres", "revises"),
    ],
)
def test_a_denial_or_an_opposite_of_the_same_statement_is_sure(old: str, new: str, kind: str) -> None:
    assert told(old, new, FAR) == (kind, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I use Docker", "I've never used Docker"),
        ("I prefer pair programming", "I don't like pair programming"),
        ("User uses vim", "User uses emacs"),
        ("Customer data is stored in Germany", "Customer data is stored in Frankfurt"),
        ("Uses Unity and C#", "Switched from Unity to Godot"),
        ("Standup is at 9:30. Rita leads it.", "Standup is at 10:00"),
    ],
)
def test_what_may_contradict_is_flagged_and_no_more(old: str, new: str) -> None:
    verdict = compare(old, new, 0.6, LIMITS)
    assert verdict.is_against
    assert not verdict.sure


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User lives in Lisbon", "User works in Lisbon"),
        ("User likes hiking", "User likes cooking"),
        ("The staging database is Postgres 15", "The production database is Postgres 16"),
        ("The cache is enabled in production", "The cache is disabled in development"),
        ("Issue 12 is fixed", "Issue 13 is fixed"),
        ("Ran 5 km today", "Ran 7 km today"),
        ("Pedro prefers tabs", "Marta prefers spaces"),
        ("Deploys run on Fly", "Deploys run on Thursdays"),
        ("Standup is at 9:30", "Standup is on Mondays"),
        ("User uses npm", "User is thinking about switching from npm to pnpm"),
        ("Backups are stored in S3", "Backups are moved from S3 to Glacier after 30 days"),
        ("User drinks coffee", "User doesn't drink coffee in the evening"),
        ("User works at Netflix", "User worked at Spotify before"),
        ("User works at Netflix", "She works at Spotify"),
        ("User likes hot coffee", "User likes cold coffee"),
        ("A boy is climbing a wall", "A girl is climbing a wall"),
    ],
)
def test_what_can_both_be_true_is_not_flagged(old: str, new: str) -> None:
    assert not compare(old, new, 0.6, LIMITS).is_against


def test_a_document_is_compared_by_its_words_alone() -> None:
    text = "The limit is 5. " * (LONGEST // 10)
    assert compare(text, "The limit is 6.", NEAR, LIMITS).kind == "unrelated"
    assert compare(text, text, NEAR, LIMITS).sure


def test_a_text_of_several_statements_is_the_same_when_it_says_nothing_new() -> None:
    old = "User prefers tabs. Deploys run on Fly."
    assert told(old, "The deploys run on Fly") == ("same", True)
    assert told("Deploys run on Fly", old)[0] == "extends"


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_get_the_same_verdict_twice(old: str, new: str) -> None:
    verdict = compare(old, new, 0.9, LIMITS)
    assert compare(old, new, 0.9, LIMITS) == verdict
    assert compare(old, old, None, NEVER).kind == "same"
