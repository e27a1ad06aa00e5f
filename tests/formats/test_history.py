"""History files: our records, and what other tools and people wrote there."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.history import merged, records, render

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
