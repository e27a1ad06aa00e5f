"""Describe what a sync exchanged, for its user and in commit messages."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from ..formats import FrontmatterError, count_noun, parse, read_entry, read_id
from ..index import Index, read_ignored_patterns
from ..reconcile import build_pair_question, find_conflicts, mask_text
from ..store import Workspace, is_ignored, parse_purged_ids
from .git import Repository

MOST_SENTENCES = 20  # in a commit message
# Memories that are read to show their sentences. The first sync may send thousands.
MOST_READ = 100
LETTERS = {"A": "added", "D": "deleted"}
STATUS_ACTIONS = {"superseded": "replaced", "forgotten": "forgotten"}
VERBS = {
    "added": "Remember",
    "changed": "Change",
    "replaced": "Replace",
    "forgotten": "Forget",
    "deleted": "Delete",
}
KIND_NAMES = {"": "settings", "memory": "MEMORY.md", "note": "notes", "session": "conversations"}


class Conflict(NamedTuple):
    """A file that a person should check."""

    path: str
    reason: str


@dataclass
class Item:
    """A file that one side sent to the other."""

    action: str  # added, changed, replaced, forgotten or deleted
    kind: str
    path: str
    text: str = ""  # the sentence of a memory, unless it was forgotten or deleted


@dataclass
class SyncResult:
    """What a sync did."""

    remote: str = ""  # empty: there is none
    branch: str = ""
    committed: str = ""
    sent: list[Item] = field(default_factory=list)
    received: list[Item] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    skipped: list[Conflict] = field(default_factory=list)  # files that were not committed
    messages: list[str] = field(default_factory=list)


def list_items(workspace: Workspace, repository: Repository, base: str, target: str) -> list[Item]:
    """Return the files that differ between two commits, and their sentences."""
    items = []
    ignored = read_ignored_patterns(workspace)
    for path, letter in repository.list_changes(base, target).items():
        # A template that a person committed is no memory.
        kind = "" if is_ignored(ignored, path) else workspace.get_kind(path)
        items.append(Item(LETTERS.get(letter, "changed"), kind, path))
    purged_ids = parse_purged_ids(repository.read_file(target, workspace.purged_path))
    memories = [item for item in items if item.kind == "entry"][:MOST_READ]
    paths = [item.path for item in memories]
    old_texts = repository.read_files(base, paths)
    texts = repository.read_files(target, paths)
    for item in memories:
        text = texts[item.path]
        if text is None:
            # The name of a purged memory can repeat its text.
            if read_id(old_texts[item.path] or "") in purged_ids:
                item.text = "a purged memory"
            continue
        with suppress(FrontmatterError):
            entry, _ = read_entry(parse(text), item.path, workspace.now)
            item.action = STATUS_ACTIONS.get(entry.status, item.action)
            # A commit message stays forever, so it must not repeat a forgotten text or a secret.
            if item.action != "forgotten":
                item.text = mask_text(workspace, entry.summary)
    shown = {item.text for item in memories if item.action != "replaced"}
    # A repeat that was merged with the same words would look like a loss.
    items = [item for item in items if item.action != "replaced" or item.text not in shown]
    actions = list(VERBS)
    return sorted(items, key=lambda item: actions.index(item.action))


def count_items(items: Sequence[Item]) -> str:
    """Return how many memories and which other files were exchanged."""
    memories = [item for item in items if item.kind == "entry"]
    others = {KIND_NAMES.get(item.kind, item.kind) for item in items if item.kind != "entry"}
    counts = [count_noun(len(memories), "memory")] if memories else []
    return ", ".join([*counts, *sorted(others)])


def build_message(items: Sequence[Item]) -> str:
    """Return a commit message with the sentences of the changed memories."""
    memories = [item for item in items if item.kind == "entry"]
    if not memories:
        return f"Update {count_items(items)}\n"
    first = memories[0]
    verb = VERBS[first.action]
    subject = f"{verb}: {first.text}" if first.text else f"{verb} a memory"
    count = sum(item.action == first.action for item in memories)
    if count > 1:
        subject += f" (and {count - 1:,} more)"
    if len(memories) == 1:
        return f"{subject}\n"
    shown = memories[:MOST_SENTENCES]
    lines = [f"* {item.action}: {item.text or 'a memory'}\n" for item in shown]
    return f"{subject}\n\n{''.join(lines)}"


def find_new_conflicts(
    index: Index, received: Sequence[Item], reported: Sequence[Conflict]
) -> list[Conflict]:
    """Return the received memories that contradict another one, except reported ones."""
    received_paths = {item.path for item in received}
    reported_paths = {conflict.path for conflict in reported}
    conflicts = []
    for first, second in find_conflicts(index):
        paths = {first.path, second.path}
        # An older conflict waits in `mem review` already.
        if received_paths & paths and not reported_paths & paths:
            # Two versions of a note can have the same title, so a text has the line that differs.
            question = build_pair_question(index, "conflict", (first, second))
            reason = " or ".join(f"“{choice.text}”" for choice in question.memories)
            if first.key and first.key == second.key:
                reason = f"two values of {first.key}: {reason}"
            conflicts.append(Conflict(second.path, reason))
    return conflicts
