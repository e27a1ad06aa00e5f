"""Find passwords in sentences: words that a person chose, which only the sentence reveals.

This module knows the words for passwords in several languages, and the words that describe a
password, such as "expired". It prefers a miss: if several plain words could be it, it finds none.
"""

import re
from collections.abc import Iterator
from functools import cache, partial

from .. import data
from ..data import compiled
from .value_classifier import (
    Place,
    Span,
    find_places,
    has_both_cases,
    has_digit,
    is_default_password,
    is_expression,
    is_jumbled,
    is_mixed,
    is_monotonous,
    is_password,
    is_stand_in,
    is_technical,
    strip_end,
)

_FILE = "prose_passwords.toml"
_pattern = partial(data.pattern, _FILE)
# Verbs of one language that mean something else in another one: "the password on GitHub".
_OWN_IS = {
    "on": "(?:salasana|parool)$",
    "je": "(?:heslo|geslo|lozinka)$",
    "to": r"(?:hasło|heslo)$|\b(?:changed|changes?|sets?|reset|updated) ",
}
_EAST_ASIAN = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
# What follows the word in a question: "… should I use?", "… of the backup:"
_QUESTION = r"[^\n?？]{0,80}[?？][ \t*_\"'”»]{0,4}$|[^\n.?]{0,60}:[ \t*]{0,3}$"
# "Please send me the admin password."
_TELL = r"\b(?:tell|give|send|enter|type|share|need|provide|nenn|gib|sag|schick|dime|donne|envoie|dimmi|geef|podaj)"
# A text with a password that no word announces has one of these. This test is fast.
_DOORS = (
    *("login", "log in", "log-in", "logged in", "sign in", "signed in", "sign-in"),
    *("anmeld", "einlogg", "wifi", "wi-fi", "wlan"),
)
# "Which password manager do you use?" asks for a name.
_NO_ANSWER = (
    r"[ \t-]?(?:manager|hash|store|digest|polic|field|generator|vault|reset|provider|prompt|type|kdf|algorithm|length|"
    r"format|rule|tool|librar|plugin|strength|scheme|verwaltung|tresor)|[ \t](?:verwalte|speicher)"
)
# - **Ana Silva:** at the beginning of an answer
_SPEAKER = r"[ \t>*_-]{0,6}(?:[^\W\d_][\w ]{0,24}[*_]{0,2}:[*_]{0,2}[ \t]+)?"
# "Take … please" is an answer; a longer text has other words with digits.
_WORDS_OF_ANSWER = 7
_LONGEST_ANSWER = 120


def find_prose_passwords(text: str, low: str) -> Iterator[Span]:
    """Yield the passwords in sentences. `low` is the text in lower case."""
    spans = [*find_login_pairs(text, low), *find_unnamed_passwords(text, low)]
    for begin, end in find_announcements(low):
        spans += find_value_before(text, begin, end)
        spans += find_values_after(text, end)
        spans += find_passphrase(text, begin, end)
    yield from ((*span, "password") for span in spans)


def find_announcements(low: str) -> Iterator[Place]:
    """Yield the span of each word that means password."""
    for name in sort_words("names"):
        for begin, end in find_places(low, name):
            # Passwords and passwordless announce no value.
            if not compiled(r"[a-zäöüß]").match(low, end):
                yield begin, end
    # This pattern is slow, and few texts have one of these words.
    if any(first in low for first in sort_words("first")):
        for match in _pattern("spaced_names").finditer(low):
            yield match.span()


def find_value_before(text: str, begin: int, end: int) -> Iterator[Place]:
    """Yield the value before the word, as in `use … as the password`."""
    start = max(0, begin - 140)
    match = _pattern("as").search(text[start:begin]) or _pattern("when").search(text[start:begin])
    if match is None:
        return
    is_english = match["as"].lower() in ("as", "for")
    # use 1Password as the password manager
    if is_english and _pattern("no_value").match(text, end):
        return
    value = match["value"]
    if len(value) >= 5 and is_mixed(value) and not names_password(value):
        yield start + match.start("value"), start + match.end("value")


def find_login_pairs(text: str, low: str) -> Iterator[Place]:
    """Yield the second half of pairs such as `login: anna / …`."""
    if "login" in low or "cred" in low or "daten" in low or "identifiants" in low:
        for match in _pattern("pair").finditer(text):
            name = "value" if match["value"] else "first"
            value = strip_end(match[name])
            is_cased = has_both_cases(value) and is_password(value)
            if is_jumbled(value) or (is_cased and is_mixed(value)):
                yield match.start(name), match.start(name) + len(value)


def find_unnamed_passwords(text: str, low: str) -> Iterator[Place]:
    """Yield passwords that no word announces, as in `log in with anna / …`, `the wifi is …`."""
    if any(word in low for word in _DOORS):
        for match in _pattern("unnamed").finditer(text):
            start, end = match.span(match.lastindex or 0)
            value = strip_end(text[start:end])
            # Names of networks and products have digits too, but no sign between two letters.
            if compiled(r"\w[!$^*]+\w").search(value) and is_password(value):
                yield start, start + len(value)


