"""Turn text into words for the keyword index, and a question into a keyword query.

This module decides what the full-text table stores besides the text itself, which words of a question are searched
for, and the syntax of a match expression. The table's own tokenizer does stemming, case and accents.
"""

import re
import unicodedata
from collections import Counter
from functools import cache

from .lexicon import NOUNS_IN_CAPITALS, language_of, stop_words

MAX_TERMS = 64
_MAX_WORD = 128
_READ = 4000  # characters by which the language of a text is told

# Scripts that put no space between words, or glue particles to them (Korean), so that a bigram finds more.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_ACCENT = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r'"([^"\n]{2,200})"|“([^”\n]{2,200})”|«([^»\n]{2,200})»|「([^」\n]{2,200})」|`([^`\n]{2,200})`')
_CHUNK = re.compile(r"[^\s\"“”«»「」`()\[\]{}<>,;!?，。、；！？]+")
_LINE_NUMBER = re.compile(r"(?<=[A-Za-z])(?::[0-9]+){1,2}$")
_JOINED = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+|[0-9]{1,3}(?:,[0-9]{3})+|[A-Za-z0-9]+")
# `camelCase`, `E10`, `3rd`, `XMLHttp`. Looking for the rarer character and then around it takes a ninth of the time.
_TURN = r"(?<=[a-z][A-Z])|(?<=[A-Za-z][0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=[A-Z]{2})(?=[a-z])"
_INNER = re.compile(rf"[A-Z0-9](?:{_TURN})")
_HIDDEN = re.compile(rf"[A-Z0-9_,-](?:{_TURN}|(?<=[A-Za-z0-9][_-])(?=[A-Za-z0-9])|(?<=[0-9],)(?=[0-9]{{3}}))")
_WITHIN = re.compile(r"(?<=[^.?!:\n*•>-] )[^\W\d_]{2,}")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def clean(text: str) -> str:
    """Return the text in compatibility form, without what SQLite cannot bind (lone surrogates, NUL)."""
    if text.isascii():
        return text.replace("\x00", " ")
    text = text.replace("\x00", " ").replace("\xad", "").encode("utf-8", "ignore").decode()
    return unicodedata.normalize("NFKC", text)


def index_text(text: str) -> str:
    """Return what to store in a full-text column so that any word, part or substring finds it.

    Runs of unspaced scripts become overlapping bigrams and, at the end of the run, its last character, so
    that a prefix query for one character finds it wherever it stands. After the text follow words the
    tokenizer would not make: the parts of `camelCase` and `E1042`, and `e-mail`, `snake_case`, `2,100` in
    one piece.
    """
    text = fold(text)
    if not text.isascii():
        text = _runs().sub(lambda run: f" {_bigrams(run[0], closed=True)} ", text)
    extra = _hidden_words(text)
    return f"{text}\n{' '.join(extra)}" if extra else text


def query_terms(query: str, limit: int = MAX_TERMS, language: str = "") -> tuple[str, ...]:
    """Return the words of a question worth asking the keyword index, each once, in the order they came.

    Stop words of the language, by default the query's own, are dropped unless nothing else is left; those that are
    names by their capitals (May, US) stay. Of more than `limit` words the most frequent, then longest, are returned.
    """
    query = fold(query)
    plain = _words(query)
    language = language or (language_of(plain) if len(query) <= _READ else spoken(query))
    words = [(word, word.lower()) for word in _query_words(query, plain) if len(word) <= _MAX_WORD]
    stop = stop_words(language)
    # A sentence begins with a capital, and few have another: what tells a name is looked for where one may be.
    has_name = any(
        low != word and low in stop and (number or word.isupper()) for number, (word, low) in enumerate(words)
    )
    names = _names_like_stop_words(query, plain, language) if has_name else ()
    remaining = [low for word, low in words if low not in stop or word in names]
    counts = Counter(remaining or [low for _, low in words])
    if len(counts) <= limit:
        return tuple(counts)
    best = set(sorted(counts, key=lambda word: (-counts[word], -len(word)))[:limit])
    return tuple(word for word in counts if word in best)


def phrases(query: str) -> tuple[str, ...]:
    """Return what a text should hold exactly: quoted phrases, identifiers, paths, addresses and numbers."""
    query = clean(query)
    exact: dict[str, None] = {}
    for match in _QUOTED.finditer(query):
        exact[next(filter(None, match.groups())).strip()] = None
    for match in _CHUNK.finditer(query):
        chunk = _LINE_NUMBER.sub("", match[0].strip(".:'’*_-~/\\|=+&$€£#@"))
        if 1 < len(chunk) <= _MAX_WORD and _is_exact(chunk):
            exact[chunk] = None
        if len(exact) >= MAX_TERMS:
            break
    return tuple(phrase for phrase in exact if _WORD.search(phrase))


