"""Make the table of common words: `python -m bench training.common_words [--write]`; `pip install wordfreq` first.

From how often a word is used (wordfreq, Speer 2022) follows the share of short texts that hold it: a text of
`LENGTH` words holds one of frequency f with probability 1 − (1 − f)^LENGTH. Writes
`memcli/data/common_words.toml`. Deterministic.
"""

import argparse
import unicodedata
from collections import defaultdict
from textwrap import fill

from memcli.data import path
from memcli.language.lexicon import COMMON_WORDS

LENGTH = 30
"""Words of a short text: a note, a turn of a conversation."""
CLASSES = (0.12, 0.05, 0.03, 0.02, 0.01, 0.006, 0.003)
"""The least share of the words of a class; what is rarer weighs as any other word, almost."""
LANGUAGES = "cs da de el en es fi fr hu id it nl pl pt ro ru sv tr uk".split()  # noqa: SIM905
MOST = 5000
"""Words of a language that are looked at."""
HEAD = """\
# Words of everyday texts, by language and by the least share of texts of thirty words that hold them; without accents.
# The first class are a language's stop words; those of English are in english.toml.
# Made by bench/training/common_words.py from the frequencies of wordfreq 3.1.1 (Robyn Speer 2022,
# https://doi.org/10.5281/zenodo.7199437), whose data are CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/),
# and so is this file. They come from Wikipedia, ParaCrawl, the Leeds Internet Corpus, OPUS OpenSubtitles 2018
# (https://www.opensubtitles.org/), Google Books Ngrams (https://books.google.com/ngrams), Twitter, Reddit, news and the
# SUBTLEX lists of Marc Brysbaert et al., which are freely available
# (https://www.ugent.be/pp/experimentele-psychologie/en/research/documents/subtitle-frequencies).
"""


def shares(language: str) -> dict[str, float]:
    """Return the common words of a language, without accents, with the share of texts that hold them."""
    from wordfreq import top_n_list, word_frequency  # type: ignore[import-not-found]

    frequencies: dict[str, float] = defaultdict(float)
    for word in top_n_list(language, MOST):
        plain = without_accents(word)
        if plain.isalpha():
            frequencies[plain] += word_frequency(word, language)
    return {word: share(frequency) for word, frequency in frequencies.items()}


def share(frequency: float) -> float:
    """Return the share of texts of `LENGTH` words that hold a word."""
    return 1 - (1 - frequency) ** LENGTH


def without_accents(word: str) -> str:
    """Return a word as the search compares it."""
    apart = unicodedata.normalize("NFKD", word)
    return unicodedata.normalize("NFC", "".join(char for char in apart if not "\u0300" <= char <= "\u036f"))


def page() -> str:
    """Return the data file."""
    parts = [HEAD]
    for language in LANGUAGES:
        found = shares(language)
        parts.append(f"[{language}]")
        for place, least in enumerate(CLASSES):
            most = CLASSES[place - 1] if place else 1.0
            words = " ".join(sorted(word for word, one in found.items() if least <= one < most))
            parts.append(f'"{least:g}" = """\n{fill(words, 118, break_on_hyphens=False)}"""')
    return "\n".join(parts) + "\n"


def main() -> None:
    """Print the file or write it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--write", action="store_true", help="write the data file")
    if options.parse_args().write:
        path(COMMON_WORDS).write_text(page(), encoding="utf-8")
    else:
        print(page())


if __name__ == "__main__":
    main()
