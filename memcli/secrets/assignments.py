"""Find values that their name reveals: `password: …`, `API_KEY=…`, `the Fly token is …`.

This module knows the names, in code and in sentences, and the separators between name and value.
`value_classifier` judges the shape of the value.
"""

import re
from collections.abc import Iterator
from functools import cache, partial

from .. import data
from ..data import compiled
from .token_patterns import find_wrapped_end
from .value_classifier import (
    Place,
    find_places,
    has_both_cases,
    has_digit,
    is_fragment,
    is_hex,
    is_jumbled,
    is_monotonous,
    is_password,
    is_random,
    is_stand_in,
    is_uuid,
    strip_end,
)

_words_of = partial(data.words, "harmless_values.toml")
_CLOSE = r"[\\\"'`*_\])]{0,8}"  # in JSON within JSON within JSON a quote has seven backslashes
# password for the staging server: …
_ABOUT = r"(?:[ \t]+(?:for|of|to|on|at|in|from|für|de|del|para)[ \t]+[^\s:=|]{1,40}(?:[ \t][^\s:=|]{1,40}){0,2}?)?"
# As in `{"name": "DB_PASSWORD", "value": …}` and `{"secret": {"value": …}}`.
_VALUE_KEY = r"\\{0,7}[\"'`]?value\\{0,7}[\"'`]?[ \t]*[:=][ \t]*"
# Between name and value, in this order:
# xml: <add key="AcmeToken" value="…" />, <password>…</password>
# assign: password: …, pwd => …, | password | … |, and its value on the next line
# is, long: the password for staging is …, the token we keep for the nightly job is …
# space: --password …, login ana password …
_AFTER = (
    rf"(?P<rest>[\w-]{{0,40}}+){_CLOSE}"
    rf"(?:(?P<xml>(?:,\s{{0,80}}|\s{{1,80}}){_VALUE_KEY}|>)"
    rf"|(?P<about>{_ABOUT})[ \t]*(?P<assign>:=|={{1,3}}>?|[:：](?![:/])|->|→|\|(?=[ \t]))"
    rf"[ \t]*(?:(?:(?<=:)|(?<=:[ ]))\[\s{{0,80}}|\{{\s{{0,80}}{_VALUE_KEY})?"
    r"(?P<line>(?P<block>[|>][+-]?[ \t]*)?\\?\n[ \t]*)?"
    rf"|{_ABOUT}[ \t]+(?P<is>is|was|ist|lautet|es|est)[ \t]*:?\s"
    r"|[^.\n:=|]{1,70}?[ \t](?P<long>is|was):?\s"
    r"|(?P<space>[ \t]+))"
    r"[ \t]*(?P<open>\*{0,2}[ \t]*(?:\(\s{0,80})?(?:[brufBRUF]{0,2}\\{0,7}[\"'`]{1,3})?)"
)


@cache
def split_name(name: str) -> tuple[str, ...]:
    """Split a name in snake, kebab or camel case into lower-case words."""
    spaced = compiled(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])").sub(" ", name)
    return tuple(re.split(r"[\W_]+", spaced.strip("_-").lower()))


def find_kind(words: tuple[str, ...], before: tuple[str, ...]) -> str:
    """Return the kind of value that a name announces: password, pass, token, key or ""."""
    last = words[-1].rstrip("0123456789")
    tail = next(
        (suffix for suffix in _words_of("name_ends") if last.endswith(suffix) and last != suffix),
        "",
    )
    if tail and last not in _words_of("password_names") and last not in _words_of("secret_names"):
        words, last = (*words[:-1], last.removesuffix(tail), tail), tail
    if last in _words_of("password_names"):
        return "password"
    if last in ("pass", "pw"):
        return "password" if len(words) > 1 else "pass"
    words = (*before, *words)
    if not _words_of("harmless_names").isdisjoint(words[:-1]):
        return ""
    if last in _words_of("secret_names") or last == "auth":
        return "token"
    if last == "key":
        return "token" if len(words) > 1 and words[-2] in _words_of("before_key") else "key"
    return ""


