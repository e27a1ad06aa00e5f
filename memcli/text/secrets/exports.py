"""Find the passwords of tables and password files: what password managers export, lines of `.pgpass`."""

from collections.abc import Iterator

from .rules import DEFAULT_PASSWORDS, compiled, word_set
from .values import is_jumbled, is_password, is_stand_in

Place = tuple[int, int, str]  # start, end, rule

_PGPASS = (
    r"(?m)^(?:[A-Za-z][\w.-]{0,200}|\*|[\d.]{7,15}):(?:\d{3,5}|\*):(?![\d]+:)[\w*-]{1,64}:[\w.@*-]{1,64}:(\S{4,128})$"
)
_CELL = r"(?:\"((?:[^\"\n]|\"\"){0,512})\"|([^,;\t\"\n]{0,512}))"
_TABLE_CELL = r"\|[ \t]*([^|\n]*?)[ \t]*(?=\|)"
_COLUMNS = word_set(
    "pw pwd pass password passwort login_password passwd kennwort contraseña wachtwoord пароль 密码 パスワード"
)
_BESIDE = word_set(
    "service system device what name title url website login username user login_username login_uri email account "
    "notes host site"
)
_ROW = r"(?m)^(?:\"[^\"\n]{0,200}\",){1,3}\"https?://[^\"\n]{1,400}\",\"[^\"\n]{1,200}\",\"([^\"\n]{5,128})\"(?=,|\s*$)"


def exported(text: str, low: str) -> Iterator[Place]:
    """Yield the place and rule of each password; `low` is the text in lower case."""
    for match in compiled(_PGPASS).finditer(text) if text.count(":") > 3 else ():
        if is_password(match[1]):
            yield *match.span(1), "password"
    for match in compiled(_ROW).finditer(text) if '","http' in low else ():
        value = match[1]
        mixed = any(map(str.isdigit, value)) and any(map(str.islower, value)) and any(map(str.isupper, value))
        if is_jumbled(value) or (mixed and is_password(value)):
            yield *match.span(1), "password"
    if any(sign in text for sign in ",;\t|") and any(name in low for name in _COLUMNS):
        yield from _columns(text)


def _columns(text: str) -> Iterator[Place]:
    """Yield the cells under a heading that says they are passwords."""
    width, columns, start = 0, [], 0
    for line in text.split("\n"):
        cells = _cells(line, start) if len(line) < 4096 and any(sign in line for sign in ",;\t|") else []
        if len(cells) == width and all(set(text[begin:end]) <= {*"-: "} for begin, end in cells):
            start += len(line) + 1  # the rule below the heading of a table
            continue
        if len(cells) != width or width < 2:
            names = [text[begin:end].strip().lower() for begin, end in cells]
            is_heading = not _BESIDE.isdisjoint(names) and not any(text[begin : begin + 1] == " " for begin, _ in cells)
            columns = [number for number, name in enumerate(names) if is_heading and name in _COLUMNS]
            width = len(cells) if columns else 0
        else:
            for begin, end in (cells[number] for number in columns):
                value = text[begin:end]
                if len(value) > 3 and not is_stand_in(value) and value.lower() not in DEFAULT_PASSWORDS:
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
