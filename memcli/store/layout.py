"""Where things live in a workspace: which file is of which kind, and where new ones go."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

KINDS = ("entry", "memory", "history", "note", "session")
ARCHIVE = "archive/"
DERIVED = ".mem"

_PARTS = {"{date}": r"\d{4}-\d\d-\d\d", "{month}": r"\d{4}-\d\d", "**": r".*", "*": r"[^/]*"}


@dataclass(frozen=True)
class Layout:
    """Path patterns: `*` within a folder, `**` across folders, `{date}` and `{month}` for days and months.

    The first kind whose pattern fits a path has it.
    """

    name: str
    memory: str = "MEMORY.md"
    history: str = "HISTORY-{month}.md"
    notes: str = "notes/{date}.md"
    entries: str = "entries"  # the folder of entries, any depth below it
    new_entry: str = "{month}/{name}.md"  # below `entries`
    patterns: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {
            "memory": ("MEMORY.md",),
            "history": ("HISTORY-{month}.md", "HISTORY.md"),
            "note": ("notes/**.md",),
            "entry": ("entries/**.md",),
            "session": ("sessions/*/session.jsonl",),
        }
    )

    @cached_property
    def _expressions(self) -> list[tuple[str, re.Pattern[str]]]:
        return [
            (kind, re.compile("|".join(f"(?:{_expression(pattern)})" for pattern in patterns)))
            for kind, patterns in self.patterns.items()
        ]

    @cached_property
    def roots(self) -> tuple[tuple[str, bool], ...]:
        """Folders to look into, '' for the workspace's own, with whether to look below them too."""
        found: dict[str, bool] = {}
        for patterns in self.patterns.values():
            for pattern in patterns:
                fixed = re.split(r"[*{]", pattern)[0].rpartition("/")[0]
                rest = pattern[len(fixed) :].strip("/")
                found[fixed] = found.get(fixed, False) or "/" in rest or "**" in rest
        return tuple(found.items())

    def kind_of(self, path: str) -> str | None:
        """Give the kind of a path relative to the workspace; None for a file that is none of ours."""
        inner = path.removeprefix(ARCHIVE)
        for kind, expression in self._expressions:
            if expression.fullmatch(inner):
                return kind
        return None

    def entry_path(self, name: str, day: date) -> str:
        """Give the path of a new entry."""
        return f"{self.entries}/" + self.new_entry.format(name=name, month=f"{day:%Y-%m}", date=day.isoformat())


def _expression(pattern: str) -> str:
    pieces = re.split(r"(\{date\}|\{month\}|\*\*|\*)", pattern)
    return "".join(_PARTS.get(piece, re.escape(piece)) for piece in pieces)


MEM = Layout("mem")
LAYOUTS = {layout.name: layout for layout in (MEM,)}
