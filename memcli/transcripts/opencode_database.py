"""Where opencode keeps its sessions: a JSON file for each session, message and part; in newer versions a database."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..formats.session_event import Event, load, word
from . import opencode
from .reader import FOREIGN, Transcript, UnknownTranscriptError, begun
from .transcript_format import TranscriptReading

_TRIES = 5
_LOG = "-wal"
"""What the owner has written and not yet put into the database itself lies beside it in a file with this ending."""


def stamp_of(path: Path) -> tuple[int, ...]:
    """Return size and time of a database and of its log: they change whenever the content does."""
    seen = os.stat(path)
    try:
        log = os.stat(f"{path}{_LOG}")
    except OSError:
        return seen.st_size, seen.st_mtime_ns
    return seen.st_size, seen.st_mtime_ns, log.st_size, log.st_mtime_ns


class Copy:
    """A copy of a database that is open for reading."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._connection.row_factory = sqlite3.Row

    def columns(self, table: str) -> set[str]:
        """Name the columns of a table; none where there is no such table."""
        return {row["name"] for row in self._connection.execute("select name from pragma_table_info(?)", (table,))}

    def rows(self, table: str, order: str, **equal: str) -> list[dict[str, Any]]:
        """Return the rows of a table whose columns have the values given, in the order of other columns."""
        where = " and ".join(f"{column} = ?" for column in equal) or "1"
        found = self._connection.execute(f"select * from {table} where {where} order by {order}", (*equal.values(),))
        return [dict(row) for row in found]


@contextmanager
def copied(path: Path, beside: Path) -> Iterator[Copy]:
    """Open a copy of a database, which lies in the folder `beside`; UnknownTranscriptError for a damaged one."""
    with TemporaryDirectory(dir=beside if beside.is_dir() else None, prefix="copy-") as folder:
        target = Path(folder) / "copy.db"
        _copy(path, target)
        try:
            with closing(sqlite3.connect(target)) as connection:
                yield Copy(connection)
        except sqlite3.Error as error:
            message = f"{path} cannot be read: {error}"
            raise UnknownTranscriptError(message, "close the tool it belongs to and try again") from None


def _copy(path: Path, target: Path) -> None:
    """Copy a database and its log as they are at one moment, between two writes of the owner."""
    log = Path(f"{target}{_LOG}")
    for _ in range(_TRIES):
        before = stamp_of(path)
        shutil.copyfile(path, target)
        try:
            shutil.copyfile(f"{path}{_LOG}", log)
        except FileNotFoundError:
            log.unlink(missing_ok=True)
        if stamp_of(path) == before:
            return


FORMAT = "opencode"
_LONGEST = 64 << 20
_TABLES = {
    "session": {"id", "directory"},
    "message": {"id", "session_id", "time_created", "data"},
    "part": {"id", "message_id", "time_created", "data"},
}


def is_session_file(path: Path) -> bool:
    """Tell the page of a session by where it lies: storage/session/<project>/<id>.json."""
    return path.parent.parent.name == "session" and (path.parent.parent.parent / "message").is_dir()


def session_stamp(path: Path) -> tuple[int, ...]:
    """Return how many files a session has, and the time of the latest, without reading any."""
    storage = path.parent.parent.parent
    count, latest = 1, os.stat(path).st_mtime_ns
    with suppress(OSError), os.scandir(storage / "message" / path.stem) as found:
        for one in found:
            with suppress(OSError):
                parts = os.stat(storage / "part" / one.name.removesuffix(".json"))
                latest = max(latest, parts.st_mtime_ns)
            count, latest = count + 1, max(latest, one.stat().st_mtime_ns)
    return count, latest


def session_from_files(path: Path, zone: tzinfo) -> Iterator[Transcript]:
    """Begin to read the session whose page is given; UnknownTranscriptError where that is no page."""
    info = _object(path)
    if info is None:
        raise UnknownTranscriptError(f"{path} is damaged", "it is passed over")
    reading = TranscriptReading(zone=zone)
    opencode.header(info, reading)
    reading.session_id = reading.session_id or path.stem
    yield begun(FORMAT, _events_from_files(path, reading), reading, path.name)


def sessions_from_database(path: Path, zone: tzinfo, beside: Path) -> Iterator[Transcript]:
    """Begin to read each session of a database in turn, the latest first."""
    with copied(path, beside) as database:
        missing = next((name for name, columns in _TABLES.items() if not columns <= database.columns(name)), "")
        if missing:
            raise UnknownTranscriptError(
                f"{path} has no table {missing} that mem can read", "update mem, or use `opencode export`", FOREIGN
            )
        for told in database.rows("session", "id"):
            reading = TranscriptReading(zone=zone)
            times = {"created": told.get("time_created"), "updated": told.get("time_updated")}
            opencode.header({**told, "parentID": told.get("parent_id"), "time": times}, reading)
            reading.changed = word(told.get("time_updated"))
            if reading.session_id:
                yield begun(FORMAT, _events_from_rows(database, reading), reading, f"{path.name}#{told['id']}")


def _events_from_files(path: Path, reading: TranscriptReading) -> Iterator[Event]:
    storage = path.parent.parent.parent
    for message in _files(storage / "message" / path.stem, reading):
        info = _object(message)
        if info is None:
            reading.skip("not JSON")
            continue
        parts = [_object(part) for part in _files(storage / "part" / message.stem, reading)]
        if None in parts:
            reading.skip("not JSON", parts.count(None))
        yield from opencode.events({"id": message.stem, **info}, [part for part in parts if part], reading)


def _files(folder: Path, reading: TranscriptReading) -> list[Path]:
    """List the files of a folder; their names are ids, which sort by the time they were made."""
    try:
        return sorted(one for one in folder.iterdir() if one.suffix == ".json")
    except FileNotFoundError:
        return []
    except OSError:
        reading.skip("unreadable folder")
        return []


def _object(path: Path) -> dict[str, Any] | None:
    try:
        if os.stat(path).st_size > _LONGEST:
            return None
        data = load(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return data if isinstance(data, dict) else None


def _events_from_rows(database: Copy, reading: TranscriptReading) -> Iterator[Event]:
    order = "time_created, id"
    for row in database.rows("message", order, session_id=reading.session_id):
        info = _data(row)
        if info is None:
            reading.skip("not JSON")
            continue
        parts = database.rows("part", order, message_id=row["id"])
        yield from opencode.events({**info, "id": row["id"]}, [_data(part) for part in parts], reading)


def _data(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    try:
        data = json.loads(row["data"])
    except (TypeError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
