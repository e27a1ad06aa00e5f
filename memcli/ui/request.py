"""A request of the browser, and the file that it names."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..formats import build_digest
from ..index import Index, IndexedEntry, open_index
from ..search.names import NamedFile, find_named, get_named
from ..store import Workspace, read_file
from .html import build_address


@dataclass
class OpenFile:
    """A memory or another file that a view shows."""

    named: NamedFile
    index: Index
    shown: str  # the text, with secrets and forgotten passages masked
    stored: str | None  # the text on disk; a colleague's memory has none here

    @property
    def path(self) -> str:
        return self.named.path

    @property
    def entry(self) -> IndexedEntry | None:
        return self.named.entry

    @property
    def is_editable(self) -> bool:
        """Whether the page shows the whole text, so that it can be saved without a loss."""
        return self.path.endswith(".md") and self.stored == self.shown

    @property
    def digest(self) -> str:
        return build_digest((self.stored or "").encode("utf-8", "replace"))


@dataclass
class Request:
    """A request of the browser for a view or an action."""

    name: str
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] = field(default_factory=dict)
    workspaces: list[Workspace] = field(default_factory=list)
    # The server remembers how many questions each workspace has, and since when.
    counts: dict[Path, tuple[float, int]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The position of the chosen workspace."""
        number = self.get_number("w")
        return number if number < len(self.workspaces) else 0

    @property
    def workspace(self) -> Workspace:
        return self.workspaces[self.number]

    def get(self, name: str) -> str:
        """Return a value of the form, or else of the address."""
        return self.form.get(name, self.query.get(name, "")).strip()

    def get_number(self, name: str) -> int:
        text = self.get(name)
        return int(text) if text.isdecimal() and len(text) < 10 else 0

    def build_address(self, view: str, **values: Any) -> str:
        """Return the address of a view of the chosen workspace."""
        return build_address(view, {**values, "w": self.number})

    def open_file(self) -> OpenFile:
        """Return the file that `id` names, here or at a colleague's. Raises NotFoundError."""
        name = self.get("id")
        index = open_index(self.workspace)
        named = find_named(index, name)
        if named is None and self.workspace.settings["team.dsn"]:
            from ..team.search import open_named

            index = open_named(self.workspace, name) or index
        named = named or get_named(index, name)
        is_ours = index.workspace is self.workspace
        stored = read_file(self.workspace, named.path) if is_ours else None
        return OpenFile(named, index, index.read_text(named.path) or "", stored)
