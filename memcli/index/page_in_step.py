"""Bring the promoted lines of the page in step with entries that a person changed by hand."""

import sqlite3
from collections.abc import Collection
from contextlib import suppress

from ..errors import MemError
from ..formats.memory_page import OPENING, read_promoted
from ..store.journal import Change, apply, exclusive
from ..store.lock import is_held_here
from ..store.page_lines import followed, read_entry_at
from ..store.plan_steps import text_of_file
from ..store.workspace import Workspace


def bring_in_step(connection: sqlite3.Connection, workspace: Workspace) -> bool:
    """Bring the page in step with its entries as the index has just read them; return whether that changed it.

    Where another command is at work, or the page cannot be written, it is left for the next one.
    """
    if not workspace.is_trusted or is_held_here(workspace.derived):
        return False
    with suppress(MemError, OSError):
        path = workspace.path(workspace.layout.memory)
        page = text_of_file(path) or ""
        if OPENING not in page or _in_step(connection, workspace, page) == page:
            return False
        with exclusive(workspace, "mem promote", wait=0) as held:
            page = text_of_file(path) or ""
            change = Change(workspace.layout.memory, page, _in_step(connection, workspace, page))
            return bool(apply(workspace, [change], held).done)
    return False


def _in_step(connection: sqlite3.Connection, workspace: Workspace, page: str) -> str:
    """Return a page whose lines say what their entries say; a line without its entry stays."""
    lines = [line for line in read_promoted(page).lines if line.is_ours]
    texts = _texts(connection, {line.id for line in lines})
    entries = {entry.id: entry for path, text in texts if (entry := read_entry_at(workspace, path, text))}
    successor_ids = {entry.superseded_by for entry in entries.values()} - entries.keys() - {""}
    texts = _texts(connection, successor_ids)
    successors = {entry.id: entry for path, text in texts if (entry := read_entry_at(workspace, path, text))}
    by_line = {line.id: entries[line.id] for line in lines if line.id in entries}
    return followed(page, lines, by_line, {**entries, **successors}, workspace)


def _texts(connection: sqlite3.Connection, ids: Collection[str]) -> list[tuple[str, str]]:
    """Return (path, text) of the entries with some ids; of several with one id, one in use comes last."""
    query = "select path, text from entries join files using(file) join texts using(file) where id in ({}) order by {}"
    marks = ", ".join("?" * len(ids))
    return connection.execute(query.format(marks, "files.status = 'active', path"), tuple(ids)).fetchall()
