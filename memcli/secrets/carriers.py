"""Find the secrets that URLs, HTTP headers and cookies carry; placeholders and the defaults of every manual pass."""

import re
from collections.abc import Iterator

from .spoken_passwords import announced, is_telling
from .value_classifier import (
    Span,
    changes,
    compiled,
    is_default_password,
    is_fragment,
    is_hex,
    is_mixed,
    is_monotonous,
    is_random,
    is_stand_in,
    is_uuid,
)

_BREAK = r"(?:[ \t]*\\?\r?\n[ \t]*(?:[>#*|/+-]{1,2}[ \t]+)?|[\"'][ \t]*[+.\\]?[ \t]*\n[ \t]*[+.]?[ \t]*[\"'])"
_WORD = r"[A-Za-z0-9_.:%+/=~-]"


def word_start(text: str, at: int) -> int:
    """Return where the word around this place begins."""
    before = compiled(f"{_WORD}*").match(text[max(0, at - 64) : at][::-1])
    return at - len(before[0] if before else "")


def pieces(text: str, start: int) -> list[tuple[int, int]]:
    """Return where the word at this place lies, and its continuations on the next lines."""
    piece = compiled(f"{_WORD}{{1,400}}").match(text, start)
    places = [piece.span()] if piece else []
    while places and len(places) < 6:
        more = compiled(f"{_BREAK}({_WORD}{{4,400}})").match(text, places[-1][1])
        if more is None:
            break
        places.append(more.span(1))
    return places


def is_continued(text: str, end: int) -> bool:
    """Tell whether the next line begins with what could only be the rest of the word that ends here."""
    more = compiled(f"{_BREAK}({_WORD}{{6,400}})").match(text, end)
    return more is not None and changes(more[1]) >= 2


def place_of(places: list[tuple[int, int]], offset: int) -> int:
    """Translate an end inside the joined pieces to the text."""
    for begin, end in places:
        if offset <= end - begin:
            return begin + offset
        offset -= end - begin
    return places[-1][1] if places else 0


def wrapped_end(text: str, start: int, end: int) -> int:
    """Go on over line breaks for as long as the next line begins with what can only be more of the same."""
    digits = is_hex(text[max(start, end - 12) : end])
    for _ in range(12):
        more = compiled(f"{_BREAK}([A-Za-z0-9_.+/-]{{6,400}}={{0,2}})(?![=:])").match(text, end)
        if more is None or is_uuid(more[1]) or is_hex(more[1]) != digits or not is_fragment(more[1]):
            break
        end = more.end()
    return end


_URL = r"(?<=://)([^\s/:@\"'<>`]{0,80}):([^\s/\"'<>`]{3,256})@(\[?[A-Za-z0-9][\w.-]{0,80})"
_BEARER = r"(?i)\bbearer[ \t]+[\"'`]?([A-Za-z0-9._~+/=-]{16,4096})"
_AUTHORIZATION = (
    r"(?i)\bauthorization[\"'\\]{0,2}[ \t]*[:=][ \t]*[\"'`\\]{0,2}"
    r"(basic|token|apikey|key)[ \t]+([A-Za-z0-9._~+/=-]{8,4096})"
)
_PAIRS = r"([^\s=;,\"'`]{1,64}=[^\n\"'`]{4,8192})"
# A sign that is there wherever cookies are, and how they are written, in lower case.
_COOKIES = (
    ("cookie", rf"cookies?[\"'\\\]]{{0,3}}[ \t]*[:=][ \t]*[\"'`\\]{{0,2}}{_PAIRS}"),
    ("curl", rf"(?<!\S)(?:-b|--cookie)[ \t=]{{1,4}}[\"'\\]{{0,2}}{_PAIRS}"),
    (
        "sess",
        r"(?<![\w-])((?:phpsessid|jsessionid|asp\.net_sessionid|sessionid|laravel_session)=[^\s;,&\"'`<>]{16,512})",
    ),
)
_PAIR = r"([^\s=;,\"'`]{1,64})=(?:s%3A|s:)?([^\s;,\"'`]{4,4096})"
_SESSION = r"(?i)sess|sid$|sid\b|auth|token|jwt|remember|login|logged_in|identity|credential|secret|sso|passw"
_HARMLESS_COOKIE = r"(?i)csrf|xsrf|consent|lang|locale|theme|expires|max-age"


def carried(text: str, low: str) -> Iterator[Span]:
    """Yield the place and rule of each; low is the text in lower case."""
    if "://" in text:
        yield from _passwords_of_urls(text)
    if "bearer" in low or "authorization" in low:
        yield from _headers(text)
    yield from _cookies(text, low)


