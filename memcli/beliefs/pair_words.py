"""What the words of a text tell the learned comparison: its numbers, names, negations and words of change."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

KINDS = ("negation", "change", "addition", "hedge", "past", "habit", "kin", "place", "calendar", "self")
"""Lists of words that are counted, in the order of the features."""
PHRASES = ("change", "negation", "correction", "addition", "question", "ongoing")
_WORD = re.compile(r"[\w@#+/.’'-]*[\w+#]|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_CAPITAL = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][\w.+#-]*")
_CLOCK = re.compile(
    r"(?P<early>上午|下午|晚上|午前|午後)?\s*(?<![\d.,:])(?P<hour>\d{1,2}|[一二两三四五六七八九十]{1,2})(?:[:.h点時](?P<minute>\d{2})?)?(?P<half>半)?\s*"
    r"(?P<mark>a\.?m\b\.?|p\.?m\b\.?|uhr\b|o'clock|点|時)?"
)


@dataclass(frozen=True)
class Words:
    """The words of a text and what they tell."""

    text: str
    words: tuple[str, ...]  # lower case, without apostrophe s
    content: frozenset[str]
    names: frozenset[str]  # words with a capital inside a sentence, lower case
    amounts: frozenset[str]  # numbers, times of day, durations and sizes in one form: 2 pm is 14:00, two weeks 14 days
    marked: Mapping[str, frozenset[str]]  # kind → the words of that kind
    phrases: tuple[int, ...]  # how often each of PHRASES occurs
    foreign: float  # share of the letters that are not Latin


@dataclass(frozen=True)
class _Lists:
    words: Mapping[str, frozenset[str]]
    stop: frozenset[str]
    phrases: tuple[re.Pattern[str], ...]
    opposites: frozenset[tuple[str, str]]
    number: re.Pattern[str]
    values: Mapping[str, float]  # number word → its value
    units: Mapping[str, tuple[str, float]]  # unit → kind and size
    han: Mapping[str, int]
    afternoon: frozenset[str]


@lru_cache(maxsize=1)
def _lists() -> _Lists:
    data = tomllib.loads(files("memcli").joinpath("data/pair_words.toml").read_text(encoding="utf-8"))
    numbers: dict[str, Any] = data["numbers"]
    units = {
        unit: (kind, float(size))
        for kind, table in (("time", numbers["durations"]), ("size", numbers["sizes"]))
        for size, names in table.items()
        for unit in names
    }
    pairs = [tuple(pair) for pair in data["opposites"]["pairs"]]
    values = {**numbers["words"], **numbers["ordinals"]}
    latin = [unit for unit in units if not _HAN.match(unit)]
    han = [unit for unit in units if unit not in latin]
    number = (
        rf"(?P<bare>\d+(?:[.,]\d+)*)\s?(?P<han>{_any(han)})|(?<![\w.,])(?:(?P<digits>\d+(?:[.,:]\d+)*)(?P<scale>k|m)?"
        rf"(?:st|nd|rd|th)?|(?P<word>{_any(values)})|(?P<article>{_any(numbers['articles'])}))"
        rf"(?:(?:(?<=\d)|[\s-])\s?(?P<unit>{_any(latin)})\b)?(?![a-z0-9])|(?P<other>\d+(?:[.,:]\d+)*)"
    )
    return _Lists(
        {kind: frozenset(data["words"][kind]) for kind in KINDS},
        frozenset([*data["words"]["stop"], *data["words"]["self"]]),
        tuple(re.compile("|".join(data["phrases"][kind])) for kind in PHRASES),
        frozenset(pairs) | {(right, left) for left, right in pairs},
        re.compile(number),
        {word: float(value) for word, value in values.items()},
        units,
        numbers["han"],
        frozenset(numbers["afternoon"]),
    )


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


@lru_cache(maxsize=64)
def read_words(text: str) -> Words:
    """Read what the words of a text tell."""
    lists = _lists()
    lower = text.lower().replace("’", "'")
    words = tuple(word.removesuffix("'s") for word in _WORD.findall(lower))
    own = frozenset(words)
    letters = [character for character in text if character.isalpha()]
    return Words(
        text,
        words,
        own - lists.stop,
        frozenset(word.lower().removesuffix("'s").rstrip(".") for word in _CAPITAL.findall(text)) - lists.words["self"],
        frozenset(_amounts(lower, lists)),
        {kind: own & found for kind, found in lists.words.items()},
        tuple(len(pattern.findall(lower)) for pattern in lists.phrases),
        sum(character > "ɏ" for character in letters) / max(1, len(letters)),
    )


def opposites(old: Words, new: Words) -> int:
    """Count the words that only one text has and whose opposite only the other has."""
    lists = _lists()
    ours, theirs = set(old.words) - set(new.words), set(new.words) - set(old.words)
    return sum((left, right) in lists.opposites for left in ours for right in theirs)


def is_stop(word: str) -> bool:
    """Tell whether a word says nothing by itself."""
    return word in _lists().stop


def _amounts(text: str, lists: _Lists) -> set[str]:
    """Give the amounts of a lower-case text, each in one form."""
    found: set[str] = set()
    text = text.replace("half an hour", "30 minutes").replace("halbe stunde", "30 minuten")
    rest = _CLOCK.sub(lambda match: _clock(match, found, lists), text)
    for match in lists.number.finditer(rest):
        if match["article"] and not match["unit"]:
            continue
        digits = match["digits"] or match["bare"] or match["other"]
        value: float | None = 1.0 if match["article"] else lists.values[match["word"]] if match["word"] else _number(digits)
        unit = match["unit"] or match["han"] or ""
        if value is None or ("." in (digits or "") and not unit):  # a version keeps its zeros
            found.add(digits)
            continue
        value *= {"k": 1e3, "m": 1e6}.get(match["scale"] or "", 1)
        kind, size = lists.units.get(unit, ("", 1.0))
        found.add(f"{kind}{value * size:.12g}")
    return found


def _clock(match: re.Match[str], found: set[str], lists: _Lists) -> str:
    """Note a time of day as minutes and take it out of the text; leave anything else as it is."""
    mark, hour = match["mark"] or "", match["hour"]
    has_minutes = match["minute"] is not None and ":" in match[0]
    if not mark and not has_minutes and "点" not in match[0] and "時" not in match[0]:
        return match[0]
    value = int(hour) if hour.isdigit() else sum(lists.han[each] for each in hour)
    if mark.startswith("p") or match["early"] in lists.afternoon:
        value += 12 if value < 12 else 0
    elif mark.startswith("a") and value == 12:
        value = 0
    minute = 30 if match["half"] else int(match["minute"] or 0)
    if value > 24 or minute > 59:
        return match[0]
    found.add(f"clock{value % 24}:{minute:02d}")
    return " "


def _number(digits: str) -> float | None:
    """Give the value of a number; None for a version, a date or an address."""
    plain = digits.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits) else digits.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None
