"""Find the memories that have faded, and mark them in their files.

A memory fades with its age, and later if it is used or trusted (`formats/retention.py`). How often
it was used is known on each machine separately, so a workspace that git carries to other machines
is only marked by a command that somebody typed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import MemError, RejectedError
from ..formats import FADED, can_fade, compute_retention, count_noun, summarize_texts
from ..index import IndexedEntry, open_index
from ..reconcile.changes import change_page_line, edit_file
from ..store import (
    ChangeGroup,
    Commit,
    Workspace,
    commit,
    find_repository,
    find_undone_numbers,
    read_log,
    run_git,
)


class FadingEntry(NamedTuple):
    """An active memory that has faded."""

    entry: IndexedEntry
    retention: float
    access_count: int


@dataclass
class DecayResult:
    """The memories that were marked as faded, and those that could not be."""

    faded: list[FadingEntry] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    result: Commit = field(default_factory=Commit)


def find_fading(workspace: Workspace) -> list[FadingEntry]:
    """Return the active memories that have faded, the weakest first."""
    # The weight of an untrusted memory is not known, so everything would fade.
    if not workspace.is_trusted:
        return []
    index = open_index(workspace)
    counts = workspace.machine.read_access_counts()
    fading = []
    for entry in index.list_managed_entries():
        count = counts.get(entry.id, 0)
        retention = compute_retention(entry, workspace.now, count)
        if retention < FADED and can_fade(entry) and not workspace.is_expired(entry):
            fading.append(FadingEntry(entry, retention, count))
    revived = find_revived_paths(workspace) if fading else set()
    fading = [item for item in fading if item.entry.path not in revived]
    return sorted(fading, key=lambda item: (item.retention, item.entry.id))


def check_trusted(workspace: Workspace) -> None:
    """Raise RejectedError for an untrusted clone."""
    if not workspace.is_trusted:
        reason = f"{workspace.root} is not trusted"
        raise RejectedError(reason, "look through it, then run: mem trust")


def find_revived_paths(workspace: Workspace) -> set[str]:
    """Return the files that somebody restored. They would fade again the same night."""
    records = read_log(workspace)
    undone = find_undone_numbers(records)
    return {
        change.path
        for record in records
        if record.command == "restore" or (record.command == "decay" and record.number in undone)
        for change in record.changes
    }


def check_fraction(workspace: Workspace, fading: Sequence[FadingEntry], limit: float) -> None:
    """Raise RejectedError if more than a share of the memories would fade."""
    if not fading:
        return
    active = len(open_index(workspace, refresh_first=False).list_managed_entries())
    if len(fading) > limit * active:
        needed = min(-(-100 * len(fading) // active) / 100, 1.0)
        raise RejectedError(
            f"{len(fading):,} of {count_noun(active, 'memory')} would fade, more than {limit:.0%}",
            f"list them: mem decay --dry-run; to mark them: mem decay --max-fraction {needed:g}",
        )


def mark_faded(
    workspace: Workspace, fading: Sequence[FadingEntry], *, actor: str = "person"
) -> DecayResult:
    """Set the status of memories to faded, and remove their lines from MEMORY.md."""
    done = DecayResult()
    groups = []
    for item in fading:
        entry = item.entry
        try:
            edited = edit_file(workspace, entry.path, {"status": "faded"})
            line = change_page_line(workspace, entry.id, None)
        except MemError as error:
            done.messages.append(f"{entry.path}: {error.message}")
            continue
        groups.append(ChangeGroup([edited, *line]))
        done.faded.append(item)
    texts = [item.entry.summary for item in done.faded]
    summary = summarize_texts(texts, "memory")
    done.result = commit(workspace, "decay", groups, summary=summary, actor=actor)
    done.messages += done.result.messages
    return done


def find_due_fading(workspace: Workspace) -> list[FadingEntry]:
    """Return the faded memories. With a remote, only a command that somebody typed marks them."""
    if has_remote(workspace):
        return []
    fading = find_fading(workspace)
    try:
        check_fraction(workspace, fading, workspace.settings["decay.max_fraction"])
    except RejectedError:
        # `mem status` shows it. Cron would otherwise report the same problem every night.
        return []
    return fading


def fade_due(workspace: Workspace, fading: Sequence[FadingEntry]) -> None:
    mark_faded(workspace, fading, actor="hook")


def has_remote(workspace: Workspace) -> bool:
    """Return whether git carries the workspace to other machines."""
    repository = find_repository(workspace.root)
    if repository is None:
        return False
    is_own_repository = repository.top.resolve() == workspace.root
    if not is_own_repository and not workspace.is_shared:
        return False
    try:
        return bool(run_git(workspace.root, "remote").strip())
    except MemError:
        return True  # git cannot tell, and a wrong yes changes nothing
