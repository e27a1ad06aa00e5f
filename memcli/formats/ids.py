"""Ids, which sort by creation time, and the words of a text as part of a file's name."""

import re
import unicodedata
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

__all__ = ["blake2b"]


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


def drawn(noise: bytes, attempt: int) -> bytes:
    """Return the noise for an id at an attempt: as given at the first, another one at each after it."""
    return blake2b(b"%d\0%b" % (attempt, noise), digest_size=8).digest() if attempt else noise


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


_WRITTEN = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ]((?!24)\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?))?\s*(Z|[+-]\d\d:?[0-5]\d)?", re.IGNORECASE
)
_AGO = re.compile(r"(\d{1,5})\s*(h|d|w|m|y|hours?|days?|weeks?|months?|years?)(?:\s+ago)?", re.IGNORECASE)
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}


def stamp(moment: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, to the second."""
    # Not strftime, which writes the year 999 with three digits on some systems.
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def parse_time(text: str, zone: tzinfo = UTC) -> datetime | None:
    """Read a date or an instant; a time without an offset is in the zone given; None where there is no such day."""
    if len(text) == 20 and text.isascii() and text[10::3] == "T::Z" and text[7] == "-" and text[11:13] != "24":
        # As `stamp` writes it, which is what nearly all files hold. (Newer Pythons have an hour 24.)
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None
    if not text.isascii():  # digits of other scripts, which `fromisoformat` does not take
        text = re.sub(r"\d", lambda digit: str(int(digit[0])), text)
    match = _WRITTEN.fullmatch(text.strip())
    if not match:
        return None
    day, clock, offset = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{(offset or '').upper()}")
        return (moment if offset else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_when(text: str, now: datetime, zone: tzinfo = UTC, *, end: bool = False) -> datetime | None:
    """Read what a person types for a moment: a date, a month, `today`, `yesterday`, `7d`, `3 weeks ago`.

    With `end`, a day or a month stands for its last instant, so that `--until 2026-11` takes the whole month.
    """
    word = text.strip().lower()
    today = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    if word == "now":
        return now
    if word in ("today", "yesterday"):
        day = today - timedelta(days=1 if word == "yesterday" else 0)
        return _last(day + timedelta(days=1)) if end else day.astimezone(UTC)
    ago = _AGO.fullmatch(word)
    try:
        if ago:
            return now - timedelta(days=int(ago[1]) * _DAYS[ago[2][0]])
        if re.fullmatch(r"\d{4}", word):
            first = datetime(int(word) + end, 1, 1, tzinfo=zone)
            return _last(first) if end else first.astimezone(UTC)
        if re.fullmatch(r"\d{4}-\d\d", word):
            first = datetime(int(word[:4]), int(word[5:]), 1, tzinfo=zone)
            following = (first + timedelta(days=31)).replace(day=1)
            return _last(following) if end else first.astimezone(UTC)
        moment = parse_time(text, zone)
        if moment and end and len(word) == 10:
            return _last(moment.astimezone(zone) + timedelta(days=1))  # a day may have 23 or 25 hours
    except (ValueError, OverflowError):
        return None
    return moment


def date_words(timestamp: str) -> str:
    """Write the day of a stored instant as people ask for it: `Friday 3 May 2023`."""
    moment = parse_time(timestamp)
    return _spelled(moment.date()) if moment else ""


@lru_cache(maxsize=1024)
def _spelled(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B %Y}"


def past(moment: object, now: datetime) -> str:
    """Return a stored instant if it is not after another; empty if it is, and for what is no instant."""
    instant = parse_time(moment) if moment and isinstance(moment, str) else None
    return str(moment) if instant is not None and instant <= now else ""


def day_of(moment: datetime, zone: tzinfo) -> date:
    """Return the calendar day of an instant where the user lives."""
    return moment.astimezone(zone).date()


def day_in(path: str) -> str:
    """Read the day out of a file's name; empty where it names none."""
    match = re.search(r"(\d{4}-\d\d-\d\d)", path.rsplit("/", 1)[-1])
    return match[1] if match else ""


def _last(after: datetime) -> datetime:
    return (after - timedelta(microseconds=1)).astimezone(UTC)
