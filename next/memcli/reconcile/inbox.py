"""The inbox: memories that wait for a person's decision. Nothing in it is searched or recalled."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ..errors import MemError
from ..formats.dates import format_time
from ..formats.entry import Entry, read_entry
from ..formats.frontmatter import parse
from ..formats.ids import is_id
from ..index.forgotten import load_forgotten
from ..index.index import open_index
from ..store.commit import ChangeGroup, Commit, Replace, commit, read_file
from ..store.workspace import Workspace
from .changes import mask_text
from .draft import Draft


@dataclass
class InboxItem:
    """A memory in the inbox."""

    id: str
    path: str
    text: str  # in one line, masked
    reason: str  # why it waits
    held_at: str
    entry: Entry


def build_inbox_entry(workspace: Workspace, entry: Entry, reason: str) -> tuple[str, Entry]:
    """Return the path and the entry of a memory that waits for a decision."""
    path = f"{workspace.prefix}inbox/{entry.id}.md"
    return path, replace(entry, reason=reason, updated_at=format_time(workspace.now))


def list_inbox(workspace: Workspace) -> list[InboxItem]:
    """Return the memories in the inbox, the oldest first."""
    items = []
    index = open_index(workspace, refresh_first=False)
    forgotten = load_forgotten(index.database, workspace)
    for path, entry in read_inbox(workspace):
        text = mask_text(workspace, entry.summary, forgotten)
        reason = mask_text(workspace, entry.reason, forgotten)
        items.append(InboxItem(entry.id, path, text, reason, entry.updated_at, entry))
    return sorted(items, key=lambda item: (item.held_at, item.id))


def read_inbox(workspace: Workspace) -> Iterator[tuple[str, Entry]]:
    """Yield the path and the entry of each file in the inbox, as it is."""
    folder = f"{workspace.prefix}inbox"
    names: list[str] = []
    with suppress(OSError):
        names = [name for name in os.listdir(workspace.root / folder) if name.endswith(".md")]
    for path in (f"{folder}/{name}" for name in sorted(names)):
        try:
            document = parse(read_file(workspace, path) or "")
        except (MemError, OSError, ValueError):
            continue  # a link, or a file that mem did not write
        yield path, read_entry(document, path, workspace.now)[0]


def build_draft(workspace: Workspace, item: InboxItem) -> Draft:
    """Return the draft of a memory that a person accepts."""
    entry = item.entry
    # A clone can bring an inbox along.
    source = entry.source if entry.source in ("user", "observed") else "inferred"
    return Draft(
        entry.body,
        entry.type,
        entry.title,
        entry.tags,
        entry.aliases,
        entry.key,
        entry.project,
        entry.owner,
        source if workspace.is_trusted else "inferred",
        entry.confidence,
        created_at=entry.created_at,
        files=entry.files,
        sources=entry.sources,
        metadata=dict(entry.metadata),
        id=entry.id if is_id(entry.id) else "",
        inbox_path=item.path,
    )


def delete_inbox(
    workspace: Workspace, ids: Sequence[str], *, command: str = "tend", actor: str = "hook"
) -> Commit:
    """Delete memories that nobody decided about."""
    items = [item for item in list_inbox(workspace) if item.id in ids]
    groups = [
        ChangeGroup([Replace(item.path, read_file(workspace, item.path), None)]) for item in items
    ]
    return commit(workspace, command, groups, summary=f"inbox: {len(items)}", actor=actor)
