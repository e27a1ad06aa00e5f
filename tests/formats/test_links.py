"""What counts as a link in a text, and what only looks like one."""

import pytest

from memcli.formats.links import Link, bare, links


@pytest.mark.parametrize(
    ("text", "target", "is_path"),
    [
        ("see [[deploy-loja]]", "deploy-loja", False),
        ("[[mariana-58gm45|Mariana]] said", "mariana-58gm45", False),
        ("[[page#Part two]]", "page", False),
        ("![[kyoto-books.jpg]]", "kyoto-books.jpg", False),
        ("| a | [[b]] |", "b", False),
        ("| [[b|c]] | d |", "b", False),
        (r"| [[b\|c]] | d |", "b", False),
        (r"| [[folder/b#Part\|the part]] |", "folder/b", False),
        (r"| ![[b.png\|100]] | d |", "b.png", False),
        (r"| [[b^block\|c]] |", "b", False),
        ("- [Role](user_role.md) — who", "user_role.md", True),
        ("[Role](<user role.md> 'title')", "user role.md", True),
        ("[Role](a%20b/c.md#part)", "a b/c.md", True),
        ("[日本語](日本語メモ.md)", "日本語メモ.md", True),
    ],
)
def test_a_link_names_its_target(text: str, target: str, is_path: bool) -> None:
    assert list(links(f"\n{text}\n")) == [Link(2, target, is_path)]


@pytest.mark.parametrize(
    "text",
    [
        "if [[ -f x ]]; then",
        "`[[table]]` in TOML",
        "``a ` [[b]]``",
        "```\n[[table]]\n```",
        "~~~toml\n[[table]]\n```\n[x](y.md)\n~~~",
        "- ```\n  [[table]]\n  ```",
        "[[#Part of this page]]",
        "[[]]",
        "\\[[no]]",
        "[web](https://example.org/a.md)",
        "[here](#part)",
        "[root](/etc/a.md)",
        "[home](~/a.md)",
        "[picture](a.png)",
        "a[1](b)",
    ],
)
def test_code_the_web_and_other_files_are_no_links(text: str) -> None:
    assert list(links(text)) == []


def test_text_behind_a_closed_fence_counts_again() -> None:
    assert [link.line for link in links("```\n[[a]]\n```\n[[b]]\n")] == [4]


def test_many_brackets_take_no_time() -> None:
    assert list(links("[[" * 50_000 + "`" * 50_000 + "](" * 50_000)) == []


def test_a_reference_may_be_written_as_a_link() -> None:
    assert [bare(one) for one in ("[[a|b]]", " a ", "[[a]] and [[b]]")] == ["a", "a", "[[a]] and [[b]]"]
