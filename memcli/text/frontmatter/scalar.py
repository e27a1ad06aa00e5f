"""The one rule for what a plain YAML word means, and the spelling that every YAML reader takes back as it was.

Only what looks the same after a round trip is a number; dates, `yes`, `007` and `1.10` stay the text they are.
"""

import re
from collections.abc import Mapping

from ...errors import RefusedError

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# YAML 1.1 reads these as booleans, 1.2 as words; `=` and `<<` have a meaning of their own in 1.1.
AMBIGUOUS = {*WORDS, "=", "<<", "y", "n", "yes", "no", "on", "off"}
# As patterns, not compiled: only a command that writes pays for them.
NUMBERLIKE = r"[-+]?[0-9_.]+|[-+]?\.?[0-9][0-9a-fA-FxXob_.,:+-]*|[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)|0o[0-7]+"
DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
DATELIKE = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9].*)?"
RFC_3339 = DATE + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
UNPRINTABLE = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def read_plain(text: str) -> object:
    """Turn an unquoted word into the value it stands for."""
    if text in WORDS:
        return WORDS[text]
    if text[0] in "-0123456789" and text[-1] in "0123456789":
        digits = text[1:] if text[0] == "-" else text
        if not digits.isascii():
            return text
        if digits.isdigit():
            canonical = len(digits) <= 16 and (digits[0] != "0" or text == "0")
            return int(text) if canonical else text
        try:
            number = float(text)
        except ValueError:
            return text
        return number if repr(number) == text else text
    return text


def write(value: object, *, flow: bool = False) -> str:
    """Spell a value on one line; with `flow`, so that it can stand between brackets."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value if is_plain(value, flow=flow) else double_quoted(value)
        case int() | float():
            return _number(value)
        case Mapping():
            pairs = (f"{write_key(key, flow=True)}: {write(item, flow=True)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        case list() | tuple():
            return "[" + ", ".join(write(item, flow=True) for item in value) + "]"
    raise TypeError(f"frontmatter holds text, numbers, lists and maps, not {type(value).__name__}")


def write_key(key: object, *, flow: bool = False) -> str:
    """Spell the name of a field."""
    if not isinstance(key, str):
        raise RefusedError(f"a frontmatter key must be text, not {key!r}")
    return key if is_plain(key, flow=flow) and ":" not in key else double_quoted(key)


def is_plain(text: str, *, flow: bool = False) -> bool:
    """Say whether YAML 1.1, YAML 1.2 and we ourselves read the unquoted text back as this same text."""
    if not text or text != text.strip() or not is_printable(text):
        return False
    if text[0] in "-?:,[]{}#&*!|>'\"%@`" or text[-1] == ":" or ": " in text or " #" in text:
        return False
    if text in WORDS or text.lower() in AMBIGUOUS or text.startswith("..."):
        return False
    if flow and not {*",[]{}:?"}.isdisjoint(text):
        # Timestamps are the exception: every reader takes their colons between brackets.
        return bool(re.fullmatch(RFC_3339, text))
    if re.fullmatch(DATELIKE, text):
        return bool(re.fullmatch(RFC_3339, text))
    return not re.fullmatch(NUMBERLIKE, text)


def is_printable(text: str) -> bool:
    """Say whether YAML takes every character of the line as it is."""
    # Python's own rule is stricter and costs nothing; the pattern is only made for texts that fail it.
    return text.isprintable() or not re.search(UNPRINTABLE, text)


def is_date(text: str) -> bool:
    """Say whether the text is a bare day, which only stays unquoted where the user writes it so."""
    return bool(re.fullmatch(DATE, text))


def double_quoted(text: str) -> str:
    """Quote a text with the escapes that JSON and YAML share where they do."""
    if re.search(r"[\ud800-\udfff]", text):
        raise RefusedError("a text with half a character (a lone surrogate) cannot be stored")
    return '"' + re.sub(rf'["\\]|{UNPRINTABLE}', _escape, text) + '"'


def single_quoted(text: str) -> str | None:
    """Quote a text without escapes; None when it needs some."""
    return "'" + text.replace("'", "''") + "'" if is_printable(text) else None


def _escape(found: re.Match[str]) -> str:
    char = found.group()
    code = ord(char)
    if char in ESCAPES:
        return ESCAPES[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _number(value: int | float) -> str:
    spelled = repr(value)
    if type(read_plain(spelled)) is not type(value):
        raise RefusedError(f"the number {spelled} would not come back as it is", "give it as text")
    return spelled
