"""Forget, restore and purge memories."""

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import BusyError, NotFoundError, RejectedError
from ..formats.dates import format_time
from ..formats.frontmatter import get_body, get_content
from ..formats.page import replace_promoted_line
from ..formats.passages import PassageFinder, replace_passages
from ..formats.text import find_strings, normalize, summarize
from ..index.index import Index, IndexedEntry, open_index
from ..index.scan import remove_leftovers
from ..index.writer import rebuild_spellings
from ..search.names import get_entry
from ..store.commit import Append, ChangeGroup, Commit, Replace, commit, read_file
from ..store.git import run_git
from ..store.workspace import Workspace
from .changes import change_page_line, edit_file, find_same_key, replace_entries
from .outcome import Outcome, build_outcome, describe

# A record or note whose text was purged.
CUT = "\0cut\0"
EMPTY_HISTORY_RECORD = re.compile(
    rf"(?m)^## [^\n]*\n+(?:\[[\d :-]+\])?[\s.]*{CUT}(?:[\s.]|{CUT})*(?=^## |\Z)"
)
EMPTY_NOTE = re.compile(rf"(?m)^(?:[-*] )?\[\d\d:\d\d\][ \t.]*{CUT}(?:[ \t.]|{CUT})*\r?(?:\n|\Z)")
PURGED_PASSAGE = "[purged]"


@dataclass
class ForgetResult:
    """The outcome of `forget` or `restore`."""

    outcomes: list[Outcome] = field(default_factory=list)
    result: Commit = field(default_factory=Commit)
    other_files: list[str] = field(default_factory=list)  # that contained a purged text
    git_commits: list[str] = field(default_factory=list)  # that still contain it


def forget(
    workspace: Workspace, names: Sequence[str], *, reason: str = "", purge: bool = False
) -> ForgetResult:
    """Hide memories from search and agents, or delete them and their text everywhere."""
    index = open_index(workspace)
    entries = get_entries(index, names)
    if purge:
        return purge_entries(index, entries)
    done = ForgetResult()
    groups = []
    for entry in entries:
        if entry.status == "forgotten":
            raise RejectedError(f"{index.shorten_id(entry.id)} is already forgotten")
        changes = {
            "status": "forgotten",
            "forgotten_at": format_time(workspace.now),
            "reason": reason,
        }
        edited = edit_file(workspace, entry.path, changes)
        groups.append(ChangeGroup([edited, *change_page_line(workspace, entry.id, None)]))
        outcome = build_outcome(index, "forgotten", entry)
        outcome.related = [
            describe(index, other, "hides")
            for other in find_copies(index, entry)
            if other not in entries
        ]
        done.outcomes.append(outcome)
    done.result = commit(workspace, "forget", groups, summary=describe_entries(entries))
    mark_rejected(done, groups)
    # The gates refuse the text from now on, also for commands that do not look at the files.
    index.refresh()
    return done


def restore(workspace: Workspace, names: Sequence[str]) -> ForgetResult:
    """Make forgotten, faded or superseded memories active again."""
    index = open_index(workspace)
    entries = get_entries(index, names)
    done = ForgetResult()
    groups = []
    for entry in entries:
        if entry.status == "active":
            raise RejectedError(f"{index.shorten_id(entry.id)} is already active")
        changes: dict[str, object] = dict.fromkeys(
            ("status", "forgotten_at", "reason", "superseded_by")
        )
        current = find_same_key(index, entry.key, entry.project, entry.owner)
        successor = index.find_by_id(entry.superseded_by) if entry.superseded_by else None
        if successor is not None and successor.status == "active" and successor not in current:
            # Both are active now, so a person should decide.
            changes["conflicts_with"] = (*entry.conflicts_with, successor.id)
        # A person decided, so trust does not matter.
        replaced = replace_entries(index, entry.id, 1.0, entry.summary, current)
        edited = edit_file(workspace, entry.path, changes)
        groups.append(ChangeGroup([edited, *replaced.changes], is_said_by_user=True))
        done.outcomes.append(build_outcome(index, "restored", entry))
    done.result = commit(workspace, "restore", groups, summary=describe_entries(entries))
    mark_rejected(done, groups)
    index.refresh()
    return done


def mark_rejected(done: ForgetResult, groups: Sequence[ChangeGroup]) -> None:
    """Note the rejected memories in their outcomes. Raises the error if all were rejected."""
    errors = {id(group): error for group, error in done.result.rejected}
    if errors and len(errors) == len(groups):
        raise done.result.rejected[0][1]
    for outcome, group in zip(done.outcomes, groups, strict=True):
        if id(group) in errors:
            outcome.action = "rejected"
            outcome.error = errors[id(group)]


def get_entries(index: Index, names: Sequence[str]) -> list[IndexedEntry]:
    """Return the entries that names mean, each once."""
    entries = {entry.path: entry for entry in (get_entry(index, name) for name in names)}
    return list(entries.values())


def find_copies(index: Index, entry: IndexedEntry) -> list[IndexedEntry]:
    """Return the active entries with the same words, which forgetting an entry hides too."""
    return index.list_entries(
        "status = 'active' and path <> ? and same_words ="
        " (select same_words from entries join files using(file) where path = ?)",
        (entry.path, entry.path),
    )


def get_mentions(workspace: Workspace, text: str) -> list[IndexedEntry]:
    """Return the active entries that contain a text, for `forget --about`."""
    index = open_index(workspace)
    wanted = text.casefold()
    entries = []
    for entry in index.list_entries("status = 'active'"):
        # Not the frontmatter: everything mentions `type: fact`.
        said = f"{entry.title}\n{get_body(index.read_text(entry.path) or '')}"
        if wanted in said.casefold():
            entries.append(entry)
    if not entries:
        raise NotFoundError(f"no memory mentions {text!r}")
    return entries


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
    for path, kind in index.run("select path, kind from files where kind <> 'entry'").fetchall():
        text = read_file(workspace, path) or ""
        clean = text
        for entry_id in ids if kind == "memory" else ():
            clean = replace_promoted_line(clean, entry_id, None, even_protected=True)
        clean = remove_passages(clean, kind, finder)
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


def remove_passages(text: str, kind: str, finder: PassageFinder) -> str:
    """Return a file's text without the purged passages, and without records that become empty."""
    if kind == "session":
        return "\n".join(remove_from_line(line, finder) for line in text.split("\n"))
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


def describe_entries(entries: Sequence[IndexedEntry]) -> str:
    return summarize(entries[0].summary) if len(entries) == 1 else f"{len(entries)} memories"
