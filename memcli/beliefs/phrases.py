"""Sentences as comparable words, and the phrases that tell of a change, read from `data/change_phrases.toml`."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
"""Folder of the data files of the package."""
Words = tuple[str, ...]

_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；])\s+|\n+")
CLAUSE_END = re.compile(r"[,;:–—]\s|\s[-–—]\s|[，；：]")
_TOKEN = re.compile(r"[^\s,]+|,")
_FORMS = {"is": "be", "are": "be", "am": "be", "being": "be", "be": "be", "has": "have", "have": "have"}
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""))


@dataclass(frozen=True)
class Phrases:
    """The lists of the data file; phrases as words, single words as sets."""

    contractions: tuple[str, ...]
    abbreviations: tuple[str, ...]
    preambles: tuple[str, ...]
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
    past: frozenset[str]
    boundaries: frozenset[str]
    hedges: frozenset[str]
    doubts: frozenset[str]
    conditions: frozenset[str]
    reasons: frozenset[str]
    partly: frozenset[str]
    speakers: frozenset[str]
    others: frozenset[str]
    negations: frozenset[str]
    many: frozenset[str]
    light: frozenset[str]


@lru_cache(maxsize=1)
def phrases() -> Phrases:
    """Load the lists; words are reduced as those of a sentence are."""
    data = tomllib.loads((DATA / "change_phrases.toml").read_text(encoding="utf-8"))

    def several(found: list[str]) -> tuple[Words, ...]:
        return tuple(tuple(map(_reduced, phrase.replace(",", " , ").split())) for phrase in found)

    def single(found: list[str]) -> frozenset[str]:
        return frozenset(map(_reduced, found))

    read: dict[Any, Callable[[list[str]], Any]] = {tuple[str, ...]: tuple, tuple[Words, ...]: several}
    return Phrases(**{one.name: read.get(one.type, single)(data[one.name]) for one in fields(Phrases)})


def sentences(text: str) -> list[str]:
    """Cut a text at the ends of sentences and lines; "Dr." ends none."""
    found: list[str] = []
    for one in filter(str.strip, _SENTENCE_END.split(text.strip())):
        goes_on = found and found[-1].lower().endswith(phrases().abbreviations)
        found[-1:] = [f"{found[-1]} {one}"] if goes_on else [*found[-1:], one]
    return found


def after_opening(text: str, *openings: str) -> str:
    """Give what follows the first of some openings that a text begins with; empty where it begins with none."""
    start = text.lstrip("*_ ")
    found = next((opening for opening in openings if start.lower().startswith(opening)), "")
    return start[len(found) :].strip("*_ ,:") if found else ""


def without_preamble(text: str) -> str:
    """Give a text without what only asks to remember it: "Please note that"."""
    while rest := after_opening(text, *phrases().preambles):
        text = rest
    return text


def words(sentence: str) -> Words:
    """Give the words of a sentence without their endings, commas included, signs that belong to a word kept."""
    tokens = _TOKEN.findall(CLAUSE_END.sub(" , ", in_full(sentence)))
    bare = (token.rstrip(".!?:;)\"”’'…。！？").lstrip("(\"“‘'") for token in tokens)
    return tuple(_reduced(word) for word in bare if word)


def in_full(text: str) -> str:
    """Give a text in lower case with its short forms in full: "doesn't" is "does not"."""
    text = text.lower().replace("’", "'")
    for short, _, full in (one.partition("=") for one in phrases().contractions):
        text = re.sub(rf"{short}\b", full, text) if short in text else text
    return text


def core(found: Words) -> Words:
    """Leave out commas and words that never make a statement another one."""
    light = phrases().light
    return tuple(word for word in found if word != "," and word not in light)


@lru_cache(maxsize=4096)
def _reduced(word: str) -> str:
    """Take an English ending off: uses, using and use are one; what is no plain word stays as it is."""
    if word in _FORMS:
        return _FORMS[word]
    if not word.isalpha() or len(word) < 3 or word.endswith(("ss", "eed")):
        return word
    for ending, base in _ENDINGS:
        stem = word.removesuffix(ending) + base
        if word.endswith(ending) and len(stem) > 1:
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "sl" else stem
    return word
