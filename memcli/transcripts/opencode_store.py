"""Where opencode keeps its sessions: a JSON file for each session, message and part; in newer versions a database."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import Any

from ..exchange.detect import FOREIGN, UnknownTranscriptError
from ..exchange.reading import Reading
from ..exchange.transcripts import Transcript, begun
from ..text.session import Event, load, word
from . import opencode
from .foreign_database import Copy, copied

FORMAT = "opencode"
DATABASE = "opencode.db"
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
    """Give how many files a session has, and the time of the latest, without reading any."""
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
    reading = Reading(zone=zone)
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
            reading = Reading(zone=zone)
            times = {"created": told.get("time_created"), "updated": told.get("time_updated")}
            opencode.header({**told, "parentID": told.get("parent_id"), "time": times}, reading)
            reading.changed = word(told.get("time_updated"))
            if reading.session_id:
                yield begun(FORMAT, _events_from_rows(database, reading), reading, f"{path.name}#{told['id']}")


def _events_from_files(path: Path, reading: Reading) -> Iterator[Event]:
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


def _files(folder: Path, reading: Reading) -> list[Path]:
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


def _events_from_rows(database: Copy, reading: Reading) -> Iterator[Event]:
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
