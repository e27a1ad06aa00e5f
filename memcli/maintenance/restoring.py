"""Bring memories back: from the archive, from being superseded, and the text of before an edit."""

from dataclasses import dataclass
from typing import Any

from ..beliefs.merging import is_same_slot
from ..beliefs.plan import Plan, applied
from ..beliefs.supersession import EntryFile, chain, conflicting_text, followed, read_entry_file, restored_text
from ..errors import NotFoundError, RefusedError
from ..formats.entry import TRUST
from ..index.index import Index, ask
from ..index.lookups import paths_by_id, successors
from ..store import atomic_files, entries
from ..store.journal import Change
from ..store.replaced_texts import keep_page, page_of, page_versions
from ..store.workspace import Workspace


@dataclass(frozen=True)
class Restored:
    """Where a memory is now, and what stood in its place: that stays, and both are flagged."""

    path: str
    flagged: tuple[str, ...] = ()


def restore(workspace: Workspace, path: str) -> Restored:
    """Bring back what a path names; RefusedError where it is in use, NotFoundError where a version has no entry."""
    if workspace.layout.kind_of(path) != "entry" or workspace.path(path).is_dir():
        return Restored(_page_restored(workspace, path))
    if page := page_of(workspace, path):
        return Restored(_with_text_of(workspace, page, path))
    if workspace.layout.is_archived(path):
        version = _version(workspace, path)
        return _put_back(workspace, version) if version else Restored(entries.restore(workspace, path))
    before = read_entry_file(workspace, path)
    if before.entry.status != "superseded" and not before.entry.superseded_by:
        if len(ask(workspace, lambda index: chain(index, before.entry.id)).links) > 1:
            raise RefusedError(
                f"{path} is not in the archive",
                f"`mem read {before.entry.id} --history` lists its earlier texts: `mem restore` the one you want",
            )
        return Restored(entries.restore(workspace, path))
    plan, flagged = _active_again(workspace, before)
    applied(workspace, plan, "mem restore")
    if before.entry.key:
        from ..beliefs.keys import fill

        filled = fill(workspace, path, "mem restore")
        flagged = tuple(one for one in flagged if one not in filled.supersedes)
    return Restored(path, flagged)


def _page_restored(workspace: Workspace, path: str) -> str:
    """Bring back what a file that is no entry said before it was last changed, or a file that was put away."""
    if page := page_of(workspace, path):
        return _with_text_of(workspace, page, path)
    if workspace.layout.is_archived(path) or workspace.path(path).is_dir():
        return entries.restore(workspace, path)
    now = atomic_files.read(workspace.path(path))
    for place, _ in reversed(page_versions(workspace, path)):
        if atomic_files.read(workspace.path(place)) != now:
            return _with_text_of(workspace, path, place)
    raise RefusedError(f"no earlier text of {path} is kept", "there is nothing to restore")


def _with_text_of(workspace: Workspace, page: str, version: str) -> str:
    """Give a file the text that an archived one has; the one it has becomes an earlier text in turn."""
    old = entries.decoded(version, atomic_files.read(workspace.path(version)))

    def changed(text: str) -> str:
        if text != old:
            keep_page(workspace, page, text)
        return old

    entries.edit(workspace, page, changed, keeps=False)
    return page


def _version(workspace: Workspace, path: str) -> EntryFile | None:
    """Read an archived file that is an earlier text of an entry; None for any other, broken ones too."""
    try:
        found = read_entry_file(workspace, path)
    except RefusedError:
        return None
    return found if found.entry.version_of else None


def _put_back(workspace: Workspace, version: EntryFile) -> Restored:
    """Give an entry the text it had; the one it has becomes a version in turn."""
    entry = version.entry
    place = ask(workspace, lambda index: _places(index)[0].get(entry.version_of))
    if place is None or workspace.layout.is_archived(place):
        where = f"is in the archive: `mem restore {entry.version_of}` first" if place else "is gone"
        raise NotFoundError(
            f"{entry.id} is an earlier text of {entry.version_of}, which {where}",
            f"`mem write` the text anew: it is in {version.path}",
        )
    told: dict[str, Any] = {"type": entry.type, "title": entry.title, "wordings": list(entry.wordings)}
    now = read_entry_file(workspace, place).entry
    if workspace.is_trusted and (now.source, now.trust) != (entry.source, entry.trust):
        told |= {"source": entry.source, "trust": "" if entry.trust == TRUST[entry.source] else entry.trust}
    entries.update(workspace, place, told, entry.body)
    return Restored(place)


def _active_again(workspace: Workspace, before: EntryFile) -> tuple[Plan, tuple[str, ...]]:
    """Propose to believe an entry again, and flag it with what took its place, since both cannot go unsaid."""
    places, after = ask(workspace, _places)
    text = restored_text(workspace, before)
    steps: list[Change] = []
    flagged = []
    for one in followed(before.entry.id, lambda identifier: after.get(identifier, "")):
        if one == before.entry.id or one not in places or workspace.layout.is_archived(places[one]):
            continue
        other = read_entry_file(workspace, places[one])
        if other.entry.status == "active" and not is_same_slot(other.entry, before.entry):
            text = conflicting_text(workspace, EntryFile(before.path, text, before.entry), one)
            steps.append(Change(other.path, other.text, conflicting_text(workspace, other, before.entry.id)))
            flagged.append(one)
    return Plan((Change(before.path, before.text, text), *steps)), tuple(flagged)


def _places(index: Index) -> tuple[dict[str, str], dict[str, str]]:
    after = successors(index)
    return paths_by_id(index), after
