"""The hash by which a text and its vector are kept, and by which a text read back is checked."""

import sqlite3

from ..text.blake import blake2b


def text_hash(text: str) -> bytes:
    """Give the key by which a vector is kept: the text that is embedded, wherever it stands."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def as_kept(text: str, hash_: bytes) -> str:
    """Give a text read from the index; DatabaseError if it is not the one put there, since SQLite does not check."""
    if text_hash(text) != hash_:
        raise sqlite3.DatabaseError("a text is not as it was kept")
    return text
