"""Find the codes that open what is somebody's: backup codes, PINs, seeds of one-time passwords and of wallets."""

from collections.abc import Iterator
from functools import cache, partial

from .. import data
from ..data import compiled
from .value_classifier import Span, is_hex, is_monotonous, is_stand_in

_pattern = partial(data.pattern, "personal_codes.toml")
_STEMS = ("pin", "puk", "code", "cvv", "cvc", "geheimzahl", "暗証番号")
_CALLED = {
    "pin": r"(?:sim|bank|card|phone|alarm|door|screen|unlock|voicemail|visa|debit|credit)[ -]$",
    "code": r"(?:door|gate|alarm|entry|access|lock|safe|garage|lockbox|voicemail|unlock|building|box|pin|security)[ -]$"
    r"|(?:tür|tor|alarm|safe|zugangs|pin)-?$|(?:opens?|unlocks?|disarms?)[ ](?:with|by|on)[ ](?:the[ ])?$",
}
_CALLED["puk"] = _CALLED["pin"]
"""What stands before a word that means other things as well; PIN and PUK in capitals need none of it."""
_OWNED = r"(?:(?<![a-z])(?:my|our|with|mit)[ ](?:(?:sim|card|bank|debit|phone|door)[ ])?|with[ ])$"
"""What stands before a word that only a blank separates from its number."""
_URI = r"otpauth://[^\s\"'<>]{1,300}?[?&]secret=([a-z2-7]{16,128})"
_SIZES = (24, 21, 18, 15, 12)
_GAP = r"[\s,;|*_`\"'\[\]-]{1,12}(?:\d{1,2}[.):]?[ \t]{0,4})?"
_NAMES = ("mnemonic", "seed", "wallet", "recovery")
_NAMED = (
    rf"(?:[ _-](?:phrase|words?|seed|key|mnemonic|passphrase))?(?:[ ](?:is|was|for|of)\b[^\n:=]{{0,30}})?[ ]?"
    rf"(?:[:=]\s{{0,4}}|(?<= is )|(?<=phrase )|(?<=words ))(?:\d{{1,2}}[.):]?[ \t]{{0,4}})?[\"'`]?"
    rf"((?:[a-z]{{3,12}}+{_GAP}){{11,24}}[a-z]{{3,12}}+)"
)
_WORD = r"[a-z]{3,12}"


def codes(text: str, low: str) -> Iterator[Span]:
    """Yield span and rule of backup codes, PINs and seeds; `low` is the text in lower case."""
    if any(
        sign in low
        for sign in ("code", "código", "codic", "kod", "код", "码", "碼", "コード", "코드", "key", "schlüssel")
    ):
        for name in _pattern("spare_name").finditer(low):
            match = _pattern("are_codes").match(low, name.end())
            if match:
                yield from _spare(low, *match.span("codes"))
        for match in _pattern("groups").finditer(low):
            if any(map(str.isdigit, match["groups"])):
                yield *match.span("groups"), "recovery-code"
    for match in _pattern("app").finditer(low) if "app" in low and "password" in low else ():
        if compiled("(?<![a-z])[^aeiouy -]{4}(?![a-z])").search(match["app"]):  # drawn by a machine, not four words
            yield *match.span("app"), "password"
    yield from _pins(text, low)
    for match in compiled(_URI).finditer(low) if "otpauth://" in low else ():
        yield *match.span(1), "otp-seed"
    if any(sign in low for sign in ("otp", "2fa", "mfa", "authenticator", "one-time")):
        for match in _pattern("seed").finditer(text):
            if not is_stand_in(match["seed"]):
                yield *match.span("seed"), "otp-seed"


def _pins(text: str, low: str) -> Iterator[Span]:
    for stem in _STEMS:
        position = low.find(stem)
        while position >= 0:
            end = position + len(stem)
            match = _pattern("card_number" if stem.startswith("cv") else "pin").match(low, end)
            is_own = match and (not match["blank"] or match["pin"][-1] == "#" or _is_owned(low, position, stem))
            if match and is_own and len(set(match["pin"])) > 1 and _is_called(text, low, position, stem):
                yield *match.span("pin"), "pin"
            position = low.find(stem, end)


def _is_owned(low: str, position: int, stem: str) -> bool:
    """Return whether the code is a person's, as in `my pin 4417`, or of a kind that only cards have."""
    return stem in ("puk", "cvv", "cvc") or compiled(_OWNED).search(low[max(0, position - 24) : position]) is not None


def _is_called(text: str, low: str, position: int, stem: str) -> bool:
    """Return whether the word means a personal code, and not the pin of a connector or the code of a program."""
    before = low[max(0, position - 24) : position]
    is_word = not compiled(r"[a-z0-9_.]$").search(before)
    if stem not in _CALLED or (stem != "code" and is_word and text[position : position + 3].isupper()):
        return is_word
    if compiled(rf"(?<![a-z])(?:{_CALLED[stem]})").search(before):
        return True
    if stem == "pin" and is_word and compiled(_OWNED).search(before):
        return True
    return is_word and _pattern("opens").match(low, position + len(stem)) is not None


def _spare(low: str, start: int, stop: int) -> Iterator[Span]:
    """Yield the codes at the beginning of a list; the words that follow them are none."""
    spans = []
    for match in _pattern("code").finditer(low, start, stop):
        if not _is_code(match[0]):
            break
        spans.append(match.span())
    if len(spans) > 1 or (spans and len(low[slice(*spans[0])].replace("-", "")) >= 8):
        yield from ((*span, "recovery-code") for span in spans)


def _is_code(word: str) -> bool:
    """Return whether a word is a code: with digits, and neither a year nor a date."""
    plain = word.replace("-", "")
    if len(plain) < 5 or not any(char.isdigit() for char in plain) or is_stand_in(word):
        return False
    if compiled(r"\d{4}-\d\d-\d\d|\d+[a-z]{1,8}|[a-z]{3,}-\d+").fullmatch(word) or is_monotonous(plain):
        return False
    return "-" in word or len(plain) < 40 or not is_hex(plain)


def seed_phrases(text: str, low: str) -> Iterator[Span]:
    """Yield span and rule of the seed phrases of wallets; `low` is the text in lower case."""
    if len(text) < 47:
        return
    for name in _NAMES:
        for match in compiled(name + _NAMED).finditer(low) if name in low else ():
            if data.words("secrets.toml", "sentence_words").isdisjoint(compiled(_WORD).findall(match[1])):
                yield *match.span(1), "seed-phrase"
    yield from _phrases(low)


def _phrases(low: str) -> Iterator[Span]:
    """Yield the stretches of words of the standard whose last bits are the checksum of the others."""
    words = compiled("[a-z]+").findall(low)
    if bytes(_SIZES[-1] * [1]) not in bytes(map(_numbers().__contains__, words)):
        return
    spans = [word.span() for word in compiled("[a-z]+").finditer(low)]
    numbers = [_numbers().get(word, -1) for word in words]
    position = 0
    while position + _SIZES[-1] <= len(words):
        fitting = (size for size in _SIZES if position + size <= len(words))
        size = next((size for size in fitting if _is_phrase(numbers[position : position + size])), 0)
        if size:
            yield spans[position][0], spans[position + size - 1][1], "seed-phrase"
        position += size or 1


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
    text = data.path("seed_words.txt").read_text(encoding="ascii")
    return {word: number for number, word in enumerate(text.split())}
