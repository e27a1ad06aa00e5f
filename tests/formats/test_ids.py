"""Ids and the names made of texts."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.ids import base32, created, is_id, new_id, slug, tail

INSTANTS = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001


@given(INSTANTS, st.binary(min_size=4, max_size=16))
def test_an_id_says_when_it_was_made(moment: datetime, noise: bytes) -> None:
    made = new_id("mem", moment, noise)
    when = created(made)
    assert is_id(made)
    assert when is not None
    assert abs(when - moment) <= timedelta(milliseconds=1.001)
    assert made.endswith(tail(made))


@given(INSTANTS, INSTANTS, st.binary(min_size=4), st.binary(min_size=4))
def test_ids_sort_by_their_time(one: datetime, other: datetime, noise: bytes, more: bytes) -> None:
    if abs(one - other) > timedelta(milliseconds=1):
        assert (new_id("mem", one, noise) < new_id("mem", other, more)) == (one < other)


def test_the_noise_is_the_end_of_the_id() -> None:
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    one, other = new_id("mem", moment, b"\0\0\0\1"), new_id("mem", moment, b"\0\0\0\2")
    assert (one[:-6], one[-6:], other[-6:]) == (other[:-6], "000001", "000002")


@pytest.mark.parametrize(
    "text",
    ["", "mem_", "mem_01kajd3v7m4kq7t", "mem_01kajd3v7m4kq7tzz", "MEM_01kajd3v7m4kq7tz", "mem_01kajd3v7m4kq7ti",
     "entries/mem_01kajd3v7m4kq7tz", "mem_01kajd3v7m4kq7tz\n", "_01kajd3v7m4kq7tz"],
)  # fmt: skip
def test_a_part_of_an_id_or_a_path_is_no_id(text: str) -> None:
    assert not is_id(text)
    assert created(text) is None


def test_a_moment_no_calendar_has_is_no_moment_of_creation() -> None:
    assert created("mem_" + "z" * 16) is None


@given(st.integers(0, 32**10 - 1))
def test_numbers_keep_their_order_in_base_32(number: int) -> None:
    assert int("".join("0123456789abcdefghijklmnopqrstuv"["0123456789abcdefghjkmnpqrstvwxyz".index(digit)]
                       for digit in base32(number, 10)), 32) == number  # fmt: skip


@given(st.text(max_size=200), st.integers(1, 60))
def test_a_slug_is_a_safe_name_and_its_own_slug(text: str, limit: int) -> None:
    name = slug(text, limit)
    assert len(name) <= limit
    assert not set(name) & set("/\\.:*?\"'<>|#\0 \t\r\n")
    assert name == name.strip("-")
    assert "--" not in name
    assert len(slug(text).encode()) <= 230  # with an ending it still fits a file's name
    if text.isascii():
        assert slug(name, limit) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("User prefers dark mode.", "user-prefers-dark-mode"),
        ("  it's _snake_case_  ", "its-snake-case"),
        ("../../etc/passwd", "etc-passwd"),
        ("Café 日記 Ω", "café-日記-ω"),
        ("cafe\u0301", "café"),
        ("!?…", ""),
        ("a" * 60, "a" * 48),
        ("word " * 20, "word-word-word-word-word-word-word-word-word"),
    ],
)
def test_a_slug_keeps_the_words(text: str, name: str) -> None:
    assert slug(text) == name
