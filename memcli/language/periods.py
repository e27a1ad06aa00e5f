"""Find the time that a query names: a day, a month of any year, all from one time to another, or several of these.

Most words for times mean something else as well: "the March report" is a report, "May said" tells of a person, "2000
lines" is a count. So a word is taken for a time only behind one that leads to it ("in", "since", "last"), other than a
date. What leads to it also says which days are meant: those before it, its end, the last one there was.
"""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta

from ..data import pattern
from ..dataclass import dataclass
from .dates import TEMPLATE, Period, feast, is_within_sentence, month_from
from .lexicon import stop_words

_FILE = "times.toml"
_LONGEST = 2000
"""Characters of a query that are looked at."""
_MOST = 20
"""Times that are looked at besides the first: each is compared with each text."""
_LEAD = 60
"""Characters before a time that may lead to it."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = ("half", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {word: float(number) for number, word in enumerate(_NUMBERS)} | {"half": 0.5, "a": 1, "an": 1}
_COUNTS |= {"couple": 2, "few": 3, "several": 4, "some": 3}
_NTH = ("fi", "se", "th", "fo", "la")
_SURE = (
    *("iso_year", "point_day", "slash_month", "first", "from", "cjk_only", "its_year", "short_year"),
    *("word", "ago", "before_last", "side", "its_month", "possessive"),
)
"""What names a time whatever leads to it."""
_YEARS = ("day_year", "month_year", "its_year", "short_year")
_RANGES = (("between", ""), ("since", "before"), ("since", "until"), ("after", "before"), ("after", "until"))
"""What stands before two times that are listed, where all from one to the other is meant."""
_DAYS = {"day": 1, "week": 7, "fortnight": 14, "weekend": 2, "month": 30, "quarter": 91, "year": 365}
_WORDS = {"yesterday": -1, "last night": -1, "tomorrow": 1, "day before yesterday": -2, "day after tomorrow": 2}


@dataclass(frozen=True)
class _Time:
    """A time, where it ends, and what leads to it."""

    end: int
    period: Period
    bound: str = ""  # "since", "before", …
    is_left_out: bool = False


def period_in(query: str, today: date) -> Period | None:
    """Return the time that a query names; None if it names none. `today` is the user's day."""
    times: list[_Time] = []
    for match in pattern(_FILE, "time").finditer(query[:_LONGEST]):
        with suppress(ValueError, OverflowError):  # 31 February, or before the year 1
            _add(times, match, today)
    with suppress(ValueError, OverflowError):
        named = [_bounded(time.period, time.bound, today) for time in _of_years(times) if not time.is_left_out]
        return replace(named[0], others=(*named[0].others, *named[1:])[:_MOST]) if named else None
    return None


def _add(times: list[_Time], match: re.Match[str], today: date) -> None:
    text = match.string
    lead = pattern(_FILE, "lead").search(text, max(match.start() - _LEAD, 0), match.start())
    assert lead  # nothing in it must be there
    bound = (lead["bound"] or "").lower()
    before = times[-1] if times else None
    gap = text[before.end : lead.start()] if before else ""
    is_listed = pattern(_FILE, "list").fullmatch(gap) is not None
    is_range = before is not None and (
        (not bound and pattern(_FILE, "range").fullmatch(gap) is not None)
        or (not gap.strip() and bound in ("until", "till"))
        or (is_listed and (before.bound, bound) in _RANGES)
    )
    if not _is_led(match, lead, is_joined=is_range or is_listed):
        return
    which = (lead["which"] or "").strip().lower()
    period = _dated(match, which, today) or _relative(match, today)
    if period is None:
        return
    period = _turned(_cut(period, lead), which, today)
    if before and is_range:
        if match["weekday"] and period.first < before.period.first:
            period = period.moved(7, 1)
        times[-1] = _Time(match.end(), _from_to(before.period, period), "", before.is_left_out)
        return
    is_left_out = bool(lead["without"]) or (is_listed and before is not None and before.is_left_out and not bound)
    if lead["beside"]:
        period, bound = _beside(period, bound, lead), ""
    times.append(_Time(match.end(), period, bound, is_left_out))


