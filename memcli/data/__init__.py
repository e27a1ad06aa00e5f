"""Word lists and patterns, stored as files and read when they are first used.

The files are TOML in a plain form, which this module parses 20 times faster than `tomllib`: tables,
arrays of tables one level deep, strings whose only escape is a doubled backslash, lists of strings,
numbers and booleans. A string of several lines starts on a line of its own.
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
    """Return the content of a TOML file. It is read once per process."""
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
            # A value may contain an equals sign, a key may not.
            key, _, value = line.partition("=")
            # A comment follows two blanks, because patterns contain the sign #.
            current[key.strip(' "')] = parse_value(value.partition("  #")[0].strip(), lines)
    return content


@cache
def words(name: str, key: str) -> frozenset[str]:
    """Return the words, separated by white space, of one string of a TOML file."""
    return frozenset(table(name)[key].split())


@cache
def expression(name: str, key: str) -> str:
    """Return one string of a TOML file as a regular expression."""
    return expand_references(name, table(name)[key])


def expand_references(name: str, text: str) -> str:
    """Join the lines of a text, and replace each `{key}` by the string with that key."""
    # The line ends only make a long pattern readable.
    return re.sub(
        r"\{([a-z_]+)\}", lambda match: expression(name, match[1]), text.replace("\n", "")
    )


@cache
def pattern(name: str, key: str) -> re.Pattern[str]:
    """Return one string of a TOML file as a compiled pattern."""
    return re.compile(expression(name, key))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when it is first used. Compiling all of them takes 200 ms."""
    return re.compile(pattern)


def parse_value(value: str, lines: Iterator[str]) -> object:
    """Parse a value. `lines` yields the lines after its first."""
    mark = value[:3]
    if mark in ("'''", '"""'):
        first = value[3:].removesuffix(mark)
        if len(value) > 5 and value.endswith(mark):
            return first
        return "\n".join([*([first] if first else []), *read_until(lines, mark)])
    if value[0] == "[":
        whole = value if value[-1] == "]" else " ".join([value, *read_until(lines, "]")])
        # Between the quotes are commas and line ends, and every second part is a text.
        return [item.replace("\\\\", "\\") for item in whole.split('"')[1::2]]
    if value[0] == '"':
        return value[1 : value.index('"', 1)].replace("\\\\", "\\")
    if value[0] == "'":
        return value[1 : value.index("'", 1)]
    if value in ("true", "false"):
        return value == "true"
    return float(value) if "." in value else int(value)


def read_until(lines: Iterator[str], mark: str) -> Iterator[str]:
    """Yield the lines up to the mark that ends a value."""
    for line in lines:
        yield line.removesuffix(mark)
        if line.endswith(mark):
            return
