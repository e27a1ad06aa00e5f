"""Say which day "yesterday" was: relative dates in a text, resolved against the moment it was said.

Only what has one reading is resolved; "on Friday" may lie on either side and stays as it is.
"""

import re
from datetime import date, timedelta

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {"a": 1, "an": 1, **{word: number for number, word in enumerate(_WORDS, 1)}}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)}|a couple of)"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_AHEAD, _MEASURE = _COUNT.replace("count", "ahead"), _UNIT.replace("unit", "measure")
_WEEKDAYS = "|".join(_DAYS)
_PHRASE = re.compile(
    rf"""\b(?:
      (?P<before>(?:the\s)?day\sbefore\syesterday) | (?P<after>(?:the\s)?day\safter\stomorrow)
    | (?P<past>yesterday|last\snight) | (?P<future>tomorrow)
    | (?P<now>today|tonight|this\s(?:morning|afternoon|evening))
    | {_COUNT}\s{_UNIT}\s(?P<ago>ago|from\snow) | in\s{_AHEAD}\s{_MEASURE}
    | (?P<which>last|next|this(?:\scoming)?|(?:by|until|till|due|before)(?:\s(?:this|next))?)\s(?P<day>{_WEEKDAYS})
    | (?P<side>last|next|this)\s(?P<span>week|month|year)
    )\b(?!\s?\(|['’]s)""",
    re.IGNORECASE | re.VERBOSE,
)


def dated(text: str, said: date | None) -> str:
    """Put the date after each relative one; `said` is the speaker's day, and without it the text stays."""
    if said is None:
        return text
    return _PHRASE.sub(lambda match: _with_date(match, said), text)


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
    """Move by whole units; months and years are only known as such."""
    if unit in ("day", "week"):
        return (said + timedelta(days=step * (7 if unit == "week" else 1))).isoformat()
    if unit == "year":
        return date(said.year + step, 1, 1).isoformat()[:4]
    months = said.year * 12 + said.month - 1 + step
    return date(months // 12, months % 12 + 1, 1).isoformat()[:7]