def _is_led(match: re.Match[str], lead: re.Match[str], *, is_joined: bool) -> bool:
    """Return whether a match names a time where it stands, behind another one or by what leads to it."""
    text, words = match.string, match[0]
    if words[0].isupper() and (match["season"] or match["side"] or match["word"]) and is_within_sentence(match):
        return False  # a name: the film Yesterday, the framework Spring
    is_verb = any(match[name] in ("may", "march") for name in ("day_month", "month_day", "month"))
    if any(match[name] for name in (_YEARS if is_verb else _SURE)):
        return True
    behind = pattern(_FILE, "behind").match(text, match.end())
    if behind and behind["year"]:
        return True
    is_attribute = behind is not None and behind["word"].lower() not in stop_words()
    if is_joined and not is_verb:
        return not is_attribute
    if match["whole"] and match["whole"].lower() != "weekend":
        return bool(lead["part"])
    if lead["which"]:
        return not (is_verb and lead["which"].lower() == "this ")
    if is_attribute and (lead["the"] or match["season"] or (match["weekday"] and not lead["preposition"])):
        return False
    if lead["part"] or (lead["bound"] and lead["bound"].lower() != "by"):
        return True
    if match["weekday"] or match["ordinal"] or match["whole"]:
        return bool(lead["preposition"] or match["weekday"]) and pattern(_FILE, "past").search(text) is not None
    return bool(lead["preposition"])


def _dated(match: re.Match[str], which: str, today: date) -> Period | None:
    """Return what a date, a month, a season, a quarter, a feast, a year or a day of the week means."""
    groups = {name: text.lower() for name, text in match.groupdict().items() if text}

    def first_of(*names: str) -> str:
        return next((groups[name] for name in names if name in groups), "")

    if "weekday" in groups:
        ahead = (_WEEKDAYS.index(groups["weekday"][:3]) - today.weekday()) % 7
        named = today + timedelta(days=(ahead or 7) if which == "next" else ahead - 7)
        return Period(named, named)
    if "year" in groups:
        last = int(first_of("year_until", "year")) + 9 * ("decade" in groups)
        return Period(date(int(groups["year"]), 1, 1), date(last, 12, 31))
    year = first_of("iso_year", "point_year", "slash_year", "day_year", "month_year", "its_year")
    year = f"20{groups['short_year']}" if "short_year" in groups else year
    if "feast" in groups:
        return _in(feast(groups["feast"]), year)
    day, months = int(_digits(first_of("iso_day", "cjk_day", "cjk_date", "point_day", "first", "from")) or 0), 1
    if written := first_of("day_month", "month_day", "month"):
        month = _MONTHS.index(written[:3]) + 1
    elif "season" in groups:
        month, months = _SEASONS[groups["season"]], 3
    elif "quarter" in groups:
        number = int(_digits(groups["quarter"]) or _NTH.index(groups["quarter"][:2]) + 1) - 1
        month, months = 3 * number + 1, 3
    elif counted := first_of("iso_month", "cjk_month", "cjk_only", "point_month", "slash_month"):
        month = int(counted)
    else:
        return None
    first = date(int(year or TEMPLATE), month, day or 1)
    until = int(_digits(first_of("last", "until")) or day)
    end = first.replace(day=until) if day else month_from(first, months) - timedelta(days=1)
    return _in(Period(first, end, lambda any_year: date(any_year, month, 1) + timedelta(days=(day or 1) - 1)), year)


