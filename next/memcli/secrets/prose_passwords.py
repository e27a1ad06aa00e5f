"""Find passwords said in a sentence: words a person chose, which only the sentence gives away.

Owns how a password is called and announced in several languages, and the words that describe a password instead of
being one. Names and values as programs write them are read in `assignments`. Prefers silence: of several plain words
none is taken, nor one that the sentence goes on from.
"""

import re
from collections.abc import Iterator
from functools import cache, partial

from .. import data
from ..data import compiled
from .value_classifier import (
    Span,
    is_default_password,
    is_expression,
    is_jumbled,
    is_mixed,
    is_monotonous,
    is_password,
    is_stand_in,
    is_technical,
    without_end,
)

_FILE = "prose_passwords.toml"
_pattern = partial(data.pattern, _FILE)
_OWN_IS = {
    "on": "(?:salasana|parool)$",
    "je": "(?:heslo|geslo|lozinka)$",
    "to": r"(?:hasło|heslo)$|\b(?:changed|changes?|sets?|reset|updated) ",
}
"""Words that mean something else after a name of another language: the password on GitHub."""
_EAST_ASIAN = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_QUESTION = r"[^\n?？]{0,80}[?？][ \t*_\"'”»]{0,4}$|[^\n.?]{0,60}:[ \t*]{0,3}$"
_TELL = r"\b(?:tell|give|send|enter|type|share|need|provide|nenn|gib|sag|schick|dime|donne|envoie|dimmi|geef|podaj)"
_NO_ANSWER = (
    r"[ \t-]?(?:manager|hash|store|digest|polic|field|generator|vault|reset|provider|prompt|type|kdf|algorithm|length|"
    r"format|rule|tool|librar|plugin|strength|scheme|verwaltung|tresor)|[ \t](?:verwalte|speicher)"
)
_SPEAKER = r"[ \t>*_-]{0,6}(?:[^\W\d_][\w ]{0,24}[*_]{0,2}:[*_]{0,2}[ \t]+)?"
_WORDS_OF_ANSWER = 7
_LONGEST_ANSWER = 120


def prose_passwords(text: str, low: str) -> Iterator[Span]:
    """Yield span and rule of the passwords in sentences; `low` is the text in lower case."""
    for begin, end in announced(low):
        spans = [_before(text, begin, end), *_after(text, end), _phrase(text, begin, end)]
        yield from ((*span, "password") for span in spans if span)
    yield from ((*span, "password") for span in _pairs(text, low))


