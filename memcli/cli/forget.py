"""`mem forget` and `mem restore`."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ..errors import MemError
from ..store import entries
from ..store.layout import ARCHIVE
from ..store.workspace import Workspace
from . import complete, output, world
from .options import AsJson, InScope, InWorkspace

_Names = Annotated[
    list[str], typer.Argument(metavar="ID...", autocompletion=complete.ids, help="Ids, unique parts of them, or paths.")
]


def forget(
    names: _Names,
    purge: Annotated[bool, typer.Option("--purge", help="Delete for good instead.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Move entries to the archive.

    An archived memory is out of search but for --archived, and `mem restore` brings it back byte for byte.
    """
    if purge:
        _each(names, workspace, scope, "purged", _purged, as_json)
    else:
        _each(names, workspace, scope, "archived", _forgotten, as_json)


def restore(names: _Names, workspace: InWorkspace = "", scope: InScope = "", as_json: AsJson = False) -> None:
    """Bring entries back from the archive, and superseded ones back into use.

    An entry comes back byte for byte; of a superseded one the marks go. For `mem decay` its age counts from today, so
    that it does not go again at once.
    """
    _each(names, workspace, scope, "restored", _restored, as_json)


def _restored(workspace: Workspace, path: str) -> str:
    """Bring a file back from the archive; one that lies in its place is made active again if it was superseded."""
    if path.startswith(ARCHIVE) or workspace.layout.kind_of(path) != "entry":
        place = entries.restore(workspace, path)
    else:
        from ..lifecycle.plan import Plan, applied
        from ..lifecycle.supersession import restored_text, standing
        from ..store.journal import Change

        before = standing(workspace, path)
        if before.entry.status != "superseded" and not before.entry.superseded_by:
            return entries.restore(workspace, path)
        applied(workspace, Plan((Change(path, before.text, restored_text(workspace, before)),)), "mem restore")
        place = path
    _note_return(workspace, place)
    return place


def _note_return(workspace: Workspace, path: str) -> None:
    """Note when a memory came back, beside it, so that it does not fade again at once."""
    from ..store import access, files
    from ..text import frontmatter
    from ..text.entry import stated_id

    with suppress(MemError, UnicodeDecodeError):
        identifier = stated_id(frontmatter.parse(files.read(workspace.path(path)).decode("utf-8")).fields) or path
        access.note(workspace, [access.RESTORED + identifier])


def _forgotten(workspace: Workspace, path: str) -> str:
    """Move a file to the archive; one that lies there stays, so that a run that was cut off can be repeated."""
    return path if path.startswith(ARCHIVE) else entries.forget(workspace, path)


def _purged(workspace: Workspace, path: str) -> str:
    entries.purge(workspace, path)
    return path


def _each(
    names: list[str], workspace: str, scope: str, action: str, change: Callable[[Workspace, str], str], as_json: bool
) -> None:
    """Find all the names before changing anything, then change one after the other; two names of one file are one."""
    found: dict[tuple[Path, str], tuple[str, Workspace]] = {}
    for name in names:
        where, place = world.locate(workspace, scope, name, strict=True)
        found.setdefault((where.root, place.path), (name, where))
    done = []
    places = []  # as the current folder has them
    failed: list[tuple[str, MemError]] = []
    for (_, path), (name, where) in found.items():
        try:
            new = change(where, path)
            is_same = action == "archived" and new == path
            done.append({"action": "unchanged" if is_same else action, "name": name, "from": path, "path": new})
            places.append(world.here(where, new))
        except MemError as error:
            failed.append((name, error))
            output.failure(error, [name], as_json=as_json)
    if as_json:
        wrong = [{"name": name, "message": one.message, "fix": one.fix} for name, one in failed]
        output.say_json({"entries": done, "failed": wrong})
    else:
        for one, shown in zip(done, places, strict=True):
            if output.is_watched():
                output.say(f"{one['action']} {one['name']} ({shown})")
            else:
                output.say_row((one["action"], one["name"], shown))
    if failed:
        raise typer.Exit(3 if done else failed[-1][1].exit_code)
