"""Decide whether a path is left out by patterns as git writes them in .gitignore.

A pattern becomes a regular expression that settles each part where it first fits and never goes back on it, so that a
hostile pattern costs no more than its length times the path's; files of several folders, and what git already tracks,
are the caller's business.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "xdigit": "0-9a-fA-F",
    "punct": r"!-/:-@\[-`{-~",
}
_CLASS = rf"\[:(?P<name>{'|'.join(_CLASSES)}):\]"
_TOKEN = re.compile(
    rf"(?P<stars>\*+)|(?P<any>\?)|\[(?P<negated>[!^]?)(?P<members>(?>\]?(?:{_CLASS}|\\.|[^\]\\])*))\]"
    r"|\\(?P<escaped>.)|(?P<open>[\[\\])|(?P<plain>.)",
    re.DOTALL,
)
_MEMBER = re.compile(rf"{_CLASS}|\\?(?P<low>.)(?:-\\?(?P<high>.))?", re.DOTALL)
_NOTHING = "(?!)"
Rule = tuple[bool, bool, tuple[str, ...]]  # brings back, folders only, segments


def ignored(patterns: str, path: str) -> bool:
    """Return whether a relative path, or a folder it lies in, is left out; a path ending in `/` is a folder."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for depth in range(1, len(parts) + 1):
        # As in git, nothing brings back what lies in a folder that is left out.
        if matches(patterns, "/".join(parts[:depth]), is_folder=depth < len(parts) or path.endswith("/")):
            return True
    return False


def matches(patterns: str, path: str, *, is_folder: bool) -> bool:
    """Return whether a relative path is itself left out, whatever becomes of the folders it lies in."""
    rules, by_ending = _rules(patterns)
    name = path.rpartition("/")[2]
    endings = (name, f"*{name[-1:]}", "*")
    for number in sorted((number for ending in endings for number in by_ending.get(ending, ())), reverse=True):
        brings_back, folders_only, segments = rules[number]
        if (is_folder or not folders_only) and _expression(segments).fullmatch(path):
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


@lru_cache(maxsize=16_384)
def _expression(segments: tuple[str, ...]) -> re.Pattern[str]:
    *folders, name = segments
    steps = [""]
    for is_any_depth, group in groupby(folders, key="**".__eq__):
        if is_any_depth:
            steps.append("")
        else:
            steps[-1] += "".join(f"{_segment(folder)}/" for folder in group)
    steps[-1] += _segment(name)
    return re.compile(_joined(steps, "(?:[^/]+/)*"))


def _segment(segment: str) -> str:
    """Translate a segment; a bracket or a backslash that is left open matches nothing."""
    steps = [""]
    for token in _TOKEN.finditer(segment):
        if token["open"]:
            return _NOTHING
        if token["stars"]:
            steps.append("")
        elif token["members"] is not None:
            members = "".join(_members(token["members"]))
            steps[-1] += f"[{'^/' if token['negated'] else ''}{members}]" if members or token["negated"] else _NOTHING
        else:
            steps[-1] += "[^/]" if token["any"] else re.escape(token["escaped"] or token["plain"])
    return _joined(steps, "[^/]*")


def _members(text: str) -> Iterator[str]:
    """Yield the characters and ranges of a bracket expression; a range that ends before it begins has none."""
    for member in _MEMBER.finditer(text):
        low, high = member["low"], member["high"] or member["low"]
        if member["name"]:
            yield _CLASSES[member["name"]]
        elif low <= high:
            yield f"{re.escape(low)}-{re.escape(high)}"


def _joined(steps: Sequence[str], gap: str) -> str:
    """Join what any gap may stand between."""
    first, *inner = steps
    if not inner:
        return first
    return first + "".join(f"(?>{gap}?{step})" for step in inner[:-1]) + gap + inner[-1]
