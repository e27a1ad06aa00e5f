"""`mem forget` and `mem restore`."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import AmbiguousError, MemError, NotFoundError, UsageError
from ..store import entries
from ..store.workspace import Workspace
from . import context, output, value_completion
from .options import AsJson, InScope, InWorkspace

_Names = Annotated[
    list[str],
    typer.Argument(metavar="ID...", autocompletion=value_completion.ids, help="Ids, unique parts of them, or paths."),
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
        _each(names, workspace, scope, "archived", entries.forget, as_json)


def restore(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...", autocompletion=value_completion.ids, help="Ids, unique parts of them, or paths."
        ),
    ] = None,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Bring entries back from the archive, superseded ones back into use, and the text of before an edit.

    An entry comes back byte for byte; of a superseded one the marks go, and it is flagged together with what took its
    place. An earlier text, which `mem read --history` lists, takes its entry's place again; MEMORY.md and the notes of
    a day, named by their path, say again what they said before the last change. For `mem decay` the age of what is
    restored counts from today, so that it does not go again at once.
    """
    if not names:
        raise UsageError("nothing is named", "`mem ls --status archived` lists what was forgotten")
    _each(names, workspace, scope, "restored", _restored, as_json)


def _restored(workspace: Workspace, path: str) -> str:
    from ..maintenance.restoring import restore

    done = restore(workspace, path)
    if done.flagged:
        others = ", ".join(done.flagged)
        output.note(f"{path} and {others} are flagged: `mem supersede` the one that is over")
    _note_return(workspace, done.path)
    return done.path


def _is_in_use(workspace: Workspace, path: str) -> bool:
    from ..beliefs.supersession import standing

    if workspace.layout.kind_of(path) != "entry" or workspace.layout.is_archived(path) or workspace.path(path).is_dir():
        return False
    entry = standing(workspace, path).entry
    return entry.status == "active" and not entry.superseded_by


def _note_return(workspace: Workspace, path: str) -> None:
    """Note when a memory came back, beside it, so that it does not fade again at once."""
    from ..formats.entry import stated_id
    from ..formats.frontmatter import document
    from ..store import atomic_files, local_log

    with suppress(MemError, UnicodeDecodeError):
        identifier = stated_id(document.parse(atomic_files.read(workspace.path(path)).decode("utf-8")).fields) or path
        local_log.note(workspace, [local_log.RESTORED + identifier])


def _purged(workspace: Workspace, path: str) -> str:
    entries.purge(workspace, path)
    return path


def _replaced_by(workspace: Workspace, path: str) -> list[str]:
    """Give the ids of entries that the one at a path took the place of: without it, search finds neither."""
    from ..beliefs.supersession import earlier_of
    from ..index.index import ask

    return ask(workspace, lambda index: earlier_of(index, path))


def _each(
    names: list[str], workspace: str, scope: str, action: str, change: Callable[[Workspace, str], str], as_json: bool
) -> None:
    """Find all the names before changing anything, then change one after the other; two names of one file are one."""
    found: dict[tuple[Path, str], tuple[str, Workspace]] = {}
    done: list[dict[str, Any]] = []
    places = []  # as the current folder has them
    failed: list[tuple[str, MemError]] = []
    for name in names:
        try:
            where, place = context.locate(workspace, scope, name, strict=True)
        except NotFoundError as error:
            if action != "purged" or isinstance(error, AmbiguousError):
                raise
            # A purge leaves nothing to be found by: one that was cut off is finished by the same words.
            failed.append((name, error))
            output.failure(error, [name], as_json=as_json)
            continue
        found.setdefault((where.root, place.path), (name, where))
    for (_, path), (name, where) in found.items():
        try:
            earlier = _replaced_by(where, path) if action in ("archived", "purged") else []
            # One of several that is in use was restored before the command was cut off.
            is_there = action == "restored" and len(names) > 1 and _is_in_use(where, path)
            new = path if is_there else change(where, path)
            is_same = is_there or (action == "archived" and new == path)
            done.append({"action": "unchanged" if is_same else action, "name": name, "from": path, "path": new})
            places.append(context.here(where, new))
            if earlier:
                done[-1]["superseded"] = earlier
                way = f"`mem restore {earlier[0]}` brings it back"
                output.note(f"{name} had taken the place of {', '.join(earlier)}: {way}")
        except MemError as error:
            failed.append((name, error))
            output.failure(error, [name], as_json=as_json)
    if as_json:
        from ..secrets.scanner import unsaid

        told = [(name, {"name": name, "message": one.message, "fix": one.fix}) for name, one in failed]
        wrong = [{key: unsaid(text, [name]) for key, text in row.items()} for name, row in told]
        output.say_json({"entries": done, "failed": wrong})
    else:
        for one, shown in zip(done, places, strict=True):
            if output.is_watched():
                output.say(f"{one['action']} {one['name']} ({shown})")
            else:
                output.say_row((one["action"], one["name"], shown))
    if failed:
        raise typer.Exit(3 if done else failed[-1][1].exit_code)
