"""The workspace an import writes into: what it holds already, and how one file is compared with that and made.

Never overwrites what stands there.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from ..dataclass import dataclass
from ..errors import MemError, NotFoundError, RefusedError
from ..formats.entry import Entry, read_entry
from ..formats.foreign_record import TOOL
from ..formats.frontmatter import document as frontmatter
from ..formats.ids import parse_time
from ..formats.text_lines import blanked, normalized
from ..index.index import Index
from ..index.lookups import entry_texts_with, forgotten_texts, paths_by_id
from ..store import access_log, atomic_files
from ..store.archive import put
from ..store.init import PAGE_TEXT
from ..store.layouts import is_archived
from ..store.redaction import Redactor
from ..store.workspace import Workspace
from .export import INBOX, USUAL_MODES, BundledFile
from .foreign_memories import is_made_here

RESTORING = "restoring"
"""The file of derived data that names the export which is coming into an empty workspace, until all of it is in."""
IMPORT_SOURCE = "import:"
"""Prefix of a value of `sources` that names an imported memory."""
DERIVED_FIELDS = (
    frozenset(
        [
            "status",
            "superseded_by",
            "conflicts_with",
            "verdicts",
            "verdict_reasons",
            "references",
            "sources",
            "strength",
        ]
    )
    | frozenset(["updated_at", "access_count", "last_accessed_at", "superseded_at", "wordings", "distinct"])
    | frozenset(["forgotten_at", "forgotten_by", "reason"])
)
"""Fields that mem changes by itself: two files that differ in them alone hold the same memory."""
_NAMED_SOURCE = re.compile(rf"{IMPORT_SOURCE}([^,\]\n]+)")
_FRESH_PAGE = atomic_files.digest(PAGE_TEXT.encode())
"""The page of a workspace just made: nobody's words, so an imported page may take its place."""


@dataclass(frozen=True)
class KnownMemories:
    """What a workspace holds before an import."""

    paths: dict[str, str]  # id of an entry → path
    taken_in: Mapping[str, str]  # imported memory → path of the entry that took it in
    is_empty: bool  # of entries, the archive included
    restoring: str = ""  # the export that was coming into an empty workspace when its import was cut off
    forgotten: frozenset[str] = frozenset()  # texts that were forgotten, as `normalized` gives them


def known_memories(index: Index) -> KnownMemories:
    """Return what the index has once it is brought in step with the files."""
    index.refresh()
    taken = {
        match[1].rstrip(" \t\r\"'"): path
        for path, text in entry_texts_with(index, IMPORT_SOURCE)
        for match in _NAMED_SOURCE.finditer(text)
    }
    paths = paths_by_id(index)
    for identifier, noted in access_log.confirmations(index.workspace).items():
        names = (source.removeprefix(IMPORT_SOURCE) for source in noted.sources if source.startswith(IMPORT_SOURCE))
        taken |= {name: paths[identifier] for name in names if identifier in paths}
    return KnownMemories(
        paths,
        taken,
        not paths,
        access_log.text_of(index.workspace, RESTORING),
        forgotten_texts(index),
    )


def lasting_name(file: BundledFile, entry: Entry) -> str:
    """Return the name of an imported memory that is the same at every import.

    An undated record gets another id every time, but never another path.
    """
    return file.path if is_made_here(file.path) else entry.id


def is_same_memory(left: bytes, right: bytes) -> bool:
    """Return whether two files of one id differ only in the fields that mem itself changes."""
    try:
        documents = [frontmatter.parse(data.decode("utf-8")) for data in (left, right)]
    except UnicodeDecodeError:
        return False
    ours, theirs = (
        {key: value for key, value in document.fields.items() if key not in DERIVED_FIELDS} for document in documents
    )
    return (
        not any(document.problem for document in documents)
        and documents[0].body == documents[1].body
        and ours == theirs
    )


