"""Move an entry into another workspace: the explicit act of sharing a memory, or of taking it back."""

from pathlib import PurePosixPath
from typing import Annotated

from ..beliefs.deduplication import fold_twins
from ..beliefs.forgotten import pass_by_the_forgotten
from ..beliefs.plan import Plan, applied
from ..beliefs.supersession import chain, read_entry_file
from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.entry import Entry
from ..formats.ids import day_of, parse_time, slug, tail
from ..index.lookups import ask_current, paths_by_id
from ..results import FilePath, Id, Result
from ..secrets.scanner import PERSONAL
from ..store import entries
from ..store.conversation_keeper import audience
from ..store.journal import Change
from ..store.redaction import redactor
from ..store.workspace import Workspace
from .access_counters import fold

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
    entries.require_managed(workspace, path)
    entry = read_entry_file(workspace, path).entry
    if workspace.root == target.root:
        raise RefusedError(f"{entry.id} is there already", "name another workspace with --to")
    if workspace.layout.is_archived(path) or entry.status != "active" or entry.superseded_by:
        raise RefusedError(f"{entry.id} is not in use", f"`mem restore {entry.id}` first")
    if entry.conflicts_with:
        raise RefusedError(f"{entry.id} is in conflict with another entry", "`mem review` settles it")
    fold(workspace, COMMAND, [{"id": entry.id, "path": path}])
    file = read_entry_file(workspace, path)
    if not allow_secret:
        guard = redactor(target, path)
        guard.personal = PERSONAL
        guard.text(file.text)
        for finding in guard.found:
            raise RefusedError(
                f"{path}:{finding.line}: looks like a secret ({finding.rule})", "take it out, or --allow-secret"
            )
    notices = pass_by_the_forgotten(target, {}, entry.body, COMMAND, entry=entry)
    new_path = ask_current(target, paths_by_id).get(entry.id, "")
    if new_path and read_entry_file(target, new_path).entry.body != entry.body:
        raise RefusedError(f"{new_path} has the id {entry.id} and says something else", "edit or forget one of them")
    if not new_path:  # else a move that was cut off has made it
        new_path = _free_path(target, path.removeprefix(f"{workspace.layout.entries}/"), entry)
        applied(target, Plan((Change(new_path, None, file.text),)), COMMAND)
    earlier = len(chain(workspace, entry.id).links) - 1
    applied(workspace, Plan((Change(path, file.text, None),)), COMMAND)
    fold_twins(target, new_path, COMMAND)
    if earlier > 0:
        notices += (f"its earlier texts stay in {workspace.root}",)
    return Moved(target, entry.id, path, new_path, audience(target), notices)


def _free_path(target: Workspace, inner: str, entry: Entry) -> str:
    """Return where an entry goes: where it lay below the entries, unless that means something else there."""
    layout = target.layout
    path = f"{layout.entries}/{inner}".lstrip("/")
    if layout.kind_of(path) != "entry" or layout.is_archived(path):
        stem = PurePosixPath(inner).stem.removesuffix(f"-{tail(entry.id)}")
        path = layout.entry_path(slug(stem), entry.id, day_of(parse_time(entry.created_at) or target.now, target.zone))
    return target.free_name(path)
