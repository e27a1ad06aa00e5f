"""A citation: lines of a file of the project, and what they were when a memory was written of them.

It is one text, `src/api.py:12-20@3f2a19c4d5e6#9f3ab2…`: path, lines, the start of the file's blob id as git has it, and
the hash of the lines. One that a person wrote without the last two has nothing yet to be held against.
"""

import re
from collections.abc import Sequence
from itertools import accumulate
from operator import sub
from typing import NamedTuple
from zlib import crc32

from .blake import blake2b

KEY = "cited"
"""Key of an entry's frontmatter: a list of citations."""
_PLACE = r"(?P<path>.+?):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?"
_CITATION = re.compile(rf"{_PLACE}(?:@(?P<blob>[0-9a-f]{{6,64}})#(?P<digest>[0-9a-f]{{24}}))?")
_SHORT = 6  # digits of a blob's id that are shown
_BLOB = 12  # and kept


class Citation(NamedTuple):
    """Lines of a file, both ends included, numbered from 1."""

    path: str  # within the project
    first: int
    last: int
    blob: str = ""
    digest: str = ""  # of the lines; empty where nobody has looked yet

    @property
    def place(self) -> str:
        """Return path and lines, as they are typed."""
        return f"{self.path}:{self.first}" + (f"-{self.last}" if self.last != self.first else "")

    @property
    def since(self) -> str:
        """Return the name of the file's version, as it is shown."""
        return self.blob[:_SHORT]

    def __str__(self) -> str:
        """Return the citation as frontmatter has it."""
        return f"{self.place}@{self.blob}#{self.digest}" if self.digest else self.place


def read_citation(text: str) -> Citation | None:
    """Read a citation, or path and lines alone; None for a text that names no lines."""
    found = _CITATION.fullmatch(text)
    if found is None or not text.isprintable():
        return None
    first = int(found["first"])
    return Citation(
        found["path"], first, int(found["last"] or first), (found["blob"] or "")[:_BLOB], found["digest"] or ""
    )


def blob_id(data: bytes) -> str:
    """Return the start of the name that git gives a file of these bytes."""
    try:
        from _sha1 import sha1  # type: ignore[import-not-found]  # for what hashlib costs, see blake.py
    except ImportError:
        from hashlib import sha1

    return str(sha1(b"blob %d\0" % len(data) + data).hexdigest())[:_BLOB]


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of a file; how they end is no part of them."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    return [*lines[:-1], lines[-1].removesuffix(b"\r")] if lines[-1] else lines[:-1]


def digest_of(lines: Sequence[bytes]) -> str:
    """Return the hash of lines: 8 digits to look for them by, which are a sum over the lines, and 16 to be sure."""
    return f"{_sum(lines):08x}{_hash(lines)}"


def found_at(lines: Sequence[bytes], citation: Citation) -> int:
    """Return the line from which the cited lines stand, 0 where they do not; where they stood before is asked first.

    Lines without a word in them, as `}`, stand anywhere: they are looked for only where they stood. Linear in the file.
    """
    size = citation.last - citation.first + 1
    before = lines[citation.first - 1 : citation.last]
    if len(before) == size and digest_of(before) == citation.digest:
        return citation.first
    weak, strong = int(citation.digest[:8], 16), citation.digest[8:]
    sums = [0, *accumulate(map(crc32, lines))]
    for start, total in enumerate(map(sub, sums[size:], sums)):
        if total & 0xFFFFFFFF == weak:
            window = lines[start : start + size]
            if _hash(window) == strong and any(re.search(rb"\w", line) for line in window):
                return start + 1
    return 0


def _sum(lines: Sequence[bytes]) -> int:
    return sum(map(crc32, lines)) & 0xFFFFFFFF


def _hash(lines: Sequence[bytes]) -> str:
    return str(blake2b(b"\n".join(lines), digest_size=8).hexdigest())