def latin_share(text: str) -> float:
    """Return the share of a text's letters that are Latin, from 0 to 1; 1 where there are no letters.

    The vector of a model that reads no other script should count as far as that. The first 4,000 characters decide.
    """
    if text.isascii() or max(text) < "\u0250":
        return 1.0
    letters = [char for char in text[:4000] if char.isalpha()]
    latin = sum(char < "\u0250" or "\u1e00" <= char <= "\u1eff" or "\uff21" <= char <= "\uff5a" for char in letters)
    return latin / len(letters) if letters else 1.0


def spoken(text: str) -> str:
    """Return the language of a text by its stop words, "en" where no other shows; the first 4,000 characters decide."""
    return language_of(_words(fold(text[:_READ])))


def names_in(text: str, language: str) -> frozenset[str]:
    """Return the words with a capital within a sentence, in lower case without accents; none where nouns have it too.

    The first 4,000 characters are read.
    """
    return frozenset() if language in NOUNS_IN_CAPITALS else frozenset(map(str.lower, _capitals(fold(text[:4000]))))


def fold(text: str) -> str:
    """Return the clean text without accents; the tokenizer folds them in Latin only, not in Greek."""
    text = clean(text)
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", text)))


@cache
def _runs() -> re.Pattern[str]:
    """Return the pattern of unspaced scripts, compiled late: it takes a millisecond, and most text is ASCII."""
    return re.compile(f"[{_UNSPACED}]+")


def _bigrams(run: str, *, closed: bool) -> str:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return " ".join([*pairs, run[-1]] if closed or not pairs else pairs)


def _words(text: str) -> list[str]:
    if text.isascii() or not any(char > "\u02ff" and unicodedata.category(char)[0] == "M" for char in set(text)):
        return _WORD.findall(text)
    return "".join(char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in text).split()


def _query_words(query: str, plain: list[str]) -> list[str]:
    """Return the words of a question and the parts of some; `plain` are those as they stand."""
    hidden = _hidden_words(query) if len(query) < _READ else []
    if query.isascii():
        return plain + hidden
    words: list[str] = []
    for word in plain:
        start = 0
        for run in [] if word.isascii() else _runs().finditer(word):
            words += filter(None, [word[start : run.start()]])
            words += _bigrams(run[0], closed=False).split()
            start = run.end()
        words += filter(None, [word[start:]])
    return words + hidden


def _capitals(text: str) -> list[str]:
    return [word for word in _WITHIN.findall(text) if word[0].isupper() and not word.isupper()]


def _names_like_stop_words(query: str, words: list[str], language: str) -> frozenset[str]:
    """Return the stop words that have capitals for being names; in a title or a shout all words have capitals."""
    stop = stop_words(language)
    named = [] if language in NOUNS_IN_CAPITALS else [word for word in _capitals(query) if word.lower() in stop]
    if sum(map(str.islower, words)) < len(named):
        named = []
    if query.upper() != query:
        named += [word for word in words if len(word) > 1 and word.isupper() and word not in ("AND", "OR", "NOT")]
    return frozenset(named)


def _hidden_words(text: str) -> list[str]:
    """Return, each once, the words inside or across tokens that the tokenizer does not make."""
    words: dict[str, None] = {}
    end = 0
    # Most words of ordinary prose hide none: a look at each would be a quarter of the time of indexing.
    while hidden := _HIDDEN.search(text, end):
        position = hidden.start()
        start = max(text.rfind(" ", end, position), text.rfind("\n", end, position), end - 1) + 1
        end = text.find(" ", position)
        if end < 0:
            end = len(text)
        for match in _JOINED.finditer(text, start, end):
            word = match[0]
            if "," in word:
                words[word.replace(",", "")] = None
                continue
            pieces = [word]
            if "_" in word or "-" in word:
                pieces = word.replace("-", "_").split("_")
                if len(pieces) <= 3 and any(map(str.isalpha, pieces)):
                    words["".join(pieces)] = None
            if _INNER.search(word):
                for piece in pieces:
                    if not (piece.islower() and piece.isalpha()) and len(piece) <= _MAX_WORD and _INNER.search(piece):
                        words.update(dict.fromkeys(part for part in _PARTS.findall(piece) if len(part) > 1))
    return list(words)


def _is_exact(chunk: str) -> bool:
    """Return whether a word is an identifier, a path, an address, a version or a number."""
    if any(char.isdigit() for char in chunk):
        return True
    if re.search(r"[\w][_/\\@.:][\w]", chunk):
        return True
    return re.search("[a-z][A-Z]", chunk) is not None
