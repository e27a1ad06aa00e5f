"""Move entries to the archive, delete them, and bring them back: one after the other, each for itself."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..beliefs.supersession import read_entry_file
from ..errors import MemError
from ..formats.entry import stated_id
from ..formats.frontmatter import document
from ..index.index import ask
from ..index.lookups import superseded_by_entry
from ..store import access_log, atomic_files, entries
from ..store.workspace import Workspace
from .restoring import restore


@dataclass(frozen=True)
class Named:
    """A file, and the name somebody gave it by."""

    name: str
    workspace: Workspace
    path: str


@dataclass(frozen=True)
class Archived:
    """What became of one of the entries named."""

    workspace: Workspace
    action: str
    """`archived`, `purged`, `restored` or `unchanged`."""
    name: str
    """As it was given."""
    came_from: str
    """The path before, within the workspace."""
    path: str
    """The path now; of what is purged, the path it had."""
    superseded: tuple[str, ...] = ()
    """Ids of entries it had taken the place of, which search finds no more than it."""
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return its part of the JSON document of `mem forget` and `mem restore`."""
        told = {"action": self.action, "name": self.name, "from": self.came_from, "path": self.path}
        return {**told, "superseded": list(self.superseded)} if self.superseded else told


@dataclass(frozen=True)
class Failure:
    """Why nothing was done about one of the entries named."""

    name: str
    error: MemError


def forget_each(named: Sequence[Named], *, purge: bool = False) -> tuple[list[Archived], list[Failure]]:
    """Move entries to the archive, or delete them with `purge`."""

    def forgotten(one: Named) -> Archived:
        earlier = ask(one.workspace, lambda index: superseded_by_entry(index, one.path))
        if purge:
            entries.purge(one.workspace, one.path)
            action, path = "purged", one.path
        else:
            path = entries.forget(one.workspace, one.path)
            action = "unchanged" if path == one.path else "archived"
        notices = []
        if earlier:
            way = f"`mem restore {earlier[0]}` brings it back"
            notices.append(f"{one.name} had taken the place of {', '.join(earlier)}: {way}")
        return Archived(one.workspace, action, one.name, one.path, path, tuple(earlier), tuple(notices))

    return _each(named, forgotten)


def restore_each(named: Sequence[Named], *, several: bool = False) -> tuple[list[Archived], list[Failure]]:
    """Bring entries back; of `several`, one that is in use was restored before the command was cut off."""

    def restored(one: Named) -> Archived:
        where, path = one.workspace, one.path
        if several and _is_in_use(where, path):
            return Archived(where, "unchanged", one.name, path, path)
        done = restore(where, path)
        notices = []
        if done.flagged:
            others = ", ".join(done.flagged)
            notices.append(f"{path} and {others} are flagged: `mem supersede` the one that is over")
        _note_return(where, done.path)
        return Archived(where, "restored", one.name, path, done.path, notices=tuple(notices))

    return _each(named, restored)


def _each(named: Sequence[Named], change: Callable[[Named], Archived]) -> tuple[list[Archived], list[Failure]]:
    """Change one after the other; two names of one file are one."""
    once: dict[tuple[Path, str], Named] = {}
    for one in named:
        once.setdefault((one.workspace.root, one.path), one)
    done: list[Archived] = []
    failed: list[Failure] = []
    for one in once.values():
        try:
            done.append(change(one))
        except MemError as error:
            failed.append(Failure(one.name, error))
    return done, failed


def _is_in_use(workspace: Workspace, path: str) -> bool:
    if workspace.layout.kind_of(path) != "entry" or workspace.layout.is_archived(path) or workspace.path(path).is_dir():
        return False
    entry = read_entry_file(workspace, path).entry
    return entry.status == "active" and not entry.superseded_by


def _note_return(workspace: Workspace, path: str) -> None:
    """Note when a memory came back, beside it, so that it does not fade again at once."""
    with suppress(MemError, UnicodeDecodeError):
        identifier = stated_id(document.parse(atomic_files.read(workspace.path(path)).decode("utf-8")).fields) or path
        access_log.note(workspace, [access_log.RESTORED + identifier])
