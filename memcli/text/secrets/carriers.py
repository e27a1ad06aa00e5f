"""Find the secrets that URLs and HTTP headers carry; placeholders and the defaults of every manual pass."""

import re
from collections.abc import Iterator

from .rules import compiled, word_set
from .values import is_monotonous, is_random, is_stand_in, is_uuid
from .wraps import wrapped_end

Place = tuple[int, int, str]  # start, end, rule

_URL = r"(?<=://)([^\s/:@\"'<>`]{0,80}):([^\s/\"'<>`]{3,256})@(\[?[A-Za-z0-9][\w.-]{0,80})"
_BEARER = r"(?i)\bbearer[ \t]+[\"'`]?([A-Za-z0-9._~+/=-]{16,4096})"
_AUTHORIZATION = (
    r"(?i)\bauthorization[\"'\\]{0,2}[ \t]*[:=][ \t]*[\"'`\\]{0,2}"
    r"(basic|token|apikey|key)[ \t]+([A-Za-z0-9._~+/=-]{8,4096})"
)
_DEFAULTS = word_set(
    "a the password passwd pass pwd secret pw pass1 user admin root guest postgres mysql redis test testing example "
    "mypassword mypass yourpassword token tiger changeme pswd passphrase credentials apikey api_key key "
    "minioadmin"
)


def carried(text: str, low: str) -> Iterator[Place]:
    """Yield the place and rule of each; low is the text in lower case."""
    if "://" in text:
        yield from _passwords_of_urls(text)
    if "bearer" in low or "authorization" in low:
        yield from _headers(text)


def _passwords_of_urls(text: str) -> Iterator[Place]:
    for match in compiled(_URL).finditer(text):
        user, password, host = match.groups()
        plain = password.isalpha() or is_monotonous(password)
        local = host in ("localhost", "127.0.0.1", "host", "hostname", "server", "db") or "example" in host
        if (
            is_stand_in(password)
            or _DEFAULTS.issuperset(re.split("%20|[^a-z0-9]", password.lower()))
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


def _headers(text: str) -> Iterator[Place]:
    for match in compiled(_BEARER).finditer(text):
        if is_random(match[1]) and not is_uuid(match[1]):
            yield match.start(1), wrapped_end(text, *match.span(1)), "bearer-token"
    for match in compiled(_AUTHORIZATION).finditer(text):
        if match[1].lower() == "basic":
            if _is_basic(match[2]):
                yield match.start(2), match.end(2), "basic-auth"
        elif is_random(match[2]):
            yield match.start(2), wrapped_end(text, *match.span(2)), "bearer-token"


def _is_basic(value: str) -> bool:
    """Tell the base64 of `user:password`."""
    from base64 import b64decode

    try:
        user, colon, password = b64decode(value + "=" * (-len(value) % 4)).decode().partition(":")
    except (ValueError, UnicodeDecodeError):
        return False
    return bool(colon) and (user + password).isprintable() and password.lower() not in _DEFAULTS
