"""Judge whether a string looks like a secret: random, or a password that a person made up.

`hunter2!` does, `1Password` does not. Names and text around the value do not count.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from .. import data
from ..data import compiled

# Where something starts and ends in a text.
Place = tuple[int, int]
# The same of a secret, and the rule that found it.
Span = tuple[int, int, str]

_FILE = "harmless_values.toml"
_pattern = partial(data.pattern, _FILE)
# 30days, 4GB, Garden, garden, URLs
_WORDY = r"\d+(?:[a-z]{0,12}|[A-Z]{0,3})|[^\W\d_]?(?:(?-i:[^\W\d_A-Z]+)|[A-Z]+s?)|[^\W\d_]"
# Pairs of signs that are common in programs and patterns, and rare in passwords.
_CODE = (
    r"\)[{)]|\}[)(\]=]|\(\)|&&|\|\||=>|==|\?\.|\(0,|::|![01][,}]|\);|,\{|^\$\d|\w\(\w*\)"
    r"|a-z|A-Z|0-9\]|\\[sSdDwWxnbB]"
)
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_SIGNS = frozenset("!@#$%^&*+?~")
_VOWELS = frozenset("aeiouäöüéèêáàâíóòôúåøæąęаеёиоуыэюяєії")


def find_places(text: str, word: str) -> Iterator[Place]:
    """Yield the span of each occurrence of a word."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        yield start, end
        start = text.find(word, end)


def is_default_password(value: str) -> bool:
    """Return whether a value is a default password from manuals, which is no secret."""
    return value.lower() in data.words(_FILE, "default_passwords")


def is_reference(value: str) -> bool:
    """Return whether a value is a file name, address, date, digest or vault reference."""
    return _pattern("reference").fullmatch(value) is not None


def is_expression(value: str) -> bool:
    """Return whether a value is a reference, a path, a version or code."""
    is_code_or_word = _pattern("code_or_word").fullmatch(value) is not None
    return is_code_or_word or is_reference(value) or is_code(value)


def is_technical(value: str) -> bool:
    """Return whether a value is the name of a technique, a unit or a version."""
    return _pattern("technical").fullmatch(value) is not None


def is_code(value: str) -> bool:
    """Return whether a value has pairs of signs that are common in code only."""
    return compiled(_CODE).search(value) is not None


def is_stand_in(value: str) -> bool:
    """Return whether a value is a placeholder, a reference or a documented example."""
    low = value.lower()
    return any(word in low for word in data.table(_FILE)["stand_ins"]) or is_monotonous(value)


def is_monotonous(value: str) -> bool:
    """Return whether a value is filler, such as a repeated letter or the alphabet."""
    # abcdefghijkl and 1234567890abcdef are the keys of manuals.
    letters = [ord(char) for char in value if char.isalnum()]
    if len(letters) < 12:
        return len(set(value)) < 3
    if len(set(letters)) < 6:
        return True
    rising = longest = 0
    for before, after in pairwise(letters):
        rising = rising + 1 if after - before == 1 else 0
        longest = max(longest, rising)
    return longest >= 6


def is_uuid(value: str) -> bool:
    """Return whether a value is a UUID, which usually identifies something public."""
    return compiled(_UUID).fullmatch(value) is not None


def is_hex(value: str) -> bool:
    """Return whether a value consists of hexadecimal digits, as digests do."""
    return compiled("[0-9a-fA-F]+").fullmatch(value) is not None


