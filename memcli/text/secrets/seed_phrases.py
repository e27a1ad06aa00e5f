"""Find the words that restore a wallet: BIP-39 phrases by their check bits, others by what they are called.

The words are those of the standard, in `seed_words.txt`; they are read when the first text is looked at.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .rules import compiled, word_set

Place = tuple[int, int, str]  # start, end, rule

_SIZES = (24, 21, 18, 15, 12)
_GAP = r"[\s,;|*_`\"'\[\]-]{1,12}(?:\d{1,2}[.):]?[ \t]{0,4})?"
_NAMES = ("mnemonic", "seed", "wallet", "recovery")
_NAMED = (
    rf"(?:[ _-](?:phrase|words?|seed|key|mnemonic|passphrase))?(?:[ ](?:is|was|for|of)\b[^\n:=]{{0,30}})?[ ]?"
    rf"(?:[:=]\s{{0,4}}|(?<= is )|(?<=phrase )|(?<=words ))(?:\d{{1,2}}[.):]?[ \t]{{0,4}})?[\"'`]?"
    rf"((?:[a-z]{{3,12}}+{_GAP}){{11,24}}[a-z]{{3,12}}+)"
)
_SENTENCE = word_set("the and for from not are was has were which would could should because does did its into")
_WORD = r"[a-z]{3,12}"


def seed_phrases(text: str, low: str) -> Iterator[Place]:
    """Yield the place and rule of each phrase; `low` is the text in lower case."""
    if len(text) < 47:
        return
    for name in _NAMES:
        for match in compiled(name + _NAMED).finditer(low) if name in low else ():
            if _SENTENCE.isdisjoint(compiled(_WORD).findall(match[1])):
                yield *match.span(1), "seed-phrase"
    yield from _phrases(low)


def _phrases(low: str) -> Iterator[Place]:
    """Yield the stretches of words of the standard whose last bits are the checksum of the others."""
    words = compiled("[a-z]+").findall(low)
    if bytes(_SIZES[-1] * [1]) not in bytes(map(_numbers().__contains__, words)):
        return
    places = [word.span() for word in compiled("[a-z]+").finditer(low)]
    numbers = [_numbers().get(word, -1) for word in words]
    at = 0
    while at + _SIZES[-1] <= len(words):
        size = next((size for size in _SIZES if at + size <= len(words) and _is_phrase(numbers[at : at + size])), 0)
        if size:
            yield places[at][0], places[at + size - 1][1], "seed-phrase"
        at += size or 1


def _is_phrase(numbers: list[int]) -> bool:
    """Check the last bits of a phrase, a 32nd of the others, which are the beginning of their SHA-256 (BIP-39)."""
    if -1 in numbers or len(set(numbers)) < 8:
        return False
    from hashlib import sha256  # not paid by every text

    bits = "".join(f"{number:011b}" for number in numbers)
    size = len(bits) // 33
    entropy = int(bits[:-size], 2).to_bytes(size * 4, "big")
    return f"{sha256(entropy).digest()[0]:08b}"[:size] == bits[-size:]


@cache
def _numbers() -> dict[str, int]:
    text = Path(__file__).with_name("seed_words.txt").read_text(encoding="ascii")
    return {word: number for number, word in enumerate(text.split())}
