"""Bring in all that is new of many sources: each in turn, what is wrong with one stopping none of the rest.

Killed at any moment, the next run goes on: what is in a session is known by its ids, what was read by the log, which
tells of nothing that is not safe on disk yet.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

from ..dataclass import dataclass
from ..errors import UnknownTranscriptError
from ..formats.ids import stamp
from ..formats.session_event import word
from ..results import Reason, Result, SessionId
from ..store.file_steps import synced_together
from ..store.privacy import shut_out
from ..store.redaction import Redacted, RedactedPlaces
from ..store.sessions.sessions import Listing
from ..store.workspace import Surroundings, Workspace
from .session_import import UNREADABLE, TranscriptBuffer, buffered, existing_content, own_id
from .sources import EARLIER, ELSEWHERE, ImportLog, Seen, Source, Wanted, find_sources, reason_for, wanted
from .transcript_format import CUT_OFF, DAMAGED, FOREIGN, Transcript

BATCH = 40  # sources that are made safe on disk together
ASKED, SUBAGENT, NOTHING = "asked by mem", "of subagents", "with nothing said"
UNKNOWN, BROKEN = "files without a conversation", "files that cannot be read"
SHUT_OUT = "files that a .secretsignore names (--allow-secret takes them)"
FILES = "files"
"""What stands for a tool where no conversation tells of one."""
_DATA = (".jsonl", ".zip", ".db")
"""Names of files that hold a conversation, whoever wrote them, end so; other JSON and text may be anything."""
_CUT_OFF = frozenset(("cut off at the end", "the rest is cut off or not JSON"))
Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class ImportedConversation:
    """A conversation that was brought in, or would be."""

    session: SessionId
    tool: Annotated[str, "name of the tool"]
    path: Annotated[str, "where the tool keeps it"]
    added: Annotated[int, "how many were new"]  # events
    known: Annotated[int, "how many were there already"]
    started: Annotated[str, "when it began"]


@dataclass(frozen=True)
class Tally:
    """What became of the conversations of one tool."""

    tool: Annotated[str, "name of the tool"]
    new: Annotated[int, "conversations that were new"]
    grown: Annotated[int, "conversations that went on"]
    known: Annotated[int, "conversations that were there already"]
    events: Annotated[int, "how many events"]
    left_out: Annotated[Mapping[str, int], "how many were left out, by reason"]


class UnreadSource(NamedTuple):
    """A file of another tool that could not be read, or not to its end."""

    path: Annotated[str, "path of the file"]
    reason: Reason


@dataclass(frozen=True)
class ImportReport(Result):
    """What became of all sources."""

    tools: Annotated[tuple[Tally, ...], "what became of the conversations of each tool"]
    sessions: Annotated[tuple[ImportedConversation, ...], "the conversations that were taken"]
    problems: Annotated[tuple[UnreadSource, ...], "what could not be read"]
    redacted: RedactedPlaces

    @property
    def elsewhere(self) -> int:
        """Count the conversations that were left out for having taken place in other projects."""
        return sum(tally.left_out.get(ELSEWHERE, 0) for tally in self.tools)


def import_all(
    workspace: Workspace,
    path: str | Path,
    since: str,
    projects: Sequence[str | Path],
    progress: Progress,
    *,
    dry_run: bool,
    allow_secret: bool,
) -> ImportReport:
    """Bring in what is new below a folder, in a file of many, or without a path in the home of the user.

    `since` is RFC 3339 or empty. With `allow_secret` files that a `.secretsignore` names are read too.
    """
    around = Surroundings(workspace.folder, workspace.environ, workspace.now)
    folders = [around.folder / Path(project).expanduser() for project in projects]
    discovered = find_sources(workspace, str(path))
    chosen = wanted(workspace, around, folders, since, asked=bool(str(path)))
    run = ImportRun(workspace, chosen, dry_run=dry_run, allow_secret=allow_secret)
    run.take(discovered.sources, progress)
    return run.report(discovered.problems)


@dataclass
class _Reading:
    """A source while it is read."""

    source: Source
    before: Mapping[str, str]  # marks of the conversations that were taken before
    seen: Seen  # what is learnt of it


class ImportRun:
    """One run over many sources."""

    def __init__(self, workspace: Workspace, wanted: Wanted, *, dry_run: bool, allow_secret: bool) -> None:
        """Begin; a dry run writes nothing. With `allow_secret` files that a `.secretsignore` names are read too."""
        self._workspace, self._wanted, self._dry, self._allow = workspace, wanted, dry_run, allow_secret
        self._log = ImportLog(workspace)
        self._listing = Listing(workspace)
        self._sums = defaultdict[str, Counter[str]](Counter)  # by tool: what a `Tally` says, and reasons to leave out
        self._taken: list[ImportedConversation] = []
        self._problems: dict[str, str] = {}
        self._redacted: list[Redacted] = []

    def report(self, problems: Mapping[str, str]) -> ImportReport:
        """Return what became of all, and `problems` of finding the sources."""
        tallies = []
        for tool, sums in sorted(self._sums.items()):
            new, grown, unchanged, events = (sums.pop(name, 0) for name in ("new", "grown", "known", "events"))
            tallies.append(Tally(tool, new, grown, unchanged, events, dict(+sums)))
        unread = (UnreadSource(*problem) for problem in sorted((self._problems | {**problems}).items()))
        return ImportReport(tuple(tallies), tuple(self._taken), tuple(unread), tuple(self._redacted))

    def take(self, sources: Sequence[Source], progress: Progress) -> None:
        """Take what is new of the sources, the latest first."""
        ordered = sorted(sources, key=lambda source: -source.changed)
        for start in range(0, len(ordered), BATCH):
            read: list[tuple[Path, Seen]] = []
            try:
                with synced_together():
                    for number, source in enumerate(ordered[start : start + BATCH], start + 1):
                        seen = self._one(source)
                        if seen is not None:
                            read.append((source.path, seen))
                        progress(number, len(ordered))
            finally:
                if not self._dry:
                    self._log.add(read)

    def _one(self, source: Source) -> Seen | None:
        """Take one source; None where nothing is to be noted of it."""
        if not self._allow and shut_out(source.path):
            self._sums[source.tool or FILES][SHUT_OUT] += 1
            return None
        seen = self._log.get(source.path)
        if seen is not None and seen.stamp == source.stamp and not self._wanted.asks_again(seen):
            sums = self._sums[seen.tool or source.tool or FILES]
            sums["known"] += seen.taken
            sums.update(self._wanted.left_out(seen))
            return None
        changed = stamp(datetime.fromtimestamp(source.changed, UTC))
        if not self._wanted.takes_time(changed):
            self._sums[source.tool or FILES][EARLIER] += 1
            return None
        reading = _Reading(source, seen.marks if seen else {}, Seen(source.stamp, source.tool))
        try:
            for transcript in source.read(self._workspace.zone, self._workspace.derived):
                self._transcript(transcript, reading, changed)
        except UnknownTranscriptError as error:
            self._unknown(error, reading)
        except OSError as error:
            self._problems[str(source.path)] = (error.strerror or str(error)).lower()
            return None
        return reading.seen

    def _transcript(self, transcript: Transcript, reading: _Reading, changed: str) -> None:
        """Take one conversation of a source, or count why it is left out."""
        source, about = reading.source, transcript.about
        reading.seen.tool = source.tool or transcript.format
        sums = self._sums[reading.seen.tool]
        mark = transcript.changed
        if mark and reading.before.get(transcript.session_id) == mark:
            reading.seen.marks[transcript.session_id] = mark
            reading.seen.taken += 1
            sums["known"] += 1
            return
        folder = word(about.get("cwd")) or source.folder
        if folder:
            about["cwd"] = folder
        if transcript.is_asked_by_mem or about.get("subagent") is True:
            self._leave_out(ASKED if transcript.is_asked_by_mem else SUBAGENT, reading)
            return
        if not self._wanted.takes_folder(folder):
            reading.seen.elsewhere[folder] += 1
            sums[reason_for(folder)] += 1
            return
        into = own_id(source.path) or ("" if transcript.is_nameless else transcript.session_id)
        existing = existing_content(self._workspace, into, self._listing) if into else None
        with buffered(self._workspace, transcript, source.name, existing) as buffer:
            self._buffered(buffer, own_id(source.path) or buffer.session_id, reading, sums, changed)
        self._complain(transcript, source)
        if mark:
            reading.seen.marks[transcript.session_id] = mark

    def _buffered(
        self, buffer: TranscriptBuffer, into: str, reading: _Reading, sums: Counter[str], changed: str
    ) -> None:
        last = buffer.last or changed
        if not buffer.events + buffer.known:
            self._leave_out(NOTHING, reading)
            return
        if not self._wanted.takes_time(last):
            reading.seen.earlier = max(reading.seen.earlier, last)
            reading.seen.earlier_count += 1
            sums[EARLIER] += 1
            return
        if self._dry:
            added = len(buffer.new_ids(into, self._listing))
            session, repeated = into, buffer.known + buffer.events - added
        else:
            done = buffer.keep_once(into, self._listing)
            session, added, repeated = done.session.id, done.added, done.known
        reading.seen.taken += 1
        sums["events"] += added
        if not added:
            sums["known"] += 1
            return
        sums["grown" if repeated else "new"] += 1
        self._redacted += buffer.cleaner.found
        source, started = reading.source, buffer.transcript.started
        self._taken.append(ImportedConversation(session, reading.seen.tool, str(source.path), added, repeated, started))

    def _leave_out(self, reason: str, reading: _Reading) -> None:
        reading.seen.left_out[reason] += 1
        self._sums[reading.seen.tool or FILES][reason] += 1

    def _unknown(self, error: UnknownTranscriptError, reading: _Reading) -> None:
        """Count what holds no conversation; what ought to hold one, and is damaged, is named."""
        path = reading.source.path
        is_expected = bool(reading.source.tool)
        is_damaged = error.kind == DAMAGED and path.suffix in _DATA
        if is_damaged or error.kind == CUT_OFF or (is_expected and error.kind in (DAMAGED, FOREIGN)):
            self._problems[str(path)] = error.message
            self._leave_out(BROKEN, reading)
        else:
            self._leave_out(UNKNOWN, reading)

    def _complain(self, transcript: Transcript, source: Source) -> None:
        """Name a transcript that parts could not be read of, but for the end of one that somebody is writing."""
        reasons = {reason: count for reason, count in transcript.skipped.items() if reason in UNREADABLE}
        if reasons.keys() & _CUT_OFF and not source.is_as_found():
            reasons = {reason: count for reason, count in reasons.items() if reason not in _CUT_OFF}
        if reasons:
            counts = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
            self._problems[str(source.path)] = f"not all of it could be read ({counts}): the rest is taken"
