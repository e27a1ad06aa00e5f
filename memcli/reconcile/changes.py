"""Drafts of memories, the changes of files that save them, and the outcomes.

A draft is a memory that somebody wants to save. The inbox has the memories about which a person
decides. Nothing in it is searched or recalled.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from shlex import quote
from typing import Any, NamedTuple

from ..errors import MemError, RejectedError, UsageError, check_choice
from ..formats import (
    CONTROL,
    SOURCES,
    TRUST,
    Entry,
    FrontmatterError,
    build_id,
    build_slug,
    edit_entry,
    find_promoted_lines,
    fold_key,
    format_time,
    guess_type,
    is_id,
    parse,
    parse_time,
    read_entry,
    replace_body,
    replace_promoted_line,
    summarize,
)
from ..index import ForgottenTexts, Index, IndexedEntry, check_type, get_index
from ..search.names import get_entry
from ..store import Append, ChangeGroup, Commit, Replace, Workspace, commit, read_file, redact_text

UNDECIDED_DAYS = 90
# S3 in "The cache is in GCS, not S3.", and in "GCS, not S3, has the cache."
DENIED = re.compile(r", (?:and )?not (?:an? |the |in |on |at |to )?([\w./:@# -]{2,40})(?:[.!]?$|,)")
LIST_FIELDS = ("tags", "aliases", "files", "sources")
# The fields that an entry copies from a draft, and a draft from an entry in the inbox.
COPIED_FIELDS = (
    *LIST_FIELDS,
    *("type", "title", "key", "project", "owner", "confidence", "pinned", "metadata"),
    *("created_at", "updated_at", "expires_at"),
)


@dataclass
class Related:
    """Another memory that an outcome mentions."""

    id: str
    short_id: str
    text: str
    relation: str  # replaces, replaced by, contradicts, similar, hides or same key in PROJECT
    path: str = ""


@dataclass
class Outcome:
    """The outcome for one memory, as commands print it."""

    action: str  # saved, confirmed, unchanged, held, restored, edited or rejected
    id: str = ""
    short_id: str = ""
    path: str = ""
    text: str = ""
    strength: int = 1
    type: str = ""
    related: list[Related] = field(default_factory=list)
    error: MemError | None = None
    undo: int = 0
    source: str = ""  # if an edit lowered it


@dataclass
class ForgetResult:
    """The outcome of `forget` or `restore`."""

    outcomes: list[Outcome] = field(default_factory=list)
    result: Commit = field(default_factory=Commit)
    other_files: list[str] = field(default_factory=list)  # that contained a purged text
    git_commits: list[str] = field(default_factory=list)  # that still contain it
    candidates: list[Related] = field(default_factory=list)  # one may be meant; nothing was done


class Planned:
    """A memory that the command creates or changes, with the fields that it will have."""

    def __init__(
        self, path: str, base: Entry | IndexedEntry, sources: Sequence[str], *, is_new: bool = False
    ) -> None:
        self.path = path
        self.base = base
        self.sources = tuple(sources)
        self.is_new = is_new
        self.is_confirmed = False  # once per command, however often the drafts repeat it
        self.fields: dict[str, Any] = {}  # the new ones

    def __getattr__(self, name: str) -> Any:
        return self.fields.get(name, getattr(self.base, name))

    @property
    def is_active(self) -> bool:
        return self.status in ("active", None) and not self.superseded_by


def build_related(index: Index, entry: IndexedEntry | Planned, relation: str) -> Related:
    return Related(entry.id, index.shorten_id(entry.id), entry.summary, relation, entry.path)


def build_outcome(index: Index, action: str, entry: IndexedEntry | Planned) -> Outcome:
    short_id = index.shorten_id(entry.id)
    return Outcome(
        action, entry.id, short_id, entry.path, entry.summary, entry.strength, entry.type
    )


class Replacement(NamedTuple):
    """The effect of a new value on the entries that it should replace."""

    changes: list[Replace | Append]
    conflicts: tuple[str, ...]  # ids of entries that are trusted more and stay
    related: list[Related]


def replace_entries(
    index: Index, new_id: str, trust: float, summary: str, others: Iterable[IndexedEntry]
) -> Replacement:
    """Supersede entries, except those that are trusted more."""
    result = Replacement([], (), [])
    for other in others:
        # An entry that keeps its own key does not replace itself.
        if other.id == new_id:
            continue
        if not can_replace(trust, other.trust):
            result = result._replace(conflicts=(*result.conflicts, other.id))
            result.related.append(build_related(index, other, "contradicts"))
        else:
            result.changes.extend(supersede(index.workspace, other, new_id, summary))
            result.related.append(build_related(index, other, "replaces"))
    return result


def can_replace(newer_trust: float, older_trust: float) -> bool:
    """Return whether a statement replaces an older one.

    A less trusted source can contradict a memory, but cannot replace it.
    """
    return newer_trust >= older_trust


def find_same_key(index: Index, key: str, project: str, owner: str) -> list[IndexedEntry]:
    """Return the active entries with a key. Each project and owner has slots of its own."""
    if not key:
        return []
    entries = index.list_entries(
        "key = ? and project = ? and owner = ? and status = 'active'",
        (fold_key(key), project, owner),
    )
    return [entry for entry in entries if index.workspace.is_managed(entry.path)]


def supersede(
    workspace: Workspace, old: IndexedEntry, new_id: str, summary: str
) -> list[Replace | Append]:
    """Return the changes that mark an entry as replaced, in its file and in MEMORY.md."""
    changes: list[Replace | Append] = [
        edit_file(workspace, old.path, {"superseded_by": new_id, "status": None})
    ]
    return changes + change_page_line(workspace, old.id, summary, new_id)


def change_page_line(
    workspace: Workspace, entry_id: str, statement: str | None, new_id: str = ""
) -> list[Replace | Append]:
    """Return the change of a memory's line in MEMORY.md, if it has one."""
    page = read_file(workspace, workspace.page_path)
    # Most memories are not on the page, and an unchanged page must not be in the commit.
    if page is None or entry_id not in find_promoted_lines(page):
        return []
    after = replace_promoted_line(page, entry_id, statement, new_id)
    return [Replace(workspace.page_path, page, after)]


