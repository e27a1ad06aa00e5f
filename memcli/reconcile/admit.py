"""Save drafts: compare each with the memories that exist, and with the drafts before it.

Only conclusive evidence changes an existing memory: the same words confirm it; the same key, an
explicit `supersedes` or a correction that names it replaces it. Similar memories are reported and
left alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import MemError, RejectedError
from ..formats import (
    Entry,
    FrontmatterError,
    build_words_digest,
    fold_key,
    format_entry,
    parse,
    read_list,
    summarize,
    summarize_texts,
)
from ..index import Index, IndexedEntry, get_index, open_index
from ..search.names import get_entry
from ..store import (
    Append,
    ChangeGroup,
    Commit,
    Replace,
    Workspace,
    check_group,
    commit,
    hold_lock,
    read_file,
    redact_text,
    report_progress,
)
from .changes import Draft as Draft
from .changes import (
    Neighbors,
    Outcome,
    Planned,
    build_entry,
    build_inbox_entry,
    build_outcome,
    build_path,
    build_related,
    can_replace,
    complete_draft,
    edit_file,
    find_same_key,
    follow_promoted_lines,
    mask_text,
    read_inbox,
)


class Admission:
    """The drafts of one command."""

    def __init__(self, index: Index, *, deduplicate: bool = True) -> None:
        self.index = index
        self.workspace = index.workspace
        self.deduplicate = deduplicate
        self.memories: dict[str, Planned] = {}  # by path
        self.by_words: dict[tuple[object, ...], list[Planned]] = {}
        self.groups: list[tuple[Draft, Outcome, list[Planned]]] = []
        self.inbox: dict[bytes, Planned] | None = None  # the inbox, by the digest of the words
        self.last_forgotten = index.find_last_forgotten()

    def admit(self, draft: Draft, near: Neighbors = Neighbors()) -> Outcome:
        """Plan the changes that save a completed draft. Raises the error of a gate."""
        known = self.find_same_words(draft) if self.deduplicate else None
        if known is not None and known.is_active:
            return self.confirm(draft, known, near)
        if known is not None and known.superseded_by:
            if is_repeated(draft, known):
                return self.record_outcome(draft, known, "unchanged")
        # For others the gate rejects the text, since it repeats a forgotten memory.
        elif known is not None and is_said_after(draft, known.base):
            return self.restore(draft, known)
        forgotten = near.forgotten
        if forgotten and not draft.inbox_path and not is_said_after(draft, forgotten):
            return self.add_to_inbox(draft, forgotten)
        entry = build_entry(self.workspace, draft)
        path = build_path(self.workspace, draft, entry)
        planned = Planned(path, entry, entry.sources, is_new=True)
        self.apply_changes(draft, planned)
        outcome = build_outcome(self.index, "saved", planned)
        self.supersede_or_contradict(draft, planned, self.find_replaced(draft, near), outcome)
        for other in map(self.get_planned, near.contradicted):
            if other.is_active:
                planned.fields["conflicts_with"] = (*planned.conflicts_with, other.id)
                outcome.related.append(build_related(self.index, other, "contradicts"))
        # A project may have its own value, so both stay.
        where = "key != '' and key = ? and owner = ? and project != ? and '' in (project, ?)"
        slot = (fold_key(draft.key), draft.owner, draft.project, draft.project)
        outcome.related += [
            build_related(self.index, item, f"same key in {item.project or 'all projects'}")
            for item in self.index.list_entries(f"{where} and status = 'active'", slot)
        ]
        known_ids = {planned.id, *(related.id for related in outcome.related)}
        outcome.related += [
            build_related(self.index, item, "similar")
            for item in near.similar
            if item.id not in known_ids and self.get_planned(item).is_active
        ]
        return outcome

    def record_outcome(self, draft: Draft, planned: Planned, action: str) -> Outcome:
        """Record a draft that needs no other memory, and return its outcome."""
        outcome = build_outcome(self.index, action, planned)
        self.record_group(draft, outcome, planned)
        return outcome

    def confirm(self, draft: Draft, known: Planned, near: Neighbors) -> Outcome:
        """Confirm a memory instead of storing the same words twice. Given fields are updated."""
        if is_repeated(draft, known):
            return self.record_outcome(draft, known, "unchanged")
        sources = tuple(dict.fromkeys([*known.sources, *draft.sources]))
        changes: dict[str, Any] = {
            "strength": known.strength + (not known.is_confirmed),
            "updated_at": max(draft.created_at, known.updated_at),
        }
        if draft.sources:
            changes["sources"] = sources
        for name in ("tags", "aliases", "files"):
            changes[name] = tuple(dict.fromkeys([*getattr(known, name), *getattr(draft, name)]))
        # Only what the draft says: an empty field is no wish to clear the old one.
        for name in ("title", "key", "expires_at", "pinned"):
            if value := getattr(draft, name):
                changes[name] = value
        if draft.is_typed and draft.type != known.type:
            changes["type"] = draft.type
        # Two people who say the same thing are as credible as the better one.
        if draft.trust > known.trust:
            changes.update(source=draft.source, trust=draft.trust)
        self.apply_changes(draft, known, changes)
        known.sources, known.is_confirmed = sources, True
        outcome = build_outcome(self.index, "confirmed", known)
        self.supersede_or_contradict(draft, known, self.find_replaced(draft, near), outcome)
        return outcome

    def restore(self, draft: Draft, known: Planned) -> Outcome:
        """Restore a faded memory, or a forgotten one, because the user said it again."""
        changes = dict.fromkeys(("status", "forgotten_at", "reason"))
        self.apply_changes(draft, known, {**changes, "updated_at": draft.created_at})
        outcome = build_outcome(self.index, "restored", known)
        draft = replace(draft, key=draft.key or known.key)
        self.supersede_or_contradict(draft, known, self.find_replaced(draft), outcome)
        return outcome

    def add_to_inbox(self, draft: Draft, forgotten: IndexedEntry) -> Outcome:
        """Put a draft in the inbox, because it nearly repeats a forgotten memory."""
        if self.inbox is None:
            self.inbox = {
                build_words_digest(entry.body or entry.title): Planned(path, entry, ())
                for path, entry in read_inbox(self.workspace)
            }
        digest = build_words_digest(draft.text)
        if digest in self.inbox:
            outcome = self.record_outcome(draft, self.inbox[digest], "held")
            outcome.text = mask_text(self.workspace, outcome.text)  # somebody may have edited it
            return outcome
        entry = build_entry(self.workspace, draft)
        reason = f"resembles a memory that was forgotten: {self.index.shorten_id(forgotten.id)}"
        path, entry = build_inbox_entry(self.workspace, entry, reason)
        planned = Planned(path, entry, entry.sources, is_new=True)
        self.apply_changes(draft, planned)
        self.inbox[digest] = planned
        return self.record_outcome(draft, planned, "held")

    def apply_changes(self, draft: Draft, planned: Planned, changes: dict[str, Any] = {}) -> None:
        """Add changes to a memory if its file passes the gates. Raises the error of a gate.

        A rejected draft must not replace another memory, so this comes first.
        """
        before = planned.fields
        planned.fields = {**before, **changes}
        try:
            check_group(self.workspace, self.build_group(draft, [self.build_change(planned)]))
        except MemError:
            planned.fields = before
            raise

    def supersede_or_contradict(
        self, draft: Draft, planned: Planned, others: Iterable[Planned], outcome: Outcome
    ) -> None:
        """Supersede the older of two statements, unless it is trusted more: then both stay."""
        touched = [planned]
        for other in others:
            if other.id == planned.id:
                continue
            if not other.is_new:
                self.build_change(other)  # raises if its file cannot be edited
            # A statement of now is the latest, whatever the clock of another machine says.
            is_older = draft.is_dated and draft.created_at < other.updated_at
            newer, older = (other, planned) if is_older else (planned, other)
            relation = "replaced by" if is_older else "replaces"
            if not can_replace(newer.trust, older.trust):
                relation = "contradicts"
                planned.fields["conflicts_with"] = (*planned.conflicts_with, other.id)
            else:
                older.fields.update(superseded_by=newer.id, status=None)
                # A correction is the new value of the slot.
                if older.key and not newer.key:
                    newer.fields["key"] = older.key
            touched.append(other)
            outcome.related.append(build_related(self.index, other, relation))
        self.record_group(draft, outcome, *touched)

    def record_group(self, draft: Draft, outcome: Outcome, *touched: Planned) -> None:
        if draft.redact_secrets or draft.allow_secrets:
            # The terminal and the undo log show this sentence.
            outcome.text = summarize(redact_text(self.workspace, draft.text))
        self.groups.append((draft, outcome, list(touched)))
        self.memories.update({planned.path: planned for planned in touched})
        if outcome.action != "held":
            self.by_words.setdefault(self.build_words_key(draft), []).append(touched[0])

    def find_same_words(self, draft: Draft) -> Planned | None:
        """Return the memory with the same words. Memories of different owners never merge."""
        words_key = self.build_words_key(draft)
        # "enabled" under one key says something else than under another.
        keys = ("", fold_key(draft.key))
        earlier = [
            planned
            for planned in self.by_words.get(words_key, ())
            if planned.is_active and (not draft.key or fold_key(planned.key) in keys)
        ]
        if earlier:
            return earlier[0]
        entries = self.index.list_entries("same_words = ? and owner = ? and project = ?", words_key)
        entries = [
            entry
            for entry in entries
            # A note of the user's own vault is never rewritten unless a command names it.
            if self.workspace.is_managed(entry.path) and (not draft.key or entry.key in keys)
        ]
        order = {"active": 0, "superseded": 2}
        known = min(entries, key=lambda entry: order.get(entry.status, 1), default=None)
        return self.get_planned(known) if known is not None else None

    def find_replaced(self, draft: Draft, near: Neighbors = Neighbors()) -> list[Planned]:
        """Return the active memories that a draft names, corrects or shares a key with."""
        entries = [get_entry(self.index, name) for name in draft.supersedes]
        entries += find_same_key(self.index, draft.key, draft.project, draft.owner)
        for entry in near.replaced:  # read again, because the model took its time
            if self.workspace.is_managed(entry.path):
                entries += self.index.list_entries("path = ?", (entry.path,))
        memories = [self.get_planned(entry) for entry in entries]
        slot = (fold_key(draft.key), draft.project, draft.owner)
        inbox = f"{self.workspace.prefix}inbox/"
        for planned in self.memories.values() if slot[0] else ():
            key = fold_key(planned.key)
            is_same_slot = (key, planned.project, planned.owner) == slot
            if is_same_slot and not planned.path.startswith(inbox):
                memories.append(planned)
        unique = {planned.id: planned for planned in memories if planned.is_active}
        return list(unique.values())

    def get_planned(self, entry: IndexedEntry) -> Planned:
        """Return a memory as the command leaves it."""
        if entry.path in self.memories:
            return self.memories[entry.path]
        return Planned(entry.path, entry, read_sources(self.index, entry))

    def build_words_key(self, draft: Draft) -> tuple[object, ...]:
        return build_words_digest(draft.text), draft.owner, draft.project

    def build_change(self, planned: Planned) -> Replace:
        """Return the change of a memory's file."""
        if isinstance(planned.base, Entry):
            fields = {name: value for name, value in planned.fields.items() if value is not None}
            return Replace(planned.path, None, format_new(replace(planned.base, **fields)))
        fields = dict(planned.fields)
        # The trust that belongs to a source is not written.
        if "source" in fields:
            fields["trust"] = None
        return edit_file(self.workspace, planned.path, fields)

    def build_group(self, draft: Draft, changes: Sequence[Replace | Append]) -> ChangeGroup:
        return ChangeGroup(
            changes,
            allow_secrets=draft.allow_secrets,
            redact_secrets=draft.redact_secrets,
            # An old message does not say again what was forgotten since.
            is_said_by_user=draft.source == "user"
            and not draft.is_undated
            and (not draft.is_dated or draft.created_at >= self.last_forgotten),
        )

    def build_groups(self) -> list[ChangeGroup]:
        """Return one group of changes for each draft. A file changes in the first that needs it."""
        groups = []
        done: set[str] = set()
        for number, (draft, _, touched) in enumerate(self.groups):
            changes: list[Replace | Append] = [
                self.build_change(planned)
                for planned in touched
                if planned.path not in done and (planned.is_new or planned.fields)
            ]
            done.update(planned.path for planned in touched)
            if draft.inbox_path:
                text = read_file(self.workspace, draft.inbox_path)
                changes.append(Replace(draft.inbox_path, text, None))
            if number == len(self.groups) - 1:
                changes += follow_promoted_lines(self.workspace, self.list_successors())
            groups.append(self.build_group(draft, changes))
        return groups

    def list_successors(self) -> dict[str, tuple[str, str]]:
        """Return the id and sentence of the successor of each replaced memory."""
        summaries = {planned.id: planned.base.summary for planned in self.memories.values()}
        return {
            planned.id: (planned.superseded_by, summaries[planned.superseded_by])
            for planned in self.memories.values()
            if planned.fields.get("superseded_by") in summaries
        }


