"""Compare new memories with those that exist, and decide what becomes of each.

Only conclusive evidence changes an existing memory: the same words confirm it, the same key or an
explicit `supersedes` replaces it. Similar memories are reported and left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import MemError, RejectedError, UnavailableError
from ..formats.dates import format_time
from ..formats.digests import make_words_digest
from ..formats.entry import TRUST, Entry, edit_entry, fold_key, format_entry, replace_body
from ..formats.frontmatter import FrontmatterError
from ..formats.ids import make_id, make_slug
from ..formats.page import find_promoted_lines, replace_promoted_line
from ..formats.text import summarize
from ..index.index import Index, IndexedEntry, open_index
from ..search.names import get_entry
from ..store.commit import Append, ChangeGroup, Commit, Replace, commit, read_file
from ..store.workspace import Workspace

SIMILAR_COSINE = 0.75
MOST_SIMILAR = 3


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
    created_at: str = ""
    files: Sequence[str] = ()
    sources: Sequence[str] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    path: str = ""  # relative to the folder of entries
    supersedes: Sequence[str] = ()
    allow_secrets: bool = False
    redact_secrets: bool = False

    @property
    def trust(self) -> float:
        return TRUST[self.source]


@dataclass
class Related:
    """Another memory that an outcome mentions."""

    id: str
    short_id: str
    text: str
    relation: str  # replaces, contradicts or similar


@dataclass
class Outcome:
    """What became of one draft."""

    action: str  # saved, confirmed, restored, edited or rejected
    id: str = ""
    short_id: str = ""
    path: str = ""
    text: str = ""
    strength: int = 1
    related: list[Related] = field(default_factory=list)
    error: MemError | None = None
    undo: int = 0


def write_memories(
    workspace: Workspace,
    drafts: Sequence[Draft],
    *,
    command: str = "write",
    deduplicate: bool = True,
) -> tuple[list[Outcome], Commit]:
    """Save drafts in one commit. A rejected draft does not stop the others."""
    workspace.ensure_machine()
    index = open_index(workspace, refresh_first=deduplicate)
    outcomes = []
    groups = []
    for draft in drafts:
        group, outcome = admit(index, draft, deduplicate=deduplicate)
        outcomes.append(outcome)
        groups.append(group)
    for draft, outcome in zip(drafts, outcomes, strict=True):
        if draft.redact_secrets or draft.allow_secrets:
            outcome.text = outcome.path  # the sentence may contain a secret
    summary = outcomes[0].text if len(outcomes) == 1 else f"{len(outcomes)} memories"
    result = commit(workspace, command, groups, summary=summary)
    errors = {id(group): error for group, error in result.rejected}
    for group, outcome in zip(groups, outcomes, strict=True):
        outcome.undo = result.number
        if id(group) in errors:
            outcome.action = "rejected"
            outcome.error = errors[id(group)]
    return outcomes, result


def admit(index: Index, draft: Draft, *, deduplicate: bool = True) -> tuple[ChangeGroup, Outcome]:
    """Return the changes that save a draft, and the outcome if they pass the gates."""
    if not draft.body.strip() and not draft.title:
        raise RejectedError("the memory is empty", 'write some text: mem write "…"')
    draft = complete_draft(index, draft)
    known = find_same_words(index, draft) if deduplicate else None
    if known is not None and known.status == "active":
        return confirm(index, draft, known)
    if known is not None and draft.source == "user":
        return bring_back(index, draft, known)
    entry = make_entry(index.workspace, draft)
    path = make_path(index.workspace, draft, entry)
    outcome = Outcome("saved", entry.id, index.shorten_id(entry.id), path, entry.summary)
    changes: list[Replace | Append] = []
    for old in find_superseded(index, draft):
        if draft.trust < old.trust:
            # A less trusted source can contradict a memory, but cannot replace it.
            entry = replace(entry, conflicts_with=(*entry.conflicts_with, old.id))
            outcome.related.append(describe(index, old, "contradicts"))
            continue
        changes += supersede(index.workspace, old, entry.id, entry.summary)
        outcome.related.append(describe(index, old, "replaces"))
    if deduplicate:
        mentioned = {related.id for related in outcome.related}
        similar = [other for other in find_similar(index, draft.body) if other.id not in mentioned]
        outcome.related += [describe(index, other, "similar") for other in similar]
    changes.insert(0, Replace(path, None, format_entry(entry)))
    return make_group(draft, changes), outcome


def complete_draft(index: Index, draft: Draft) -> Draft:
    """Fill in the defaults of the workspace, and the key of a memory that the draft replaces."""
    workspace = index.workspace
    replaced = [get_entry(index, name).key for name in draft.supersedes]
    return replace(
        draft,
        key=draft.key or next((key for key in replaced if key), ""),
        type=draft.type or "fact",
        owner=draft.owner or str(workspace.settings["owner"]),
        # In the user's own workspace, memories of several projects live together.
        project=draft.project or str(workspace.settings["project"]),
        created_at=draft.created_at or format_time(workspace.now),
    )


def make_group(draft: Draft, changes: Sequence[Replace | Append]) -> ChangeGroup:
    return ChangeGroup(
        changes,
        allow_secrets=draft.allow_secrets,
        redact_secrets=draft.redact_secrets,
        is_said_by_user=draft.source == "user",
    )


def make_entry(workspace: Workspace, draft: Draft) -> Entry:
    moment = workspace.now
    return Entry(
        id=make_id("mem", moment, workspace.context.noise),
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


def make_path(workspace: Workspace, draft: Draft, entry: Entry) -> str:
    """Return the path of a new entry: the month, its first words, and the end of its id."""
    if draft.path:
        name = draft.path if draft.path.endswith(".md") else f"{draft.path}.md"
        return workspace.entries_folder + name.removeprefix(workspace.entries_folder)
    month = workspace.now.astimezone(workspace.zone).strftime("%Y-%m")
    has_secrets = draft.redact_secrets or draft.allow_secrets
    slug = "" if has_secrets else make_slug(entry.title or summarize(entry.body))
    name = f"{slug}-{entry.id[-6:]}" if slug else entry.id[-6:]
    return f"{workspace.entries_folder}{month}/{name}.md"


def find_same_words(index: Index, draft: Draft) -> IndexedEntry | None:
    """Return the entry with the same words. Memories of different owners never merge."""
    entries = index.list_entries(
        "same_words = ? and owner = ? and project = ?"
        " and status in ('active', 'forgotten', 'faded')",
        (make_words_digest(draft.body), draft.owner, draft.project),
    )
    active = [entry for entry in entries if entry.status == "active"]
    return next(iter(active or entries), None)


def confirm(index: Index, draft: Draft, known: IndexedEntry) -> tuple[ChangeGroup, Outcome]:
    """Confirm an entry instead of storing the same words twice."""
    tags = tuple(dict.fromkeys([*known.tags, *draft.tags]))
    changes: dict[str, Any] = {
        "strength": known.strength + 1,
        "updated_at": max(draft.created_at, known.updated_at),
        "tags": tags,
    }
    if draft.trust > known.trust:
        changes["source"] = draft.source
    if draft.key and not known.key:
        changes["key"] = draft.key
    if draft.pinned:
        changes["pinned"] = True
    outcome = make_outcome(index, "confirmed", known)
    outcome.strength = known.strength + 1
    return make_group(draft, [edit_file(index.workspace, known.path, changes)]), outcome


def bring_back(index: Index, draft: Draft, known: IndexedEntry) -> tuple[ChangeGroup, Outcome]:
    """Restore a forgotten memory, because the user said it again."""
    changes = {"status": None, "forgotten_at": None, "reason": None, "updated_at": draft.created_at}
    edited = edit_file(index.workspace, known.path, changes)
    return make_group(draft, [edited]), make_outcome(index, "restored", known)


def find_superseded(index: Index, draft: Draft) -> list[IndexedEntry]:
    """Return the active entries that a draft replaces: by name, and by key, project and owner."""
    entries = [get_entry(index, name) for name in draft.supersedes]
    same_key = find_same_key(index, draft.key, draft.project, draft.owner)
    return entries + [entry for entry in same_key if entry not in entries]


def find_same_key(index: Index, key: str, project: str, owner: str) -> list[IndexedEntry]:
    """Return the active entries with a key. Each project and owner has slots of its own."""
    if not key:
        return []
    return index.list_entries(
        "key = ? and project = ? and owner = ? and status = 'active'",
        (fold_key(key), project, owner),
    )


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
    if page is None or all(promoted != entry_id for promoted, _ in find_promoted_lines(page)):
        return []
    return [
        Replace(workspace.page_path, page, replace_promoted_line(page, entry_id, statement, new_id))
    ]


def edit_file(
    workspace: Workspace, path: str, changes: dict[str, Any], body: str | None = None
) -> Replace:
    """Return the change of an entry's frontmatter, and of its body if one is given."""
    text = read_file(workspace, path)
    if text is None:
        raise RejectedError(f"{path} was deleted meanwhile")
    try:
        edited = edit_entry(text, changes)
    except FrontmatterError as error:
        raise RejectedError(
            f"{path}:{error.line}: {error.reason}", f"fix it in your editor: mem edit {path}"
        ) from None
    if body is not None:
        edited = replace_body(edited, body)
    return Replace(path, text, edited)


def find_similar(index: Index, text: str) -> list[IndexedEntry]:
    """Return the active entries whose meaning is closest to a text. Needs the model."""
    import numpy as np

    from ..index.index import KINDS

    rows = index.load_rows()
    rows = rows[(rows[:, 3] == KINDS.index("entry")) & (rows[:, 4] == 1) & (rows[:, 2] >= 0)]
    if not len(rows):
        return []
    try:
        vector = index.get_embedder().embed([text])[0]
    except UnavailableError:
        return []
    cosines = index.matrix.load()[rows[:, 2]] @ vector
    best = np.argsort(-cosines)[:MOST_SIMILAR]
    files = [int(rows[row, 1]) for row in best if cosines[row] >= SIMILAR_COSINE]
    entries = []
    for file in dict.fromkeys(files):
        entries += index.list_entries("file = ?", (file,))
    return entries


def describe(index: Index, entry: IndexedEntry, relation: str) -> Related:
    return Related(entry.id, index.shorten_id(entry.id), entry.summary, relation)


def make_outcome(index: Index, action: str, entry: IndexedEntry) -> Outcome:
    return Outcome(
        action, entry.id, index.shorten_id(entry.id), entry.path, entry.summary, entry.strength
    )
