"""Which words of two texts the other one does not have in the same place."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

LONGEST = 4000
"""Characters of a text that is compared word by word."""
SHARED = 1 / 3
"""Share of the words of the shorter text from which telling the others apart helps a reader."""
_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u4e00-\u9fff]+(?:[.:,/'’@+-]+\w+)*")


def differing(one: str, other: str) -> tuple[list[bool], list[bool]]:
    """Tell of each character of two texts whether it belongs to words that differ; case and punctuation do not count.

    Nothing is told apart in long texts, nor in texts that have little in common.
    """
    masks = [False] * len(one), [False] * len(other)
    if max(len(one), len(other)) > LONGEST:
        return masks
    words = [list(_WORD.finditer(text)) for text in (one, other)]
    ours, theirs = ([word[0].casefold() for word in found] for found in words)
    steps = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    shared = sum(end - start for kind, start, end, _, _ in steps if kind == "equal")
    if shared < SHARED * min(len(ours), len(theirs)) or not shared:
        return masks
    for kind, *places in steps:
        if kind != "equal":
            _mark(masks[0], words[0][places[0] : places[1]])
            _mark(masks[1], words[1][places[2] : places[3]])
    return masks


def _mark(mask: list[bool], words: Sequence[re.Match[str]]) -> None:
    """Mark words that follow each other, with what is between them."""
    if words:
        start, end = words[0].start(), words[-1].end()
        mask[start:end] = [True] * (end - start)
