"""Where things live in a workspace: which file is of which kind, and where new ones go.

Knows names and patterns only; looks at no disk. `recognise` tells which layout a folder has.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from ..dataclass import dataclass, field
from ..errors import UsageError
from ..formats.frontmatter import document
from ..formats.ids import tail

KINDS = ("entry", "memory", "history", "note", "session")
DERIVED = ".mem"
SESSION_FOLDER = "sessions"
HANDOFF = "handoff.txt"
"""File in a session's folder that says what another one needs to go on with it."""
SESSIONS = (f"{SESSION_FOLDER}/*/session.jsonl",)
ITEMS = "*.jsonl#*"
"""The paths under which the index has the lines of another tool's file that are memories, as a glob."""
MARK = "mem_"
"""How an id begins that mem made, or that a person gave a note for mem to keep it."""
IS_ITEM = f"(path glob '{ITEMS}' and path not glob '*.md')"
"""The same as a condition in SQL; what hides such a memory is called as it is, and is markdown."""

_PARTS = {"{date}": r"\d{4}-\d\d-\d\d", "{month}": r"\d{4}-\d\d", "**": r".*", "*": r"[^/]*"}
_HIDDEN = re.compile(r"(?:^|/)\.")


_PATTERNS = {
    "memory": ("MEMORY.md",),
    "history": ("HISTORY-{month}.md", "HISTORY.md"),
    "note": ("notes/**.md",),
    "entry": ("entries/**.md",),
    "session": SESSIONS,
}


@dataclass(frozen=True)
class Layout:
    """Path patterns: `*` within a folder, `**` across folders, `{date}` and `{month}` for days and months.

    A path is of the first kind whose pattern fits. Nothing below a name that begins with a dot is a memory.
    """

    name: str
    memory: str = "MEMORY.md"
    history: str = "HISTORY-{month}.md"
    notes: str = "notes/{date}.md"
    archive: str = "archive/"  # the folder of what was put away, each file at the path it had
    entries: str = "entries"  # the folder of entries, any depth below it; empty for the workspace itself
    new_entry: str = "{month}/{name}-{tail}.md"  # below `entries`; {id} and {date} may stand in it too
    history_copy: str = ""  # a file that gets a second copy of every record, for older tools
    is_vault: bool = False  # a person's own notes, which `keeps` tells from what mem keeps
    tells_notes: bool = False  # its tool gives the notes of the last days whole at the start of a session
    daily: tuple[str, ...] = ()  # more places of a day's notes, as for strftime
    ignore: str = ""  # patterns of what is left out, as in .gitignore
    new_session: str = ""  # id of a session whose {channel} and {user} are known; empty for one by its time
    spellings: Mapping[str, str] = field(default_factory=dict)  # keys of new entries as the folder's own tool has them
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _PATTERNS)

    def __init__(self, name: str, **values: Any) -> None:
        # Those below are made at import: the standard library, which else writes this, takes longer than all the rest.
        unknown = values.keys() - type(self).__annotations__.keys()
        if unknown:
            raise TypeError(f"no field {unknown}")
        vars(self).update({"spellings": {}, "patterns": _PATTERNS, **values, "name": name})

    @property
    def is_mems(self) -> bool:
        """Return whether this is mem's own layout, and no folder of another tool or person."""
        return self.name == "mem"

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        """Make one expression of all patterns; the group that matched names the kind."""
        kinds = [
            f"(?P<{kind}>{'|'.join(_expression_of(pattern) for pattern in patterns)})"
            for kind, patterns in self.patterns.items()
        ]
        return re.compile("|".join(kinds), re.DOTALL)

    @cached_property
    def roots(self) -> tuple[tuple[str, bool], ...]:
        """Folders to look into, '' for the workspace's own, with whether to look below them too."""
        deep_by_folder: dict[str, bool] = {}
        for patterns in self.patterns.values():
            for pattern in patterns:
                fixed = re.split(r"[*{]", pattern)[0].rpartition("/")[0]
                below_fixed = pattern[len(fixed) :].strip("/")
                deep_by_folder[fixed] = deep_by_folder.get(fixed, False) or "/" in below_fixed or "**" in below_fixed
        deep = [folder for folder, below in deep_by_folder.items() if below]
        return tuple(
            (folder, below) for folder, below in deep_by_folder.items() if not any(_lies_in(folder, up) for up in deep)
        )

    @property
    def inbox(self) -> str:
        """Return the folder of what waits for a yes, where nothing looks for memories; git passes it over."""
        return "inbox/" if self.is_mems else f"{DERIVED}/inbox/"

    @property
    def is_below(self) -> bool:
        """Return whether memories lie in `memory/` below the workspace, not in the workspace itself."""
        return self.entries.partition("/")[0] == "memory"

    def kind_of(self, path: str) -> str | None:
        """Return the kind of a path relative to the workspace; None for a file that is no memory."""
        match = self._expression.fullmatch(path.removeprefix(self.archive))
        return None if match is None or _HIDDEN.search(path) or self.ignores(path) else match.lastgroup

    @cached_property
    def endings(self) -> tuple[str, ...]:
        """Return how the names of files end that may be memories."""
        every = {pattern[pattern.rindex(".") :] for patterns in self.patterns.values() for pattern in patterns}
        return tuple(sorted(every))

    def is_archived(self, path: str) -> bool:
        """Return whether a path lies in the archive."""
        return path.startswith(self.archive)

    def manages(self, path: str, identifier: str = "") -> bool:
        """Return whether mem keeps a file: it fades, is merged, promoted, checked and exported, and mem may change it.

        Another tool's lines are only read. In a vault what lies in mem's folder is kept, and each note whose
        frontmatter has an `identifier` of mem's: one that mem wrote elsewhere, or that a person marked.
        """
        return not is_item(path) and (
            not self.is_vault
            or path.startswith((f"{self.entries}/", self.archive))
            or (identifier.startswith(MARK) and identifier != path)  # its path stands for an id that is not stated
        )

    @property
    def has_items(self) -> bool:
        """Return whether another tool keeps its memories here as lines of JSON, which are read where they lie."""
        return any(pattern.endswith(".jsonl") for pattern in self.patterns.get("note", ()))

    def ignores(self, path: str) -> bool:
        """Return whether a pattern of the layout, or of the folder's own, leaves a path out."""
        if not self.ignore:
            return False
        from ..formats.ignore_patterns import ignored

        return ignored(self.ignore, path)

    def entry_path(self, name: str, identifier: str, day: date) -> str:
        """Return the path of a new entry; without a name it is the folder and the ending its file would have."""
        name = self.new_entry.format(
            name=name, id=identifier, tail=tail(identifier), month=f"{day:%Y-%m}", date=day.isoformat()
        )
        return f"{self.entries}/{name}".lstrip("/")


