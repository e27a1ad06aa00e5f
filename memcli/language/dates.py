"""Resolve relative dates in a text, such as "yesterday", and find the period of time that a query names.

A phrase is resolved only if it has one reading. "On Friday" may be before or after, "hardens in 28 days" has no
beginning, and "Next Friday" with a capital within a sentence is a name: they stay as they are.
"""

import re
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


def dated(text: str, said: date | None) -> str:
    """Return the text with the date behind each relative one; unchanged if `said`, the speaker's day, is None."""
    if said is None:
        return text
    text = compiled(_PHRASE).sub(lambda match: match[0] if _is_name(match) else _with_date(match, said), text)
    return compiled(_ABROAD).sub(
        lambda match: match[0] if _is_name(match) else f"{match[0]} ({_abroad(match, said)})", text
    )


def _is_name(match: re.Match[str]) -> bool:
    """Return whether a match is a title or a name, such as the film Yesterday: it has a capital within a sentence."""
    before = match.string[: match.start()].rstrip()
    return match[0][0].isupper() and bool(before) and before[-1] not in ".!?:;\n\"'“„»)-–—"


def _abroad(match: re.Match[str], said: date) -> str:
    """Return the date of a word for a day, or of a day of the week, in another language than English."""
    name = match["named"] or match["later"]
    if name:
        day = next(at for at, names in enumerate(_NAMED_DAYS) if name.casefold() in names.split("|"))
        return _weekday(said, day, back=bool(compiled(_BACK).fullmatch(match["way"] or match["rest"])))
    days = next(days for days in _AWAY if match[f"away{days + 2}"])
    return (said + timedelta(days=days)).isoformat()


def _with_date(match: re.Match[str], said: date) -> str:
    try:
        resolved = _resolved(match, said)
    except (OverflowError, ValueError):
        resolved = ""
    return f"{match[0]} ({resolved})" if resolved else match[0]


def _resolved(match: re.Match[str], said: date) -> str:
    if match["side"]:
        step = {"last": -1, "next": 1, "this": 0}[match["side"].lower()]
        return _span(said, match["span"].lower(), step)
    if match["day"]:
        return _weekday(said, _DAYS.index(match["day"].lower()), back=match["which"].lower() == "last")
    for name, days in (("before", -2), ("after", 2), ("past", -1), ("future", 1), ("now", 0)):
        if match[name]:
            return (said + timedelta(days=days)).isoformat()
    words = (match["count"] or match["ahead"]).lower()
    count = 2 if words == "a couple of" else _NUMBERS.get(words) or int(words)
    step = -count if (match["ago"] or "").lower() == "ago" else count
    return _shifted(said, (match["unit"] or match["measure"]).lower(), step)


def _weekday(said: date, day: int, *, back: bool) -> str:
    days = (day - said.weekday()) % 7
    return (said + timedelta(days=days - 7 if back else days or 7)).isoformat()


def _span(said: date, span: str, step: int) -> str:
    if span == "week":
        monday = said - timedelta(days=said.weekday()) + timedelta(weeks=step)
        return f"week of {monday.isoformat()}"
    return _shifted(said, span, step)


