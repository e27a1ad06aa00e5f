"""Revert a command in the undo log, and keep what changed since."""

import os
import re
from shlex import quote

from ..errors import NotFoundError, RejectedError
from ..formats import merge_lines
from .undo_log import Change, Record, find_log_folder, find_undone_numbers, read_log, read_record
from .workspace import Workspace
from .writer import Commit, hold_lock, locate, read_text, write_changes

CONFLICT = "\0conflict"
# Never reverted: its counts follow the events, and undone memories must not be learned again.
SESSION_METADATA = "/metadata.json"
# Only in the frontmatter, because the text of a page may have such a line too.
UPDATED_LINE = re.compile(r"(?m)\A(\ufeff?---\r?\n(?:(?!---\r?$).*\n)*?updated_at: )(.*)$")


def undo(workspace: Workspace, number: int) -> Commit:
    """Revert a command in the undo log. The undo is a command of its own and can be undone.

    The gates are skipped, because undo only brings back text that was there before. Raises
    RejectedError if later commands or an editor changed the same lines.
    """
    log_folder = find_log_folder(workspace)
    if log_folder is None:
        raise RejectedError("this machine has no undo log for the workspace")
    with hold_lock(workspace):
        try:
            record = read_record(log_folder / f"{number}.json")
        except (OSError, ValueError):
            raise NotFoundError(
                f"no command {number} in the undo log", "list the commands: mem undo --list"
            ) from None
        if record.is_purge:
            raise RejectedError(
                f"cannot undo {number} ({record.command}): a purge deleted the text"
            )
        changes = []
        for change in reversed(record.changes):
            if change.path.endswith(SESSION_METADATA) and change.after is not None:
                continue
            path = find_current_path(workspace, change)
            current = read_text(locate(workspace.root, path))
            is_log = workspace.get_kind(path) in ("history", "note")
            target = revert_change(change, current, is_log=is_log)
            if target is CONFLICT:
                raise explain_conflict(workspace, record, change.path)
            changes.append(Change(path, current, target))
        changes = [change for change in changes if change.before != change.after]
        # Also without changes: the record marks the command as undone.
        written = write_changes(
            workspace, log_folder, "undo", record.summary, changes, undoes=number
        )
    return Commit(written, paths=[change.path for change in changes])


def find_current_path(workspace: Workspace, change: Change) -> str:
    """Return the path of a changed file, which a person may have renamed since."""
    folder = workspace.entries_folder
    if change.after is None or not change.path.startswith(folder):
        return change.path
    if os.path.lexists(workspace.root / change.path):
        return change.path
    # The id in the text makes it unique.
    size = len(change.after.encode("utf-8", "surrogateescape"))
    for path in (workspace.root / folder).rglob("*.md"):
        is_candidate = path.is_file() and path.stat().st_size == size
        if is_candidate and read_text(path) == change.after:
            return path.relative_to(workspace.root).as_posix()
    return change.path


def revert_change(change: Change, current: str | None, *, is_log: bool) -> str | None:
    """Return a file's text without a change, or CONFLICT if the same lines changed since."""
    # The usual case, and the only one for files that were created or deleted.
    if current == change.after:
        return change.before
    after, before = change.after, change.before
    if is_log:
        # Its first record created the file, and the later ones do not depend on it.
        current, after, before = current or "", after or "", before or ""
    if current is None or after is None or before is None:
        return current if current == before else CONFLICT
    # Every edit changes this line, so it would make every undo a conflict.
    stamp = UPDATED_LINE.search(current)
    if stamp:
        after, before = (
            UPDATED_LINE.sub(lambda match: match[1] + stamp[2], side) for side in (after, before)
        )
    merged = merge_lines(after, current, before)
    if merged is None:
        return CONFLICT
    # A log without a record is deleted.
    return None if is_log and not merged else merged


def explain_conflict(workspace: Workspace, record: Record, path: str) -> RejectedError:
    records = read_log(workspace)
    reverted = find_undone_numbers(records)
    later = [
        other
        for other in records
        if other.number > record.number
        and other.number not in reverted
        and not other.undoes
        and any(change.path == path for change in other.changes)
    ]
    problem = f"cannot undo {record.number} ({record.command})"
    if not later:
        hint = f"to edit the file yourself: mem edit {quote(path)}"
        return RejectedError(f"{problem}: an editor changed {path} since", hint)
    names = ", ".join(f"{other.number} ({other.command})" for other in later)
    option = " --scope user" if workspace.is_own else ""
    hint = f"undo the later commands first: mem undo {later[-1].number}{option}"
    return RejectedError(f"{problem}: {names} changed {path} since", hint)
