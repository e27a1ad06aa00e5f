"""Put memories away, delete them, and bring them back: from the archive, from being superseded, as before an edit."""

import json
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from ..beliefs.forgotten import forgetting, still_said
from ..beliefs.plan import Plan, applied, listed, without_lines
from ..beliefs.supersession import (
    EntryFile,
    chain,
    conflicting_text,
    followed,
    hidden_with,
    is_same_slot,
    put_away_note,
    read_entry_file,
    restored_text,
    says,
    with_text,
    without_names,
)
from ..dataclass import dataclass
from ..errors import MemError, NotFoundError, RefusedError
from ..formats.entry import TRUST, Entry, stated_id
from ..formats.frontmatter import document
from ..formats.memory_page import read_promoted, statement_of
from ..formats.text_lines import normalized
from ..git import run
from ..git.tree_merge import deleted_for_good
from ..index.index import Index, ask
from ..index.lookups import earlier_than, paths_by_id, successors, supersession_rows
from ..results import IF_ANY, OPTIONAL, Action, FilePath, Result
from ..store import access_log, atomic_files, entries, trust
from ..store.addresses import Place
from ..store.entry_revision import keep_page, page_of, page_versions
from ..store.journal import Change
from ..store.undo_log import forget, noted_ids, telling_lines
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
    unreached: Annotated[str, "why a team's server has them until the next `mem index`; else empty"] = ""
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

    def forgotten(target: Named) -> Forgotten:
        where, path = target.workspace, target.path
        if Place.of(path).anchor:  # another tool's item
            hidden = entries.forget(where, path)
            return Forgotten(where, "unchanged" if hidden == path else "archived", target.name, path, hidden)
        entries.require_entry(where, path)
        outcome = forgetting(where, [path], by=by, reason=reason)
        applied(where, outcome.plan, "mem forget")
        new_path, notices = outcome.places[0], (*put_away_note(target.name, outcome.earlier), *outcome.plan.reasons)
        if outcome.files and (places := still_said(where, outcome.files[0].entry)):
            notices += (f"{target.name} is also in {listed(places)}: edit or delete these to have it out of there too",)
        action = "unchanged" if new_path == path else "archived"
        return Forgotten(where, action, target.name, path, new_path, notices=notices, superseded=tuple(outcome.earlier))

    return each(named, forgotten)


def restore_each(named: Sequence[Named], *, several: bool = False) -> tuple[list[Archived], list[Failure]]:
    """Bring entries back; of `several`, one that is in use was restored before the command was cut off."""

    def restored(target: Named) -> Archived:
        where, path = target.workspace, target.path
        if several and _is_in_use(where, path):
            return Archived(where, "unchanged", target.name, path, path)
        done = restore(where, path)
        notices = []
        if done.flagged:
            others = ", ".join(done.flagged)
            notices.append(f"{target.name} and {others} are flagged: `mem supersede` the one that is over")
        note_return(where, done.path)
        return Archived(where, "restored", target.name, path, done.path, notices=tuple(notices))

    return each(named, restored)


def each(named: Sequence[Named], change: Callable[[Named], _Done]) -> tuple[list[_Done], list[Failure]]:
    """Change one after the other; two names of one file are one."""
    once: dict[tuple[Path, str], Named] = {}
    for target in named:
        once.setdefault((target.workspace.root, target.path), target)
    done: list[_Done] = []
    failed: list[Failure] = []
    for target in once.values():
        try:
            done.append(change(target))
        except MemError as error:
            failed.append(Failure(target.name, error))
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
    last = (followed(entry.id, after) or [""])[-1]
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

        superseded, _ = fill(workspace, path, "mem restore")
        flagged = tuple(identifier for identifier in flagged if identifier not in superseded)
    return Restored(path, flagged)


