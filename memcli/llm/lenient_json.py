"""Read the JSON a language model meant, from the most literal reading to the most charitable.

It reads through fences, thinking, prose around an object, bad escapes and comments, and finds fields by pattern. It
never guesses how a text that was cut off would have gone on. Which fields are right is decided in `llm_reply`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

Value = Any

WHOLE, OBJECT, FIELDS, REPAIRED = 1, 2, 3, 4
"""The tiers: the text itself, an object within it, fields by pattern, a repair library's reading."""

LARGEST = 400_000  # characters; a longer text is no reply, and every step below stays within seconds
_LARGEST_REPAIR = 100_000
_MOST_STARTS, _MOST_UNCLOSED = 64, 6

_OPEN_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSED_THOUGHT = re.compile(r"</(think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCED = re.compile(r"\s*(?:json\s*)?```[ \t]*[\w-]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
_STARTS_AT_ONCE = re.compile(r"\s*(?:```[\w-]*\s*)?[\[{]")
_STRING = r'"(?>[^"\\]*(?:\\.[^"\\]*)*)"'
_BRACKET = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_PIECE = re.compile(
    rf"(?P<string>{_STRING})|(?P<comment>//[^\n]*|/\*.{{0,500}}?\*/)"
    r"|(?P<comma>,(?=\s*[}\]]))|(?P<word>\b(?:True|False|None)\b)",
    re.DOTALL,
)
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(.?))', re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}


def loads_lenient(text: str, fields: Sequence[str] = ()) -> tuple[Value, int]:
    """Return the value a model meant and the tier that found it; raise ValueError if none did.

    `fields` are the names the object was asked to have: what has none of them is passed over, and only with
    them can the third tier work.
    """
    for values, tier in readings(text, fields):
        for value in values:
            if not fields or any(name in item for item in dicts(value) for name in fields):
                return value, tier
    raise ValueError("no JSON in it")


def readings(text: str, fields: Sequence[str] = (), *, cut: bool = False) -> Iterator[tuple[list[Value], int]]:
    """Yield what the text may mean, each time all the values it holds, the most literal reading first.

    `cut` says that it was cut off at its end; ValueError where it is empty or larger than any reply.
    """
    if len(text) > LARGEST:
        raise ValueError(f"{len(text):,} characters, more than any reply needs ({LARGEST:,})")
    text = without_thoughts(text).strip("\ufeff\x00 \t\r\n")
    if not text:
        raise ValueError("nothing in it")
    fenced = _FENCED.fullmatch(text)
    if whole := _parsed(fenced[1] if fenced else text):
        yield whole, WHOLE
    parts = list(_balanced(text, inside=bool(fields)))
    values = [value for part in parts for value in _parsed(part)]
    if values and not _keys_outside(text, parts, fields):
        yield values, OBJECT
    if fields and (by_pattern := fields_by_pattern(text, fields)):
        yield [by_pattern], FIELDS
    if not cut and len(text) <= _LARGEST_REPAIR and (repaired := _repaired(text)):
        yield repaired, REPAIRED


def dicts(value: Value) -> list[dict[str, Value]]:
    """Return the objects of a value: itself, or those of a list."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]


def without_thoughts(text: str) -> str:
    """Return a text without what a reasoning model says before its answer, also where a tag is missing.

    Of thinking that is never closed only an object at the very end counts as the answer.
    """
    if _STARTS_AT_ONCE.match(text):
        return text  # a tag further on is part of the answer
    text = _without_closed_thoughts(text)
    if _STARTS_AT_ONCE.match(text):
        return text
    for tag in reversed(list(_CLOSED_THOUGHT.finditer(text))):
        if "{" in text[tag.end() :]:
            return text[tag.end() :]
    opening = _OPEN_THOUGHT.search(text)
    brace = text.find("{")
    if not opening or 0 <= brace < opening.start():
        return text
    ending = text.rstrip().removesuffix("```").rstrip()
    last = [part for part in _balanced(text[opening.end() :], inside=True) if ending.endswith(part)]
    return text[: opening.start()] + (last[-1] if last else "")


def _without_closed_thoughts(text: str) -> str:
    parts, position = [], 0
    while (tag := _OPEN_THOUGHT.search(text, position)) and (end := _CLOSED_THOUGHT.search(text, tag.end())):
        parts.append(text[position : tag.start()])
        position = end.end()
    return "".join(parts) + text[position:]


def mended(text: str) -> str:
    """Return a text with stray backslashes, comments, trailing commas and Python's constants made JSON."""

    def piece(match: re.Match[str]) -> str:
        if match["string"]:
            return _ESCAPE.sub(_escape, match["string"])
        return _WORDS[match["word"]] if match["word"] else ""

    return _PIECE.sub(piece, text)


def _escape(match: re.Match[str]) -> str:
    if match[1]:
        return match[0]
    return "'" if match[2] == "'" else "\\\\" + match[2]


def _parsed(text: str) -> list[Value]:
    """Return the value of the text as it is, else of the mended text: one value or none."""
    for prepare in (str, mended):
        # ValueError covers a number of too many digits, RecursionError brackets nested by the thousand.
        try:
            return [json.loads(prepare(text), strict=False)]
        except (ValueError, RecursionError):
            continue
    return []


def _keys_outside(text: str, parts: Sequence[str], fields: Sequence[str]) -> bool:
    """Return whether a field's name stands outside the objects found, so that using them would lose it."""
    for part in parts:
        text = text.replace(part, " ", 1)
    return any(re.search(rf"""["']{re.escape(name)}["']\s*:""", text) for name in fields)


def _balanced(text: str, *, inside: bool) -> Iterator[str]:
    """Yield the pieces from a bracket to the one that closes it, strings respected.

    Where a bracket is never closed, `inside` goes on with the next one within it.
    """
    position = unclosed = 0
    for _ in range(_MOST_STARTS):
        brackets = (text.find("{", position), text.find("[", position))
        start = min((bracket for bracket in brackets if bracket >= 0), default=-1)
        if start < 0:
            return
        depth = end = 0
        for token in _BRACKET.finditer(text, start):
            depth += (token[0] in "{[") - (token[0] in "}]")
            if depth == 0:
                end = token.end()
                break
        if end:
            yield text[start:end]
        elif not inside or (unclosed := unclosed + 1) == _MOST_UNCLOSED:
            return
        position = end or start + 1


def fields_by_pattern(text: str, fields: Sequence[str]) -> dict[str, Value]:
    """Return each named field's value, found between its name and the next one's; {} if any cannot be read whole.

    So quotes and line ends a model forgot to escape do no harm. Only texts, null and lists of plain texts or
    of objects that parse can be read so, and a name that comes twice makes it a guess.
    """
    names = "|".join(map(re.escape, sorted(fields, key=len, reverse=True)))
    matches = list(re.finditer(rf"""(?:[{{,\n]|^)\s*["'“]?\b({names})\b["'”]?\s*:""", text))
    values: dict[str, Value] = {}
    for index, match in enumerate(matches):
        last = index + 1 == len(matches)
        region = text[match.end() : None if last else matches[index + 1].start()]
        value = _closed_value(region, last=last)
        if value is _UNCLOSED or match[1] in values:
            return {}
        if isinstance(value, str) and _SWALLOWED.search(value):
            return {}
        values[match[1]] = value
    return values


_UNCLOSED: Any = object()
_AFTER_LAST = re.compile(r"[\s,}\]`;]*$")
_SWALLOWED = re.compile(r"""["']\s*[,}]?\s*["'][\w ]+["']\s*:""")  # another field within the text of this one
_QUOTES = {'"': '"', "'": "'", "“": "”"}


def _closed_value(region: str, *, last: bool) -> Value:
    region = region.strip()
    if region.startswith(("[", "{")):
        part = next(_balanced(region, inside=False), None)
        values = _parsed(part) if part else []
        return values[0] if values and _AFTER_LAST.match(region[len(part or "") :]) else _UNCLOSED
    if region[:4].lower() in ("null", "none"):
        return None if _AFTER_LAST.match(region[4:]) else _UNCLOSED
    close = _QUOTES.get(region[:1])
    if close is None:
        return _UNCLOSED
    end = region.rfind(close)
    # The last text must be followed by what closes the object, or it may have been cut at a quotation.
    if end < 1 or not _AFTER_LAST.match(region[end + 1 :]) or (last and "}" not in region[end + 1 :]):
        return _UNCLOSED
    return _unescaped(region[1:end])


def _unescaped(text: str) -> str:
    quoted = _ESCAPE.sub(_escape, text)
    quoted = re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', quoted)
    return next((str(value) for value in _parsed(f'"{quoted}"')), text)


def _repaired(text: str) -> list[Value]:
    """Return what json-repair reads, if it is installed and leaves out nothing of the text."""
    try:
        import json_repair
    except ImportError:
        return []
    region = text[min((bracket for bracket in map(text.find, "{[") if bracket >= 0), default=0) :]
    try:
        value = json_repair.loads(region)
    except (ValueError, RecursionError):
        return []
    whole = _letters(_flat(value)) >= 0.9 * _letters(region)
    return [value] if whole and value and isinstance(value, dict | list) else []


def _flat(value: Value) -> str:
    if isinstance(value, dict):
        return "".join(f"{key}{_flat(item)}" for key, item in value.items())
    return "".join(map(_flat, value)) if isinstance(value, list) else str(value)


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
