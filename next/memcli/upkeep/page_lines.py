"""Bring the promoted lines of MEMORY.md in step with their memories.

Commands change a memory and its line together. This is for memories that changed without a command:
they expired, or an editor, an agent's file tool or git wrote them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..formats.dates import is_expired
from ..formats.page import (
    PromotedLine,
    format_promoted_line,
    list_promoted_lines,
    replace_promoted_line,
)
from ..index.index import IndexedEntry, open_index
from ..store.commit import Commit, Replace, commit_one
from ..store.workspace import Workspace
from .promote import read_page


class OutdatedLine(NamedTuple):
    """A promoted line that no longer states its memory."""

    line: PromotedLine
    reason: str
    successor: IndexedEntry | None = None  # the memory to state instead; None: the line is removed


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
        elif is_expired(entry, workspace.now):
            outdated.append(OutdatedLine(line, "expired"))
        elif line.digest and not line.is_reworded:
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
