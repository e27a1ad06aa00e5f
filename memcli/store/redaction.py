"""Blank out secrets on the ways in that nobody watches: imports, sessions, notes, history, hooks.

What is blanked out cannot be had back, so every place is remembered and told.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..text.secrets import env_values, redact, scan
from ..text.session import Event
from .workspace import Workspace

_LARGEST = 1 << 20
_IDS = {"call_id"}


@dataclass(frozen=True)
class Redacted:
    """A place where a secret stood."""

    name: str  # the file, or what it came by
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.name}:{self.line}: {self.rule} redacted"


@dataclass
class Redactor:
    """Takes secrets out of one thing after another and remembers where they were."""

    name: str
    values: Collection[str] = ()
    personal: bool = False
    found: list[Redacted] = field(default_factory=list)

    def text(self, text: str, line: int = 1, *, one_line: bool = False) -> str:
        """Blank out the secrets of a text that begins at a line, or lies in it as a whole."""
        findings = scan(text, personal=self.personal, values=self.values)
        if not findings:
            return text
        places = (line if one_line else line + one.line - 1 for one in findings)
        self.found += [Redacted(self.name, place, one.rule) for place, one in zip(places, findings, strict=True)]
        return redact(text, findings)

    def event(self, event: Event, line: int = 0) -> Event:
        """Blank out the secrets of something said or done in a conversation."""
        line = line or event.line or 1
        text = self.text(event.text, line, one_line=True)
        extra = self._extra(event.extra, line) if event.extra.keys() - _IDS else event.extra
        name = self.text(event.name, line, one_line=True) if event.name else ""
        if text is event.text and extra is event.extra and name == event.name:
            return event
        return replace(event, text=text, extra=extra, name=name)

    def _extra(self, extra: Mapping[str, Any], line: int) -> Mapping[str, Any]:
        """Look at keys and values together: what a value is may be said by its key."""
        written = json.dumps(extra, ensure_ascii=False)
        found = len(self.found)
        cleaned = self.text(written, line, one_line=True)
        if cleaned is written:
            return extra
        try:
            read = json.loads(cleaned)
        except ValueError:
            read = None
        if isinstance(read, dict):
            return read
        # A mark has taken a quote or a brace with it: nothing of it is worth the risk.
        return {"redacted": sorted({one.rule for one in self.found[found:]})}


def redactor(workspace: Workspace, name: str) -> Redactor:
    """Give the redactor of a workspace, which guards the values of the `.env` files beside it too."""
    values: set[str] = set()
    for folder in (workspace.root, workspace.root.parent):
        values |= env_values(_text(folder / ".env"))
    return Redactor(name, frozenset(values))


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
