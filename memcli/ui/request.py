"""What the browser asks for, and the file that a request is about."""

from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from ..formats import build_digest
from ..index import Index, IndexedEntry, open_index
from ..search.names import NamedFile, find_named, get_named
from ..store import Workspace, read_file
from .html import build_address

SCAN_SECONDS = 2.0  # while somebody types; scanning 10,000 files takes 30 ms
LONGEST_NUMBER = 9  # digits


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
class Cache:
    """What the server remembers from one request to the next."""

    scans: dict[Any, float] = field(default_factory=dict)  # when each folder was last scanned
    counts: dict[Any, tuple[float, int]] = field(default_factory=dict)  # open questions, and when


@dataclass
class Request:
    """What the browser asks for."""

    name: str
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] = field(default_factory=dict)
    workspaces: list[Workspace] = field(default_factory=list)
    cache: Cache = field(default_factory=Cache)

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
        is_number = text.isdecimal() and len(text) <= LONGEST_NUMBER
        return int(text) if is_number else 0

    def build_address(self, view: str, **values: Any) -> str:
        """Return the address of a view of the chosen workspace."""
        return build_address(view, {**values, "w": self.number})

    def open_index(self, *, with_sessions: bool = True, is_typing: bool = False) -> Index:
        """Return the index, in step with the files. Between two letters no file is looked at."""
        root, now = self.workspace.root, monotonic()
        is_recent = is_typing and now - self.cache.scans.get(root, 0.0) < SCAN_SECONDS
        if not is_recent:
            self.cache.scans[root] = now
        return open_index(self.workspace, refresh_first=not is_recent, with_sessions=with_sessions)

    def open_file(self) -> OpenFile:
        """Return the file that `id` names, here or at a colleague's. Raises NotFoundError."""
        name = self.get("id")
        index = self.open_index()
        named = find_named(index, name)
        if named is None and self.workspace.settings["team.dsn"]:
            from ..team.search import open_named

            index = open_named(self.workspace, name) or index
        named = named or get_named(index, name)
        is_ours = index.workspace is self.workspace
        stored = read_file(self.workspace, named.path) if is_ours else None
        return OpenFile(named, index, index.read_text(named.path) or "", stored)
