"""Digests of texts."""

import unicodedata

try:
    # hashlib takes 9 ms to import; this is the same function.
    from _blake2 import blake2b
except ImportError:  # pragma: no cover - a Python that was built without it
    from hashlib import blake2b


def build_digest(data: bytes) -> str:
    """Return a 128-bit digest by which changed content is noticed."""
    return blake2b(data, digest_size=16).hexdigest()


def build_text_digest(text: str) -> bytes:
    """Return the 16-byte key of a text and its vector."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def build_keyed_digest(key: str, text: str) -> str:
    """Return a digest that nobody can compute or test without the key."""
    return blake2b(text.encode("utf-8", "replace"), key=key.encode(), digest_size=16).hexdigest()


def build_words_digest(text: str) -> bytes:
    """Return a digest that equal sentences share, whatever their case, blanks and final period.

    Symbols count: C++ is not C#, and -5 is not 5.
    """
    return build_text_digest(
        " ".join(unicodedata.normalize("NFC", text).casefold().split()).rstrip(".!? ")
    )
