"""Relative dates get the day they meant when they were said."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.language.dates import dated
from tests.tables import cases

FRIDAY = date(2026, 2, 27)


@cases("text", "told")
def test_a_relative_date_is_followed_by_the_date(text: str, told: str) -> None:
    assert dated(text, FRIDAY) == told


@pytest.mark.parametrize("text", ["on Friday", "this year's plan", "last time", "the next step", "a day in the life"])
def test_what_has_two_readings_or_none_stays(text: str) -> None:
    assert dated(text, FRIDAY) == text


@cases("text", "told")
def test_a_relative_date_of_another_language_is_too(text: str, told: str) -> None:
    assert dated(text, FRIDAY) == told
    assert dated(told, FRIDAY) == told


@pytest.mark.parametrize("text", ["Esta mañana llueve", "Guten Morgen", "hier im Haus", "今日は", "the Ayers family"])
def test_a_morning_a_place_and_a_name_are_no_day(text: str) -> None:
    assert dated(text, FRIDAY) == text


def test_without_a_day_and_a_second_time_nothing_changes() -> None:
    assert dated("yesterday", None) == "yesterday"
    once = dated("yesterday, and it is in 10 days", FRIDAY)
    assert dated(once, FRIDAY) == once


def test_a_date_beyond_the_calendar_is_left_out() -> None:
    assert dated("it is in 999 years", date(9500, 1, 1)) == "it is in 999 years"


@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)))
def test_a_weekday_lies_within_a_week_of_the_day_it_was_said(said: date) -> None:
    for phrase, low, high in (("last Monday", -7, -1), ("next Monday", 1, 7), ("by Monday", 1, 7)):
        day = date.fromisoformat(dated(phrase, said)[-11:-1])
        assert day.weekday() == 0
        assert timedelta(low) <= day - said <= timedelta(high)


@cases("text")
def test_no_date_is_invented_for_how_long_something_takes_or_what_it_is_called(text: str) -> None:
    assert dated(text, FRIDAY) == text
