"""Take a line apart into words and signs, and say what shape each word has.

Owns: the tokens, the classes of their shapes, and what can be no secret by its shape. Refuses to judge: see `prose`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from .values import is_hex, is_random, is_reference, is_stand_in, is_technical, is_uuid

_SPLIT = '"`“”„«»‹›「」『』<>|=,;()\\[\\]{}:：→。、，！？?'
_EAST = "぀-ヿ㐀-鿿"
TOKEN = re.compile(rf"\[REDACTED:[a-z0-9-]{{1,40}}\]|[{_EAST}]|[^\s{_SPLIT}{_EAST}]+|[{_SPLIT}]")
EDGES = "'’‘*_.!…~"
SIGN = re.compile(r"[&!@#$%^*+?~]")
_NUMBER = re.compile(r"[\d.,/:+%€$£°-]+")
_HEX = re.compile(r"[0-9a-f]{7,}")
_JOINED = re.compile(r"[-_./\\@]")
_NO_SECRET = re.compile(
    r"#[0-9A-Fa-f]{3}(?:[0-9A-Fa-f]{3}){0,1}"  # colours
    r"|[KQRBNSDTLFCP]?[a-h]?x?[a-h][1-8][+#]?"  # moves of chess
    r"|\$\{?\w+\}?|-{1,2}[A-Za-z][\w-]*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+[!?]?"  # variables, options
    r"|[\w.-]+\.(?:tgz|t?gz|xlsx?|docx?|pptx?|pdf|p12|pfx|zip|tar|exe|dmg|apk|iso|mp[34]|jpe?g|gif|svg|csv|odt|epub)"
    r"|1Password\w*|GPIO\d+|\d+h\d+m?|0x[0-9A-Fa-f]+"
    r"|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|example|io|dev|local|lan)(?:/\S*)?|//\S*|/\S*"
)
_CAPITALS = re.compile(r"[^\W\d_].*[-_.][A-ZÀ-ÞЀ-Я]|[a-zà-ÿ][A-ZÀ-Þ]")
_UNIT = re.compile(r"\d+(?:[.,]\d+)?[^\W\d_]{1,3}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_IDENTIFIER = re.compile(r"[A-Z]{1,6}[-/]?\d+(?:[-/]\d+)*")
_RUNS = (
    (re.compile(r"[A-ZÀ-Þ]+"), "A"),
    (re.compile(r"[^\W\d_A]+"), "a"),
    (re.compile(r"\d+"), "9"),
)
_VOWEL = re.compile(r"[aeiouyäöüåæøáéíóúàèìòùâêîôûãõąęėīēāūěůıаеёиоуыэюяіїєαεηιουωάέήίόύώ]", re.IGNORECASE)


@dataclass(frozen=True)
class Token:
    """A word or a sign of a line, without the punctuation at its ends."""

    start: int
    end: int
    text: str
    kind: str  # class of its shape; "." a sign, "R" what can be no secret


def tokens(line: str) -> list[Token]:
    """Return the words and signs of a line."""
    found = []
    for match in TOKEN.finditer(line):
        start, end = match.span()
        text = match[0]
        if end - start > 1 and not text.startswith("[R"):
            core = text.strip(EDGES)
            if core and len(core) < len(text):
                start += len(text) - len(text.lstrip(EDGES))
                text, end = core, start + len(core)
        found.append(Token(start, end, text, kind_of(text)))
    return found


@lru_cache(1 << 15)
def kind_of(text: str) -> str:
    """Return the class of a word by its shape."""
    if not any(map(str.isalnum, text)):
        return "."
    if text.startswith("[R") or len(text) > 64:
        return "R"
    if text.isdigit():
        size = len(text)
        if _YEAR.fullmatch(text):
            return "q"
        return "n" if size < 4 else "N" if size < 9 else "M" if size < 17 else "H"
    if is_uuid(text) or is_stand_in(text) or is_reference(text) or _NO_SECRET.fullmatch(text):
        return "R"
    if (
        any(map(is_technical, re.split(r"[-_]", text)))
        or len(text) >= 40
        or (len(text) >= 20 and (is_random(text, 20) or is_hex(text)))
    ):
        return "R"  # what machines mint is known by its format or its name
    if _NUMBER.fullmatch(text):
        return "m" if len(text) < 12 else "M"
    letters = [char for char in text if char.isalpha()]
    has_digit = len(letters) < sum(map(str.isalnum, text))
    upper = any(map(str.isupper, letters))
    lower = any(map(str.islower, letters))
    if has_digit:
        if _HEX.fullmatch(text):
            return "h"
        if _UNIT.fullmatch(text):
            return "u"
        if _IDENTIFIER.fullmatch(text):
            return "I"
        if SIGN.search(text):
            return "X"
        if _JOINED.search(text):
            return "J"
        return "Y" if upper and lower else "y" if lower else "V"
    if SIGN.search(text[:-1]):
        return "S"
    if _JOINED.search(text) and not text.endswith("-"):
        return "E" if upper and lower and _CAPITALS.search(text) else "D"
    if not lower:
        return "U" if upper and len(text) > 1 else "T" if upper else "l"
    if upper:
        return "C" if any(map(str.isupper, text[1:])) else "T"
    return "l"


@lru_cache(1 << 15)
def shape_of(text: str) -> tuple[str, ...]:
    """Return what is known of a word by itself."""
    shape = text
    for pattern, sign in _RUNS:
        shape = pattern.sub(sign, shape)
    kind, size = kind_of(text), len(text)
    digits = sum(map(str.isdigit, text))
    told = [f"shape {shape[:12]}", f"size {kind} {min(size, 12) if size < 12 else size // 8 + 11}", f"kind {kind}"]
    told.append(f"digits {kind} {min(digits, 6)}")
    if digits and text[-1].isdigit() and not text[0].isdigit():
        told.append(f"ends {kind} {min(4, len(text) - len(text.rstrip('0123456789')))}")
    if kind in "lTUCDE" and size > 3:
        vowels = len(_VOWEL.findall(text))
        told.append(f"vowels {kind} {min(4, vowels * 8 // size)}")
    if kind in "lTUDER":
        low = text.casefold()
        told += [f"self {low}", f"self- {low[:5]}", f"-self {low[-3:]}"]
    elif digits:
        letters = "".join(char for char in text.casefold() if char.isalpha())
        told += [f"letters {letters[:6]}", f"value {text[:8]}"]
    return tuple(told)


@lru_cache(1 << 15)
def plain(text: str) -> str:
    """Return a word as a neighbour is known: its letters, or its shape."""
    kind = kind_of(text)
    if kind in ".lTUD":
        return text.casefold()
    if kind == "R":
        return "<R>"
    letters = "".join(char for char in text.casefold() if char.isalpha())
    return f"<{kind}>{letters if kind == 'C' else ''}"
