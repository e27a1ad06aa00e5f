"""Daily notes: lines of a day, each `[HH:MM] text`, with whatever a person writes between them."""

import re
from dataclasses import dataclass

from .lines import lines
from .summary import shorten

USER_LIMIT, ASSISTANT_LIMIT = 200, 300
_LINE = re.compile(r"\s*(?:[-*]\s+)?\[(\d\d:\d\d)(?::\d\d)?\]\s?")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)")


@dataclass(frozen=True)
class Note:
    """One note with the lines that belong to it."""

    time: str  # HH:MM of the day; empty for text without one
    line: int
    start: int  # offsets in the file
    end: int


def notes(text: str) -> list[Note]:
    """Cut a day's file into notes; text before the first time is one note without a time."""
    found: list[Note] = []
    time, begin, begin_line, offset = "", 0, 1, 0
    for number, line in enumerate(lines(text), 1):
        mark = _LINE.match(line.lstrip("\ufeff") if number == 1 else line)
        if mark:
            if text[begin:offset].strip("\ufeff \t\r\n"):
                found.append(Note(time, begin_line, begin, offset))
            time, begin, begin_line = mark[1], offset, number
        offset += len(line)
    if text[begin:].strip("\ufeff \t\r\n"):
        found.append(Note(time, begin_line, begin, len(text)))
    return found


def day_in(path: str) -> str:
    """Read the day out of a file's name; empty where it names none."""
    found = _DAY.search(path.rsplit("/", 1)[-1])
    return found[1] if found else ""


def line_of(time: str, text: str) -> str:
    """Write a note as a line of its day: newlines are folded, since a line that begins with a time is a note."""
    return f"[{time}] {' '.join(text.split())}\n"


def exchange(user: str, assistant: str) -> str:
    """Write what was asked and answered as one line, each cut to its limit."""
    asked, answered = shorten(user, USER_LIMIT), shorten(assistant, ASSISTANT_LIMIT)
    return " | ".join(f"{who}: {said}" for who, said in (("User", asked), ("Assistant", answered)) if said)
