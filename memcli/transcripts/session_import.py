"""Bring a whole conversation into a session: read, secrets blanked out, and each event kept once."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, Annotated, Any, BinaryIO

from ..dataclass import dataclass
from ..formats.ids import blake2b, new_id, parse_time
from ..formats.session_event import STATES, load, moment, parse_event, session_id, word, word_at
from ..results import FilePath, Numbers, Result
from ..store.file_steps import naming
from ..store.redaction import SECRET_FILE, Redacted, RedactedPlaces, Redactor, redactor, secret_in_name
from ..store.sessions.append import Appended, EventLine, event_line, take_in
from ..store.sessions.call_filter import blanked
from ..store.sessions.event_file import EVENTS, METADATA, Counts, read_events, standing_ids
from ..store.sessions.sessions import Listing, made
from ..store.workspace import Workspace
from .reader import read_transcript
from .transcript_format import Transcript, TranscriptFile

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
class ImportedSession(Appended, Result):
    """What became of a transcript."""

    format: Annotated[str, "what the transcript was written by"] = ""
    skipped: Annotated[Numbers, "what was left out, by reason"] = field(default_factory=Counter)
    redacted: RedactedPlaces = ()

    @property
    def path(self) -> FilePath:
        """Return where the session is."""
        return self.session.path

    @property
    def unreadable(self) -> Annotated[int, "parts that could not be read"]:
        """Count the places that could not be read."""
        return sum(count for reason, count in self.skipped.items() if reason in UNREADABLE)


@dataclass(frozen=True)
class SessionContent:
    """What a session holds already."""

    session: str
    ids: frozenset[str] = frozenset()
    messages: tuple[tuple[str, str, int], ...] = ()  # id, role and hash of the text of each message in its own file


@dataclass
class TranscriptBuffer:
    """A conversation written down beside the workspace's derived data, its secrets blanked out."""

    workspace: Workspace
    transcript: Transcript
    file: IO[str]
    cleaner: Redactor
    existing: SessionContent
    events: int = 0  # that are new
    known: int = 0
    last: str = ""  # time of the latest event
    opening: bytes = b""
    messages: list[tuple[str, str, int]] = field(default_factory=list)  # id, role and hash of the text of each message

    @property
    def session_id(self) -> str:
        """Return the id of the session it belongs into; one without a name but its file's is named by how it begins."""
        return self._id(by_opening=self.transcript.is_nameless)

    def _id(self, *, by_opening: bool) -> str:
        """Return the id it has where it comes from; one that would be a secret is none."""
        if not by_opening and not secret_in_name(self.cleaner, self.transcript.session_id):
            return self.transcript.session_id
        started = parse_time(self.transcript.started) or datetime.fromtimestamp(0, UTC)
        return new_id("ses", started, blake2b(self.opening, digest_size=8).digest())

    def keep(self, into: str) -> ImportedSession:
        """Add it to the session named, or to its own; what stands there already is left alone."""
        into = into or self._id(by_opening=self.transcript.session_id == STANDARD_INPUT)
        return self._imported(take_in(self.workspace, into, self._lines(), self._fields(), self.cleaner.calls))

    def keep_once(self, into: str, listing: Listing) -> ImportedSession:
        """Add what is new of it to a session, for one who brings in many.

        A session that lies in the archive is not made anew where nothing is.
        """
        new = self.new_ids(into, listing)
        session = made(self.workspace, into, listing.elsewhere)
        if not new and not self.workspace.path(session.path).exists():
            return self._imported(Appended(session, 0, self.known + self.events, Counts()))
        lines = (line for line in self._lines() if line.id in new)
        done = self._imported(take_in(self.workspace, into, lines, self._fields(), self.cleaner.calls, listing))
        return replace(done, known=done.known + self.known + self.events - len(new))

    def new_ids(self, into: str, listing: Listing) -> set[str]:
        """Return the ids of the events that a session does not hold.

        An event that hooks kept while it went on has another id: it is known by speaker and text, and if all prompts
        are, so are the other messages.
        """
        if self.existing.session != into:
            self.existing = existing_content(self.workspace, into, listing)
        ids = {identifier for identifier, _, _ in self.messages}
        others = Counter((role, text) for identifier, role, text in self.existing.messages if identifier not in ids)
        twins = set()
        for identifier, role, text in self.messages if others else ():
            if identifier not in self.existing.ids and others[role, text] > 0:
                others[role, text] -= 1
                twins.add(identifier)
        prompts = {identifier for identifier, role, _ in self.messages if role == "user"} - self.existing.ids
        if twins and prompts <= twins:
            return set()
        return {line.id for line in self._lines()} - self.existing.ids - twins

    def _fields(self) -> dict[str, Any]:
        return self.cleaner.fields(_fields(self.transcript))

    def _lines(self) -> Iterator[EventLine]:
        with naming("read", self.workspace.derived):
            self.file.seek(0)
            while noted := self.file.readline():
                identifier, *sums, tools = json.loads(noted)
                text = self.file.readline().removesuffix("\n")
                event = parse_event(text) if identifier in self.cleaner.calls.late else None
                if event:
                    yield event_line(blanked(event))
                    continue
                messages, waiting, characters, timestamp = sums
                totals = Counts(1, messages, waiting, characters, 0, timestamp, timestamp, tuple(tools))
                yield EventLine(identifier, text, totals)

    def _imported(self, appended: Appended) -> ImportedSession:
        skipped = Counter(self.transcript.skipped)
        late = [Redacted(self.cleaner.name, 1, SECRET_FILE) for _ in self.cleaner.calls.late]
        redacted = (*self.cleaner.found, *late)
        return ImportedSession(**vars(appended), format=self.transcript.format, skipped=skipped, redacted=redacted)


