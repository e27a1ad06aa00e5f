"""Records of history and lines of notes are read and put into their order."""

from collections import Counter
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.history import disorder, in_order, merged, notes, records, render, unreal_dates, with_record
from memcli.formats.ids import day_in
from tests.tables import cases

LINES = st.sampled_from(
    [
        *("## 2026-02-27T14:30:00.000Z <!-- hist_a -->", "## 2026-02-27T14:30:00Z <!-- hist_b -->", "## 2026-02-28"),
        *("[2026-02-27 14:30] It rained.", "[2026-02-28 09:00] It snowed.", "text", "", "# History", "## Other", "  "),
        *("## 2026-02-27T14:30:00Z <!-- hist_a --> ", "[2026-13-99 99:99] no day", "\ufeff", "a\u2028## 2026-01-01"),
    ]
)
FILES = st.lists(LINES | st.text(max_size=10), max_size=12).map("\n".join)


@given(FILES)
def test_records_stand_in_order_and_lose_nothing_but_headings(text: str) -> None:
    edge = 0
    for record in records(text):
        between = text[edge : record.start]
        assert record.start >= edge
        assert not [
            line
            for line in between.split("\n")
            if line.replace("\ufeff", "").strip() and not line.lstrip("\ufeff").startswith("#")
        ]
        assert all(line in text[record.start : record.end] for line in record.text.split("\n"))
        assert record.line == text.count("\n", 0, record.start) + 1
        edge = record.end
    assert not [
        line
        for line in text[edge:].split("\n")
        if line.replace("\ufeff", "").strip() and not line.lstrip("\ufeff").startswith("#")
    ]


@given(FILES)
def test_anchors_name_a_record_of_no_id_by_its_line(text: str) -> None:
    found = records(text)
    assert len({record.line for record in found}) == len(found)
    assert all(record.anchor == (record.id or f"L{record.line}") for record in found)


def test_our_records_have_an_id_and_a_moment() -> None:
    text = (
        "# History\n\n## 2026-02-27T14:30:00.000Z <!-- hist_a -->\n\n[2026-02-27 15:30] One.\n\nMore of one.\n\n"
        "## 2026-02-28T10:00:00.000Z <!-- hist_b -->\n\nTwo.\n"
    )
    one, two = records(text)
    assert (one.id, one.timestamp, one.line) == ("hist_a", "2026-02-27T14:30:00Z", 3)
    assert one.text == "[2026-02-27 15:30] One.\n\nMore of one."
    assert (two.id, two.timestamp, two.text) == ("hist_b", "2026-02-28T10:00:00Z", "Two.")


def test_dated_paragraphs_of_other_tools_are_records_in_local_time() -> None:
    text = "[2026-07-01 10:00] One.\n\n[2026-07-01 11:00] Two,\non two lines.\n"
    one, two = records(text, ZoneInfo("Europe/Lisbon"))
    assert (one.timestamp, one.anchor) == ("2026-07-01T09:00:00Z", "L1")
    assert (two.timestamp, two.anchor, two.text) == (
        "2026-07-01T10:00:00Z",
        "L3",
        "[2026-07-01 11:00] Two,\non two lines.",
    )


def test_a_byte_order_mark_hides_no_record() -> None:
    (found,) = records("\ufeff## 2026-02-27T14:30:00Z <!-- hist_a -->\r\n\r\nIt rained.\r\n")
    assert (found.id, found.text) == ("hist_a", "It rained.")


def test_what_is_written_before_the_first_date_is_kept_as_a_record() -> None:
    (found,) = records("# History\n\nIt all began somewhere.\n")
    assert (found.text, found.timestamp) == ("It all began somewhere.", "")


def test_merged_branches_are_sorted_and_told_once() -> None:
    text = (
        "## 2026-02-28T10:00:00Z <!-- hist_b -->\n\nTwo.\n\n## 2026-02-27T10:00:00Z <!-- hist_a -->\n\nOne.\n\n"
        "## 2026-02-28T10:00:00Z <!-- hist_b -->\n\nTwo.\n\n[2026-02-26 10:00] Zero.\n\n[2026-02-26 10:00] Zero.\n"
    )
    assert [record.text[-5:] for record in merged(records(text, UTC))] == ["Zero.", "Zero.", "One.", "Two."]


@given(st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9999, 1, 1)), st.text(min_size=1, max_size=80))  # noqa: DTZ001
def test_a_record_written_is_one_record_whatever_its_text(moment: datetime, text: str) -> None:
    instant = moment.replace(tzinfo=UTC)
    said = text.strip() or "something"
    one, two = records(render("hist_a", instant, said, UTC) + render("hist_b", instant, "x", UTC))
    assert (one.id, two.id) == ("hist_a", "hist_b")
    assert all(line in one.text for line in said.split("\n"))
    assert one.timestamp == two.timestamp


def record(day: int, name: str, text: str = "") -> str:
    return f"## 2026-11-{day:02}T10:00:00.000Z <!-- hist_{name} -->\n\n[2026-11-{day:02} 10:00] {text or name}.\n"