def is_random(value: str, least: int = 16) -> bool:
    """Return whether a value is random: digits and cases mixed without a pattern."""
    if len(value) < least or is_stand_in(value) or is_reference(value):
        return False
    if len(set(value)) < min(9, len(value) // 2) or not re.search("[A-Za-z]", value):
        return False
    if count_changes(value) < len(value) * 0.2 or is_code(value):
        return False
    # A random value has digits in several places, a name such as python3 in one.
    groups = len(compiled("[0-9]+").findall(value))
    if groups >= 2 + (len(value) > 64):
        return True
    if not groups:
        return False
    vowels = len(compiled("[aeiouAEIOU]").findall(value))
    return (
        vowels * 3 < len(value) and compiled("(?i)[b-df-hj-np-tv-xz]{5}").search(value) is not None
    )


def is_password(value: str) -> bool:
    """Return whether a value is a password that a person would choose."""
    if (
        not 6 <= len(value) <= 128
        or not value.isprintable()
        or is_stand_in(value)
        or is_uuid(value)
    ):
        return False
    if is_random(value):
        return True
    if is_expression(value):
        return False
    if is_jumbled(value):
        return True
    if not any(char.isalpha() for char in value) or consists_of_words(value.rstrip("!?.,*+")):
        return False
    # A sign at the end may be the end of the sentence.
    inner = len(_SIGNS.intersection(value[:-1]))
    return has_digit(value) or inner >= 2 or (inner == 1 and len(value) >= 8)


def is_jumbled(value: str) -> bool:
    """Return whether letters have a case that no word has: `srCoAqUvlPaJ`, not `userPassword`."""
    # The O of userOAuth is a single capital, as in a random value.
    value = value.rstrip("!?.").replace("OAuth", "Oauth")
    if not 8 <= len(value) <= 64 or not value.isalpha():
        return False
    cases = "".join("U" if char.isupper() else "l" for char in value)
    for part in compiled("U+(?!l)|U?l+").finditer(cases):
        word = value[part.start() : part.end()].lower()
        # The last capital of srCoAqUvlPaJ begins no word.
        if part[0] == "U" and part.start() > 0:
            return True
        is_whole = part[0] == cases or len(word) == 1 or part[0][-1] == "U"
        # A part without a vowel is no word, except for abbreviations such as pwd and html.
        if not is_whole and _VOWELS.isdisjoint(word) and word not in data.words(_FILE, "clipped"):
            return True
    return False


def is_mixed(value: str) -> bool:
    """Return whether letters are mixed with digits or case: `9xKq`, not `v2` or `base64`."""
    if is_jumbled(value):
        return True
    # SHOP-123 is a ticket, MAX_RETRIES_2 a constant.
    is_name = compiled(r"[A-Z]{1,10}-\d+|[A-Z\d]+(?:_[A-Z\d]+)+").fullmatch(value)
    if is_name or is_stand_in(value) or is_expression(value):
        return False
    parts = [part for part in re.split(r"[-_.+/@#!?*&,;:]+", value) if part]
    has_both = any(map(str.isalpha, value)) and has_digit(value)
    return has_both and not any(map(is_technical, parts))


def has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


def has_both_cases(value: str) -> bool:
    """Return whether a value has small and capital letters."""
    return any(map(str.islower, value)) and any(map(str.isupper, value))


def is_fragment(value: str) -> bool:
    """Return whether a value can only be a piece of something random."""
    if len(value) < 6 or is_reference(value) or count_changes(value) * 5 < len(value):
        return False
    # Not the 2026-11-21, v2.0.1 or OAuth2 at the beginning of an ordinary line.
    if re.search("[0-9]", value):
        return count_changes(value) >= 2 and not consists_of_words(value)
    return len(value) >= 12 and len(compiled("[aeiouAEIOU]").findall(value)) * 3 < len(value)


def count_changes(value: str) -> int:
    """Return how often digits, signs and capitals occur where a word would not have them."""
    return len(
        compiled(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]|[!@#$%^&*()?]").findall(
            value
        )
    )


def consists_of_words(value: str) -> bool:
    """Return whether a value is words and numbers joined by punctuation."""
    parts = re.split(r"[-_/.,:;|+=&()@*]+", value)
    return all(not part or compiled(_WORDY).fullmatch(part) or is_technical(part) for part in parts)


def strip_end(value: str) -> str:
    """Return an unquoted value without the punctuation or parameter that ends it."""
    # Pwd=…;Encrypt=yes
    value = compiled(r"[;,|](?=[A-Za-z_ ][\w -]*[=:]|$)").split(value, maxsplit=1)[0]
    value = value.rstrip(".,;:|*_\\]}")
    # A bracket that the value did not open is that of the sentence.
    return value.rstrip(").,;") if value.endswith(")") and "(" not in value else value
