"""Add to history and to the notes of a day, and read history as one log."""

from dataclasses import replace
from typing import Annotated

from ..dataclass import dataclass
from ..errors import UsageError
from ..formats.text_lines import FileProblems
from ..results import FileLine, FilePath, Id, Result, Scope
from ..store.redaction import RedactedPlaces
from .workspace import FileProblem, Workspace, Workspaces, every, recorded


@dataclass(frozen=True)
class Recorded(Result):
    """A record of history that was added."""

    id: Id
    path: FilePath
    """Of the month's file."""
    redacted: RedactedPlaces = ()


@dataclass(frozen=True)
class NoteAdded(Result):
    """A line of the notes of today that was added."""

    path: FilePath
    """Of the day's file."""
    line: Annotated[str, "line of the file, from 1"]
    redacted: RedactedPlaces = ()


@dataclass(frozen=True)
class HistoryRecord:
    """A record of history, as a file has it."""

    id: Id
    """Empty for a record that another tool wrote."""
    timestamp: Annotated[str, "when it was, RFC 3339"]
    text: Annotated[str, "the text"]
    path: FilePath
    line: FileLine
    scope: Scope


@dataclass(frozen=True)
class HistoryRead(Result):
    """Records, the oldest first, and what could not be read."""

    records: Annotated[tuple[HistoryRecord, ...], "the records, the oldest first"]
    problems: FileProblems = ()


@recorded("history add")
def add_history(workspace: Workspace, text: str) -> Recorded:
    """Add a record to the month's history, with its secrets blanked out.

    Raise UsageError where there is nothing to record, RefusedError for a conflict marker, BusyError.
    """
    from ..store.history import add_record
    from ..store.redaction import redactor

    cleaner = redactor(workspace, "the record")
    step = add_record(workspace, cleaner.text(text), workspace.noise(text))
    return Recorded(step.mark, step.path, tuple(cleaner.found))


def read_history(workspaces: Workspaces, *, since: str = "", until: str = "", limit: int = 0) -> HistoryRead:
    """Read history as one log, each record once; `limit` keeps the last so many, 0 all.

    `since` and `until` are dates as a person writes them: `2026-11-21`, `2026-11`, `yesterday`, `7d`. Raise UsageError
    for what is no date.
    """
    from ..store.history import read_log

    if limit < 0:
        raise UsageError(f"a limit of {limit}", "ask for at least one, or leave it out for all")
    records: list[HistoryRecord] = []
    problems: list[FileProblem] = []
    for where in every(workspaces):
        first, last = where.moment("since", since), where.moment("until", until, end=True)
        log = read_log(where)
        problems += [replace(problem, scope=where.scope, left_out=True) for problem in log.problems]
        for filed in log.records:
            record = filed.record
            if (not first or record.timestamp >= first) and (not last or record.timestamp[:19] <= last[:19]):
                records.append(
                    HistoryRecord(record.id, record.timestamp, record.text, filed.path, record.line, where.scope)
                )
    records.sort(key=lambda record: record.timestamp)
    return HistoryRead(tuple(records[-limit:] if limit else records), tuple(problems))


@recorded("note")
def add_note(workspace: Workspace, text: str = "", *, user: str = "", assistant: str = "") -> NoteAdded:
    """Add a line to the notes of today: a text, or what was said by `user` and `assistant`, cut to their length.

    Secrets are blanked out. Raise UsageError where there is nothing to note, or both a text and an exchange.
    """
    from ..formats.history import exchange
    from ..store.history import add_note as added
    from ..store.redaction import redactor

    if not (text + user + assistant).strip():
        raise UsageError("there is nothing to note", 'give the text: mem note "…"')
    if text and (user or assistant):
        raise UsageError("a note is a text, or what the user and the assistant said", 'such as mem note "…"')
    cleaner = redactor(workspace, "the note")
    # Before it is cut: half a secret is one too, and no rule would see it.
    line = cleaner.text(text) if text else exchange(cleaner.text(user), cleaner.text(assistant))
    path, written = added(workspace, line)
    return NoteAdded(path, written.rstrip("\n"), tuple(cleaner.found))
