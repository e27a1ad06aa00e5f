"""Read the hunks of a unified diff of one file, as tools and as language models write them.

Line counts in headers are used where they add up, and worked out where they are wrong or missing. File names, prose
and code fences around the hunks are skipped.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import RefusedError

HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@|@@ -(\d{1,9})")
SIGNATURE = "-- \n"  # what git format-patch ends with
AROUND = ("```", "diff ", "index ", "@@")

Edit = tuple[str, str]  # " ", "-" or "+", and the line with its line end


@dataclass(frozen=True)
class Hunk:
    """One change: lines that are there, lines that go and lines that come."""

    number: int
    start: int | None  # 0-based line of the old text where it says it begins
    edits: tuple[Edit, ...]

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [line for sign, line in self.edits if sign != "+"]

    @property
    def knows_end(self) -> bool:
        """Whether the diff says that the old text ends here without a line end."""
        return any(sign != "+" and not line.endswith("\n") for sign, line in self.edits)


def hunks(diff: str) -> Iterator[Hunk]:
    """Yield the hunks of a diff; RefusedError where it is about two files or is no diff."""
    lines = split(diff if diff.endswith("\n") else diff + "\n")
    if not any(line.startswith("@@") for line in lines):
        lines = _headed(lines)
    number = at = 0
    while at < len(lines):
        if lines[at].startswith("@@"):
            number += 1
            hunk, at = _hunk(lines, at, number)
            if hunk.edits:
                yield hunk
        elif number and lines[at].startswith("+++ "):
            raise RefusedError("the diff is about more than one file", "give the part for this one")
        else:
            at += 1


def split(text: str) -> list[str]:
    """Split a text into lines that keep their ends; only a newline ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _headed(lines: list[str]) -> list[str]:
    """Put a header in front of bare lines that begin with - and +."""
    at = 0
    while at < len(lines) and (lines[at].startswith(AROUND) or _is_names(lines, at)):
        at += 1
    bare = lines[at:]
    return ["@@\n", *bare] if any(line[0] in "+-" for line in bare) else []


def _is_names(lines: list[str], at: int) -> bool:
    """Say whether here stand the `---` and `+++` lines that name a file, or the second of them."""
    return any(
        lines[first].startswith("--- ") and lines[first + 1].startswith("+++ ")
        for first in range(max(at - 1, 0), min(at + 1, len(lines) - 1))
    )


def _hunk(lines: list[str], at: int, number: int) -> tuple[Hunk, int]:
    header = HEADER.match(lines[at])
    start = None
    end = None
    if header:
        first, count, _, after, alone = header.groups()
        start = int(first or alone)
        start -= start > 0 and count != "0"
        if not alone:
            end = _counted(lines, at + 1, int(count or 1), int(after or 1))
    if end is None:
        end = _until_next(lines, at + 1)
    edits = tuple(_edits(lines[at + 1 : end], at + 2))
    if header and header[2] != "0" and all(sign == "+" for sign, _ in edits):
        start = None
    return Hunk(number, start, edits), end


def _counted(lines: list[str], at: int, old: int, new: int) -> int | None:
    """Return where a hunk of so many old and new lines ends, or None when it does not come out even."""
    while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith("\\")):
        sign = lines[at][0]
        if sign not in " -+\\\r\n":
            return None
        old -= sign in " -\r\n"
        new -= sign in " +\r\n"
        at += 1
    goes_on = at < len(lines) and lines[at][0] in " -+" and lines[at] != SIGNATURE and not _is_names(lines, at)
    return at if old == new == 0 and not goes_on else None


def _until_next(lines: list[str], at: int) -> int:
    start = at
    while at < len(lines) and not lines[at].startswith(AROUND) and not _is_names(lines, at):
        at += 1
    while at > start and lines[at - 1] in ("\n", "\r\n"):
        at -= 1
    return at


def _edits(lines: list[str], number: int) -> Iterator[Edit]:
    for offset, line in enumerate(lines):
        if line[0] == "\\":
            continue
        if line[0] not in " -+\r\n":
            raise RefusedError(
                f"line {number + offset} of the diff begins with neither a space, - nor +: {line[:60].rstrip()!r}",
                "mend the diff",
            )
        sign, content = (" ", line) if line[0] in "\r\n" else (line[0], line[1:])
        ends = lines[offset + 1 : offset + 2]
        yield sign, content.removesuffix("\n") if ends and ends[0][0] == "\\" else content
