"""Find passages that repeat a forgotten memory.

A passage repeats a memory if it contains the memory's words in their order. Case, punctuation and
line breaks do not matter. A memory of fewer than four words is repeated only by a whole line.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..formats.text import WORD, find_words, normalize
from ..store.machine import Machine

SHORT = 4
HIDDEN_MARK = "[forgotten]"
SENTENCE_START = re.compile(r"(?:\A|[\n.!?:|>])[^\w\n]*\Z")


class Repeat(NamedTuple):
    """A passage that repeats a forgotten memory."""

    start: int
    end: int
    id: str  # of the memory; empty if it was purged


class ForgottenTexts:
    """The texts that a workspace must not show: forgotten here, or purged on this machine."""

    def __init__(
        self, texts: Mapping[str, str], machine: Machine, purged_ids: frozenset[str] = frozenset()
    ) -> None:
        self.machine = machine
        self.purged_ids = purged_ids
        self.by_first_word: dict[str, list[tuple[list[str], str]]] = {}
        for entry_id, text in texts.items():
            words = [word for _, _, word in find_words(normalize(text))]
            if words:
                self.by_first_word.setdefault(words[0], []).append((words, entry_id))
        # Each line is a number of words and the keyed digest of these words.
        self.purged = [
            (int(count), digest)
            for count, _, digest in (line.partition(":") for line in machine.read_purged_digests())
            if count.isdecimal()
        ]

    def __bool__(self) -> bool:
        return bool(self.by_first_word or self.purged)

    def find_repeats(self, text: str) -> list[Repeat]:
        """Return the passages of a text in NFC that repeat a forgotten memory."""
        if not self:
            return []
        found = find_words(text)
        places = [(start, end) for start, end, _ in found]
        words = [word for _, _, word in found]
        repeats: list[Repeat] = []
        for number, word in enumerate(words):
            for forgotten, entry_id in self.by_first_word.get(word, ()):
                last = number + len(forgotten)
                if words[number:last] != forgotten:
                    continue
                start, end = places[number][0], places[last - 1][1]
                if len(forgotten) >= SHORT or is_whole_line(text, start, end):
                    repeats.append(Repeat(start, end, entry_id))
        return sorted([*repeats, *self.find_purged(text, words, places)])

    def find_purged(
        self, text: str, words: list[str], places: list[tuple[int, int]]
    ) -> Iterable[Repeat]:
        """Yield the passages whose digest is that of a purged text, from the start of a sentence on."""
        if not self.purged:
            return
        for number, (start, _) in enumerate(places):
            if not SENTENCE_START.search(text, max(0, start - 8), start):
                continue
            for count, digest in self.purged:
                passage = words[number : number + count]
                if len(passage) == count and self.machine.make_digest(passage) == digest:
                    end = places[number + count - 1][1]
                    if count >= SHORT or is_whole_line(text, start, end):
                        yield Repeat(start, end, "")

    def hide(self, text: str) -> tuple[str, int]:
        """Return a text with `[forgotten]` for each repeated passage, and their number."""
        normal = normalize(text)
        repeats = self.find_repeats(normal)
        if not repeats:
            return text, 0
        pieces = []
        position = 0
        for start, end, _ in repeats:
            if start >= position:
                lines = normal.count("\n", start, end)  # line numbers stay as they are in the file
                pieces += [normal[position:start], HIDDEN_MARK, "\n" * lines]
            position = max(position, end)
        return "".join([*pieces, normal[position:]]), len(repeats)


def is_whole_line(text: str, start: int, end: int) -> bool:
    """Return whether a passage is a line of its own, list marks and punctuation aside."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    around = text[line_start:start] + text[end : line_end if line_end >= 0 else len(text)]
    return not WORD.search(
        re.sub(r"\[\d\d:\d\d\]|\b(?:user|assistant):|^- |\d+\.", "", around, flags=re.I)
    )
