"""Put memories away, delete them, and bring them back: from the archive, from being superseded, as before an edit."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

from ..beliefs.forgotten import forgetting, still_said
from ..beliefs.merging import is_same_slot
from ..beliefs.plan import Plan, applied, listed
from ..beliefs.supersession import (
    EntryFile,
    chain,
    conflicting_text,
    followed,
    put_away_note,
    read_entry_file,
    restored_text,
    with_text,
)
from ..dataclass import dataclass
from ..errors import MemError, NotFoundError, RefusedError
from ..formats.entry import TRUST, Entry, stated_id
from ..formats.frontmatter import document
from ..index.index import Index, ask
from ..index.lookups import paths_by_id, successors
from ..results import IF_ANY, OPTIONAL, Action, FilePath, Result
from ..store import access_log, atomic_files, entries
from ..store.addresses import Place
from ..store.archive import explain
from ..store.journal import Change
from ..store.replaced_texts import keep_page, page_of, page_versions
from ..store.workspace import Workspace


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
    action: Action
    name: Annotated[str, "its name"]
    """As it was given."""
    from_: Annotated[str, "where it came from"]
    """The path before, within the workspace."""
    path: FilePath
    """The path now; of what is purged, the path it had."""
    removed: tuple[str, ...] = ()
    said: frozenset[str] = frozenset()
    """Lines that it said, where it was purged."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forgotten(Archived):
    """What became of an entry that was to be forgotten."""

    superseded: Annotated[tuple[str, ...], "entries that were superseded", IF_ANY] = ()
    """Ids of entries it had taken the place of, which go to the archive with it."""
    removed: Annotated[tuple[str, ...], "its earlier texts and folded duplicates, deleted with it", IF_ANY] = ()


_Done = TypeVar("_Done", bound=Archived)


@dataclass(frozen=True)
class Failure:
    """Why nothing was done about one of the entries named."""

    given: str
    error: MemError

    @property
    def name(self) -> Annotated[str, "its name"]:
        """Return the name that was given, without secrets."""
        return self._unsaid(self.given)

    @property
    def message(self) -> Annotated[str, "what is wrong, in one line"]:
        """Return what is wrong, without secrets."""
        return self._unsaid(self.error.message)

    @property
    def fix(self) -> Annotated[str, "the command or change that helps"]:
        """Return what helps, without secrets."""
        return self._unsaid(self.error.fix)

    def _unsaid(self, text: str) -> str:
        from ..secrets.scanner import unsaid  # late: mostly nothing fails

        return unsaid(text, [self.given])


@dataclass(frozen=True)
class RestoreReport(Result):
    """What became of each of the entries named, in their order."""

    entries: Annotated[Sequence[Archived], "the entries"]
    failed: Annotated[tuple[Failure, ...], "what could not be done, and why"] = ()


@dataclass(frozen=True)
class ForgetReport(RestoreReport):
    """What became of each of the entries named, in their order, and what is left of those that were purged."""

    entries: Annotated[Sequence[Forgotten], "the entries"]
    remnants: tuple[tuple[Workspace, str], ...] = ()
    """Files that still say what was purged, by their paths within a workspace."""
    committed: Annotated[
        tuple[str, ...] | None,
        "files deleted for good that are in git's history, from the top of the repository",
        OPTIONAL,
    ] = None

    @property
    def standing(
        self,
    ) -> Annotated[list[str] | None, "files that still say what was deleted for good", OPTIONAL]:
        """Return the files that still say what was purged; None where nothing was purged."""
        return None if self.committed is None else [path for _, path in self.remnants]


