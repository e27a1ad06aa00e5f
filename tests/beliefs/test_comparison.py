"""What two texts are to each other for certain: twins, and what "Correction:" corrects; nothing is guessed."""

from hypothesis import given
from hypothesis import strategies as st

from memcli.beliefs.neighbours import are_twins, correction_in, is_correction_of
from tests.tables import cases


@cases("old", "new")
def test_form_alone_makes_no_other_memory(old: str, new: str) -> None:
    assert are_twins(old, new)
    assert are_twins(new, old)


@cases("one", "other")
def test_a_sign_or_a_case_that_carries_meaning_is_kept_apart(one: str, other: str) -> None:
    assert not are_twins(one, other)


@cases("old", "new")
def test_a_correction_names_what_it_corrects(old: str, new: str) -> None:
    assert is_correction_of(new, old)
    assert not is_correction_of(old, new)


@cases("old", "new")
def test_what_may_still_be_true_is_never_taken_for_corrected(old: str, new: str) -> None:
    assert not is_correction_of(new, old)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_are_compared(old: str, new: str) -> None:
    assert are_twins(old, old)
    assert not is_correction_of(f"Correction: {old}", old)
    assert correction_in(f"Correction: {new}") or not new.strip("*_ ,:–—-")
