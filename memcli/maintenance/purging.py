"""Delete memories for good: their files, their earlier texts, their lines of MEMORY.md and what `.mem/` keeps of them.

Another memory that says something else stays, also where the one that is deleted had taken its place. What else says
the same is found, and is the user's to delete.
"""

import json
import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ..beliefs.merging import says
from ..beliefs.plan import Plan, applied, without_lines
from ..beliefs.supersession import EntryFile, hidden_with, put_away_note, read_entry_file, without_names
from ..errors import MemError, RefusedError
from ..formats.memory_page import read_promoted, statement_of
from ..formats.text_lines import normalized
from ..index.index import Index, ask
from ..index.lookups import earlier_than, supersession_rows
from ..store import archive, atomic_files, entries, git, trust
from ..store.git_merge import deleted_for_good
from ..store.undo_records import forget, noted_ids, telling_lines
from ..store.workspace import Workspace
from .archiving import Failure, Forgotten, Named, each

TAKEN_OFF = "{0}: the promoted line of {1} taken off"
_INDEX = "index.db"
"""How the names of the index's files begin."""


def purge_each(named: Sequence[Named]) -> tuple[list[Forgotten], list[Failure]]:
    """Delete entries with what belongs to them; what fails on the way is finished by the same names."""
    return each(named, _purged)


def _purged(one: Named) -> Forgotten:
    workspace, path = one.workspace, one.path
    done = Forgotten(workspace, "purged", one.name, path, path)
    if not workspace.path(path).exists():  # an earlier text that went with its entry
        return done
    entries.require_one_side(workspace, path)
    texts = [atomic_files.read(workspace.path(path)).decode("utf-8", "replace")]
    bodies: list[str] = []
    earlier: list[EntryFile] = []
    with suppress(RefusedError):  # where the frontmatter is broken nothing tells what belongs to it
        found = read_entry_file(workspace, path)
        texts.append(statement_of(found.entry.title, found.entry.body))
        bodies = [normalized(text) for text in (found.entry.body, *found.entry.wordings)]
        if not found.entry.version_of:
            earlier = _earlier(workspace, found)
            gone = {path: found.entry.id} | {other.path: other.entry.id for other in earlier}
            plan = without_lines(workspace, [found.entry.id]) + without_names(workspace, gone)
            applied(workspace, plan, "mem forget --purge")
    removed = tuple(other.path for other in earlier)
    replaced = {name: place for name, place in hidden_with(workspace, [path]).items() if place not in removed}
    steps, _ = entries.forgetting(workspace, [*replaced.values()], by="user")
    applied(workspace, Plan(tuple(steps)), "mem forget --purge")
    notices = put_away_note(one.name, replaced)
    if workspace.state:
        trust.note_purged(workspace.state, workspace.root, bodies, workspace.stamp)
    for place in (*removed, path):
        entries.purge(workspace, place)
    archive.unrecord(workspace, (path, *removed))
    said = {line for text in (*texts, *(other.text for other in earlier)) for line in telling_lines(text)}
    notices = tuple(f"{notice}, `mem forget --purge {next(iter(replaced))}` deletes it too" for notice in notices)
    return replace(done, superseded=tuple(replaced), removed=removed, said=frozenset(said), notices=notices)


def _earlier(workspace: Workspace, purged: EntryFile) -> list[EntryFile]:
    """Return the earlier texts of a memory, and the duplicates that were folded into it."""
    versions: list[EntryFile] = []
    others: list[EntryFile] = []
    for path, version_of in ask(workspace, lambda index: earlier_than(index, purged.entry.id)):
        with suppress(MemError):
            (versions if version_of else others).append(read_entry_file(workspace, path))
    said = [body for one in (purged, *versions) for body in (one.entry.body, *one.entry.wordings)]
    return [*versions, *(other for other in others if any(says(other.entry, body) for body in said))]


def remnants(workspace: Workspace, said: Collection[str], gone: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files that still say lines that were deleted for good, and which of the files deleted are in commits.

    The latter are named from the top of the repository. The index, which is made of files, is rid of them first.
    """
    ask(workspace, _wiped)
    before = [path.removeprefix(workspace.layout.archive) for path in gone]
    return sorted(_saying(workspace, said)), git.committed(workspace.root, [*gone, *before])


def _wiped(index: Index) -> None:
    index.refresh()
    index.wipe_deleted()


def _saying(workspace: Workspace, lines: Collection[str]) -> list[str]:
    """Return the files that hold one of some lines, plainly or within JSON."""
    forms = {json.dumps(line, ensure_ascii=is_ascii)[1:-1] for line in lines for is_ascii in (False, True)}
    wanted = [form.encode("utf-8", "surrogatepass") for form in {*lines, *forms}]
    found = []
    for place, below, names in os.walk(workspace.root):
        below[:] = [one for one in below if one != ".git"]
        for file in (Path(place, name) for name in names if not name.startswith(_INDEX)):
            with suppress(OSError):
                if file.is_file() and any(map(file.read_bytes().__contains__, wanted)):
                    found.append(workspace.relative(file))
    return found


def forget_deleted(workspace: Workspace, *, wipes: bool) -> None:
    """Take what was deleted for good elsewhere out of the notes of `mem undo`, and of the index too.

    The latter is written anew where there was any, or if it `wipes`.
    """
    known = {row[0] for row in ask(workspace, supersession_rows)}
    deleted = deleted_for_good(workspace, noted_ids(workspace).difference(known))
    forget(workspace, {path: data for texts in deleted.values() for path, data in texts.items()})
    if deleted or wipes:
        ask(workspace, _wiped)


def stale_lines(workspace: Workspace, page: str, known: Collection[str], active: Collection[str]) -> dict[str, int]:
    """Return the promoted lines of a page whose memory is put away, superseded or deleted for good: numbers by id.

    All ids that there are have to be `known`. A line that a person changed is that person's.
    """
    lines = {line.id: line for line in read_promoted(page).lines if line.is_ours and line.id not in active}
    gone = deleted_for_good(workspace, lines.keys() - known)
    return {name: page.count("\n", 0, line.start) + 1 for name, line in lines.items() if name in known or name in gone}
