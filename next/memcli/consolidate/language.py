"""How people speak: patterns of `data/statements.toml`, and sentences as memories show them."""

import re

from ..data import pattern, words

WORD = re.compile(r"[^\W_]+")
STEM = 5


def find(name: str, text: str) -> re.Match[str] | None:
    """Return where a text fits a pattern of the table."""
    return pattern("statements.toml", name).search(text)


def match_start(name: str, text: str) -> re.Match[str] | None:
    """Return how the start of a text fits a pattern of the table."""
    return pattern("statements.toml", name).match(text)


def split_opening(sentence: str) -> tuple[str, str]:
    """Split off the words at the start that add nothing."""
    opening = match_start("opening", sentence)
    end = opening.end() if opening else 0
    return sentence[:end], sentence[end:]


def tidy(text: str) -> str:
    """Return a sentence without empty words around it, with a capital and a full stop."""
    _, text = split_opening(" ".join(text.split()))
    text = pattern("statements.toml", "closing").sub("", text).strip(" ,;:–—-")
    first = text.partition(" ")[0]
    # A name such as `invoice_line` or iPhone keeps its spelling.
    if first.islower() and first.replace("'", "").isalpha():
        text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?…。！？" else f"{text}."


def find_content(text: str) -> set[str]:
    """Return the stems of the words that carry a subject, and the numbers."""
    empty = words("statements.toml", "empty_words")
    return {
        word[:STEM]
        for word in WORD.findall(text.casefold())
        if has_number(word) or (len(word) > 3 and word not in empty)
    }


def has_number(text: str) -> bool:
    return any(character.isdigit() for character in text)
