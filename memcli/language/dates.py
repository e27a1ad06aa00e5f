"""Resolve relative dates in a text, such as "yesterday"; and the days of the calendar, as periods.

A phrase is resolved only if it has one reading. "On Friday" may be before or after, "hardens in 28 days" has no
beginning, and "Next Friday" with a capital within a sentence is a name: they stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta

from ..data import compiled
from ..dataclass import dataclass

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {"a": 1, "an": 1, **{word: number for number, word in enumerate(_WORDS, 1)}}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)}|a couple of)"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_AHEAD, _MEASURE = _COUNT.replace("count", "ahead"), _UNIT.replace("unit", "measure")
_WEEKDAYS = "|".join(_DAYS)
_PHRASE = rf"""(?ix)\b(?:
      (?P<before>(?:the\s)?day\sbefore\syesterday) | (?P<after>(?:the\s)?day\safter\stomorrow)
    | (?P<past>yesterday|last\snight) | (?P<future>tomorrow)
    | (?P<now>today|tonight|this\s(?:morning|afternoon|evening))
    | {_COUNT}\s{_UNIT}\s(?P<ago>ago|from\snow) | (?:(?:is|are|am)|(?<=['’])(?:s|re|m))\sin\s{_AHEAD}\s{_MEASURE}
    | (?P<which>last|next|this(?:\scoming)?|(?:by|until|till|due|before)(?:\s(?:this|next))?)\s(?P<day>{_WEEKDAYS})
    | (?P<side>last|next|this)\s(?P<span>week|month|year)
    )\b(?!\s?\(|['’]s)"""

# Words for a day in other languages, by how many days it lies ahead; none that also means a morning, or "here".
_AWAY = {
    -2: ("vorgestern", "avant-hier", "anteayer", "前天", "一昨日"),
    -1: ("gestern", "ayer", "ieri", "昨天", "昨日"),
    0: ("heute", "aujourd['’]hui", "hoy", "oggi", "今天"),
    1: ("demain", "domani", "(?<!por la )(?<!de la )(?<!esta )(?<!cada )(?<!pasado )mañana", "明天", "明日"),
    2: ("übermorgen", "après-demain", "pasado mañana", "dopodomani", "后天", "明後日"),
}
_NAMED_DAYS = (
    "montag|lundi|lunes|lunedì",
    "dienstag|mardi|martes|martedì",
    "mittwoch|mercredi|miércoles|mercoledì",
    "donnerstag|jeudi|jueves|giovedì",
    "freitag|vendredi|viernes|venerdì",
    "samstag|samedi|sábado|sabato",
    "sonntag|dimanche|domingo|domenica",
)
_NAMED = "|".join(_NAMED_DAYS)
_AHEAD_OF, _BEHIND = r"(?:nächste|kommende)[nrs]?|próximo", r"(?:letzte|vergangene)[nrs]?|pasado"
_NEXT_TO = r"prochain|dernier|próximo|que viene|pasado|prossimo|scorso"
_ALONE = "|".join(f"(?P<away{days + 2}>" + "|".join(words) + ")" for days, words in _AWAY.items())
_ABROAD = (
    rf"(?i)(?<![^\W\d_㐀-鿿])(?:{_ALONE}"
    rf"|(?P<way>{_AHEAD_OF}|{_BEHIND}) (?P<named>{_NAMED})|(?P<later>{_NAMED}) (?P<rest>{_NEXT_TO}))"
    r"(?![a-zà-ÿ])(?!\s?\()"
)
_BACK = rf"(?i){_BEHIND}|dernier|scorso"


def dated(text: str, day_said: date | None) -> str:
    """Return the text with the date behind each relative one; unchanged if `day_said`, the speaker's day, is None."""
    if day_said is None:
        return text
    text = compiled(_PHRASE).sub(lambda match: match[0] if _is_name(match) else _with_date(match, day_said), text)
    return compiled(_ABROAD).sub(
        lambda match: match[0] if _is_name(match) else f"{match[0]} ({_abroad(match, day_said)})", text
    )


def day_abroad(text: str, today: date) -> "Period | None":
    """Return the day that a text in another language than English names: "gestern", "lundi dernier", "昨天"."""
    match = compiled(_ABROAD).search(text)
    if match is None or _is_name(match):
        return None
    day = date.fromisoformat(_abroad(match, today))
    return Period(day, day)


def _is_name(match: re.Match[str]) -> bool:
    """Return whether a match is a title or a name, such as the film Yesterday: it has a capital within a sentence."""
    return match[0][0].isupper() and is_within_sentence(match)


def is_within_sentence(match: re.Match[str]) -> bool:
    """Return whether a match stands behind words of the same sentence."""
    before = match.string[: match.start()].rstrip()
    return bool(before) and before[-1] not in ".!?:;\n\"'“„»)-–—"


def _abroad(match: re.Match[str], today: date) -> str:
    """Return the date of a word for a day, or of a day of the week, in another language than English."""
    name = match["named"] or match["later"]
    if name:
        day = next(number for number, names in enumerate(_NAMED_DAYS) if name.casefold() in names.split("|"))
        return _weekday(today, day, back=bool(compiled(_BACK).fullmatch(match["way"] or match["rest"])))
    days = next(days for days in _AWAY if match[f"away{days + 2}"])
    return (today + timedelta(days=days)).isoformat()


def _with_date(match: re.Match[str], today: date) -> str:
    try:
        resolved = _resolved(match, today)
    except (OverflowError, ValueError):
        resolved = ""
    return f"{match[0]} ({resolved})" if resolved else match[0]


def _resolved(match: re.Match[str], today: date) -> str:
    if match["side"]:
        step = {"last": -1, "next": 1, "this": 0}[match["side"].lower()]
        return _span(today, match["span"].lower(), step)
    if match["day"]:
        return _weekday(today, _DAYS.index(match["day"].lower()), back=match["which"].lower() == "last")
    for name, days in (("before", -2), ("after", 2), ("past", -1), ("future", 1), ("now", 0)):
        if match[name]:
            return (today + timedelta(days=days)).isoformat()
    words = (match["count"] or match["ahead"]).lower()
    count = 2 if words == "a couple of" else _NUMBERS.get(words) or int(words)
    step = -count if (match["ago"] or "").lower() == "ago" else count
    return _shifted(today, (match["unit"] or match["measure"]).lower(), step)


def _weekday(today: date, day: int, *, back: bool) -> str:
    days = (day - today.weekday()) % 7
    return (today + timedelta(days=days - 7 if back else days or 7)).isoformat()


def _span(today: date, span: str, step: int) -> str:
    if span == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        return f"week of {monday.isoformat()}"
    return _shifted(today, span, step)


def _shifted(today: date, unit: str, step: int) -> str:
    """Return the date `step` units later; of months and years only the month or the year."""
    if unit in ("day", "week"):
        return (today + timedelta(days=step * (7 if unit == "week" else 1))).isoformat()
    if unit == "year":
        return date(today.year + step, 1, 1).isoformat()[:4]
    return month_from(today, step).isoformat()[:7]


TEMPLATE = 2024
"""The year of what comes every year: a leap year."""


@dataclass(frozen=True)
class Period:
    """Days from `first` to `last`; those of each year where `yearly` gives the first of them; or those of `others`."""

    first: date
    last: date
    yearly: Callable[[int], date] | None = None
    others: "tuple[Period, ...]" = ()

    @property
    def days(self) -> int:
        """Return how long it is."""
        return self.last.toordinal() - self.first.toordinal() + 1

    def in_year(self, year: int) -> "Period":
        """Return the same days of another year."""
        first = self.yearly(year) if self.yearly else self.first
        return Period(first, first + timedelta(days=self.days - 1))

    def near(self, day: date) -> "Period":
        """Return the period itself, or of those of all years, and of several, the one nearest to a day."""
        target = Period(day, day)
        return min(
            (near for period in (self, *self.others) for near in period._around(day)),
            key=lambda period: abs(period.away(target)),
        )

    def away(self, other: "Period") -> int:
        """Return how many days the other comes after it, or, below 0, before it; 0 where they share a day."""
        return max((other.first - self.last).days, 0) + min((other.last - self.first).days, 0)

    def moved(self, ahead: int, days: int) -> "Period":
        """Return so many days that begin so long after its own do."""
        first, yearly = self.first + timedelta(days=ahead), self.yearly
        moved = yearly and (lambda year: yearly(year) + timedelta(days=ahead))
        return Period(first, first + timedelta(days=max(days, 1) - 1), moved)

    def _around(self, day: date) -> "Iterator[Period]":
        if not self.yearly:
            yield Period(self.first, self.last)
            return
        for year in range(max(day.year - 1, 1), min(day.year + 1, 9998) + 1):
            yield self.in_year(year)


def month_from(day: date, months: int) -> date:
    """Return the first day of the month that is so many months later."""
    number = day.year * 12 + day.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)


def _easter(year: int) -> date:
    """Return the day of Easter Sunday (the anonymous Gregorian algorithm, Nature 1876)."""
    a, (b, c) = year % 19, divmod(year, 100)
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    month, day = divmod(h + k - 7 * ((a + 11 * h + 22 * k) // 451) + 114, 31)
    return date(year, month, day + 1)


_FEASTS = {"christmas": (12, 24, 3), "boxing": (12, 26, 1), "new": (1, 1, 1), "halloween": (10, 31, 1)}
_FEASTS |= {"valentine": (2, 14, 1)}
"""Month, day and how many days, by how the name begins."""
_BY_EASTER = {"good": (-2, 1), "easter": (-2, 4), "pentecost": (49, 2), "whitsun": (49, 2), "whit": (50, 1)}
"""Days after Easter Sunday and how many days."""
_BY_WEEKDAY = {"mother": (5, 8, 6), "thanksgiving": (11, 22, 3), "black": (11, 23, 4)}
"""Month, the earliest day it may fall on, and the day of the week from 0."""


def feast(name: str) -> Period:
    """Return a feast of each year, by its name in lower case."""
    word = next(prefix for prefix in (*_FEASTS, *_BY_EASTER, *_BY_WEEKDAY) if name.startswith(prefix))
    month, day, days = (12, 31, 1) if word == "new" and name.endswith(" eve") else _FEASTS.get(word, (0, 0, 1))
    ahead, days = _BY_EASTER.get(word, (0, days))

    def first(year: int) -> date:
        if word in _BY_WEEKDAY:
            in_month, earliest, weekday = _BY_WEEKDAY[word]
            earliest_day = date(year, in_month, earliest)
            return earliest_day + timedelta(days=(weekday - earliest_day.weekday()) % 7)
        return date(year, month, day) if month else _easter(year) + timedelta(days=ahead)

    return Period(first(TEMPLATE), first(TEMPLATE) + timedelta(days=days - 1), first)
