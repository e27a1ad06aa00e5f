"""Find the passwords that stand in command lines: `sshpass -p …`, `mysql -p…`, `curl -u user:…`.

Owns which programs take a password by which option. Refuses to take the words of a sentence about an option for one.
"""

import re
from collections.abc import Iterator
from functools import cache, partial

from .. import data
from ..data import compiled
from .value_classifier import Span, is_default_password, is_jumbled, is_monotonous, is_password, is_stand_in

_FILE = "command_lines.toml"
_pattern = partial(data.pattern, _FILE)
_words_of = partial(data.words, "secrets.toml")


def command_passwords(text: str, low: str) -> Iterator[Span]:
    """Yield the place and rule of each password; `low` is the text in lower case."""
    joined = text.replace("\\\r\n", "   ").replace("\\\n", "  ")  # a command goes on after a backslash
    for start, end in _option_lines(joined):
        words = set(compiled(r"[^\w.-]+").split(low[start:end]))
        for programs, pattern in _patterns():
            if not words.isdisjoint(programs):
                yield from _found(joined, pattern, start, end)
    if "|" in text and ("echo" in low or "printf" in low):
        yield from _found(joined, _pattern("piped"), 0, len(text))
        yield from _found(joined, _pattern("accounts"), 0, len(text))


def _option_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the lines lie that could be a command with an option."""
    end = -1
    for match in compiled(r"[ \t]--?[A-Za-z]|/p:|rabbitmqctl").finditer(text):
        if match.start() > end:
            start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
            end = len(text) if end < 0 else end
            yield start, end


@cache
def _patterns() -> list[tuple[frozenset[str], re.Pattern[str]]]:
    found = []
    for row in data.table(_FILE)["programs"]:
        names = row["names"].split()
        programs = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        option = data.expanded(_FILE, row["option"])
        pattern = rf"(?i:\b(?:{programs})(?:\.exe)?)(?=[ \t])[^\n|;&]{{0,400}}?{option}"
        found.append((frozenset(names) | {f"{name}.exe" for name in names}, re.compile(pattern)))
    return found


def _found(text: str, pattern: re.Pattern[str], begin: int, stop: int) -> Iterator[Span]:
    for match in pattern.finditer(text, begin, stop):
        start, end = match.span(match.lastindex or 0)
        value = text[start:end]
        is_quoted = text[start - 1 : start] in ("'", '"')
        if not is_quoted:
            value = value.rstrip(".,:)]}*_")
            end = start + len(value)
        if len(value) >= 3 and _is_given(text, match.start(), value, is_quoted=is_quoted):
            yield start, end, "command-password"


def _is_given(text: str, start: int, value: str, *, is_quoted: bool) -> bool:
    """Tell a password from a placeholder, a variable, a port, and a word of a sentence about the option."""
    low = value.lower()
    if is_stand_in(value) or value[0] in "$<{%-[" or is_default_password(low) or low in _words_of("option_sentence"):
        return False
    if is_monotonous(value) or (value.isdigit() and len(value) < 6):
        return False
    return is_quoted or is_password(value) or not value.isalpha() or _is_command(text, start)


def _is_command(text: str, start: int) -> bool:
    """Tell a command that begins a line, stands in code or follows another one from a program named in a sentence."""
    before = text[max(0, start - 12) : start].rpartition("\n")[2].rstrip(" \t")
    return not before or before[-1] in "`$#>%|;&'\"({:" or before.endswith(("sudo", "time", "exec"))


_PGPASS = (
    r"(?m)^(?:[A-Za-z][\w.-]{0,200}|\*|[\d.]{7,15}):(?:\d{3,5}|\*):(?![\d]+:)[\w*-]{1,64}:[\w.@*-]{1,64}:(\S{4,128})$"
)
_CELL = r"(?:\"((?:[^\"\n]|\"\"){0,512})\"|([^,;\t\"\n]{0,512}))"
_TABLE_CELL = r"\|[ \t]*([^|\n]*?)[ \t]*(?=\|)"
_ROW = r"(?m)^(?:\"[^\"\n]{0,200}\",){1,3}\"https?://[^\"\n]{1,400}\",\"[^\"\n]{1,200}\",\"([^\"\n]{5,128})\"(?=,|\s*$)"


def exported_passwords(text: str, low: str) -> Iterator[Span]:
    """Yield the place and rule of each password; `low` is the text in lower case."""
    for match in compiled(_PGPASS).finditer(text) if text.count(":") > 3 else ():
        if is_password(match[1]):
            yield *match.span(1), "password"
    for match in compiled(_ROW).finditer(text) if '","http' in low else ():
        value = match[1]
        mixed = any(map(str.isdigit, value)) and any(map(str.islower, value)) and any(map(str.isupper, value))
        if is_jumbled(value) or (mixed and is_password(value)):
            yield *match.span(1), "password"
    if any(sign in text for sign in ",;\t|") and any(name in low for name in _words_of("password_columns")):
        yield from _columns(text)


def _columns(text: str) -> Iterator[Span]:
    """Yield the cells under a heading that says they are passwords."""
    width, columns, start = 0, [], 0
    for line in text.split("\n"):
        cells = _cells(line, start) if len(line) < 4096 and any(sign in line for sign in ",;\t|") else []
        if len(cells) == width and all(set(text[begin:end]) <= {*"-: "} for begin, end in cells):
            start += len(line) + 1  # the rule below the heading of a table
            continue
        if len(cells) != width or width < 2:
            names = [text[begin:end].strip().lower() for begin, end in cells]
            is_heading = not _words_of("beside_passwords").isdisjoint(names) and not any(
                text[begin : begin + 1] == " " for begin, _ in cells
            )
            columns = [
                number for number, name in enumerate(names) if is_heading and name in _words_of("password_columns")
            ]
            width = len(cells) if columns else 0
        else:
            for begin, end in (cells[number] for number in columns):
                value = text[begin:end]
                if len(value) > 3 and not is_stand_in(value) and not is_default_password(value):
                    yield begin, end, "password"
        start += len(line) + 1


def _cells(line: str, start: int) -> list[tuple[int, int]]:
    """Return where the cells of a line of a table or of comma-separated values lie, without their quotes."""
    if line.lstrip().startswith("|"):
        return [(start + match.start(1), start + match.end(1)) for match in compiled(_TABLE_CELL).finditer(line)]
    found, at = [], 0
    while at <= len(line):
        match = compiled(_CELL).match(line, at)
        if match is None:
            return []
        begin, end = match.span(match.lastindex or 2)
        found.append((start + begin, start + end))
        at = match.end() + 1
        if at <= len(line) and line[at - 1] not in ",;\t":
            return []
    return found
