"""opencode's sessions: a page about the session, messages, and parts of messages, each a JSON object.

They lie in files of their own, in newer versions in rows of a database, and in what `opencode export` prints.
"""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..errors import UnknownTranscriptError
from ..formats.session_event import Event, moment, role_of, word
from .messages import answer_part, call_part, message_events
from .transcript_format import (
    FOREIGN,
    Tool,
    Transcript,
    TranscriptFile,
    TranscriptFormat,
    as_mapping,
    read_page,
)

if TYPE_CHECKING:
    import sqlite3


NAME, DATABASE = "opencode", "opencode.db"


def _read_export(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of what `opencode export` prints."""

    def read_header(fields: Mapping[str, Any]) -> None:
        if isinstance(fields.get("info"), Mapping):
            header(fields["info"], reading)

    for message in file.document().listed("messages", read_header):
        parts = message.get("parts") if isinstance(message, Mapping) else None
        if isinstance(parts, list) and isinstance(message.get("info"), Mapping):
            yield from events(message["info"], parts, reading)
        else:
            reading.skip("not an object")


def header(info: Mapping[str, Any], reading: Transcript) -> None:
    """Note what the page of a session says."""
    times = as_mapping(info.get("time"))
    reading.note(word(info.get("id")), moment(times.get("created")))
    about = {"cwd": word(info.get("directory")), "version": word(info.get("version")), "title": word(info.get("title"))}
    reading.about.update((key, value) for key, value in about.items() if value)
    if word(info.get("parentID")):
        reading.about["subagent"] = True


def events(info: Mapping[str, Any], parts: Iterable[Any], reading: Transcript) -> Iterator[Event]:
    """Yield the events of one message."""
    role = role_of(info.get("role"))
    if role not in ("user", "assistant"):
        reading.skip("no role")
        return
    if info.get("summary") is True:
        reading.skip("summary of a compaction")
        return
    reading.note("", cwd=word(as_mapping(info.get("path")).get("cwd")))
    yield from message_events(
        [event_part for part in parts if isinstance(part, Mapping) for event_part in _part(part, reading)],
        role,
        reading,
        timestamp=moment(as_mapping(info.get("time")).get("created")),
        identity=word(info.get("id")),
    )


def _part(part: Mapping[str, Any], reading: Transcript) -> list[dict[str, Any]]:
    """Return a part in the form of the Anthropic API; nothing for a part that no person or model wrote."""
    kind = part.get("type")
    if kind == "text":
        if part.get("synthetic") is True or part.get("ignored") is True:
            reading.skip("reminder")
            return []
        return [{"type": "text", "text": part.get("text")}]
    if kind == "file":
        picture = str(part.get("mime")).startswith("image/")
        return [{"type": "image" if picture else "document"}]
    if kind == "tool":
        return _tool(part)
    if kind == "reasoning":
        reading.skip("thinking")
    else:
        reading.skip_type(kind)
    return []


def _tool(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    state = as_mapping(part.get("state"))
    identifier = word(part.get("callID"))
    parts = [call_part(identifier, word(part.get("tool")), state.get("input"))]
    if state.get("status") in ("completed", "error"):
        failed = state["status"] == "error"
        answer = state.get("error" if failed else "output")
        parts.append(answer_part(identifier, answer, failed=failed))
    return parts


_TRIES = 5
_LOG = "-wal"
"""What the owner has written and not yet put into the database itself lies beside it in a file with this ending."""


class _Opencode(Tool):
    """Keeps a database, or before that a page of each session: storage/session/<project>/<id>.json."""

    def keeps(self, path: Path) -> bool:
        is_page = path.parent.parent.name == "session" and (path.parent.parent.parent / "message").is_dir()
        return path.name == DATABASE or is_page

    def stamp_of(self, path: Path) -> tuple[int, ...]:
        return _database_stamp(path) if path.name == DATABASE else _session_stamp(path)

    def conversations(self, path: Path, zone: tzinfo, beside: Path) -> Iterator[Transcript]:
        return _sessions_from_database(path, zone, beside) if path.name == DATABASE else _session_from_files(path, zone)


def _database_stamp(path: Path) -> tuple[int, ...]:
    """Return size and time of a database and of its log."""
    seen = os.stat(path)
    try:
        log = os.stat(f"{path}{_LOG}")
    except OSError:
        return seen.st_size, seen.st_mtime_ns
    return seen.st_size, seen.st_mtime_ns, log.st_size, log.st_mtime_ns


@contextmanager
def _opened_copy(path: Path, beside: Path) -> "Iterator[sqlite3.Connection]":
    """Open a copy of a database, which lies in the folder `beside`; raise UnknownTranscriptError for a damaged one."""
    import sqlite3

    with TemporaryDirectory(dir=beside if beside.is_dir() else None, prefix="copy-") as folder:
        target = Path(folder) / "copy.db"
        _copy(path, target)
        try:
            with closing(sqlite3.connect(target)) as connection:
                connection.row_factory = sqlite3.Row
                yield connection
        except sqlite3.Error as error:
            message = f"{path} cannot be read: {error}"
            raise UnknownTranscriptError(message, "close the tool it belongs to and try again") from None


def _columns(database: "sqlite3.Connection", table: str) -> set[str]:
    """Return the columns of a table; none where there is no such table."""
    return {row["name"] for row in database.execute("select name from pragma_table_info(?)", (table,))}


def _rows(database: "sqlite3.Connection", table: str, order: str, **equal: str) -> list[dict[str, Any]]:
    """Return the rows of a table whose columns have the values given, in the order of other columns."""
    where = " and ".join(f"{column} = ?" for column in equal) or "1"
    rows = database.execute(f"select * from {table} where {where} order by {order}", (*equal.values(),))
    return [dict(row) for row in rows]


def _copy(path: Path, target: Path) -> None:
    """Copy a database and its log as they are at one moment, between two writes of the owner."""
    log = Path(f"{target}{_LOG}")
    for _ in range(_TRIES):
        before = _database_stamp(path)
        shutil.copyfile(path, target)
        try:
            shutil.copyfile(f"{path}{_LOG}", log)
        except FileNotFoundError:
            log.unlink(missing_ok=True)
        if _database_stamp(path) == before:
            return


_LARGEST = 64 << 20
_TABLES = {
    "session": {"id", "directory"},
    "message": {"id", "session_id", "time_created", "data"},
    "part": {"id", "message_id", "time_created", "data"},
}


def _session_stamp(path: Path) -> tuple[int, ...]:
    """Return how many files a session has, and the time of the latest, without reading any."""
    storage = path.parent.parent.parent
    count, latest = 1, os.stat(path).st_mtime_ns
    with suppress(OSError), os.scandir(storage / "message" / path.stem) as entries:
        for entry in entries:
            with suppress(OSError):
                parts = os.stat(storage / "part" / entry.name.removesuffix(".json"))
                latest = max(latest, parts.st_mtime_ns)
            count, latest = count + 1, max(latest, entry.stat().st_mtime_ns)
    return count, latest


def _session_from_files(path: Path, zone: tzinfo) -> Iterator[Transcript]:
    """Begin to read the session whose page is given."""
    info = read_page(path, _LARGEST)
    if info is None:
        raise UnknownTranscriptError(f"{path} is damaged", "it is passed over")
    reading = Transcript(NAME, zone=zone)
    header(info, reading)
    reading.session_id = reading.session_id or path.stem
    reading.events = _events_from_files(path, reading)
    yield reading


def _sessions_from_database(path: Path, zone: tzinfo, beside: Path) -> Iterator[Transcript]:
    """Begin to read each session of a database in turn, the latest first."""
    with _opened_copy(path, beside) as database:
        missing = next((name for name, columns in _TABLES.items() if not columns <= _columns(database, name)), "")
        if missing:
            raise UnknownTranscriptError(
                f"{path} has no table {missing} that mem can read", "update mem, or use `opencode export`", FOREIGN
            )
        for row in _rows(database, "session", "id"):
            reading = Transcript(NAME, zone=zone)
            times = {"created": row.get("time_created"), "updated": row.get("time_updated")}
            header({**row, "parentID": row.get("parent_id"), "time": times}, reading)
            reading.changed = word(row.get("time_updated"))
            if reading.session_id:
                reading.events = _events_from_rows(database, reading)
                yield reading


def _events_from_files(path: Path, reading: Transcript) -> Iterator[Event]:
    storage = path.parent.parent.parent
    for message in _files(storage / "message" / path.stem, reading):
        info = read_page(message, _LARGEST)
        if info is None:
            reading.skip("not JSON")
            continue
        parts = [read_page(part, _LARGEST) for part in _files(storage / "part" / message.stem, reading)]
        if None in parts:
            reading.skip("not JSON", parts.count(None))
        yield from events({"id": message.stem, **info}, [part for part in parts if part], reading)


def _files(folder: Path, reading: Transcript) -> list[Path]:
    """List the files of a folder; their names are ids, which sort by the time they were made."""
    try:
        return sorted(file for file in folder.iterdir() if file.suffix == ".json")
    except FileNotFoundError:
        return []
    except OSError:
        reading.skip("unreadable folder")
        return []


def _events_from_rows(database: "sqlite3.Connection", reading: Transcript) -> Iterator[Event]:
    order = "time_created, id"
    for row in _rows(database, "message", order, session_id=reading.session_id):
        info = _data(row)
        if info is None:
            reading.skip("not JSON")
            continue
        parts = _rows(database, "part", order, message_id=row["id"])
        yield from events({**info, "id": row["id"]}, [_data(part) for part in parts], reading)


def _data(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    try:
        data = json.loads(row["data"])
    except (TypeError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


EXPORT = TranscriptFormat(
    NAME,
    _read_export,
    document=re.compile(r'"messages"\s*:\s*\[\s*\{\s*"info"\s*:|\A\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_'),
)
TOOL = _Opencode(
    NAME,
    "opencode",
    "",
    (".local/share/opencode",),
    ("storage/session/*/*.json", DATABASE),
    data_folder="opencode",
    parts=("storage/message", "storage/part"),
)