class ImportTarget:
    """Compares files with what stands in a workspace, and makes them; a dry run only plans to."""

    def __init__(self, workspace: Workspace, memories: KnownMemories, *, dry_run: bool = False) -> None:
        """Remember the workspace and what it holds."""
        self.workspace = workspace
        self.known = memories
        self.dry_run = dry_run
        self._planned: dict[str, str] = {}  # path → digest of what is about to be made, or would be

    def plan(self, file: BundledFile, entry: Entry) -> None:
        """Count a file as made, since it waits to be admitted."""
        self._planned[file.path] = atomic_files.digest(file.data)
        self.known.paths.setdefault(entry.id, file.path)

    def unplan(self, path: str) -> None:
        """Count a file as made no more, just before it is."""
        if not self.dry_run:
            self._planned.pop(path, None)

    def entry_of(self, file: BundledFile) -> Entry | None:
        """Return the entry a file holds; one without fields where its frontmatter is broken, None for another kind."""
        if file.kind != "entry":
            return None
        document = frontmatter.parse(file.data.decode("utf-8", "replace"))
        modified = parse_time(file.modified) or self.workspace.now
        return Entry(id=file.path, body="") if document.problem else read_entry(document, file.path, modified)[0]

    def compare(self, file: BundledFile, entry: Entry | None, *, own: bool = False) -> tuple[str, str]:
        """Return why a file is not to be made, as action and reason; both are empty where its name and id are free.

        The path of a file names its text, unless it is of an `own` export, after whose import it may have been changed.
        """
        digest = atomic_files.digest(file.data)
        existing = self._digest(file.path)
        if existing == digest or (existing and not own and is_made_here(file.path)):
            return "unchanged", ""
        if entry is not None and (path := self.known.taken_in.get(lasting_name(file, entry))):
            return "unchanged", f"{path} took it in"
        other = self.known.paths.get(entry.id, file.path) if entry is not None else file.path
        if other != file.path:
            if self._digest(other) == digest or self._holds(other, file):
                return "unchanged", f"it stands at {other}"
            return "conflict", f"{other} has its id {entry.id if entry else ''} and says something else"
        if existing is None or self._is_fresh_page(file, existing):
            return "", ""
        if entry is not None and self._holds(file.path, file):
            return "unchanged", ""
        return "conflict", "it exists and says something else"

    def make(self, file: BundledFile) -> tuple[str, str]:
        """Make the file, in the archive with a mark unless it is restored; return what was done and why nothing was."""
        digest = atomic_files.digest(file.data)
        if self.dry_run:
            self._planned[file.path] = digest
            return "created", ""
        existing = self._digest(file.path)
        fresh = existing if existing is not None and self._is_fresh_page(file, existing) else None
        try:
            modified = parse_time(file.modified)
            mode = 0o666 if file.mode in USUAL_MODES else file.mode
            if file.kind == INBOX:
                with suppress(FileExistsError):  # git passes it over
                    atomic_files.create(self.workspace.path(f"{self.workspace.layout.inbox}.gitignore"), b"*\n")
            put(self.workspace, file.path, file.data, mode, modified, over=fresh)
        except FileExistsError:  # by somebody else, just now
            is_same = self._digest(file.path) == digest
            return ("unchanged", "") if is_same else ("conflict", "somebody else made it just now")
        return "created", ""

    def _is_fresh_page(self, file: BundledFile, existing: str) -> bool:
        return file.path == self.workspace.layout.memory and existing == _FRESH_PAGE

    def stands(self, path: str) -> bool:
        """Return whether there is a file at a path, or one that waits to be admitted."""
        return self._digest(path) is not None

    def waits(self, path: str) -> bool:
        """Return whether the file of a path is to be made."""
        return path in self._planned

    def is_anothers(self, file: BundledFile, entry: Entry) -> bool:
        """Return whether the id of a tool's record is that of a memory which did not come from this tool."""
        path = self.known.paths.get(entry.id, "")
        if not path or path in self._planned or self._holds(path, file):
            return False
        try:
            document = frontmatter.parse(atomic_files.read(self.workspace.path(path)).decode("utf-8", "replace"))
        except MemError:
            return False
        metadata = document.fields.get("metadata")
        tool = metadata.get(TOOL, "") if isinstance(metadata, Mapping) else ""
        if not tool and entry.id.isdecimal() and TOOL not in entry.metadata:  # the number of a row
            return document.body.split() != entry.body.split()
        if self.workspace.layout.is_archived(path):
            return bool(tool) and tool != entry.metadata.get(TOOL, tool)
        return tool != entry.metadata.get(TOOL, "") if tool else not is_made_here(path)

    def earlier(self, file: BundledFile, entry: Entry | None) -> str:
        """Return the path under which an earlier import put a record of this id; "" if there is none."""
        path = self.known.paths.get(entry.id, "") if entry is not None and is_made_here(file.path) else ""
        return "" if path in self._planned or not is_made_here(path) or self.stands(file.path) else path

    def _holds(self, path: str, file: BundledFile) -> bool:
        try:
            return is_same_memory(atomic_files.read(self.workspace.path(path)), file.data)
        except MemError:
            return False

    def _digest(self, path: str) -> str | None:
        """Return the digest of what stands at a path; None where nothing does."""
        if path in self._planned:
            return self._planned[path]
        try:
            return atomic_files.digest(atomic_files.read(self.workspace.path(path)))
        except NotFoundError:
            return None


def without_forgotten(file: BundledFile, forgotten: frozenset[str]) -> BundledFile:
    """Return a file without what was forgotten here: promoted lines and other wordings go, the rest is blanked out.

    The text of an entry stays, and what is archived.
    """
    if not forgotten or file.kind not in ("memory", "history", "note", "entry") or is_archived(file.path):
        return file
    from ..formats.memory_page import read_promoted, with_lines

    text = file.data.decode("utf-8", "surrogateescape")
    document = frontmatter.parse(text)
    if file.kind == "entry" and not document.problem:
        wordings = document.fields.get("wordings")
        wordings = wordings if isinstance(wordings, list) else []
        stay = [wording for wording in wordings if normalized(str(wording)) not in forgotten]
        if len(stay) == len(wordings):
            return file
        text = frontmatter.edit(text, {"wordings": stay or None})
        return replace(file, data=text.encode("utf-8", "surrogateescape"))
    deleted = [line.id for line in read_promoted(text).lines if normalized(line.statement) in forgotten]
    clean = blanked(with_lines(text, {}, deleted) if deleted else text, forgotten)
    return file if clean == text else replace(file, data=clean.encode("utf-8", "surrogateescape"))


def without_secrets(guard: Redactor | None, file: BundledFile) -> BundledFile:
    """Return a file without its secrets: the one gate that everything imported passes.

    Raise RefusedError where a session's line would not be JSON any more without them.
    """
    if guard is None:
        return file
    try:
        text, encoding = file.data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:  # one byte that is none must not let a secret in: search shows such files too
        text, encoding = file.data.decode("latin-1"), "latin-1"
    guard.name = file.path
    clean = "\n".join(_json_without_secrets(guard, text)) if file.kind == "session" else guard.text(text)
    return file if clean == text else replace(file, data=clean.encode(encoding))


def _json_without_secrets(guard: Redactor, text: str) -> Iterator[str]:
    """Yield lines of JSON with their secrets blanked out; each stays JSON."""
    for number, line in enumerate(text.split("\n"), 1):
        clean = guard.text(line, number, one_line=True)
        if clean is not line:
            try:
                json.loads(clean)
            except ValueError:
                raise RefusedError(f"line {number} of it holds a secret", "blank it out, or --allow-secret") from None
        yield clean
