"""Resolve a name to the one place it means: an id, part of one, a path, a title, a key or a hit's address."""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ..errors import AmbiguousError, NotFoundError, UsageError
from ..formats import ids
from ..formats.entry import same_key
from ..formats.frontmatter import document as frontmatter
from ..formats.links import bare
from ..formats.text_lines import require_no_conflict
from ..store.addresses import Place, by_path
from ..store.workspace import Workspace
from .reference_docs import by_name

if TYPE_CHECKING:
    from ..index.index import Index
    from ..index.lookups import Value


SHORTEST = 4
"""Characters of a part of an id, for what changes files: a slip of the finger must not name a memory."""


def locate(
    workspaces: Sequence[Workspace], name: str, folder: Path, *, strict: bool = False
) -> tuple[Workspace, Place]:
    """Return the address that a name means, in the first workspace that has it; `folder` is where paths begin.

    A whole id is looked for where its file was created before anything is scanned; `strict`, for what changes
    files, always looks at everything, so that two files of one id are noticed, and takes no part of an id that is
    very short. Raise AmbiguousError with the candidates, NotFoundError or UsageError.
    """
    if name.startswith("session:"):
        from ..store.sessions.reading import parse_name

        session_span = parse_name(name)
        if session_span is not None:
            return _in_session(workspaces, *session_span)
    looks_like_path = any(mark in name for mark in "/#") or name.endswith(".md")
    for workspace in workspaces:
        document = None if strict else by_name(workspace, name, folder)  # which is read, never changed
        if document is not None:
            return document
        address = by_path(workspace, name, folder) if looks_like_path else None
        if address is None and ids.is_id(name) and not strict:
            address = _at_creation_path(workspace, name)
        if address is not None:
            return workspace, address
    from ..index.index import ask
    from ..index.lookups import keys_in_use

    is_hasty = False
    for workspace in workspaces:
        matches = ask(workspace, lambda index: _with_id(index, name, strict))
        if (
            strict
            and len(name.removeprefix("mem_")) < SHORTEST
            and any(identifier != name for identifier, _ in matches)
        ):
            is_hasty, matches = True, []
        if matches:
            identifier, path = _only_one(matches, f"{name!r} may be any of")
            return workspace, Place(path, identifier) if identifier.startswith("hist_") else Place.of(path)
    for workspace in workspaces:
        address = (
            by_path(workspace, name, folder) or by_path(workspace, f"{name}.md", folder) or _titled(workspace, name)
        )
        if address is not None:
            return workspace, address
    if is_hasty:
        raise UsageError(
            f"{name!r} is too little of an id to change a memory by",
            f"give {SHORTEST} characters of it or more, or the path",
        )
    for workspace in workspaces:
        ask(workspace, lambda index: _require_unconflicted(index, name))
        if name in dict(ask(workspace, keys_in_use)):
            raise NotFoundError(f"{name} is a key, no entry", f"`mem ls --key {quote(name)}` names what fills it")
    raise NotFoundError(f"no entry {name!r}", 'find it with `mem search "…"` or `mem ls`')


def _only_one(matches: list[tuple[str, str]], question: str) -> tuple[str, str]:
    """Return the only candidate; raise AmbiguousError where there are more."""
    if len(matches) > 1:
        named = ", ".join(f"{identifier} ({path})" for identifier, path in matches[:10])
        raise AmbiguousError(f"{question} {len(matches)}: {named}", "give more of it, or the path")
    return matches[0]


def _titled(workspace: Workspace, name: str) -> Place | None:
    from ..index.index import ask
    from ..index.lookups import files_called

    title, _, anchor = name.partition("#")
    for called, part in ((bare(name), ""), (bare(title), anchor)):
        titled = ask(workspace, partial(files_called, names=[called]))[called] if called else []
        if len(titled) > 1:
            named = ", ".join(path for _, path in titled[:10])
            raise AmbiguousError(f"{called!r} is the title of {len(titled)}: {named}", "give the path")
        if titled:
            return Place(titled[0][1], part)
    return None


def _in_session(workspaces: Sequence[Workspace], name: str, span: str) -> tuple[Workspace, Place]:
    from ..store.sessions.sessions import find

    missing = NotFoundError(f"no session {name!r}", "`mem session ls` lists them")
    for workspace in workspaces:
        try:
            return workspace, Place(find(workspace, name).path, span)
        except NotFoundError as error:
            missing = error
    raise missing


