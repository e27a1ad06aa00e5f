"""What was forgotten stays forgotten: who says the same again is refused, unless it is the user, later.

The archived file is the record, and counts in a trusted workspace alone; "the same" is decided without a model.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..dataclass import dataclass
from ..errors import MemError, RefusedError
from ..formats.entry import Entry
from ..formats.text_lines import normalized, shorten
from ..index.index import Index, ask
from ..index.lookups import entry_texts_with, forgotten_saying, forgotten_texts, places_saying
from ..store import entries
from ..store.entries import drafted, revised, unforgotten
from ..store.journal import Change
from ..store.undo_records import telling_lines
from ..store.workspace import Workspace
from .merging import says
from .plan import Plan, applied, without_lines
from .supersession import EntryFile, hidden_with, read_entry_file


def have_been_forgotten(workspace: Workspace) -> bool:
    """Return whether anything can have been forgotten here: nothing was where there is no archive."""
    return workspace.is_trusted and (workspace.root / workspace.layout.archive).is_dir()


def forgotten_like(entry: Entry, files: Iterable[EntryFile]) -> list[EntryFile]:
    """Return those of some archived files that are forgotten, and say what an entry says of the same project."""
    return [
        file
        for file in files
        if file.entry.forgotten_at
        and normalized(entry.body) in map(normalized, (file.entry.body, *file.entry.wordings))
        and not (file.entry.project and entry.project and file.entry.project != entry.project)
    ]


def is_lifted(entry: Entry, forgotten: Collection[EntryFile], *, is_told_now: bool) -> bool:
    """Return whether an entry is the user's own word, said after each of some files that say the same was forgotten."""
    is_users = entry.source == "user"
    return is_users and (is_told_now or all(entry.created_at > file.entry.forgotten_at for file in forgotten))


def refusal(file: EntryFile) -> str:
    """Return in one line what was forgotten, and how it comes back."""
    entry = file.entry
    why = f" ({shorten(entry.reason, 80)})" if entry.reason else ""
    return (
        f"{entry.id} {shorten(entry.body, 80)!r} was forgotten on {entry.forgotten_at[:10]}{why}:"
        f" `mem restore {entry.id}` brings it back"
    )


def lifted(file: EntryFile) -> str:
    """Return in one line that a file counts as forgotten no more."""
    return f"{file.entry.id} was forgotten on {file.entry.forgotten_at[:10]}: said again by the user, it is no more"


def lifting(workspace: Workspace, files: Collection[EntryFile]) -> Plan:
    """Propose to take the marks of forgetting off some archived files."""
    return Plan(tuple(Change(file.path, file.text, unforgotten(workspace, file.path, file.text)) for file in files))


def pass_by_the_forgotten(
    workspace: Workspace,
    told: Mapping[str, Any],
    body: str,
    command: str,
    *,
    is_change: bool = False,
    entry: Entry | None = None,
) -> tuple[str, ...]:
    """Look, for what is written as it is, whether it was forgotten; return what the user's later word lifted.

    Raise RefusedError where it was, and is not the user's word. What is a change is told now; `entry` is that of a file
    that comes from elsewhere.
    """
    if not have_been_forgotten(workspace) or told.get("status") not in (None, "", "active"):
        return ()
    is_told_now = entry is None and (is_change or not told.get("created_at"))
    entry = entry or drafted(workspace, told, body)
    files = forgotten_like(entry, forgotten_files(workspace, [body]))
    if not files:
        return ()
    if not is_lifted(entry, files, is_told_now=is_told_now):
        raise RefusedError(refusal(files[0]), "`--source user` where the user said so again")
    applied(workspace, lifting(workspace, files), command)
    return tuple(map(lifted, files))


def read_forgotten(workspace: Workspace, paths: Iterable[str]) -> list[EntryFile]:
    """Read the files at some paths; one that went or cannot be read is left out."""
    files = []
    for path in paths:
        with suppress(MemError):
            files.append(read_entry_file(workspace, path))
    return files


def forgotten_files(workspace: Workspace, texts: Collection[str]) -> list[EntryFile]:
    """Read the archived files that are forgotten and say one of some texts."""
    return read_forgotten(workspace, ask(workspace, lambda index: _paths(index, texts)))


def _paths(index: Index, texts: Collection[str]) -> list[str]:
    index.refresh()
    return forgotten_saying(index, texts)


def all_forgotten(workspace: Workspace) -> frozenset[str]:
    """Return all texts that were forgotten here, as `normalized` gives texts."""

    def answer(index: Index) -> frozenset[str]:
        index.refresh()
        return forgotten_texts(index)

    return ask(workspace, answer) if have_been_forgotten(workspace) else frozenset()


@dataclass(frozen=True)
class Forgetting:
    """Memories that are to be forgotten: the changes, with the lines that tell of them, and what goes."""

    plan: Plan
    files: list[EntryFile]  # of those asked for, as they are now; what cannot be read is not among them
    places: list[str]  # where those asked for are then
    earlier: dict[str, str]  # id → path of what they had taken the place of, which goes too


def forgetting(workspace: Workspace, paths: Sequence[str], *, by: str, reason: str = "") -> Forgetting:
    """Propose to put memories, or folders of them, away as forgotten, off the page and out of others' wordings."""
    named = [inner for path in paths for inner in entries.entries_below(workspace, path)]
    earlier = {name: path for name, path in hidden_with(workspace, named).items() if path not in named}
    leaving = [*named, *earlier.values()]
    steps, places = entries.forgetting(workspace, [*paths, *earlier.values()], by=by, reason=reason)
    files = read_forgotten(workspace, named)
    lines = without_lines(workspace, [*(file.entry.id for file in files), *earlier])
    reasons = [f"its line is taken off {workspace.layout.memory}"] if lines else []
    others = [path for path in ask(workspace, _with_wordings) if path not in leaving] if files else []
    wordings = [change for path in others if (change := _without_wordings(workspace, path, files))]
    reasons += [f"{change.path} had it as another wording, and has it no more" for change in wordings]
    plan = Plan((*steps, *wordings), tuple(reasons)) + lines
    return Forgetting(plan, files, places[: len(paths)], earlier)


def still_said(workspace: Workspace, entry: Entry) -> list[str]:
    """Return the places, conversations included, that say a line of a forgotten memory still."""

    def answer(index: Index) -> list[str]:
        index.refresh(talk=True)
        return places_saying(index, telling_lines(entry.body))

    return ask(workspace, answer)


def _with_wordings(index: Index) -> list[str]:
    index.refresh()
    return [path for path, _ in entry_texts_with(index, "wordings")]


def _without_wordings(workspace: Workspace, path: str, forgotten: Sequence[EntryFile]) -> Change | None:
    if workspace.layout.is_archived(path):
        return None
    with suppress(MemError):
        other = read_entry_file(workspace, path)
        stay = [text for text in other.entry.wordings if not any(says(file.entry, text) for file in forgotten)]
        if len(stay) < len(other.entry.wordings):
            return Change(path, other.text, revised(workspace, path, other.text, {"wordings": stay}, touch=False))
    return None
