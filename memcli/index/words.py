"""Turn text into the words of the full-text table, and a query into the words to look up.

SQLite's tokenizer does stemming, case and accents. This module adds what it cannot: bigrams for
scripts without blanks, both spellings of umlauts, simplified for traditional characters, and the
parts of `camelCase`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

from .. import data
from ..formats import WORD, split_words

MOST_TERMS = 64
# Thai, Lao, Burmese, Khmer, Chinese, Japanese and Korean: no blanks between words, or particles
# glued to them. Compiled when it is first used, which takes 2 ms: English texts do not need it.
UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# getUserName, web2, snake_case, 2,100, e-mail
# Each alternative starts at a word. Otherwise a long word would be read from each of its letters.
HIDDEN = re.compile(
    r"\b(?=\w*(?:[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|_|\d,\d{3}))[\w,]+|\b\w+-\w+(?:-\w+)?"
)
# HTTPServer2 consists of HTTP, Server and 2.
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# The accents that SQLite removes leave these letters alone.
LETTERS = str.maketrans(
    {
        "ł": "l",
        "Ł": "L",
        "ø": "o",
        "Ø": "O",
        "đ": "d",
        "Đ": "D",
        "æ": "ae",
        "Æ": "Ae",
        "œ": "oe",
        "ß": "ss",
    }
)
UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Å": "Aa"}
)
UMLAUT = re.compile("[äöüåÄÖÜÅ]")


def build_index_text(text: str) -> str:
    """Return the text to store in a full-text column."""
    extra = list(dict.fromkeys(find_hidden_words(text)))
    if not text.isascii():
        text = fold_letters(text)
        extra += [word.translate(UMLAUTS) for word in WORD.findall(text) if UMLAUT.search(word)]
        # The last character again, so that a query of one character finds it at the end of a run.
        text = re.sub(
            UNSPACED, lambda run: f" {' '.join(build_bigrams(run[0]))} {run[0][-1]} ", text
        )
    return f"{text}\n{' '.join(extra)}" if extra else text


def fold_letters(text: str) -> str:
    """Return text in compatibility form, with simplified characters and without special letters."""
    # A soft hyphen, which web pages have inside of words, would cut them.
    text = unicodedata.normalize("NFKC", text.replace("\x00", " ").replace("\xad", ""))
    text = text.encode("utf-8", "ignore").decode()  # SQLite refuses lone surrogates
    return text.translate(LETTERS).translate(get_simplified_characters())


@cache
def get_simplified_characters() -> dict[int, str]:
    """Return traditional characters with their simplified forms."""
    pairs = data.path("simplified.txt").read_text("utf-8").split("\n")
    return {ord(line[0]): line[1] for line in pairs if len(line) == 2}


def build_bigrams(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return [run[number : number + 2] for number in range(len(run) - 1)]


def find_hidden_words(text: str) -> Iterable[str]:
    """Yield the words inside or across tokens: parts of camelCase, `e-mail` as email, 2,100."""
    for match in HIDDEN.finditer(text):
        word = match[0]
        if "," in word:
            yield word.replace(",", "")
            continue
        pieces = re.split("[_-]", word)
        if len(pieces) > 1 and not any(piece.isdigit() for piece in pieces):
            yield "".join(pieces)
        for piece in pieces:
            parts = PART.findall(piece)
            if len(parts) > 1:
                yield from (part for part in parts if len(part) > 1)


def split_query(query: str) -> dict[str, int]:
    """Return the words of a query with their counts.

    Stop words are left out, unless nothing else is left.
    """
    text = query if query.isascii() else fold_letters(query)
    words: list[str] = []
    for word in re.findall(r"[^\W_]+(?:['’][^\W_]+)?", mark_letters(text).lower()):
        # Ana's is a form of Ana, and the parts of don't say nothing alone.
        word = re.sub(r"['’]s?$|['’](?=\w)", "", word)
        runs = list(re.finditer(UNSPACED, word)) if not word.isascii() else []
        for run in runs:
            words += build_bigrams(run[0])
        words += re.sub(UNSPACED, " ", word).split() if runs else [word]
    words += [word.lower() for word in find_hidden_words(text)]
    useful = [word for word in words if word not in get_stop_words()] or words
    counts = Counter(useful)
    # A prompt may contain a whole log. Its repeated words say most about it.
    best = dict(counts.most_common(MOST_TERMS))
    return {word: count for word, count in counts.items() if word in best}


def mark_letters(text: str) -> str:
    """Return text in which marks (vowel signs, accents) do not separate words."""
    if text.isascii():
        return text
    return "".join(
        character
        if character.isalnum() or character in "'’" or unicodedata.category(character)[0] == "M"
        else " "
        for character in text
    )


def find_spellings(word: str) -> list[str]:
    """Return a query word and its spelling without umlauts: `köln` and `koeln`."""
    expanded = word.translate(UMLAUTS)
    return [word] if expanded == word else [word, expanded]


@cache
def get_stop_words() -> frozenset[str]:
    """Return English words that say nothing about the subject of a query."""
    return data.words("stop_words.toml", "stop_words")


@cache
def get_small_talk() -> frozenset[str]:
    """Return the words that say nothing in a conversation, such as `ok` and `again`."""
    return get_stop_words() | data.words("prompt_cues.toml", "acknowledgements")


def find_content_words(text: str) -> set[str]:
    """Return the words of a text that say something about its subject."""
    return set(split_words(text)) - get_stop_words()


def is_one_edit_apart(first: str, second: str) -> bool:
    """Return whether two words differ by one letter: added, removed, replaced or swapped."""
    if abs(len(first) - len(second)) > 1 or first == second:
        return False
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    first_rest, second_rest = first[start:], second[start:]
    if len(first) == len(second):
        is_swap = first_rest[:2] == second_rest[1::-1] and first_rest[2:] == second_rest[2:]
        return first_rest[1:] == second_rest[1:] or (len(first_rest) > 1 and is_swap)
    longer, shorter = sorted((first_rest, second_rest), key=len, reverse=True)
    return longer[1:] == shorter