def announced(low: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each word for a password."""
    for name in _sorted("names"):
        position = low.find(name)
        while position >= 0:
            end = position + len(name)
            if not compiled(r"[a-zäöüß]").match(low, end):
                yield position, end
            position = low.find(name, end)
    if any(first in low for first in _sorted("first")):
        for match in _pattern("spaced_names").finditer(low):
            yield match.span()


def _before(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """Return where a value before the word is: `use … as the password`."""
    start = max(0, begin - 140)
    match = _pattern("as").search(text[start:begin]) or _pattern("when").search(text[start:begin])
    if match is None:
        return None
    is_english = match["as"].lower() in ("as", "for")
    if is_english and _pattern("no_value").match(text, end):
        return None
    value = match["value"]
    if len(value) < 5 or not is_mixed(value) or _names_password(value):
        return None
    return start + match.start("value"), start + match.end("value")


def _pairs(text: str, low: str) -> Iterator[tuple[int, int]]:
    """Yield the second half of `login: anna / …`, where it is mixed more than a name."""
    if "login" in low or "cred" in low or "daten" in low or "identifiants" in low:
        for match in _pattern("pair").finditer(text):
            name = "value" if match["value"] else "first"
            value = without_end(match[name])
            is_cased = (
                any(map(str.isupper, value)) and any(map(str.islower, value)) and is_password(value)
            )
            if is_jumbled(value) or (is_cased and is_mixed(value)):
                yield match.start(name), match.start(name) + len(value)


def _after(text: str, end: int) -> Iterator[tuple[int, int]]:
    """Yield the value that stands after the word, and the one it replaced."""
    match = _pattern("after").match(text, end)
    if match is None:
        return
    value = without_end(_of_own_script(match["value"].rstrip("?…")))
    start = match.start("value")
    stop = start + len(value)
    before = text[max(0, end - 120) : end].rpartition("\n")[2]
    if _is_said(value, match, _pattern("ends").match(text, stop) is not None, before):
        yield start, stop
        if match["old"] and is_mixed(match["old"]):
            yield match.span("old")


def _phrase(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """Return where a passphrase of several words is, one of them mixed, which no sentence has."""
    if not compiled("(?i)pass ?phrase").match(text, begin):
        return None
    match = _pattern("phrase").match(text, end)
    if match is None:
        return None
    words = match["words"].split()
    telling = [word for word in words if is_telling(word)]
    if len(telling) > 1 or not any(
        len(word) > 3 and word not in telling and is_mixed(word) for word in words
    ):
        return None
    return match.span("words")


def _of_own_script(value: str) -> str:
    """Return a value without the East Asian words that follow it, which stand there without a blank."""
    match = compiled(rf"[!-~]{{3,}}(?=[{_EAST_ASIAN}])").match(value)
    return match[0] if match else value


def _is_said(value: str, match: re.Match[str], is_last: bool, before: str) -> bool:
    """Return whether a sentence gives a value as a password, by its shape and by the words around it."""
    if value.isdigit():
        return (
            is_last
            and match["space"] is None
            and 6 <= len(value) <= 12
            and not is_monotonous(value)
        )
    if (
        is_stand_in(value)
        or is_expression(value)
        or is_default_password(value)
        or _names_password(value)
    ):
        return False
    verb = (match["is"] or "").lower()
    if not compiled(rf"(?i){_OWN_IS.get(verb, '')}").search(before):
        return False
    parts = [part for part in re.split(r"[-_.+/@#!?*&,;:]+", value) if part]
    if (
        not parts
        or any(is_telling(part) for part in parts)
        or compiled(f"[{_EAST_ASIAN}]").match(value)
    ):
        return False
    is_code = (match["assign"] or "").strip() == "=" and _pattern("calls").search(
        before
    ) is not None
    if is_jumbled(value) or (compiled(r"\w[!#$%^?&*]+\w").search(value) and is_password(value)):
        return not is_code
    if any(char.isdigit() for char in value):
        return len(value) >= 5 and not compiled(
            r"[A-Z]{1,10}-\d+|\d+[-–.,:/\d]*[A-Za-z%°]{0,12}"
        ).fullmatch(value)
    if (
        match["space"] is not None
        or not is_last
        or (match["assign"] or "").strip() in ("|", "-", "–", "—")
    ):
        return False
    if is_code or match["it"] or match["old"] or verb in ("should be", "will be", "would be"):
        return False
    return (
        len(value) >= 5
        and value.replace("-", "").isalpha()
        and not compiled("[a-z][A-Z]").search(value)
    )


def _names_password(value: str) -> bool:
    return next(announced(value.lower()), None) is not None


def is_telling(word: str) -> bool:
    """Return whether a word says something about a password, such as "expired"."""
    low = word.lower()
    if low in data.words(_FILE, "telling") or is_technical(word):
        return True
    return len(low) > 4 and _pattern("telling_ends").fullmatch(low) is not None


@cache
def _sorted(key: str) -> tuple[str, ...]:
    return tuple(sorted(data.words(_FILE, key)))


def asks_password(text: str) -> bool:
    """Return whether a message ends by asking for a password."""
    low = text[-400:].rstrip().lower()
    last = low.rpartition("\n")[2]
    for _, end in announced(last):
        if compiled(_NO_ANSWER).match(last, end):
            continue
        if compiled(_QUESTION).match(last, end) or compiled(_TELL).search(last[:end]):
            return True
    return False


def password_answer(text: str) -> tuple[int, int] | None:
    """Return where the one word of a short message is that may be a password."""
    if len(text) > _LONGEST_ANSWER or len(text.split()) > _WORDS_OF_ANSWER:
        return None
    spans = [
        match.span()
        for match in compiled(r"[^\s\"'`“”„«»<>,;]{6,64}").finditer(text)
        if is_mixed(match[0].rstrip(".")) and not any(map(is_telling, match[0].split("-")))
    ]
    if len(spans) != 1 or next(announced(text[slice(*spans[0])].lower()), None):
        return None
    start, end = spans[0]
    return start, end - (text[end - 1] == ".")


def answered_passwords(text: str) -> Iterator[Span]:
    """Yield the answers in lines that follow a question for a password."""
    if not compiled(r"[?？][ \t*_]{0,4}\n").search(text):
        return
    start, is_asked = 0, False
    for line in text.split("\n"):
        if line.strip():
            label = compiled(_SPEAKER).match(line)
            begin = label.end() if label else 0
            answer = password_answer(line[begin:]) if is_asked else None
            if answer:
                yield start + begin + answer[0], start + begin + answer[1], "password"
            is_asked = line.rstrip(" \t\r*_").endswith(("?", "？")) and asks_password(line)
        start += len(line) + 1
