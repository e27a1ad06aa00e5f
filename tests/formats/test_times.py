"""Times and ids are read as they were written."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.ids import (
    base32,
    created,
    date_words,
    day_of,
    is_id,
    new_id,
    parse_time,
    parse_when,
    slug,
    stamp,
    tail,
)
from tests.tables import cases

LISBON = ZoneInfo("Europe/Lisbon")
NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
ZONES = st.sampled_from([UTC, LISBON, ZoneInfo("Asia/Kathmandu"), ZoneInfo("America/St_Johns")])
INSTANTS = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=st.just(UTC))  # noqa: DTZ001


@cases("text", "expected")
def test_a_written_moment_is_read(text: str, expected: str) -> None:
    moment = parse_time(text)
    assert moment is not None
    assert stamp(moment) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2026", "2026-11", "2026-13-01", "2026-02-29", "2026-11-31", "0000-01-01", "21.11.2026"),
        *("2026-11-21T25:00", "2026-11-21T14:60", "2026-11-21T14:15:60", "2026-11-21T14", "20261121"),
        *("2026-11-21T14:15+24:00", "2026-11-21T14:15+01:60", "0001-01-01T00:00+14:00", "9999-12-31T23:00-02:00"),
        *("2026-11-21\n2026-11-22", "2026-11-21T14:15:16Z.", "-026-11-21"),
        *("2026-W47-6T14:15:16Z", "2026-11-21T24:00:00Z", "2026-11-21T141516.7Z", "2026-02-30T14:15:16Z"),
    ],
)
def test_what_is_no_moment_is_none(text: str) -> None:
    assert parse_time(text) is None


def test_a_time_without_an_offset_is_local() -> None:
    assert parse_time("2026-07-01 10:00", LISBON) == datetime(2026, 7, 1, 9, tzinfo=UTC)
    assert parse_time("2026-12-01 10:00", LISBON) == datetime(2026, 12, 1, 10, tzinfo=UTC)
    assert parse_time("2026-07-01 10:00Z", LISBON) == datetime(2026, 7, 1, 10, tzinfo=UTC)


@given(st.text(max_size=40) | st.from_regex(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?(Z|[+-]\d\d:\d\d)?"), ZONES)
def test_nothing_anybody_writes_is_an_error(text: str, zone: ZoneInfo) -> None:
    moment = parse_time(text, zone)
    assert moment is None or parse_time(stamp(moment)) == moment.replace(microsecond=0)
    for end in (False, True):
        when = parse_when(text, NOW, zone, end=end)
        assert when is None or when.tzinfo is not None


@given(INSTANTS)
def test_a_stamp_says_the_second_and_sorts_as_time_does(moment: datetime) -> None:
    text = stamp(moment)
    assert len(text) == 20
    assert parse_time(text) == moment.replace(microsecond=0)
    assert text < stamp(moment + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026", "2026-01-01T00:00:00Z", "2026-12-31T23:59:59Z"),
        ("2026-11", "2026-11-01T00:00:00Z", "2026-11-30T23:59:59Z"),
        ("2026-10-25", "2026-10-24T23:00:00Z", "2026-10-25T23:59:59Z"),  # 25 hours: the clock goes back
        ("2026-03-29", "2026-03-29T00:00:00Z", "2026-03-29T22:59:59Z"),  # 23 hours
        ("Today", "2026-11-21T00:00:00Z", "2026-11-21T23:59:59Z"),
        (" yesterday ", "2026-11-20T00:00:00Z", "2026-11-20T23:59:59Z"),
        ("now", "2026-11-21T20:15:03Z", "2026-11-21T20:15:03Z"),
        ("7d", "2026-11-14T20:15:03Z", "2026-11-14T20:15:03Z"),
        ("3 weeks ago", "2026-10-31T20:15:03Z", "2026-10-31T20:15:03Z"),
        ("12h", "2026-11-21T08:15:03Z", "2026-11-21T08:15:03Z"),
        ("2026-11-21 10:00", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"),
    ],
)
def test_a_span_has_its_first_and_its_last_moment_where_the_user_lives(text: str, first: str, last: str) -> None:
    begin, end = (parse_when(text, NOW, LISBON, end=end) for end in (False, True))
    assert begin is not None
    assert end is not None
    assert (stamp(begin), stamp(end)) == (first, last)


@pytest.mark.parametrize("text", ["", "soon", "2026-13", "99999y", "0000", "0000-01", "tomorrow", "1.5d"])
def test_what_is_no_span_is_none(text: str) -> None:
    assert parse_when(text, NOW, LISBON) is None


@given(INSTANTS, ZONES)
def test_the_day_of_an_instant_is_the_one_on_the_users_calendar(moment: datetime, zone: ZoneInfo) -> None:
    day = day_of(moment, zone)
    first, last = (parse_when(day.isoformat(), NOW, zone, end=end) for end in (False, True))
    assert first is not None
    assert last is not None
    assert first <= moment <= last


def test_a_day_is_said_as_people_say_it() -> None:
    assert date_words("2023-05-03T10:00:00Z") == "Wednesday 3 May 2023"
    assert date_words("") == ""


ID_INSTANTS = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001


@given(ID_INSTANTS, st.binary(min_size=4, max_size=16))
def test_an_id_says_when_it_was_made(moment: datetime, noise: bytes) -> None:
    made = new_id("mem", moment, noise)
    when = created(made)
    assert is_id(made)
    assert when is not None
    assert abs(when - moment) <= timedelta(milliseconds=1.001)
    assert made.endswith(tail(made))


@given(ID_INSTANTS, ID_INSTANTS, st.binary(min_size=4), st.binary(min_size=4))
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
