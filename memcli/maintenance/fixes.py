"""Fix what has one right answer: an id for a file that has none or another file's, history in order, a damaged index.

Everything else that `check` finds is for a person to decide. Single lines of the frontmatter change, never a body.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from ..beliefs.plan import Plan, applied
from ..errors import RefusedError
from ..formats.entry import SPELLINGS
from ..formats.frontmatter import document
from ..formats.history import in_order
from ..formats.ids import new_id
from ..formats.times import parse_time
from ..index import schema
from ..index.file_reader import Reading
from ..store.entries import revised
from ..store.file_steps import remove_abandoned
from ..store.journal import Change
from ..store.sessions.append import end_cut_off
from ..store.workspace import Workspace
from .invariants import Fault, guessed_flags
from .purging import forget_deleted


def mend_plan(
    workspace: Workspace, readings: Sequence[Reading], faults: Iterable[Fault], noise: Callable[[str], bytes]
) -> Plan:
    """Return the changes that fix what was found; `noise` gives the random bytes of a new id, by a seed.

    Files of other tools' folders get no ids: there a path names them as well.
    """
    wrong = {(fault.path, fault.rule) for fault in faults if fault.fixable}
    steps: list[Change] = []
    reasons: list[str] = []
    taken = {reading.entry.id for reading in readings if reading.entry is not None}
    flags = guessed_flags(readings)
    for reading in readings:
        new, reason = reading.text, ""
        if (reading.path, "flag") in wrong and reading.path in flags:
            try:
                new = revised(workspace, reading.path, reading.text, flags[reading.path], touch=False)
            except RefusedError:  # a frontmatter in which no single line can be changed
                continue
            reason = "its guessed flags taken off"
        elif (reading.path, "history") in wrong:
            new, reason = in_order(reading.text, workspace.zone), "its records sorted by time, doubles left out"
        elif (reading.path, "id") in wrong or (workspace.layout.is_mems and lacks_id(reading)):
            try:
                new, reason = _with_id(reading, workspace.now, noise, taken)
            except RefusedError:  # a frontmatter in which no single line can be changed
                continue
        if new != reading.text:
            steps.append(Change(reading.path, reading.text, new))
            reasons.append(f"{reading.path}: {reason}")
    return Plan(tuple(steps), tuple(reasons))


def lacks_id(reading: Reading) -> bool:
    """Return whether an entry has no id but its path, and could have one."""
    return reading.kind == "entry" and not reading.problems and reading.entry is not None and not _ids(reading)


def _ids(reading: Reading) -> Mapping[str, object]:
    fields = document.parse(reading.text).fields
    return {name: fields[name] for name in ("id", *SPELLINGS["id"]) if fields.get(name)}


def _with_id(reading: Reading, now: datetime, noise: Callable[[str], bytes], taken: set[str]) -> tuple[str, str]:
    """Give a file an id of its own, and its time where it states none: the file's own is lost in every clone."""
    assert reading.entry is not None
    moment = parse_time(reading.entry.created_at) or now
    for attempt in range(100):
        identifier = new_id("mem", moment, noise(f"{reading.path} {attempt}"))
        if identifier not in taken:
            break
    taken.add(identifier)
    fields = document.parse(reading.text).fields
    ids = _ids(reading)
    changes: dict[str, object] = {next(iter(ids), "id"): identifier}
    if not any(fields.get(name) for name in ("created_at", *SPELLINGS["created_at"])) and "metadata" not in fields:
        changes["created_at"] = reading.entry.created_at
    reason = f"the id {identifier} in the place of one that is another's" if ids else f"the id {identifier}"
    return document.edit(reading.text, changes), reason


def fix(workspace: Workspace, faults: Iterable[Fault], plan: Plan) -> tuple[str, ...]:
    """Apply the plan, remove what killed writers left and rebuild a damaged index; return what was done, in words."""
    applied(workspace, plan, "mem check --fix")
    faults = list(faults)
    gone = removed(workspace, [fault.path for fault in faults if fault.rule == "unfinished"])
    cut_off = dict.fromkeys(fault.path for fault in faults if fault.rule == "read" and fault.fixable)
    whole = [path for path in cut_off if end_cut_off(workspace, path)]
    damaged = [fault for fault in faults if fault.rule == "index"]
    if damaged:
        schema.discard(workspace.derived)
    forget_deleted(workspace, wipes=True)  # also what plain git deleted, of which nothing tells the index
    anew = [f"{fault.path}: made anew" for fault in damaged]
    ended = [f"{path}: the lines that were cut off ended with …" for path in whole]
    return (*plan.reasons, *(f"{path}: removed" for path in gone), *ended, *anew)


def removed(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """Remove unfinished files that still have no living writer; return their paths."""
    now = time.time()
    return [path for path in paths if remove_abandoned(workspace.root / path, now)]
