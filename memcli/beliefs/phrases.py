"""Sentences as comparable words, and the phrases that tell of a change, read from `data/change_phrases.toml`."""

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
"""Folder of the data files of the package."""
Words = tuple[str, ...]
KNOWN = 2048
"""Texts whose words are remembered: each is compared with several others, and those with it."""

_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；])\s+|\n+")
CLAUSE_END = re.compile(r"[,;:–—]\s|\s[-–—]\s|[，；：]")
_TOKEN = re.compile(r"[^\s,]+|,")
_FORMS = {"is": "be", "are": "be", "am": "be", "being": "be", "be": "be", "has": "have", "have": "have"}
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""))


@lru_cache(maxsize=1)
def _data() -> dict[str, list[str]]:
    return tomllib.loads((DATA / "change_phrases.toml").read_text(encoding="utf-8"))


@cache
def starts(name: str) -> tuple[str, ...]:
    """Give a list of the data file as it stands there; KeyError where it has none of that name."""
    return tuple(_data()[name])


@cache
def several(name: str) -> tuple[Words, ...]:
    """Give a list of phrases, their words reduced as those of a sentence are."""
    return tuple(tuple(map(_reduced, phrase.replace(",", " , ").split())) for phrase in _data()[name])


@cache
def single(name: str) -> frozenset[str]:
    """Give a list of single words, reduced as those of a sentence are."""
    return frozenset(map(_reduced, _data()[name]))


@lru_cache(maxsize=KNOWN)
def sentences(text: str) -> tuple[str, ...]:
    """Cut a text at the ends of sentences and lines; "Dr." ends none."""
    found: list[str] = []
    for one in filter(str.strip, _SENTENCE_END.split(text.strip())):
        goes_on = found and found[-1].lower().endswith(starts("abbreviations"))
        found[-1:] = [f"{found[-1]} {one}"] if goes_on else [*found[-1:], one]
    return tuple(found)


def after_opening(text: str, *openings: str) -> str:
    """Give what follows the first of some openings that a text begins with; empty where it begins with none."""
    start = text.lstrip("*_ ")
    lower = start.lower()
    if not lower.startswith(openings):
        return ""
    found = next(opening for opening in openings if lower.startswith(opening))
    return start[len(found) :].strip("*_ ,:")


@lru_cache(maxsize=KNOWN)
def without_preamble(text: str) -> str:
    """Give a text without what only asks to remember it: "Please note that"."""
    while rest := after_opening(text, *starts("preambles")):
        text = rest
    return text


@lru_cache(maxsize=KNOWN)
def words(sentence: str) -> Words:
    """Give the words of a sentence without their endings, commas included, signs that belong to a word kept."""
    tokens = _TOKEN.findall(CLAUSE_END.sub(" , ", in_full(sentence)))
    bare = (token.rstrip(".!?:;)\"”’'…。！？").lstrip("(\"“‘'") for token in tokens)
    return tuple(_reduced(word) for word in bare if word)


@lru_cache(maxsize=KNOWN)
def in_full(text: str) -> str:
    """Give a text in lower case with its short forms in full: "doesn't" is "does not"."""
    text = text.lower().replace("’", "'")
    for short, _, full in (one.partition("=") for one in starts("contractions")):
        text = re.sub(rf"{short}\b", full, text) if short in text else text
    return text


def core(found: Words) -> Words:
    """Leave out commas and words that never make a statement another one."""
    light = single("light")
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
