"""Files of JSON that another tool keeps memories or messages in, as text: one line for each of them, to be searched.

golemcore writes memories one a line (`items/*.jsonl`) and conversations as one document (`sessions/*.json`). The lines
of a JSONL file keep their numbers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from .chunking import Chunk, windows
from .session_event import load, moment, words_of
from .text_lines import Problem

_TIMES = ("updatedAt", "updated_at", "createdAt", "created_at", "timestamp")


@dataclass(frozen=True)
class Records:
    """What a file holds: a text with a line for each record, its pieces, and the lines that could not be read."""

    text: str
    chunks: list[Chunk]
    problems: list[Problem]


EPISODES = "*/items/episodic/*.jsonl"
"""The files of golemcore's whose records tell what happened, as a glob for which `*` may be several folders."""


def is_records(path: str, kind: str) -> bool:
    """Return whether a file is JSON that is shown as text; a session's own lines are read elsewhere."""
    return path.endswith(".json") or (path.endswith(".jsonl") and kind != "session")


def record_type(path: str) -> str:
    """Return `episode` for a file of golemcore's folder for what happened; empty elsewhere."""
    return "episode" if fnmatchcase(path, EPISODES) else ""


def records_of(path: str, text: str) -> Records:
    """Read a file of JSON; what is no record is a problem, and its line is empty."""
    problems: list[Problem] = []
    found = list(_document(text, problems) if path.endswith(".json") else _lines(text, problems))
    lines: list[str] = []
    chunks: list[Chunk] = []
    start = 0
    for number, (said, timestamp) in enumerate(found, 1):
        line = " ".join(said.split())
        lines.append(f"{line}\n")
        chunks += [
            Chunk(start + a, start + b, number, f"L{number}", timestamp=timestamp)
            for a, b in windows(line, 0, len(line))
        ]
        start += len(line) + 1
    return Records("".join(lines), chunks, problems)


def _lines(text: str, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        data = load(line) if line.strip("\ufeff \t\r") else {}
        if not isinstance(data, Mapping):
            problems.append(Problem(number, "no JSON object: passed over"))
            data = {}
        yield _said(data), _moment(data)


def _document(text: str, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    messages = messages_of(load(text))
    if messages is None:
        problems.append(Problem(1, "no JSON document with a list of messages: passed over"))
        return
    for one in messages:
        if isinstance(one, Mapping):
            yield _said(one), _moment(one)


def messages_of(data: object) -> list[Any] | None:
    """Return the messages of a conversation that is one JSON document; None where it is none."""
    messages = data.get("messages") if isinstance(data, Mapping) else data
    return messages if isinstance(messages, list) else None


def _said(data: Mapping[str, Any]) -> str:
    """Write a record as a line: who says it or what it is called, and what it says."""
    content = next((data[key] for key in ("content", "text", "memory") if data.get(key)), "")
    words = content if isinstance(content, str) else words_of(content)
    head = next((str(data[key]) for key in ("title", "role") if isinstance(data.get(key), str) and data[key]), "")
    return ": ".join(part for part in (head, words) if part) if words.strip() else ""


def _moment(data: Mapping[str, Any]) -> str:
    return next((found for key in _TIMES if (found := moment(data.get(key)))), "")
