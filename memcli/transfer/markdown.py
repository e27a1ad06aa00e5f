"""Markdown: a folder with the files of a workspace, or one document to read."""

import os
from collections.abc import Iterator
from pathlib import Path

from ..index.index import IndexedEntry
from ..store.workspace import MARK
from .folders import ZIP_ERRORS, describe, list_members
from .items import BadItem, Item, Source, TransferFile

HEADINGS = {
    "preference": "Preferences",
    "constraint": "Rules",
    "correction": "Corrections",
    "fact": "Facts",
    "entity": "People and things",
    "observation": "Observations",
    "procedure": "Procedures",
    "lesson": "Lessons",
    "episode": "Episodes",
    "summary": "Summaries",
}
FOLDERS = {"entries": "entry", "notes": "note", "sessions": "session", "inbox": "inbox"}


def read_markdown(source: Source) -> Iterator[Item] | None:
    """Read a folder or archive that `mem export` wrote, or a workspace."""
    if not source.is_tree:
        return None
    for member in list_members(source):
        if not isinstance(member, Item) and member.path.startswith((MARK, "entries/")):
            return read_folder(source)
    return None


def read_folder(source: Source) -> Iterator[Item]:
    for member in list_members(source):
        if isinstance(member, Item):
            yield member
            continue
        kind = find_kind(member.path)
        if not kind:
            continue
        try:
            text = member.read().decode("utf-8", "surrogateescape")
        except (*ZIP_ERRORS, OSError) as error:
            yield Item(member.path, BadItem(f"cannot be read: {describe(error)}"))
            continue
        yield Item(member.path, TransferFile(member.path, kind, text, member.modified))


def list_files(root: Path) -> Iterator[str]:
    """Yield the paths of visible files. Links are not followed, because they may lead anywhere."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix()


def find_kind(path: str) -> str:
    """Return the kind of a file of a standard workspace, or an empty string."""
    folder, _, name = path.partition("/")
    if not name:
        is_history = path.startswith("HISTORY") and path.endswith(".md")
        return "memory" if path == "MEMORY.md" else "history" if is_history else ""
    kind = FOLDERS.get(folder, "")
    return kind if kind == "session" or path.endswith(".md") else ""


def render_document(title: str, entries: list[tuple[IndexedEntry, str]]) -> Iterator[str]:
    """Yield one document with the text of each memory, below the heading of its type."""
    yield f"# {title}\n"
    for kind, heading in HEADINGS.items():
        chosen = [(entry, body) for entry, body in entries if entry.type == kind]
        if chosen:
            yield f"\n## {heading}\n\n"
        for entry, body in chosen:
            details = ", ".join([entry.created_at[:10], *(f"#{tag}" for tag in entry.tags)])
            yield f"{format_item(entry.title, body)} ({details})\n"


def format_item(title: str, body: str) -> str:
    """Return a memory as an item of a list, with further lines indented."""
    name = f"**{title}**: " if title and not body.startswith(title) else ""
    return f"- {name}{body.strip()}".replace("\n", "\n  ")
