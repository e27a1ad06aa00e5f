"""Dates as other tools and people write them: seconds since 1970, RFC 3339, `Nov 27, 2026`, names of zones."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

from .ids import parse_time

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBER = re.compile(r"\d{9,19}(?:\.\d+)?")
_BASIC = re.compile(r"\d{8}T\d{4}(?:\d\d)?(?:Z|[+-]\d{4})?")
_DAY, _MONTH, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<month>[a-z]{3,9})\.?", r"(?P<year>\d{4})"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?\s*(?P<half>[ap]\.?m\.?)?"
_REST = (
    rf"(?:,?(?:\s+at)?[\st]\s*{_CLOCK})?"
    r"\s*(?P<zone>z|(?:utc|gmt)?[+-]\d\d:?\d\d|[a-z_]+/[a-z_/]+|[a-z]{2,5})?(?:\s*[(\[].*[)\]])?"
)
_WRITTEN = tuple(
    re.compile(date + _REST, re.IGNORECASE)
    for date in (
        rf"{_YEAR}[-/.](?P<number>\d{{1,2}})[-/.]{_DAY}",
        rf"{_YEAR}(?P<number>\d\d)(?P<day>\d\d)",
        rf"{_DAY}[ -]{_MONTH},?[ -]{_YEAR}",
        rf"{_MONTH} +{_DAY},? +{_YEAR}",
        rf"(?P<day>\d{{1,2}})\.(?P<number>\d{{1,2}})\.{_YEAR}",
        rf"(?P<left>\d{{1,2}})/(?P<right>\d{{1,2}})/{_YEAR}",
    )
)
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+", re.IGNORECASE)
_YEAR_LAST = re.compile(r"([a-z]{3} +\d{1,2}) (\d\d:\d\d:\d\d)((?: [a-z]+)?) (\d{4})", re.IGNORECASE)
_AMERICAN = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}


def read_date(value: object, zone: tzinfo = UTC) -> datetime | None:
    """Return the instant a value stands for, one without an offset in the zone given; None for none, or if unsure.

    A day alone begins at midnight UTC. 03/04/2026 is no day: it is one in America and another elsewhere.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _since_1970(float(value))
        if not isinstance(value, str) or len(value) > 100:
            return None
        text = value.strip()
        if _NUMBER.fullmatch(text):
            return _since_1970(float(text))
        if _BASIC.fullmatch(text):
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
        is_day = len(text) <= 10
        return parse_time(text, UTC if is_day else zone) or _written(text, zone)
    except (ValueError, OverflowError):
        return None


def _since_1970(number: float) -> datetime | None:
    if not 1e8 < number < 1e20:
        return None
    while number >= 1e11:  # milliseconds, microseconds, nanoseconds
        number /= 1000
    return datetime.fromtimestamp(number, UTC)


def _written(text: str, zone: tzinfo) -> datetime | None:
    plain = _YEAR_LAST.sub(r"\1 \4 \2\3", _WEEKDAY.sub("", text, count=1))
    match = next((match for pattern in _WRITTEN if (match := pattern.fullmatch(plain))), None)
    if match is None:
        return None
    parts = match.groupdict()
    month, day = _month_and_day(parts)
    hour = int(parts["hour"] or 0)
    if half := (parts["half"] or "").lower():
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * half.startswith("p")
    offset = _zone(parts["zone"]) if parts["zone"] else zone if parts["hour"] else UTC
    if not month or offset is None:
        return None
    clock = hour, int(parts["minute"] or 0), int(parts["second"] or 0)
    return datetime(int(parts["year"]), month, day, *clock, tzinfo=offset).astimezone(UTC)


def _month_and_day(parts: dict[str, Any]) -> tuple[int, int]:
    """Return the numbers of month and day; no month where either of two could be it."""
    if parts.get("left"):
        left, right = int(parts["left"]), int(parts["right"])
        if left <= 12 and right <= 12 and left != right:
            return 0, 0
        return (right, left) if left > 12 else (left, right)
    name = (parts.get("month") or "")[:3].lower()
    return _MONTHS.index(name) + 1 if name else int(parts["number"]), int(parts["day"])


def _zone(name: str) -> tzinfo | None:
    plain = name.lower().removeprefix("utc").removeprefix("gmt")
    if plain in ("", "z"):
        return UTC
    if plain[0] in "+-":
        east = timedelta(hours=int(plain[1:3]), minutes=int(plain[-2:]))
        return timezone(-east if plain[0] == "-" else east)
    if plain in _AMERICAN:
        return timezone(timedelta(hours=_AMERICAN[plain]))
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name if "/" in name else name.upper())
    except (OSError, ValueError, KeyError):
        return None
