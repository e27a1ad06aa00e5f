"""Change what is kept: the text of a file, which entry holds, what lies in the archive."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from ..beliefs.deduplication import fold_twins
from ..beliefs.forgotten import ForgottenGuard
from ..beliefs.replacing import Superseded as Superseded
from ..beliefs.replacing import supersede_entry
from ..dataclass import dataclass
from ..errors import AmbiguousError, NotFoundError, UsageError
from ..index.index import Index, ask
from ..maintenance.archiving import Failure, Named, forget_each, restore_each
from ..maintenance.archiving import ForgetReport as ForgetReport
from ..maintenance.archiving import RestoreReport as RestoreReport
from ..results import IF_ANY, Action, FilePath, Id, Result
from ..store.addresses import item_at
from ..store.entries import EntryChange
from ..store.redaction import Redacted, SecretGuard
from ..store.text_files import EditCopy as EditCopy
from ..store.text_files import copy_to_edit, edit_text, replaced
from .choice import listed, require_source
from .workspace import Workspace, Workspaces, locate, open_workspace, recorded

if TYPE_CHECKING:
    from ..maintenance.moving import Moved


@dataclass(frozen=True)
class Edited(Result):
    """What became of a file whose text was to change."""

    workspace: Workspace
    action: Action
    id: Id
    """Of an entry; of another file its path."""
    path: FilePath
    redacted: tuple[Redacted, ...] = ()
    """Where secrets were blanked out."""
    supersedes: Annotated[
        tuple[str, ...], "ids of the entries that said the same word for word: it took them in", IF_ANY
    ] = ()
    superseded_by: Annotated[str, "id of the entry that said the same word for word: it took this one in", IF_ANY] = ""
    notices: tuple[str, ...] = ()
    """What a person is to be told."""


@recorded("edit")
def edit(
    workspaces: Workspaces,
    name: str,
    change: Callable[[str], str],
    *,
    source: str = "",
    by: str = "observed",
    redact: bool = False,
    allow_secret: bool = False,
) -> Edited:
    """Change the text of the file that a name means through a function; the text that goes stays in the archive.

    `source` is whose word the entry is from then on; without it, other words than the user's make it `by`'s where the
    settings say nothing. A new secret is refused; `redact` blanks secrets out, `allow_secret` keeps them. Raise
    NotFoundError, AmbiguousError, UsageError for names and sources, RefusedError for a secret, for broken frontmatter
    and for a file that is not UTF-8.
    """
    require_source(source, by)
    where, address = locate(workspaces, name, strict=True)
    guard = SecretGuard(where, redact, allow_secret)
    author = where.author(source, by)
    forgotten = ForgottenGuard(where, address.path, author)
    done = edit_text(where, address.path, forgotten.change(change), guard, source=source, by=author)
    return _edited(where, done, guard, forgotten)


def replace_words(
    workspaces: Workspaces,
    name: str,
    old: str,
    new: str,
    *,
    source: str = "",
    by: str = "observed",
    redact: bool = False,
    allow_secret: bool = False,
) -> Edited:
    """Replace words that stand in a text exactly once, as `edit`; RefusedError where they stand never or more often."""

    def change(text: str) -> str:
        return replaced(text, old, new)

    return edit(workspaces, name, change, source=source, by=by, redact=redact, allow_secret=allow_secret)


def apply_patch(
    workspaces: Workspaces,
    name: str,
    diff: str,
    *,
    source: str = "",
    by: str = "observed",
    redact: bool = False,
    allow_secret: bool = False,
) -> Edited:
    """Apply a unified diff to a text, as `edit`; RefusedError where it does not fit."""
    from ..formats.unified_diff import apply_patch as patched

    def change(text: str) -> str:
        return patched(text, diff)

    return edit(workspaces, name, change, source=source, by=by, redact=redact, allow_secret=allow_secret)


def begin_edit(
    workspaces: Workspaces,
    name: str,
    *,
    source: str = "",
    by: str = "observed",
    redact: bool = False,
    allow_secret: bool = False,
) -> EditCopy:
    """Return a copy of a text, for an editor: `end_edit` takes it back as `edit` would, its `discard` removes it."""
    require_source(source, by)
    where, address = locate(workspaces, name, strict=True)
    return copy_to_edit(
        where, address.path, SecretGuard(where, redact, allow_secret), source=source, by=where.author(source, by)
    )


@recorded("edit")
def end_edit(copy: EditCopy) -> Edited:
    """Put an edited copy in the place of the text; where that is refused the copy stays, and the error names it."""
    forgotten = ForgottenGuard(copy.workspace, copy.path, copy.by)
    return _edited(copy.workspace, copy.take(forgotten.change), copy.guard, forgotten)


@recorded("supersede")
def supersede(
    workspaces: Workspaces, old: str, new: str, *, source: str = "", by: str = "observed", dry_run: bool = False
) -> Superseded:
    """Let one entry take the place of another; both are flagged where the old one is trusted more.

    Where `source` or `by` is `user` everything gives way. With `dry_run` nothing changes, and `diff` of the result says
    what would. Raise UsageError for what is no entry of one workspace, RefusedError for a circle.
    """
    require_source(source, by)
    where, before, after = two_entries(workspaces, old, new)
    by_user = "user" in (by, where.author(source, by))
    return supersede_entry(where, before, after, by_user=by_user, dry_run=dry_run)


def two_entries(workspaces: Workspaces, first_name: str, second_name: str) -> tuple[Workspace, str, str]:
    """Return the workspace and the paths of two entries; raise UsageError for what is no entry of one workspace."""
    where, first = locate(workspaces, first_name, strict=True)
    there, second = locate(workspaces, second_name, strict=True)
    if where.root != there.root:
        raise UsageError(f"{first_name} and {second_name} are in two workspaces", "name two entries of one")
    for name, location in ((first_name, first), (second_name, second)):
        if where.layout.kind_of(location.path) != "entry" or location.anchor:
            raise UsageError(f"{name} is not an entry", "name two entries; `mem ls` lists them")
    return where, first.path, second.path


@recorded("move")
def move(workspaces: Workspaces, name: str, to: str, *, allow_secret: bool = False) -> "Moved":
    """Move an entry into the workspace of a scope: `project`, `user` or a name from the setting `workspaces`.

    Raise NotFoundError, AmbiguousError and UsageError for names, RefusedError for what holds secrets or personal data
    unless `allow_secret`, and for an entry that is not in use or in conflict.
    """
    from ..maintenance.moving import move_entry  # late: an edit moves nothing

    where, address = locate(workspaces, name, strict=True)
    target = open_workspace(scope=to, folder=where.folder, environ=where.environ, now=where.now)
    return move_entry(where, address.path, target, allow_secret=allow_secret)


@recorded("forget")
def forget(
    workspaces: Workspaces, names: str | Sequence[str], *, purge: bool = False, by: str = "observed", reason: str = ""
) -> ForgetReport:
    """Move entries to the archive, or delete them for good with `purge`; all names are found before anything changes.

    `by` and `reason` say in an archived file who forgot it and why; what says the same does not come back unasked.

    Raise NotFoundError or AmbiguousError for a name, and change nothing then; a purge passes over what is gone.
    """
    from ..maintenance.archiving import (
        purge_each,
        remnants,  # late: an edit deletes nothing
    )

    named, failed = [], []
    for name in listed(names):
        try:
            named += _named(workspaces, [name], hides=not purge)
        except NotFoundError as error:
            if not purge or isinstance(error, AmbiguousError):
                raise
            # A purge leaves nothing to be found by: one that was cut off is finished by the same words.
            failed.append(Failure(name, error))
    places = {target.workspace for target in named}
    for where in places:
        _reach(where)  # what git brought since is known to be the server's text while it is here
    done, refused = purge_each(named) if purge else forget_each(named, by, reason)
    remaining: list[tuple[Workspace, str]] = []
    committed: list[str] = []
    for where in {forgotten.workspace for forgotten in done if purge}:
        ours = [forgotten for forgotten in done if forgotten.workspace == where]
        deleted = [path for forgotten in ours for path in (forgotten.path, *forgotten.removed)]
        paths, in_git = remnants(where, {line for forgotten in ours for line in forgotten.said}, deleted)
        remaining += [(where, path) for path in paths]
        committed += in_git
    is_purged = any(entry.action == "purged" for entry in done)
    unreached = next(filter(None, [_reach(where) for where in places]), "")
    return ForgetReport(done, (*failed, *refused), tuple(remaining), unreached, tuple(committed) if is_purged else None)


def _reach(where: Workspace) -> str:
    """Take from a team's server what went away here; return why that could not be, empty where it could."""

    def reached(index: Index) -> str:
        index.refresh()
        index.reach_others()
        return index.failure

    return ask(where, reached) if where.settings["index.backend"] == "postgres" else ""


@recorded("restore")
def restore(workspaces: Workspaces, names: str | Sequence[str]) -> RestoreReport:
    """Bring entries back from the archive, superseded ones into use, and an earlier text in the place of the later.

    Raise NotFoundError or AmbiguousError for a name, and change nothing then.
    """
    done, failed = restore_each(_named(workspaces, listed(names)), several=len(listed(names)) > 1)
    return RestoreReport(done, tuple(failed))


def _named(workspaces: Workspaces, names: Sequence[str], *, hides: bool = True) -> list[Named]:
    named = [(name, locate(workspaces, name, strict=True, hides=hides)) for name in names]
    return [
        Named(name, where, str(address) if item_at(where, address) else address.path)
        for name, (where, address) in named
    ]


def _edited(workspace: Workspace, done: EntryChange, guard: SecretGuard, forgotten: ForgottenGuard) -> Edited:
    notices = forgotten.lifted("mem edit")
    twins, successor = fold_twins(workspace, done.path, "mem edit") if done.action == "updated" else ((), "")
    redacted = tuple(guard.redacted)
    return Edited(workspace, done.action, done.id, done.path, redacted, twins, successor, notices)
