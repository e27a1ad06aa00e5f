"""Months and days by name, and days with dots."""

from datetime import UTC, datetime

import pytest

from memcli.formats import parse_end, parse_period

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("october", "2026-10-01", "2026-10-31"),
        ("Oct 2025", "2025-10-01", "2025-10-31"),
        ("november", "2026-11-01", "2026-11-30"),
        ("may", "2026-05-01", "2026-05-31"),
        ("february 2028", "2028-02-01", "2028-02-29"),
        ("12 november", "2026-11-12", "2026-11-12"),
        ("nov 28", "2026-11-28", "2026-11-28"),
        ("November 3, 2025", "2025-11-03", "2025-11-03"),
        ("3 nov 2027", "2027-11-03", "2027-11-03"),
        ("28.11.2026", "2026-11-28", "2026-11-28"),
        ("1.3.2027", "2027-03-01", "2027-03-01"),
        # Without a year, the latest one that is not in the future.
        ("december", "2025-12-01", "2025-12-31"),
        ("nov 29", "2025-11-29", "2025-11-29"),
    ],
)
def test_months_and_days_by_name(words: str, first: str, last: str) -> None:
    period = parse_period(words, NOW)
    assert period is not None
    assert (period[0].date().isoformat(), period[1].date().isoformat()) == (first, last)


@pytest.mark.parametrize(
    "words",
    [
        "11/28/2026",
        "28/11/2026",
        "31.02.2026",
        "28.11",
        "november 31",
        "12 nov 3",
        "0 november",
        "novem",
        "dec 0000",
    ],
)
def test_days_that_are_ambiguous_or_do_not_exist(words: str) -> None:
    assert parse_period(words, NOW) is None


@pytest.mark.parametrize(
    ("words", "last"),
    [
        ("december", "2026-12-31"),
        ("november", "2026-11-30"),
        ("october", "2027-10-31"),
        ("nov 27", "2027-11-27"),
        ("nov 27 2026", "2026-11-27"),
        # The 28th is a Saturday.
        ("friday", "2026-12-04"),
        ("saturday", "2026-11-28"),
        ("last friday", "2026-11-27"),
        ("yesterday", "2026-11-27"),
    ],
)
def test_an_end_without_a_year_is_not_in_the_past(words: str, last: str) -> None:
    moment = parse_end(words, NOW)
    assert moment is not None and moment.date().isoformat() == last
