"""Purge memories: delete them, and their text in every other file, the index and the undo log."""

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from ..errors import BusyError, NotFoundError
from ..formats.dates import format_time
from ..formats.frontmatter import get_content
from ..formats.page import replace_promoted_line
from ..formats.passages import PassageFinder, replace_passages
from ..formats.text import find_strings, normalize
from ..index.index import Index, IndexedEntry
from ..index.scan import list_all_files, remove_leftovers
from ..index.writer import rebuild_spellings
from ..store.commit import Append, ChangeGroup, Replace, commit, read_file
from ..store.git import run_git
from ..store.workspace import Workspace
from .outcome import ForgetResult, build_outcome

# A record or note whose text was purged.
CUT = "\0cut\0"
EMPTY_HISTORY_RECORD = re.compile(
    rf"(?m)^## [^\n]*\n+(?:\[[\d :-]+\])?[\s.]*{CUT}(?:[\s.]|{CUT})*(?=^## |\Z)"
)
EMPTY_NOTE = re.compile(rf"(?m)^(?:[-*] )?\[\d\d:\d\d\][ \t.]*{CUT}(?:[ \t.]|{CUT})*\r?(?:\n|\Z)")
PURGED_PASSAGE = "[purged]"


def purge_entries(index: Index, entries: Sequence[IndexedEntry]) -> ForgetResult:
    """Delete memories and their text in every file, the index and the undo log."""
    workspace = index.workspace
    texts = {entry.id: get_content(read_file(workspace, entry.path) or "") for entry in entries}
    finder = PassageFinder(texts)
    done = ForgetResult()
    changes: list[Replace | Append] = []
    stamp = format_time(workspace.now)
    for entry in entries:
        changes.append(Replace(entry.path, read_file(workspace, entry.path), None))
        changes.append(Append(workspace.purged_path, f"{entry.id} {stamp}\n"))
        done.outcomes.append(build_outcome(index, "purged", entry))
        done.git_commits += find_git_commits(workspace, entry.path)
    # In all other files, because agents and people copy sentences around.
    ids = [entry.id for entry in entries]
    for path in list_all_files(workspace):
        text = read_file(workspace, path) or ""
        clean = clean_file(workspace, path, text, ids, finder)
        if clean != text:
            changes.append(Replace(path, text, clean))
            done.other_files.append(path)
    done.result = commit(workspace, "purge", [ChangeGroup(changes)], is_purge=True)
    if done.result.rejected:
        raise done.result.rejected[0][1]
    remove_leftovers(workspace)
    index.refresh()
    try:
        wipe_deleted_texts(index)
    except sqlite3.OperationalError as error:
        done.result.messages.append(
            f"the index may still have the text ({error}): mem index --rebuild"
        )
    return done


def clean_file(
    workspace: Workspace, path: str, text: str, ids: Sequence[str], finder: PassageFinder
) -> str | None:
    """Return the text of another file without the purged passages. None: delete the file."""
    kind = workspace.get_kind(path)
    if path.startswith(f"{workspace.prefix}inbox/"):
        return None if finder.find(normalize(text)) else text
    # An archive is a conversation too. Other memories are somebody's own words.
    if kind == "session" or path.endswith(".jsonl"):
        return "\n".join(remove_from_line(line, finder) for line in text.split("\n"))
    if kind in ("entry", ""):
        return text
    for entry_id in ids if kind == "memory" else ():
        text = replace_promoted_line(text, entry_id, None)
    return remove_passages(text, kind, finder)


def remove_passages(text: str, kind: str, finder: PassageFinder) -> str:
    """Return a file's text without the purged passages, and without records that become empty."""
    normal = normalize(text)
    passages = finder.find(normal)
    if not passages:
        return text
    clean = replace_passages(normal, passages, CUT)
    if kind == "history":
        clean = EMPTY_HISTORY_RECORD.sub("", clean)
    if kind == "note":
        clean = EMPTY_NOTE.sub("", clean)
    return clean.replace(CUT, "")


def remove_from_line(line: str, finder: PassageFinder) -> str:
    """Return a line of a session with the purged passages replaced, and the rest as it is."""
    try:
        return remove_from_event(line, finder)
    except (ValueError, RecursionError):
        # Cut off by a crash, or nested too deeply.
        return str(replace_strings(line, finder))


def remove_from_event(line: str, finder: PassageFinder) -> str:
    event = json.loads(line)
    for text in find_strings(event):
        normal = normalize(text)
        passages = finder.find(normal)
        if passages:
            clean = json.dumps(replace_passages(normal, passages, PURGED_PASSAGE))[1:-1]
            for spelling in (json.dumps(text, ensure_ascii=False), json.dumps(text)):
                line = line.replace(spelling[1:-1], clean)
    if any(finder.find(normalize(text)) for text in find_strings(json.loads(line))):
        # Escaped in another way, such as `\\/`. Then the event is written anew.
        return json.dumps(replace_strings(event, finder), ensure_ascii=False)
    return line


def replace_strings(value: Any, finder: PassageFinder) -> Any:
    """Return a JSON value with the purged passages replaced in every text."""
    if isinstance(value, str):
        normal = normalize(value)
        return replace_passages(normal, finder.find(normal), PURGED_PASSAGE)
    if isinstance(value, dict):
        return {name: replace_strings(item, finder) for name, item in value.items()}
    if isinstance(value, list):
        return [replace_strings(item, finder) for item in value]
    return value


def wipe_deleted_texts(index: Index) -> None:
    """Leave nothing of deleted texts in the index file, where SQLite only marks pages as free."""
    rebuild_spellings(index.database)
    index.run("insert into words(words) values('optimize')")
    index.run("vacuum")
    index.run("pragma wal_checkpoint(truncate)")


def find_git_commits(workspace: Workspace, path: str) -> list[str]:
    """Return the commits that contain a purged file, also under earlier names, the latest first."""
    try:
        # git keeps the text; only its owner can rewrite history.
        output = run_git(
            workspace.root, "log", "--all", "--follow", "--format=%h", "-n", "50", "--", path
        )
    except (NotFoundError, BusyError):
        return []
    return output.decode("ascii", "replace").split()