def _relative(match: re.Match[str], today: date) -> Period | None:
    """Return what "two weeks ago", "the past month" or "the 14th" means on a day."""
    if match["ordinal"]:
        is_last = match["its_month"] == "last" or (not match["its_month"] and int(match["ordinal"]) > today.day)
        day = month_from(today, -is_last).replace(day=int(match["ordinal"]))
        return Period(day, day)
    if match["word"]:
        day = today + timedelta(days=_WORDS.get(match["word"].lower(), 0))
        return Period(day, day)
    if match["ago"]:
        count, days = _count(match["ago"]), _DAYS[match["ago_unit"].lower()]
        middle, days = today - timedelta(days=int(count * days)), int(min(count, 1) * days)
        return Period(middle - timedelta(days=days // 2), middle + timedelta(days=days // 2))
    side, unit = (
        (match["side"] or "").lower(),
        (match["side_unit"] or match["before_last"] or match["whole"] or "").lower(),
    )
    if match["side_count"] or side == "past" or unit == "fortnight":
        days = int(_count(match["side_count"] or "a") * _DAYS[unit])
        other = today + timedelta(days=days if side == "next" else -days)
        return Period(min(today, other), max(today, other))
    step = -2 if match["before_last"] else {"last": -1, "previous": -1, "next": 1}.get(side, 0)
    if match["whole"] == "weekend":  # the last one that has begun
        step = -1 if today.weekday() < 5 else 0
    if unit in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday() - 7 * step)
        return Period(monday + timedelta(days=5 if unit == "weekend" else 0), monday + timedelta(days=6))
    if months := {"month": 1, "quarter": 3, "year": 12}.get(unit, 0):
        first = month_from(today, months * step - (today.month - 1) % months)
        return Period(first, month_from(first, months) - timedelta(days=1))
    return None


def _in(period: Period, year: int | str) -> Period:
    """Return what comes every year in one year, both winters of it; without a year as it is."""
    if not year or not period.yearly:
        return period
    winter, before = period.in_year(int(year)), period.in_year(int(year) - 1)
    return replace(winter, others=(before,)) if before.last.year == int(year) else winter


def _cut(period: Period, lead: re.Match[str]) -> Period:
    """Return the part of a period that is named: early, the second half of, the last two weeks of."""
    if not lead["part"]:
        return period
    days = period.days
    if lead["nth"]:
        count = _count(lead["nth_count"] or ("few" if lead["nth_many"] else "a"))
        size, number = min(int(count * _DAYS[lead["nth_unit"].lower()]), days), _NTH.index(lead["nth"][:2].lower())
        return period.moved(days - size if number > 3 else number * size, size)
    parts = 2 if lead["half"] else 3
    number = lead["half"].lower() == "second" if lead["half"] else 0 if lead["early"] else 1 if lead["middle"] else 2
    skipped = days * number // parts
    return period.moved(skipped, days * (number + 1) // parts - skipped)


def _beside(period: Period, bound: str, lead: re.Match[str]) -> Period:
    """Return the time shortly before or after a period; of "two weeks before" the period, which is near."""
    unit = lead["beside_unit"]
    if unit and not lead["one"]:
        return period
    days = _DAYS.get((unit or "").lower(), 7) * (3 if lead["beside_many"] else 1)
    return period.moved(-days, days) if bound == "before" else period.moved(period.days, days)


def _turned(period: Period, which: str, today: date) -> Period:
    """Return the last, this or the next one of what comes every year."""
    if not period.yearly or not which:
        return period
    if which == "this":
        return period.near(today)
    years = [period.in_year(today.year + step) for step in (-2, -1, 0, 1)]
    if which == "next":
        return next((candidate for candidate in years if candidate.first > today), period.in_year(today.year + 2))
    return [candidate for candidate in years if candidate.last < today][-1]


def _from_to(first: Period, last: Period) -> Period:
    """Return the period from one time to another; a year that only one of them has holds for both."""
    if first.yearly and not last.yearly:
        first = next(
            candidate for back in (0, 1) if (candidate := first.in_year(last.last.year - back)).first <= last.last
        )
    elif last.yearly and not first.yearly:
        last = next(
            candidate for on in (0, 1) if (candidate := last.in_year(first.first.year + on)).last >= first.first
        )
    end = last.last if last.last >= first.first else last.in_year(last.last.year + 1).last
    if end < first.first:
        raise ValueError("ends before it begins")
    return Period(first.first, end, first.yearly if last.yearly else None)


def _of_years(times: list[_Time]) -> list[_Time]:
    """Return the months, seasons and feasts of a query with the year it names, if it names one alone."""
    years = [time for time in times if not time.bound and _is_year(time.period)]
    if len(years) != 1 or not any(time.period.yearly for time in times):
        return times
    year = years[0].period.first.year
    return [replace(time, period=_in(time.period, year)) for time in times if time is not years[0]]


def _is_year(period: Period) -> bool:
    return (period.first.month, period.first.day, period.last) == (1, 1, period.first.replace(month=12, day=31))


def _bounded(period: Period, bound: str, today: date) -> Period:
    """Return a period without its end after "since March", without its beginning after "until", else as it is."""
    if bound in ("", "between"):
        return period
    if period.yearly:
        this = period.in_year(today.year)
        start = this.last if bound == "after" else this.first
        period = this if start <= today else period.in_year(today.year - 1)
    if bound in ("since", "after"):
        return Period(period.first if bound == "since" else period.last, date.max)
    return Period(date.min, period.first if bound == "before" else period.last)


def _count(words: str) -> float:
    first, *_, last = (words := words.lower().replace(" of", "")).split() * 2
    return float(words) if words.isdigit() else _COUNTS[first if first == "half" else last]


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
