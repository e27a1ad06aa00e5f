"""What a merge of two machines leaves to be done: records for what it changed in the archive, and flags for rivals.

What one machine deleted for good leaves the page and `.mem/` of the others.

git changes an archived memory where one side forgot it and the other one changed it, and follows it by itself in a
plain merge: then no record names its text. Two values of one key are a question for a person.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from ..beliefs.forgotten import forgotten_files, forgotten_like, is_lifted, read_forgotten, refusal
from ..beliefs.merging import slot_of
from ..beliefs.plan import Plan, applied, read_page, without_lines
from ..index.file_reader import Reading, digest_of, read_file, try_bytes
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import supersession_rows
from ..store import entries
from ..store.archive import changed_since, explain, may_have_forgotten
from ..store.atomic_files import read
from ..store.git_merge import deleted_for_good
from ..store.local_log import note_disputed
from ..store.workspace import Workspace
from .checks import Checked
from .invariants import circles, put_away_after
from .purging import TAKEN_OFF, forget_deleted, stale_lines
from .rivals import settle_plan, successors, twins, twins_plan

_MARK = b"superseded_by"
"""Stands in an entry whose place another one took."""


def explain_merged(workspace: Workspace, paths: Collection[str], disputed: Collection[str]) -> list[str]:
    """Record the archived memories among these whose text a merge changed; return what there is to say of each.

    Of those that are `disputed`, by id, a person is asked whether to keep them.
    """
    note_disputed(workspace, disputed)
    found = changed_since(workspace, paths)
    if found:
        explain(workspace, {path: read(workspace.path(path)) for path in found})
    way = "`mem restore {0}` brings it back as it was changed"
    return [f"{path}: put away on one side and changed on the other: {way.format(path)}" for path in found]


def settle_forgotten(
    workspace: Workspace, paths: Collection[str], received: Collection[str]
) -> tuple[list[str], list[str]]:
    """Put away what says what was forgotten on the other side; return what is to be said of that, and of what was.

    `paths` are files in which the sides differed, `received` those that came. The user's own word, said later, stays.
    """
    if not may_have_forgotten(workspace):
        return [], []
    files = read_forgotten(workspace, [path for path in paths if workspace.layout.kind_of(path) == "entry"])
    came = {file.path: file for file in files}
    away = {path for path in came if workspace.layout.is_archived(path)}
    gone = [came[path].entry for path in sorted(away.intersection(received))]
    named = [
        f"{entry.id} was forgotten elsewhere on {entry.forgotten_at[:10]}, and is here from now on"
        for entry in gone
        if entry.forgotten_at and not entry.version_of
    ]
    active = {path: file for path, file in came.items() if path not in away and file.entry.status == "active"}
    forgotten = forgotten_files(workspace, [file.entry.body for file in active.values()]) if active else []
    put_away = []
    for path, file in active.items():
        barring = forgotten_like(file.entry, forgotten)
        if barring and not is_lifted(file.entry, barring, is_told_now=False):
            entries.forget(workspace, path, by="observed")
            put_away.append(f"{path} is put away: {refusal(barring[0])}")
    return put_away, named


def name_hidden(workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Name the memories that nobody finds now: something took their place on one side, which the other put away."""
    rows = ask(workspace, supersession_rows)
    known = {row[0]: (row[3], row[4]) for row in rows}
    places = {row[0]: row[1] for row in rows}
    lost = {name: by for name, (status, by) in known.items() if status == "superseded" and places[name] in paths}
    gone = deleted_for_good(workspace, set(lost.values()) - known.keys() - {""})
    what = "{0}: superseded by {1} on one side, which the other deleted: `mem restore {0}` brings it back"
    found = [what.format(places[name], by) for name, by in lost.items() if by in gone]
    for name, (status, _) in known.items():
        last = put_away_after(name, known) if status == "superseded" else ""
        if last and {places[name], places[last]} & set(paths):
            way = f"`mem restore {places[name]}` or `mem restore {places[last]}` brings one back"
            found.append(f"{places[name]}: superseded by {last} on one side, which the other put away: {way}")
    return found


def settle_deleted(workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Take the promoted lines of what is deleted for good or no longer in use off the page; forget what was deleted.

    `paths` are those that the exchange changed. Return what there is to say of each line. A line that a person changed
    stays, as it does where that is done here.
    """
    rows = ask(workspace, supersession_rows)
    ids, active = {row[0] for row in rows}, {row[0] for row in rows if row[3] == "active"}
    names = stale_lines(workspace, read_page(workspace).text, ids, active)
    applied(workspace, without_lines(workspace, names), "mem sync")
    layout, root = workspace.layout, workspace.root
    gone = {path.removeprefix(layout.archive) for path in paths if layout.kind_of(path) == "entry"}
    gone = {path for path in gone if not ((root / path).exists() or (root / f"{layout.archive}{path}").exists())}
    forget_deleted(workspace, wipes=bool(gone))
    return [TAKEN_OFF.format(workspace.layout.memory, name) for name in names]


def settle_rivals(workspace: Workspace, paths: Collection[str]) -> tuple[bool, tuple[str, ...]]:
    """Make one of each memory that two machines wrote, and flag rivals.

    These are what two machines said of one key, what took one memory's place on each, and what supersedes each other:
    that is in use again. `paths` are those that the merge changed. Return whether files changed, and what there is to
    say of the first.
    """
    pairs = twins(workspace, [one for path in paths if (one := _reading(workspace, path)) is not None])
    twice = twins_plan(workspace, pairs)
    applied(workspace, twice, "mem sync")
    wanted = _filling_one_key(workspace, paths)
    readings = {path: one for path in wanted if (one := _reading(workspace, path)) is not None}
    readings |= {path: one for path in paths if (one := _reading(workspace, path, _MARK)) is not None}
    found = [successors(one.entry) for one in readings.values() if one.entry is not None]
    if names := [name for several in found if len(several) > 1 for name in several]:
        for place in ask(workspace, lambda index: _places(index, names)):
            if place not in readings and (one := _reading(workspace, place)) is not None:
                readings[place] = one
    known = [(one.path, one.text, one.entry) for one in readings.values() if one.entry is not None]
    plan = settle_plan(workspace, Checked(tuple(circles(known)), tuple(readings.values())), (), Plan())
    applied(workspace, plan, "mem sync")
    return bool(twice + plan), twice.reasons


def _filling_one_key(workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Return the active entries that fill the key of one of these paths together with it."""

    def listed(index: Index) -> list[dict[str, Any]]:
        index.refresh()
        return [row for row in index.list_entries(Filter(), "path") if row.get("key")]

    slots = defaultdict[tuple[str, str], list[str]](list)
    for row in ask(workspace, listed):
        if (one := _reading(workspace, row["path"])) is not None and one.entry is not None:
            slots[slot_of(one.entry)].append(row["path"])
    return [path for slot in slots.values() if len(slot) > 1 and set(slot) & set(paths) for path in slot]


def _places(index: Index, names: Collection[str]) -> list[str]:
    return [row["path"] for row in index.list_entries(Filter(), "path") if row["id"] in names]


def _reading(workspace: Workspace, path: str, having: bytes = b"") -> Reading | None:
    """Return an entry that is in use; None for any other file, and for one without some bytes."""
    if workspace.layout.kind_of(path) != "entry" or workspace.layout.is_archived(path):
        return None
    got = try_bytes(workspace, path)
    if isinstance(got, str) or having not in got[0]:
        return None
    return read_file(workspace, path, "entry", *got, digest_of(got[0]))
