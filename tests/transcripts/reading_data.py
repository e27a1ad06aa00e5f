"""Open the hand-made transcripts beside the tests, and name what came out of them."""

import io
from pathlib import Path

from memcli.formats.session_event import Event
from memcli.transcripts.reader import read_transcript
from memcli.transcripts.transcript_format import Transcript

DATA = Path(__file__).parent / "data"
NOBODY_SAID = ("INJECTED", "THOUGHT", "SIDECHAIN", "SUMMARY", "META", "HOOK", "COMMAND", "RECALLED", "COMPACTED")


def taken(name: str) -> tuple[Transcript, list[Event]]:
    """Read a file beside the tests."""
    with (DATA / name).open("rb") as file:
        transcript = read_transcript(file, name)
        return transcript, list(transcript.events)


def read(content: str | bytes, name: str = "chat.txt") -> tuple[Transcript, list[Event]]:
    """Read a transcript out of memory."""
    data = content.encode() if isinstance(content, str) else content
    transcript = read_transcript(io.BytesIO(data), name)
    return transcript, list(transcript.events)


def said(events: list[Event]) -> list[tuple[str, str]]:
    """Give who said what."""
    return [(event.name or event.role, event.text) for event in events if event.type == "message"]


def tools(events: list[Event]) -> list[tuple[str, str, str, bool]]:
    """Give the tools called and what they answered."""
    return [(event.type, event.name, event.text, event.is_error) for event in events if event.type != "message"]
