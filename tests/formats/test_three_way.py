"""Two changes of one text become one, and nobody's lines are lost."""

from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.page_merge import merged

PAGE = st.lists(st.sampled_from([*"abcdefgh", "", " i"]), max_size=12)


@given(PAGE, PAGE)
def test_a_change_of_one_side_is_taken(base: list[str], changed: list[str]) -> None:
    assert merged(base, changed, base) == changed
    assert merged(base, base, changed) == changed


@given(PAGE, PAGE, PAGE)
def test_no_line_that_either_side_added_is_lost(base: list[str], ours: list[str], theirs: list[str]) -> None:
    result = {line.strip() for line in merged(base, ours, theirs)}
    known = {line.strip() for line in base}
    assert {line.strip() for line in (*ours, *theirs)} - known <= result


def test_changes_of_different_lines_are_both_taken() -> None:
    assert merged(list("abcde"), list("aXcde"), list("abcdY")) == list("aXcdY")


def test_where_both_changed_a_line_ours_stays_and_theirs_follows() -> None:
    assert merged(list("abc"), list("aXc"), list("aYc")) == list("aXYc")
