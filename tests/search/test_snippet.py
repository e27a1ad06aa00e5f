"""The passage shown for a hit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.search.query import LIMIT, snippet

PIECES = st.sampled_from(
    ["The quagga sleeps. ", "\n", "\n\n", "# Head\n", "- item\n", "word " * 30, "日本語。" * 20, "x" * 200, "```\n"]
)
TEXTS = st.lists(PIECES | st.text(max_size=30), max_size=12).map("".join)


@given(TEXTS, st.text(max_size=20) | st.sampled_from(["quagga", "日本", "word", ""]), st.integers(20, 200))
def test_a_passage_is_one_line_of_the_text_at_the_line_it_names(text: str, query: str, limit: int) -> None:
    said, offset = snippet(text, query, limit)
    assert len(said) <= limit
    assert len(said.splitlines()) <= 1
    assert 0 <= offset <= text.count("\n")
    first = said.lstrip("…").split(" ")[0].rstrip("…")
    assert first in text


@given(st.lists(st.text("abc ", max_size=60), max_size=8), st.lists(st.text("abc ", max_size=60), max_size=8))
def test_the_sentence_asked_for_is_shown(before: list[str], after: list[str]) -> None:
    text = "\n".join([*before, "Here the quagga sleeps at last.", *after])
    said, _ = snippet(text, "where does the quagga sleep")
    assert "quagga sleeps" in said
    if len(text) > LIMIT:
        _, offset = snippet(text, "where does the quagga sleep")
        assert offset <= len(before)


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("", "x", ("", 0)),
        ("# Head\n\nShort text.\n", "x", ("Head Short text.", 0)),
        ("\n\nShort.\n", "x", ("Short.", 2)),
        ("- one\n> two\n", "x", ("one two", 0)),
    ],
)
def test_a_short_text_is_shown_whole_and_without_its_marks(text: str, query: str, expected: tuple[str, int]) -> None:
    assert snippet(text, query) == expected


def test_a_long_sentence_is_entered_shortly_before_the_word_asked_for() -> None:
    said, offset = snippet("word " * 200 + "quagga " + "word " * 200, "quagga")
    assert said.startswith("…word")
    assert "quagga" in said
    assert offset == 0


def test_what_precedes_the_passage_is_marked() -> None:
    text = "First sentence of no use. " * 8 + "The quagga sleeps."
    assert snippet(text, "quagga")[0] == "…The quagga sleeps."


def test_marks_of_mem_are_not_shown() -> None:
    said = "<!-- mem:promoted -->\n- User prefers tabs. <!-- mem_01kh5zpjgkbz6vpb 3f2a19 -->\n<!-- /mem:promoted -->\n"
    assert snippet(said, "tabs")[0] == "User prefers tabs."
    assert snippet("<!-- a person's own --> tea", "tea")[0] == "<!-- a person's own --> tea"


@pytest.mark.parametrize("also", ["", ";；"])
def test_a_text_breaks_where_its_sentences_do_in_either_script(also: str) -> None:
    from memcli.language.sentences import breaks

    text = "Is it? 1.5 V!\n\nYes; 真的。 对； end"
    want = ["Is it?", "1.5 V!", *(["Yes;", "真的。", "对；", "end"] if also else ["Yes; 真的。", "对； end"])]
    assert breaks(also).split(text) == want
