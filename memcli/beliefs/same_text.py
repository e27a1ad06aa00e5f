"""Texts that are the same but for their form: white space, letter case, punctuation, short forms, notation."""

import re
from functools import lru_cache

from .change_phrases import KNOWN, Words, in_full

_STOPS = " .。"
_QUOTES = "\"“”‘’'`"
_BREAKS = ("–", "—", "…", "...", "!", "!!", "!!!")
_LAST = re.compile(r"(?<![\s!.…。！])[!.…。！]+(?=\s*$|\s+[^\W\d_a-zß-öø-ÿ])")


def are_twins(one: str, other: str) -> bool:
    """Tell whether two texts are the same but for white space, letter case and closing full stops.

    The case of a flag, a path, an identifier or a unit counts: `-v` is not `-V`, and 5 Mb are not 5 MB.
    """
    if plain(one) != plain(other):
        return False
    ours, theirs = (" ".join(text.split()).rstrip(_STOPS).split() for text in (one, other))
    return all(
        a == b or not _is_exact(a, ours[place - 1] if place else "")
        for place, (a, b) in enumerate(zip(ours, theirs, strict=False))
    )


def plain(text: str) -> str:
    """Give a text without what never makes it another one: case, white space, full stops at its end."""
    return " ".join(text.lower().split()).rstrip(_STOPS)


def without_article(text: str) -> str:
    """Give a text without the article it begins with: "The user prefers tabs" says what "User prefers tabs" does."""
    return text.strip()[4:] if text.strip()[:4].lower() == "the " else text


def are_in_other_form(one: str, other: str) -> bool:
    """Tell whether two texts are the same but for punctuation, short forms, and how times and amounts are written.

    A sign that belongs to a word counts, and a question is no statement.
    """
    ours, theirs = _tokens(one), _tokens(other)
    if _is_cased_otherwise(ours, theirs) or _is_cased_otherwise(theirs, ours):
        return False
    plain_ones = [in_full(" ".join(tokens)) for tokens in (ours, theirs)]
    if plain_ones[0] == plain_ones[1]:
        return True
    if not any(sign.isdigit() for sign in one + other):
        return False
    from .pair_words import with_one_notation

    first, second = (with_one_notation(text).split() for text in plain_ones)
    return first == second


@lru_cache(maxsize=KNOWN)
def _tokens(text: str) -> Words:
    """Give the words of a text without the punctuation around them."""
    return tuple(_bare(token) for token in _LAST.sub("", text).split() if token not in _BREAKS)


def _bare(token: str) -> str:
    if not any(map(str.isalnum, token)):
        return token
    stripped = token.rstrip(".,;:…)").lstrip("(" + _QUOTES)
    end = stripped.rstrip(_QUOTES)
    return stripped if end[-1:].isdigit() else end.rstrip(".,;:…)")  # 5" is a length


def _is_cased_otherwise(ours: Words, theirs: Words) -> bool:
    """Tell whether a word whose case counts stands in the other text in another case."""
    known = set(theirs)
    lower = {token.lower() for token in theirs}
    pairs = zip(ours, ("", *ours), strict=False)
    return any(word not in known and word.lower() in lower and _is_exact(word, before) for word, before in pairs)


def _is_exact(word: str, before: str) -> bool:
    inner = word.strip(".,;:!?()\"'")
    is_unit = len(inner) < 4 and before[-1:].isdigit() and inner.lower().replace(".", "") not in ("am", "pm")
    return is_unit or word.startswith("-") or any(sign.isdigit() or sign in "_/\\=$@" for sign in inner)
