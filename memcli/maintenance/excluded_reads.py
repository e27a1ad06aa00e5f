"""Find and blank out what stored conversations hold of files that are shut out of memory by now.

Ignore files may come with a clone: those of a workspace that is not trusted blank out nothing, those of any workspace
not much unless that is asked for, and only when a person has asked. What is blanked out can be had back by `mem undo`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from ..beliefs.plan import Plan
from ..dataclass import dataclass
from ..formats.ignore_patterns import ignored
from ..formats.session_event import Event, parse_event, render_event, word
from ..index.file_reader import try_bytes
from ..store.journal import Change
from ..store.sessions.call_filter import CallFilter, call_filter
from ..store.sessions.sessions import Session, sessions
from ..store.workspace import Workspace
from .invariants import Fault

FRACTION = 0.1
"""Share of all that is stored which is blanked out without being asked."""
_WHAT = "a tool read this from a file that is shut out of memory, or wrote it there"


@dataclass
class ExcludedReads:
    """What conversations hold of files that are shut out."""

    total: int = 0  # events of all conversations
    changes: list[Change] = field(default_factory=list)
    blanked: list[tuple[str, int]] = field(default_factory=list)  # path and line
    foreign: list[tuple[str, int]] = field(default_factory=list)  # in files of other tools, which stay as they are

    def needed_fraction(self, fraction: float = FRACTION) -> float:
        """Return the share to allow, rounded up to two digits, if more than `fraction` would go; else 0."""
        count = len(self.blanked)
        return min(1.0, -(-100 * count // self.total) / 100) if count > fraction * self.total else 0.0

    def plan(self, workspace: Workspace, fraction: float = FRACTION) -> Plan:
        """Return the changes that blank it out; none in a workspace that is not trusted, or where it is too much."""
        if not workspace.is_trusted or self.needed_fraction(fraction):
            return Plan()
        counts = Counter(path for path, _ in self.blanked)
        reasons = (f"{path}: {count:,} calls and results of tools blanked out" for path, count in counts.items())
        return Plan(tuple(self.changes), tuple(reasons))

    def faults(self, workspace: Workspace, fraction: float = FRACTION) -> Iterator[Fault]:
        """Yield the places with what blanks them out."""
        needed = self.needed_fraction(fraction)
        way = "`mem check --secrets --fix` blanks it out"
        if not workspace.is_trusted:
            way = "`mem check --secrets --fix` blanks it out once the workspace is trusted (`mem trust`)"
        elif needed:
            way = (
                f"it is {len(self.blanked):,} of {self.total:,} events that are stored:"
                f" `mem check --secrets --fix --max-fraction {needed:g}` blanks all of them out"
            )
        for path, line in self.blanked:
            yield Fault(path, line, f"{_WHAT}: {way}", "secret", fixable=workspace.is_trusted and not needed)
        for path, line in self.foreign:
            yield Fault(path, line, f"{_WHAT}: the file is another tool's, which is never changed", "secret")


def excluded_reads(workspace: Workspace) -> ExcludedReads:
    """Look through all conversations, archived ones too, but for those that the setting `secrets.allow` names."""
    reads = ExcludedReads()
    allowed = "\n".join(workspace.settings["secrets.allow"])
    filters: dict[str, CallFilter] = {}
    for session in (*sessions(workspace, archived=True), *sessions(workspace)):  # what was put away was said first
        if not (allowed and ignored(allowed, session.path)):
            calls = filters.get(session.id) or call_filter(workspace, word(session.metadata.metadata.get("cwd")))
            _look_through(workspace, session, filters.setdefault(session.id, calls), reads)
    return reads


def _look_through(workspace: Workspace, session: Session, calls: CallFilter, reads: ExcludedReads) -> None:
    if session.document:
        from ..store.sessions.event_file import read_events

        read = [event for _, event in read_events(workspace.path(session.document))]
        reads.total += len(read)
        reads.foreign += [
            (session.path, old.line or 1)
            for old, new in zip(read, calls.events(read), strict=True)
            if new is not old and old.type != "message"
        ]
        return
    got = try_bytes(workspace, session.path)
    if isinstance(got, str):
        return
    text = got[0].decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    reads.total += sum(map(bool, lines))
    if "tool" not in text and "function" not in text:
        return
    events: dict[int, Event] = {}
    for number, line in enumerate(lines):
        event = parse_event(line) if line else None
        if event:
            events[number] = event
    clean = calls.events(list(events.values()))
    blanked = [(number, new) for (number, old), new in zip(events.items(), clean, strict=True) if new is not old]
    if blanked:
        reads.blanked += [(session.path, number + 1) for number, _ in blanked]
        for number, new in blanked:
            lines[number] = render_event(new)
        reads.changes.append(Change(session.path, text, "\n".join(lines)))
