"""Cut a sentence into terms that compare well: words by their stem, numbers by their value, dates by their day.

Owns what two spellings of one thing are (2 GB and 2048 MB, 10 am and 10:00). Knows nothing of what a sentence says.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from ...text.english import forms

_TOKEN = r"""
  (?P<code>https?://[^\s,;)]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\#[0-9a-fA-F]{3,8}\b|\+\d[\d ()-]{6,}\d
    |(?<!\w)(?:~|\.{1,2})?/[\w./-]+|[\w.-]+/(?:[\w.-]+/)+[\w.-]*|[\w-]+/[\w-]*\.\w+|[\w.-]+/(?=[\s,.]|$))
 |(?P<day>\d{4}-\d\d(?:-\d\d)?\b)
 |(?P<clock>\d{1,2}:\d\d(?:\s?[ap]\.?m\b)?|\d{1,2}\s?[ap]\.?m\b\.?)
 |(?P<money>[$€£]\d[\d,]*(?:\.\d+)?(?:k|K|M|bn)?\b)
 |(?P<name>\d+(?:\.\d+){2,}\b|[A-Za-z]+[+\#]+(?!\w)|\w+(?:-\w+)*-\d\w*|\w*(?:[a-zA-Z]\d|\d[a-zA-Z]|[a-z][A-Z]|\w_\w)\w*(?:[.-]\w+)*
    |[A-Za-z]\w*(?:\.[A-Za-z]\w*)+|\.[a-z]{2,})
 |(?P<number>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)
 |(?P<word>[^\W\d_]+(?:['’-][^\W\d_]+)*|[%°€$£&/;:,()=→]|->|=>)
"""
_SCALED = r"(?P<sign>[$€£]?)(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<scale>k|K|M|bn|B)?(?P<unit>%|°?[A-Za-zµ]*)"

_UNITS: dict[str, tuple[str, float]] = {
    name: (dimension, factor)
    for dimension, table in {
        "time": "ms msec millisecond milliseconds=.001; s sec secs second seconds=1; min mins minute minutes=60;"
        " h hr hrs hour hours=3600; d day days=86400; week weeks=604800; month months=2592000; year years=31536000",
        "size": "b byte bytes=1; kb kilobyte kilobytes=1e3; mb megabyte megabytes=1e6; gb gigabyte gigabytes=1e9;"
        " tb terabyte terabytes=1e12; kib=1024; mib=1048576; gib=1073741824",
        "mass": "g gram grams=1; kg kilo kilos kilogram kilograms=1000; lb lbs pound pounds=453.6",
        "length": "mm=.001; cm=.01; m meter meters metre metres=1; km kilometer kilometers kilometre kilometres=1000;"
        " mile miles=1609",
        "percent": "% percent=1",
        "heat": "° °c c celsius degree degrees=1; °f f fahrenheit=1.0001",
        "eur": "€ eur euro euros=1",
        "usd": "$ usd dollar dollars=1",
        "gbp": "£ gbp=1",
    }.items()
    for group in table.split("; ")
    for names, factor in [(group.rpartition("=")[0].split(), float(group.rpartition("=")[2]))]
    for name in names
}
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "bn": 1e9, "B": 1e9, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_WORDED = {
    word: float(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())  # noqa: SIM905
} | {"twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "hundred": 100.0, "dozen": 12.0}
_WEEKDAYS = {
    short: number
    for number, names in enumerate(("mon", "tue tues", "wed", "thu thurs", "fri", "sat", "sun"))
    for short in names.split()
}
_WHOLE_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SHORT_MONTHS = {month[:3]: number for number, month in enumerate(_MONTHS)} | {"sept": 8}
_IRREGULAR = {
    "forbidden": "forbid",
    "forbade": "forbid",
    "rewritten": "rewrite",
    "rewrote": "rewrite",
    "done": "do",
    "did": "do",
}
_VOWEL = re.compile(r"[aeiouyáéíóúäöüàèâêôãõ]")


@dataclass(frozen=True)
class Term:
    """A word, number, date or name, and what it is compared by."""

    key: str
    kind: str  # word, name, number, time, code
    text: str
    value: float = 0.0
    unit: str = ""  # of a number its dimension, of a time whether it is a date, a weekday or a clock's
    capital: bool = False


def terms(sentence: str) -> list[Term]:
    """Cut a sentence; punctuation that joins or separates comes along as words of its own."""
    plain = unicodedata.normalize("NFKC", sentence).replace("’", "'")
    found: list[Term] = []
    for match in _token().finditer(plain):
        kind, text = match.lastgroup or "word", match[0]
        if kind == "word":
            found += _words(text)
        elif kind == "number":
            found.append(_number(text))
        elif kind == "money":
            found.append(_measured(text) or Term(text, "name", text))
        elif kind == "clock":
            found.append(_clock(text))
        elif kind == "name":
            found.append(_measured(text) or Term(text.lower(), "name", text, capital=True))
        elif kind == "day":
            found.append(Term(text, "time", text, unit="date"))
        else:
            found.append(Term(text.rstrip("/.").removeprefix("./").lower(), "code", text))
    return _joined(found)


def stem(word: str) -> str:
    """Give what the forms of a word have in common: stores, stored and storing are one."""
    word = _IRREGULAR.get(word.lower(), word.lower())
    head = forms(word)[0]
    if head != word or len(word) <= 3:
        return head.removesuffix("e") if len(head) > 2 else head
    for ending, instead in (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word[: -len(ending)] + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        base = word[:-1]
        return forms(base)[0].removesuffix("e")
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) > 1 and _VOWEL.search(base) and not word.endswith("eed"):
            if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
                base = base[:-1]
            return forms(base)[0].removesuffix("e")
    return word.removesuffix("e")


@cache
def _token() -> re.Pattern[str]:
    return re.compile(_TOKEN, re.VERBOSE)


@cache
def _scaled() -> re.Pattern[str]:
    return re.compile(_SCALED)


def _words(text: str) -> list[Term]:
    low = text.lower().replace("-", "")
    if "'" in low:
        base, _, tail = low.partition("'")
        if tail == "t":
            whole = {"can": "can", "won": "will", "shan": "shall"}.get(base, base.removesuffix("n"))
            return [Term(whole, "word", text), Term("not", "word", text)]
        if tail in ("m", "re", "ve", "ll", "d", "s"):
            rest = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would", "s": "'s"}[tail]
            return [*_words(text[: len(base)]), Term(rest, "word", text)]
        return [Term(low, "word", text)]
    if low == "cannot":
        return [Term("can", "word", text), Term("not", "word", text)]
    if low in _WORDED:
        return [Term(f"{_WORDED[low]:g}", "number", text, _WORDED[low])]
    capital = text[0].isupper()
    if low in _WHOLE_DAYS or low.removesuffix("s") in _WHOLE_DAYS:
        return [Term(low.removesuffix("s"), "time", text, unit="weekday")]
    if capital and low in _WEEKDAYS:
        return [Term(_WHOLE_DAYS[_WEEKDAYS[low]], "time", text, unit="weekday")]
    if (low in _MONTHS and (capital or low not in ("may", "march", "august"))) or (capital and low in _SHORT_MONTHS):
        return [Term(_MONTHS[_SHORT_MONTHS[low[:3]]], "time", text, unit="date", capital=True)]
    return [Term(low, "word", text, capital=capital)]


def _number(text: str) -> Term:
    value = float(text.replace(",", ""))
    return Term(_number_key(value, ""), "number", text, value)


def _measured(text: str) -> Term | None:
    """Read a number with its unit or scale written together, such as 64GB, 30s, $50K or 3rd."""
    found = _scaled().fullmatch(text)
    if not found:
        return None
    value, scale = float(found["digits"].replace(",", "")), _SCALES.get(found["scale"] or "", 1.0)
    if found["sign"]:
        return _with_unit(value * scale, found["sign"], text)
    if found["scale"] and not found["unit"]:
        return Term(f"{value * scale:.10g}", "number", text, value * scale)
    unit = f"{found['scale'] or ''}{found['unit']}".lower()
    if unit in ("st", "nd", "rd", "th", "x"):
        return Term(f"{value:g}", "number", text, value)
    return _with_unit(value, unit, text) if unit in _UNITS else None


def _with_unit(value: float, unit: str, text: str) -> Term:
    dimension, factor = _UNITS[unit]
    return Term(_number_key(value * factor, dimension), "number", text, value * factor, dimension)


def _number_key(value: float, unit: str) -> str:
    return f"{value:.10g} {unit}".strip()


def _clock(text: str) -> Term:
    low = text.lower().replace(".", "").replace(" ", "")
    hour, _, rest = low.rstrip("apm").partition(":")
    hours = int(hour) % 12 + (12 if "p" in low else 0) if low.endswith("m") else int(hour)
    return Term(f"{hours}:{int(rest or 0):02}", "time", text, unit="clock")


def _joined(found: list[Term]) -> list[Term]:
    """Put together what two terms say as one: a number and its unit or scale, a month and its day."""
    done: list[Term] = []
    for term in found:
        last = done[-1] if done else None
        if last is not None and last.kind == "number" and not last.unit and last.text.lower() not in ("one",):
            if term.key in ("million", "billion", "thousand"):
                value = last.value * _SCALES[term.key]
                done[-1] = Term(_number_key(value, ""), "number", f"{last.text} {term.text}", value)
                continue
            if term.kind == "word" and term.key in _UNITS and (len(term.key) > 1 or term.key in "%°€$£sgmh"):
                done[-1] = _with_unit(last.value, term.key, f"{last.text} {term.text}")
                continue
        if last is not None and last.unit == "heat" and term.key in ("c", "celsius", "f", "fahrenheit"):
            done[-1] = _with_unit(last.value, term.key, f"{last.text} {term.text}")
            continue
        if last is not None and last.unit == "date" and term.kind == "number" and 1900 <= term.value < 2200:
            done[-1] = Term(f"{last.key} {term.value:g}", "time", f"{last.text} {term.text}", unit="date")
            continue
        if last is not None and _is_month(last) and term.kind == "number" and not term.unit and 1 <= term.value <= 31:
            done[-1] = Term(f"{last.key} {term.value:g}", "time", f"{last.text} {term.text}", unit="date")
            continue
        if last is not None and _is_month(term) and last.kind == "number" and not last.unit and 1 <= last.value <= 31:
            done[-1] = Term(f"{term.key} {last.value:g}", "time", f"{last.text} {term.text}", unit="date")
            continue
        done.append(term)
    return done


def _is_month(term: Term) -> bool:
    return term.kind == "time" and term.key in _MONTHS
