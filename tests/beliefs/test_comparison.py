"""What two texts are to each other for certain: twins, and what "Correction:" corrects; nothing is guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.beliefs.comparison import are_twins, correction_in, is_correction_of


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User prefers tabs", "user  prefers\nTABS."),
        ("Redis is fast.", "redis is fast"),
        ("The limit is 3.", "the limit is 3"),
        ("用户喜欢猫。", "用户喜欢猫"),
    ],
)
def test_form_alone_makes_no_other_memory(old: str, new: str) -> None:
    assert are_twins(old, new)
    assert are_twins(new, old)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The offset is -5", "The offset is 5"),
        ("The ratio is 1.5", "The ratio is 15"),
        ("Written in C", "Written in C++"),
        ("Alert at < 5", "Alert at 5"),
        ("The rate is 10", "The rate is 10%"),
        ("Is it on?", "Is it on"),
        ("Load .env first", "Load env first"),
        ("Call it with -v", "Call it with -V"),
        ("The link does 5 Mb", "The link does 5 MB"),
        ("Read /etc/Hosts", "Read /etc/hosts"),
        ("Set MAX_SIZE", "Set max_size"),
        ("Alle Maße prüfen", "Alle Masse prüfen"),
    ],
)
def test_a_sign_or_a_case_that_carries_meaning_is_kept_apart(one: str, other: str) -> None:
    assert not are_twins(one, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Deploys run on Fly", "Correction: deploys run on Hetzner"),
        ("Kai is allergic to nuts", "Correction: Kai is not allergic to nuts."),
        ("My sister lives in Perth.", "Correction: my sister doesn't live in Perth"),
        ("The market opens at 7.", "Correction: the market opens at 8, not at 7."),
        ("Rehearsals are on Tuesdays.", "Correction: rehearsals are on Wednesdays now, not on Tuesdays."),
        ("The dentist is Dr. Lund.", "Correction: the dentist is Dr. Hansen, not Dr. Lund."),
        ("The recipe needs 200 g of butter.", "I was wrong: the recipe needs 250 g of butter, not 200 g."),
        ("The branch is cut on Friday.", "Sorry, correction: the branch is cut on Thursday rather than on Friday."),
    ],
)
def test_a_correction_names_what_it_corrects(old: str, new: str) -> None:
    assert is_correction_of(new, old)
    assert not is_correction_of(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Mia reviews the storage code", "Correction: Tom reviews the storage code"),
        ("The billing service uses Redis", "Correction: the billing service runs on Fly"),
        ("The gym closes at 21:00.", "Correction: the pool closes at 22:00, not at 21:00."),
        ("The plumber is Mr. Novak.", "Correction: the electrician is Mr. Kral, not Mr. Novak."),
        ("Rehearsals are on Tuesdays.", "Correction: rehearsals are on Wednesdays, not on Mondays."),
        ("The key is with Mrs. Olsen.", "Correction: the parcel is with Mr. Berg, not with Mrs. Olsen."),
        ("The shop opens at 8.", "Correction: the shop opens at 8, not at 9."),
        ("The shop opens at 8.", "Correction: the shop opens at 8"),
        ("Deploys run on Fly", "No, deploys run on Hetzner"),
        ("Deploys run on Fly", "Deploys run on Hetzner"),
        ("User drinks coffee", "User no longer drinks coffee"),
        ("The project uses npm", "The project switched from npm to pnpm"),
    ],
)
def test_what_may_still_be_true_is_never_taken_for_corrected(old: str, new: str) -> None:
    assert not is_correction_of(new, old)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_are_compared(old: str, new: str) -> None:
    assert are_twins(old, old)
    assert not is_correction_of(f"Correction: {old}", old)
    assert correction_in(f"Correction: {new}") or not new.strip("*_ ,:–—-")
