"""Records of a history file are sorted and doubles left out, and no record is changed or lost by it."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.history import disorder, in_order, records, unreal_dates, with_record


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
