"""What a folder of a person's own notes says of itself: which files are left out, and where a day's note lies."""

import json
import re
from dataclasses import replace
from pathlib import Path

from .layout import Layout

IGNORE = ".memignore"
"""Patterns of files that are no memories, as in .gitignore."""
_DAILY = ".obsidian/daily-notes.json"
_TEMPLATES = ".obsidian/templates.json"
_LONGEST = 256 * 1024
_TOKENS = {"YYYY": "%Y", "MM": "%m", "DD": "%d"}


def as_kept(layout: Layout, root: Path) -> Layout:
    """Give a layout with what the folder's own files add to it; what cannot be read adds nothing."""
    daily, templates = _settings(root / _DAILY), _settings(root / _TEMPLATES)
    form = daily.get("format") or "YYYY-MM-DD"
    place = "/".join(part for part in (daily.get("folder", "").strip("/"), form) if part)
    path = re.sub("|".join(_TOKENS), lambda found: _TOKENS[found[0]], place.replace("%", "%%"))
    ignored = [layout.ignore, _text(root / IGNORE)]
    if folder := templates.get("folder", "").strip("/"):
        ignored.append("/" + re.sub(r"([*?\[\]\\!#])", r"\\\1", folder) + "/")
    return replace(layout, ignore="\n".join(ignored), daily=(f"{path}.md", *layout.daily))


def _settings(path: Path) -> dict[str, str]:
    """Read settings of Obsidian that are texts."""
    try:
        found = json.loads(_text(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""
