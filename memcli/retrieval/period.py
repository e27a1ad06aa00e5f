"""The time a query names: `in May 2023`, `on 3 May`, `last week`, `two months ago`, `2026-11-21`.

A hint that lifts what was written then; it never hides anything, since people also tell of a time later.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta

LATER = timedelta(days=7)
"""What happened is often written down a few days after."""

_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_NUMBER = {name: place for place, name in enumerate(_MONTHS, 1)} | {
    name[:3]: place for place, name in enumerate(_MONTHS, 1)
}
_NAME = "|".join([*_MONTHS, *(name[:3] for name in _MONTHS)])
_ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_NAME})\b\.?,?(?: (\d{{4}}))?", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b({_NAME})\b\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d),?(?: (\d{{4}}))?", re.IGNORECASE)
# A month alone must be capitalised (may, march) or follow a preposition.
_MONTH = re.compile(
    rf"\b(?:(?:[Ii]n|[Ss]ince|[Dd]uring|[Ll]ast|[Tt]his|[Oo]f|[Ee]arly|[Ll]ate) ({_NAME})"
    rf"|({'|'.join(name.title() for name in _MONTHS)}))\b,?(?: (\d{{4}}))?"
)
_YEAR = re.compile(r"\b(?:in|of|during|since|from) ((?:19|20)\d\d)\b", re.IGNORECASE)
_AGO = re.compile(r"\b(\d{1,3}|a|an|one|two|three|four|five|six|few) (day|week|month|year)s? ago\b", re.IGNORECASE)
_COUNT = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "few": 3}
_RELATIVE = re.compile(r"\b(today|yesterday|(?:last|this|past|previous) (?:week|weekend|month|year))\b", re.IGNORECASE)
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True)
class Period:
    """Days from `first` to `last`, or a month, or a day of a month, of any year."""

    first: date | None = None
    last: date | None = None
    month: int = 0
    day: int = 0

    def holds(self, day: date) -> bool:
        """Tell whether something written that day may tell of the period."""
        if self.first and self.last:
            return self.first <= day <= self.last + LATER
        for year in (day.year - 1, day.year):
            try:
                first = date(year, self.month, self.day or 1)
            except ValueError:  # 29 February
                continue
            last = first if self.day else _month_end(first)
            if first <= day <= last + LATER:
                return True
        return False


def period_in(query: str, today: date) -> Period | None:
    """Return the time a query names, None where it names none; `today` is the user's day."""
    text = query[:2000]
    try:
        return _written(text) or _relative(text, today)
    except (ValueError, OverflowError):  # 31 February, or before the year 1
        return None


def _written(text: str) -> Period | None:
    if found := _ISO.search(text):
        year, month, day = int(found[1]), int(found[2]), int(found[3] or 0)
        first = date(year, month, day or 1)
        return Period(first, first if day else _month_end(first))
    if found := _DAY_FIRST.search(text):
        return _on(found[3], _NUMBER[found[2].lower()], int(found[1]))
    if found := _MONTH_FIRST.search(text):
        return _on(found[3], _NUMBER[found[1].lower()], int(found[2]))
    if found := _MONTH.search(text):
        return _on(found[3], _NUMBER[(found[1] or found[2]).lower()], 0)
    if found := _YEAR.search(text):
        return Period(date(int(found[1]), 1, 1), date(int(found[1]), 12, 31))
    return None


def _on(year: str | None, month: int, day: int) -> Period | None:
    if not year:
        date(2024, month, day or 1)
        return Period(month=month, day=day)
    first = date(int(year), month, day or 1)
    return Period(first, first if day else _month_end(first))


def _relative(text: str, today: date) -> Period | None:
    if found := _AGO.search(text):
        count = _COUNT.get(found[1].lower()) or int(found[1])
        unit = _DAYS[found[2].lower()]
        middle = today - timedelta(days=count * unit)
        return Period(middle - timedelta(days=unit // 2), middle + timedelta(days=unit // 2))
    if not (found := _RELATIVE.search(text)):
        return None
    word = found[1].lower()
    if word in ("today", "yesterday"):
        day = today - timedelta(days=word == "yesterday")
        return Period(day, day)
    which, unit_name = word.split()
    back = 0 if which == "this" else 1
    if unit_name in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return Period(monday + timedelta(days=5 if unit_name == "weekend" else 0), monday + timedelta(days=6))
    if unit_name == "month":
        first = today.replace(day=1)
        first = (first - timedelta(days=1)).replace(day=1) if back else first
        return Period(first, _month_end(first))
    return Period(date(today.year - back, 1, 1), date(today.year - back, 12, 31))


def _month_end(first: date) -> date:
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
