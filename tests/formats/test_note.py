"""A day's notes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.history import notes
from memcli.formats.ids import day_in

LINES = st.sampled_from(
    ["[14:15] User: hi | Assistant: ho", "- [14:16] listed", "[14:17:03] seconds", "  [14:18]", "free text", "", " ",
     "# 2026-11-21", "[1:15] no time", "[25:99] odd", "\x0c[10:00] page", "\ufeff"]
)  # fmt: skip
DAYS = st.lists(LINES | st.text(max_size=12), max_size=12).map("\n".join)


@given(DAYS)
def test_notes_are_the_file_in_order(text: str) -> None:
    edge = 0
    for note in notes(text):
        assert note.start >= edge
        assert not text[edge : note.start].strip("\ufeff \t\r\n")
        assert text[note.start : note.end].strip("\ufeff \t\r\n")
        assert note.line == text.count("\n", 0, note.start) + 1
        edge = note.end
    assert not text[edge:].strip("\ufeff \t\r\n")


def test_a_note_begins_with_its_time_and_takes_the_lines_below() -> None:
    text = "# A day\n\n[14:15] User: hi\n  more\n- [14:20] listed\n* [14:21:30] with seconds\n"
    assert [(note.time, note.line, text[note.start : note.end].strip()) for note in notes(text)] == [
        ("", 1, "# A day"),
        ("14:15", 3, "[14:15] User: hi\n  more"),
        ("14:20", 5, "- [14:20] listed"),
        ("14:21", 6, "* [14:21:30] with seconds"),
    ]


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("notes/2026-11-21.md", "2026-11-21"),
        ("notes/2026/2026-11-21-berlin.md", "2026-11-21"),
        ("notes/2026-11-21/ideas.md", ""),
        ("notes/ideas.md", ""),
    ],
)
def test_the_day_is_in_the_name_of_the_file(path: str, day: str) -> None:
    assert day_in(path) == day


def test_a_byte_order_mark_hides_no_time() -> None:
    assert [note.time for note in notes("\ufeff[14:15] first\n[14:16] second\n")] == ["14:15", "14:16"]
