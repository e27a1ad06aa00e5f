"""Where git left a conflict."""

from memcli.formats.text_lines import conflict_marker
from tests.tables import cases


@cases("text", "line")
def test_a_conflict_is_named_by_its_first_line(text: str, line: int) -> None:
    assert conflict_marker(text) == line


@cases("text")
def test_a_text_about_conflicts_is_not_in_conflict(text: str) -> None:
    assert conflict_marker(text) is None
