"""Changes of entries and of their lines in MEMORY.md, ready to commit."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import RejectedError
from ..formats.entry import edit_entry, fold_key, replace_body
from ..formats.frontmatter import FrontmatterError
from ..formats.page import find_promoted_lines, replace_promoted_line
from ..index.forgotten import ForgottenTexts, load_forgotten
from ..index.index import Index, IndexedEntry, open_index
from ..store.commit import Append, Replace, read_file
from ..store.gates import redact_text
from ..store.workspace import Workspace
from .outcome import Related, describe


class Replacement(NamedTuple):
    """The effect of a new value on the entries that it should replace."""

    changes: list[Replace | Append]
    conflicts: tuple[str, ...]  # ids of entries that are trusted more and stay
    related: list[Related]


def replace_entries(
    index: Index, new_id: str, trust: float, summary: str, others: Iterable[IndexedEntry]
) -> Replacement:
    """Supersede entries, except those that are trusted more.

    A less trusted source can contradict a memory, but cannot replace it.
    """
    result = Replacement([], (), [])
    for other in others:
        # An entry that keeps its own key does not replace itself.
        if other.id == new_id:
            continue
        if trust < other.trust:
            result = result._replace(conflicts=(*result.conflicts, other.id))
            result.related.append(describe(index, other, "contradicts"))
        else:
            result.changes.extend(supersede(index.workspace, other, new_id, summary))
            result.related.append(describe(index, other, "replaces"))
    return result


def find_same_key(index: Index, key: str, project: str, owner: str) -> list[IndexedEntry]:
    """Return the active entries with a key. Each project and owner has slots of its own."""
    if not key:
        return []
    entries = index.list_entries(
        "key = ? and project = ? and owner = ? and status = 'active'",
        (fold_key(key), project, owner),
    )
    return [entry for entry in entries if index.workspace.is_managed(entry.path)]


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
    # Most memories are not on the page, and an unchanged page must not be in the commit.
    if page is None or all(promoted != entry_id for promoted, _ in find_promoted_lines(page)):
        return []
    return [
        Replace(workspace.page_path, page, replace_promoted_line(page, entry_id, statement, new_id))
    ]


def edit_file(
    workspace: Workspace, path: str, changes: dict[str, Any], body: str | None = None
) -> Replace:
    """Return the change of an entry's frontmatter, and of its body if one is given."""
    # The file itself, not the index: the index has masked the secrets in it.
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


def mask_text(workspace: Workspace, text: str, forgotten: ForgottenTexts | None = None) -> str:
    """Return a text without secrets and forgotten passages."""
    if forgotten is None:
        index = open_index(workspace, refresh_first=False)
        forgotten = load_forgotten(index.database, workspace)
    return redact_text(workspace, forgotten.hide(text)[0])
