"""One line for a text."""

from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.text_lines import first_line, shorten, summarise
from tests.tables import cases

MARKDOWN = st.lists(
    st.sampled_from(
        ["# Head", "- item", "> said", "1. one", "```", "~~~sh", "---", "", "  ", "plain words", "日本語", "\x0c"]
    )
    | st.text(max_size=30),
    max_size=8,
).map("\n".join)


@given(MARKDOWN | st.text(max_size=400), st.text(max_size=40), st.integers(2, 200))
def test_a_summary_is_one_line_within_its_limit(text: str, title: str, limit: int) -> None:
    for line in (shorten(text, limit), summarise(title, text, limit)):
        assert len(line) <= max(limit, 0) or line == title
        assert len(line.splitlines()) <= 1
    assert len(first_line(text).splitlines()) <= 1


@given(MARKDOWN)
def test_a_text_that_says_something_has_a_summary(text: str) -> None:
    if any(word in text for word in ("Head", "item", "said", "one", "plain", "日本語")):
        assert summarise("", text)


@cases("title", "body", "line")
def test_a_summary_reads_like_a_sentence(title: str, body: str, line: str) -> None:
    assert summarise(title, body) == line


@cases("text", "line")
def test_the_first_line_is_the_first_that_says_something(text: str, line: str) -> None:
    assert first_line(text) == line


def test_a_long_text_is_cut_at_a_word() -> None:
    assert shorten("one two three, four", 15) == "one two three…"
    assert shorten("x" * 30, 10) == "x" * 9 + "…"


def test_a_comment_alone_on_its_line_says_nothing() -> None:
    assert first_line("<!-- mem:rollup 1 -->\nThe shop.") == "The shop."
    assert summarise("Shop", "<!-- a -->\nIt sells <!-- b --> tea.") == "Shop: It sells <!-- b --> tea."
    assert first_line("<!-- a --> tea <!-- b -->") == "<!-- a --> tea <!-- b -->"