def forget_each(named: Sequence[Named], by: str, reason: str) -> tuple[list[Forgotten], list[Failure]]:
    """Move entries to the archive as forgotten, and take their lines off the page; name what else says the same."""

    def forgotten(one: Named) -> Forgotten:
        where, path = one.workspace, one.path
        if Place.of(path).anchor:  # another tool's item
            hidden = entries.forget(where, path)
            return Forgotten(where, "unchanged" if hidden == path else "archived", one.name, path, hidden)
        entries.require_entry(where, path)
        found = forgetting(where, [path], by=by, reason=reason)
        applied(where, found.plan, "mem forget")
        place, notices = found.places[0], (*put_away_note(one.name, found.earlier), *found.plan.reasons)
        if place == path:
            explain(where, {path: atomic_files.read(where.path(path))})
        if found.files and (places := still_said(where, found.files[0].entry)):
            notices += (f"{one.name} is also in {listed(places)}: edit or delete these to have it out of there too",)
        action = "unchanged" if place == path else "archived"
        return Forgotten(where, action, one.name, path, place, notices=notices, superseded=tuple(found.earlier))

    return each(named, forgotten)


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
            notices.append(f"{one.name} and {others} are flagged: `mem supersede` the one that is over")
        note_return(where, done.path)
        return Archived(where, "restored", one.name, path, done.path, notices=tuple(notices))

    return each(named, restored)


def each(named: Sequence[Named], change: Callable[[Named], _Done]) -> tuple[list[_Done], list[Failure]]:
    """Change one after the other; two names of one file are one."""
    once: dict[tuple[Path, str], Named] = {}
    for one in named:
        once.setdefault((one.workspace.root, one.path), one)
    done: list[_Done] = []
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
    return _is_active(read_entry_file(workspace, path).entry)


def _is_active(entry: Entry) -> bool:
    return entry.status == "active" and not entry.superseded_by


def _is_hidden(workspace: Workspace, path: str) -> bool:
    """Return whether what took the place of an entry, one after the other, is not in use itself."""
    try:
        entry = read_entry_file(workspace, path).entry
    except MemError:  # another tool's memory, which has no file of its own, among others
        return False
    places, after = ask(workspace, _places)
    last = (followed(entry.id, lambda name: after.get(name, "")) or [""])[-1]
    return entry.status == "superseded" and (last not in places or workspace.layout.is_archived(places[last]))


def note_return(workspace: Workspace, path: str) -> None:
    """Note when a memory came back, beside it, so that it does not fade again at once."""
    with suppress(MemError, UnicodeDecodeError):
        identifier = stated_id(document.parse(atomic_files.read(workspace.path(path)).decode("utf-8")).fields) or path
        access_log.note(workspace, [access_log.RESTORED + identifier])


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
        if version:
            return _put_back(workspace, version)
        path = entries.restore(workspace, path)
        if not _is_hidden(workspace, path):
            return Restored(path)
    before = read_entry_file(workspace, path)
    if _is_active(before.entry):
        if len(chain(workspace, before.entry.id).links) > 1:
            raise RefusedError(
                f"{path} is not in the archive",
                f"`mem read {before.entry.id} --history` lists its earlier texts: `mem restore` the one you want",
            )
        return Restored(entries.restore(workspace, path))
    plan, flagged = _active_again(workspace, before)
    applied(workspace, plan, "mem restore")
    if before.entry.key:
        from ..beliefs.replacing import fill

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
    back = with_text(workspace, before, restored_text(workspace, before))
    steps: list[Change] = []
    flagged = []
    for one in followed(before.entry.id, lambda identifier: after.get(identifier, "")):
        if one == before.entry.id or one not in places or workspace.layout.is_archived(places[one]):
            continue
        other = read_entry_file(workspace, places[one])
        if other.entry.status == "active" and not is_same_slot(other.entry, before.entry):
            back = with_text(workspace, back, conflicting_text(workspace, back, other.entry))
            steps.append(Change(other.path, other.text, conflicting_text(workspace, other, before.entry)))
            flagged.append(one)
    return Plan((Change(before.path, before.text, back.text), *steps)), tuple(flagged)


def _places(index: Index) -> tuple[dict[str, str], dict[str, str]]:
    after = successors(index)
    return paths_by_id(index), after
