"""Bring a whole conversation into a session: read, secrets blanked out, and each event kept once.

The transcript is written down beside the workspace's derived data first, so that neither its length nor a slow pipe
is felt by others who write meanwhile.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

from ..store.redaction import Redacted, Redactor, redactor, secret_in_name
from ..store.sessions import EVENTS, METADATA, Session
from ..store.sessions.append import Line, line_of, take_in
from ..store.sessions.counting import Counts
from ..store.workspace import Workspace
from ..text.blake import blake2b
from ..text.ids import new_id
from ..text.session import load, moment, word
from ..text.session.folder import session_id
from ..text.session.metadata import STATES
from ..text.times import parse_time
from .transcripts import Transcript, read_transcript

STANDARD_INPUT = "standard input"
UNREADABLE = frozenset(
    (
        "not JSON",
        "not an object",
        "cut off at the end",
        "line too long",
        "message cut",
        "the rest is cut off or not JSON",
        "after the end of the document",
    )
)
"""Reasons for leaving out that mean a loss: something stood there and could not be read."""
_PAGE = {
    "channel_id": ("channelId", "chatId", "channel_id"),
    "channel_type": ("channelType", "channel_type"),
    "user_id": ("userId", "user_id"),
}
_SAID = frozenset(("id", "key", "type", "_type", "__meta__", "state", "messages", "metadata"))
_LONGEST_WORD = 500


@dataclass(frozen=True)
class Imported:
    """What became of a transcript."""

    session: Session
    format: str
    added: int
    known: int  # events that stood there already
    counts: Counts  # of the session now
    skipped: Mapping[str, int]  # what was left out, by reason
    redacted: tuple[Redacted, ...]

    @property
    def unreadable(self) -> int:
        """Count the places that could not be read."""
        return sum(count for reason, count in self.skipped.items() if reason in UNREADABLE)


def bring_in(workspace: Workspace, file: BinaryIO, name: str, into: str = "") -> Imported:
    """Import a transcript into the session of its own id, or into the one named; what is known is left alone.

    Raises UnknownTranscriptError where the content is no conversation that can be read.
    """
    transcript = read_transcript(file, name, workspace.zone)
    cleaner = redactor(workspace, name)
    if secret_in_name(cleaner, name):
        cleaner.name = "the transcript"
    opening = b""
    with _spool(workspace) as spool:
        for event in transcript.events:
            opening = opening or f"{event.timestamp}\n{event.role}\n{event.text}".encode("utf-8", "replace")
            line = line_of(cleaner.event(event))
            sums = line.counts
            noted = [line.id, sums.messages, sums.waiting, sums.characters, sums.first]
            spool.write(f"{json.dumps(noted)}\n{line.text}\n")
        spool.seek(0)
        into = into or _id_of(transcript, opening, cleaner)
        appended = take_in(workspace, into, _lines(spool), cleaner.fields(_told(transcript)))
    return Imported(
        appended.session,
        transcript.format,
        appended.added,
        appended.known,
        appended.counts,
        Counter(transcript.skipped),
        tuple(cleaner.found),
    )


def own_id(path: Path) -> str:
    """Give the id of a file that is a session's own, in any workspace; empty for any other file."""
    if path.name != EVENTS:
        return ""
    with suppress(OSError, ValueError):
        page = load((path.parent / METADATA).read_text(encoding="utf-8"))
        if isinstance(page, Mapping) and word(page.get("id")):
            return word(page["id"])
    return session_id(path.parent.resolve().name) or ""


def _spool(workspace: Workspace) -> IO[str]:
    with suppress(OSError):
        return TemporaryFile("w+", dir=workspace.derived, encoding="utf-8", newline="\n")
    return TemporaryFile("w+", encoding="utf-8", newline="\n")


def _lines(spool: IO[str]) -> Iterator[Line]:
    while noted := spool.readline():
        identifier, messages, waiting, characters, timestamp = json.loads(noted)
        text = spool.readline().removesuffix("\n")
        yield Line(identifier, text, Counts(1, messages, waiting, characters, 0, timestamp, timestamp))


def _id_of(transcript: Transcript, opening: bytes, cleaner: Redactor) -> str:
    """Name a conversation that came in a pipe and does not name itself, or would by a secret, by how it begins."""
    if transcript.session_id != STANDARD_INPUT and not secret_in_name(cleaner, transcript.session_id):
        return transcript.session_id
    started = parse_time(transcript.started) or datetime.fromtimestamp(0, UTC)
    return new_id("ses", started, blake2b(opening, digest_size=8).digest())


def _told(transcript: Transcript) -> dict[str, Any]:
    """Put what a transcript says of itself into the fields of a session's page."""
    about = transcript.about
    told: dict[str, Any] = {
        field: next((word(about[key]) for key in keys if word(about.get(key))), "") for field, keys in _PAGE.items()
    }
    told["channel_type"] = told["channel_type"] or transcript.format
    told["created_at"] = transcript.started
    state = word(about.get("state")).upper()
    if state in STATES:
        told["state"] = state
    used = _SAID.union(*_PAGE.values())
    rest = {key: value for key, value in about.items() if key not in used and _is_small(value) and not moment(value)}
    inner = about.get("metadata")
    told["metadata"] = {**rest, **(inner if isinstance(inner, Mapping) else {})}
    return told


def _is_small(value: object) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= _LONGEST_WORD)
