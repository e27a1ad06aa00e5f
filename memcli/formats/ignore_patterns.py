"""Decide whether a path is left out by patterns as git writes them in .gitignore.

Owns the matching alone, without regular expressions, so that a hostile pattern costs no more than its length
times the path's; files of several folders, and what git already tracks, are the caller's business.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

_CLASSES: dict[str, Callable[[str], bool]] = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
    "punct": lambda char: char.isascii() and char.isprintable() and not char.isalnum() and char != " ",
}
_ANY = "*"  # the token of a star; a literal star is a test like any other character
Part = TypeVar("Part")
Item = TypeVar("Item")
Token = str | Callable[[str], bool]
Rule = tuple[bool, bool, tuple[str, ...]]  # brings back, folders only, segments


def ignored(patterns: str, path: str) -> bool:
    """Return whether a relative path, or a folder it lies in, is left out; a path ending in `/` is a folder."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for depth in range(1, len(parts) + 1):
        # As in git, nothing brings back what lies in a folder that is left out.
        if _is_matched(patterns, parts[:depth], is_folder=depth < len(parts) or path.endswith("/")):
            return True
    return False


def matches(patterns: str, path: str, *, is_folder: bool) -> bool:
    """Return whether a relative path is itself left out, whatever becomes of the folders it lies in."""
    return _is_matched(patterns, path.split("/"), is_folder=is_folder)


def _is_matched(patterns: str, parts: list[str], *, is_folder: bool) -> bool:
    rules, by_ending = _rules(patterns)
    name = parts[-1]
    endings = (name, f"*{name[-1:]}", "*")
    for number in sorted((number for ending in endings for number in by_ending.get(ending, ())), reverse=True):
        brings_back, folders_only, segments = rules[number]
        if (is_folder or not folders_only) and _fits(segments, parts, _is_any_depth, _segment_fits):
            return not brings_back
    return False


@lru_cache(maxsize=32)
def _rules(patterns: str) -> tuple[tuple[Rule, ...], dict[str, list[int]]]:
    """Read the lines of a .gitignore; return the rules, and by what a name ends with those that may match it."""
    lines = [line.removesuffix("\r") for line in patterns.removeprefix("\ufeff").split("\n")]
    rules = tuple(rule for line in lines if not line.startswith("#") and (rule := _rule(line)))
    by_ending: dict[str, list[int]] = {}
    for number, (_, _, segments) in enumerate(rules):
        by_ending.setdefault(_ending(segments[-1]), []).append(number)
    return rules, by_ending


def _ending(segment: str) -> str:
    """Return the only name a segment matches or, after a star, the last character of all that it matches."""
    if not set("*?[\\") & set(segment):
        return segment
    return "*" if segment[-1] in "*?]\\" else f"*{segment[-1]}"


def _rule(line: str) -> Rule | None:
    body = line.rstrip(" ")
    if len(body) < len(line) and (len(body) - len(body.rstrip("\\"))) % 2:
        body += " "  # the backslash keeps one blank
    brings_back = body.startswith("!")
    body = body.removeprefix("!")
    folders_only = body.endswith("/")
    body = body.removesuffix("/")
    if not body:
        return None
    segments = body.removeprefix("/").split("/")
    if "/" not in body:
        return brings_back, folders_only, ("**", "*" if body == "**" else body)
    if segments[-1] == "**":
        segments.append("*")  # what lies inside, not the folder itself
    return brings_back, folders_only, tuple(segments)


def _is_any_depth(segment: str) -> bool:
    return segment == "**"


def _is_star(token: Token) -> bool:
    return token is _ANY


def _char_fits(token: Token, char: str) -> bool:
    return token == char if isinstance(token, str) else token(char)


def _segment_fits(segment: str, part: str) -> bool:
    tokens = _tokens(segment)
    return tokens is not None and _fits(tokens, part, _is_star, _char_fits)


def _fits(
    pattern: Sequence[Part],
    items: Sequence[Item],
    is_wildcard: Callable[[Part], bool],
    fits: Callable[[Part, Item], bool],
) -> bool:
    """Return whether items fit a pattern: greedily, going back to the last wildcard alone."""
    pattern_index = item_index = 0
    wildcard, wildcard_end = -1, 0
    while item_index < len(items):
        if pattern_index < len(pattern) and is_wildcard(pattern[pattern_index]):
            wildcard, wildcard_end = pattern_index, item_index
            pattern_index += 1
        elif pattern_index < len(pattern) and fits(pattern[pattern_index], items[item_index]):
            pattern_index += 1
            item_index += 1
        elif wildcard >= 0:
            wildcard_end += 1
            pattern_index, item_index = wildcard + 1, wildcard_end
        else:
            return False
    return all(is_wildcard(part) for part in pattern[pattern_index:])


@lru_cache(maxsize=16_384)
def _tokens(segment: str) -> tuple[Token, ...] | None:
    """Read a segment as characters, tests and stars; None where a bracket or a backslash is left open."""
    tokens: list[Token] = []
    position = 0
    while position < len(segment):
        char = segment[position]
        position += 1
        if char == "*":
            tokens.append(_ANY)
        elif char == "?":
            tokens.append(lambda _: True)
        elif char == "[":
            bracket = _bracket(segment, position)
            if bracket is None:
                return None
            test, position = bracket
            tokens.append(test)
        elif char == "\\":
            if position == len(segment):
                return None
            tokens.append(segment[position].__eq__)
            position += 1
        else:
            tokens.append(char)
    return tuple(tokens)


def _bracket(segment: str, position: int) -> tuple[Callable[[str], bool], int] | None:
    """Read a bracket expression from after its `[`; return its test and where it ends."""
    negated = segment[position : position + 1] in ("!", "^")
    first = position = position + negated
    tests: list[Callable[[str], bool]] = []
    while position < len(segment) and (segment[position] != "]" or position == first):
        name = segment[position + 2 : segment.find(":]", position + 2)] if segment.startswith("[:", position) else ""
        if name in _CLASSES:
            tests.append(_CLASSES[name])
            position += len(name) + 4
            continue
        position += segment[position] == "\\"
        low = high = segment[position : position + 1]
        position += 1
        if segment[position : position + 1] == "-" and segment[position + 1 : position + 2] not in ("", "]"):
            position += 1 + (segment[position + 1] == "\\")
            high = segment[position : position + 1]
            position += 1
        tests.append(lambda char, low=low, high=high: low <= char <= high)  # type: ignore[misc]
    if position >= len(segment):
        return None
    return (lambda char: any(test(char) for test in tests) != negated), position + 1