def import_transcript(
    workspace: Workspace, file: BinaryIO | TranscriptFile, name: str, into: str = ""
) -> ImportedSession:
    """Import a transcript into the session of its own id, or into the one named; what is known is left alone.

    Raise UnknownTranscriptError where the content is no conversation that can be read.
    """
    transcript = read_transcript(file, name, workspace.zone)
    with buffered(workspace, transcript, name) as buffer:
        return buffer.keep(into)


def existing_content(workspace: Workspace, name: str, listing: Listing) -> SessionContent:
    """Return the content of a session, in the archive too."""
    session = made(workspace, name, listing.elsewhere)
    ids = standing_ids([workspace.path(part.path) for part in listing.archived(session.id)])
    messages = []
    for _, event in read_events(workspace.path(session.path)):
        ids.add(event.id)
        if event.type == "message":
            messages.append((event.id, event.role, _fingerprint(event.text)))
    return SessionContent(name, frozenset(ids), tuple(messages))


@contextmanager
def buffered(
    workspace: Workspace, transcript: Transcript, name: str, existing: SessionContent | None = None
) -> Iterator[TranscriptBuffer]:
    """Write a conversation down, so that neither its length nor a slow source is felt by others who write.

    Events that its session has already are only counted.
    """
    cleaner = redactor(workspace, name, word(transcript.about.get("cwd")))
    if secret_in_name(cleaner, name):
        cleaner.name = "the transcript"
    with _buffer_file(workspace) as (file, folder):
        buffer = TranscriptBuffer(workspace, transcript, file, cleaner, existing or SessionContent(""))
        for event in transcript.events:
            buffer.opening = buffer.opening or f"{event.timestamp}\n{event.role}\n{event.text}".encode(
                "utf-8", "replace"
            )
            buffer.last = max(buffer.last, event.timestamp)
            if event.id in buffer.existing.ids:
                buffer.known += 1
                cleaner.hear(event)
                cleaner.calls.withholds(event)
                buffer.messages += [(event.id, event.role, 0)] if event.type == "message" else []
                continue
            event = cleaner.event(event)
            line = event_line(event)
            sums = line.counts
            noted = [line.id, sums.messages, sums.waiting, sums.characters, sums.first, sums.tools]
            with naming("write", folder):
                file.write(f"{json.dumps(noted)}\n{line.text}\n")
            buffer.events += 1
            if event.type == "message":
                buffer.messages.append((event.id, event.role, _fingerprint(event.text)))
        with naming("write", folder):
            file.flush()
        yield buffer


def _fingerprint(text: str) -> int:
    return hash(text.strip())


def own_id(path: Path) -> str:
    """Return the id of a file that is a session's own, in any workspace; empty for any other file."""
    if path.name != EVENTS:
        return ""
    with suppress(OSError, ValueError):
        page = load((path.parent / METADATA).read_text(encoding="utf-8"))
        if isinstance(page, Mapping) and word(page.get("id")):
            return word(page["id"])
    return session_id(path.parent.resolve().name) or ""


@contextmanager
def _buffer_file(workspace: Workspace) -> Iterator[tuple[IO[str], Path]]:
    """Open a file without a name beside the workspace's derived data, else among the system's temporary files."""
    with naming("write", workspace.derived):
        folder = workspace.derived if os.access(workspace.derived, os.W_OK) else Path(gettempdir())
    file = _nameless(folder)
    try:
        yield file, folder
    finally:
        with suppress(OSError):  # what could not be written is tried once more on closing
            file.close()


def _nameless(folder: Path) -> IO[str]:
    with naming("write", folder):
        return TemporaryFile("w+", dir=folder, encoding="utf-8", newline="\n")


def _fields(transcript: Transcript) -> dict[str, Any]:
    """Return the fields of a session's page for what a transcript says of itself."""
    about = transcript.about
    fields: dict[str, Any] = {field: word_at(about, keys) for field, keys in _PAGE.items()}
    fields["channel_type"] = fields["channel_type"] or transcript.format
    fields["created_at"] = transcript.started
    state = word(about.get("state")).upper()
    if state in STATES:
        fields["state"] = state
    used = _SAID.union(*_PAGE.values())
    others = {key: value for key, value in about.items() if key not in used and _is_small(value) and not moment(value)}
    inner = about.get("metadata")
    fields["metadata"] = {**others, **(inner if isinstance(inner, Mapping) else {})}
    return fields


def _is_small(value: object) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= _LONGEST_WORD)
