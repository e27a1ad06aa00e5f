"""Changes of entries and of their lines in MEMORY.md, ready to commit, and their outcomes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import MemError, RejectedError
from ..formats import (
    CONTROL,
    FrontmatterError,
    edit_entry,
    find_promoted_lines,
    fold_key,
    replace_body,
    replace_promoted_line,
)
from ..index import ForgottenTexts, Index, IndexedEntry, open_index
from ..store import Append, Commit, Replace, Workspace, read_file, redact_text


@dataclass
class Related:
    """Another memory that an outcome mentions."""

    id: str
    short_id: str
    text: str
    relation: str  # replaces, replaced by, contradicts, similar or hides
    path: str = ""


@dataclass
class Outcome:
    """The outcome for one memory, as commands print it."""

    action: str  # saved, confirmed, unchanged, held, restored, edited or rejected
    id: str = ""
    short_id: str = ""
    path: str = ""
    text: str = ""
    strength: int = 1
    related: list[Related] = field(default_factory=list)
    error: MemError | None = None
    undo: int = 0


@dataclass
class ForgetResult:
    """The outcome of `forget` or `restore`."""

    outcomes: list[Outcome] = field(default_factory=list)
    result: Commit = field(default_factory=Commit)
    other_files: list[str] = field(default_factory=list)  # that contained a purged text
    git_commits: list[str] = field(default_factory=list)  # that still contain it
    candidates: list[Related] = field(default_factory=list)  # one may be meant; nothing was done


def build_related(index: Index, entry: IndexedEntry, relation: str) -> Related:
    return Related(entry.id, index.shorten_id(entry.id), entry.summary, relation, entry.path)


def build_outcome(index: Index, action: str, entry: IndexedEntry) -> Outcome:
    return Outcome(
        action, entry.id, index.shorten_id(entry.id), entry.path, entry.summary, entry.strength
    )


class Replacement(NamedTuple):
    """The effect of a new value on the entries that it should replace."""

    changes: list[Replace | Append]
    conflicts: tuple[str, ...]  # ids of entries that are trusted more and stay
    related: list[Related]


def replace_entries(
    index: Index, new_id: str, trust: float, summary: str, others: Iterable[IndexedEntry]
) -> Replacement:
    """Supersede entries, except those that are trusted more."""
    result = Replacement([], (), [])
    for other in others:
        # An entry that keeps its own key does not replace itself.
        if other.id == new_id:
            continue
        if not can_replace(trust, other.trust):
            result = result._replace(conflicts=(*result.conflicts, other.id))
            result.related.append(build_related(index, other, "contradicts"))
        else:
            result.changes.extend(supersede(index.workspace, other, new_id, summary))
            result.related.append(build_related(index, other, "replaces"))
    return result


def can_replace(newer_trust: float, older_trust: float) -> bool:
    """Return whether a statement replaces an older one.

    A less trusted source can contradict a memory, but cannot replace it.
    """
    return newer_trust >= older_trust


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
    after = replace_promoted_line(page, entry_id, statement, new_id)
    return [Replace(workspace.page_path, page, after)]


def follow_promoted_lines(
    workspace: Workspace, successors: Mapping[str, tuple[str, str]]
) -> list[Replace | Append]:
    """Return the change of MEMORY.md whose lines follow memories that were replaced.

    `successors` has the id and the sentence of the memory that replaces each.
    """
    page = read_file(workspace, workspace.page_path) if successors else None
    after = page or ""
    for promoted, _ in list(find_promoted_lines(after)):
        new_id, summary = promoted, ""
        while new_id in successors:
            new_id, summary = successors[new_id]
        if new_id != promoted:
            after = replace_promoted_line(after, promoted, summary, new_id)
    return [Replace(workspace.page_path, page, after)] if after != (page or "") else []


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
        forgotten = open_index(workspace, refresh_first=False).load_forgotten()
    return redact_text(workspace, forgotten.hide(text)[0])


def clean_text(workspace: Workspace, text: str) -> str:
    """Return a text that the gates of the writer let through."""
    clean = CONTROL.sub("", mask_text(workspace, text)).strip()
    # A line of a conflict that somebody pasted is not a conflict of the file.
    lines = (f" {line}" if line[:7] in ("<" * 7, ">" * 7) else line for line in clean.split("\n"))
    return "\n".join(lines)
