"""Judge which words of a line are a secret that somebody says: a password, a code, words that restore something.

Owns: the tokens of a line, what is known of each and of the words around it, and the learned probability. Names and
formats that programs write are read in `names` and `shapes`. The model is trained by `bench/training/secrets_said.py`;
`prose.md` beside it says on what and how well it does.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from math import exp
from pathlib import Path

from ..linear_model import Model, load
from .rules import compiled
from .token_shapes import EDGES, SIGN, TOKEN, Token, kind_of, plain, shape_of, tokens

Place = tuple[int, int, str]  # start, end, rule
Cue = tuple[str, str, str]  # where a word stands, the class of the token that is judged, the word

FILE = Path(__file__).with_name("prose.model")
SECRET, LINE = "secret", "line of a secret"
"""The outputs of the model."""

CERTAIN = 0.83
"""Probability from which a word counts as a secret."""
CERTAIN_NUMBER = 0.93
"""The same for a number of up to five digits, which is mostly a port, a ticket or a year."""
BESIDE = 0.5
"""Share of that from which a word beside a secret belongs to it."""
LINE_SUM = -2.0
"""Sum of a line from which its words are judged."""

_PART = r"[^\n]{120,240}?[\s。！？]|[^\n]{1,240}"  # of a long line
_LONG = 300
_LEAD_SUM = 3.0  # more than this the line before hardly adds
_LONGEST_WORD = 80
_MOST_WORDS = 100_000  # whose share in the sum of a line is remembered
_LONGEST_LISTED = 80  # characters of a line that only goes on with a list of codes
_NEAR = 6  # words to each side
LEAD = 10
"""Last words of the line before that are looked at."""
_QUOTES = frozenset('"`“”„«»‹›「」『』')
_QUOTED = 12  # words of a quotation
_CODE = re.compile(
    r"[;{}]\s*$|^\s*(?://|/\*|\*/|[+-]\s*[#/]|@@|def |import |from \S+ import|const |let |func |return )"
    r"|\w\(.*\)|\w\.\w+\("
)
_VERSION = r"[A-Za-z]{1,6}\d{1,3}[a-z]?(?:[.-]\w{1,3}){0,3}|[A-Z]\d{4}[a-z]?|[A-Z][a-z]+-\d{1,2}|[a-z]+\d[A-Z][a-z]+"
_IN_PASSWORDS = frozenset("!#$%^&*+=@~?_")
_SHORT_NUMBER = 5  # digits
_PIN = re.compile(r"\d{4,8}[#*]?")
_PUNCTUATION = "\"`'<>|=,;()[]{}:.!?*_"
_LETTERS = re.compile("[a-z]{2,}")
_LISTED = re.compile(r"[ \t]*(?:[-*][ \t])?(?:[\w-]*\d[\w-]*[ \t,;]{0,3}){1,3}\s*")


def cues(line: Sequence[Token], at: int, lead: Sequence[str], told: Sequence[str], segment: str) -> Iterator[Cue]:
    """Yield what stands around a token: words with their places, and facts of its line."""
    kind, text = line[at].kind, line[at].text
    for one in shape_of(text):
        yield "=", "", one
    for sign, step in (("-", -1), ("+", 1)):
        words, place = 0, at + step
        while 0 <= place < len(line) and words < _NEAR:
            token = line[place]
            gap = abs(place - at)
            if gap <= 2:
                yield f"{sign}{gap}k", kind, token.kind if token.kind != "." else token.text
            if gap == 1 and token.kind == kind:
                yield f"{sign}same", kind, str(min(3, abs(len(token.text) - len(text))))
            if token.kind != ".":
                words += 1
                word = plain(token.text)
                if words <= 3:
                    yield f"{sign}{words}", kind, word
                yield sign, kind, word
            elif gap > 2 and words < 3:
                yield f"{sign}s", kind, token.text
            place += step
        if not 0 <= place < len(line) and words < 3:
            yield f"{sign}edge", kind, str(words)
    yield "s", kind, segment
    yield "s<", kind, segment[:2]
    for word in lead:
        yield "p", kind, word
    for one in told:
        yield "l", kind, one


def segments(line: Sequence[Token]) -> list[str]:
    """Return for each token what its stretch between signs is like: the sign before it, its words, the sign after."""
    found, first = [""] * len(line), 0
    for at in range(len(line) + 1):
        if at == len(line) or line[at].kind == ".":
            before = line[first - 1].text if first else "^"
            after = line[at].text if at < len(line) else "$"
            found[first:at] = [f"{before}{min(at - first, 9)}{after}"] * (at - first)
            first = at + 1
    return found


def facts(raw: str, line: Sequence[Token], lead: str) -> list[str]:
    """Return what is known of a line as a whole."""
    words = [token for token in line if token.kind != "."]
    told = [f"words {min(len(words), 8) if len(words) < 8 else 8 + len(words) // 8}"]
    told.append("code" if _CODE.search(raw) else "no code")
    told.append(f"kinds {''.join(sorted({token.kind for token in words} - set('lT')))}")
    if raw.rstrip()[-1:] == "?":
        told.append("asks")
    end = lead.rstrip()[-1:]
    told.append("lead " + (end if end in "?:？：" else "." if end else "none") + (" short" if len(words) < 4 else ""))
    if len(words) < 6:
        told += ["starts " + plain(words[0].text)] if words else []
    return told


@lru_cache(1 << 16)
def features(cue: Cue, size: int) -> tuple[int, ...]:
    """Return the places of a cue's features."""
    where, kind, word = cue
    names = [f"{where} {word}", f"{where}{kind} {word}"] if kind else [f"{where} {word}"]
    if where in ("-", "+", "p") and len(word) > 4 and word[0] != "<":
        stem, tail = word[:4], word[-4:]
        names += [f"{where}^{stem}", f"{where}{kind}^{stem}", f"{where}${tail}"]
        names += [f"{where}^{word[:6]}"] if len(word) > 6 else []
    return tuple(zlib.crc32(name.encode("utf-8", "replace")) % size for name in names)


