"""Unified diffs, from tools and from language models."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import RefusedError
from memcli.formats.unified_diff import apply_patch, unified
from tests.tables import cases

POEM = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
LINES = st.sampled_from(
    ["", "a", "b", "-", "--- x", "+++ y", "@@", "@@ -1,2 +1 @@", " ", "-- a", "++ b", "\\ No", "x\r", "\u2028", "```"]
)
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n"])
TEXTS = st.builds(
    lambda lines, last: "".join(map("".join, lines)) + last,
    st.lists(st.tuples(LINES, ENDS), max_size=12),
    st.sampled_from(["", "", "z", "a", "x\r"]),
)


@settings(max_examples=300)
@given(TEXTS, TEXTS, st.integers(0, 30), st.integers(0, 30))
def test_a_diff_applies_to_what_it_was_made_from(old: str, new: str, cut: int, end: int) -> None:
    assert apply_patch(old, unified(old, new, "a.md")) == new
    near = old[:cut] + new[:end] + old[cut + 3 :]
    assert apply_patch(old, unified(old, near, "a.md")) == near


def test_a_diff_names_the_file_and_missing_line_ends() -> None:
    assert unified("a\nb", "a\nc\n", "notes/x\n.md") == (
        "--- a/notes/x?.md\n+++ b/notes/x?.md\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )
    assert unified("same", "same", "x") == ""


def test_several_hunks_and_the_headers_of_git_are_taken() -> None:
    diff = (
        "diff --git a/x.md b/x.md\nindex 1234567..89abcde 100644\n--- a/x.md\n+++ b/x.md\n"
        "@@ -1,3 +1,4 @@ heading\n one\n-two\n+TWO\n+2\n three\n@@ -8,3 +9,2 @@\n eight\n-nine\n ten\n-- \n2.39.5\n\n"
    )
    assert apply_patch(POEM, diff) == POEM.replace("two\n", "TWO\n2\n").replace("nine\n", "")


@cases("diff")
def test_wrong_numbers_and_wrappings_of_a_language_model_do_no_harm(diff: str) -> None:
    assert apply_patch(POEM, diff) == POEM.replace("five", "FIVE")


def test_bare_empty_lines_are_context() -> None:
    assert apply_patch("a\n\nb\n\nc\n", "@@ -1,5 +1,5 @@\n a\n\n-b\n+B\n\n c\n") == "a\n\nB\n\nc\n"
    assert apply_patch("a\n\nb\n\nc\n", "@@ -1,9 +1,9 @@\n a\n\n-b\n+B\n\n c\n") == "a\n\nB\n\nc\n"


def test_the_nearest_of_several_places_is_meant() -> None:
    text = "x\na\nx\nb\nx\nc\n"
    assert apply_patch(text, "@@ -6,1 +6,1 @@\n-x\n+y\n") == "x\na\nx\nb\ny\nc\n"
    assert apply_patch(text, "@@ -3 +3 @@\n-x\n+y\n") == "x\na\ny\nb\nx\nc\n"


def test_later_hunks_are_looked_for_as_far_off_as_the_one_before() -> None:
    text = "new\nnew\nnew\n" + "a\nx\n" * 6
    assert apply_patch(text, "@@ -1,2 +1,2 @@\n-new\n-a\n+N\n+A\n@@ -5 +5 @@\n-x\n+y\n") == (
        "new\nnew\nN\nA\nx\na\ny\n" + "a\nx\n" * 4
    )


@cases("text", "diff", "result")
def test_line_ends_stay_those_of_the_text(text: str, diff: str, result: str) -> None:
    assert apply_patch(text, diff) == result


@cases("diff", "says")
def test_what_does_not_apply_is_refused_by_hunk_and_line(diff: str, says: str) -> None:
    with pytest.raises(RefusedError) as refused:
        apply_patch(POEM, diff)
    assert says in str(refused.value)


@pytest.mark.parametrize("header", ["@@", "@@ -4 +4 @@"])
def test_two_places_equally_near_are_refused(header: str) -> None:
    with pytest.raises(RefusedError, match=r"hunk 1 fits at lines 2 and 6 alike, beginning with 'x'"):
        apply_patch("a\nx\nb\nc\nd\nx\ne\n", f"{header}\n-x\n+y\n")


@given(st.text(st.sampled_from("@-+ 0123,\n\\ab\r\x00\ud800`"), max_size=60), TEXTS)
def test_any_scribble_is_applied_or_refused(diff: str, text: str) -> None:
    try:
        assert isinstance(apply_patch(text, diff), str)
    except RefusedError as refused:
        assert str(refused)  # noqa: PT017