def _page_restored(workspace: Workspace, path: str) -> str:
    """Bring back what a file that is no entry said before it was last changed, or a file that was put away."""
    if page := page_of(workspace, path):
        return _with_text_of(workspace, page, path)
    if workspace.layout.is_archived(path) or workspace.path(path).is_dir():
        return entries.restore(workspace, path)
    now = atomic_files.read(workspace.path(path))
    for version, _ in reversed(page_versions(workspace, path)):
        if atomic_files.read(workspace.path(version)) != now:
            return _with_text_of(workspace, path, version)
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
        file = read_entry_file(workspace, path)
    except RefusedError:
        return None
    return file if file.entry.version_of else None


def _put_back(workspace: Workspace, version: EntryFile) -> Restored:
    """Give an entry the text it had; the one it has becomes a version in turn."""
    entry = version.entry
    current = ask(workspace, lambda index: _places(index)[0].get(entry.version_of))
    if current is None or workspace.layout.is_archived(current):
        where = f"is in the archive: `mem restore {entry.version_of}` first" if current else "is gone"
        raise NotFoundError(
            f"{entry.id} is an earlier text of {entry.version_of}, which {where}",
            f"`mem write` the text anew: it is in {version.path}",
        )
    fields: dict[str, Any] = {"type": entry.type, "title": entry.title, "wordings": list(entry.wordings)}
    now = read_entry_file(workspace, current).entry
    if workspace.is_trusted and (now.source, now.trust) != (entry.source, entry.trust):
        fields |= {"source": entry.source, "trust": "" if entry.trust == TRUST[entry.source] else entry.trust}
    entries.update(workspace, current, fields, entry.body)
    return Restored(current)


def _active_again(workspace: Workspace, before: EntryFile) -> tuple[Plan, tuple[str, ...]]:
    """Propose to believe an entry again, and flag it with what took its place, since both cannot go unsaid."""
    places, after = ask(workspace, _places)
    back = with_text(workspace, before, restored_text(workspace, before))
    steps: list[Change] = []
    flagged = []
    for identifier in followed(before.entry.id, after):
        if (
            identifier == before.entry.id
            or identifier not in places
            or workspace.layout.is_archived(places[identifier])
        ):
            continue
        other = read_entry_file(workspace, places[identifier])
        if other.entry.status == "active" and not is_same_slot(other.entry, before.entry):
            back = with_text(workspace, back, conflicting_text(workspace, back, other.entry))
            steps.append(Change(other.path, other.text, conflicting_text(workspace, other, before.entry)))
            flagged.append(identifier)
    return Plan((Change(before.path, before.text, back.text), *steps)), tuple(flagged)


def _places(index: Index) -> tuple[dict[str, str], dict[str, str]]:
    after = successors(index)
    return paths_by_id(index), after


TAKEN_OFF = "{0}: the promoted line of {1} taken off"
_INDEX = "index.db"
"""How the names of the index's files begin."""


def purge_each(named: Sequence[Named]) -> tuple[list[Forgotten], list[Failure]]:
    """Delete entries with what belongs to them; what fails on the way is finished by the same names."""
    from ..recall.late import drop_all  # late: to forget deletes nothing

    for workspace in {target.workspace.root: target.workspace for target in named}.values():
        drop_all(workspace)
    return each(named, _purged)


