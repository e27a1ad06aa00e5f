"""What a folder of a person's own notes says of itself: which files are left out, and where a day's note lies."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from .layout import Layout

IGNORE = ".memignore"
"""Patterns of files that are no memories, as in .gitignore."""
_DAILY = ".obsidian/daily-notes.json"
_APP = ".obsidian/app.json"
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
        ignored.append(f"/{_escaped(folder)}/")
    ignored += _left_out(root / _APP)
    return replace(layout, ignore="\n".join(ignored), daily=(f"{path}.md", *layout.daily))


def _left_out(path: Path) -> list[str]:
    """Give patterns of the paths Obsidian leaves out of its search by how they begin; expressions are not read."""
    filters = _read(path).get("userIgnoreFilters")
    told = [one for one in filters if isinstance(one, str)] if isinstance(filters, list) else []
    paths = [one.lstrip("/") for one in told if not (len(one) > 1 and one[0] == one[-1] == "/")]
    return [f"/{_escaped(one)}{'' if one.endswith('/') else '*'}" for one in paths if one.strip() and one.isprintable()]


def _escaped(path: str) -> str:
    return re.sub(r"([*?\[\]\\!#])", r"\\\1", path)


def _settings(path: Path) -> dict[str, str]:
    """Read settings of Obsidian that are texts."""
    return {key: value for key, value in _read(path).items() if isinstance(value, str)}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""
