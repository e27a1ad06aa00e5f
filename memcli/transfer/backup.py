"""The two formats of a whole workspace: JSON lines, and a folder of Markdown.

In JSON lines, each line is one file with its path, its kind and its whole text.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..index import IndexedEntry
from ..store import MARK
from .folders import ZIP_ERRORS, describe, list_members
from .items import BadItem, Content, Item, Source, TransferFile

KINDS = ("entry", "memory", "history", "note", "session", "inbox")


def format_line(file: TransferFile) -> str:
    """Return a file as one line of JSON."""
    data = {"path": file.path, "kind": file.kind}
    if file.modified:
        data["modified"] = file.modified
    data["text"] = file.text
    # Bytes that are not UTF-8 need JSON's escapes, or the line would not be UTF-8.
    is_clean = is_encodable(file.path + file.text)
    return json.dumps(data, ensure_ascii=not is_clean) + "\n"


def is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_jsonl(source: Source) -> Iterator[Item] | None:
    """Read what `format_line` wrote."""
    line = source.head.lstrip(b"\xef\xbb\xbf \r\n")
    if not line.startswith(b'{"path":'):
        return None
    return read_items(source)


def read_items(source: Source) -> Iterator[Item]:
    for number, line in source.read_lines():
        if line is None or line.strip(b"\xef\xbb\xbf \r\n"):
            yield Item(f"line {number}", read_content(line))


def read_content(line: bytes | None) -> Content:
    """Return the file of a line, or why there is none."""
    if line is None:
        return BadItem("the line is too long")
    try:
        data = json.loads(line.decode("utf-8-sig", "surrogateescape"))
    except (ValueError, RecursionError):
        is_cut = not line.endswith(b"\n")
        return BadItem("the file ends here in mid-line" if is_cut else "not JSON")
    if not isinstance(data, dict) or not all(
        isinstance(data.get(k), str) for k in ("path", "text")
    ):
        return BadItem("not a file of a workspace: `path` and `text` are missing")
    return build_file(data)


def build_file(data: dict[str, Any]) -> Content:
    path, text, kind = data["path"], data["text"], str(data.get("kind") or "entry")
    if kind not in KINDS:
        return BadItem(f"unknown kind {kind!r}")
    try:
        (path + text).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return BadItem("its text is not Unicode")
    return TransferFile(path, kind, text, str(data.get("modified") or ""))


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
