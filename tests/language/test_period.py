"""The time a query names."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.language.dates import Period
from memcli.language.periods import period_in

TODAY = date(2026, 11, 21)  # a Saturday


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("What happened on 2026-02-12?", date(2026, 2, 12), date(2026, 2, 12)),
        ("notes of 2026-02", date(2026, 2, 1), date(2026, 2, 28)),
        ("dinner on May 3, 2023", date(2023, 5, 3), date(2023, 5, 3)),
        ("dinner on the 3rd of May 2023", date(2023, 5, 3), date(2023, 5, 3)),
        ("what did we decide in July 2023", date(2023, 7, 1), date(2023, 7, 31)),
        ("trips in 2022", date(2022, 1, 1), date(2022, 12, 31)),
        ("what broke yesterday", date(2026, 11, 20), date(2026, 11, 20)),
        ("what did I do last week?", date(2026, 11, 9), date(2026, 11, 15)),
        ("plans of last weekend", date(2026, 11, 14), date(2026, 11, 15)),
        ("this month's bills", date(2026, 11, 1), date(2026, 11, 30)),
        ("last month", date(2026, 10, 1), date(2026, 10, 31)),
        ("last year", date(2025, 1, 1), date(2025, 12, 31)),
        ("two weeks ago", date(2026, 11, 4), date(2026, 11, 10)),
        ("3 days ago", date(2026, 11, 18), date(2026, 11, 18)),
        ("decisions between 2023-05-07 and 2023-06-01", date(2023, 5, 7), date(2023, 6, 1)),
        ("what happened between May and July 2023", date(2023, 5, 1), date(2023, 7, 31)),
        ("from December until 3 January 2024", date(2023, 12, 1), date(2024, 1, 3)),
        ("from 30 December 2023 to January", date(2023, 12, 30), date(2024, 1, 31)),
        ("what changed since March", date(2026, 3, 1), date.max),
        ("read by 3 people since December", date(2025, 12, 1), date.max),
        ("who left after 2023-05-07?", date(2023, 5, 7), date.max),
        ("what was said until last week", date.min, date(2026, 11, 15)),
        ("what did he do two weeks before August 11, 2023", date(2023, 8, 11), date(2023, 8, 11)),
        ("the audit in November last year", date(2025, 11, 1), date(2025, 11, 30)),
        ("what did last year bring us in autumn?", date(2025, 9, 1), date(2025, 11, 30)),
        ("sales in the second quarter of 2025", date(2025, 4, 1), date(2025, 6, 30)),
        ("the roof in summer 2024", date(2024, 6, 1), date(2024, 8, 31)),
        ("what broke last winter", date(2025, 12, 1), date(2026, 2, 28)),
        ("guests last Easter", date(2026, 4, 3), date(2026, 4, 6)),
        ("who came before Christmas", date.min, date(2025, 12, 24)),
        ("readings since spring", date(2026, 3, 1), date.max),
        ("fixes after the outage in June", date(2026, 6, 30), date.max),
        ("the wording at the end of 2025", date(2025, 9, 1), date(2025, 12, 31)),
        ("trips in the first half of 2024", date(2024, 1, 1), date(2024, 7, 1)),
        ("the last week of March 2025", date(2025, 3, 25), date(2025, 3, 31)),
        ("what failed last Wednesday", date(2026, 11, 18), date(2026, 11, 18)),
        ("who called on Thursday? she left a number", date(2026, 11, 19), date(2026, 11, 19)),
        ("what did the plumber charge on the 17th", date(2026, 11, 17), date(2026, 11, 17)),
        ("errors within the last 10 days", date(2026, 11, 11), date(2026, 11, 21)),
        ("half a year ago", date(2026, 2, 21), date(2026, 8, 22)),
        ("a couple of weeks ago", date(2026, 11, 4), date(2026, 11, 10)),
        ("what is up next week", date(2026, 11, 23), date(2026, 11, 29)),
        ("3-9 March 2025", date(2025, 3, 3), date(2025, 3, 9)),
        ("March 3rd to 9th, 2025", date(2025, 3, 3), date(2025, 3, 9)),
        ("2026-08-01..2026-08-31", date(2026, 8, 1), date(2026, 8, 31)),
        ("after 3 May 2025 and before 7 June 2025", date(2025, 5, 3), date(2025, 6, 7)),
        ("minutes of 9.3.2026", date(2026, 3, 9), date(2026, 3, 9)),
        ("the weekend before last", date(2026, 11, 7), date(2026, 11, 8)),
        ("bugs of the first two weeks of May 2025", date(2025, 5, 1), date(2025, 5, 14)),
        ("mail of the 14th of last month", date(2026, 10, 14), date(2026, 10, 14)),
        ("from the 1st to the 5th of June 2025", date(2025, 6, 1), date(2025, 6, 5)),
        ("what was read between Monday and Thursday", date(2026, 11, 16), date(2026, 11, 19)),
        ("Monday's standup", date(2026, 11, 16), date(2026, 11, 16)),
        ("what was served Wednesday evening", date(2026, 11, 18), date(2026, 11, 18)),
        ("just before 7 May 2025", date(2025, 4, 30), date(2025, 5, 6)),
        ("the month after 7 May 2025", date(2025, 5, 8), date(2025, 6, 6)),
        ("readings since about mid April", date(2026, 4, 11), date.max),
        ("bills after autumn", date(2025, 11, 30), date.max),
        ("up to 3 May 2025", date.min, date(2025, 5, 3)),
        ("2026年3月の会議", date(2026, 3, 1), date(2026, 3, 31)),
    ],
)
def test_a_query_names_days(query: str, first: date, last: date) -> None:
    assert period_in(query, TODAY) == Period(first, last)


@pytest.mark.parametrize(
    "query",
    [
        *("", "may I march on?", "the 47 issues", "version 2.10.3", "port 2023", "on 31 February 2023", "2026-13-40"),
        *(
            "the 2019 budget",
            "what is in the March report?",
            "did April say so",
            "between 9 and 10",
            "from Berlin to Rome",
            "not in March",
            "this may take long",
            "step 3 may fail",
            "beans in Spring Boot",
            "the parking rules of the autumn fair",
            "in the Monday meeting",
            "who is on duty on Friday?",
            "on the 5th floor",
            "a 30-day trial",
            "the film Yesterday",
            "the last week of the project",
            "at 10:30 by the 24/7 shop",
        ),
    ],
)
def test_most_numbers_and_small_words_are_no_time(query: str) -> None:
    assert period_in(query, TODAY) is None


def away(query: str, day: date, last: date | None = None) -> int:
    """Give how many days a time lies after the one that a query names."""
    period = period_in(query, TODAY)
    assert period is not None
    return period.near(day).away(Period(day, last or day))


def test_a_month_without_a_year_is_that_month_of_any_year() -> None:
    assert away("the move in March", date(2023, 3, 31)) == 0 == away("the move in March", date(2025, 3, 1))
    assert away("the move in March", date(2025, 2, 27)) == -2
    assert away("the move in March", date(2025, 4, 2)) == 2
    assert away("on 30 December", date(2027, 1, 2)) == 3
    assert away("on 29 February", date(2023, 3, 3)) == 2
    assert away("between December and February", date(2023, 1, 3)) == 0
    assert away("between December and February", date(2023, 11, 29)) == -2


def test_a_feast_is_on_its_days_of_any_year() -> None:
    assert away("dinner at Easter", date(2019, 4, 21)) == 0 == away("dinner at Easter", date(2024, 3, 31))
    assert away("dinner at Christmas", date(2025, 12, 28)) == 2
    assert away("at Thanksgiving", date(2024, 11, 28)) == 0 == away("on Mother's Day", date(2025, 5, 11))
    assert away("guests in late December", date(2024, 12, 20)) == -1


def test_of_several_times_each_is_meant() -> None:
    for day in (date(2025, 10, 4), date(2025, 11, 4), date(2026, 11, 20)):
        assert away("in October or November, or was it yesterday", day) == 0
    assert away("in October or November, or was it yesterday", date(2025, 9, 28)) == -3
    assert away("in winter 2025", date(2025, 1, 5)) == 0 == away("in winter 2025", date(2026, 1, 5))


def test_times_that_share_a_day_are_not_away_from_each_other() -> None:
    assert away("in May 2023", date(2023, 5, 31), date(2023, 7, 3)) == 0
    assert away("in May 2023", date(2022, 1, 1), date(2023, 4, 30)) == -1


@given(st.text(max_size=60), st.dates(), st.dates())
def test_any_text_is_read(query: str, today: date, day: date) -> None:
    period = period_in(query, today)
    assert period is None or isinstance(period.near(day).away(Period(day, day)), int)


@given(st.integers(0, 40), st.sampled_from(["May", "feb", "December"]), st.integers(0, 9999), st.dates())
def test_any_day_of_any_month_is_read(number: int, month: str, year: int, day: date) -> None:
    for query in (f"on {number} {month} {year}", f"{month} {number}", f"{number} {month}", f"{number} years ago"):
        period = period_in(query, TODAY)
        assert period is None or isinstance(period.near(day).away(Period(day, day)), int)
