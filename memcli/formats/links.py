"""Find what a markdown text links to: [[wiki links]], embedded pictures, and links to other markdown files.

In a table the words shown for a link stand behind `\\|`, since a bare `|` ends the cell. Code is passed over, since
`[[ -f x ]]` is a test in shell and `[[table]]` a heading in TOML. Whether what is linked exists is the caller's to say.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import sub
from typing import NamedTuple
from urllib.parse import unquote
from zlib import crc32

from ..dataclass import dataclass
from .ids import blake2b

_FENCE = re.compile(r"\s{0,3}(?:[-*+]\s+|\d+[.)]\s+|>\s*)*(```+|~~~+)")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_WIKI = re.compile(r"\[\[(?<!\\\[\[)([^\[\]|#^\n]*?)(?:[#^][^\[\]|\n]*?)?(?:\\?\|[^\[\]\n]*)?\]\]")
_MARKDOWN = re.compile(r"\]\(\s*(?:<([^<>\n]+)>|([^()<>\s]+))(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|~|#|mailto:")


@dataclass(frozen=True)
class Link:
    """One link: where it stands and what it names."""

    line: int  # from 1, in the text given
    target: str  # without its `#part` and the words shown for it
    is_path: bool  # a path as in `[words](notes/a.md)`; else a name as in `[[a]]`


def links(text: str) -> Iterator[Link]:
    """Yield the links of a text, those to other places on the same page and to the web left out."""
    for number, plain in without_code(text):
        yield from _links(number, plain)


def _links(number: int, plain: str) -> Iterator[Link]:
    if "[[" not in plain and "](" not in plain:
        return
    for match in _wiki(plain):
        yield Link(number, match[1], is_path=False)
    for match in _MARKDOWN.finditer(plain):
        path = unquote((match[1] or match[2]).partition("#")[0])
        if path.endswith(".md") and not _SCHEME.match(path):
            yield Link(number, path, is_path=True)


def _wiki(plain: str) -> Iterator[re.Match[str]]:
    return (
        match for match in _WIKI.finditer(plain) if match[1] and match[1].strip() == match[1]
    )  # else a shell's test


def wiki_links(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each wiki link of a text begins and ends, and what it names."""
    begins = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    for number, plain in without_code(text) if "[[" in text else ():
        for match in _wiki(plain):
            yield begins[number - 1] + match.start(), begins[number - 1] + match.end(), match[1].removeprefix("./")


def link_targets(path: str, text: str) -> set[str]:
    """Return what the file at a path links to, in lower case without `.md`; a path as one of the workspace."""
    targets = (
        posixpath.normpath(posixpath.join(path, "..", link.target)) if link.is_path else link.target.removeprefix("./")
        for link in _links(0, _prose(text))
    )
    return {target.casefold().removesuffix(".md") for target in targets}


def _prose(text: str) -> str:
    """Return a text without its code, which takes a tenth of the time where it has none."""
    return "\n".join(line for _, line in without_code(text)) if "`" in text or "~~~" in text else text


def without_code(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text that are no code, with their numbers; code within a line is blanked."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            yield number, _CODE.sub(lambda match: " " * len(match[0]), line) if "`" in line else line


def bare(reference: str) -> str:
    """Return the name in a reference that is written as a wiki link; any other reference as it is."""
    match = _WIKI.fullmatch(reference.strip().removeprefix("!"))
    return match[1].strip() if match else reference.strip()


_TAG = re.compile(r"#(?<![^\s(,;]#)([^\W\d_][\w/-]*|[\d_/-]+[^\W\d_][\w/-]*)")

_COLOUR = re.compile(r"(?=\D*\d)(?:[0-9a-f]{6}|[0-9a-f]{8})|([0-9a-f])\1{2}(?:\1{3})?", re.IGNORECASE)
"""A colour as in CSS, with a digit in it or of one letter alone: `#b2b`, `#2fa` and `#decade` are tags."""


def inline_tags(text: str) -> tuple[str, ...]:
    """Return the tags of a text as they are written, code passed over; a number or a colour is none."""
    tags = (tag for tag in _TAG.findall(_prose(text)) if not _COLOUR.fullmatch(tag))
    return tuple(dict.fromkeys(tag.strip("/") for tag in tags))


def nested(tags: Iterable[str]) -> tuple[str, ...]:
    """Add to tags those they are nested in: `work` for `work/clients`."""
    every = list(tags)
    above = ["/".join(tag.split("/")[:depth]) for tag in every for depth in range(1, tag.count("/") + 1)]
    return tuple(dict.fromkeys([*every, *above]))


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
    match = _CITATION.fullmatch(text)
    if match is None or not text.isprintable():
        return None
    first = int(match["first"])
    return Citation(
        match["path"], first, int(match["last"] or first), (match["blob"] or "")[:_BLOB], match["digest"] or ""
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
    return f"{sum(map(crc32, lines)) & 0xFFFFFFFF:08x}{_hash(lines)}"


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


def _hash(lines: Sequence[bytes]) -> str:
    return str(blake2b(b"\n".join(lines), digest_size=8).hexdigest())