def _expression_of(pattern: str) -> str:
    pieces = re.split(r"(\{date\}|\{month\}|\*\*|\*)", pattern)
    return "".join(_PARTS.get(piece, re.escape(piece)) for piece in pieces)


def _lies_in(folder: str, upper: str) -> bool:
    return folder != upper and (not upper or folder.startswith(f"{upper}/"))


def adjusted(layout: Layout, paths: Mapping[str, str]) -> Layout:
    """Put single paths of the user's in the place of a layout's: memory, history, notes, entries.

    Raises UsageError for one that leads out of the workspace, since settings may come with a clone.
    """
    given = {name: _sound(layout, name, value) for name, value in paths.items() if value}
    if not given:
        return layout
    patterns = dict(layout.patterns)
    for name, value in given.items():
        kind = {"notes": "note", "entries": "entry"}.get(name, name)
        patterns[kind] = (f"{value}/**.md".lstrip("/") if kind == "entry" else value,)
        if kind == "history":
            patterns[kind] += (f"{value.rpartition('/')[0]}/HISTORY.md".lstrip("/"), layout.history_copy or value)
    from dataclasses import replace

    return replace(layout, patterns=patterns, **given)  # type: ignore[arg-type]


def _sound(layout: Layout, name: str, value: str) -> str:
    """Check a path from the settings; './' and a closing '/' are taken off."""
    parts = [part for part in value.split("/") if part not in ("", ".")]
    wrong = "leads out of the workspace" if value.startswith("/") or ".." in parts else ""
    if any(part.startswith(".") for part in parts) or layout.is_archived(f"{'/'.join(parts)}/"):
        wrong = wrong or "is a place that is never searched"
    if not value.isprintable() or "\\" in value or re.search(r"[*{}]", _plain(value)):
        wrong = wrong or "is no path"
    needed = {"history": "{month}", "notes": "{date}"}.get(name, "")
    if name != "entries" and not value.endswith(".md"):
        wrong = wrong or "is no markdown file"
    if needed not in value:
        wrong = wrong or f"needs {needed} in it"
    if wrong:
        raise UsageError(f"paths.{name} {value!r} {wrong}", "give a path within the workspace, such as docs/memories")
    return "/".join(parts)


def _plain(pattern: str) -> str:
    return pattern.replace("{month}", "").replace("{date}", "")


