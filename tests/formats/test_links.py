"""What counts as a link in a text, and what only looks like one."""

from memcli.formats.links import Link, bare, links
from tests.tables import cases


@cases("text", "target", "is_path")
def test_a_link_names_its_target(text: str, target: str, is_path: bool) -> None:
    assert list(links(f"\n{text}\n")) == [Link(2, target, is_path)]


@cases("text")
def test_code_the_web_and_other_files_are_no_links(text: str) -> None:
    assert list(links(text)) == []


def test_text_behind_a_closed_fence_counts_again() -> None:
    assert [link.line for link in links("```\n[[a]]\n```\n[[b]]\n")] == [4]


def test_many_brackets_take_no_time() -> None:
    assert list(links("[[" * 50_000 + "`" * 50_000 + "](" * 50_000)) == []


def test_a_reference_may_be_written_as_a_link() -> None:
    assert [bare(one) for one in ("[[a|b]]", " a ", "[[a]] and [[b]]")] == ["a", "a", "[[a]] and [[b]]"]
