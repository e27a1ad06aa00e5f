"""Dates and times: as stored (RFC 3339 in UTC) and as people type them."""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

# 2026-11-28, 2026-11-28 14:15, 2026-11-28T14:15:03.123Z, 2026-11-28T14:15:03+0100
STORED = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?))?\s*(Z|[+-]\d\d:?\d\d)?",
    re.IGNORECASE,
)
# 3d, 2 weeks, 1 month ago, in 2 weeks
DISTANCE = re.compile(
    r"(in (?!.*ago))?(\d{1,4})\s*(h|d|w|m|y|hours?|days?|weeks?|months?|years?)(?:\s+ago)?"
)
DAYS_OF_UNIT = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
WEEKS = {"last": -1, "this": 0, "next": 1}
MONTHS = (
    "january february march april may june july august september october november december"
).split()
MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
# october, oct 2026, 12 november, nov 28, 2026
NAMED = re.compile(
    rf"(?:(?P<day>\d{{1,2}}) (?P<month>{MONTH})|(?P<name>{MONTH})(?: (?P<number>\d{{1,2}}))?)"
    r"(?:,? (?P<year>\d{4}))?"
)
DAY_IN_NAME = re.compile(r"\d{4}-\d\d-\d\d")


def format_time(moment: datetime) -> str:
    """Return a moment as stored in files: RFC 3339, UTC, whole seconds."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def parse_time(text: str, zone: tzinfo = UTC) -> datetime | None:
    """Parse a stored date or time. Without an offset it is in `zone`."""
    match = STORED.fullmatch(text.strip())
    if match is None:
        return None
    day, clock, offset = match.groups()
    if clock and clock.startswith("24"):
        return None  # newer Pythons accept hour 24, older ones do not
    try:
        # In capitals, because Python 3.11 refuses a small z.
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{(offset or '').upper()}")
        # Overflows near the years 1 and 9999, if the zone moves the moment out of them.
        return (moment if offset else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def normalize_time(text: str, zone: tzinfo = UTC) -> str:
    """Return a date or time as stored in files, or an empty string if it is none."""
    moment = parse_time(text, zone)
    return format_time(moment) if moment else ""


def parse_period(text: str, now: datetime, zone: tzinfo = UTC) -> tuple[datetime, datetime] | None:
    """Parse a date as a person types it. Return its first and last moment.

    Accepts 2026-11-28, 28.11.2026, 2026-11, 2026, october, "oct 2026", "nov 28", now, today,
    yesterday, last tuesday, next month, 3d, 2w, "3 weeks ago", "in 2 weeks" and stored times.
    """
    words = " ".join(text.lower().split())
    today = now.astimezone(zone).date()
    match = DISTANCE.fullmatch(words)
    try:
        if match:
            distance = timedelta(days=int(match[2]) * DAYS_OF_UNIT[match[3][0]])
            moment = now + distance if match[1] else now - distance
            return moment, moment
        days = find_days(words, today)
        if days:
            first, after = (datetime.combine(day, datetime.min.time(), zone) for day in days)
            return first.astimezone(UTC), (after - timedelta(microseconds=1)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if words == "now":
        return now, now
    stored = parse_time(text, zone)
    return (stored, stored) if stored else None


def parse_end(text: str, now: datetime, zone: tzinfo = UTC) -> datetime | None:
    """Parse the date after which something no longer applies: `3d` is in three days."""
    words = " ".join(text.lower().split())
    period = parse_period(f"in {words}", now, zone) or parse_period(text, now, zone)
    if period and period[1] < now:
        # Here, a weekday or month without a year is the next one instead of the latest.
        days = 7 if words in WEEKDAYS else 365 if NAMED.fullmatch(words) else 0
        period = parse_period(text, now + timedelta(days=days), zone)
    return period[1] if period else None


def find_days(words: str, today: date) -> tuple[date, date] | None:
    """Return the first day of a period and the day after its last.

    Raises ValueError for a day that does not exist.
    """
    day = None
    near = ("yesterday", "today", "tomorrow")
    # Weeks start on Monday (ISO 8601).
    which, _, unit = words.partition(" ")
    if unit == "week" and which in WEEKS:
        monday = today + timedelta(days=7 * WEEKS[which] - today.weekday())
        return monday, monday + timedelta(days=7)
    if unit == "month" and which in WEEKS:
        first = today.replace(day=1)
        if which == "last":
            first = (first - timedelta(days=1)).replace(day=1)
        if which == "next":
            first = add_month(first)
        return first, add_month(first)
    if re.fullmatch(r"\d{4}", words):
        return date(int(words), 1, 1), date(int(words) + 1, 1, 1)
    if re.fullmatch(r"\d{4}-\d\d", words):
        first = date.fromisoformat(words + "-01")
        return first, add_month(first)
    weekday = words.removeprefix("last ").removeprefix("next ")
    if words in near:
        day = today + timedelta(days=near.index(words) - 1)
    elif weekday in WEEKDAYS:
        # On a Tuesday, "tuesday" means a week ago.
        sign = 1 if which == "next" else -1
        distance = (sign * (WEEKDAYS.index(weekday) - today.weekday()) - 1) % 7 + 1
        day = today + timedelta(days=sign * distance)
    elif DAY_IN_NAME.fullmatch(words):
        day = date.fromisoformat(words)
    # Not 11/28/2026: half of the world would read 3/4/2026 as another day than we do.
    elif re.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{4}", words):
        day = date(*map(int, reversed(words.split("."))))
    if day:
        return day, day + timedelta(days=1)
    named = NAMED.fullmatch(words)
    return find_named_days(named, today) if named else None


def find_named_days(named: re.Match[str], today: date) -> tuple[date, date]:
    """Return the days of a month or day with a name: the latest if it has no year."""
    name = named["month"] or named["name"]
    month = [full[:3] for full in MONTHS].index(name[:3]) + 1
    number = named["day"] or named["number"]
    first = date(int(named["year"] or today.year), month, int(number or 1))
    if first > today and not named["year"]:
        first = first.replace(year=today.year - 1)
    return first, first + timedelta(days=1) if number else add_month(first)


def add_month(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1)


def find_day_in_name(path: str) -> str:
    """Return the date in a file name, or an empty string."""
    match = DAY_IN_NAME.search(path.rpartition("/")[2])
    return match[0] if match else ""


def describe_day(stored: str, now: datetime, zone: tzinfo) -> str:
    """Return a stored time as people say it: today, yesterday, 2026-11-21."""
    moment = parse_time(stored)
    if moment is None:
        return stored
    day = moment.astimezone(zone).date()
    today = now.astimezone(zone).date()
    if day == today:
        return "today"
    if day == today - timedelta(days=1):
        return "yesterday"
    return day.isoformat()