def line_features(word: str, size: int, where: str = "g") -> tuple[int, ...]:
    """Return the places of the features that a word between blanks gives to its line."""
    if word.isascii():
        core = word.strip(_PUNCTUATION)
        low = core.lower()
        digits = sum(map(str.isdigit, core))
        sign = "x" if not core.isalnum() and SIGN.search(core) else "j" if not core.isalnum() else ""
        names = [f"{where} {low}" if low.isalpha() else f"{where} <{sign}>"]
        names.append(f"{where} {min(digits, 9)}{digits == len(core)}{core != low}{sign}")
        if len(core) < len(word):
            names.append(f"{where} {word[-1]}")
        if len(low) > 5 and low.isalpha():
            names += [f"{where}^{low[:5]}", f"{where}${low[-5:]}"]
        elif not low.isalnum():
            names += [f"{where} {part}" for part in _LETTERS.findall(low)[:6]]
    else:
        names = [f"{where} {kind_of(word.strip(EDGES) or word)}"]
        for match in TOKEN.finditer(word):
            low = plain(match[0].strip(EDGES) or match[0])
            names.append(f"{where} {low}")
            if len(low) > 5 and low[0] != "<":
                names += [f"{where}^{low[:5]}", f"{where}${low[-5:]}"]
    return tuple(zlib.crc32(name.encode("utf-8", "replace")) % size for name in names[:24])


class _Sums(dict[str, float]):
    """What each word adds to the sum of its line; of so many words only."""

    def __init__(self, model: Model, where: str) -> None:
        super().__init__()
        self._model, self._where = model, where

    def __missing__(self, word: str) -> float:
        if len(word) > _LONGEST_WORD:
            return 0.0
        if len(self) > _MOST_WORDS:
            self.clear()
        model = self._model
        told = sum(model.hashed[model.size + at] for at in line_features(word, model.size, self._where))
        self[word] = found = told * model.scale[1]
        return found


@lru_cache(1 << 16)
def _sum(cue: Cue) -> int:
    model = built_in()
    return sum(model.hashed[at] for at in features(cue, model.size))


def chances(raw: str, line: Sequence[Token], lead: str, line_sum: float) -> list[float]:
    """Return for each token of a line the probability that it is of a secret, given the line before."""
    model = built_in()
    before, told = lead_words(lead), facts(raw, line, lead)
    plain = model.bias[0] + model.plain[0][0] * line_sum
    if sum(token.kind != "." for token in line) < 2 and not before:
        return [0.0] * len(line)  # a word alone says nothing
    found, around = [], segments(line)
    for at, token in enumerate(line):
        if token.kind in ".R":
            found.append(0.0)
            continue
        total = plain + model.scale[0] * sum(map(_sum, cues(line, at, before, told, around[at])))
        chance = 1 / (1 + exp(-max(-50.0, min(50.0, model.slope * total + model.offset))))
        is_doubted = chance < CERTAIN_NUMBER and token.text.isdigit() and len(token.text) <= _SHORT_NUMBER
        found.append(chance * BESIDE * CERTAIN if is_doubted else chance)
    return found


