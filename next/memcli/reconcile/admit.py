"""Compare new memories with those that exist, and decide what becomes of each.

Only conclusive evidence changes an existing memory: the same words confirm it, the same key or an
explicit `supersedes` replaces it. Similar memories are reported and left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from ..errors import RejectedError, UnavailableError, UsageError
from ..formats.dates import format_time
from ..formats.digests import build_words_digest
from ..formats.entry import SOURCES, TRUST, TYPES, Entry, fold_key, format_entry
from ..formats.ids import build_id, build_slug
from ..formats.text import summarize
from ..index.index import Index, IndexedEntry, open_index
from ..search.names import get_entry
from ..store.commit import Append, ChangeGroup, Commit, Replace, commit, hold_lock
from ..store.gates import redact_text
from ..store.workspace import Workspace
from .changes import edit_file, find_same_key, replace_entries
from .outcome import Outcome, build_outcome, describe

# At .75 most reported memories say something about the same; the model finds few repeats above .9.
SIMILAR_COSINE = 0.75
MOST_SIMILAR = 3
# Usually one text is missing, the memory written before. After a large pull, nobody should wait.
EMBED_SECONDS = 0.5


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
    # Before the lock: nobody should wait for the model.
    similar = find_similar(index, [draft.body for draft in drafts]) if deduplicate else []
    with hold_lock(workspace):
        if deduplicate:
            index.refresh()  # another process may have said the same meanwhile
        workspace.resources["is scanned"] = True
        admitted = [admit(index, draft, deduplicate=deduplicate) for draft in drafts]
        groups = [group for group, _ in admitted]
        outcomes = [outcome for _, outcome in admitted]
        for outcome, others in zip(outcomes, similar, strict=False):
            add_similar(index, outcome, others)
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if draft.redact_secrets:
                outcome.text = summarize(redact_text(workspace, draft.body.strip() or draft.title))
            elif draft.allow_secrets:
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
    # For others the gate rejects the text, since it repeats a forgotten memory.
    if known is not None and draft.source == "user":
        return bring_back(index, draft, known)
    entry = build_entry(index.workspace, draft)
    path = build_path(index.workspace, draft, entry)
    outcome = Outcome("saved", entry.id, index.shorten_id(entry.id), path, entry.summary)
    replaced = replace_entries(
        index, entry.id, draft.trust, entry.summary, find_superseded(index, draft)
    )
    entry = replace(entry, conflicts_with=replaced.conflicts)
    outcome.related += replaced.related
    changes = [Replace(path, None, format_entry(entry)), *replaced.changes]
    return build_group(draft, changes), outcome


def add_similar(index: Index, outcome: Outcome, others: Sequence[IndexedEntry]) -> None:
    """Mention similar memories in the outcome of a new one."""
    if outcome.action == "saved":
        known = {outcome.id, *(related.id for related in outcome.related)}
        outcome.related += [
            describe(index, item, "similar") for item in others if item.id not in known
        ]


def complete_draft(index: Index, draft: Draft) -> Draft:
    """Fill in the defaults of the workspace, and the key of a memory that the draft replaces."""
    if draft.source not in SOURCES:
        raise UsageError(f"unknown source {draft.source!r}", f"one of: {', '.join(SOURCES)}")
    if draft.type and draft.type not in TYPES:
        raise UsageError(f"unknown type {draft.type!r}", f"one of: {', '.join(TYPES)}")
    workspace = index.workspace
    # In the user's own workspace, memories of several projects live together.
    project = workspace.project if workspace.is_own else str(workspace.settings["project"])
    replaced = [get_entry(index, name).key for name in draft.supersedes]
    return replace(
        draft,
        key=draft.key or next((key for key in replaced if key), ""),
        type=draft.type or "fact",
        owner=draft.owner or str(workspace.settings["owner"]),
        project=draft.project or project,
        created_at=draft.created_at or format_time(workspace.now),
    )


def build_group(draft: Draft, changes: Sequence[Replace | Append]) -> ChangeGroup:
    return ChangeGroup(
        changes,
        allow_secrets=draft.allow_secrets,
        redact_secrets=draft.redact_secrets,
        is_said_by_user=draft.source == "user",
    )


def build_entry(workspace: Workspace, draft: Draft) -> Entry:
    moment = workspace.now
    return Entry(
        id=build_id("mem", moment, workspace.context.noise),
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
    month = workspace.now.astimezone(workspace.zone).strftime("%Y-%m")
    has_secrets = draft.redact_secrets or draft.allow_secrets
    slug = "" if has_secrets else build_slug(entry.title or summarize(entry.body))
    name = f"{slug}-{entry.id[-6:]}" if slug else entry.id[-6:]
    return f"{workspace.entries_folder}{month}/{name}.md"


def find_same_words(index: Index, draft: Draft) -> IndexedEntry | None:
    """Return the entry with the same words. Memories of different owners never merge."""
    entries = index.list_entries(
        "same_words = ? and owner = ? and project = ?"
        " and status in ('active', 'forgotten', 'faded')",
        (build_words_digest(draft.body.strip() or draft.title), draft.owner, draft.project),
    )
    # "enabled" under one key says something else than under another.
    key = fold_key(draft.key)
    entries = [entry for entry in entries if not key or not entry.key or entry.key == key]
    # A note of the user's own vault is never rewritten unless a command names it.
    entries = [entry for entry in entries if index.workspace.is_managed(entry.path)]
    active = [entry for entry in entries if entry.status == "active"]
    return next(iter(active or entries), None)


def confirm(index: Index, draft: Draft, known: IndexedEntry) -> tuple[ChangeGroup, Outcome]:
    """Confirm an entry instead of storing the same words twice. Given fields are updated."""
    changes: dict[str, Any] = {
        "strength": known.strength + 1,
        "updated_at": max(draft.created_at, known.updated_at),
        "tags": tuple(dict.fromkeys([*known.tags, *draft.tags])),
        "aliases": tuple(dict.fromkeys([*known.aliases, *draft.aliases])),
        "files": tuple(dict.fromkeys([*known.files, *draft.files])),
    }
    for field_name in ("title", "key", "expires_at", "pinned"):
        if value := getattr(draft, field_name):
            changes[field_name] = value
    # Two people who say the same are as credible as the better one.
    trust = max(draft.trust, known.trust)
    if draft.trust > known.trust:
        changes["source"] = draft.source
    replaced = replace_entries(index, known.id, trust, known.summary, find_superseded(index, draft))
    if replaced.conflicts:
        changes["conflicts_with"] = (*known.conflicts_with, *replaced.conflicts)
    outcome = build_outcome(index, "confirmed", known)
    outcome.strength = known.strength + 1
    outcome.related = replaced.related
    edited = edit_file(index.workspace, known.path, changes)
    return build_group(draft, [edited, *replaced.changes]), outcome


def bring_back(index: Index, draft: Draft, known: IndexedEntry) -> tuple[ChangeGroup, Outcome]:
    """Restore a forgotten memory, because the user said it again."""
    changes = {"status": None, "forgotten_at": None, "reason": None, "updated_at": draft.created_at}
    edited = edit_file(index.workspace, known.path, changes)
    others = find_same_key(index, draft.key or known.key, known.project, known.owner)
    replaced = replace_entries(index, known.id, draft.trust, known.summary, others)
    outcome = build_outcome(index, "restored", known)
    outcome.related = replaced.related
    return build_group(draft, [edited, *replaced.changes]), outcome


def find_superseded(index: Index, draft: Draft) -> list[IndexedEntry]:
    """Return the active entries that a draft replaces: by name, and by key, project and owner."""
    entries = [get_entry(index, name) for name in draft.supersedes]
    same_key = find_same_key(index, draft.key, draft.project, draft.owner)
    return entries + [entry for entry in same_key if entry not in entries]


def find_similar(index: Index, texts: Sequence[str]) -> list[list[IndexedEntry]]:
    """Return for each text the active entries that are closest in meaning.

    The list is empty if there are no entries, or no model.
    """
    import numpy as np

    from ..index.index import KINDS

    if not index.run("select 1 from chunks where kind = 'entry' and active limit 1").fetchone():
        return []
    try:
        index.embed_missing(EMBED_SECONDS)
        vectors = index.get_embedder().embed(list(texts))
    except UnavailableError:
        return []
    rows = index.load_rows()
    rows = rows[(rows[:, 3] == KINDS.index("entry")) & (rows[:, 4] == 1) & (rows[:, 2] >= 0)]
    # A damaged matrix comes back shorter than the table says.
    matrix = index.matrix.load()
    rows = rows[rows[:, 2] < len(matrix)]
    similar = []
    for cosines in vectors @ matrix[rows[:, 2]].T:
        best = np.argsort(-cosines)[:MOST_SIMILAR]
        files = [int(rows[row, 1]) for row in best if cosines[row] >= SIMILAR_COSINE]
        entries: list[IndexedEntry] = []
        for file in dict.fromkeys(files):
            entries += index.list_entries("file = ?", (file,))
        similar.append(entries)
    return similar
