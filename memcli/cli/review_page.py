"""A question of the review as a page of text: two memories side by side, or one below the other where it is narrow."""

from collections.abc import Sequence
from shutil import get_terminal_size

from ..beliefs.review import Question
from ..lifecycle.supersession import Standing
from . import output

MOST = 12
"""Lines of a memory that are shown; `mem read` shows the rest."""
NARROW = 60
"""Columns below which two memories stand one below the other."""
_GAP = " │ "


def shown(question: Question) -> str:
    """Write a question with its memories, as wide as the terminal."""
    columns = get_terminal_size().columns
    names = ("newer", "older") if question.is_pair else ("",)
    if question.is_pair and columns >= NARROW:
        room = (columns - len(_GAP)) // 2
        left, right = (_side(name, one, room) for name, one in zip(names, question.sides, strict=True))
        return "\n".join(_beside(left, right, room))
    sides = [_side(name, one, columns) for name, one in zip(names, question.sides, strict=True)]
    return "\n\n".join("\n".join(side) for side in sides)


def told(question: Question) -> str:
    """Write a question as a block for a pipe: what is asked, each memory in a line, and what may be answered."""
    from ..beliefs.decisions import allowed

    names = ("newer", "older") if question.is_pair else (question.kind,)
    lines = [f"{question.id}: {heading(question)}"]
    for name, one in zip(names, question.sides, strict=True):
        lines.append(f"  {name}: {_head(one)}: {_shortened(' '.join(one.entry.body.split()), 400)}")
    if question.proposal:
        lines.append(f"  proposed: {question.proposal.decision} ({question.proposal.by})")
    return "\n".join([*lines, f"  answers: {' '.join(allowed(question))}"])


def heading(question: Question) -> str:
    """Say in a few words what is asked."""
    asks = {
        "conflict": "do these contradict each other",
        "same": "do these say the same",
        "key": "which of these holds",
        "faded": "does this still hold",
        "new": "is this worth keeping",
    }
    return f"{asks[question.kind]}? ({question.reason})"


def _side(name: str, one: Standing, room: int) -> list[str]:
    """Write a memory as lines of at most so many columns."""
    entry = one.entry
    text = output.visible(entry.body.replace("\t", "    "))
    lines = [piece for line in text.split("\n") for piece in _wrapped(line, room)]
    if len(lines) > MOST:
        more = len(lines) - MOST + 1
        lines = [*lines[: MOST - 1], f"… {more:,} more lines: mem read {entry.id}"]
    head = " · ".join(part for part in (name, entry.created_at[:10], entry.source, *_about(one)) if part)
    return [*_wrapped(output.visible(head), room), "", *lines, "", *_wrapped(output.visible(entry.id), room)]


def _head(one: Standing) -> str:
    entry = one.entry
    return " · ".join((entry.id, entry.created_at[:10], entry.source, *_about(one)))


def _about(one: Standing) -> list[str]:
    entry = one.entry
    named = (("key", entry.key), ("project", entry.project))
    return [entry.type, *(f"{name} {value}" for name, value in named if value), *(["pinned"] if entry.pinned else [])]


def _beside(left: Sequence[str], right: Sequence[str], room: int) -> list[str]:
    count = max(len(left), len(right))
    rows = zip([*left, *[""] * (count - len(left))], [*right, *[""] * (count - len(right))], strict=True)
    return [f"{one}{' ' * (room - output.width(one))}{_GAP}{other}".rstrip() for one, other in rows]


def _wrapped(line: str, room: int) -> list[str]:
    """Break a line at words, and a word that is too long where it must be, by the columns that letters take."""
    lines = [""]
    for word in line.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if output.width(joined) <= room:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if output.width(lines[-1]) + output.width(letter) > room:
                lines.append("")
            lines[-1] += letter
    return lines


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
