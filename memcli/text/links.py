"""Find what a markdown text links to: [[wiki links]], embedded pictures, and links to other markdown files.

In a table the words shown for a link stand behind `\\|`, since a bare `|` ends the cell. Code is passed over, since
`[[ -f x ]]` is a test in shell and `[[table]]` a heading in TOML. Whether what is linked exists is the caller's to say.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

_FENCE = re.compile(r"\s{0,3}(?:[-*+]\s+|\d+[.)]\s+|>\s*)*(```+|~~~+)")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_WIKI = re.compile(r"(?<!\\)(!?)\[\[([^\[\]|#^\n]*?)(?:[#^][^\[\]|\n]*?)?(?:\\?\|[^\[\]\n]*)?\]\]")
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
        if "[[" not in plain and "](" not in plain:
            continue
        for found in _WIKI.finditer(plain):
            name = found[2]
            if name and name.strip() == name:  # `[[ x ]]` is a test in shell
                yield Link(number, name, is_path=False)
        for found in _MARKDOWN.finditer(plain):
            path = unquote((found[1] or found[2]).partition("#")[0])
            if path.endswith(".md") and not _SCHEME.match(path):
                yield Link(number, path, is_path=True)


def without_code(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text that are no code, with their numbers; code within a line is blanked."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            yield number, _CODE.sub(lambda found: " " * len(found[0]), line) if "`" in line else line


def bare(reference: str) -> str:
    """Give the name in a reference that is written as a wiki link; any other reference as it is."""
    found = _WIKI.fullmatch(reference.strip())
    return found[2].strip() if found else reference.strip()
