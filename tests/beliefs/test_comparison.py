"""Texts are compared, and the fields of two memories that are one are merged."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.beliefs.neighbours import are_twins, correction_in, is_correction_of
from memcli.beliefs.supersession import told_anew
from memcli.formats.entry import FIELDS, Entry
from memcli.formats.entry_fields import FILLED, JOINED, KEPT, MOST
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


OLD = Entry("old", "The port is 8080.", source="user", trust=1.0)
BEFORE_AND_AFTER: dict[str, tuple[Any, Any, Any]] = {
    FILLED: ("mine", "other", "mine"),
    JOINED: (("a", "b"), ("b", "c"), ["a", "b", "c"]),
    MOST: (0.4, 0.6, 0.6),
}


def told(name: str, one: Any, other: Any) -> Any:
    old, new = replace(OLD, **{name: one}), replace(OLD, id="new", **{name: other})
    return told_anew(old, new)[0].get(name, "unchanged")


@pytest.mark.parametrize("name", [name for name, one in FIELDS.items() if one.merge != KEPT])
def test_a_field_that_only_the_second_one_has_is_taken_over(name: str) -> None:
    plain = getattr(Entry("", ""), name)
    brought = {str: "x", tuple: ("x",), bool: True, dict: {"x": "y"}}.get(type(plain), 0.5)
    assert told(name, plain, brought) == (["x"] if brought == ("x",) else brought)
    assert told(name, brought, plain) == "unchanged"


@pytest.mark.parametrize("name", ["title", "tags", "files", "confidence", "salience"])
def test_where_both_have_a_field_its_rule_says_which_stays(name: str) -> None:
    one, other, expected = BEFORE_AND_AFTER[FIELDS[name].merge]
    assert told(name, one, other) == (expected if expected != one else "unchanged")
    assert told(name, one, one) == "unchanged"


def test_keys_of_metadata_are_added_and_none_is_changed() -> None:
    assert told("metadata", {"a": 1}, {"a": 2, "b": 3}) == {"a": 1, "b": 3}


def test_what_a_memory_is_known_by_stays_that_of_the_first_one() -> None:
    new = replace(OLD, id="new", created_at="2020-01-01T00:00:00Z", status="archived", superseded_by="x", strength=9)
    assert told_anew(OLD, new) == ({}, None)


def test_every_rule_is_one_that_merging_knows() -> None:
    assert {one.merge for one in FIELDS.values()} == {FILLED, JOINED, MOST, KEPT}
    assert {one.name for one in fields(Entry)} - FIELDS.keys() == {"body", "description"}
