"""Take one file into the index, and the memories that another tool keeps as lines of one: only what is new in them."""

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from ..formats import chunking
from ..formats.entry import SPELLINGS, as_from_others
from ..formats.foreign_record import Item, items_of
from ..formats.frontmatter import document
from ..formats.ids import stamp
from ..store import access_log
from ..store.addresses import is_items, layer_in
from ..store.layouts import IS_ITEM
from ..store.workspace import Workspace
from .database import Database
from .file_reader import Reading, Talk, digest_of, opened, read_file, try_bytes
from .scan import shown
from .writer import OvertakenError, Writer


def take_in(writer: Writer, workspace: Workspace, path: str, kind: str) -> str:
    """Read one file into the index; return "added", "changed", "removed" or "same"."""
    noted = time.time_ns()
    name = shown(path)
    file, mtime, _, digest = writer.current(name) or (None, 0, 0, "")
    if kind == "session" and name == path:
        return _take_in_talk(writer, workspace, path, noted, file, digest)
    contents = try_bytes(workspace, path) if name == path else "its name is not UTF-8: rename it"
    if isinstance(contents, str):
        if contents:
            return writer.stand_in(name, kind, contents, file)
        if file is not None:
            writer.forget(file)
        return "same" if file is None else "removed"
    data, stat = contents
    # What states no time is as old as its file, so that an index made anew would say another time.
    if file is not None and digest_of(data) == digest and stat[0] // 10**9 == mtime // 10**9:
        writer.note(file, stat, noted)
        return "same"
    reading = read_file(workspace, path, kind, data, stat, digest_of(data))
    if file is not None and reading.entry is not None and _is_rewritten(writer.text(file), reading.text):
        access_log.note(
            workspace, [access_log.EDITED + reading.entry.id], stamp(datetime.fromtimestamp(stat[0] // 10**9, UTC))
        )
    return writer.keep(reading, noted, file)


_SAID = ("type", "title", "tags", "key", "project", "expires_at")
"""Fields that say something, which mem changes with a word of when."""


def _is_rewritten(before: str, after: str) -> bool:
    """Return whether an entry says something else, and no word of its frontmatter says when that was.

    What mem changes says so; this is for editors, and for tools that keep no such word.
    """
    old, new = document.parse(before), document.parse(after)
    contents = [[document.body.split(), *map(document.fields.get, _SAID)] for document in (old, new)]
    if contents[0] == contents[1] or not before:
        return False
    names = ("updated_at", *SPELLINGS["updated_at"])
    return all(old.fields.get(name) == new.fields.get(name) for name in names)


def _take_in_talk(writer: Writer, workspace: Workspace, path: str, noted: int, file: int | None, digest: str) -> str:
    """Read what was added to a conversation, or all of it where it was changed before its end."""
    position = writer.position(file)
    try:
        with opened(workspace, path) as stream:
            return writer.keep_talk(path, Talk(stream, position, digest), noted, file)
    except OvertakenError:
        return take_in(writer, workspace, path, "session")
    except FileNotFoundError:
        if file is not None:
            writer.forget(file)
        return "same" if file is None else "removed"
    except OSError as error:
        indexed = writer.current(path)  # what was read of it before goes with it
        return writer.stand_in(path, "session", f"cannot be read: {error.strerror}", indexed[0] if indexed else file)


def own_names(index: Database | Writer, archive: str, status: str = "%") -> set[str]:
    """Return the ids of our own entries with a status; of one that hides another tool's memory, the address of that."""
    rows = index.connection.execute(
        f"select id, path from entries join files using(file) where not {IS_ITEM} and files.status like ?", (status,)
    )
    return {
        path.removeprefix(archive).removesuffix(".md") if path.startswith(archive) and ".jsonl#" in path else name
        for name, path in rows
    }


def settle_items(writer: Writer, workspace: Workspace, paths: Iterable[str]) -> None:
    """Bring the memories among the lines of files in step with them; one whose id an entry of ours has is left out."""
    run = writer.connection.execute
    indexed = {
        path: (file, digest) for path, file, digest in run(f"select path, file, digest from files where {IS_ITEM}")
    }
    taken = own_names(writer, workspace.layout.archive)
    for path in paths:
        if not is_items(path, workspace.layout.kind_of(path)):
            continue
        contents = try_bytes(workspace, path)
        if isinstance(contents, str):
            continue
        modified = datetime.fromtimestamp(max(contents[1][0], 0) // 10**9, UTC)
        for anchor, item in items_of(path, contents[0].decode("utf-8", "replace"), modified, layer_in(path)).items():
            name = f"{path}#{anchor}"
            if taken & {item.entry.id, name}:
                continue
            file, digest = indexed.pop(name, (None, ""))
            new = digest_of(f"{item.line} {workspace.is_trusted} {item.text}".encode("utf-8", "replace"))
            if new != digest:
                writer.keep(_item_reading(workspace, name, item, new), 0, file)
    for file, _ in indexed.values():
        writer.forget(file)
    run("delete from meta where key = 'items'")


def _item_reading(workspace: Workspace, path: str, item: Item, digest: str) -> Reading:
    entry = item.entry if workspace.is_trusted else as_from_others(item.entry)
    status = "archived" if workspace.layout.is_archived(path) else entry.status
    start = len(item.text) - len(document.parse(item.text).body)
    chunks = [replace(chunk, line=item.line) for chunk in chunking.entry_chunks(item.text, start, entry)]
    return Reading(path, "entry", status, (0, 0, 0, 0), digest, item.text, chunks, entry, ())