def _purged(target: Named) -> Forgotten:
    workspace, path = target.workspace, target.path
    done = Forgotten(workspace, "purged", target.name, path, path)
    if not workspace.path(path).exists():  # an earlier text that went with its entry
        return done
    entries.require_one_side(workspace, path)
    texts = [atomic_files.read(workspace.path(path)).decode("utf-8", "replace")]
    bodies: list[str] = []
    earlier: list[EntryFile] = []
    with suppress(RefusedError):  # where the frontmatter is broken nothing tells what belongs to it
        file = read_entry_file(workspace, path)
        texts.append(statement_of(file.entry.title, file.entry.body))
        bodies = [normalized(text) for text in (file.entry.body, *file.entry.wordings)]
        if not file.entry.version_of:
            earlier = _earlier(workspace, file)
            deleted = {path: file.entry.id} | {other.path: other.entry.id for other in earlier}
            plan = without_lines(workspace, [file.entry.id]) + without_names(workspace, deleted)
            applied(workspace, plan, "mem forget --purge")
    removed = tuple(other.path for other in earlier)
    replaced = {
        name: archived_path
        for name, archived_path in hidden_with(workspace, [path]).items()
        if archived_path not in removed
    }
    steps, _ = entries.forgetting(workspace, [*replaced.values()], by="user")
    applied(workspace, Plan(tuple(steps)), "mem forget --purge")
    notices = put_away_note(target.name, replaced)
    if workspace.state:
        trust.note_purged(workspace.state, workspace.root, bodies, workspace.stamp)
    for file_path in (*removed, path):
        entries.purge(workspace, file_path)
    said_lines = {line for text in (*texts, *(other.text for other in earlier)) for line in telling_lines(text)}
    notices = tuple(f"{notice}, `mem forget --purge {next(iter(replaced))}` deletes it too" for notice in notices)
    return replace(done, superseded=tuple(replaced), removed=removed, said=frozenset(said_lines), notices=notices)


def _earlier(workspace: Workspace, purged: EntryFile) -> list[EntryFile]:
    """Return the earlier texts of a memory, and the duplicates that were folded into it."""
    versions: list[EntryFile] = []
    others: list[EntryFile] = []
    for path, version_of in ask(workspace, lambda index: earlier_than(index, purged.entry.id)):
        with suppress(MemError):
            (versions if version_of else others).append(read_entry_file(workspace, path))
    bodies = [body for file in (purged, *versions) for body in (file.entry.body, *file.entry.wordings)]
    return [*versions, *(other for other in others if any(says(other.entry, body) for body in bodies))]


def remnants(workspace: Workspace, lines: Collection[str], deleted: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files that still say lines that were deleted for good, and which of the files deleted are in commits.

    The latter are named from the top of the repository. The index, which is made of files, is rid of them first.
    """
    ask(workspace, _wiped)
    before = [path.removeprefix(workspace.layout.archive) for path in deleted]
    return sorted(_saying(workspace, lines)), run.committed(workspace.root, [*deleted, *before])


def _wiped(index: Index) -> None:
    index.refresh()
    index.wipe_deleted()


def _saying(workspace: Workspace, lines: Collection[str]) -> list[str]:
    """Return the files that hold one of some lines, plainly or within JSON."""
    forms = {json.dumps(line, ensure_ascii=is_ascii)[1:-1] for line in lines for is_ascii in (False, True)}
    wanted = [form.encode("utf-8", "surrogatepass") for form in {*lines, *forms}]
    paths = []
    for folder, below, names in os.walk(workspace.root):
        below[:] = [name for name in below if name != ".git"]
        for file in (Path(folder, name) for name in names if not name.startswith(_INDEX)):
            with suppress(OSError):
                if file.is_file() and any(map(file.read_bytes().__contains__, wanted)):
                    paths.append(workspace.relative(file))
    return paths


def forget_deleted(workspace: Workspace, *, wipes: bool) -> None:
    """Take what was deleted for good elsewhere out of the notes of `mem undo`, and of the index too.

    The latter is written anew where there was any, or if it `wipes`.
    """
    ids = {row[0] for row in ask(workspace, supersession_rows)}
    deleted = deleted_for_good(workspace, noted_ids(workspace).difference(ids))
    forget(workspace, {path: data for texts in deleted.values() for path, data in texts.items()})
    if deleted or wipes:
        ask(workspace, _wiped)


def stale_lines(workspace: Workspace, page: str, ids: Collection[str], active: Collection[str]) -> dict[str, int]:
    """Return the promoted lines of a page whose memory is put away, superseded or deleted for good: numbers by id.

    `ids` are all that there are. A line that a person changed is that person's.
    """
    lines = {line.id: line for line in read_promoted(page).lines if line.is_ours and line.id not in active}
    deleted = deleted_for_good(workspace, lines.keys() - ids)
    return {name: page.count("\n", 0, line.start) + 1 for name, line in lines.items() if name in ids or name in deleted}
