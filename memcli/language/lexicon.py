"""Facts about languages: common words of twenty, by which a text's language is recognised, and of English more.

A workspace of a hundred texts does not show that "make" is common and "marigold" is not; these tables do. Of English
are known besides: irregular forms, words that begin a question or name a time, what a prompt wants done.
"""

import re
from collections.abc import Collection
from functools import cache

from .. import data

_FILE = "english.toml"
COMMON_WORDS = "common_words.toml"
ENGLISH = "en"
NOUNS_IN_CAPITALS = ("de",)
"""Languages in which a capital within a sentence tells no name."""
_STOP, _TELLING = 0.12, 0.05
"""Share of texts from which on a word of another language than English is a stop word, and tells the language."""
_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[^\W_]{2,}")
_CLAUSES = re.compile(r"[,;:–—.]\s+([^\W_]+)")


def stop_words(language: str = ENGLISH) -> frozenset[str]:
    """Return the stop words of a language, in lower case: they say nothing about the subject of a text."""
    return data.words(_FILE, "stop_words") if language == ENGLISH else _held_by(language, _STOP)


def acknowledgements() -> frozenset[str]:
    """Return the words, in lower case, by which an English turn says yes, thanks or go on."""
    return data.words(_FILE, "acknowledgements")


def language_of(words: Collection[str]) -> str:
    """Return the language that most of the stop words in a text are of; English where no other has more of them.

    Words are given without accents and count as they are written: with a capital they may be names.
    """
    unique = frozenset(words)
    best, most = ENGLISH, len(unique & stop_words())
    for language in data.table(COMMON_WORDS):
        count = len(unique & _held_by(language, _TELLING)) if language != ENGLISH else 0
        if count > most:
            best, most = language, count
    return best


@cache
def common_words(language: str = ENGLISH) -> dict[str, float]:
    """Return for each common word of a language the share of everyday texts that hold it, in rough classes."""
    classes = data.table(COMMON_WORDS)[language]
    return {word: float(share) for share, words in classes.items() for word in words.split()}


@cache
def _held_by(language: str, least: float) -> frozenset[str]:
    classes = data.table(COMMON_WORDS)[language]
    return frozenset(word for share, words in classes.items() if float(share) >= least for word in words.split())


def forms(word: str) -> tuple[str, ...]:
    """Return the word with its irregular forms (go, went, gone; repo, repository), which no stemmer brings together."""
    return _families().get(word, (word,))


def common_share(word: str, language: str = ENGLISH) -> float:
    """Return the share of everyday texts that hold a lower-case word; 0 for words not in the table."""
    return common_words(language).get(word, 0.0)


def names_a_time(text: str) -> bool:
    """Return whether a text may name a time, a quick check before `periods.period_in`."""
    return data.pattern(_FILE, "times").search(text) is not None


def speakers_asked_of(query: str) -> frozenset[str]:
    """Return whose words a query asks for where it says so by a pronoun: `user`, `assistant` or neither."""
    if data.pattern(_FILE, "of_assistant").search(query):
        return frozenset({"assistant"})
    return frozenset({"user"} if data.pattern(_FILE, "of_user").search(query) else ())


def without_task(prompt: str) -> str:
    """Return what a prompt is about, without what it wants done with it: "give me a summary of", "in three lines".

    What is left may have lost the form of a sentence; a sentence that only says what to do is left out.
    """
    openers, tails = data.pattern(_FILE, "task_openers"), data.pattern(_FILE, "task_tails")
    parts = []
    for sentence in _SENTENCES.split(prompt):
        part, before = sentence, ""
        while part != before:
            part, before = tails.sub(" ", openers.sub("", part, count=1)).strip(" ,;:-("), part
        if any(word.lower() not in stop_words() for word in _WORD.findall(part)):
            parts.append(part)
    return " ".join(parts) or prompt


def opens_a_question(word: str) -> bool:
    """Return whether a sentence that begins with the word is a question."""
    return word.lower() in data.words(_FILE, "openers")


def asks_within(text: str) -> bool:
    """Return whether a question begins within a sentence: "the boiler on Monday, what did he find"."""
    return any(map(opens_a_question, _CLAUSES.findall(text)))


@cache
def _families() -> dict[str, tuple[str, ...]]:
    table = data.table(_FILE)
    families = f"{table['families']};{table['clippings']}".split(";")
    return {form: tuple(family.split()) for family in families for form in family.split()}
