"""Fix the problems of files that have one right answer, without losing a text."""

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import MemError, RejectedError
from ..formats.dates import parse_time
from ..formats.entry import read_entry
from ..formats.frontmatter import FrontmatterError, parse
from ..formats.ids import build_id
from ..formats.page import list_promoted_lines, replace_promoted_line, unlink_line
from ..formats.session import parse_event, parse_events
from ..index.index import Index, open_index
from ..index.scan import remove_leftovers
from ..reconcile.changes import edit_file
from ..store.commit import Append, ChangeGroup, Commit, Replace, commit, read_file
from ..store.sessions import (
    EVENTS,
    METADATA,
    change_metadata,
    count_events,
    find_sessions_folder,
    list_sessions,
    parse_metadata,
)
from ..store.workspace import Workspace
from .page_lines import find_outdated_lines, replace_lines
from .promote import read_page


@dataclass
class Fix:
    """A problem, and the changes that fix it."""

    path: str
    reason: str
    line: int = 1
    changes: list[Replace | Append] = field(default_factory=list)


def fix_problems(workspace: Workspace) -> tuple[list[Fix], list[str], Commit]:
    """Fix what can be fixed. Return it, the problems with that, and the commit."""
    fixed = [Fix(path, "a temporary file: deleted") for path in remove_leftovers(workspace)]
    index = open_index(workspace)
    messages: list[str] = []
    fixes = find_entry_fixes(index, messages)
    fixes += [*find_page_fixes(workspace), *find_session_fixes(workspace)]
    groups = [ChangeGroup(fix.changes) for fix in fixes]
    result = commit(workspace, "check", groups, summary=f"{len(fixes)} fixes")
    errors = {id(group): error.message for group, error in result.rejected}
    for fix, group in zip(fixes, groups, strict=True):
        if id(group) in errors:
            messages.append(f"{fix.path}: {errors[id(group)]}")
        else:
            fixed.append(fix)
    return fixed, [*messages, *result.messages], result


def find_entry_fixes(index: Index, messages: list[str]) -> list[Fix]:
    """Return the fixes of frontmatters: one per file, because they change neighbouring lines."""
    workspace = index.workspace
    reasons: dict[str, list[str]] = defaultdict(list)
    fields: dict[str, dict[str, Any]] = defaultdict(dict)
    for path, created_at in [*find_without_id(index), *find_copies(index)]:
        moment = parse_time(created_at) or workspace.now
        fields[path]["id"] = build_id("mem", moment, workspace.context.noise)
        reasons[path].append("gets an id of its own")
    for path, key, other in find_dangling(index):
        if not workspace.is_managed(path):
            continue
        if key == "superseded_by":
            # It stays out of searches, as the person or command that replaced it wanted.
            fields[path] |= {"superseded_by": None, "status": "superseded"}
        else:
            named = fields[path].get(key, index.list_entries("path = ?", (path,))[0].conflicts_with)
            fields[path][key] = tuple(item for item in named if item != other)
        reasons[path].append(f"no longer names {other}")
    for path, changes in find_wrong_values(index):
        fields[path] |= changes
        reasons[path].append("wrong values moved to metadata")
    fixes = []
    for path, changes in fields.items():
        try:
            edited = edit_file(workspace, path, changes)
        except MemError as error:
            messages.append(f"{path}: {error.message}")
            continue
        fixes.append(Fix(path, "; ".join(dict.fromkeys(reasons[path])), changes=[edited]))
    return fixes


def find_without_id(index: Index) -> list[tuple[str, str]]:
    """Return path and date of the entries that have frontmatter, but no id in it.

    A plain text is an entry too, and stays plain. A renamed file without an id is another memory.
    """
    rows = index.run(
        "select path, created_at from entries join files using(file)"
        " where id = path and fields <> '{}' order by path"
    )
    return [(path, date) for path, date in rows if index.workspace.is_managed(path)]


def find_copies(index: Index) -> list[tuple[str, str]]:
    """Return path and date of the files with the id of another file, except the original.

    mem names a file after the id, so the original is the one with that name, or the older one.
    """
    rows = index.run(
        "select id, path, created_at from entries join files using(file) where id in"
        " (select id from entries group by id having count(*) > 1)"
        " order by id, instr(path, substr(id, -6)) = 0, mtime, path"
    ).fetchall()
    seen = set()
    copies = []
    for entry_id, path, created_at in rows:
        if entry_id in seen and index.workspace.is_managed(path):
            copies.append((path, created_at))
        seen.add(entry_id)
    return copies


