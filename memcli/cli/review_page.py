"""A question of the review as a page of text: two memories side by side, or one below the other where it is narrow."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from shutil import get_terminal_size

from ..api.review import EntryFile, Question, allowed, differing
from . import output

Line = list[tuple[str, str]]
"""Pieces of text, each with the code of its colour or none."""
Marked = list[tuple[str, bool]]
"""Letters, each with whether it is marked."""
DIFFERS = "1;36"
"""Colour code of words that only one of two memories has."""
MOST = 12
"""Lines of a memory that are shown; `mem read` shows the rest."""
NARROW = 60
"""Columns below which two memories stand one below the other."""
_GAP = " │ "


def shown(question: Question) -> list[Line]:
    """Write a question with its memories as wide as the terminal, the words marked that only one of the two has."""
    columns = get_terminal_size().columns
    texts = [output.visible(one.entry.body.replace("\t", "    ")) for one in question.sides]
    if not question.is_pair:
        return _side("", question.sides[0], texts[0], [False] * len(texts[0]), columns)
    is_beside = columns >= NARROW
    room = (columns - len(_GAP)) // 2 if is_beside else columns
    sides = zip(("newer", "older"), question.sides, texts, differing(*texts), strict=True)
    left, right = (_side(name, one, text, mask, room) for name, one, text, mask in sides)
    return _beside(left, right, room) if is_beside else [*left, [], *right]


def told(question: Question) -> str:
    """Write a question as a block for a pipe: what is asked, each memory in a line, and what may be answered."""
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
        "held": "may this be a memory again",
        "new": "is this worth keeping",
    }
    return f"{asks[question.kind]}? ({question.reason})"


def _side(name: str, one: EntryFile, text: str, mask: Sequence[bool], room: int) -> list[Line]:
    """Write a memory as lines of at most so many columns."""
    entry = one.entry
    lines = [_pieces(line) for part in _lines(text, mask) for line in _wrapped(part, room)]
    if len(lines) > MOST:
        more = len(lines) - MOST + 1
        lines = [*lines[: MOST - 1], [(f"… {more:,} more lines: mem read {entry.id}", "")]]
    head = " · ".join(part for part in (name, entry.created_at[:10], entry.source, *_about(one)) if part)
    return [*_plain(head, room), [], *lines, [], *_plain(entry.id, room)]


def _head(one: EntryFile) -> str:
    entry = one.entry
    return " · ".join((entry.id, entry.created_at[:10], entry.source, *_about(one)))


def _about(one: EntryFile) -> list[str]:
    entry = one.entry
    named = (("key", entry.key), ("project", entry.project))
    return [entry.type, *(f"{name} {value}" for name, value in named if value), *(["pinned"] if entry.pinned else [])]


def _beside(left: Sequence[Line], right: Sequence[Line], room: int) -> list[Line]:
    count = max(len(left), len(right))
    rows = zip([*left, *[[]] * (count - len(left))], [*right, *[[]] * (count - len(right))], strict=True)
    found = []
    for one, other in rows:
        width = sum(output.width(text) for text, _ in one)
        found.append([*one, (" " * (room - width) + (_GAP if other else _GAP.rstrip()), ""), *other])
    return found


def _plain(text: str, room: int) -> list[Line]:
    text = output.visible(text)
    return [_pieces(line) for line in _wrapped([(letter, False) for letter in text], room)]


def _lines(text: str, mask: Sequence[bool]) -> Iterator[Marked]:
    """Yield the lines of a text, each letter with its mark."""
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        yield list(zip(line, mask[start:end], strict=True))
        start = end + 1


def _pieces(line: Marked) -> Line:
    """Put letters of one mark together."""
    runs = groupby(line, key=lambda letter: letter[1])
    return [("".join(letter for letter, _ in run), DIFFERS if is_marked else "") for is_marked, run in runs]


def _wrapped(line: Marked, room: int) -> list[Marked]:
    """Break a line at words, and a word that is too long where it must be, by the columns that letters take."""
    lines: list[Marked] = [[]]
    used = 0
    for word in _words(line):
        size = sum(output.width(letter) for letter, _ in word)
        if used + size <= room:
            lines[-1] += word
            used += size
            continue
        if lines[-1]:
            lines.append([])
            used = 0
        for letter in word[1:] if word[0][0] == " " else word:
            size = output.width(letter[0])
            if used + size > room:
                lines.append([])
                used = 0
            lines[-1].append(letter)
            used += size
    return lines


def _words(line: Marked) -> Iterator[Marked]:
    """Part a line before each space, so that a word has the space that leads to it."""
    word: Marked = []
    for letter in line:
        if letter[0] == " " and word:
            yield word
            word = []
        word.append(letter)
    if word:
        yield word


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