def _with_id(index: "Index", name: str, strict: bool) -> list[tuple[str, str]]:
    from ..index.lookups import entries_with_id, records_with_id

    if ids.is_id(name) and not strict:
        rows = [row for row in entries_with_id(index, name) if _holds(index.workspace, row[1], name)]
        if rows:
            return rows
    index.refresh()
    return records_with_id(index, name) if name.startswith("hist_") else entries_with_id(index, name)


def _require_unconflicted(index: "Index", name: str) -> None:
    """Raise RefusedError for the id of a file that is not indexed, since git left conflict markers in it."""
    from ..formats.entry_merge import stated_ids  # late: it can merge too, and few names are not found

    for path in sorted({problem.path for problem in index.problems() if problem.left_out}):
        with suppress(OSError, UnicodeDecodeError):
            text = index.workspace.path(path).read_text(encoding="utf-8")
            if any(
                identifier == name or (len(name) >= SHORTEST and name in identifier) for identifier in stated_ids(text)
            ):
                require_no_conflict(path, text)


def _at_creation_path(workspace: Workspace, identifier: str) -> Place | None:
    """Return the file of an id if it lies where its time of creation puts it; read no more than one file."""
    moment = ids.created(identifier)
    if moment is None:
        return None
    days = {moment.astimezone(workspace.zone).date() + timedelta(days=shift) for shift in (-1, 0, 1)}
    for path_pattern in sorted({workspace.layout.entry_path("", identifier, day) for day in days}):
        folder, _, ending = path_pattern.rpartition("/")
        try:
            names = [name for name in os.listdir(workspace.root / folder) if name.endswith(ending)]
        except OSError:
            continue
        path = f"{folder}/{names[0]}".lstrip("/") if len(names) == 1 else ""
        if path and _holds(workspace, path, identifier):
            return Place(path)
    return None


def _holds(workspace: Workspace, path: str, identifier: str) -> bool:
    try:
        text = workspace.path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return frontmatter.parse(text).fields.get("id") == identifier


def values_of_key(
    workspaces: Sequence[Workspace], key: str, project: str, as_of: str
) -> "tuple[Workspace, list[Value]]":
    """Return the values that fill a key, or did at a time (RFC 3339), the most trusted and newest first.

    Without a project, values that belong to none win over those of a project. Raise NotFoundError where nothing fills
    the key, AmbiguousError where several projects do and none is named.
    """
    for workspace in workspaces:
        values = [value for value in key_history(workspace, key, project) if _held_at(value, as_of)]
        if not project and len({value.project for value in values}) > 1:
            values = [value for value in values if not value.project] or values
        projects = sorted({value.project for value in values})
        if len(projects) > 1:
            raise AmbiguousError(
                f"the key {key!r} is filled in {len(projects)} projects", f"--project {quote(projects[0])}"
            )
        if values:
            return workspace, sorted(values, key=lambda value: (value.trust, value.since, value.id), reverse=True)
    when = f" on {as_of[:10]}" if as_of else ""
    raise NotFoundError(
        f"nothing fills the key {key!r}{when}",
        f"`mem read --key {quote(key)} --history` shows what did, `mem ls --key '*'` what is filled",
    )


def key_history(workspace: Workspace, key: str, project: str) -> "list[Value]":
    """Return every value that a key has or had, the earliest first."""
    from ..index.index import ask
    from ..index.lookups import key_history

    def read(index: "Index") -> "list[Value]":
        index.refresh()
        return key_history(index)

    values = [value for value in ask(workspace, read) if same_key(value.key) == same_key(key)]
    return [value for value in values if value.project == project] if project else values


def believed_at(workspace: Workspace, ids: Sequence[str], as_of: str, name: str) -> Place:
    """Return the address of the entry among these ids that was valid at a time; raise NotFoundError if none was."""
    from ..index.filters import Filter
    from ..index.index import ask

    def valid_paths(index: "Index") -> list[str]:
        index.refresh()
        rows = index.list_entries(Filter(as_of=as_of), "created_at, id")
        return [row["path"] for row in rows if row["id"] in ids]

    paths = ask(workspace, valid_paths)
    if not paths:
        raise NotFoundError(
            f"nothing of {name} was known on {as_of[:10]}", f"`mem read {quote(name)} --history` shows since when"
        )
    return Place(paths[-1])


def _held_at(value: "Value", as_of: str) -> bool:
    if not as_of:
        return value.status == "active"
    is_over = value.until and value.until <= as_of
    return value.since <= as_of and not is_over and bool(value.until or value.status == "active")
