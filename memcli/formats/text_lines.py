"""Lines as editors and grep count them: a newline ends one, and no form feed or other separator does."""

import re
from collections.abc import Collection, Iterator
from functools import cache
from io import StringIO
from typing import Annotated, NamedTuple

from ..dataclass import dataclass, field
from ..errors import RefusedError
from ..results import OPTIONAL, FileLine, FilePath

BOM = "\ufeff"
"""What some editors put before the first line of a file."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CONFLICT = re.compile(r"^(?=[<=>|]{7}(?:\s|$))", re.MULTILINE)
_MARKS = ("<<<<<<< ", "||||||| ", ">>>>>>> ")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")

STOPS = " .。"
"""What ends a sentence and says nothing."""
BLANK = "[forgotten]"
SHORTEST = 12
"""Characters of a forgotten text that is looked for within others: a shorter one may be part of anything."""


def lines(text: str) -> Iterator[str]:
    """Yield the lines with their endings; joined they are the text."""
    return iter(StringIO(text, newline="\n"))


def with_code(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of markdown, and whether each belongs to a fenced block of code, its fences included."""
    fence = ""
    for line in lines(text):
        mark = _FENCE.match(line)
        yield line, bool(fence or mark)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]


def conflict_marker(text: str) -> int | None:
    """Return the 1-based line where the first conflict (`<<<<<<< ` … `>>>>>>> `) begins, if there is one."""
    begin = f"\n{text}".find("\n<<<<<<< ")
    if begin < 0 or text.find("\n>>>>>>> ", begin) < 0:
        return None
    return text.count("\n", 0, begin) + 1


def leftover_marker(text: str) -> int | None:
    """Return the 1-based line of the first line that begins or ends a conflict, also of a single one; None for none."""
    if not any(mark in text for mark in _MARKS):  # looking at each of its lines takes far longer
        return None
    return next((number for number, line in enumerate(text.splitlines(), 1) if line.startswith(_MARKS)), None)


def without_code(text: str) -> str:
    """Return markdown with the lines of its fenced blocks of code blank."""
    return "".join("\n" if is_code else line for line, is_code in with_code(text))


def require_no_conflict(path: str, text: str) -> None:
    """Raise RefusedError for a file with a git conflict, which readers pass over: a text added would not be found."""
    line = conflict_marker(text)
    if line is not None:
        raise RefusedError(f"{path}:{line}: a git conflict marker", "resolve the conflict, then try again")


def clean_text(text: str) -> str:
    """Make a text safe to write: pairs of surrogates joined, lone ones replaced, control characters dropped."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub("", whole.replace("\r\n", "\n").replace("\r", "\n")).strip()


def unconflicted(text: str) -> str:
    """Indent what git would take for a conflict marker."""
    return _CONFLICT.sub(" ", text)


def with_markers_as_comments(text: str) -> str:
    """Make comments of YAML of the conflict markers in a text, where a person left some of those of a conflict."""
    return _CONFLICT.sub("# ", text)


ONLY_BEGINNING = "only its beginning is indexed"
"""The end of the problem of a file too large to be indexed whole."""
BINARY = "a binary file, which is no memory"
"""The beginning of the problem of a file that is no text."""


class Problem(NamedTuple):
    """A line of a file that cannot be read as it was meant."""

    line: int  # 1-based, in the file
    reason: str  # lower case, one line


@dataclass(frozen=True)
class FileProblem:
    """Something wrong with a file, as `path:line: reason`."""

    path: FilePath
    line: FileLine
    reason: Annotated[str, "what is wrong"]
    scope: Annotated[str, "project, user or documents; empty where only one workspace is looked at", OPTIONAL] = field(
        default="", kw_only=True
    )
    left_out: Annotated[bool, "whether the answer lacks what the file says", OPTIONAL] = field(
        default=False, kw_only=True
    )
    rule: Annotated[str | None, "the name of the rule", OPTIONAL] = field(default=None, kw_only=True)
    fixable: Annotated[bool | None, "whether `mem check --fix` mends it", OPTIONAL] = field(default=None, kw_only=True)

    def __str__(self) -> str:
        path = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in self.path)
        return f"{path}:{self.line}: {self.reason}"


FileProblems = Annotated[tuple[FileProblem, ...], "what is wrong with files"]


def decoded(data: bytes) -> tuple[str, Problem | None]:
    """Return the text, with U+FFFD in the place of what cannot be read, and the first line where that is so."""
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reason = f"not UTF-8 (byte {data[error.start]:#04x}): convert it, for example with iconv"
        return data.decode("utf-8", "replace"), Problem(line, reason)


@cache
def _markdown() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of a line that is mark-up alone, a fence or a comment, and of the marks in front of a text."""
    alone = re.compile(r"^\s*(?:```|~~~)|^\s*<!--(?:(?!-->).)*-->\s*$")
    return alone, re.compile(r"^\s*(#{1,6}\s+|>\s*|[-*+]\s+(\[.\]\s+)?|\d+[.)]\s+)")


def first_line(text: str) -> str:
    """Return the first line that says something, without its markdown marks."""
    alone, marks = _markdown()
    for line in text.splitlines():
        plain = marks.sub("", line).strip()
        if plain and not alone.match(line) and set(plain) - set("-=*_`~<>!"):
            return plain
    return ""


def normalized(text: str) -> str:
    """Return a text without what never makes it another one: case, white space, full stops at its end."""
    return " ".join(text.lower().split()).rstrip(STOPS)


def blanked(text: str, forgotten: Collection[str]) -> str:
    """Return a text with `[forgotten]` in the place of what was forgotten, given as `normalized` gives texts."""
    plain = normalized(text)
    for phrase in sorted(
        (phrase for phrase in forgotten if len(phrase) >= SHORTEST and phrase in plain), key=len, reverse=True
    ):
        words = r"\s+".join(map(re.escape, phrase.split()))
        text = re.sub(rf"(?<!\w){words}(?!\w)[.。]*", BLANK, text, flags=re.IGNORECASE)
    return text


def shorten(text: str, limit: int = 160) -> str:
    """Fold white space and cut at a word so that at most `limit` characters stay, the ellipsis included."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space > limit // 2 else head).rstrip(" ,;:.–-") + "…"


def summarise(title: str, body: str, limit: int = 160) -> str:
    """Return one line that names a memory: its title, and what it says as far as there is room."""
    body = body.removeprefix(f"Title: {title}") if title else body  # an episode says its title again
    content = shorten(body.strip() and " ".join(_plain_lines(body)), limit)
    if not title or content.casefold().startswith(title.casefold()):
        return content or title
    return shorten(f"{title}: {content}" if content else title, limit)


def _plain_lines(text: str) -> list[str]:
    lines = []
    alone, marks = _markdown()
    for line in text.splitlines():
        if not alone.match(line) and (plain := marks.sub("", line).strip()):
            lines.append(plain)
            if sum(map(len, lines)) > 400:
                break
    return lines
