"""Obsidian: the settings of a vault that mem follows, and Obsidian's additions to Markdown."""

import json
import re
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from .files import read_small_text

# The settings of Obsidian and of its plugin Templater, with the key of the folder with templates.
TEMPLATE_SETTINGS = {
    ".obsidian/templates.json": "folder",
    ".obsidian/plugins/templater-obsidian/data.json": "templates_folder",
}
DEFAULT_DAY = "YYYY-MM-DD"
# `#123` is not a tag, and neither is `#top` in an address.
TAG = re.compile(r"(?:^|(?<=\s))#([\w/-]*[^\W\d][\w/-]*)")
CODE = re.compile(r"(?s)```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`")
HEADING = re.compile(r"\s*#{1,6}[ \t]+(\S[^\n]*)")
# The format of daily notes is that of Moment.js. Text in brackets is literal.
DAY_PART = re.compile(
    r"\[([^\]]*)\]|YYYY|GGGG|YY|MMMM|MMM|MM|M|DDDD|DDD|DD|Do|D|dddd|ddd|WW|W|HH|mm|Q|[A-Za-z]+"
)
DAY_CODES = dict(
    pair.split("=")
    for pair in "YYYY=%Y GGGG=%G YY=%y MMMM=%B MMM=%b MM=%m M=%-m DDDD=%j DDD=%-j DD=%d D=%-d"
    " dddd=%A ddd=%a WW=%V W=%-V HH=%H mm=%M".split()
)
SUFFIXES = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def read_obsidian_settings(root: Path, path: str) -> dict[str, Any]:
    """Return the settings in a file of a vault, as far as it is readable."""
    try:
        data = json.loads(read_small_text(root / path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def find_daily_note(root: Path, day: datetime) -> str:
    """Return the path of a day's note, empty for unknown settings."""
    settings = read_obsidian_settings(root, ".obsidian/daily-notes.json")
    name = format_day(str(settings.get("format") or DEFAULT_DAY), day)
    folder = str(settings.get("folder") or "").strip("/")
    path = PurePosixPath(folder, f"{name}.md")
    is_hidden = any(part.startswith(".") for part in path.parts)
    is_usable = name and not is_hidden and not path.is_absolute() and "\0" not in str(path)
    return str(path) if is_usable else ""


def format_day(pattern: str, day: datetime) -> str:
    """Return a day in a format of Moment.js, empty for an unknown format."""
    values = {name: day.strftime(code) for name, code in DAY_CODES.items()}
    values["Do"] = f"{day.day}{SUFFIXES.get(day.day, 'th')}"
    values["Q"] = f"{(day.month + 2) // 3}"
    parts = list(DAY_PART.finditer(pattern))
    if any(match[1] is None and match[0] not in values for match in parts):
        return ""
    return DAY_PART.sub(lambda match: values.get(match[0], match[1] or ""), pattern)


def read_excluded(root: Path) -> list[str]:
    """Return patterns of templates and of the notes that Obsidian excludes."""
    # A template has placeholders such as {{title}} in the place of facts.
    names = []
    for path, key in TEMPLATE_SETTINGS.items():
        folder = str(read_obsidian_settings(root, path).get(key) or "").strip("/")
        if folder:
            names.append(f"/{folder}/")
    filters = read_obsidian_settings(root, ".obsidian/app.json").get("userIgnoreFilters")
    for text in filters if isinstance(filters, list) else ():
        # A text between slashes is a regular expression, which mem does not apply.
        if isinstance(text, str) and text.strip("/\n") and not text.startswith("/"):
            names.append(f"/{text}" if text.endswith("/") else f"/{text}*")
    return names


def find_tags(body: str) -> list[str]:
    """Return the tags in the text of a note, except those in code."""
    return TAG.findall(CODE.sub(" ", body))


def find_title(body: str, path: str) -> str:
    """Return the heading at the start of a note, or its file name."""
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