def find_values_after(text: str, end: int) -> Iterator[Place]:
    """Yield the value after the word, and the value that it replaced."""
    match = _pattern("after").match(text, end)
    if match is None:
        return
    value = strip_end(cut_at_other_script(match["value"].rstrip("?…")))
    start = match.start("value")
    stop = start + len(value)
    before = text[max(0, end - 120) : end].rpartition("\n")[2]
    if is_given_as_password(value, match, _pattern("ends").match(text, stop) is not None, before):
        yield start, stop
        # the password was changed from … to …
        if match["old"] and is_mixed(match["old"]):
            yield match.span("old")


def find_passphrase(text: str, begin: int, end: int) -> Iterator[Place]:
    """Yield a passphrase of several words, of which one has mixed case."""
    if not compiled("(?i)pass ?phrase").match(text, begin):
        return
    match = _pattern("phrase").match(text, end)
    if match is None:
        return
    words = match["words"].split()
    telling = [word for word in words if describes_password(word)]
    # A sentence about a passphrase has more such words, and none of mixed case.
    if len(telling) < 2 and any(
        len(word) > 3 and word not in telling and is_mixed(word) for word in words
    ):
        yield match.span("words")


def cut_at_other_script(value: str) -> str:
    """Return a value without the East Asian words that follow it without a blank."""
    match = compiled(rf"[!-~]{{3,}}(?=[{_EAST_ASIAN}])").match(value)
    return match[0] if match else value


def is_given_as_password(value: str, match: re.Match[str], is_last: bool, before: str) -> bool:
    """Return whether a sentence presents a value as a password."""
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
        or names_password(value)
    ):
        return False
    verb = (match["is"] or "").lower()
    if not compiled(rf"(?i){_OWN_IS.get(verb, '')}").search(before):
        return False
    # password is case-sensitive, two-factor
    parts = [part for part in re.split(r"[-_.+/@#!?*&,;:]+", value) if part]
    if (
        not parts
        or any(describes_password(part) for part in parts)
        or compiled(f"[{_EAST_ASIAN}]").match(value)
    ):
        return False
    is_code = (match["assign"] or "").strip() == "=" and _pattern("calls").search(
        before
    ) is not None
    if is_jumbled(value) or (compiled(r"\w[!#$%^?&*]+\w").search(value) and is_password(value)):
        return not is_code
    # Not the ticket SHOP-123, and no 12, 8-12 or 30days.
    if has_digit(value):
        return len(value) >= 5 and not compiled(
            r"[A-Z]{1,10}-\d+|\d+[-–.,:/\d]*[A-Za-z%°]{0,12}"
        ).fullmatch(value)
    if (
        match["space"] is not None
        or not is_last
        or (match["assign"] or "").strip() in ("|", "-", "–", "—")
    ):
        return False
    # From here on the value is an ordinary word. Only a plain statement makes it a password.
    if is_code or match["it"] or match["old"] or verb in ("should be", "will be", "would be"):
        return False
    return (
        len(value) >= 5
        and value.replace("-", "").isalpha()
        and not compiled("[a-z][A-Z]").search(value)
    )


def names_password(value: str) -> bool:
    return next(find_announcements(value.lower()), None) is not None


def describes_password(word: str) -> bool:
    """Return whether a word describes a password instead of being one, such as "expired"."""
    low = word.lower()
    if low in data.words(_FILE, "telling") or is_technical(word):
        return True
    return len(low) > 4 and _pattern("telling_ends").fullmatch(low) is not None


@cache
def sort_words(key: str) -> tuple[str, ...]:
    return tuple(sorted(data.words(_FILE, key)))


def asks_for_password(text: str) -> bool:
    """Return whether a message ends by asking for a password."""
    last = text[-400:].rstrip().lower().rpartition("\n")[2]
    for _, end in find_announcements(last):
        if compiled(_NO_ANSWER).match(last, end):
            continue
        if compiled(_QUESTION).match(last, end) or compiled(_TELL).search(last[:end]):
            return True
    return False


def find_answer(text: str) -> Place | None:
    """Return the span of the only word of a short message, if it may be a password."""
    if len(text) > _LONGEST_ANSWER or len(text.split()) > _WORDS_OF_ANSWER:
        return None
    spans = [
        match.span()
        for match in compiled(r"[^\s\"'`“”„«»<>,;]{6,64}").finditer(text)
        if is_mixed(match[0].rstrip(".")) and not any(map(describes_password, match[0].split("-")))
    ]
    if len(spans) != 1 or next(find_announcements(text[slice(*spans[0])].lower()), None):
        return None
    start, end = spans[0]
    return start, end - (text[end - 1] == ".")


def find_answered_passwords(text: str) -> Iterator[Span]:
    """Yield the answers in lines that follow a question for a password."""
    # Going through the lines is slow, and few texts have a question at the end of one.
    if not compiled(r"[?？][ \t*_]{0,4}\n").search(text):
        return
    start, is_asked = 0, False
    for line in text.split("\n"):
        if line.strip():
            label = compiled(_SPEAKER).match(line)
            begin = label.end() if label else 0
            answer = find_answer(line[begin:]) if is_asked else None
            if answer:
                yield start + begin + answer[0], start + begin + answer[1], "password"
            is_asked = line.rstrip(" \t\r*_").endswith(("?", "？")) and asks_for_password(line)
        start += len(line) + 1