def follow_promoted_lines(
    workspace: Workspace, successors: Mapping[str, tuple[str, str]]
) -> list[Replace | Append]:
    """Return the change of MEMORY.md whose lines follow memories that were replaced.

    `successors` has the id and the sentence of the memory that replaces each.
    """
    page = read_file(workspace, workspace.page_path) if successors else None
    after = page or ""
    for promoted in find_promoted_lines(after):
        new_id, summary = promoted, ""
        while new_id in successors:
            new_id, summary = successors[new_id]
        if new_id != promoted:
            after = replace_promoted_line(after, promoted, summary, new_id)
    return [Replace(workspace.page_path, page, after)] if after != (page or "") else []


def edit_file(
    workspace: Workspace, path: str, changes: dict[str, Any], body: str | None = None
) -> Replace:
    """Return the change of an entry's frontmatter, and of its body if one is given."""
    # The file itself, not the index: the index has masked the secrets in it.
    text = read_file(workspace, path)
    if text is None:
        raise RejectedError(f"{path} was deleted meanwhile")
    try:
        edited = edit_entry(text, changes)
    except FrontmatterError as error:
        raise RejectedError(
            f"{path}:{error.line}: {error.reason}", f"fix it in your editor: mem edit {quote(path)}"
        ) from None
    if body is not None:
        edited = replace_body(edited, body)
    return Replace(path, text, edited)


def mask_text(workspace: Workspace, text: str, forgotten: ForgottenTexts | None = None) -> str:
    """Return a text without secrets and forgotten passages."""
    if forgotten is None:
        forgotten = get_index(workspace).load_forgotten()
    return redact_text(workspace, forgotten.hide(text)[0])


def clean_text(workspace: Workspace, text: str) -> str:
    """Return a text that the gates of the writer let through."""
    clean = CONTROL.sub("", mask_text(workspace, text)).strip()
    # A line of a conflict that somebody pasted is not a conflict of the file.
    lines = (f" {line}" if line[:7] in ("<" * 7, ">" * 7) else line for line in clean.split("\n"))
    return "\n".join(lines)


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
    created_at: str = ""  # empty: now
    updated_at: str = ""  # empty: when it was created
    is_dated: bool = False  # whether `created_at` was given
    is_undated: bool = False  # its conversation has no times, so it may be older than it seems
    is_typed: bool = False  # whether `type` was given
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


class Neighbors(NamedTuple):
    """The memories that are close to a draft."""

    similar: Sequence[IndexedEntry] = ()
    forgotten: IndexedEntry | None = None
    replaced: Sequence[IndexedEntry] = ()  # it corrects them, or a model says so
    contradicted: Sequence[IndexedEntry] = ()  # it may correct them


def complete_draft(index: Index, draft: Draft, default_project: str | None = None) -> Draft:
    """Fill in the defaults of the workspace, and the key of a replaced memory.

    `default_project` is the project of a draft that names none; None: that of the workspace.
    """
    if not draft.text:
        raise RejectedError("the memory is empty", 'write some text: mem write "…"')
    check_choice("source", draft.source, SOURCES)
    check_type(draft.type)
    workspace = index.workspace
    # In the user's own workspace, memories of several projects live together.
    project = workspace.project if workspace.is_own else str(workspace.settings["project"])
    if default_project is not None:
        project = default_project
    replaced = [get_entry(index, name).key for name in draft.supersedes]
    said_at = parse_time(draft.created_at) if draft.created_at else workspace.now
    if said_at is None:
        raise UsageError(f"cannot read the date {draft.created_at!r}", "for example: 2026-11-28")
    return replace(
        draft,
        key=draft.key or next((key for key in replaced if key), ""),
        type=draft.type or guess_type(draft.text),
        is_typed=bool(draft.type),
        owner=draft.owner or str(workspace.settings["owner"]),
        project=draft.project or project,
        # Nothing was said in the future, whatever another machine's clock says.
        created_at=format_time(min(said_at, workspace.now)),
        is_dated=bool(draft.created_at),
        corrects=draft.corrects or find_denied_value(draft.text),
    )