def lead_words(lead: str) -> list[str]:
    """Return the last words of the line before."""
    return [plain(token.text) for token in tokens(lead[-160:]) if token.kind != "."][-LEAD:]


def said_secrets(text: str, lead: str = "") -> Iterator[Place]:
    """Yield the place and rule of each secret that the lines of a text say, the first of which follows `lead`."""
    lead = lead[-_LONG:].rstrip().rpartition("\n")[2]
    own, before = _line_sums()
    bias = built_in().bias[1]
    for start, raw, ahead in lines(text, lead):
        total = bias + sum(map(own.__getitem__, raw.split()))
        if total < LINE_SUM - _LEAD_SUM or _CODE.search(raw):
            continue
        total += sum(map(before.__getitem__, ahead.split()[-LEAD:]))
        if total >= LINE_SUM:
            line = tokens(raw)
            for begin, end in joined(line, chances(raw, line, ahead, total)):
                if _is_chosen(raw[begin:end]) and not _is_personal(raw, begin, end):
                    yield start + begin, start + end, "pin" if _PIN.fullmatch(raw, begin, end) else "password"


def _is_chosen(value: str) -> bool:
    """Tell what somebody may have chosen as a secret from the words of a sentence and from names of programs."""
    from .said import is_telling

    parts = [part for part in compiled(r"[\s\"'`(),;:]+").split(value) if part]
    return any(
        (any(map(str.isdigit, part)) or any(one in _IN_PASSWORDS for one in part.strip(_PUNCTUATION)))
        and not is_telling(part.strip(_PUNCTUATION))
        and not compiled(_VERSION).fullmatch(part.strip(_PUNCTUATION.replace("!", "")))
        for part in parts
    )


def _is_personal(raw: str, start: int, end: int) -> bool:
    """Tell the number of a card, an account or a person, which the rules of personal data are for."""
    from .personal import personal_data

    return any(begin < end and start < stop for begin, stop, _ in personal_data(raw, raw.lower()))


def lines(text: str, lead: str = "") -> Iterator[tuple[int, str, str]]:
    """Yield the lines that are not empty, where they begin, and what each follows: not what may be one of a list."""
    start = 0
    for whole in text.split("\n"):
        at = start
        for raw in [whole] if len(whole) <= _LONG else compiled(_PART).findall(whole):
            words = raw.split()
            if words:
                yield at, raw, lead
                if len(words) > 3 or len(raw) > _LONGEST_LISTED or not _LISTED.fullmatch(raw):
                    lead = raw
            at += len(raw)
        start += len(whole) + 1


def joined(line: Sequence[Token], found: Sequence[float], certain: float = CERTAIN) -> list[tuple[int, int]]:
    """Return the stretches of likely tokens that hold a certain one, or all of the quotation that it stands in."""
    likely, spans = [chance >= certain * BESIDE for chance in found], []
    for first, last in quotations(line):
        if 1 < last - first <= _QUOTED and max(found[first:last]) >= certain:
            likely[first:last] = [True] * (last - first)
    first, kind = -1, ""
    for at in range(len(line) + 1):
        is_next = first >= 0 and at < len(line) and line[at].kind == kind in "JX"  # of a list
        if at < len(line) and line[at].kind != ".":
            kind = line[at].kind
        if at < len(line) and not is_next and (likely[at] or (first >= 0 and line[at].kind == ".")):
            first = at if first < 0 else first
        elif first >= 0:
            last = at
            while not likely[last - 1]:
                last -= 1
            if max(found[first:last]) >= certain:
                spans.append((line[first].start, line[last - 1].end))
            first = at if is_next and likely[at] else -1
    return spans


def quotations(line: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the stretches of tokens between quotation marks."""
    marks = [at for at, token in enumerate(line) if token.text in _QUOTES]
    return [(first + 1, last) for first, last in pairwise(marks) if last > first + 1]


@cache
def _line_sums() -> tuple[_Sums, _Sums]:
    return _Sums(built_in(), "g"), _Sums(built_in(), "gp")


@cache
def built_in() -> Model:
    """Return the model that is installed with mem; raise UnavailableError where its file cannot be used."""
    return load(FILE, SECRET, 1)
