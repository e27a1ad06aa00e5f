"""Relative dates get the day they meant when they were said."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.language.dates import dated

FRIDAY = date(2026, 2, 27)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("We shipped yesterday.", "We shipped yesterday (2026-02-26)."),
        ("The demo is tomorrow at 3", "The demo is tomorrow (2026-02-28) at 3"),
        ("I met her last night", "I met her last night (2026-02-26)"),
        ("Starts today", "Starts today (2026-02-27)"),
        ("It broke the day before yesterday", "It broke the day before yesterday (2026-02-25)"),
        ("It broke 3 days ago", "It broke 3 days ago (2026-02-24)"),
        ("We moved two weeks ago", "We moved two weeks ago (2026-02-13)"),
        ("We moved a month ago", "We moved a month ago (2026-01)"),
        ("I joined two years ago", "I joined two years ago (2024)"),
        ("The freeze is in 10 days", "The freeze is in 10 days (2026-03-09)"),
        ("Met last Tuesday", "Met last Tuesday (2026-02-24)"),
        ("Met last Friday", "Met last Friday (2026-02-20)"),
        ("The interview is next Tuesday", "The interview is next Tuesday (2026-03-03)"),
        ("Done by Friday", "Done by Friday (2026-03-06)"),
        ("Closed last week", "Closed last week (week of 2026-02-16)"),
        ("Moving next month", "Moving next month (2026-03)"),
        ("We start next year", "We start next year (2027)"),
    ],
)
def test_a_relative_date_is_followed_by_the_date(text: str, told: str) -> None:
    assert dated(text, FRIDAY) == told


@pytest.mark.parametrize("text", ["on Friday", "this year's plan", "last time", "the next step", "a day in the life"])
def test_what_has_two_readings_or_none_stays(text: str) -> None:
    assert dated(text, FRIDAY) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Wir treffen uns nächsten Donnerstag am Hafen.", "Wir treffen uns nächsten Donnerstag (2026-03-05) am Hafen."),
        ("Gestern war zu", "Gestern (2026-02-26) war zu"),
        ("Der Termin ist übermorgen", "Der Termin ist übermorgen (2026-03-01)"),
        ("Je passe l'examen demain.", "Je passe l'examen demain (2026-02-28)."),
        ("rendez-vous mardi prochain", "rendez-vous mardi prochain (2026-03-03)"),
        ("La visita es mañana por la mañana.", "La visita es mañana (2026-02-28) por la mañana."),
        ("el viernes que viene", "el viernes que viene (2026-03-06)"),
        ("我明天去成都。", "我明天 (2026-02-28)去成都。"),
        ("明日の会議", "明日 (2026-02-28)の会議"),
    ],
)
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


@pytest.mark.parametrize(
    "text",
    [
        "The Brandt account now pays in 60 days instead of 30.",
        "We deliver every sofa in 3 weeks or take it back.",
        "The glue sets in 2 days.",
        "A licence can be had in 4 months.",
        "Our choir is called Next Friday.",
        "The novel Tomorrow is my favourite.",
        "They sang Yesterday at the wedding.",
    ],
)
def test_no_date_is_invented_for_how_long_something_takes_or_what_it_is_called(text: str) -> None:
    assert dated(text, FRIDAY) == text
