"""Mend what has one right answer: an id for files that have none, another one for twins, history in order.

Everything else that `check` finds is for a person to decide. Touches single lines of the frontmatter, never a body.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from ..errors import RefusedError
from ..index.reading import Reading
from ..store.journal import Change
from ..store.layout import MEM
from ..store.workspace import Workspace
from ..text import frontmatter
from ..text.entry import SPELLINGS
from ..text.history_order import in_order
from ..text.ids import new_id
from ..text.times import parse_time
from .invariants import Fault
from .plan import Plan


def mend_plan(
    workspace: Workspace, readings: Sequence[Reading], faults: Iterable[Fault], noise: Callable[[str], bytes]
) -> Plan:
    """Propose the mending of what was found; `noise` is the random source of a path's new id.

    Files of other tools' folders are not given ids: there a path is a name as good.
    """
    wrong = {(fault.path, fault.rule) for fault in faults if fault.mends}
    steps: list[Change] = []
    reasons: list[str] = []
    taken = {reading.entry.id for reading in readings if reading.entry is not None}
    for reading in readings:
        new, reason = reading.text, ""
        if (reading.path, "history") in wrong:
            new, reason = in_order(reading.text, workspace.zone), "its records sorted by time, doubles left out"
        elif (reading.path, "id") in wrong or (workspace.layout.name == MEM.name and lacks_id(reading)):
            try:
                new, reason = _with_id(reading, workspace.now, noise, taken)
            except RefusedError:  # a frontmatter in which no single line can be changed
                continue
        if new != reading.text:
            steps.append(Change(reading.path, reading.text, new))
            reasons.append(f"{reading.path}: {reason}")
    return Plan(tuple(steps), tuple(reasons))


def lacks_id(reading: Reading) -> bool:
    """Tell whether an entry has no id but its path, and could have one."""
    return reading.kind == "entry" and not reading.problems and reading.entry is not None and not _ids(reading)


def _ids(reading: Reading) -> Mapping[str, object]:
    fields = frontmatter.parse(reading.text).fields
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
    fields = frontmatter.parse(reading.text).fields
    ids = _ids(reading)
    changes: dict[str, object] = {next(iter(ids), "id"): identifier}
    if not any(fields.get(name) for name in ("created_at", *SPELLINGS["created_at"])) and "metadata" not in fields:
        changes["created_at"] = reading.entry.created_at
    reason = f"the id {identifier} in the place of one that is another's" if ids else f"the id {identifier}"
    return frontmatter.edit(reading.text, changes), reason
