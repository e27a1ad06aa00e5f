"""Sentences as comparable words, and the phrases that tell of a change, read from `data/change_phrases.toml`."""

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
"""Folder of the data files of the package."""
Words = tuple[str, ...]

_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；])\s+|\n+")
_TOKEN = re.compile(r"[^\s,]+|,")
_SHORT_NOT = re.compile(r"n['’]t\b", re.IGNORECASE)
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""))


@dataclass(frozen=True)
class Phrases:
    """The lists of the data file; phrases as words, single words as sets."""

    corrections: tuple[str, ...]
    objections: tuple[str, ...]
    over: tuple[Words, ...]
    over_after: tuple[Words, ...]
    instead: tuple[Words, ...]
    moved: frozenset[str]
    renamed: frozenset[str]
    links: frozenset[str]
    names: frozenset[str]
    agents: frozenset[str]
    auxiliary: frozenset[str]
    boundaries: frozenset[str]
    hedges: frozenset[str]
    negations: frozenset[str]
    many: frozenset[str]
    light: frozenset[str]


@lru_cache(maxsize=1)
def phrases() -> Phrases:
    """Load the lists; words are reduced as those of a sentence are."""
    data = tomllib.loads((DATA / "change_phrases.toml").read_text(encoding="utf-8"))

    def several(name: str) -> tuple[Words, ...]:
        return tuple(tuple(map(_reduced, phrase.replace(",", " , ").split())) for phrase in data[name])

    def single(name: str) -> frozenset[str]:
        return frozenset(map(_reduced, data[name]))

    return Phrases(
        tuple(data["corrections"]),
        tuple(data["objections"]),
        several("over"),
        several("over_after"),
        several("instead"),
        *(single(name) for name in ("moved", "renamed", "links", "names", "agents", "auxiliary", "boundaries")),
        *(single(name) for name in ("hedges", "negations", "many", "light")),
    )


def sentences(text: str) -> list[str]:
    """Cut a text at the ends of sentences and lines."""
    return [one for one in _SENTENCE_END.split(text.strip()) if one.strip()]


def words(sentence: str) -> Words:
    """Give the words of a sentence without their endings, commas included, signs that belong to a word kept."""
    spelled = _SHORT_NOT.sub(" not", sentence.replace("can't", "can not").replace("won't", "will not"))
    found = []
    for token in _TOKEN.findall(spelled.lower().replace("cannot", "can not")):
        word = token if token == "," else token.rstrip(".!?:;)\"”’'…。！？").lstrip("(\"“‘'")
        if word:
            found.append(_reduced(word))
    return tuple(found)


def core(found: Words) -> Words:
    """Leave out commas and words that never make a statement another one."""
    light = phrases().light
    return tuple(word for word in found if word != "," and word not in light)


@lru_cache(maxsize=4096)
def _reduced(word: str) -> str:
    """Take an English ending off: uses, using and use are one; what is no plain word stays as it is."""
    if word in ("is", "are", "am", "being", "be"):
        return "be"
    if word in ("has", "have"):
        return "have"
    if not word.isalpha() or len(word) < 3 or word.endswith("ss"):
        return word
    for ending, base in _ENDINGS:
        stem = word.removesuffix(ending) + base
        if word.endswith(ending) and len(stem) > 1:
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "sl" else stem
    return word
