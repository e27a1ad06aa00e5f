"""Choose which memories go into a pack: each section by its share, all within the budget.

A soft budget, past which nothing is begun, and a hard one, which nothing passes; both in characters here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..dataclass import dataclass
from .pack import (
    CHARACTERS_A_TOKEN,
    DAYS,
    DOCUMENTS,
    FRAME,
    HEADINGS,
    LONG_TERM,
    NAMES,
    NOTES,
    RECENT,
    RELEVANT,
    SECTIONS,
    Memory,
    piece,
)

_SECOND = (RELEVANT, LONG_TERM, NOTES, DOCUMENTS, RECENT)
"""Sections in the order in which they get what the others did not need."""
_BLOCK = re.compile(r"\n(?=[ \t]*\n)|\n(?=(?:[-*+]|\d+[.)])[ \t])")
_SENTENCE = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？])")
_LEAST = 40
"""Characters of a page's part below which it is not worth cutting."""
_GROUP = 60  # the delimiters of a page


@dataclass(frozen=True)
class CharacterBudget:
    """Characters a pack may have."""

    soft: int
    hard: int


def tokens(text: str) -> int:
    """Return an estimate of the tokens of a text: its characters by `CHARACTERS_A_TOKEN`, rounded up."""
    return -int(-len(text) // CHARACTERS_A_TOKEN)


def limited(memories: Iterable[Memory], limits: Mapping[str, int]) -> tuple[list[Memory], list[Memory]]:
    """Return as many memories of each layer as it may have, and those over the limit, both in their order."""
    taken: list[Memory] = []
    excess: list[Memory] = []
    count = dict.fromkeys(limits, 0)
    for memory in memories:
        key = memory.layer or memory.section
        fits = count.get(key, 0) < limits.get(key, 0)
        count[key] = count.get(key, 0) + fits
        (taken if fits else excess).append(memory)
    return taken, excess


def fitted(
    by_section: Mapping[str, Sequence[Memory]], shares: Mapping[str, float], within: CharacterBudget
) -> tuple[list[Memory], list[Memory]]:
    """Return the memories that fit, chosen section by section, and those that do not, both in the order shown."""
    room = within.soft - FRAME
    most = within.hard - FRAME - min(NAMES, (within.hard - FRAME) // 4) - 40
    if room <= 0 or most <= 0:
        return [], [memory for section in SECTIONS for memory in by_section.get(section, ())]
    chosen: dict[str, Memory] = {}
    total = 0
    opened: set[tuple[str, str]] = set()
    closed: dict[tuple[str, str], str] = {}  # what of a day's file found no room: older parts would leave a gap

    def take(memory: Memory, until: float) -> None:
        nonlocal total
        file = (memory.section, memory.path)
        if memory.section in DAYS and closed.get(file, _key(memory)) != _key(memory):
            return
        group = (memory.section, memory.layer or memory.date or memory.path)
        cost = _cost(memory) + (_GROUP + len(HEADINGS[memory.section])) * (group not in opened)
        if total >= until or total + cost > most or (memory.section in (LONG_TERM, DOCUMENTS) and total + cost > until):
            if total < until:
                closed[file] = _key(memory)
            left = int(min(until, most) - total - (cost - len(memory.text)))
            cut = _cut(memory, left) if memory.section == LONG_TERM else _end_of(memory, left)
            if cut is None:
                return
            memory, cost = cut, cost - len(memory.text) + len(cut.text)
        opened.add(group)
        chosen[_key(memory)] = memory
        total += cost

    for section in SECTIONS:
        before = total
        for memory in by_section.get(section, ()):
            take(memory, min(before + shares.get(section, 0.0) * room, room))
    for section in _SECOND:
        for memory in by_section.get(section, ()):
            shortened = chosen.get(_key(memory))
            if shortened is None:
                take(memory, room)
            elif not shortened.is_whole and memory.is_whole:  # cut to its share, and now there is room
                del chosen[_key(memory)]
                total -= _cost(shortened)
                take(memory, room)
                if _key(memory) not in chosen:
                    chosen[_key(memory)] = shortened
                    total += _cost(shortened)
    every = [memory for section in SECTIONS for memory in by_section.get(section, ())]
    taken = [chosen[_key(memory)] for memory in every if _key(memory) in chosen]
    return taken, [memory for memory in every if _key(memory) not in chosen]


def without_last(memories: Iterable[Memory]) -> list[Memory]:
    """Return the memories without the one that would be missed least."""
    listed = list(memories)
    for section in reversed(_SECOND):
        inside = [memory for memory in listed if memory.section == section]
        if inside:
            last = _oldest(inside) if section in DAYS else min(reversed(inside), key=lambda memory: memory.score)
            return [memory for memory in listed if memory is not last]
    return listed


def _oldest(inside: Sequence[Memory]) -> Memory:
    """Return the first note or record of the day that is shown last."""
    return next(memory for memory in inside if memory.date == inside[-1].date)


def _end_of(memory: Memory, room: int) -> Memory | None:
    """Cut the beginning off the latest text of a day, where it alone is too long."""
    if memory.section not in DAYS or room < _LEAST:
        return None
    for border in (_BLOCK, _SENTENCE):
        text = next(
            (
                tail
                for match in border.finditer(memory.text)
                if len(tail := memory.text[match.end() :].strip()) < room - 2
            ),
            "",
        )
        if text:
            return replace(memory, text=f"… {text}", is_whole=False)
    return None


def _cut(memory: Memory, room: int) -> Memory | None:
    """Cut a part of a page after its last paragraph or item of a list that fits, or else after a sentence."""
    if room < _LEAST:
        return None
    for border in (_BLOCK, _SENTENCE):
        ends = [match.start() for match in border.finditer(memory.text, 0, room + 1)]
        text = memory.text[: ends[-1]].rstrip() if ends else ""
        if any(line.strip() and not line.startswith("#") for line in text.splitlines()):  # a heading alone says nothing
            return replace(memory, text=text, is_whole=False)
    return None


def _cost(memory: Memory) -> int:
    return len(piece(memory)) + 1 if memory.section == RELEVANT or memory.kind == "history" else len(memory.text) + 2


def _key(memory: Memory) -> str:
    return f"{memory.section} {memory.scope} {memory.id}"
