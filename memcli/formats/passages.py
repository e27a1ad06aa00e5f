"""Find passages of a text that consist of the same words as another text.

Case, punctuation and line breaks do not matter. A text of fewer than four words is found only as a
line of its own, because "yes" is no passage.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from .text import WORD, find_words, normalize

SHORT = 4
LINE_PREFIX = re.compile(r"\[\d\d:\d\d\]|\b(?:user|assistant):|^- |\d+\.", re.IGNORECASE)


class Passage(NamedTuple):
    """A passage with the words of a wanted text."""

    start: int
    end: int
    id: str  # of the wanted text


class PassageFinder:
    """Finds passages with the words of the wanted texts, given by id."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.by_first_word: dict[str, list[tuple[list[str], str]]] = {}
        for text_id, text in texts.items():
            words = [word for _, _, word in find_words(normalize(text))]
            if words:
                self.by_first_word.setdefault(words[0], []).append((words, text_id))

    def find(self, text: str) -> list[Passage]:
        """Return the passages of a normalized text, in order."""
        places = find_words(text) if self.by_first_word else []
        words = [word for _, _, word in places]
        passages = []
        for number, word in enumerate(words):
            for wanted, text_id in self.by_first_word.get(word, ()):
                last = number + len(wanted)
                # The first word is only a quick test.
                if words[number:last] != wanted:
                    continue
                start, end = places[number][0], places[last - 1][1]
                if len(wanted) >= SHORT or is_whole_line(text, start, end):
                    passages.append(Passage(start, end, text_id))
        return sorted(passages)


def is_whole_line(text: str, start: int, end: int) -> bool:
    """Return whether a passage is a line of its own, except for list marks, times and speakers."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    around = text[line_start:start] + text[end : line_end if line_end >= 0 else len(text)]
    return not WORD.search(LINE_PREFIX.sub("", around))


def replace_passages(text: str, passages: list[Passage], mark: str) -> str:
    """Return a normalized text with a mark for each passage. Line numbers stay the same."""
    pieces = []
    position = 0
    for start, end, _ in passages:
        if start >= position:
            pieces += [text[position:start], mark, "\n" * text.count("\n", start, end)]
        position = max(position, end)
    return "".join([*pieces, text[position:]])
