"""A draft: a memory that somebody wants to save, and the entry that it becomes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from ..errors import RejectedError, UsageError
from ..formats.dates import format_time, parse_time
from ..formats.entry import SOURCES, TRUST, TYPES, Entry
from ..formats.ids import build_id, build_slug
from ..formats.text import summarize
from ..index.index import Index
from ..search.names import get_entry
from ..store.workspace import Workspace


@dataclass
class Draft:
    """A memory that somebody wants to save."""

    body: str
    type: str = ""
    title: str = ""
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    key: str = ""
    project: str = ""
    owner: str = ""
    source: str = "inferred"
    confidence: float | None = None
    pinned: bool = False
    expires_at: str = ""
    created_at: str = ""  # when it was said; empty: now
    is_dated: bool = False  # whether `created_at` was given
    files: Sequence[str] = ()
    sources: Sequence[str] = ()  # the messages that said it: each confirms a memory once
    metadata: dict[str, Any] = field(default_factory=dict)
    path: str = ""  # relative to the folder of entries
    supersedes: Sequence[str] = ()
    corrects: str = ""  # words of the statement that this one corrects
    allow_secrets: bool = False
    redact_secrets: bool = False
    id: str = ""
    inbox_path: str = ""  # a person accepted it from this file of the inbox

    @property
    def text(self) -> str:
        return self.body.strip() or self.title

    @property
    def trust(self) -> float:
        return TRUST[self.source]


def complete_draft(index: Index, draft: Draft) -> Draft:
    """Fill in the defaults of the workspace, and the key of a memory that the draft replaces."""
    if not draft.text:
        raise RejectedError("the memory is empty", 'write some text: mem write "…"')
    if draft.source not in SOURCES:
        raise UsageError(f"unknown source {draft.source!r}", f"one of: {', '.join(SOURCES)}")
    if draft.type and draft.type not in TYPES:
        raise UsageError(f"unknown type {draft.type!r}", f"one of: {', '.join(TYPES)}")
    workspace = index.workspace
    # In the user's own workspace, memories of several projects live together.
    project = workspace.project if workspace.is_own else str(workspace.settings["project"])
    replaced = [get_entry(index, name).key for name in draft.supersedes]
    said_at = parse_time(draft.created_at) if draft.created_at else workspace.now
    if said_at is None:
        raise UsageError(f"cannot read the date {draft.created_at!r}", "for example: 2026-11-28")
    return replace(
        draft,
        key=draft.key or next((key for key in replaced if key), ""),
        type=draft.type or "fact",
        owner=draft.owner or str(workspace.settings["owner"]),
        project=draft.project or project,
        # Nothing was said in the future, whatever another machine's clock says.
        created_at=format_time(min(said_at, workspace.now)),
        is_dated=bool(draft.created_at),
    )


def build_entry(workspace: Workspace, draft: Draft) -> Entry:
    # Ids sort by the time when it was said.
    return Entry(
        id=draft.id or build_id("mem", get_moment(workspace, draft), workspace.context.noise),
        body=draft.body.strip(),
        type=draft.type,
        title=draft.title,
        tags=tuple(draft.tags),
        aliases=tuple(draft.aliases),
        key=draft.key,
        project=draft.project,
        owner=draft.owner,
        source=draft.source,
        trust=draft.trust,
        confidence=draft.confidence,
        pinned=draft.pinned,
        created_at=draft.created_at,
        updated_at=draft.created_at,
        expires_at=draft.expires_at,
        files=tuple(draft.files),
        sources=tuple(draft.sources),
        metadata=draft.metadata,
    )


def build_path(workspace: Workspace, draft: Draft, entry: Entry) -> str:
    """Return the path of a new entry: the month, its first words, and the end of its id."""
    if draft.path:
        if any(part.startswith(".") for part in PurePosixPath(draft.path).parts):
            raise RejectedError(f"{draft.path} is hidden or outside", "choose another --path")
        name = draft.path if draft.path.endswith(".md") else f"{draft.path}.md"
        return workspace.entries_folder + name.removeprefix(workspace.entries_folder)
    moment = get_moment(workspace, draft)
    has_secrets = draft.redact_secrets or draft.allow_secrets
    slug = "" if has_secrets else build_slug(entry.title or summarize(entry.body))
    name = f"{slug}-{entry.id[-6:]}" if slug else entry.id[-6:]
    return f"{workspace.entries_folder}{moment.astimezone(workspace.zone):%Y-%m}/{name}.md"


def get_moment(workspace: Workspace, draft: Draft) -> datetime:
    """Return when a draft was said. The time of the command has milliseconds."""
    return (parse_time(draft.created_at) if draft.is_dated else None) or workspace.now
