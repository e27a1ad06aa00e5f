"""Word tables, patterns and trained models, kept as files and read when they are first used.

The tables are TOML of a plain form, which this module reads itself: to import `tomllib` would add 3 ms to every hook.
The form: tables, and arrays of tables one level deep; strings without escapes but `\\\\`, those of several lines
beginning on a line of their own; lists of strings in double quotes; numbers and booleans.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def path(name: str) -> "Path":
    """Return the path of a data file."""
    from pathlib import Path

    return Path(__file__).with_name(name)


@cache
def table(name: str) -> dict[str, Any]:
    """Return the content of a TOML file; it is read once in a process."""
    content: dict[str, Any] = {}
    current = content
    lines = iter(path(name).read_text(encoding="utf-8").split("\n"))
    for line in lines:
        if line.startswith("[["):
            current = {}
            content.setdefault(line[2 : line.index("]")], []).append(current)
        elif line.startswith("["):
            current = content
            for part in line[1 : line.index("]")].split("."):
                current = current.setdefault(part, {})
        elif line and line[0] != "#":
            key, _, value = line.partition("=")
            current[key.strip(' "')] = _value(value.partition("  #")[0].strip(), lines)
    return content


@cache
def words(name: str, key: str) -> frozenset[str]:
    """Return the words, separated by white space, of one string of a TOML file."""
    return frozenset(table(name)[key].split())


@cache
def expression(name: str, key: str) -> str:
    """Return one string of a TOML file as a regular expression, see `expanded`."""
    return expanded(name, table(name)[key])


def expanded(name: str, text: str) -> str:
    """Return a text of a TOML file without its line breaks, each `{key}` replaced by the string of that key."""
    return re.sub(r"\{([a-z_]+)\}", lambda match: expression(name, match[1]), text.replace("\n", ""))


@cache
def pattern(name: str, key: str) -> re.Pattern[str]:
    """Return one string of a TOML file as a pattern, compiled at the first call."""
    return re.compile(expression(name, key))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern the first time a text calls for it."""
    return re.compile(pattern)


def _value(value: str, lines: Iterator[str]) -> object:
    """Return a value that begins on a line; `lines` yields those that follow it."""
    mark = value[:3]
    if mark in ("'''", '"""'):
        first = value[3:].removesuffix(mark)
        if len(value) > 5 and value.endswith(mark):
            return first
        return "\n".join([*([first] if first else []), *_until(lines, mark)])
    if value[0] == "[":
        whole = value if value[-1] == "]" else " ".join([value, *_until(lines, "]")])
        return [one.replace("\\\\", "\\") for one in whole.split('"')[1::2]]
    if value[0] == '"':
        return value[1 : value.index('"', 1)].replace("\\\\", "\\")
    if value[0] == "'":
        return value[1 : value.index("'", 1)]
    if value in ("true", "false"):
        return value == "true"
    return float(value) if "." in value else int(value)


def _until(lines: Iterator[str], mark: str) -> Iterator[str]:
    """Yield lines up to the one that ends with a mark, which is left out."""
    for line in lines:
        yield line.removesuffix(mark)
        if line.endswith(mark):
            return