def write_memories(
    workspace: Workspace,
    drafts: Sequence[Draft],
    *,
    command: str = "write",
    deduplicate: bool = True,
    finds_similar: bool = True,
    actor: str = "person",
    default_project: str | None = None,
    extra_groups: Iterable[ChangeGroup] = (),
) -> tuple[list[Outcome], Commit]:
    """Save drafts and `extra_groups` in one commit. A rejected draft does not stop the others.

    Without `finds_similar` only the same words, keys and forgotten memories are compared, because
    the model needs minutes for the thousands of memories of an import.
    The extra groups are iterated while the lock is held, so they can depend on the files.
    """
    workspace.ensure_machine()
    index = open_index(workspace) if deduplicate else get_index(workspace)
    outcomes: list[Outcome | None] = [None] * len(drafts)
    completed: dict[int, Draft] = {}
    for number, draft in enumerate(drafts):
        try:
            completed[number] = complete_draft(index, draft, default_project)
        except MemError as error:
            outcomes[number] = Outcome("rejected", error=error)
    # Before the lock: nobody should wait for the model.
    near = [Neighbors() for _ in completed]
    finds_similar = finds_similar and deduplicate
    if finds_similar or index.has_forgotten():
        from .similar import find_neighbors

        near = find_neighbors(index, list(completed.values()), deduplicate=finds_similar)
    with hold_lock(workspace):
        if deduplicate:
            index.refresh()  # another process may have written meanwhile
        # Otherwise the gate would scan the folder for each draft.
        workspace.resources["forgotten texts"] = index.load_forgotten()
        try:
            admission = Admission(index, deduplicate=deduplicate)
            pairs = list(zip(completed.items(), near, strict=True))
            for (number, draft), neighbors in report_progress(workspace, pairs):
                try:
                    outcomes[number] = admission.admit(draft, neighbors)
                except MemError as error:
                    outcomes[number] = Outcome("rejected", error=error)
            groups = admission.build_groups()
            done = [outcome for outcome in outcomes if outcome is not None]
            saved = [outcome for _, outcome, _ in admission.groups if outcome.action != "unchanged"]
            summary = summarize_texts([outcome.text for outcome in saved], "memory")
            all_groups = [*groups, *extra_groups]
            result = commit(workspace, command, all_groups, summary=summary, actor=actor)
        finally:
            forgotten = workspace.resources.pop("forgotten texts", None)
    for group, (_, outcome, _) in zip(groups, admission.groups, strict=True):
        outcome.error = result.get_error(group)
        if outcome.error is not None:
            outcome.action = "rejected"
    said = []
    for draft, outcome in zip(drafts, done, strict=True):
        outcome.undo = result.number
        if outcome.error is not None:
            # The reason may be in the text, and terminals and logs keep what they show.
            outcome.text = summarize(mask_text(workspace, draft.text, forgotten))
        elif draft.source == "user" and not draft.created_at:
            said.append(draft.text)
    # What the user says now may be shown again, although it was purged.
    if workspace.machine.read_purged_digests():
        workspace.machine.remove_purged_digests(said)
    return done, result


def format_new(entry: Entry) -> str:
    """Return the text of a new file. Raises RejectedError if mem could not read it again."""
    try:
        text = format_entry(entry)
        # Only metadata can have any form. A file that does not parse counts as somebody's note.
        if entry.metadata:
            parse(text)
    except (FrontmatterError, RecursionError):
        raise RejectedError("its metadata cannot be stored", "use fewer levels or items") from None
    return text


def is_said_after(draft: Draft, entry: Entry | IndexedEntry) -> bool:
    """Return whether the user repeats a forgotten memory, or anybody a faded one."""
    if entry.status == "faded":
        return True
    is_later = not draft.is_dated or draft.created_at >= entry.forgotten_at
    return draft.source == "user" and is_later and not draft.is_undated


def is_repeated(draft: Draft, known: Planned) -> bool:
    """Return whether the same messages said a draft before, as in a fork of their session."""
    return bool(draft.sources) and set(draft.sources) <= set(known.sources)


def read_sources(index: Index, entry: IndexedEntry) -> tuple[str, ...]:
    try:
        return read_list(index.read_fields(entry.path).get("sources") or ())
    except ValueError:
        return ()
