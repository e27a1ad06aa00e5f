"""What a merge of two machines leaves to be done: records for what it changed in the archive, and flags for rivals.

git changes an archived memory where one side forgot it and the other one changed it, and follows it by itself in a
plain merge: then no record names its text. Two values of one key are a question for a person.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from ..beliefs.merging import slot_of
from ..beliefs.plan import Plan, applied, without_lines
from ..beliefs.supersession import over
from ..formats.entry_merge import LOST
from ..index.file_reader import Reading, digest_of, read_file, try_bytes
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import supersession_rows
from ..store.archive import changed_since, explain
from ..store.atomic_files import read
from ..store.local_log import note_disputed
from ..store.workspace import Workspace
from .checks import Checked
from .invariants import circles, put_away_after
from .rivals import settle_plan

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


def name_hidden(workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Name the memories that nobody finds now: something took their place on one side, which the other put away."""
    rows = ask(workspace, supersession_rows)
    known = {row[0]: (row[3], row[4]) for row in rows}
    places = {row[0]: row[1] for row in rows}
    found = []
    for name, (status, _) in known.items():
        last = put_away_after(name, known) if status == "superseded" else ""
        if last and {places[name], places[last]} & set(paths):
            way = f"`mem restore {places[name]}` or `mem restore {places[last]}` brings one back"
            found.append(f"{places[name]}: superseded by {last} on one side, which the other put away: {way}")
    return found


def settle_rivals(workspace: Workspace, paths: Collection[str]) -> bool:
    """Flag what two machines said of one key, what took one memory's place on each, and what supersedes each other.

    The last is in use again. Promoted lines of what is no longer in use leave the page. `paths` are those that the
    merge changed. Return whether files changed.
    """
    wanted = _filling_one_key(workspace, paths)
    readings = {path: one for path in wanted if (one := _reading(workspace, path)) is not None}
    readings |= {path: one for path in paths if (one := _reading(workspace, path, _MARK)) is not None}
    if names := [name for one in readings.values() for name in _successors(one)]:
        for place in ask(workspace, lambda index: _places(index, names)):
            if place not in readings and (one := _reading(workspace, place)) is not None:
                readings[place] = one
    known = [(one.path, one.text, one.entry) for one in readings.values() if one.entry is not None]
    plan = settle_plan(workspace, Checked(tuple(circles(known)), tuple(readings.values())), (), Plan())
    rows = ask(workspace, supersession_rows)
    plan += without_lines(workspace, over({"id": row[0], "status": row[3]} for row in rows))
    applied(workspace, plan, "mem sync")
    return bool(plan)


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


def _successors(one: Reading) -> list[str]:
    """Return what took the place of an entry on two machines; nothing where one did."""
    merged = one.entry.metadata.get(LOST) if one.entry is not None else None
    others = merged.get("superseded_by") if isinstance(merged, dict) else None
    return [one.entry.superseded_by, *map(str, others)] if one.entry is not None and others else []


def _reading(workspace: Workspace, path: str, having: bytes = b"") -> Reading | None:
    """Return an entry that is in use; None for any other file, and for one without some bytes."""
    if workspace.layout.kind_of(path) != "entry" or workspace.layout.is_archived(path):
        return None
    got = try_bytes(workspace, path)
    if isinstance(got, str) or having not in got[0]:
        return None
    return read_file(workspace, path, "entry", *got, digest_of(got[0]))
