"""What became of one memory, by whom and when: put together from its file, its sources, the archive, counters and git.

Each of these knows a part, and each is optional: without git the commits are missing, without the session its words.
What two of them know is told twice, since they may disagree.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Annotated, NamedTuple

from ..beliefs.supersession import ChainLink, EntryFile, read_entry_file
from ..dataclass import dataclass
from ..errors import MemError
from ..formats.ids import parse_time, stamp
from ..formats.memory_page import read_promoted
from ..formats.text_lines import decoded
from ..git.repository import edits
from ..results import ChangedLines, FilePath, Result
from ..search.provenance import Origin
from ..store import access_log, atomic_files
from ..store.entry_revision import page_versions
from ..store.workspace import Workspace
from .memory_diff import changed_lines, entry_changes, entry_version


@dataclass(frozen=True)
class TimelineItem:
    """One thing that became of a memory."""

    at: Annotated[str, "when it was, RFC 3339 in UTC; empty where nobody knows"]
    what: Annotated[
        str,
        "said, said again, made, confirmed, changed, superseded, replaced (it took the place of another), flagged,"
        " settled, verdict (of an LLM, with its reason), promoted, demoted, forgotten, restored, read; of a commit its"
        " changes as `mem diff` calls them",
    ]
    by: Annotated[str, "who: user, observed, inferred, a speaker, the author of a commit; empty where nobody knows"]
    text: Annotated[str, "the words, or what exactly"]
    place: Annotated[
        str,
        "where that stands: `session:ID#POSITION`, `commit:SHA`, or a file of the workspace",
    ]
    lines: ChangedLines = ()


class FileCommit(NamedTuple):
    """A commit that changed a file."""

    date: Annotated[str, "its day"]
    commit: Annotated[str, "the commit"]
    author: Annotated[str, "who made the commit"]
    subject: Annotated[str, "its subject"]


@dataclass(frozen=True)
class History(Result):
    """What a memory replaced and what replaced it, the commits of its file, and what became of it."""

    workspace: Workspace
    path: FilePath
    chain: Annotated[tuple[ChainLink, ...], "the memories that took each other's place, the oldest first"]
    log: Annotated[tuple[FileCommit, ...], "commits of the file, the newest first"]
    timeline: Annotated[
        tuple[TimelineItem, ...],
        "what became of an entry, by whom and when, the newest last; empty for a file that is none",
    ]
    problems: Annotated[tuple[str, ...], "what is wrong with files"]  # with how the memories are linked
    notices: tuple[str, ...] = ()


def timeline(
    workspace: Workspace, path: str, chain: Sequence[ChainLink], origins: Sequence[Origin]
) -> list[TimelineItem]:
    """Return what became of an entry, the newest last and before all what has no time.

    `chain` is as `beliefs.supersession.chain` gives it, `origins` are its sources. Raise RefusedError for a file that
    cannot be read.
    """
    file = read_entry_file(workspace, path)
    replaced = list(_replaced(workspace, file, chain))
    versions = sorted(
        (other for other in replaced if other.entry.version_of == file.entry.id),
        key=lambda other: (other.entry.superseded_at, other.path),
    )
    items = [
        *_said(file, origins),
        *_stated(workspace, file, versions),
        *_took_the_place(file, replaced),
        *_rewritten([*versions, file]),
        *_promoted(workspace, file),
        *_counted(workspace, file),
        *_committed(workspace, file),
    ]
    return sorted(dict.fromkeys(items), key=lambda item: item.at)


def _said(file: EntryFile, origins: Sequence[Origin]) -> Iterator[TimelineItem]:
    """Yield where a memory was said: the first source, and those that said it again."""
    for number, origin in enumerate(origins):
        what = "said again" if number and file.entry.strength > 1 else "said"
        text = origin.said or (f"{origin.source} {origin.problem}" if origin.problem else "")
        yield TimelineItem(_utc(origin.at), what, origin.by, text, origin.place or origin.source)


def _stated(workspace: Workspace, file: EntryFile, versions: Sequence[EntryFile]) -> Iterator[TimelineItem]:
    """Yield what the frontmatter says.

    Whose word it was, and which words, the first of its versions knows.
    """
    entry, path = file.entry, file.path
    first = (*versions, file)[0].entry
    yield TimelineItem(entry.created_at, "made", first.source, f"{first.type}: {first.summary}", path)
    if entry.superseded_by:
        yield TimelineItem(entry.superseded_at, "superseded", "", f"by {entry.superseded_by}", path)
    if entry.conflicts_with:
        yield TimelineItem("", "flagged", "", f"with {', '.join(entry.conflicts_with)}", path)
    for reason in entry.verdict_reasons:
        yield TimelineItem("", "verdict", "llm", reason, path)
    if entry.distinct:
        yield TimelineItem("", "settled", "", f"distinct from {', '.join(entry.distinct)}", path)
    if entry.strength > 1:
        yield TimelineItem(entry.updated_at, "confirmed", "", f"strength {entry.strength}, last by then", path)
    elif entry.updated_at > max(entry.created_at, *(version.entry.superseded_at for version in versions), ""):
        yield TimelineItem(entry.updated_at, "changed", "", "last by then, as the file says", path)
    if workspace.layout.is_archived(path):
        yield TimelineItem(entry.forgotten_at, "forgotten", "", "", path)


def _replaced(workspace: Workspace, file: EntryFile, chain: Sequence[ChainLink]) -> Iterator[EntryFile]:
    """Yield what a memory stands in the place of: its own texts of before, and other memories."""
    for link in chain:
        if link.superseded_by == file.entry.id:
            with suppress(MemError):  # a file that cannot be read, which `mem check` names
                yield read_entry_file(workspace, link.path)


def _took_the_place(file: EntryFile, replaced: Sequence[EntryFile]) -> Iterator[TimelineItem]:
    for other in replaced:
        if other.entry.version_of != file.entry.id:
            statement = f"{other.entry.id}: {other.entry.summary}"
            yield TimelineItem(other.entry.superseded_at, "replaced", file.entry.source, statement, other.path)


def _rewritten(texts: Sequence[EntryFile]) -> Iterator[TimelineItem]:
    """Yield the changes from each text of a memory to its next one, by whose word that is."""
    for old, new in pairwise(texts):
        lines = changed_lines(old.entry.body, new.entry.body)
        yield TimelineItem(old.entry.superseded_at, "changed", new.entry.source, new.entry.summary, old.path, lines)


def _promoted(workspace: Workspace, file: EntryFile) -> Iterator[TimelineItem]:
    """Yield when the memory became a line of the page and when it was taken off, as the archive and git know.

    That it stands there now is told where nothing dates it, or where a person changed the line.
    """
    page = workspace.layout.memory
    try:
        text = decoded(atomic_files.read(workspace.path(page)))[0]
    except MemError:
        return
    versions = page_versions(workspace, page)
    texts = [decoded(atomic_files.read(workspace.path(version_path)))[0] for version_path, _ in versions]
    items: list[TimelineItem] = []
    for (version_path, moment), (old, new) in zip(versions, pairwise([*texts, text]), strict=True):
        items += _on_page(file.entry.id, old, new, TimelineItem(moment, "", "", "", version_path))
    for version, _, change in edits(workspace, page, f"<!-- {file.entry.id} "):
        old, new = (decoded(data or b"")[0] for data in (change.before, change.after))
        commit = TimelineItem(_utc(version.date), "", version.author, "", f"commit:{version.commit}")
        items += _on_page(file.entry.id, old, new, commit)
    yield from items
    line = next((line for line in read_promoted(text).lines if line.id == file.entry.id), None)
    if line is not None and not (line.is_ours and any(item.what == "promoted" for item in items)):
        whose = "" if line.is_ours else ", changed by a person"
        number = text.count("\n", 0, line.start) + 1
        yield TimelineItem("", "promoted", "", f"{line.statement} (line {number}{whose})", page)


def _on_page(identifier: str, old: str, new: str, item: TimelineItem) -> Iterator[TimelineItem]:
    was, is_now = ({line.id: line.statement for line in read_promoted(text).lines} for text in (old, new))
    if (identifier in was) != (identifier in is_now):
        what = "promoted" if identifier in is_now else "demoted"
        statement = is_now.get(identifier) or was[identifier]
        yield TimelineItem(item.at, what, item.by, statement, item.place)


def _counted(workspace: Workspace, file: EntryFile) -> Iterator[TimelineItem]:
    """Yield how often a memory was read and confirmed, as its file and this machine counted."""
    entry = file.entry
    if entry.access_count:
        yield TimelineItem(entry.last_accessed_at, "read", "", f"{_times(entry.access_count)}, last then", file.path)
    noted = access_log.counts(workspace)
    for what, name in (("read", entry.id), ("confirmed", f"{access_log.CONFIRMED}{entry.id}")):
        if access := noted.get(name):
            text = f"{_times(access.count)} since its file was written, last then; only this machine knows"
            yield TimelineItem(access.last, what, "", text, f".mem/{access_log.ACCESSES}")
    for what, mark in (("restored", access_log.RESTORED), ("changed", access_log.EDITED)):
        if access := noted.get(f"{mark}{entry.id}"):
            yield TimelineItem(access.last, what, "", "on this machine", f".mem/{access_log.ACCESSES}")


def _committed(workspace: Workspace, file: EntryFile) -> Iterator[TimelineItem]:
    """Yield what each commit made of the memory's file, wherever that lay then."""
    layout, bare = workspace.layout, file.path.removeprefix(workspace.layout.archive)
    # A move that is not committed yet has no commits at the new path.
    commits = next(
        (some for path in (file.path, bare, f"{layout.archive}{bare}") if (some := edits(workspace, path))), []
    )
    for version, old_path, versions in commits:
        was = None if versions.before is None else entry_version(layout, old_path, versions.before)
        is_now = None if versions.after is None else entry_version(layout, versions.path, versions.after)
        changes = list(entry_changes(was, is_now, {}))
        what = ", ".join(dict.fromkeys(change.kind for change in changes)) or "committed"
        details = [detail for change in changes for detail in change.details]
        text = "; ".join([version.subject, *details])
        lines = tuple(line for change in changes for line in change.lines)
        yield TimelineItem(_utc(version.date), what, version.author, text, f"commit:{version.commit}", lines)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _utc(moment: str) -> str:
    instant = parse_time(moment) if moment else None
    return stamp(instant) if instant else ""
