"""Forget and restore memories."""

from collections.abc import Sequence

from ..errors import NotFoundError, RejectedError
from ..formats import format_time, get_body, get_content, parse_time, split_words, summarize_texts
from ..index import Index, IndexedEntry, find_content_words, open_index
from ..search.names import get_entry
from ..store import ChangeGroup, Workspace, commit
from .changes import (
    ForgetResult,
    build_outcome,
    build_related,
    change_page_line,
    edit_file,
    find_same_key,
    replace_entries,
)
from .purge import find_recording_workspace, purge_entries
from .similar import embed_texts, find_close, has_sequence, load_pool

# Of 255 sentences that reword a memory, 174 find it at .8, and one finds another memory. Below .8,
# sentences about other things are found more and more often.
DESCRIBED_COSINE = 0.8
# The second closest memory must be this much farther away, or nobody knows which one is meant.
DESCRIBED_MARGIN = 0.05
MOST_DESCRIBED = 3  # a request that fits more memories is unclear


def forget(
    workspace: Workspace,
    names: Sequence[str],
    *,
    reason: str = "",
    purge: bool = False,
    said_at: str = "",
    command: str = "forget",
    actor: str = "person",
) -> ForgetResult:
    """Hide memories from search and agents, or delete them and their text everywhere.

    `said_at` is the time of the request; the same text is refused unless the user says it later.
    """
    index = open_index(workspace)
    entries = get_entries(index, names)
    if purge:
        done = purge_entries(index, entries)
    else:
        done = hide_entries(index, entries, reason, said_at, command, actor)
    if workspace.withdraw_from_team is not None:
        message = workspace.withdraw_from_team(workspace)
        done.result.messages += [message] if message else []
    return done


def hide_entries(
    index: Index,
    entries: Sequence[IndexedEntry],
    reason: str,
    said_at: str,
    command: str,
    actor: str,
) -> ForgetResult:
    """Mark entries as forgotten, and refuse their texts from now on."""
    workspace = index.workspace
    done = ForgetResult()
    groups = []
    for entry in entries:
        if entry.status == "forgotten":
            raise RejectedError(f"{index.shorten_id(entry.id)} is already forgotten")
        forgotten_at = said_at or workspace.stamp
        changes = {"status": "forgotten", "forgotten_at": forgotten_at, "reason": reason}
        edited = edit_file(workspace, entry.path, changes)
        groups.append(ChangeGroup([edited, *change_page_line(workspace, entry.id, None)]))
        outcome = build_outcome(index, "forgotten", entry)
        outcome.related = [
            build_related(index, other, "hides")
            for other in find_copies(index, entry)
            if other not in entries
        ]
        done.outcomes.append(outcome)
    summary = summarize_texts([entry.summary for entry in entries], "memory")
    done.result = commit(workspace, command, groups, summary=summary, actor=actor)
    mark_rejected(done, groups)
    texts = [get_content(index.read_text(entry.path) or "") for entry in entries]
    own = find_recording_workspace(workspace)
    if own is not None:
        own.machine.store_purged_digests(texts)
    # The gates refuse the text from now on, also for commands that do not look at the files.
    index.refresh()
    return done


def forget_described(
    workspace: Workspace,
    text: str,
    *,
    said_at: str = "",
    project: str = "",
    command: str = "forget",
    actor: str = "person",
) -> ForgetResult:
    """Forget the memories that say a text, as a conversation asks.

    If it is unclear which ones are meant, nothing is forgotten, and `candidates` names them.
    """
    index = open_index(workspace)
    done = ForgetResult()
    moment = parse_time(said_at)
    said_at = format_time(moment) if moment else ""
    entries = [
        entry
        for entry in index.list_entries("status in ('active', 'faded')")
        if entry.project in ("", project or workspace.project)
        # A memory from after the request is not meant.
        and (not said_at or entry.updated_at <= said_at)
        and workspace.is_managed(entry.path)
    ]
    meant = [entry for entry in entries if is_saying(index, entry, text)]
    if not meant:
        paths = {entry.path for entry in entries}
        close = [item for item in find_described(index, text) if item[1].path in paths]
        meant = [entry for cosine, entry in close if cosine > close[0][0] - DESCRIBED_MARGIN]
        if len(meant) > 1 and len({entry.summary for entry in meant}) > 1:
            done.candidates = [build_related(index, entry, "similar") for entry in meant]
            return done
    if not meant:
        # "Forget what I said about the blue door" names a subject, so a person has to choose.
        about = find_about(index, entries, text)[:MOST_DESCRIBED]
        done.candidates = [build_related(index, entry, "similar") for entry in about]
    if len(meant) > MOST_DESCRIBED:
        done.candidates = [build_related(index, entry, "similar") for entry in meant]
    elif meant:
        paths_meant = [entry.path for entry in meant]
        done = forget(
            workspace,
            paths_meant,
            reason="the user asked to forget it",
            said_at=said_at,
            command=command,
            actor=actor,
        )
    return done


