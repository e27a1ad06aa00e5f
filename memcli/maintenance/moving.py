"""Move an entry into another workspace: the explicit act of sharing a memory, or of taking it back."""

from typing import Annotated

from ..beliefs.deduplication import fold_twins
from ..beliefs.forgotten import pass_by_the_forgotten
from ..beliefs.plan import Plan, applied
from ..beliefs.supersession import chain, read_entry_file
from ..dataclass import dataclass
from ..errors import RefusedError
from ..results import FilePath, Id, Result
from ..secrets.scanner import PERSONAL
from ..store import entries
from ..store.conversation_keeper import audience
from ..store.journal import Change
from ..store.redaction import redactor
from ..store.workspace import Workspace

COMMAND = "mem move"


@dataclass(frozen=True)
class Moved(Result):
    """What became of an entry that was to be moved into another workspace."""

    workspace: Workspace
    id: Id
    from_: Annotated[str, "where it came from"]
    """The path before, within the workspace it was in."""
    path: FilePath
    """The path now, within its workspace."""
    audience: Annotated[str, "the scope of that, and who sees it"]
    notices: tuple[str, ...] = ()

    @property
    def workspace_(self) -> Annotated[str, "the folder of the workspace"]:
        """Return the folder of the workspace it is in now."""
        return str(self.workspace.root)


def move_entry(workspace: Workspace, path: str, target: Workspace, *, allow_secret: bool = False) -> Moved:
    """Move the entry at a path into another workspace, byte for byte; its earlier texts stay where they are.

    It is made there before it is deleted here: killed between, it is in both, and the same command finishes. Raise
    RefusedError for a secret or personal data unless `allow_secret`, for an entry that is archived, superseded or in
    conflict, and for one that was forgotten there.
    """
    entries.require_entry(workspace, path)
    file = read_entry_file(workspace, path)
    entry = file.entry
    if workspace.root == target.root:
        raise RefusedError(f"{entry.id} is there already", "name another workspace with --to")
    if workspace.layout.is_archived(path) or entry.status != "active" or entry.superseded_by:
        raise RefusedError(f"{entry.id} is not in use", f"`mem restore {entry.id}` first")
    if entry.conflicts_with:
        raise RefusedError(f"{entry.id} is in conflict with another entry", "`mem review` settles it")
    if not allow_secret:
        guard = redactor(target, path)
        guard.personal = PERSONAL
        guard.text(file.text)
        for finding in guard.found:
            raise RefusedError(
                f"{path}:{finding.line}: looks like a secret ({finding.rule})", "take it out, or --allow-secret"
            )
    notices = pass_by_the_forgotten(target, {}, entry.body, COMMAND, entry=entry)
    inner = path.removeprefix(f"{workspace.layout.entries}/")
    new_path = f"{target.layout.entries}/{inner}"
    if not _holds(target, new_path, file.text):
        new_path = target.free_name(new_path)
        applied(target, Plan((Change(new_path, None, file.text),)), COMMAND)
    earlier = len(chain(workspace, entry.id).links) - 1
    applied(workspace, Plan((Change(path, file.text, None),)), COMMAND)
    fold_twins(target, new_path, COMMAND)
    if earlier > 0:
        notices += (f"its earlier texts stay in {workspace.root}",)
    return Moved(target, entry.id, path, new_path, audience(target), notices)


def _holds(workspace: Workspace, path: str, text: str) -> bool:
    """Return whether a file has a text already: a move that was cut off has made it."""
    return workspace.path(path).is_file() and read_entry_file(workspace, path).text == text
