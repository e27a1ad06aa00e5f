"""Find the secrets that URLs, HTTP headers and cookies carry; placeholders and the defaults of every manual pass."""

import re
from collections.abc import Iterator

from ..data import compiled
from .token_patterns import wrapped_end
from .value_classifier import Span, is_default_password, is_hex, is_monotonous, is_random, is_stand_in, is_uuid

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


def http_credentials(text: str, low: str) -> Iterator[Span]:
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