def find_dangling(index: Index) -> list[tuple[str, str, str]]:
    """Return path, key and value of the relations to ids that no file has."""
    rows = index.run(
        "select files.path, 'superseded_by', superseded_by from entries join files using(file)"
        " where superseded_by <> '' and superseded_by not in (select id from entries)"
        " union all select files.path, 'conflicts_with', value from entries join files using(file),"
        " json_each(conflicts_with) where value not in (select id from entries)"
    )
    return rows.fetchall()


def find_wrong_values(index: Index) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield path and changes that move a wrong value to the metadata, where anything may be."""
    rows = index.run(
        "select distinct files.path from problems join files using(file)"
        " join entries using(file) where fields <> '{}' and problems.code = ''"
    ).fetchall()
    for (path,) in rows:
        try:
            document = parse(read_file(index.workspace, path) or "")
        except FrontmatterError:
            continue
        _, problems = read_entry(document, path, index.workspace.now)
        keys = [problem.reason.split()[0] for problem in problems]
        if keys and "metadata" not in keys and index.workspace.is_managed(path):
            metadata = document.fields.get("metadata") or {}
            wrong = {key: document.fields[key] for key in keys}
            yield path, {**dict.fromkeys(keys), "metadata": {**metadata, **wrong}}


def find_page_fixes(workspace: Workspace) -> list[Fix]:
    """Return the fix of lines in MEMORY.md whose memories changed or do not exist."""
    index = open_index(workspace)
    try:
        text = read_page(workspace) or ""
    except RejectedError:
        return []  # a conflict marker, which is a problem of its own
    outdated = find_outdated_lines(workspace)
    lines = list_promoted_lines(text)
    missing = [line for line in lines if index.find_by_id(line.id) is None]
    page = replace_lines(text, outdated)
    for line in missing:
        # The words of a person stay, as an ordinary line.
        is_own = bool(line.digest) and not line.is_reworded
        page = replace_promoted_line(page, line.id, None) if is_own else unlink_line(page, line.id)
    if page == text:
        return []
    numbers = sorted([*(item.line.line for item in outdated), *(line.line for line in missing)])
    reason = "states memories that changed or no longer exist"
    changes: list[Replace | Append] = [Replace(workspace.page_path, text, page)]
    return [Fix(workspace.page_path, reason, numbers[0], changes)]


def find_session_fixes(workspace: Workspace) -> list[Fix]:
    """Return the fixes of conversations: lines that were cut off, and wrong counts."""
    folder = find_sessions_folder(workspace)
    index = open_index(workspace)
    unreadable = {path for path, problem in index.list_problems() if path.endswith(EVENTS)}
    fixes = []
    for session in list_sessions(workspace):
        path = f"{folder}/{session.id}/{EVENTS}"
        # A conversation can have megabytes, so it is read only if something is wrong with it.
        if path in unreadable or not has_last_line_end(workspace, path):
            text = read_file(workspace, path) or ""
            clean = remove_torn_lines(text)
            if clean != text:
                session.message_count = session.token_count = 0
                count_events(session, [event for _, event in parse_events(clean)])
                session.size = len(clean.encode("utf-8", "surrogateescape"))
                changes: list[Replace | Append] = [
                    Replace(path, text, clean),
                    change_metadata(workspace, session),
                ]
                number = [is_torn(line) for line in text.split("\n")].index(True) + 1
                fixes.append(
                    Fix(path, "a line of which only the beginning is there", number, changes)
                )
                continue
        path = f"{folder}/{session.id}/{METADATA}"
        stored = parse_metadata(session.id, read_file(workspace, path) or "")
        if stored.message_count != session.message_count:
            reason = (
                f"counts {stored.message_count:,} messages instead of {session.message_count:,}"
            )
            fixes.append(Fix(path, reason, changes=[change_metadata(workspace, session)]))
    return fixes


def has_last_line_end(workspace: Workspace, path: str) -> bool:
    with (workspace.root / path).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read(1) in (b"", b"\n")


def remove_torn_lines(text: str) -> str:
    """Return a conversation without the lines of which only the beginning was written."""
    lines = text.split("\n")
    whole = [line for line in lines if not is_torn(line)]
    if len(whole) == len(lines):
        return text
    return "\n".join(whole).removesuffix("\n") + "\n"


def is_torn(line: str) -> bool:
    return line.startswith("{") and not line.rstrip().endswith("}") and parse_event(line) is None
