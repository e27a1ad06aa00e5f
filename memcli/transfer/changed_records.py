"""Bring an imported memory in step with what the tool that it came from says of it now.

The text that goes stays in the archive. A change counts where it is later than the last one here; that a memory is no
longer held counts without a time, since tools note none, but not for one that somebody restored here. One that is held
again is in use again, unless something took its place here.
"""

from typing import Any

from ..beliefs.plan import Plan, applied
from ..beliefs.supersession import EntryFile, read_entry_file, restored_text
from ..formats.entry import Entry
from ..store import access_log, entries
from ..store.journal import Change
from ..store.workspace import Workspace

_FIELDS = ("type", "title", "tags", "key", "project", "source", "trust", "expires_at")
"""What is taken over besides the words; what a tool counts or computes, such as its confidence, is not."""


def follow(workspace: Workspace, path: str, entry: Entry, *, dry_run: bool) -> tuple[str, str]:
    """Change the memory at a path to what another tool's record says; return what was done, or why nothing was."""
    if workspace.layout.is_archived(path):
        return "unchanged", f"it was put away: {path}"
    here = read_entry_file(workspace, path)
    # A record without a time is as young as this import: nobody knows whether it is later than what stands here.
    is_later = here.entry.updated_at < entry.updated_at < workspace.stamp
    is_same = (here.entry.title, here.entry.body.split()) == (entry.title, entry.body.split())
    fields = {key: getattr(entry, key) for key in _FIELDS if getattr(entry, key) != getattr(here.entry, key)}
    is_changed = is_later and (not is_same or bool(fields))
    is_revived = (
        entry.status == "active" != here.entry.status == "superseded"
        and not here.entry.superseded_by
        and here.entry.superseded_at < entry.updated_at < workspace.stamp
    )
    is_retired = entry.status != "active" == here.entry.status and (is_same or is_later)
    if is_retired and is_same and _restored(workspace, here.entry.id) > entry.updated_at:
        return "unchanged", "it was restored here"
    if not is_changed and not is_retired and not is_revived:
        if is_same or here.entry.status != "active":
            return "unchanged", f"it stands at {path}"
        return "conflict", f"{path} has its id {entry.id} and says something else"
    if not dry_run:
        if is_changed:
            changed = {**fields, "updated_at": entry.updated_at}
            entries.update(workspace, path, changed, None if is_same else entry.body)
        if is_revived:
            here = read_entry_file(workspace, path)
            applied(workspace, Plan((Change(path, here.text, restored_text(workspace, here)),)), "mem import")
        if is_retired:
            _retire(workspace, read_entry_file(workspace, path), entry)
    return "updated", ""


def _restored(workspace: Workspace, identifier: str) -> str:
    """Return when a memory was last brought back; empty for one that never was."""
    noted = access_log.counts(workspace).get(access_log.RESTORED + identifier)
    return noted.last if noted else ""


def _retire(workspace: Workspace, here: EntryFile, entry: Entry) -> None:
    retired: dict[str, Any] = {"status": entry.status, "superseded_by": entry.superseded_by}
    if entry.status == "superseded":
        retired["superseded_at"] = workspace.stamp
    text = entries.revised(workspace, here.path, here.text, retired, touch=False)
    applied(workspace, Plan((Change(here.path, here.text, text),)), "mem import")
