"""Find a memory by its id or a part of it, its path, title or alias, and lines by exact text.

Lines come from every file, through the gate of the index.
"""

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Any, NamedTuple

from ..errors import NotFoundError, RejectedError, UsageError
from ..formats import count_bytes, fold_name, shorten
from ..index import (
    UNSPACED,
    Filter,
    Index,
    IndexedEntry,
    build_sql,
    open_index,
    read_ignored_patterns,
)
from ..store import APP_SETTINGS, UNKNOWN, Workspace, is_ignored, read_file

ID_PART = re.compile(r"(?:mem_)?[0-9a-z]{6,16}|mem_[0-9a-z]+")
# Three letters of Latin script, such as `Ana`, or one Chinese character. Shorter parts are typos.
SHORTEST_PART = 3  # bytes
MOST_CANDIDATES = 5
LOCATION = re.compile(r"(?P<path>.+?)(?::(?P<line>\d{1,7})|#(?P<anchor>[^/]+))?")
EXPRESSION_SECONDS = 10.0
# `(a{9999}){9999}` fills the memory before the time limit stops it.
HUGE_COUNT = re.compile(r"\{[^}]*\d{4}")
LONGEST_LINE = 300  # characters shown of a line


class NamedFile(NamedTuple):
    """A file that a name leads to."""

    path: str
    entry: IndexedEntry | None
    line: int = 0
    anchor: str = ""


def find_named(index: Index, name: str, *, accept_parts: bool = True) -> NamedFile | None:
    """Return the file that a name means. Raises UsageError if it may mean several.

    A whole name counts before a part of one.
    """
    name = name.strip().removeprefix("[[").removesuffix("]]")
    finders = [find_by_id, find_by_path, find_by_name]
    for find in [*finders, find_by_part, find_unread] if accept_parts else finders:
        named = find(index, name)
        if named is not None:
            return named
    title, number_sign, anchor = name.partition("#")
    if not number_sign or not title.strip():
        return None
    named = find_named(index, title, accept_parts=accept_parts)
    return named._replace(anchor=anchor) if named is not None else None


def get_named(index: Index, name: str) -> NamedFile:
    """Return the file that a name means. Raises NotFoundError."""
    named = find_named(index, name)
    if named is None:
        raise build_missing_error(index.workspace, name)
    return named


def build_missing_error(workspace: Workspace, name: str) -> NotFoundError:
    """Return the error for a name that leads to no file which mem reads."""
    patterns = read_ignored_patterns(workspace)
    for path in [*list_paths(workspace, name), *list_paths(workspace, f"{name}.md")]:
        if is_ignored(patterns, path) and read_file(workspace, path) is not None:
            is_ours = is_ignored(workspace.settings["index.exclude"], path)
            excluder = "index.exclude" if is_ours else "an ignore file or Obsidian's settings"
            if UNKNOWN in patterns:
                excluder = f"{APP_SETTINGS}, which cannot be read"
            return NotFoundError(f"{path} is excluded by {excluder}, so mem does not read it")
    hint = f"search for it: mem search {name!r}"
    if workspace.settings["team.space"] and ID_PART.fullmatch(name):
        hint = "if it is a colleague's memory, only they can change or forget it"
    return NotFoundError(f"no memory {name!r}", hint)


def get_entry(index: Index, name: str) -> IndexedEntry:
    """Return the entry that a name means. Raises NotFoundError or RejectedError."""
    named = get_named(index, name)
    if named.entry is None:
        problem = index.run(
            "select line, reason from problems where path = ? limit 1", (named.path,)
        ).fetchone()
        if problem:
            location = f"{named.path}:{problem[0]}"
            hint = f"fix it: mem edit {quote(named.path)}"
            raise RejectedError(f"{location}: {problem[1]}", hint)
        raise NotFoundError(f"{named.path} is not a memory", "edit the file: mem edit PATH")
    return named.entry


def get_link_names(named: NamedFile) -> list[str]:
    """Return the names by which other files may link to this one."""
    names = [named.path.rpartition("/")[2].removesuffix(".md")]
    if named.entry is not None:
        names += [named.entry.title, named.entry.id, *named.entry.aliases]
    return [fold_name(name) for name in names if name]


