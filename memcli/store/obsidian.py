"""Obsidian: the settings of a vault that mem follows, and Obsidian's additions to Markdown."""

import json
import os
import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from pathlib import Path, PurePosixPath
from unicodedata import normalize

from .files import MOST_WILDCARDS, read_small_text

APP_SETTINGS = ".obsidian/app.json"
# The settings that exclude notes, with their key. A template has placeholders such as {{title}} in
# the place of facts.
EXCLUDING_SETTINGS = {
    APP_SETTINGS: "userIgnoreFilters",
    ".obsidian/templates.json": "folder",
    ".obsidian/plugins/templater-obsidian/data.json": "templates_folder",
}
# All notes, but no memory of mem: if app.json cannot be read, nobody knows which ones are private.
UNKNOWN = re.compile("^(?!mem/)")
# A repeated group, such as `(a+)+`, can take hours for one path.
SLOW_FILTER = re.compile(r"\)[*+{]")
DEFAULT_DAY = "YYYY-MM-DD"
# `#123` is not a tag, and neither is `#top` in an address.
TAG = re.compile(r"(?:^|(?<=\s))#([\w/-]*[^\W\d][\w/-]*)")
CODE = re.compile(r"(?s)```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`")
HEADING = re.compile(r"\s*#[ \t]+(\S[^\n]*)")
# The format of daily notes is that of Moment.js. Text in brackets is literal.
DAY_PART = re.compile(
    r"\[([^\]]*)\]|YYYY|GGGG|YY|MMMM|MMM|MM|M|DDDD|DDD|DD|Do|D|dddd|ddd|WW|W|HH|mm|Q|[A-Za-z]+"
)
DAY_CODES = dict(
    pair.split("=")
    for pair in "YYYY=%Y GGGG=%G YY=%y MMMM=%B MMM=%b MM=%m M=%-m DDDD=%j DDD=%-j DD=%d D=%-d"
    " dddd=%A ddd=%a E=%u WW=%V W=%-V HH=%H mm=%M".split()
)
SUFFIXES = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def read_daily_settings(root: Path) -> tuple[str, str]:
    """Return folder and format of daily notes, or two empty strings if they cannot be read."""
    try:
        settings = json.loads(read_small_text(root / ".obsidian/daily-notes.json") or "{}")
        folder = str(settings.get("folder") or "").strip("/")
        return folder, str(settings.get("format") or DEFAULT_DAY)
    except (ValueError, AttributeError, RecursionError):
        return "", ""


def find_daily_note(root: Path, day: datetime) -> str:
    """Return the path of a day's note, empty for unknown settings."""
    folder, pattern = read_daily_settings(root)
    if not (root / ".obsidian/daily-notes.json").exists():
        folder = find_common_folder(root)
    name = format_day(pattern, day)
    path = PurePosixPath(folder, f"{name}.md")
    is_hidden = any(part.startswith(".") for part in path.parts)
    is_usable = name and not is_hidden and not path.is_absolute() and "\0" not in str(path)
    return str(path) if is_usable else ""


@lru_cache
def find_common_folder(root: Path) -> str:
    """Return the folder of all daily notes, if Obsidian's settings stayed on another computer."""
    paths = [path for place in ("", "[!.]*/") for path in root.glob(f"{place}20??-??-??.md")]
    folders = {path.parent.relative_to(root) for path in paths}
    return str(folders.pop()) if len(folders) == 1 else ""


def find_day(settings: tuple[str, str], path: str, zone: tzinfo) -> datetime | None:
    """Return the day of a daily note, None for another note."""
    folder, pattern = settings
    name = path.removeprefix(f"{folder}/").removesuffix(".md")
    # Overlapping, because `20122026` has two numbers that look like years.
    numbers = re.findall(r"(?=((?:19|20)\d\d))" if "YYYY" in pattern else r"(?=(\d\d))", name)
    for number in numbers:
        year = int(number) if len(number) == 4 else 2000 + int(number)
        day = list_daily_notes(pattern, year).get(name)
        if day:
            return day.replace(tzinfo=zone)
    return None


@lru_cache
def list_daily_notes(pattern: str, year: int) -> dict[str, datetime]:
    """Return the first days of the notes of a year, by their names."""
    first = datetime(year, 1, 1, tzinfo=UTC)
    days = [first + timedelta(days=number) for number in reversed(range(366))]
    return {format_day(pattern, day): day for day in days}


def format_day(pattern: str, day: datetime) -> str:
    """Return a day in a format of Moment.js, empty for an unknown format."""
    values = {name: day.strftime(code) for name, code in DAY_CODES.items()}
    values["Do"] = f"{day.day}{SUFFIXES.get(day.day, 'th')}"
    values["Q"] = f"{(day.month + 2) // 3}"
    parts = list(DAY_PART.finditer(pattern))
    if any(match[1] is None and match[0] not in values for match in parts):
        return ""
    return DAY_PART.sub(lambda match: values.get(match[0], match[1] or ""), pattern)


def read_excluded(root: Path) -> list[re.Pattern[str]]:
    """Return patterns of templates and of the notes that Obsidian excludes."""
    patterns = []
    for name in EXCLUDING_SETTINGS:
        # People share one file among several vaults by links.
        path = os.path.realpath(root / name)
        if os.path.exists(path):
            patterns += parse_excluded(name, read_small_text(Path(path)))
    return patterns


def parse_excluded(path: str, text: str) -> list[re.Pattern[str]]:
    """Return what a file of settings excludes. A text between slashes is a regular expression."""
    patterns = []
    try:
        names = json.loads(text).get(EXCLUDING_SETTINGS[path]) or []
        for name in [f"{names.strip('/')}/"] if isinstance(names, str) else names:
            name = normalize("NFC", str(name))
            if len(name) > 2 and name[0] == name[-1] == "/":
                if SLOW_FILTER.search(name) or len(re.findall("[*+{]", name)) > MOST_WILDCARDS:
                    return [UNKNOWN]
                patterns.append(re.compile(name[1:-1]))
            elif name.strip("/\n"):
                patterns.append(re.compile(f"^{re.escape(name)}"))
    except (ValueError, TypeError, AttributeError, RecursionError, re.error):
        return [UNKNOWN] if path == APP_SETTINGS else []
    return patterns


def find_tags(body: str) -> list[str]:
    """Return the tags in the text of a note, except those in code."""
    return TAG.findall(CODE.sub(" ", body))


def find_title(body: str, path: str) -> str:
    """Return the main heading at the start of a note, or its file name."""
    heading = HEADING.match(body)
    return heading[1].strip() if heading else PurePosixPath(path).stem


def render_canvas(text: str) -> str:
    """Return the texts of the cards, groups and arrows on a canvas."""
    try:
        data = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return ""
    texts: list[str] = []
    for name in ("nodes", "edges"):
        items = data.get(name) if isinstance(data, dict) else None
        for item in items if isinstance(items, list) else ():
            value = (item.get("text") or item.get("label")) if isinstance(item, dict) else None
            if isinstance(value, str) and value.strip():
                texts.append(value.strip())
    return "\n\n".join(texts)
