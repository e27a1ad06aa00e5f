"""A page of markdown read as sections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.memory_page import sections

LINES = st.sampled_from(
    ["# One", "## Two", "# One", "### Three ##", "#no heading", "####### seven", "```", "~~~~", "```sh", "text", "",
     "  ", "# !!!", "# One-2", "---", "\x0c# Page", "a\u2028# b", "# CR\r", "    # code", "\ufeff"]
)  # fmt: skip
PAGES = st.lists(LINES | st.text(max_size=12), max_size=12).map("\n".join)


@given(PAGES)
def test_sections_are_the_page_in_order_each_with_a_name_of_its_own(text: str) -> None:
    found = sections(text)
    edge = 0
    for section in found:
        assert section.start >= edge
        assert not text[edge : section.start].strip("\ufeff \t\r\n")
        assert section.end > section.start
        assert section.line == text.count("\n", 0, section.start) + 1
        edge = section.end
    assert not text[edge:].strip("\ufeff \t\r\n")
    anchors = [section.anchor for section in found]
    assert len(set(anchors)) == len(anchors)


def anchors(text: str) -> list[str]:
    return [section.anchor for section in sections(text)]


def test_a_section_knows_the_headings_above_it() -> None:
    page = "before\n# A\n## B\ntext\n### C\n## D\n# E\n"
    assert [section.headings for section in sections(page)] == [
        (), ("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)
    ]  # fmt: skip


def test_headings_of_one_name_have_numbered_anchors_that_no_other_heading_has() -> None:
    assert anchors("# A\n# A\n# A-2\n# A\n") == ["a", "a-2", "a-2-2", "a-3"]


def test_what_looks_like_a_heading_in_code_is_none() -> None:
    assert anchors("# A\n```sh\n# B\n```\n~~~\n# C\n```\n~~~\n# D\n") == ["a", "d"]


def test_a_fence_left_open_takes_the_rest() -> None:
    assert anchors("# A\n```\n# B\n") == ["a"]


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff\n"])
def test_a_blank_page_has_no_sections(text: str) -> None:
    assert sections(text) == ()


def test_a_page_of_windows_lines_is_read_alike() -> None:
    assert anchors("# A\r\n\r\ntext\r\n## B ##\r\n") == ["a", "b"]


def test_a_byte_order_mark_hides_no_heading() -> None:
    assert anchors("\ufeff# A\n\ntext\n") == ["a"]
