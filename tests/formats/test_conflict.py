"""Where git left a conflict."""

import pytest

from memcli.formats.text_lines import conflict_marker


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n", 1),
        ("one\r\n<<<<<<< HEAD\r\na\r\n=======\r\nb\r\n>>>>>>> other\r\n", 2),
        ("a\n<<<<<<< HEAD\nours\n||||||| base\nold\n=======\ntheirs\n>>>>>>> topic", 2),
        ("<<<<<<< left open\n\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n", 1),
    ],
)
def test_a_conflict_is_named_by_its_first_line(text: str, line: int) -> None:
    assert conflict_marker(text) == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Heading\n=======\n",
        "<<<<<<< HEAD\nnever closed\n",
        ">>>>>>> other\n<<<<<<< HEAD\n",
        "    <<<<<<< HEAD\n    a\n    =======\n    b\n    >>>>>>> other\n",
        "say `<<<<<<< ` and `>>>>>>> `\n",
        "<p>\n>>>>>>> deep quote\n",
    ],
)
def test_a_text_about_conflicts_is_not_in_conflict(text: str) -> None:
    assert conflict_marker(text) is None