A, B, C = record(1, "a"), record(2, "b"), record(3, "c")


@pytest.mark.parametrize(
    ("text", "sorted_"),
    [
        (f"{A}\n{B}\n{C}", f"{A}\n{B}\n{C}"),
        (f"{C}\n{A}\n{B}", f"{A}\n{B}\n{C}"),
        (f"# History\n\nAll of it.\n\n{B}\n{A}", f"# History\n\nAll of it.\n\n{A}\n{B}"),
        (f"{B}\n{A}".rstrip("\n"), f"{A}\n{B}".rstrip("\n")),
        (f"{A}\n{A}\n{B}", f"{A}\n{B}"),
        (f"{B}\n{A}".replace("\n", "\r\n"), f"{A}\n{B}".replace("\n", "\r\n")),
        (f"\ufeff{B}\n{A}", f"\ufeff{A}\n{B}"),
        (f"{B}\n## A heading of mine\n\nwords\n\n{A}", f"{A}\n{B}\n## A heading of mine\n\nwords\n\n"),
        ("", ""),
        ("just words\n", "just words\n"),
    ],
)
def test_sorting(text: str, sorted_: str) -> None:
    assert in_order(text).split() == sorted_.split()
    assert in_order(in_order(text)) == in_order(text)


def test_the_space_between_records_stays_even() -> None:
    assert in_order(f"{C}\n{A}\n{B}") == f"{A}\n{B}\n{C}"


def test_disorder_is_named_by_line() -> None:
    assert list(disorder(f"{B}\n{A}\n{B}")) == [
        (5, "a record of 2026-11-01T10:00:00Z after one of 2026-11-02T10:00:00Z", True),
        (9, "the record hist_b stands here twice", True),
    ]
    assert list(disorder(f"{A}\n{B}\n{C}")) == []


def test_two_records_of_one_id_that_differ_both_stay() -> None:
    text = f"{A}\n{record(1, 'a', 'other')}"
    assert list(disorder(text)) == [(5, "the record hist_a stands here twice with different texts", False)]
    assert in_order(text) == text


def test_records_without_an_id_are_never_doubles() -> None:
    line = "[2026-11-01 10:00] The same again.\n\n"
    assert in_order(line * 2) == line * 2
    assert list(disorder(line * 2)) == []


def test_a_day_that_does_not_exist_is_named() -> None:
    assert list(unreal_dates(f"{A}\n## 2026-02-30T10:00:00Z <!-- hist_x -->\n\nNo.\n")) == [
        (5, "## 2026-02-30T10:00:00Z <!-- hist_x -->")
    ]
    assert list(unreal_dates("\ufeff## 2026-02-30T10:00:00Z\n\nNo.\n")) == [(1, "## 2026-02-30T10:00:00Z")]


@given(st.lists(st.tuples(st.integers(1, 28), st.sampled_from("abcdef"), st.sampled_from(["", "x", "y\n\nz"]))))
def test_sorted_the_records_are_the_same_ones_in_order(parts: list[tuple[int, str, str]]) -> None:
    text = "\n".join(record(*part) for part in parts)
    before = Counter({(one.id, one.timestamp, one.text): 1 for one in records(text)})
    after = records(in_order(text))
    assert Counter((one.id, one.timestamp, one.text) for one in after) == before
    assert [one.timestamp for one in after] == sorted(one.timestamp for one in after)


@pytest.mark.parametrize(
    "before",
    [
        f"{A}\n{C}",
        C,
        f"# Log\n\n{C}",
        f"\ufeff{C}",
        f"{A}\n[2026-11-03 09:00] Of another tool.\n",
        A,
        f"# Log\n\n{A}",
        "",
    ],
)
def test_a_record_made_by_a_clock_that_is_behind_stands_where_its_time_belongs(before: str) -> None:
    text = with_record(before, f"\n{B}" if before else B)
    assert list(disorder(text)) == []
    assert in_order(text) == text
    assert Counter(one.text for one in records(text)) == Counter(one.text for one in records(before) + records(B))
    assert text.startswith(before[:1])
    assert "\n\n\n" not in text


NOTE_LINES = st.sampled_from(
    ["[14:15] User: hi | Assistant: ho", "- [14:16] listed", "[14:17:03] seconds", "  [14:18]", "free text", "", " ",
     "# 2026-11-21", "[1:15] no time", "[25:99] odd", "\x0c[10:00] page", "\ufeff"]
)  # fmt: skip
DAYS = st.lists(NOTE_LINES | st.text(max_size=12), max_size=12).map("\n".join)


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


@cases("path", "day")
def test_the_day_is_in_the_name_of_the_file(path: str, day: str) -> None:
    assert day_in(path) == day


def test_a_byte_order_mark_hides_no_time() -> None:
    assert [note.time for note in notes("\ufeff[14:15] first\n[14:16] second\n")] == ["14:15", "14:16"]
