"""Mark the memories that have faded, and put confirmed memories into MEMORY.md.

A memory fades with its age, and later if it is used or trusted (`compute_retention`). Each machine
knows how often it was used there, and since when its file has been there. So a workspace that git
carries to other machines is only marked by a command that somebody typed.

A memory is confirmed if it was said three times, if trust and confidence are at least .75, or if it
is your own rule or preference. Agents see MEMORY.md at every start.

Commands change a memory and its line together. `find_outdated_lines` is for memories that changed
without a command: they expired, or an editor, an agent's file tool or git wrote them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import MemError, NotFoundError, RejectedError
from ..formats import (
    EPISODIC,
    FADED,
    TRUST,
    PageError,
    PromotedLine,
    add_promoted_lines,
    build_words_digest,
    can_fade,
    compute_retention,
    count_noun,
    find_conflict_line,
    find_promoted_lines,
    format_promoted_line,
    format_time,
    is_id,
    list_promoted_lines,
    read_file_time,
    replace_promoted_line,
    strip_comments,
    summarize_texts,
    unlink_line,
)
from ..index import Index, IndexedEntry, get_index, open_index
from ..reconcile import change_page_line, edit_file
from ..search.names import get_entry
from ..store import (
    Append,
    ChangeGroup,
    Commit,
    Replace,
    Workspace,
    commit,
    commit_one,
    find_remote,
    find_repository,
    read_file,
)

CONFIRMATIONS = 3
TRUSTED = 0.75
SURE = 0.75
RULES = ("constraint", "preference")


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


def check_trusted(workspace: Workspace) -> None:
    """Raise RejectedError for an untrusted clone."""
    if not workspace.is_trusted:
        reason = f"{workspace.root} is not trusted"
        raise RejectedError(reason, "look through it, then run: mem trust")


def find_fading(workspace: Workspace) -> list[FadingEntry]:
    """Return the active memories that have faded, the weakest first."""
    # The weight of an untrusted memory is not known, so everything would fade.
    if not workspace.is_trusted:
        return []
    index = open_index(workspace)
    counts = workspace.machine.read_access_counts()
    written = dict(index.run("select path, mtime from files").fetchall())
    fading = []
    for entry in index.list_managed_entries():
        count = counts.get(entry.id, 0)
        retention = compute_retention(entry, workspace.now, count)
        if retention >= FADED or not can_fade(entry) or workspace.is_expired(entry):
            continue
        # An import of old memories, a clone or an undo writes the file. Nobody used it before.
        came_at = format_time(read_file_time(written[entry.path]))
        recent = entry._replace(updated_at=max(entry.updated_at, came_at))
        retention = compute_retention(recent, workspace.now, count)
        if retention < FADED:
            fading.append(FadingEntry(entry, retention, count))
    return sorted(fading, key=lambda item: (item.retention, item.entry.id))


def check_fraction(workspace: Workspace, fading: Sequence[FadingEntry], limit: float) -> None:
    """Raise RejectedError if more than a share of the memories would fade."""
    if not fading:
        return
    active = len(get_index(workspace).list_managed_entries())
    if len(fading) > limit * active:
        # Rounded up, so that the command in the hint works.
        needed = min(-(-100 * len(fading) // active) / 100, 1.0)
        command = f"mem decay{' --scope user' if workspace.is_own else ''}"
        raise RejectedError(
            f"{len(fading):,} of {count_noun(active, 'memory')} would fade, more than {limit:.0%}",
            f"list them: {command} --dry-run; to mark them: {command} --max-fraction {needed:g}",
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
            # An anchor or a conflict in the frontmatter can refuse the edit.
            edited = edit_file(workspace, entry.path, {"status": "faded"})
            line = change_page_line(workspace, entry.id, None)
        except MemError as error:
            done.messages.append(f"{entry.path}: {error.message}")
            continue
        groups.append(ChangeGroup([edited, *line]))
        done.faded.append(item)
    summary = summarize_texts([item.entry.summary for item in done.faded], "memory")
    done.result = commit(workspace, "decay", groups, summary=summary, actor=actor)
    done.messages += done.result.messages
    return done


def find_due_fading(workspace: Workspace) -> list[FadingEntry]:
    """Return the faded memories. With a remote, only a command that somebody typed marks them."""
    if has_remote_copy(workspace):
        return []
    fading = find_fading(workspace)
    try:
        check_fraction(workspace, fading, workspace.settings["decay.max_fraction"])
    except RejectedError:
        # `mem status` shows it. Cron would otherwise report the same problem every night.
        return []
    return fading


def has_remote_copy(workspace: Workspace) -> bool:
    """Return whether git carries the workspace to other machines."""
    repository = find_repository(workspace.root)
    # Git ignores a private workspace in the repository of a project.
    return (
        repository is not None
        and find_remote(repository) != ""
        and (workspace.is_shared or repository.top.resolve() == workspace.root)
    )


@dataclass
class Promotion:
    """The memories whose lines were added to MEMORY.md or removed from it."""

    entries: list[IndexedEntry] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    changes: list[Replace | Append] = field(default_factory=list)
    result: Commit = field(default_factory=Commit)


class OutdatedLine(NamedTuple):
    """A promoted line that no longer states its memory."""

    line: PromotedLine
    reason: str
    successor: IndexedEntry | None = None  # the memory to state instead; None: the line is removed


def is_confirmed(entry: IndexedEntry) -> bool:
    """Return whether a memory is sure or important enough to be shown at every start."""
    is_sure = entry.trust >= TRUSTED and (entry.confidence or 0) >= SURE
    is_rule = entry.type in RULES and entry.source == "user"
    return entry.strength >= CONFIRMATIONS or is_sure or is_rule


def find_promotable(workspace: Workspace) -> list[IndexedEntry]:
    """Return the confirmed memories that MEMORY.md does not state yet, the most valuable first."""
    # The claims of a clone about its memories do not count.
    if not workspace.is_trusted:
        return []
    index = open_index(workspace)
    page = read_page(workspace) or ""
    ids = find_removed_ids(index).union(find_promoted_lines(page))
    # A person may have written the same sentence into the page.
    lines = [line.strip().removeprefix("- ") for line in strip_comments(page).splitlines()]
    texts = set(map(build_words_digest, lines))
    entries = []
    for entry in index.list_managed_entries():
        text = build_words_digest(entry.summary)
        # Memories that disagree are an open question of `mem review`.
        if entry.id in ids or text in texts or entry.conflicts_with or not is_confirmed(entry):
            continue
        if not find_obstacle(workspace, entry):
            texts.add(text)
            entries.append(entry)
    return sorted(
        entries, key=lambda entry: (entry.pinned, entry.trust, entry.strength), reverse=True
    )


def find_removed_ids(index: Index) -> set[str]:
    """Return the memories whose lines somebody removed. They must not come back automatically."""
    # A quick test: few memories have this property.
    rows = index.run(
        "select id, path from entries join files using(file) where instr(fields, 'promote') > 0"
    ).fetchall()
    return {
        entry_id for entry_id, path in rows if read_metadata(index, path).get("promote") is False
    }


def read_metadata(index: Index, path: str) -> dict[str, Any]:
    metadata = index.read_fields(path).get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def find_obstacle(workspace: Workspace, entry: IndexedEntry) -> str:
    """Return why a memory cannot be promoted at all, or an empty string."""
    if entry.status != "active":
        return f"it is {entry.status}"
    if workspace.is_expired(entry):
        return "it has expired"
    # MEMORY.md of the user's own workspace is shown in every project.
    if entry.project not in ("", "" if workspace.is_own else workspace.project):
        return f"it belongs to the project {entry.project}"
    if entry.type in EPISODIC:
        return f"it is of type {entry.type}"
    if entry.is_hidden:
        return "it repeats a forgotten memory"
    return "" if is_id(entry.id) else "its id is not from mem: save a copy with mem write"


def choose_fitting(workspace: Workspace, entries: Sequence[IndexedEntry]) -> list[IndexedEntry]:
    """Return the memories for which MEMORY.md has room, in their order."""
    page = add_lines(read_page(workspace) or "", [])
    room = int(workspace.settings["page.bytes"]) - len(page.encode("utf-8", "surrogateescape"))
    fitting = []
    for entry in entries:
        # The page may have the longer line ends of Windows.
        size = len(format_promoted_line(entry.id, entry.summary).encode()) + len("\r\n")
        # A shorter memory may fit after one that does not.
        if size <= room:
            room -= size
            fitting.append(entry)
    return fitting


def promote(
    workspace: Workspace, names: Sequence[str], *, auto: bool = False, is_said_by_user: bool = False
) -> Promotion:
    """Add lines for the named memories and, with `auto`, for all confirmed ones."""
    done = prepare_lines(workspace, names, auto=auto, is_said_by_user=is_said_by_user)
    commit_promotion(workspace, done)
    return done


def prepare_lines(
    workspace: Workspace, names: Sequence[str], *, auto: bool = False, is_said_by_user: bool = False
) -> Promotion:
    """Prepare lines for the named memories and, with `auto`, for all confirmed ones."""
    check_trusted(workspace)
    index = open_index(workspace)
    text = read_page(workspace)
    done = Promotion()
    ids = set(find_promoted_lines(text or ""))
    for entry in [get_entry(index, name) for name in names]:
        check_promotable(workspace, entry, is_said_by_user=is_said_by_user)
        if entry.id in ids:
            done.messages.append(f"{index.shorten_id(entry.id)} is in MEMORY.md already")
            continue
        ids.add(entry.id)
        done.entries.append(entry)
        done.changes += set_promotable(index, entry, is_promotable=True)
    if auto:
        promotable = [entry for entry in find_promotable(workspace) if entry.id not in ids]
        fitting = choose_fitting(workspace, promotable)
        done.entries += fitting
        if len(fitting) < len(promotable):
            more = count_noun(len(promotable) - len(fitting), "confirmed memory")
            done.messages.append(f"no room in MEMORY.md for {more} (page.bytes)")
    if done.entries:
        page = add_lines(text or "", done.entries)
        done.changes.insert(0, Replace(workspace.page_path, text, page))
    return done


def find_due_promotions(workspace: Workspace) -> list[IndexedEntry]:
    return choose_fitting(workspace, find_promotable(workspace))


def promote_due(workspace: Workspace, _: Sequence[IndexedEntry]) -> None:
    commit_promotion(workspace, prepare_lines(workspace, [], auto=True), actor="hook")


def add_lines(page: str, entries: Sequence[IndexedEntry]) -> str:
    """Return the page with a line for each memory. Raises RejectedError for a broken page."""
    try:
        return add_promoted_lines(page, {entry.id: entry.summary for entry in entries})
    except PageError as error:
        raise RejectedError(f"MEMORY.md: {error}", "fix it: mem edit MEMORY.md") from None


def check_promotable(workspace: Workspace, entry: IndexedEntry, *, is_said_by_user: bool) -> None:
    """Raise RejectedError if a named memory cannot be promoted."""
    obstacle = find_obstacle(workspace, entry)
    if obstacle:
        raise RejectedError(f"cannot promote {entry.summary!r}: {obstacle}")
    # An agent must not give its own guesses the weight of MEMORY.md.
    if entry.trust < TRUST["observed"] and not is_confirmed(entry) and not is_said_by_user:
        raise RejectedError(
            f"only a person can promote an {entry.source} memory: {entry.summary!r}",
            "run mem promote at a terminal",
        )


def remove_lines(workspace: Workspace, names: Sequence[str]) -> Promotion:
    """Prepare the removal of the lines of the named memories."""
    check_trusted(workspace)
    index = open_index(workspace)
    text = read_page(workspace)
    page = text or ""
    done = Promotion()
    ids = find_promoted_lines(page)
    for entry in [get_entry(index, name) for name in names]:
        if entry.id not in ids:
            raise NotFoundError(f"MEMORY.md has no line for {index.shorten_id(entry.id)}")
        page = replace_promoted_line(page, entry.id, None)
        done.entries.append(entry)
        # Without this note, the next `mem tend` would promote the memory again.
        if is_confirmed(entry):
            done.changes += set_promotable(index, entry, is_promotable=False)
    if page == text:
        raise RejectedError("the line is protected by <!-- mem:keep -->", "mem edit MEMORY.md")
    done.changes.insert(0, Replace(workspace.page_path, text, page))
    return done


def set_promotable(
    index: Index, entry: IndexedEntry, *, is_promotable: bool
) -> list[Replace | Append]:
    """Return the change that lets `--auto` promote a memory, or forbids it."""
    if (entry.id not in find_removed_ids(index)) == is_promotable:
        return []
    metadata = read_metadata(index, entry.path)
    metadata.pop("promote", None)
    if not is_promotable:
        metadata["promote"] = False
    return [edit_file(index.workspace, entry.path, {"metadata": metadata or None})]


def commit_promotion(
    workspace: Workspace, done: Promotion, *, actor: str = "person", verb: str = ""
) -> None:
    """Write the prepared changes, if any. Raises the error of the gate that rejects them."""
    if done.changes:
        summary = verb + summarize_texts([entry.summary for entry in done.entries], "memory")
        done.result = commit_one(workspace, "promote", done.changes, summary=summary, actor=actor)


def find_outdated_lines(workspace: Workspace) -> list[OutdatedLine]:
    """Return the lines whose memories expired, changed or are no longer active."""
    # The memories of an untrusted clone change nothing.
    if not workspace.is_trusted:
        return []
    index = open_index(workspace)
    outdated = []
    for line in list_promoted_lines(read_page(workspace) or ""):
        entry = index.find_by_id(line.id)
        if entry is None:
            continue  # on another branch, perhaps: `mem check --fix` decides
        if entry.status != "active":
            successor = index.find_by_id(entry.superseded_by) if entry.superseded_by else None
            is_current = successor is not None and successor.status == "active"
            outdated.append(OutdatedLine(line, entry.status, successor if is_current else None))
        elif workspace.is_expired(entry):
            outdated.append(OutdatedLine(line, "expired"))
        # The words of a person stay.
        elif line.digest and not line.is_reworded:
            # As a line would state it: in one line, with comments escaped.
            current = list_promoted_lines(format_promoted_line(entry.id, entry.summary))
            if current and current[0].statement != line.statement:
                outdated.append(OutdatedLine(line, "changed", entry))
    return outdated


def update_lines(workspace: Workspace, outdated: Sequence[OutdatedLine]) -> Commit:
    """Reword or remove outdated lines."""
    text = read_page(workspace) or ""
    changes = [Replace(workspace.page_path, text, replace_lines(text, outdated))]
    return commit_one(workspace, "promote", changes, summary="MEMORY.md", actor="hook")


def replace_lines(page: str, outdated: Sequence[OutdatedLine]) -> str:
    """Return the page without outdated lines, or with the words that they should have."""
    for line, _, successor in outdated:
        if successor is None:
            page = replace_promoted_line(page, line.id, None)
        else:
            new_id = "" if successor.id == line.id else successor.id
            page = replace_promoted_line(page, line.id, successor.summary, new_id)
    return page


def repair_page(workspace: Workspace) -> tuple[int, list[Replace]]:
    """Return the first wrong line of MEMORY.md, and the change that fixes all of them.

    A wrong line states a memory that changed or does not exist.
    """
    try:
        text = read_page(workspace) or ""
    except RejectedError:
        return 1, []  # a conflict marker, which is a problem of its own
    index = open_index(workspace)
    outdated = find_outdated_lines(workspace)
    missing = [line for line in list_promoted_lines(text) if index.find_by_id(line.id) is None]
    page = replace_lines(text, outdated)
    for line in missing:
        # The words of a person stay, as an ordinary line.
        is_own = bool(line.digest) and not line.is_reworded
        page = replace_promoted_line(page, line.id, None) if is_own else unlink_line(page, line.id)
    numbers = sorted([*(item.line.line for item in outdated), *(line.line for line in missing)])
    if page == text:
        return 1, []
    return numbers[0], [Replace(workspace.page_path, text, page)]


def read_page(workspace: Workspace) -> str | None:
    """Return the text of MEMORY.md, or None without one. Raises RejectedError for a conflict."""
    text = read_file(workspace, workspace.page_path)
    line = find_conflict_line(text or "")
    if line is not None:
        raise RejectedError(
            f"MEMORY.md:{line}: a git conflict marker", "resolve the conflict, then try again"
        )
    return text
