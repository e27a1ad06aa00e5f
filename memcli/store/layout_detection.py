"""Recognise whose folder of memories this is, by the names in it and a few first lines; changes and keeps nothing."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..formats.frontmatter import document
from .layouts import CLAUDE, GOLEMCORE, JARVIS, MARKDOWN, NEOVATE, OPENCLAW, Layout

_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:-.*)?\.md")
_HISTORY = re.compile(r"HISTORY(?:-\d{4}-\d\d)?\.md")
_RECORD = re.compile(r"^(?:## \d{4}-\d\d-\d\dT|\[\d{4}-\d\d-\d\d \d\d:\d\d\])", re.MULTILINE)
_PERSONA = ("SOUL.md", "IDENTITY.md", "HEARTBEAT.md", "AGENTS.md")
_CLAUDE_TYPES = ("user", "feedback", "project", "reference")
_SAMPLE = 20  # files whose beginning is read
_HEAD = 8192  # bytes of it


@dataclass(frozen=True)
class Recognised:
    """Whose folder it is, where a workspace over it belongs, and what gave it away."""

    layout: str
    root: Path
    why: str


def recognise(folder: Path) -> Recognised | None:
    """Return the layout that a folder, or the `memory/` in it, already has; None if it is no known tool's."""
    names, below = _names(folder), _names(folder / "memory")
    if "entries" in names:
        return None  # mem's own, come without its mem.yaml
    found = _above(folder, names, below) or _within(folder, names)
    if not found and ".obsidian" in names:
        return Recognised(MARKDOWN.name, folder, ".obsidian/ is a vault's")
    if found or "entries" in below:
        return found
    return _within(folder / "memory", below)


def _above(folder: Path, names: set[str], below: set[str]) -> Recognised | None:
    """Look for tools that keep their memories in `memory/` below their own folder."""
    days = sorted(name for name in below if _DAY.fullmatch(name))
    page = next((name for name in ("MEMORY.md", "memory.md") if name in names), "")
    persona = next((name for name in _PERSONA if name in names), "")
    if page and (days or (persona and _markdown(below))):
        beside = f"memory/{days[-1]}" if days else persona
        return Recognised(OPENCLAW.name, folder, f"{page} beside {beside}")
    if "SOUL.md" in names and days and "MEMORY.md" not in below:
        return Recognised(OPENCLAW.name, folder, f"SOUL.md beside memory/{days[-1]}")
    talks = sorted(name for name in _names(folder / "sessions") if name.endswith(".json") and ":" in name)
    if "items" in below and (talks or days or "MEMORY.md" in below):
        return Recognised(GOLEMCORE.name, folder, "memory/items/")
    if "MEMORY.md" in below and days and not _histories(below):
        return Recognised(GOLEMCORE.name, folder, f"memory/MEMORY.md beside memory/{days[-1]}")
    own = next((name for name in _markdown(below) if _is_named_by_id(folder / "memory" / name)), "")
    return Recognised(JARVIS.name, folder, f"memory/{own} is named by its id") if own else None


def _within(folder: Path, names: set[str]) -> Recognised | None:
    """Look for tools whose memories lie beside their MEMORY.md."""
    if folder.name == "memory" and folder.parent.parent.name == "projects" and ".claude" in folder.parts:
        return Recognised(CLAUDE.name, folder, "it lies in .claude/projects/")
    if "MEMORY.md" not in names:
        return None
    record = next((name for name in _histories(names) if _holds_records(folder / name)), "")
    if record:
        return Recognised(NEOVATE.name, folder, f"MEMORY.md beside {record}")
    topic = next((name for name in _markdown(names) if _is_topic(folder / name)), "")
    return Recognised(CLAUDE.name, folder, f"MEMORY.md beside {topic}") if topic else None


def _names(folder: Path) -> set[str]:
    try:
        return {each.name for each in folder.iterdir()}
    except OSError:
        return set()


def _histories(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if _HISTORY.fullmatch(name))


def _markdown(names: Iterable[str]) -> list[str]:
    """Return the first names of files that may be one memory each."""
    fit = (name for name in names if name.endswith(".md") and not name.removesuffix(".md").isupper())
    return sorted(name for name in fit if not _HISTORY.fullmatch(name) and not _DAY.fullmatch(name))[:_SAMPLE]


def _beginning(path: Path, size: int = _HEAD) -> str:
    """Return the text of the first bytes of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""


def _holds_records(path: Path) -> bool:
    """Return whether a history is an agent's, even one still empty, and not a project's."""
    text = _beginning(path)
    return not text.strip() or _RECORD.search(text) is not None


def _is_named_by_id(path: Path) -> bool:
    return document.parse(_beginning(path)).fields.get("id") == path.stem


def _is_topic(path: Path) -> bool:
    """Return whether a file is a topic of Claude Code's: it has a name, and a description or one of its types."""
    fields = document.parse(_beginning(path)).fields
    nested = fields.get("metadata")
    kind = nested.get("type") if isinstance(nested, dict) else fields.get("type")
    return "name" in fields and ("description" in fields or kind in _CLAUDE_TYPES)


IGNORE = ".memignore"
"""Patterns of files that are no memories, as in .gitignore."""
_DAILY = ".obsidian/daily-notes.json"
_APP = ".obsidian/app.json"
_TEMPLATES = ".obsidian/templates.json"
_LONGEST = 256 * 1024
_TOKENS = {"YYYY": "%Y", "MM": "%m", "DD": "%d"}


def as_kept(layout: Layout, root: Path) -> Layout:
    """Return a layout with what the folder's own files add to it; what cannot be read adds nothing."""
    daily, templates = _settings(root / _DAILY), _settings(root / _TEMPLATES)
    form = daily.get("format") or "YYYY-MM-DD"
    place = "/".join(part for part in (daily.get("folder", "").strip("/"), form) if part)
    path = re.sub("|".join(_TOKENS), lambda found: _TOKENS[found[0]], place.replace("%", "%%"))
    ignored = [layout.ignore, _beginning(root / IGNORE, _LONGEST)]
    if folder := templates.get("folder", "").strip("/"):
        ignored.append(f"/{_escaped(folder)}/")
    ignored += _left_out(root / _APP)
    return replace(layout, ignore="\n".join(ignored), daily=(f"{path}.md", *layout.daily))


def _left_out(path: Path) -> list[str]:
    """Return patterns of the paths Obsidian leaves out of its search by how they begin; expressions are not read."""
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
        found = json.loads(_beginning(path, _LONGEST) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
