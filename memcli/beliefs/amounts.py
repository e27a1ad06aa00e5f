"""The amounts that a text names, each in one form: 2 pm is 14:00, two weeks are 14 days, 2 GB are 2048 MB."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..dataclass import dataclass

_CLOCK = re.compile(
    r"(?P<part>上午|下午|晚上|午前|午後|傍晚)?\s*(?<![\d.,:])(?P<hour>\d{1,2}|[一二两三四五六七八九十]{1,2})"
    r"(?:[:.h点時](?P<minute>\d{2})?)?(?P<half>半)?\s*(?P<mark>a\.?m\b\.?|p\.?m\b\.?|uhr\b|o'clock|点|時)?"
)
_SPOKEN = re.compile(
    r"\b(?:(?P<minutes>half|a quarter|quarter|viertel|[a-zü]+|\d\d?) (?:minutes )?(?P<way>past|nach)"
    r"|(?P<before>a quarter to|quarter to|viertel vor|halb)) (?P<hour>[a-zöü]+|\d\d?)\b"
)
"""A time of day in words: half past seven, quarter to six, halb acht."""
_FRENCH = re.compile(r"\b(\d\d?) ?h ?([0-5]\d)\b")
_PARTS = {"half": 30, "a quarter": 15, "quarter": 15, "viertel": 15}


@dataclass(frozen=True)
class Amounts:
    """The amounts of a text, and the bare numbers in them: "two days" is a duration, and holds a 2; 3 pm may be "3"."""

    exact: frozenset[str]
    bare: frozenset[str]  # of durations, sizes and full hours; also what an article says: "a week"

    def agree(self, other: "Amounts") -> bool:
        """Tell whether neither text has an amount that the other lacks; a number without a unit may get one."""
        return not self._beyond(other) and not other._beyond(self)

    def _beyond(self, other: "Amounts") -> bool:
        known = other.exact | other.bare
        plain = {one for one in other.exact if one[0].isdigit()}
        return any(one not in known and not (one[0].isalpha() and self.bare & plain) for one in self.exact)


@dataclass(frozen=True)
class NumberWords:
    """Number words, units and the pattern that finds amounts."""

    pattern: re.Pattern[str]
    values: Mapping[str, float]
    scales: Mapping[str, float]
    units: Mapping[str, tuple[str, float]]  # unit → kind and size
    han: Mapping[str, int]


def number_words(data: Mapping[str, Any]) -> NumberWords:
    """Make the pattern from the lists of the data file."""
    units = {
        unit: (kind, float(size))
        for kind, table in (("time", data["durations"]), ("size", data["sizes"]))
        for size, names in table.items()
        for unit in names.split()
    }
    words, scales, han_digits = (_values(data[name]) for name in ("words", "scales", "han"))
    han = [unit for unit in units if is_sign(unit[0])]
    latin = [unit for unit in units if not is_sign(unit[0])]
    pattern = (
        rf"(?P<bare>\d+(?:[.,]\d+)*)\s?(?P<han>{_any(han)})"
        rf"|(?<![\w.,])(?:(?P<digits>\d+(?:[.,:]\d+)*)(?:st|nd|rd|th)?|(?P<word>{_any(words)})"
        rf"|(?P<article>{_any(data['articles'].split())}))(?:[\s-]?(?P<scale>{_any(scales)}))?"
        rf"(?:(?:(?<=\d)|[\s-])\s?(?P<unit>{_any(latin)})\b)?(?![a-z0-9])|(?P<other>\d+(?:[.,:]\d+)*)"
    )
    return NumberWords(
        re.compile(pattern), words, scales, units, {sign: int(value) for sign, value in han_digits.items()}
    )


def amounts(text: str, lists: NumberWords) -> Amounts:
    """Return the amounts of a lower-case text."""
    exact: set[str] = set()
    bare: set[str] = set()
    text = text.replace("half an hour", "30 minutes").replace("halbe stunde", "30 minuten")
    text = text.replace("a quarter of an hour", "15 minutes").replace("quarter of an hour", "15 minutes")
    text = _SPOKEN.sub(lambda match: _spoken(match, exact, bare, lists.values), _FRENCH.sub(r"\1:\2", text))
    rest = _CLOCK.sub(lambda match: _clock(match, exact, bare, lists.han), text)
    for match in lists.pattern.finditer(rest):
        digits = match["digits"] or match["bare"] or match["other"] or ""
        value = lists.values[match["word"]] if match["word"] else _number(digits) if digits else 1.0
        unit = match["unit"] or match["han"] or ""
        if value is None or ("." in digits and not unit):  # a version keeps its zeros
            exact.add(digits)
            continue
        value *= lists.scales.get(match["scale"] or "", 1)
        kind, size = lists.units.get(unit, ("", 1.0))
        whole = f"{kind}{value * size:.12g}"
        if match["article"]:
            bare.update([whole] if unit or match["scale"] else [])
        else:
            exact.add(whole)
            bare.update([f"{value:.12g}"] if kind else [])
    return Amounts(frozenset(exact), frozenset(bare))


def is_sign(letter: str) -> bool:
    """Tell whether a letter is one of Chinese, Japanese or Korean, where no space need stand between words."""
    return "\u3040" <= letter <= "\ud7af"


def _values(text: str) -> dict[str, float]:
    """Read `two=2 three=3`."""
    return {name: float(value) for name, _, value in (one.partition("=") for one in text.split())}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


def _clock(match: re.Match[str], found: set[str], bare: set[str], han: Mapping[str, int]) -> str:
    """Note a time of day and take it out of the text; leave anything else as it is."""
    mark, hour = match["mark"] or "", match["hour"]
    has_minutes = match["minute"] is not None and ":" in match[0]
    if not mark and not has_minutes and "点" not in match[0] and "時" not in match[0]:
        return match[0]
    value = int(hour) if hour.isdigit() else sum(han[each] for each in hour)
    if (mark.startswith("p") or match["part"] in ("下午", "晚上", "午後", "傍晚")) and value < 12:
        value += 12
    elif mark.startswith("a") and value == 12:
        value = 0
    minute = 30 if match["half"] else int(match["minute"] or 0)
    if value > 24 or minute > 59:
        return match[0]
    found.add(f"clock{value % 24}:{minute:02d}")
    bare.update([f"spoken{value % 12}:{minute:02d}"] if minute else [f"{value % 24}", f"{value % 12 or 12}"])
    return " "


def _spoken(match: re.Match[str], found: set[str], bare: set[str], values: Mapping[str, float]) -> str:
    """Note a time of day in words, which may be of either half of the day; leave anything else as it is."""

    def number(word: str) -> float:
        return float(word) if word.isdigit() else values.get(word, 0.0)

    hour, word = number(match["hour"]), match["minutes"] or ""
    minute = _PARTS.get(word) or number(word)
    if match["before"]:
        hour, minute = hour - 1, 30 if match["before"] == "halb" else 45
    if hour not in range(13) or minute not in range(1, 60):
        return match[0]
    place = f"{int(hour) % 12}:{int(minute):02d}"
    found.add(f"spoken{place}")
    bare.update([f"clock{place}", f"clock{int(hour) % 12 + 12}:{int(minute):02d}"])
    return " "


def _number(digits: str) -> float | None:
    """Return the value of a number; None for a version, a date or an address."""
    plain = digits.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits) else digits.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None
