"""Ids, and file names made of the first words of a text."""

import re
import unicodedata
from datetime import datetime
from random import Random

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
ID_LENGTH = 16
SHORT_LENGTH = 6
SLUG_LENGTH = 48
COPY_START = "mem_0000000000"  # of the id that a sync gives to a copy of a note
ID = re.compile(rf"[a-z]+_[{ALPHABET}]{{{ID_LENGTH}}}")


def build_id(prefix: str, moment: datetime, noise: Random) -> str:
    """Make an id: ten characters of the millisecond, by which ids sort, and six random ones."""
    # A clock before 1970 is wrong, and would make a negative number.
    milliseconds = max(int(moment.timestamp() * 1000), 0)
    random_part = noise.getrandbits(5 * SHORT_LENGTH)
    return f"{prefix}_{to_base32(milliseconds, 10)}{to_base32(random_part, SHORT_LENGTH)}"


def to_base32(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def is_id(text: str) -> bool:
    """Return whether a text is an id of mem, such as `mem_` and 16 characters."""
    return ID.fullmatch(text) is not None


def get_id_end(entry_id: str) -> str:
    """Return the random end of an id, which is part of a file name."""
    return entry_id[-SHORT_LENGTH:] if re.fullmatch(r"[a-z]+_\w{16}", entry_id) else entry_id


def build_slug(text: str, limit: int = SLUG_LENGTH) -> str:
    """Return the first words of a text as part of a file name: lower case, joined by hyphens.

    Letters of every script stay, together with their marks: without its vowel signs a Tamil or
    Thai word is unreadable.
    """
    # An apostrophe does not separate words: don't becomes dont, not don-t.
    plain = unicodedata.normalize("NFC", text).lower().replace("'", "").replace("’", "")
    letters = []
    for character in plain:
        is_word = character.isalnum() or unicodedata.category(character)[0] == "M"
        letters.append(character if is_word else "-")
    whole = re.sub("-+", "-", "".join(letters)).strip("-")
    if len(whole) > limit:
        # One character more shows whether the last word ends exactly at the limit.
        whole = whole[: limit + 1].rpartition("-")[0] or whole[:limit]
    # File systems allow 255 bytes; a letter takes up to four, and the id follows.
    return whole.encode()[:200].decode("utf-8", "ignore").strip("-")
