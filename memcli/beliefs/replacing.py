"""Let an entry take the place of another one: of one that is named, or of what fills its key.

A key names the slot an entry fills, such as staging/port: one active entry a key and project, the newer one wins. What
is trusted more is flagged and stays. Two texts of one key say the same thing at two times, whatever their words.
"""

from dataclasses import replace
from typing import Annotated, Any

from ..dataclass import dataclass
from ..errors import MemError, RefusedError
from ..formats.entry import same_key
from ..index.lookups import ask_current, keys_in_use
from ..results import ConflictsWith, FilePath, Id, OptionalDiff, Result
from ..store.entries import Admitted, drafted
from ..store.journal import Change
from ..store.workspace import Workspace
from .plan import Plan, applied, as_diff, free_entry
from .supersession import (
    EntryFile,
    conflicting_text,
    flagged_reason,
    flagging_plan,
    is_believed_over,
    is_same_slot,
    is_trusted_less,
    read_entry_file,
    referring_text,
    supersede_plan,
    superseded_text,
)


@dataclass(frozen=True)
class Superseded(Result):
    """What became of an entry that another one is to take the place of."""

    action: Annotated[
        str,
        "what was done: created, updated, unchanged, merged, archived, restored, purged, superseded, flagged",
    ]  # flagged where the old one is trusted more
    id: Id
    by: str
    """The id of the other one."""
    path: FilePath
    """Of the old entry."""
    diff: OptionalDiff = None
    is_flagged: bool = False
    notices: tuple[str, ...] = ()

    @property
    def superseded_by(self) -> Annotated[str, "id of the entry that took its place; empty where none did"]:
        """Return the id of the successor; "" if both were flagged instead."""
        return "" if self.is_flagged else self.by

    @property
    def conflicts_with(self) -> ConflictsWith:
        """Return the id of the other entry if both were flagged."""
        return [self.by] if self.is_flagged else []


def supersede_entry(workspace: Workspace, old: str, new: str, *, by_user: bool, dry_run: bool) -> Superseded:
    """Mark the entry at a path as superseded by another one; both are flagged where the old one is trusted more.

    `by_user`: the user says so, to whom everything gives way. Raise RefusedError for a circle and for an entry that
    has another successor.
    """
    before, after = read_entry_file(workspace, old), read_entry_file(workspace, new)
    plan = supersede_plan(workspace, before, after)
    is_flagged = bool(plan) and not by_user and is_trusted_less(after.entry, before.entry)
    if is_flagged:
        plan = flagging_plan(workspace, before, after)
    if not dry_run:
        applied(workspace, plan, "mem supersede")
    return Superseded(
        "unchanged" if not plan else "flagged" if is_flagged else "superseded",
        before.entry.id,
        after.entry.id,
        old,
        as_diff(plan, workspace) if dry_run else None,
        is_flagged,
        (kept_by_trust(before.entry.id, after.entry.id),) if is_flagged else (),
    )


def replace_entry(
    workspace: Workspace, old: str, given: dict[str, Any], body: str, command: str, *, by_user: bool
) -> tuple[Admitted, tuple[str, ...]]:
    """Make a new entry and mark the one at a path that it takes the place of, as one change; return it and notices.

    Both are flagged where the old one is trusted more, unless `by_user`: the user says so. Raise RefusedError where it
    has another successor.
    """
    before = read_entry_file(workspace, old)
    old_entry = before.entry
    if old_entry.status == "superseded":
        raise RefusedError(
            f"{old_entry.id} is superseded by {old_entry.superseded_by or 'another one'} already",
            f"name that one, or `mem restore {old_entry.id}` first",
        )
    is_flagged = not by_user and is_trusted_less(drafted(workspace, given, body), old_entry)
    fields = {**given, "references": [*given.get("references", ()), old_entry.id]}
    if is_flagged:
        fields |= {"conflicts_with": [old_entry.id], "verdicts": [old_entry.id]}
    elif old_entry.key:
        fields.setdefault("key", old_entry.key)
    identifier, path, text = free_entry(workspace, fields, body, workspace.noise(body))
    if is_flagged:
        new = replace(drafted(workspace, fields, body), id=identifier)
        marked = conflicting_text(workspace, before, new)
    else:
        marked = superseded_text(workspace, before, identifier)
    reason = flagged_reason(old_entry.id, identifier) if is_flagged else f"{old_entry.id} is superseded by {identifier}"
    plan = Plan((Change(path, None, text), Change(before.path, before.text, marked)), (reason,))
    superseded_ids: tuple[str, ...] = () if is_flagged else (old_entry.id,)
    flagged: tuple[str, ...] = (old_entry.id,) if is_flagged else ()
    applied(workspace, plan, command)
    if given.get("key") and given["key"] != old_entry.key:
        others, rivals = fill(workspace, path, command)
        superseded_ids, flagged = superseded_ids + others, flagged + rivals
    notices = (kept_by_trust(old_entry.id, identifier),) if is_flagged else ()
    return Admitted("created", identifier, path, superseded_ids, conflicts_with=flagged), notices


def kept_by_trust(old: str, new: str) -> str:
    """Return why a memory did not give way to another one, and who settles it."""
    return (
        f"{old} stays: {new} is trusted less; both are flagged, and `mem review` settles which holds (--source user"
        " where the user said so)"
    )


def fill(workspace: Workspace, path: str, command: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Let the entry at a path take the place of what fills its key; what is trusted more is flagged with it.

    Return the ids of both.
    """
    file = read_entry_file(workspace, path)
    if not file.entry.key or file.entry.status != "active":
        return (), ()
    steps: list[Change] = []
    text = file.text
    superseded_ids, flagged = [], []
    for rival in _others(workspace, file):
        now = EntryFile(file.path, text, file.entry)
        if is_believed_over(rival.entry, file.entry, is_told_now=True):
            steps.append(Change(rival.path, rival.text, superseded_text(workspace, rival, file.entry.id)))
            text = referring_text(workspace, now, rival.entry.id)
            superseded_ids.append(rival.entry.id)
        else:
            steps.append(Change(rival.path, rival.text, conflicting_text(workspace, rival, file.entry)))
            text = conflicting_text(workspace, now, rival.entry)
            flagged.append(rival.entry.id)
    if text != file.text:
        steps.append(Change(file.path, file.text, text))
    applied(workspace, Plan(tuple(steps)), command)
    return tuple(superseded_ids), tuple(flagged)


def _others(workspace: Workspace, file: EntryFile) -> list[EntryFile]:
    """Read the other entries that fill the same slot; one that cannot be changed is left out."""
    rivals = []
    for key, path in ask_current(workspace, keys_in_use):
        if path == file.path or same_key(key) != same_key(file.entry.key):
            continue
        try:
            rival = read_entry_file(workspace, path)
        except MemError:
            continue
        if is_same_slot(rival.entry, file.entry) and rival.entry.id not in file.entry.conflicts_with:
            rivals.append(rival)
    return rivals
