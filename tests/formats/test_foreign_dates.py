"""Dates of every form that other tools write."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from memcli.formats.foreign_record import read_date
from memcli.formats.ids import stamp

NOON = "2026-11-27T12:00:00Z"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1795780800, NOON),
        (1795780800.25, NOON),
        ("1795780800", NOON),
        (1795780800000, NOON),
        ("1795780800000", NOON),
        (1795780800000000, NOON),
        (1795780800000000000, NOON),
        ("2026-11-27T12:00:00Z", NOON),
        ("2026-11-27T04:00:00.123456-08:00", NOON),
        ("2026-11-27 13:00:00 +0100", NOON),
        ("20261127T120000Z", NOON),
        ("2026-11-27 12:00:00 UTC", NOON),
        ("Nov 27, 2026, 12:00 PM", NOON),
        ("November 27, 2026, 12:00:00 PM", NOON),
        ("Fri, 27 Nov 2026 12:00:00 GMT", NOON),
        ("Fri Nov 27 2026 13:00:00 GMT+0100 (Central European Standard Time)", NOON),
        ("Fri Nov 27 12:00:00 2026", NOON),
        ("Fri Nov 27 12:00:00 UTC 2026", NOON),
        ("27 Nov 2026 12:00:00 GMT", NOON),
        ("Fri, 27 Nov 2026 12:00:00 -0000", NOON),
        ("2026-11-27T13:00:00+01:00[Europe/Berlin]", NOON),
        ("2026/11/27 13:00:00 +0100", NOON),
        ("27.11.2026, 12:00:00", NOON),
        ("27/11/2026, 12:00", NOON),
        ("11/27/2026, 12:00:00\u202fPM", NOON),
        ("11/27/2026 12:00 PM", NOON),
        ("Fri, Nov 27, 2026, 4:00 PM", "2026-11-27T16:00:00Z"),
        ("Friday, November 27, 2026 at 12:00 PM", NOON),
        ("Fri Nov 27 2026", "2026-11-27T00:00:00Z"),
        ("5 Sept 2026", "2026-09-05T00:00:00Z"),
        ("27-Nov-2026", "2026-11-27T00:00:00Z"),
        ("2026.11.27", "2026-11-27T00:00:00Z"),
        ("2026-1-5", "2026-01-05T00:00:00Z"),
        ("27 Nov 2026", "2026-11-27T00:00:00Z"),
        ("Nov 27, 2026", "2026-11-27T00:00:00Z"),
        ("27.11.2026", "2026-11-27T00:00:00Z"),
        ("2026/11/27", "2026-11-27T00:00:00Z"),
        ("11/27/2026", "2026-11-27T00:00:00Z"),
        ("27/11/2026", "2026-11-27T00:00:00Z"),
        ("11/11/2026", "2026-11-11T00:00:00Z"),
        ("20261127", "2026-11-27T00:00:00Z"),
    ],
)
def test_every_form_is_read(value: object, expected: str) -> None:
    moment = read_date(value, UTC)
    assert moment is not None
    assert stamp(moment) == expected


@pytest.mark.parametrize(
    "value",
    [
        "03/04/2026",  # two days, by where it was written
        "2026-11-27 12:00 XYZ",
        "2026-11-27 13:00 Europe/Berlin",
        "2026-13-01",
        "202611",  # as a month; or the first of January
        "2026127",
        "31.02.2026",
        "13:99 27 Nov 2026",
        "Nov 27, 2026 13:00 PM",
        "soon",
        "",
        True,
        None,
        7,
        1e30,
        float("nan"),
    ],
)
def test_what_is_no_day_or_could_be_two_is_not_guessed(value: object) -> None:
    assert read_date(value) is None


def test_a_time_without_a_zone_is_in_the_one_given_and_a_day_is_that_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for naive in ("2026-11-27T13:00:00", "Nov 27, 2026, 1:00 PM"):
        moment = read_date(naive, berlin)
        assert moment is not None
        assert stamp(moment) == NOON
    for day in ("2026-11-27", "Nov 27, 2026"):
        moment = read_date(day, berlin)
        assert moment is not None
        assert stamp(moment) == "2026-11-27T00:00:00Z"