MEM = Layout("mem")
OPENCLAW = Layout(
    "openclaw",
    history="memory/HISTORY-{month}.md",
    notes="memory/{date}.md",
    entries="memory",
    new_entry="entries/{month}/{name}-{tail}.md",
    patterns=_PATTERNS
    | {
        "memory": ("MEMORY.md", "memory.md", "USER.md", "memory/MEMORY.md"),
        "history": ("memory/HISTORY-{month}.md", "memory/HISTORY.md"),
        "note": ("memory/{date}.md", "memory/{date}-*.md", "memory/**/{date}.md"),
        "entry": ("memory/**.md",),
    },
)
CLAUDE = Layout(
    "claude",
    entries="",
    new_entry="{name}-{tail}.md",
    spellings={"title": "name"},
    patterns=_PATTERNS
    | {
        "note": ("notes/**.md", "logs/**{date}.md"),
        "entry": ("**.md",),
    },
)
NEOVATE = Layout(
    "neovate",
    history_copy="HISTORY.md",
    patterns=_PATTERNS
    | {
        "note": ("notes/**.md", "{date}.md"),
        "entry": ("**.md",),
    },
)
GOLEMCORE = Layout(
    "golemcore",
    memory="memory/MEMORY.md",
    history="memory/HISTORY-{month}.md",
    notes="memory/{date}.md",
    entries="memory",
    new_entry="entries/{month}/{name}-{tail}.md",
    tells_notes=True,
    patterns=_PATTERNS
    | {
        "memory": ("memory/MEMORY.md",),
        "history": ("memory/HISTORY-{month}.md", "memory/HISTORY.md"),
        "note": ("memory/{date}.md", "memory/items/**.jsonl"),
        "entry": ("memory/**.md",),
    },
)
JARVIS = Layout(
    "jarvis",
    entries="memory",
    new_entry="{id}.md",
    new_session="{channel}_{user}",
    spellings={"created_at": "createdAt", "updated_at": "updatedAt"},
    patterns=_PATTERNS
    | {
        "entry": ("memory/**.md",),
    },
)
MARKDOWN = Layout(
    "markdown",
    memory="mem/MEMORY.md",
    history="mem/HISTORY-{month}.md",
    notes="mem/notes/{date}.md",
    archive="mem/archive/",
    entries="mem",
    is_vault=True,
    daily=tuple(f"{folder}%Y-%m-%d.md" for folder in ("", "Daily/", "daily/", "Daily Notes/", "Journal/", "journals/")),
    ignore="[Tt]emplates/\n_templates/\n*.excalidraw.md\n",
    patterns=_PATTERNS
    | {
        "memory": ("mem/MEMORY.md", "MEMORY.md"),
        "history": ("mem/HISTORY-{month}.md", "mem/HISTORY.md"),
        "note": ("mem/notes/**.md", "{date}.md", "**/{date}.md"),
        "entry": ("**.md",),
    },
)
"""A folder of anybody's markdown, such as a vault of Obsidian."""
LAYOUTS = {layout.name: layout for layout in (MEM, OPENCLAW, CLAUDE, NEOVATE, GOLEMCORE, JARVIS, MARKDOWN)}
ARCHIVES = tuple(dict.fromkeys(layout.archive for layout in LAYOUTS.values()))
DOCUMENTS = Layout("documents", patterns={"memory": ("**.md",)})
"""Of a folder that is only read: every page of it, by its sections. No layout of a workspace."""


def is_archived(path: str) -> bool:
    """Return whether a path lies in the archive of the layout it comes from, whichever that is."""
    return path.startswith(ARCHIVES)


def is_item(path: str) -> bool:
    """Return whether a path names a memory among the lines of another tool's file, which mem never writes."""
    return fnmatchcase(path, ITEMS) and not path.endswith(".md")


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
    recognised = _above(folder, names, below) or _within(folder, names)
    if not recognised and ".obsidian" in names:
        return Recognised(MARKDOWN.name, folder, ".obsidian/ is a vault's")
    if recognised or "entries" in below:
        return recognised
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
    pattern = "/".join(part for part in (daily.get("folder", "").strip("/"), form) if part)
    path = re.sub("|".join(_TOKENS), lambda token: _TOKENS[token[0]], pattern.replace("%", "%%"))
    ignored = [layout.ignore, *(_beginning(root / name, _LONGEST) for name in (IGNORE, ".secretsignore"))]
    if folder := templates.get("folder", "").strip("/"):
        ignored.append(f"/{_escaped(folder)}/")
    ignored += _left_out(root / _APP)
    return replace(layout, ignore="\n".join(ignored), daily=(f"{path}.md", *layout.daily))


def _left_out(path: Path) -> list[str]:
    """Return patterns of the paths Obsidian leaves out of its search by how they begin; expressions are not read."""
    filters = _read(path).get("userIgnoreFilters")
    texts = [path for path in filters if isinstance(path, str)] if isinstance(filters, list) else []
    paths = [path.lstrip("/") for path in texts if not (len(path) > 1 and path[0] == path[-1] == "/")]
    return [
        f"/{_escaped(path)}{'' if path.endswith('/') else '*'}" for path in paths if path.strip() and path.isprintable()
    ]


def _escaped(path: str) -> str:
    return re.sub(r"([*?\[\]\\!#])", r"\\\1", path)


def _settings(path: Path) -> dict[str, str]:
    """Read settings of Obsidian that are texts."""
    return {key: value for key, value in _read(path).items() if isinstance(value, str)}


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_beginning(path, _LONGEST) or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