def find_by_id(index: Index, name: str) -> NamedFile | None:
    # A note may have an id of any form, such as 42.
    entries = index.list_entries("id = ?", (name,))
    if not entries and ID_PART.fullmatch(name):
        # The end of an id, as commands print it. An index of the table has the last 6 characters.
        ends = (name[-6:], -len(name), name)
        entries = index.list_entries("substr(id, -6) = ? and substr(id, ?) = ?", ends)
    return choose_entry(index, name, entries)


def find_unread(index: Index, name: str) -> NamedFile | None:
    """Find a file that could not be read, by a part of its path, or by its id in a conflict."""
    part = fold_name(name).replace(" ", "-")
    for path, problem in index.list_unread():
        if part and part in fold_name(path).replace(" ", "-"):
            return NamedFile(path, None)
        # The index does not have the texts of a conflict.
        if problem.code == "conflict" and ID_PART.fullmatch(name):
            if re.search(f"(?m)^id: .*{name}", read_file(index.workspace, path) or ""):
                return NamedFile(path, None)
    return None


def find_by_path(index: Index, name: str) -> NamedFile | None:
    """Find a path relative to the workspace, to `entries/`, or to the working folder."""
    path = find_file_path(index, name)
    line, anchor = 0, ""
    match = LOCATION.fullmatch(name)
    if path is None and match is not None:
        # Only now, because the name of a file may contain a colon or a number sign.
        path = find_file_path(index, match["path"])
        line, anchor = int(match["line"] or 0), match["anchor"] or ""
    if path is None:
        return None
    entries = index.list_entries("path = ?", (path,))
    return NamedFile(path, entries[0] if entries else None, line, anchor)


def find_file_path(index: Index, name: str) -> str | None:
    """Return the path in the workspace that a path in a command means."""
    for path in list_paths(index.workspace, name):
        if index.run("select 1 from files where path = ?", (path,)).fetchone():
            return path
    return None


def list_paths(workspace: Workspace, name: str) -> list[str]:
    """Return the paths in the workspace that a path in a command may mean."""
    paths = [name, f"{workspace.entries_folder}{name}"]
    # Without `..`, which the path of a file in a subfolder may have.
    absolute = Path(os.path.normpath(workspace.context.folder.resolve() / name))
    if absolute.is_relative_to(workspace.root):
        paths.append(absolute.relative_to(workspace.root).as_posix())
    return [str(PurePosixPath(path)) for path in paths]


def find_by_name(index: Index, name: str) -> NamedFile | None:
    """Find a title, an alias or a file name, in any case and Unicode form."""
    folded = fold_name(name.removesuffix(".md"))
    entries = index.list_entries("file in (select file from names where name = ?)", (folded,))
    # Most memories have no key.
    if not entries and folded:
        entries = index.list_entries("key = ? and status = 'active'", (folded,))
    if entries:
        return choose_entry(index, name, entries)
    # A file that is no memory, such as MEMORY.md or a canvas
    row = index.run(
        "select path from names join files using(file) where name in (?, ?) order by path",
        (folded, f"{folded}.canvas"),
    ).fetchone()
    return NamedFile(row[0], None) if row else None


def find_by_part(index: Index, name: str) -> NamedFile | None:
    """Find a part of an id, words of a path, title or alias, or a path without `.md`."""
    page = find_by_path(index, f"{name}.md")
    part = fold_name(name).removesuffix(".md")
    if page is not None or count_bytes(part) < SHORTEST_PART:
        return page
    # The name of a file has hyphens between the words of its memory.
    spaced = part.replace("-", " ")
    entries = index.list_entries(
        "instr(id, ?) > 0 or instr(replace(lower(path), '-', ' '), ?) > 0"
        " or file in (select file from names where instr(replace(name, '-', ' '), ?) > 0)",
        (part, spaced, spaced),
    )
    words = compile_words(spaced)
    entries = [
        entry
        for entry in entries
        if part in entry.id
        or words.search(
            fold_name(" ".join([entry.path, entry.title, *entry.aliases])).replace("-", " ")
        )
    ]
    return choose_entry(index, name, entries)


