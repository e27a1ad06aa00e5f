"""Ids, which sort by creation time, and the words of a text as part of a file's name."""

import os
import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
ID_LENGTH = 16
TAIL_LENGTH = 6
_ID = re.compile(rf"[a-z]+_[{ALPHABET}]{{{ID_LENGTH}}}")
_NOT_WORD = re.compile(r"[^\w]+", re.UNICODE)


def base32(number: int, length: int) -> str:
    """Write a number in Crockford's base 32 with leading zeros."""
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def new_id(prefix: str, moment: datetime, noise: bytes) -> str:
    """Make an id: ten characters of the millisecond, six of the noise, which is at least four random bytes."""
    tail = int.from_bytes(noise) % 32**TAIL_LENGTH
    return f"{prefix}_{base32(int(moment.timestamp() * 1000), 10)}{base32(tail, TAIL_LENGTH)}"


def random_source(seed: str | None, text: str) -> Callable[[int], bytes]:
    """Return a source of eight random bytes by the number of the attempt; with a seed, a function of seed and text."""
    if seed is None:
        return lambda attempt: os.urandom(8)
    return lambda attempt: blake2b(f"{seed}\0{attempt}\0{text}".encode(), digest_size=8).digest()


def is_id(text: str) -> bool:
    """Return whether a text is a whole id, not a prefix, a suffix or a path."""
    return _ID.fullmatch(text) is not None


def created(identifier: str) -> datetime | None:
    """Read the moment of creation out of an id; None for an id that mem did not make."""
    if not is_id(identifier):
        return None
    number = 0
    for character in identifier.split("_")[1][:10]:
        number = number * 32 + ALPHABET.index(character)
    try:
        return datetime.fromtimestamp(number / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def tail(identifier: str) -> str:
    """Return the part of an id that its file's name ends with."""
    return identifier[-TAIL_LENGTH:]


def slug(text: str, limit: int = 48) -> str:
    """Name a text for a file or a heading: lower case, words joined by hyphens, letters of any script kept."""
    plain = unicodedata.normalize("NFC", text).lower().replace("_", " ").replace("'", "")
    whole = _NOT_WORD.sub("-", plain).strip("-")
    if len(whole) <= limit:
        return whole
    cut = whole[: limit + 1].rpartition("-")[0] or whole[:limit]
    return cut.strip("-")


try:
    from _blake2 import blake2b
except ImportError:  # a Python that has it elsewhere
    from hashlib import blake2b

__all__ = ["blake2b"]
