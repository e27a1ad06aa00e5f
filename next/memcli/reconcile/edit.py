"""Change the text or the fields of one memory."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import MemError, NotFoundError, RejectedError
from ..formats.dates import format_time
from ..formats.entry import TRUST, edit_entry, read_entry
from ..formats.frontmatter import FrontmatterError, parse
from ..index.index import open_index
from ..search.names import Named, find_named
from ..store.commit import Append, Commit, Replace, commit_one, read_file
from ..store.undo import undo
from ..store.workspace import Workspace
from .admit import Outcome, change_page_line, edit_file, find_same_key, supersede


def replace_text(
    workspace: Workspace, path: str, before: str, after: str, *, is_said_by_user: bool = False
) -> Outcome:
    """Give a file another text, with a new `updated_at`, and change its line in MEMORY.md."""
    if not after.strip():
        raise RejectedError("the edited file is empty, so nothing was changed")
    if after == before:
        return Outcome("unchanged", path=path, text=path)
    outcome = Outcome("edited", path=path, text=path)
    changes: list[Replace | Append] = []
    if workspace.get_kind(path) == "entry":
        after, outcome.id, outcome.text = stamp_edit(
            workspace, path, before, after, is_said_by_user=is_said_by_user
        )
        outcome.short_id = open_index(workspace, refresh_first=False).shorten_id(outcome.id)
        changes += change_page_line(workspace, outcome.id, outcome.text)
    changes.insert(0, Replace(path, before, after))
    done = commit_one(
        workspace, "edit", changes, summary=outcome.text, is_said_by_user=is_said_by_user
    )
    outcome.undo = done.number
    return outcome


def stamp_edit(
    workspace: Workspace, path: str, before: str, after: str, *, is_said_by_user: bool
) -> tuple[str, str, str]:
    """Return the text with its time of change, the id and the sentence of an edited entry."""
    try:
        document = parse(after)
    except FrontmatterError as error:
        raise RejectedError(
            f"the edited text does not parse: line {error.line}: {error.reason}"
        ) from None
    entry, _ = read_entry(document, path, workspace.now)
    if not document.body.strip() and not entry.title:
        raise RejectedError(
            "the edited memory is empty, so nothing was changed", "to delete it: mem forget"
        )
    has_frontmatter = bool(document.head)
    old_body = parse_body(before)
    if has_frontmatter and document.body != old_body and workspace.is_managed(path):
        stamp = {"updated_at": format_time(workspace.now)}
        if not is_said_by_user:
            stamp.update(lower_source(entry.source, "inferred"))
        after = edit_entry(after, stamp)
    return after, entry.id, entry.summary


def lower_source(current: str, source: str) -> dict[str, Any]:
    """Return the source of a text that somebody changes who is trusted less than its author."""
    if TRUST.get(source, 0.5) < TRUST.get(current, 0.5):
        return {"source": source, "trust": None}
    return {}


def parse_body(text: str) -> str:
    try:
        return parse(text).body
    except FrontmatterError:
        return ""


def replace_passage(
    workspace: Workspace, name: str, old: str, new: str, *, is_said_by_user: bool = False
) -> Outcome:
    """Replace a passage that occurs exactly once in a file."""
    path = find_file(workspace, name).path
    text = read_file(workspace, path) or ""
    count = text.count(old)
    if count != 1:
        problem = "does not occur" if not count else f"occurs {count} times"
        raise RejectedError(f"{old!r} {problem} in {path}", "copy more of the text around it")
    after = text.replace(old, new)
    return replace_text(workspace, path, text, after, is_said_by_user=is_said_by_user)


def find_file(workspace: Workspace, name: str) -> Named:
    """Return the memory or file that a name means, even if the index does not know it."""
    named = find_named(open_index(workspace), name)
    if named is not None:
        return named
    for candidate in (name, f"{workspace.prefix}{name}"):
        is_inside = not Path(candidate).is_absolute() and ".." not in Path(candidate).parts
        if is_inside and (workspace.root / candidate).is_file():
            return Named(candidate, None)
    raise NotFoundError(f"no memory or file {name!r}", f"search for it: mem search {name!r}")


def update_entry(
    workspace: Workspace, name: str, body: str | None, fields: dict[str, Any], *, source: str
) -> Outcome:
    """Give an entry another text or other fields, for `mem write --id`.

    `source` says who changes it.
    """
    index = open_index(workspace)
    named = find_file(workspace, name)
    if named.entry is None:
        raise NotFoundError(f"{named.path} is not a memory", "edit the file: mem edit PATH")
    entry = named.entry
    fields = {**fields, "updated_at": format_time(workspace.now)}
    if body is not None and "source" not in fields:
        fields.update(lower_source(entry.source, source))
    change = edit_file(workspace, entry.path, fields, body)
    new_entry, _ = read_entry(parse(change.after or ""), entry.path, workspace.now)
    changes = [change, *change_page_line(workspace, entry.id, new_entry.summary)]
    for other in find_same_key(index, str(fields.get("key", "")), entry.project, entry.owner):
        if other.id != entry.id:
            changes += supersede(workspace, other, entry.id, new_entry.summary)
    result = commit_one(
        workspace,
        "edit",
        changes,
        summary=new_entry.summary,
        is_said_by_user=fields.get("source") == "user",
    )
    short_id = index.shorten_id(entry.id)
    return Outcome("edited", entry.id, short_id, entry.path, new_entry.summary, undo=result.number)


def move_to_workspace(source: Workspace, target: Workspace, name: str) -> Outcome:
    """Move a memory to another workspace. The receiving one commits first: nothing can be lost."""
    index = open_index(source)
    named = find_file(source, name)
    if named.entry is None:
        raise NotFoundError(f"{named.path} is not a memory")
    entry = named.entry
    text = read_file(source, entry.path) or ""
    received = Commit()
    if read_file(target, entry.path) != text:
        added = [Replace(entry.path, None, text)]
        received = commit_one(target, "edit", added, summary=entry.summary)
    changes = [Replace(entry.path, text, None), *change_page_line(source, entry.id, None)]
    try:
        result = commit_one(source, "edit", changes, summary=entry.summary)
    except MemError:
        with suppress(MemError):
            undo(target, received.number)
        raise
    return Outcome(
        "moved", entry.id, index.shorten_id(entry.id), entry.path, entry.summary, undo=result.number
    )
