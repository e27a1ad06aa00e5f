"""Decide which memories an agent may see in this project, and read their texts.

Everything comes from the index, so it has passed the gate: no secrets, nothing forgotten.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import MemError
from ..formats import (
    PROMOTED_LINE,
    Record,
    collapse_blanks,
    parse_time,
    split_history,
    strip_comments,
)
from ..index import Index, IndexedEntry
from ..store import Workspace, find_repository, run_git

OUTDATED = "may be outdated"
UNTRUSTED = "(This page came with a repository that the user does not trust yet.)"
MOST_FILES = 3  # each may cost two git processes


def is_recallable(workspace: Workspace, entry: IndexedEntry) -> bool:
    """Return whether an active memory may be shown to an agent here and now."""
    # The user's own workspace is shared by all projects; their rules are not.
    return not workspace.is_expired(entry) and not workspace.is_foreign(entry.project)


def is_passage_for(workspace: Workspace, kind: str) -> bool:
    """Return whether a passage of a note, record or conversation may be shown here."""
    # A clone's conversations would look like the user's own words.
    if kind == "session" and not workspace.is_trusted:
        return False
    # Notes of the user's own workspace do not name their project.
    return not workspace.is_own or not workspace.project or kind in ("session", "history")


def list_records(index: Index) -> list[tuple[Record, str]]:
    """Return the records of two months that may be shown here, with texts."""
    workspace = index.workspace
    rows = index.run(
        "select text from files join texts using(file) where kind = 'history'"
        # There is a file for each month, and on its first day work stopped in the month before.
        " order by path desc limit 2"
    )
    return [
        (record, collapse_blanks(text[record.start : record.end]))
        for (text,) in rows.fetchall()
        for record in split_history(text)
        if not workspace.is_foreign(record.project)
    ]


def read_page(index: Index) -> tuple[list[str], set[str]]:
    """Return the lines of MEMORY.md to show here, without comments, and their memories' ids."""
    lines = []
    ids = set()
    for line in (index.read_text(index.workspace.page_path) or "").splitlines():
        match = PROMOTED_LINE.fullmatch(line)
        entry = index.find_by_id(match["id"]) if match else None
        if entry is not None:
            # Expired, or a rule of another project in the user's own page.
            if not is_recallable(index.workspace, entry):
                continue
            ids.add(entry.id)
        lines.append(line)
    return strip_comments("\n".join(lines)).splitlines(), ids


def read_body(index: Index, path: str) -> str:
    """Return the text of an entry below its frontmatter."""
    return read_chunks(index, "path = ?", path)


def read_passage(index: Index, path: str, line: int, anchor: str) -> str:
    """Return the passage of a page, note, record or conversation."""
    return read_chunks(index, "path = ? and line = ? and anchor = ?", path, line, anchor)


def read_chunks(index: Index, where: str, *values: Any) -> str:
    """Return the text of the chunks of a file that fit an SQL condition."""
    text, start, stop = index.run(
        "select coalesce(text, ''), min(start), max(stop) from chunks"
        f" join files using(file) join texts using(file) where {where}",
        values,
    ).fetchone()
    return str(text[start:stop])


def describe_changed_files(
    workspace: Workspace, files: Sequence[str], updated_at: str
) -> list[str]:
    """Return a sentence for each file that changed since: "src/a.py changed since …"."""
    written = parse_time(updated_at)
    repository = find_repository(workspace.context.folder)
    if not files or written is None:
        return []
    folder = repository.top if repository else workspace.root.parent
    sentences = []
    for name in files[:MOST_FILES]:
        path = folder / name
        # A pattern, or a path that leads elsewhere, is no file of this project.
        if name.startswith(("/", "~")) or ".." in Path(name).parts or "*" in name:
            continue
        if not path.exists():
            if repository and is_tracked(folder, name):
                sentences.append(f"{name} was deleted since this was written")
        elif is_newer(folder, path, written, has_git=repository is not None):
            sentences.append(f"{name} changed since this was written")
    return sentences


def is_newer(folder: Path, path: Path, written: datetime, *, has_git: bool) -> bool:
    """Return whether a file's content is newer than a memory."""
    seconds = written.timestamp() + 1  # stored times have no fractions
    if path.stat().st_mtime <= seconds:
        return False
    if not has_git or path.is_dir():
        return not path.is_dir()
    # A checkout or a clone gives every file a new time, so git's date decides.
    name = path.relative_to(folder).as_posix()
    try:
        committed = run_git(folder, "log", "-1", "--format=%ct", "--", name).strip()
        if not committed or float(committed) > seconds:
            return True
        return bool(
            # Otherwise git may lock its index, and a command of the user would fail at this moment.
            run_git(folder, "--no-optional-locks", "status", "--porcelain", "--", name).strip()
        )
    except MemError:
        return True


def is_tracked(folder: Path, name: str) -> bool:
    """Return whether git has known a file."""
    try:
        return bool(run_git(folder, "log", "-1", "--format=%h", "--", name).strip())
    except MemError:
        return False