def _passwords_of_urls(text: str) -> Iterator[Span]:
    for match in compiled(_URL).finditer(text):
        user, password, host = match.groups()
        plain = password.isalpha() or is_monotonous(password)
        local = host in ("localhost", "127.0.0.1", "host", "hostname", "server", "db") or "example" in host
        if (
            is_stand_in(password)
            or all(map(is_default_password, re.split("%20|[^a-z0-9]", password.lower())))
            or password == user
            or password[0] in "$,"
            or (":" in password and not user)
        ):
            continue
        if compiled(r".*\{.*\}.*|[\[%].*[\]%]|:.*|\d{1,5}").fullmatch(password) or (
            plain and (local or len(password) < 5)
        ):
            continue
        yield match.start(2), match.end(2), "url-password"


def _headers(text: str) -> Iterator[Span]:
    for match in compiled(_BEARER).finditer(text):
        if is_random(match[1]) and not is_uuid(match[1]):
            yield match.start(1), wrapped_end(text, *match.span(1)), "bearer-token"
    for match in compiled(_AUTHORIZATION).finditer(text):
        if match[1].lower() == "basic":
            if _is_basic(match[2]):
                yield match.start(2), match.end(2), "basic-auth"
        elif is_random(match[2]):
            yield match.start(2), wrapped_end(text, *match.span(2)), "bearer-token"


def _cookies(text: str, low: str) -> Iterator[Span]:
    """Yield the values of cookies that sign somebody in, by their names, and of others where they are random."""
    for sign, pattern in _COOKIES:
        for header in compiled(pattern).finditer(low) if sign in low else ():
            for pair in compiled(_PAIR).finditer(text, *header.span(1)):
                name, value = pair.groups()
                if compiled(_HARMLESS_COOKIE).search(name) or is_stand_in(value) or value[0] in "$%{[":
                    continue
                if compiled(_SESSION).search(name) or is_random(value, 20) or (is_hex(value) and len(value) >= 32):
                    yield *pair.span(2), "session-cookie"


def _is_basic(value: str) -> bool:
    """Tell the base64 of `user:password`."""
    from base64 import b64decode

    try:
        user, colon, password = b64decode(value + "=" * (-len(value) % 4)).decode().partition(":")
    except (ValueError, UnicodeDecodeError):
        return False
    return bool(colon) and (user + password).isprintable() and not is_default_password(password)


_ASKS = r"[^\n?？]{0,80}[?？][ \t*_\"'”»]{0,4}$|[^\n.?]{0,60}:[ \t*]{0,3}$"
_TELL = r"\b(?:tell|give|send|enter|type|share|need|provide|nenn|gib|sag|schick|dime|donne|envoie|dimmi|geef|podaj)"
_NO_ANSWER = (
    r"[ \t-]?(?:manager|hash|store|digest|polic|field|generator|vault|reset|provider|prompt|type|kdf|algorithm|length|"
    r"format|rule|tool|librar|plugin|strength|scheme|verwaltung|tresor)|[ \t](?:verwalte|speicher)"
)
_LABEL = r"[ \t>*_-]{0,6}(?:[^\W\d_][\w ]{0,24}[*_]{0,2}:[*_]{0,2}[ \t]+)?"
_WORDS = 7
_LONGEST = 120


def asks_password(text: str) -> bool:
    """Tell a message that ends by asking for a password."""
    low = text[-400:].rstrip().lower()
    last = low.rpartition("\n")[2]
    for _, end in announced(last):
        if compiled(_NO_ANSWER).match(last, end):
            continue
        if compiled(_ASKS).match(last, end) or compiled(_TELL).search(last[:end]):
            return True
    return False


def answer(text: str) -> tuple[int, int] | None:
    """Find the one word of a short message that may be a password."""
    if len(text) > _LONGEST or len(text.split()) > _WORDS:
        return None
    found = [
        match.span()
        for match in compiled(r"[^\s\"'`“”„«»<>,;]{6,64}").finditer(text)
        if is_mixed(match[0].rstrip(".")) and not any(map(is_telling, match[0].split("-")))
    ]
    if len(found) != 1 or next(announced(text[slice(*found[0])].lower()), None):
        return None
    start, end = found[0]
    return start, end - (text[end - 1] == ".")


def answers(text: str) -> Iterator[Span]:
    """Yield the answers in lines that follow a question for a password."""
    if not compiled(r"[?？][ \t*_]{0,4}\n").search(text):
        return
    start, is_asked = 0, False
    for line in text.split("\n"):
        if line.strip():
            label = compiled(_LABEL).match(line)
            begin = label.end() if label else 0
            place = answer(line[begin:]) if is_asked else None
            if place:
                yield start + begin + place[0], start + begin + place[1], "password"
            is_asked = line.rstrip(" \t\r*_").endswith(("?", "？")) and asks_password(line)
        start += len(line) + 1
