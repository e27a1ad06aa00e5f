"""Find credentials in URLs, headers, cookies, command lines and exported tables.

These places show that a value is a password: `https://ana:…@host`, `curl -u ana:…`,
a column with the heading `password`.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import cache, partial

from .. import data
from ..data import compiled
from .token_patterns import find_wrapped_end
from .value_classifier import (
    Place,
    Span,
    has_both_cases,
    has_digit,
    is_default_password,
    is_hex,
    is_jumbled,
    is_monotonous,
    is_password,
    is_random,
    is_stand_in,
    is_uuid,
)

_words_of = partial(data.words, "harmless_values.toml")
_FILE = "command_lines.toml"
_pattern = partial(data.pattern, _FILE)
# postgres://ana:…@db.internal:5432/app
_URL = r"(?<=://)([^\s/:@\"'<>`]{0,80}):([^\s/\"'<>`]{3,256})@(\[?[A-Za-z0-9][\w.-]{0,80})"
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "host", "hostname", "server", "db")
_BEARER = r"(?i)\bbearer[ \t]+[\"'`]?([A-Za-z0-9._~+/=-]{16,4096})"
_AUTHORIZATION = (
    r"(?i)\bauthorization[\"'\\]{0,2}[ \t]*[:=][ \t]*[\"'`\\]{0,2}"
    r"(basic|token|apikey|key)[ \t]+([A-Za-z0-9._~+/=-]{8,4096})"
)
_PAIRS = r"([^\s=;,\"'`]{1,64}=[^\n\"'`]{4,8192})"
# A word that every text with cookies contains, and the pattern of the cookies, in lower case.
_COOKIES = (
    ("cookie", rf"cookies?[\"'\\\]]{{0,3}}[ \t]*[:=][ \t]*[\"'`\\]{{0,2}}{_PAIRS}"),
    ("curl", rf"(?<!\S)(?:-b|--cookie)[ \t=]{{1,4}}[\"'\\]{{0,2}}{_PAIRS}"),
    (
        "sess",
        r"(?<![\w-])((?:phpsessid|jsessionid|asp\.net_sessionid|sessionid|laravel_session)=[^\s;,&\"'`<>]{16,512})",
    ),
)
# connect.sid=s%3A… is how Express signs a cookie.
_PAIR = r"([^\s=;,\"'`]{1,64})=(?:s%3A|s:)?([^\s;,\"'`]{4,4096})"
_SESSION = r"(?i)sess|sid$|sid\b|auth|token|jwt|remember|login|logged_in|identity|credential|secret|sso|passw"
# A token against forged requests is worth nothing without the cookie of the session.
_HARMLESS_COOKIE = r"(?i)csrf|xsrf|consent|lang|locale|theme|expires|max-age"
# db.pond.org:5432:shop:ana:…
_PGPASS = r"(?m)^(?:[A-Za-z][\w.-]{0,200}|\*|[\d.]{7,15}):(?:\d{3,5}|\*):(?![\d]+:)[\w*-]{1,64}:[\w.@*-]{1,64}:(\S{4,128})$"
_CELL = r"(?:\"((?:[^\"\n]|\"\"){0,512})\"|([^,;\t\"\n]{0,512}))"
_TABLE_CELL = r"\|[ \t]*([^|\n]*?)[ \t]*(?=\|)"
# "Mail","https://mail.pond.org","ana","…" as browsers and password managers export it
_ROW = r"(?m)^(?:\"[^\"\n]{0,200}\",){1,3}\"https?://[^\"\n]{1,400}\",\"[^\"\n]{1,200}\",\"([^\"\n]{5,128})\"(?=,|\s*$)"


def find_http_credentials(text: str, low: str) -> Iterator[Span]:
    """Yield the credentials in URLs, headers and cookies. `low` is the text in lower case."""
    if "://" in text:
        yield from find_url_passwords(text)
    if "bearer" in low or "authorization" in low:
        yield from find_header_values(text)
    yield from find_cookies(text, low)


def find_url_passwords(text: str) -> Iterator[Span]:
    for match in compiled(_URL).finditer(text):
        user, password, host = match.groups()
        words = re.split("%20|[^a-z0-9]", password.lower())
        if is_stand_in(password) or all(map(is_default_password, words)):
            continue
        # postgres:postgres@host, ana:$PASSWORD@host
        if password == user or password[0] in "$," or (":" in password and not user):
            continue
        # A placeholder, or the port of host:8080.
        if compiled(r".*\{.*\}.*|[\[%].*[\]%]|:.*|\d{1,5}").fullmatch(password):
            continue
        is_plain = password.isalpha() or is_monotonous(password)
        is_local = host in _LOCAL_HOSTS or "example" in host
        # postgres://user:word@localhost/db is in every manual.
        if is_plain and (is_local or len(password) < 5):
            continue
        yield *match.span(2), "url-password"


def find_header_values(text: str) -> Iterator[Span]:
    for match in compiled(_BEARER).finditer(text):
        if is_random(match[1]) and not is_uuid(match[1]):
            yield match.start(1), find_wrapped_end(text, *match.span(1)), "bearer-token"
    for match in compiled(_AUTHORIZATION).finditer(text):
        if match[1].lower() == "basic":
            if is_basic_credential(match[2]):
                yield *match.span(2), "basic-auth"
        elif is_random(match[2]):
            yield match.start(2), find_wrapped_end(text, *match.span(2)), "bearer-token"


def find_cookies(text: str, low: str) -> Iterator[Span]:
    """Yield the values of session cookies, and random values of other cookies."""
    for sign, pattern in _COOKIES:
        for header in compiled(pattern).finditer(low) if sign in low else ():
            # The cookies are read from the text, because their values have capitals.
            for pair in compiled(_PAIR).finditer(text, *header.span(1)):
                name, value = pair.groups()
                if (
                    compiled(_HARMLESS_COOKIE).search(name)
                    or is_stand_in(value)
                    or value[0] in "$%{["
                ):
                    continue
                if (
                    compiled(_SESSION).search(name)
                    or is_random(value, 20)
                    or (is_hex(value) and len(value) >= 32)
                ):
                    yield *pair.span(2), "session-cookie"


def is_basic_credential(value: str) -> bool:
    """Return whether a value is the base64 of `user:password`."""
    try:
        user, colon, password = b64decode(value + "=" * (-len(value) % 4)).decode().partition(":")
    except (ValueError, UnicodeDecodeError):
        return False
    return bool(colon) and (user + password).isprintable() and not is_default_password(password)


def find_command_passwords(text: str, low: str) -> Iterator[Span]:
    """Yield the passwords in command lines. `low` is the text in lower case."""
    # A command continues after a backslash. As many blanks, so that offsets stay the same.
    joined = text.replace("\\\r\n", "   ").replace("\\\n", "  ")
    for start, end in find_option_lines(joined):
        words = set(compiled(r"[^\w.-]+").split(low[start:end]))
        for programs, pattern in compile_command_patterns():
            if not words.isdisjoint(programs):
                yield from find_option_values(joined, pattern, start, end)
    if "|" in text and ("echo" in low or "printf" in low):
        yield from find_option_values(joined, _pattern("piped"), 0, len(text))
        yield from find_option_values(joined, _pattern("accounts"), 0, len(text))


def find_option_lines(text: str) -> Iterator[Place]:
    """Yield the spans of lines that may be a command with an option."""
    end = -1
    for match in compiled(r"[ \t]--?[A-Za-z]|/p:|rabbitmqctl").finditer(text):
        if match.start() > end:
            start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
            end = len(text) if end < 0 else end
            yield start, end


@cache
def compile_command_patterns() -> list[tuple[frozenset[str], re.Pattern[str]]]:
    patterns = []
    for row in data.table(_FILE)["programs"]:
        names = row["names"].split()
        programs = "|".join(map(re.escape, names))
        option = data.expand_references(_FILE, row["option"])
        pattern = rf"(?i:\b(?:{programs})(?:\.exe)?)(?=[ \t])[^\n|;&]{{0,400}}?{option}"
        patterns.append((frozenset(names) | {f"{name}.exe" for name in names}, re.compile(pattern)))
    return patterns


def find_option_values(
    text: str, pattern: re.Pattern[str], begin: int, stop: int
) -> Iterator[Span]:
    for match in pattern.finditer(text, begin, stop):
        # The value is the group that matched: in quotes of two kinds, or without.
        start, end = match.span(match.lastindex or 0)
        value = text[start:end]
        is_quoted = text[start - 1 : start] in ("'", '"')
        if not is_quoted:
            value = value.rstrip(".,:)]}*_")
            end = start + len(value)
        if len(value) >= 3 and is_real_value(text, match.start(), value, is_quoted=is_quoted):
            yield start, end, "command-password"


def is_real_value(text: str, start: int, value: str, *, is_quoted: bool) -> bool:
    """Return whether a value is not a placeholder, variable, port or word of prose."""
    low = value.lower()
    if (
        is_stand_in(value)
        or value[0] in "$<{%-["
        or is_default_password(low)
        or low in _words_of("option_sentence")
    ):
        return False
    # A short number is a port: mongosh -p 27017.
    if is_monotonous(value) or (value.isdigit() and len(value) < 6):
        return False
    return is_quoted or is_password(value) or not value.isalpha() or is_command(text, start)


def is_command(text: str, start: int) -> bool:
    """Return whether a program is called here, and not only mentioned."""
    before = text[max(0, start - 12) : start].rpartition("\n")[2].rstrip(" \t")
    return not before or before[-1] in "`$#>%|;&'\"({:" or before.endswith(("sudo", "time", "exec"))


def find_table_passwords(text: str, low: str) -> Iterator[Span]:
    """Yield the passwords in exported tables. `low` is the text in lower case."""
    for match in compiled(_PGPASS).finditer(text) if text.count(":") > 3 else ():
        if is_password(match[1]):
            yield *match.span(1), "password"
    for match in compiled(_ROW).finditer(text) if '","http' in low else ():
        value = match[1]
        is_mixed = has_both_cases(value) and has_digit(value)
        if is_jumbled(value) or (is_mixed and is_password(value)):
            yield *match.span(1), "password"
    if any(sign in text for sign in ",;\t|") and any(
        name in low for name in _words_of("password_columns")
    ):
        yield from find_password_columns(text)


def find_password_columns(text: str) -> Iterator[Span]:
    """Yield the cells below a heading such as `password`."""
    width, columns, start = 0, [], 0
    for line in text.split("\n"):
        cells = (
            find_cells(line, start)
            if len(line) < 4096 and any(sign in line for sign in ",;\t|")
            else []
        )
        if len(cells) == width and all(set(text[begin:end]) <= {*"-: "} for begin, end in cells):
            start += len(line) + 1  # the rule below the heading of a table
            continue
        if len(cells) != width or width < 2:
            names = [text[begin:end].strip().lower() for begin, end in cells]
            # In a sentence a blank follows each comma: name, password, host.
            is_heading = not _words_of("beside_passwords").isdisjoint(names) and not any(
                text[begin : begin + 1] == " " for begin, _ in cells
            )
            columns = [
                number
                for number, name in enumerate(names)
                if is_heading and name in _words_of("password_columns")
            ]
            width = len(cells) if columns else 0
        else:
            for begin, end in (cells[number] for number in columns):
                value = text[begin:end]
                if len(value) > 3 and not is_stand_in(value) and not is_default_password(value):
                    yield begin, end, "password"
        start += len(line) + 1


def find_cells(line: str, start: int) -> list[Place]:
    """Return the spans of the cells of a table row or CSV line, without quotes."""
    if line.lstrip().startswith("|"):
        return [
            (start + match.start(1), start + match.end(1))
            for match in compiled(_TABLE_CELL).finditer(line)
        ]
    cells, position = [], 0
    while position <= len(line):
        match = compiled(_CELL).match(line, position)
        if match is None:
            return []
        begin, end = match.span(match.lastindex or 2)
        cells.append((start + begin, start + end))
        position = match.end() + 1
        if position <= len(line) and line[position - 1] not in ",;\t":
            return []
    return cells