def find_denied_value(text: str) -> str:
    """Return the wrong value in a sentence: S3 in "GCS, not S3"."""
    match = DENIED.search(text)
    return match[1] if match else ""


def build_entry(workspace: Workspace, draft: Draft) -> Entry:
    fields = {name: getattr(draft, name) for name in COPIED_FIELDS}
    for name in LIST_FIELDS:
        fields[name] = tuple(fields[name])
    fields["updated_at"] = max(draft.updated_at, draft.created_at)
    # Ids sort by the time of creation.
    return Entry(
        id=draft.id or build_id("mem", get_moment(workspace, draft), workspace.context.noise),
        body=draft.body.strip(),
        source=draft.source,
        trust=draft.trust,
        **fields,
    )


def build_path(workspace: Workspace, draft: Draft, entry: Entry) -> str:
    """Return the path of a new entry: the month, its first words, and the end of its id."""
    if draft.path:
        if any(part.startswith(".") for part in PurePosixPath(draft.path).parts):
            raise RejectedError(
                f"{draft.path} is hidden or outside the workspace", "choose another path"
            )
        name = draft.path if draft.path.endswith(".md") else f"{draft.path}.md"
        return workspace.entries_folder + name.removeprefix(workspace.entries_folder)
    moment = get_moment(workspace, draft)
    has_secrets = draft.redact_secrets or draft.allow_secrets
    slug = "" if has_secrets else build_slug(entry.title or summarize(entry.body))
    name = f"{slug}-{entry.id[-6:]}" if slug else entry.id[-6:]
    return f"{workspace.entries_folder}{moment.astimezone(workspace.zone):%Y-%m}/{name}.md"


def get_moment(workspace: Workspace, draft: Draft) -> datetime:
    """Return the time of creation. The time of the command has milliseconds."""
    return (parse_time(draft.created_at) if draft.is_dated else None) or workspace.now


@dataclass
class InboxItem:
    """A memory in the inbox."""

    id: str
    path: str
    text: str  # in one line, masked
    reason: str  # why a person decides
    added_at: str
    entry: Entry


def build_inbox_entry(workspace: Workspace, entry: Entry, reason: str) -> tuple[str, Entry]:
    """Return the path and the entry of a memory in the inbox."""
    path = f"{workspace.prefix}inbox/{entry.id}.md"
    return path, replace(entry, reason=reason, updated_at=workspace.stamp)


def list_inbox(workspace: Workspace) -> list[InboxItem]:
    """Return the memories in the inbox, the oldest first."""
    items = []
    forgotten = get_index(workspace).load_forgotten()
    for path, entry in read_inbox(workspace):
        text = mask_text(workspace, entry.summary, forgotten)
        reason = mask_text(workspace, entry.reason, forgotten)
        items.append(InboxItem(entry.id, path, text, reason, entry.updated_at, entry))
    return sorted(items, key=lambda item: (item.added_at, item.id))


def read_inbox(workspace: Workspace) -> Iterator[tuple[str, Entry]]:
    """Yield the path and the entry of each file in the inbox, as it is."""
    folder = f"{workspace.prefix}inbox"
    names: list[str] = []
    with suppress(OSError):
        names = [name for name in os.listdir(workspace.root / folder) if name.endswith(".md")]
    for path in (f"{folder}/{name}" for name in sorted(names)):
        try:
            text = read_file(workspace, path)
            document = parse(text or "")
        except (OSError, ValueError):
            continue  # a file that mem did not write
        if text is not None:  # as a link has none
            yield path, read_entry(document, path, workspace.now)[0]


def build_inbox_draft(workspace: Workspace, item: InboxItem) -> Draft:
    """Return the draft of a memory that a person accepts."""
    entry = item.entry
    # A clone can bring an inbox along.
    source = entry.source if entry.source in ("user", "observed") else "inferred"
    return Draft(
        entry.body,
        source=source if workspace.is_trusted else "inferred",
        id=entry.id if is_id(entry.id) else "",
        inbox_path=item.path,
        **{name: getattr(entry, name) for name in COPIED_FIELDS},
    )


def find_old_inbox(workspace: Workspace) -> list[str]:
    """Return the ids of memories that nobody decided about."""
    oldest = format_time(workspace.now - timedelta(days=UNDECIDED_DAYS))
    return [item.id for item in list_inbox(workspace) if item.added_at < oldest]


def delete_inbox(
    workspace: Workspace, ids: Sequence[str], *, command: str = "tend", actor: str = "hook"
) -> Commit:
    """Delete memories that nobody decided about."""
    items = [item for item in list_inbox(workspace) if item.id in ids]
    groups = [
        ChangeGroup([Replace(item.path, read_file(workspace, item.path), None)]) for item in items
    ]
    return commit(workspace, command, groups, summary=f"inbox: {len(items)}", actor=actor)