def _shifted(said: date, unit: str, step: int) -> str:
    """Return the date `step` units later; of months and years only the month or the year."""
    if unit in ("day", "week"):
        return (said + timedelta(days=step * (7 if unit == "week" else 1))).isoformat()
    if unit == "year":
        return date(said.year + step, 1, 1).isoformat()[:4]
    months = said.year * 12 + said.month - 1 + step
    return date(months // 12, months % 12 + 1, 1).isoformat()[:7]


_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_MONTH_NUMBERS = {name: place for place, name in enumerate(_MONTHS, 1)} | {
    name[:3]: place for place, name in enumerate(_MONTHS, 1)
}
_MONTH_NAMES = "|".join([*_MONTHS, *(name[:3] for name in _MONTHS)])
_ISO = r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b"
_DAY_FIRST = rf"(?i)\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH_NAMES})\b\.?,?(?: (\d{{4}}))?"
_MONTH_FIRST = rf"(?i)\b({_MONTH_NAMES})\b\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d),?(?: (\d{{4}}))?"
_PREPOSITION = r"[Ii]n|[Ss]ince|[Dd]uring|[Ll]ast|[Tt]his|[Oo]f|[Ee]arly|[Ll]ate|[Ff]rom|[Bb]efore|[Aa]fter|[Uu]ntil"
# A month alone follows a preposition, or is capitalised (may, march) and ends a clause: the March report is a report.
_MONTH = (
    rf"\b(?:(?:{_PREPOSITION}) ({_MONTH_NAMES})"
    rf"|({'|'.join(name.title() for name in _MONTHS)})(?=,? \d{{4}}|\W*$|[,;.?!)]))\b,?(?: (\d{{4}}))?"
)
_YEAR = rf"\b(?:{_PREPOSITION}) ((?:19|20)\d\d)\b"
_AGO = r"(?i)\b(\d{1,3}|a|an|one|two|three|four|five|six|few) (day|week|month|year)s? ago\b"
_PERIOD_COUNTS = {**_NUMBERS, "few": 3}
_RELATIVE = r"(?i)\b(today|yesterday|(?:last|this|past|previous) (?:week|weekend|month|year))\b"
_PERIOD_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_RANGE = r"(?i)\b(?:between|from) (\w[^,;.?!]{2,24}?) (?:and|to|until|till) (\w[^;.?!]{2,24})"
_BOUND = (
    r"(?i)(?P<unit>\b(?:day|week|month|year)s? )?\b(?:(?P<start>since|after|from)|before|until|till|by) "
    rf"(?P<time>(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH_NAMES})"
    rf"|\d{{4}}|(?:{_MONTH_NAMES}|last|yesterday)\b).*)"
)


@dataclass(frozen=True)
class Period:
    """Days from `first` to `last`; those of any year where it `is_yearly`."""

    first: date
    last: date
    is_yearly: bool = False

    @property
    def days(self) -> int:
        """Return how long it is."""
        return self.last.toordinal() - self.first.toordinal() + 1

    def in_year(self, year: int) -> "Period":
        """Return the same days of another year; for a 29 February it has not, the day after."""
        first = date(year, self.first.month, 1) + timedelta(days=self.first.day - 1)
        return Period(first, first + timedelta(days=self.days - 1))

    def near(self, day: date) -> "Period":
        """Return the period itself, or of those of all years the one nearest to a day."""
        if not self.is_yearly:
            return self
        years = range(max(day.year - 1, 1), min(day.year + 1, 9998) + 1)
        return min((self.in_year(year) for year in years), key=lambda one: abs(one.away(Period(day, day))))

    def away(self, other: "Period") -> int:
        """Return how many days the other comes after it, or, below 0, before it; 0 where they share a day."""
        return max((other.first - self.last).days, 0) + min((other.last - self.first).days, 0)


def period_in(query: str, today: date) -> Period | None:
    """Return the period that a query names; None if it names none. `today` is the user's day."""
    text = query[:2000]
    try:
        period = _range(text) or _written(text) or _relative(text, today)
        return period and _opened(period, text, today)
    except (ValueError, OverflowError):  # 31 February, or before the year 1
        return None


def _range(text: str) -> Period | None:
    """Return the period from one time to another: "between May and July 2023"."""
    found = compiled(_RANGE).search(text)
    first, last = (_written(f"in {part}") for part in found.groups()) if found else (None, None)
    if not first or not last:
        return None
    if first.is_yearly and not last.is_yearly:
        first = next(one for back in (0, 1) if (one := first.in_year(last.last.year - back)).first <= last.last)
    elif not first.is_yearly and last.is_yearly:
        last = next(one for on in (0, 1) if (one := last.in_year(first.first.year + on)).last >= first.first)
    end = last.last if last.last >= first.first else last.in_year(last.last.year + 1).last
    return Period(first.first, end, first.is_yearly and last.is_yearly)


def _opened(period: Period, text: str, today: date) -> Period:
    """Return a period without its end after "since March", without its beginning after "until", else as it is."""
    found = compiled(_BOUND).search(text)
    # What came two weeks before a day was near it.
    if not found or found["unit"] or period not in (_written(f"in {found['time']}"), _relative(found["time"], today)):
        return period
    if period.is_yearly:
        this = period.in_year(today.year)
        period = this if this.first <= today else period.in_year(today.year - 1)
    return Period(period.first, date.max) if found["start"] else Period(date.min, period.last)


def _written(text: str) -> Period | None:
    if found := compiled(_ISO).search(text):
        year, month, day = int(found[1]), int(found[2]), int(found[3] or 0)
        first = date(year, month, day or 1)
        return Period(first, first if day else _month_end(first))
    if found := compiled(_DAY_FIRST).search(text):
        return _on(found[3], _MONTH_NUMBERS[found[2].lower()], int(found[1]))
    if found := compiled(_MONTH_FIRST).search(text):
        return _on(found[3], _MONTH_NUMBERS[found[1].lower()], int(found[2]))
    if found := compiled(_MONTH).search(text):
        return _on(found[3], _MONTH_NUMBERS[(found[1] or found[2]).lower()], 0)
    if found := compiled(_YEAR).search(text):
        return Period(date(int(found[1]), 1, 1), date(int(found[1]), 12, 31))
    return None


def _on(year: str | None, month: int, day: int) -> Period | None:
    first = date(int(year or 2024), month, day or 1)  # a leap year
    return Period(first, first if day else _month_end(first), is_yearly=not year)


def _relative(text: str, today: date) -> Period | None:
    if found := compiled(_AGO).search(text):
        count = _PERIOD_COUNTS.get(found[1].lower()) or int(found[1])
        unit = _PERIOD_DAYS[found[2].lower()]
        middle = today - timedelta(days=count * unit)
        return Period(middle - timedelta(days=unit // 2), middle + timedelta(days=unit // 2))
    if not (found := compiled(_RELATIVE).search(text)):
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