def find_assignments(text: str, low: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and rule of each assigned secret. `low` is the text in lower case."""
    done = 0
    stems = _words_of("name_stems")
    if not low.isascii():
        stems |= _words_of("foreign_name_stems")
    places = sorted(span for stem in stems for span in find_places(low, stem))
    for position, end in places:
        # The name passkey has two stems.
        if position < done:
            continue
        left = find_name_start(text, position)
        match = compiled(_AFTER).match(text, end)
        if match is None:
            continue
        start = position - len(left)
        name = left + text[position:end] + match["rest"]
        done = end + len(match["rest"])
        words = split_name(name)
        before = get_words_before(text, start) if len(words) == 1 else ()
        # A shell stores its folder in PWD.
        kind = "" if name == "PWD" else find_kind(words, before)
        # arn:aws:secretsmanager:eu:1234:secret:db
        is_part = text[start - 1 : start] == ":" == text[done : done + 1]
        if kind and not is_part:
            span = find_value(text, match, kind, name)
            if span:
                yield (*span, {"pass": "password", "key": "token"}.get(kind, kind))


def find_name_start(text: str, position: int) -> str:
    backwards = compiled(r"[\w-]*").match(text[max(0, position - 40) : position][::-1])
    left = backwards[0][::-1] if backwards else ""
    start = position - len(left)
    # In a text within JSON, the n of \npassword belongs to the backslash.
    is_escape = left[:1] in ("n", "r", "t") and text[start - 1 : start] == "\\"
    return left[1:] if is_escape else left


def get_words_before(text: str, start: int) -> tuple[str, ...]:
    """Return the last two words before a name on its line, such as `api` in `api key`."""
    if text[start - 1 : start] not in (" ", "\t"):
        return ()
    return tuple(
        compiled(r"[^\W_]+").findall(text[max(0, start - 32) : start].rpartition("\n")[2].lower())[
            -2:
        ]
    )


def find_value(text: str, match: re.Match[str], kind: str, name: str) -> Place | None:
    """Return the span of the value after a name, if its shape fits name and separator."""
    start = match.end()
    opened = match["open"].lstrip("*( \t\r\n").lstrip("brufBRUF").lstrip("\\")
    spans = find_quoted_value(text, start, opened) if opened else find_bare_value(text, start)
    value = "".join(text[a:b] for a, b in spans).replace("\n", "")
    # f"…{password}" fills in a value that is elsewhere.
    if not value or ("f" in match["open"].lower() and "{" in value):
        return None
    if not has_secret_shape(value, match, kind, name, bool(opened)):
        return None
    return spans[0][0], spans[-1][1]


def find_quoted_value(text: str, start: int, opened: str) -> list[Place]:
    """Return the spans of a quoted value, which adjacent literals may continue."""
    quote = opened[0]
    # Without an end on this line, the quote is an apostrophe.
    end = text.find(quote, start, start + 1024)
    if end < 0 or "\n" in text[start:end]:
        return find_bare_value(text, start)
    spans = [(start, start + len(text[start:end].rstrip("\\")))]
    # "first half" +, or a backslash, and "second half" on the next line
    glue = compiled(
        r"[ \t]*[+.\\]?[ \t]*\n[ \t]*[+.]?[ \t]*" + quote + r"([^\s" + quote + r"]{4,512})" + quote
    )
    while len(spans) < 20 and (more := glue.match(text, end + 1)):
        spans.append(more.span(1))
        end = more.end() - 1
    return spans


def find_bare_value(text: str, start: int) -> list[Place]:
    """Return the spans of an unquoted value, which a backslash may continue."""
    match = compiled(r"[^\s\"'`<>]{1,400}").match(text, start)
    # Nobody types a longer value, and tokens of that length have a shape of their own.
    if match is None or match.end() - start == 400:
        return []
    end = match.end()
    spans = [(start, end)]
    while len(spans) < 20 and text[end - 1 : end + 1] == "\\\n":
        spans[-1] = (spans[-1][0], end - 1)
        more = compiled(r"\s*([^\s\"'`<>]{1,400})").match(text, end)
        if more is None:
            return spans
        spans.append(more.span(1))
        end = more.end()
    begin, end = spans[-1]
    value = text[begin:end]
    # ?token=…&page=2
    if text[begin - 1 : begin] == "=":
        value = compiled(r"&[A-Za-z_][\w.-]*=").split(value, maxsplit=1)[0]
    value = strip_end(value)
    spans[-1] = (begin, begin + len(value))
    if len(value) >= 10 and is_fragment(value):
        more_end = find_wrapped_end(text, begin, begin + len(value))
        if more_end > begin + len(value):
            spans.append((begin + len(value), more_end))
    return spans


def has_secret_shape(value: str, match: re.Match[str], kind: str, name: str, quoted: bool) -> bool:
    """Return whether a value is a secret. The vaguer its name, the clearer its shape must be."""
    if any(char in value for char in " \t") or is_stand_in(value) or value.startswith("[REDACTED"):
        return False
    sure = match["assign"] or match["xml"]
    # "token" and a blank come before many words: use token counts, password reset.
    if match["space"] is not None and not (quoted or is_option(match, name)):
        return is_random(value, 20) and not is_hex(value) and not is_uuid(value)
    if not sure and match["space"] is None and match["is"] is None:
        return is_random(value, 20) and not is_uuid(value)
    if kind == "password":
        # passcode: 482913. A number in a sentence is the length or the age of a password.
        if value.isdigit():
            return bool(sure) and 6 <= len(value) <= 10 and not is_monotonous(value)
        return is_password(value) and not (
            match["line"] and not match["block"] and not is_random(value, 12)
        )
    # A pass is also the round of a program: first pass: 1234567 rows; PASS: test_a.
    if kind == "pass":
        return (
            bool((sure and not match["about"]) or (match["space"] and is_option(match, name)))
            and is_password(value)
            and (
                is_jumbled(value)
                or has_mixed_case(value)
                or compiled(r"[!@#$%^&*?+~]" if sure else r"\d").search(value) is not None
            )
        )
    # HEROKU_API_KEY is a UUID, and so is the request token in every log.
    if is_uuid(value):
        return kind == "token" and bool(
            compiled("(?i)api|access|auth|heroku|secret|server").search(name)
        )
    # The keys of caches and objects are digests.
    if kind == "key":
        return is_random(value, 20) and not is_hex(value)
    is_said = name.lower().endswith(("secret", "token")) and has_mixed_case(value)
    return is_random(value, 16) or (
        not match["line"] and is_password(value) and (has_mixed_characters(value) or is_said)
    )


def is_option(match: re.Match[str], name: str) -> bool:
    """Return whether a blank separates name and value, as in `--password X`."""
    before = match.string[max(0, match.start() - 80) : match.start()]
    # machine db login ana password …
    account = (
        r"(?i)\b(?:login|user(?:name)?)\b[:=]?\s+\S{1,64}[\s,/;]+(?:(?:and|und|y|et|e)\s)?\w*$"
    )
    return name.startswith("--") or compiled(account).search(before) is not None


def has_mixed_case(value: str) -> bool:
    """Return whether a word has small and capital letters and a digit."""
    return len(value) >= 8 and has_both_cases(value) and has_digit(value)


def has_mixed_characters(value: str) -> bool:
    """Return whether a long value has letters, digits and signs."""
    return (
        len(value) >= 8
        and has_digit(value)
        and any(map(str.isalpha, value))
        and any(char in "!@#$%^&*?~" for char in value)
    )