def compile_words(text: str) -> re.Pattern[str]:
    """Return a pattern for words, of which the last may be only a beginning.

    "ports" is in "ports.md" and "open_ports", but not in "exports".
    """
    is_spaced = text[0].isalnum() and not re.match(UNSPACED, text)
    return re.compile((r"(?<![^\W_])" if is_spaced else "") + re.escape(text))


def choose_entry(index: Index, name: str, entries: Sequence[IndexedEntry]) -> NamedFile | None:
    """Return the only entry, or the only active one."""
    if len(entries) > 1:
        # Old versions share the title with the current one.
        entries = [entry for entry in entries if entry.status == "active"] or entries
        if len(entries) > 1:
            raise UsageError(
                f"{name!r} matches {len(entries)} memories",
                f"use one of these: {describe_candidates(index, entries)}",
            )
    return NamedFile(entries[0].path, entries[0]) if entries else None


def describe_candidates(index: Index, entries: Sequence[IndexedEntry]) -> str:
    """Return the ids and sentences of entries. A copied file has the id of the original."""
    ids = [index.shorten_id(entry.id) for entry in entries]
    are_unique = len(set(ids)) == len(ids)
    candidates = [
        f"{entry_id if are_unique else entry.path} ({shorten(entry.title or entry.summary, 40)})"
        for entry_id, entry in zip(ids[:MOST_CANDIDATES], entries, strict=False)
    ]
    more = len(entries) - MOST_CANDIDATES
    return ", ".join(candidates) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Line:
    """A line that matches."""

    path: str
    line: int
    text: str
    id: str = ""
    project: str = ""  # another project that it belongs to, in the user's own workspace


def grep(
    workspaces: Sequence[Workspace],
    pattern: str,
    wanted: Filter,
    *,
    is_expression: bool = False,
    ignore_case: bool = True,
    limit: int = 0,
) -> tuple[list[Line], list[str]]:
    """Return the matching lines in the order of their paths, and messages."""
    search_line = build_matcher(pattern, is_expression, ignore_case)
    lines: list[Line] = []
    messages: list[str] = []
    where, values = build_sql(wanted)
    # lower() of SQLite knows ASCII only, so other patterns are left to Python.
    if not is_expression and pattern.isascii():
        # SQLite rules out most files before Python looks at their lines.
        where += " and instr(lower(text), ?) > 0"
        values.append(pattern.lower())
    for workspace in workspaces:
        index = open_index(workspace)
        messages += index.messages
        rows = index.run(
            "select path, files.kind, coalesce(project, ''), text, coalesce(id, '') from files"
            f" join texts using(file) left join entries using(file) where {where} order by path",
            values,
        )
        for path, kind, project, text, entry_id in rows:
            other = None
            for number, line in enumerate(text.split("\n"), 1):
                try:
                    match = search_line(line)
                except TimeoutError:
                    messages.append(f"{path}:{number}: the expression takes too long; stopped here")
                    return lines, messages
                if match:
                    # The records of a history belong to several projects.
                    if other is None or kind == "history":
                        other = index.find_other_project(path, kind, number, project)
                    lines.append(Line(path, number, cut_line(line, match), entry_id, other))
                    if limit and len(lines) >= limit:
                        return lines, messages
    return lines, messages


def build_matcher(pattern: str, is_expression: bool, ignore_case: bool) -> Callable[[str], Any]:
    """Return the function that searches a line. It raises TimeoutError if that takes too long."""
    flags = re.IGNORECASE if ignore_case else 0
    if not is_expression:
        return re.compile(re.escape(pattern), flags).search
    # The standard library cannot stop an expression such as (a|aa)+$ on a long line.
    import regex

    if HUGE_COUNT.search(pattern):
        raise UsageError("the expression repeats something more than 999 times")
    try:
        expression = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except (regex.error, RecursionError) as error:
        raise UsageError(f"bad expression: {error}", "search for plain text without -E") from None
    deadline = time.monotonic() + EXPRESSION_SECONDS
    return lambda line: expression.search(line, timeout=max(deadline - time.monotonic(), 0.001))


def cut_line(line: str, match: Any) -> str:
    """Return a line, or the part of a long one around its match."""
    line = line.rstrip("\r")
    if len(line) <= LONGEST_LINE:
        return line
    start = max(0, match.start() - LONGEST_LINE // 3)
    end = start + LONGEST_LINE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
