"""Apply a unified diff to a text, and make one.

Forgives wrong line numbers and line ends, but never guesses where a change belongs: a hunk whose lines are not
there, or are there twice equally near, refuses the whole diff.
"""

import re
from collections.abc import Iterator

from ..dataclass import dataclass
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
    """Yield the hunks of a diff; raise RefusedError if it is about two files or is no diff."""
    lines = split(diff if diff.endswith("\n") else diff + "\n")
    if not any(line.startswith("@@") for line in lines):
        lines = _headed(lines)
    number = index = 0
    while index < len(lines):
        if lines[index].startswith("@@"):
            number += 1
            hunk, index = _hunk(lines, index, number)
            if hunk.edits:
                yield hunk
        elif number and lines[index].startswith("+++ "):
            raise RefusedError("the diff is about more than one file", "give the part for this one")
        else:
            index += 1


def split(text: str) -> list[str]:
    """Split a text into lines that keep their ends; only a newline ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _headed(lines: list[str]) -> list[str]:
    """Put a header in front of bare lines that begin with - and +."""
    index = 0
    while index < len(lines) and (lines[index].startswith(AROUND) or _is_names(lines, index)):
        index += 1
    bare = lines[index:]
    return ["@@\n", *bare] if any(line[0] in "+-" for line in bare) else []


def _is_names(lines: list[str], index: int) -> bool:
    """Return whether here stand the `---` and `+++` lines that name a file, or the second of them."""
    return any(
        lines[first].startswith("--- ") and lines[first + 1].startswith("+++ ")
        for first in range(max(index - 1, 0), min(index + 1, len(lines) - 1))
    )


def _hunk(lines: list[str], index: int, number: int) -> tuple[Hunk, int]:
    header = HEADER.match(lines[index])
    start = None
    end = None
    if header:
        first, count, _, after, alone = header.groups()
        start = int(first or alone)
        start -= start > 0 and count != "0"
        if not alone:
            end = _counted(lines, index + 1, int(count or 1), int(after or 1))
    if end is None:
        end = _until_next(lines, index + 1)
    edits = tuple(_edits(lines[index + 1 : end], index + 2))
    if header and header[2] != "0" and all(sign == "+" for sign, _ in edits):
        start = None
    return Hunk(number, start, edits), end


def _counted(lines: list[str], index: int, old: int, new: int) -> int | None:
    """Return where a hunk of so many old and new lines ends, or None when it does not come out even."""
    while index < len(lines) and (old > 0 or new > 0 or lines[index].startswith("\\")):
        sign = lines[index][0]
        if sign not in " -+\\\r\n":
            return None
        old -= sign in " -\r\n"
        new -= sign in " +\r\n"
        index += 1
    goes_on = (
        index < len(lines) and lines[index][0] in " -+" and lines[index] != SIGNATURE and not _is_names(lines, index)
    )
    return index if old == new == 0 and not goes_on else None


def _until_next(lines: list[str], index: int) -> int:
    start = index
    while index < len(lines) and not lines[index].startswith(AROUND) and not _is_names(lines, index):
        index += 1
    while index > start and lines[index - 1] in ("\n", "\r\n"):
        index -= 1
    return index


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


NO_NEWLINE = "\\ No newline at end of file\n"


def apply_patch(text: str, diff: str) -> str:
    """Return the text with every hunk of the diff applied, keeping its line ends; RefusedError otherwise."""
    parsed = list(hunks(diff))
    if not parsed and diff.strip():
        raise RefusedError("this is no unified diff: no line begins with @@, - or +", "make one with diff -u")
    old = split(text)
    new: list[str] = []
    done = shift = 0
    for hunk in parsed:
        index = _place(hunk, old, done, shift)
        shift = index - hunk.start if hunk.start is not None else shift
        new += old[done:index]
        new += _changed(hunk, old, index)
        done = index + len(hunk.old)
    new += old[done:]
    newline = "\r\n" if old and old[0].endswith("\r\n") else "\n"
    return "".join(line if line.endswith("\n") else line + newline for line in new[:-1]) + "".join(new[-1:])


def unified(old: str, new: str, name: str) -> str:
    """Return the change from old to new as a unified diff that apply_patch and git take back exactly."""
    from difflib import unified_diff

    name = re.sub(r"[\x00-\x1f\x7f]", "?", name)
    lines = unified_diff(split(old), split(new), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}" for line in lines)


def _place(hunk: Hunk, old: list[str], done: int, shift: int) -> int:
    """Return the line where the hunk's lines are, the nearest to the line it names."""
    wanted = hunk.old
    expected = None if hunk.start is None else hunk.start + shift
    if not wanted:
        index = expected if expected is not None else (0 if not old else -1)
        if done <= index <= len(old):
            return index
        raise RefusedError(f"hunk {hunk.number} has no context to find its place by", "add the lines around it")
    positions = _matches(wanted, old, done, "\n") or _matches(wanted, old, done, "\r\n")
    if expected is not None:
        nearest = min((abs(index - expected) for index in positions), default=0)
        positions = [index for index in positions if abs(index - expected) == nearest]
    first = wanted[0].rstrip("\r\n")[:80]
    if not positions:
        raise RefusedError(
            f"hunk {hunk.number} does not apply: nowhere do its lines follow {first!r}"
            if any(line.rstrip("\r\n")[:80] == first for line in old)
            else f"hunk {hunk.number} does not apply: there is no line {first!r}",
            "read the text again and make the diff anew",
        )
    if len(positions) > 1:
        lines = " and ".join(str(index + 1) for index in positions[:2])
        raise RefusedError(
            f"hunk {hunk.number} fits at lines {lines} alike, beginning with {first!r}",
            "add lines of context or the right line number",
        )
    return positions[0]


def _matches(wanted: list[str], old: list[str], done: int, ends: str) -> list[int]:
    """List where the wanted lines stand, whatever the line ends made of these characters."""
    lines, having = [_bare(line, ends) for line in wanted], [_bare(line, ends) for line in old]
    size = len(lines)
    return [
        index
        for index in range(done, len(old) - size + 1)
        if having[index] == lines[0] and having[index : index + size] == lines
    ]


def _bare(line: str, ends: str) -> str:
    line = line.removesuffix("\n")
    return line.removesuffix("\r") if "\r" in ends else line


def _changed(hunk: Hunk, old: list[str], index: int) -> list[str]:
    """Return the hunk's new lines, with the line ends of the text where the diff has lost them."""
    size = len(hunk.old)
    around = [line for line in [*old[index : index + size], *old[max(index - 1, 0) : index]] if line.endswith("\n")]
    newline = "\r\n" if around and around[0].endswith("\r\n") else "\n"
    exact = [_bare(line, "\n") for line in hunk.old] == [_bare(line, "\n") for line in old[index : index + size]]
    literal = exact and (newline == "\n" or any(line.endswith(("\r\n", "\r")) for _, line in hunk.edits))
    new: list[str] = []
    for sign, line in hunk.edits:
        if sign == " ":
            new.append(old[index])
        elif sign == "+":
            ended = newline if line.endswith("\n") else ""
            new.append(line if literal else _bare(line, "\r\n") + ended)
        index += sign != "+"
    if size and index == len(old) and not old[-1].endswith("\n") and not hunk.knows_end and new:
        new[-1] = _bare(new[-1], "\r\n")
    return new
