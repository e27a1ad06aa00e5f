"""The time a query names."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.language.dates import LATER, Period, period_in

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
    ],
)
def test_a_query_names_days(query: str, first: date, last: date) -> None:
    assert period_in(query, TODAY) == Period(first, last)


@pytest.mark.parametrize(
    "query",
    ["", "may I march on?", "the 47 issues", "version 2.10.3", "port 2023", "on 31 February 2023", "2026-13-40"],
)
def test_most_numbers_and_small_words_are_no_time(query: str) -> None:
    assert period_in(query, TODAY) is None


def test_a_month_without_a_year_is_that_month_of_any_year() -> None:
    march = period_in("the move in March", TODAY)
    assert march == Period(month=3)
    assert march.holds(date(2023, 3, 31))
    assert march.holds(date(2025, 3, 1))
    assert not march.holds(date(2025, 2, 28))


def test_what_is_written_a_few_days_later_may_tell_of_it() -> None:
    period = Period(date(2026, 12, 30), date(2026, 12, 30))
    assert period.holds(date(2026, 12, 30) + LATER)
    assert not period.holds(date(2026, 12, 31) + LATER)
    assert Period(month=12, day=30).holds(date(2027, 1, 2))


@given(st.text(max_size=60), st.dates(), st.dates())
def test_any_text_is_read(query: str, today: date, day: date) -> None:
    period = period_in(query, today)
    assert period is None or isinstance(period.holds(day), bool)


@given(st.integers(0, 40), st.sampled_from(["May", "feb", "December"]), st.integers(0, 9999), st.dates())
def test_any_day_of_any_month_is_read(number: int, month: str, year: int, day: date) -> None:
    for query in (f"on {number} {month} {year}", f"{month} {number}", f"{number} {month}", f"{number} years ago"):
        period = period_in(query, TODAY)
        assert period is None or isinstance(period.holds(day), bool)
