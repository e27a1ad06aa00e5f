"""Apply a unified diff to a text, and make one.

Forgives wrong line numbers and line ends, but never guesses where a change belongs: a hunk whose lines are not
there, or are there twice equally near, refuses the whole diff.
"""

import re

from ..errors import RefusedError
from .hunk import Hunk, hunks, split

NO_NEWLINE = "\\ No newline at end of file\n"


def apply_patch(text: str, diff: str) -> str:
    """Return the text with every hunk of the diff applied, keeping its line ends; RefusedError otherwise."""
    found = list(hunks(diff))
    if not found and diff.strip():
        raise RefusedError("this is no unified diff: no line begins with @@, - or +", "make one with diff -u")
    old = split(text)
    new: list[str] = []
    done = shift = 0
    for hunk in found:
        at = _place(hunk, old, done, shift)
        shift = at - hunk.start if hunk.start is not None else shift
        new += old[done:at]
        new += _changed(hunk, old, at)
        done = at + len(hunk.old)
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
    """Find the line where the hunk's lines stand, the nearest to where it says."""
    wanted = hunk.old
    expected = None if hunk.start is None else hunk.start + shift
    if not wanted:
        at = expected if expected is not None else (0 if not old else -1)
        if done <= at <= len(old):
            return at
        raise RefusedError(f"hunk {hunk.number} has no context to find its place by", "add the lines around it")
    places = _matches(wanted, old, done, "\n") or _matches(wanted, old, done, "\r\n")
    if expected is not None:
        nearest = min((abs(at - expected) for at in places), default=0)
        places = [at for at in places if abs(at - expected) == nearest]
    first = wanted[0].rstrip("\r\n")[:80]
    if not places:
        raise RefusedError(
            f"hunk {hunk.number} does not apply: nowhere do its lines follow {first!r}"
            if any(line.rstrip("\r\n")[:80] == first for line in old)
            else f"hunk {hunk.number} does not apply: there is no line {first!r}",
            "read the text again and make the diff anew",
        )
    if len(places) > 1:
        lines = " and ".join(str(at + 1) for at in places[:2])
        raise RefusedError(
            f"hunk {hunk.number} fits at lines {lines} alike, beginning with {first!r}",
            "add lines of context or the right line number",
        )
    return places[0]


def _matches(wanted: list[str], old: list[str], done: int, ends: str) -> list[int]:
    """List where the wanted lines stand, whatever the line ends made of these characters."""
    lines, having = [_bare(line, ends) for line in wanted], [_bare(line, ends) for line in old]
    size = len(lines)
    return [at for at in range(done, len(old) - size + 1) if having[at] == lines[0] and having[at : at + size] == lines]


def _bare(line: str, ends: str) -> str:
    line = line.removesuffix("\n")
    return line.removesuffix("\r") if "\r" in ends else line


def _changed(hunk: Hunk, old: list[str], at: int) -> list[str]:
    """Return the hunk's new lines, with the line ends of the text where the diff has lost them."""
    size = len(hunk.old)
    around = [line for line in [*old[at : at + size], *old[max(at - 1, 0) : at]] if line.endswith("\n")]
    newline = "\r\n" if around and around[0].endswith("\r\n") else "\n"
    exact = [_bare(line, "\n") for line in hunk.old] == [_bare(line, "\n") for line in old[at : at + size]]
    literal = exact and (newline == "\n" or any(line.endswith(("\r\n", "\r")) for _, line in hunk.edits))
    new: list[str] = []
    for sign, line in hunk.edits:
        if sign == " ":
            new.append(old[at])
        elif sign == "+":
            ended = newline if line.endswith("\n") else ""
            new.append(line if literal else _bare(line, "\r\n") + ended)
        at += sign != "+"
    if size and at == len(old) and not old[-1].endswith("\n") and not hunk.knows_end and new:
        new[-1] = _bare(new[-1], "\r\n")
    return new