def is_saying(index: Index, entry: IndexedEntry, text: str) -> bool:
    """Return whether an entry has a text's words in order, and not much else.

    Three telling words in a row are no coincidence, so the entry may have twice as many more.
    """
    said = split_words(get_content(index.read_text(entry.path) or ""))
    telling = len(find_content_words(text))
    most = (3 if telling > 2 else 2) * telling
    has_words = has_sequence(said, split_words(text))
    return telling > 0 and has_words and len(find_content_words(" ".join(said))) <= most


def find_about(index: Index, entries: Sequence[IndexedEntry], text: str) -> list[IndexedEntry]:
    """Return the entries that have all telling words of a text."""
    words = find_content_words(text)
    return [
        entry
        for entry in entries
        if words and words <= find_content_words(index.read_text(entry.path) or "")
    ]


def find_described(index: Index, text: str) -> list[tuple[float, IndexedEntry]]:
    """Return the active entries close to a text that share a telling word."""
    vectors = embed_texts(index, [text])
    if vectors is None:
        return []
    words = find_content_words(text)
    close = find_close(index, load_pool(index, "active"), vectors[0], DESCRIBED_COSINE)
    return [
        (cosine, entry)
        for cosine, entry in close
        if words & find_content_words(index.read_text(entry.path) or "")
    ]


def restore(workspace: Workspace, names: Sequence[str]) -> ForgetResult:
    """Make forgotten, faded or superseded memories active again."""
    index = open_index(workspace)
    entries = get_entries(index, names)
    done = ForgetResult()
    groups = []
    for entry in entries:
        if entry.status == "active":
            raise RejectedError(f"{index.shorten_id(entry.id)} is already active")
        cleared = ("status", "forgotten_at", "reason", "superseded_by")
        changes: dict[str, object] = dict.fromkeys(cleared)
        current = find_same_key(index, entry.key, entry.project, entry.owner)
        successor = index.find_by_id(entry.superseded_by) if entry.superseded_by else None
        if successor is not None and successor.status == "active" and successor not in current:
            # Both are active now, so a person should decide.
            changes["conflicts_with"] = (*entry.conflicts_with, successor.id)
        # A person decided, so trust does not matter.
        replaced = replace_entries(index, entry.id, 1.0, entry.summary, current)
        edited = edit_file(workspace, entry.path, changes)
        groups.append(ChangeGroup([edited, *replaced.changes], is_said_by_user=True))
        done.outcomes.append(build_outcome(index, "restored", entry))
    summary = summarize_texts([entry.summary for entry in entries], "memory")
    done.result = commit(workspace, "restore", groups, summary=summary)
    mark_rejected(done, groups)
    texts = [get_content(index.read_text(entry.path) or "") for entry in entries]
    own = find_recording_workspace(workspace)
    if own is not None:
        own.machine.remove_purged_digests(texts)
    index.refresh()
    return done


def mark_rejected(done: ForgetResult, groups: Sequence[ChangeGroup]) -> None:
    """Record the rejected memories in their outcomes. Raises the error if all were rejected."""
    if len(done.result.rejected) == len(groups):
        done.result.raise_rejected()
    for outcome, group in zip(done.outcomes, groups, strict=True):
        outcome.error = done.result.get_error(group)
        if outcome.error is not None:
            outcome.action = "rejected"


def get_entries(index: Index, names: Sequence[str]) -> list[IndexedEntry]:
    """Return the entries that names mean, each once."""
    entries = {entry.path: entry for entry in (get_entry(index, name) for name in names)}
    return list(entries.values())


def find_copies(index: Index, entry: IndexedEntry) -> list[IndexedEntry]:
    """Return the active entries with the same words, which forgetting an entry hides too."""
    return index.list_entries(
        "status = 'active' and path <> ? and same_words ="
        " (select same_words from entries join files using(file) where path = ?)",
        (entry.path, entry.path),
    )


def get_mentions(workspace: Workspace, text: str) -> list[IndexedEntry]:
    """Return the active entries that contain a text, for `forget --about`."""
    index = open_index(workspace)
    wanted = text.casefold()
    entries = []
    for entry in index.list_entries("status = 'active'"):
        # Not the frontmatter: everything mentions `type: fact`.
        said = f"{entry.title}\n{get_body(index.read_text(entry.path) or '')}"
        if wanted in said.casefold():
            entries.append(entry)
    if not entries:
        raise NotFoundError(f"no memory mentions {text!r}")
    return entries
