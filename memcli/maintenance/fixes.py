"""Mend what has one right answer: an id for files that have none, another one for twins, history in order.

Everything else that `check` finds is for a person to decide. Touches single lines of the frontmatter, never a body.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from ..beliefs.plan import Plan
from ..errors import RefusedError
from ..formats.entry import SPELLINGS
from ..formats.frontmatter import document
from ..formats.history import in_order
from ..formats.ids import new_id
from ..formats.ignore_patterns import ignored
from ..formats.times import parse_time
from ..index.file_reader import Reading, try_bytes
from ..index.scan import Listing, scan
from ..secrets import scanner
from ..store.journal import Change
from ..store.layouts import MEM
from ..store.privacy import IGNORE, ignore_text
from ..store.redaction import redactor
from ..store.temporary_files import is_abandoned, remove_abandoned
from ..store.workspace import Workspace
from .invariants import Fault


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


def leaks(workspace: Workspace, texts: Iterable[tuple[str, str]], where: str = "") -> Iterator[Fault]:
    """Yield the places in texts, given by path, that look like a secret; `where` says which version of a file it is."""
    guard = redactor(workspace, "check")
    allowed = "\n".join(workspace.settings["secrets.allow"])
    for path, text in texts:
        if allowed and ignored(allowed, path):
            continue
        for one in scanner.scan(text, personal=guard.personal, values=guard.values):
            what = "personal data" if one.group == "personal" else "a secret"
            reason = f"looks like {what} ({one.rule}){where}: remove it, or name the file in the setting secrets.allow"
            yield Fault(path, one.line, reason, "secret")


def misplaced(workspace: Workspace, paths: Iterable[str]) -> Iterator[Fault]:
    """Yield the lines of ignore files that name memories: exceptions from `check` are a setting."""
    known = list(paths)
    for folder, prefix in ((workspace.root, ""), (workspace.root.parent, f"{workspace.root.name}/")):
        for number, line in enumerate(ignore_text(folder).splitlines(), 1):
            named = [path for path in known if line.strip() and ignored(line, f"{prefix}{path}")]
            if not named:
                continue
            moved = line.strip().removeprefix("/").removeprefix(prefix)
            allowed = ", ".join(dict.fromkeys((*workspace.settings["secrets.allow"], moved)))
            also = f" and {len(named) - 1:,} more" if named[1:] else ""
            reason = (
                f"names {named[0]}{also}, in memory already: what it names is kept out, and exceptions of `mem check`"
                f" are a setting: remove the line and run `mem config set secrets.allow '{allowed}'`"
            )
            yield Fault(f"../{IGNORE}" if prefix else IGNORE, number, reason, "secret")


def all_texts(workspace: Workspace, *, sessions: bool) -> Iterator[tuple[str, str]]:
    """Yield path and text of every file of a workspace, conversations included where that is asked."""
    for path in sorted(scan(workspace.root, workspace.layout).stats):
        kind = workspace.layout.kind_of(path)
        got = try_bytes(workspace, path) if kind and (sessions or kind != "session") else ""
        if not isinstance(got, str):
            yield path, got[0].decode("utf-8", "replace")


def abandoned(workspace: Workspace, listing: Listing | None = None) -> list[str]:
    """Give the paths of unfinished files that no living process writes."""
    paths = (listing or scan(workspace.root, workspace.layout)).unfinished
    now = time.time()
    return sorted(path for path in paths if is_abandoned(os.fspath(workspace.root / path), now))


def removed(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    """Remove those that still have no living writer, and give their paths."""
    now = time.time()
    return [path for path in paths if remove_abandoned(workspace.root / path, now)]
