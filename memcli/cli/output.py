"""The only module that prints: data to stdout, messages to stderr, control characters escaped.

They are escaped in a pipe too, which may end on a terminal (`mem read ID | head`), except in what programs read:
`read --raw`, exports and the answers of protocols.
"""

import errno
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from ..errors import ErrorDocument, MemError
from ..results import number_of

if TYPE_CHECKING:
    from ..api.consolidate import Admitted
    from ..api.write import Redacted

_BIDI = "\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c"
_UNSPACED = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60"  # broken after any letter
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_ONE_LINE = dict.fromkeys(map(ord, "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"), " ")  # what would end a value or a line


def to_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal."""
    return stream.isatty()


def is_watched() -> bool:
    """Return whether stdout is a terminal."""
    return to_terminal(sys.stdout)


def is_heard() -> bool:
    """Return whether stderr is a terminal."""
    return to_terminal(sys.stderr)


def has_colour(stream: TextIO) -> bool:
    """Return whether a stream takes colours: a terminal, unless NO_COLOR or TERM=dumb is set."""
    return to_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def styled(text: str, code: str, stream: TextIO | None = None) -> str:
    """Return a text in a colour if the stream takes colours."""
    return f"\x1b[{code}m{text}\x1b[0m" if has_colour(stream or sys.stdout) else text


def visible(text: str) -> str:
    """Return a text with its control characters escaped, except newlines and tabs."""
    import re

    return re.sub(
        rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]",
        lambda match: f"\\x{ord(match[0]):02x}" if ord(match[0]) < 256 else f"\\u{ord(match[0]):04x}",
        text,
    )


def harmless(text: str) -> str:
    """Return a text with the characters escaped that control a terminal; newlines, tabs and all scripts stay."""
    import re

    return re.sub(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", lambda match: f"\\x{ord(match[0]):02x}", text)


def _safe(text: str) -> str:
    if text.isprintable():  # nearly all are; none of the characters below is
        return text
    return visible(text.replace("\r\n", "\n")) if to_terminal(sys.stdout) else harmless(text)


def say(text: str, end: str = "\n", *, raw: bool = False) -> None:
    """Print data with its control characters visible; `raw` for what must reach a pipe byte for byte."""
    # With its end in one piece: where Python does not buffer, lines of several commands in a pipe would mix.
    print(f"{text if raw and not to_terminal(sys.stdout) else _safe(text)}{end}", end="")


def say_wrapped(text: str, indent: int = 2) -> None:
    """Print a line, on a terminal wrapped as `wrapped` does."""
    say(wrapped(text, indent))


def say_styled(*pieces: tuple[str, str]) -> None:
    """Print one line of (text, colour code) pieces."""
    colour = has_colour(sys.stdout)
    texts = [f"\x1b[{code}m{_safe(text)}\x1b[0m" if code and colour else _safe(text) for text, code in pieces]
    print("".join([*texts, "\n"]), end="")


def say_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document."""
    indent = 2 if to_terminal(sys.stdout) else None
    # Between its strings JSON has none of these characters, and in a string it may have them escaped.
    print(f"{_escaped(json.dumps(document, ensure_ascii=False, indent=indent))}\n", end="")


def say_row(values: Iterable[object]) -> None:
    """Print one line of tab-separated values; tabs and newlines inside a value become spaces.

    On a terminal two spaces separate them, and what does not fit is wrapped.
    """
    texts = list(map(str, values))
    if not "".join(texts).isprintable():
        texts = [_safe(text.translate(_ONE_LINE)) for text in texts]
    line = beside(texts, "  ") if is_watched() else "\t".join(texts)
    print(f"{line}\n", end="")


def _escaped(document: str) -> str:
    """Escape the control characters that JSON may hold as they are, and on a terminal those that turn text round."""
    import re

    turning = _BIDI if to_terminal(sys.stdout) else ""
    return re.sub(rf"[\x7f-\x9f{turning}]", lambda match: f"\\u{ord(match[0]):04x}", document)


def columns() -> int:
    """Return how wide the terminal is; COLUMNS counts first, and without a terminal it is 80."""
    from shutil import get_terminal_size

    return get_terminal_size().columns


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    columns_of = [
        0 if category(letter) in ("Mn", "Me", "Cf") else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    ]
    # A selector after a narrow letter asks for its picture, which is wide.
    return sum(columns_of) + sum(columns_of[place - 1] == 1 for place, letter in enumerate(text) if letter == "\ufe0f")


def cut(text: str, room: int) -> str:
    """Return a text in at most so many columns, cut after a word and marked with … where it is longer.

    A first word that is too long, and scripts that are written without spaces, are cut after a letter.
    """
    if width(text) <= room:
        return text
    head = ""
    for letter in text:
        if width(head + letter) > room - 1:
            break
        head += letter
    if text[len(head)] != " " and width(head[-1:]) == 1 and " " in head:
        head = head.rpartition(" ")[0]
    return head.rstrip(" ,;:·") + "…"


def wrapped(text: str, indent: int = 2) -> str:
    """Return a text wrapped for the terminal, the lines after the first one indented; elsewhere as it is.

    It is wrapped at spaces outside of `commands`, and between letters of scripts that are written without spaces, so
    that ids, paths and commands stay whole.
    """
    import re

    if not is_watched():
        return text
    room = max(columns() - indent, 20)
    lines = [""]
    for unit in re.findall(rf"\s*(?:[{_UNSPACED}]|(?:`[^`]*`|[^\s{_UNSPACED}])+)", text):
        if lines[-1] and width(lines[-1] + unit) > room:
            lines.append(unit.strip())
        else:
            lines[-1] += unit
    return f"\n{' ' * indent}".join(lines)


def beside(texts: Sequence[str], gap: str) -> str:
    """Return texts side by side, on a terminal those that do not fit on lines below; a longer one is wrapped."""
    lines = [""]
    for text in texts:
        if not lines[-1]:
            lines[-1] = wrapped(text, 4)
        elif width(f"{lines[-1]}{gap}{text}") <= columns() - 2 * (len(lines) > 1):
            lines[-1] += f"{gap}{text}"
        else:
            lines.append(wrapped(text, 4))
    return "\n  ".join(lines)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], flexible: int = -1) -> None:
    """Print a table as wide as the terminal; the column numbered `flexible` is cut to fit.

    Columns that do not fit beside those before them are on a line below, as their heads are.
    """
    room = columns()
    cells = [[visible(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    least = [min(wide, LEAST) if column == flexible else wide for column, wide in enumerate(widths)]
    lines: list[list[int]] = [[]]
    for column, wide in enumerate(least):
        taken = sum(least[other] + 2 for other in lines[-1]) + 2 * (len(lines) > 1)
        if lines[-1] and taken + wide > room:
            lines.append([])
        lines[-1].append(column)
    for number, line in enumerate(lines):
        if flexible in line:
            free = room - 2 * (number > 0) - sum(least[other] + 2 for other in line if other != flexible)
            widths[flexible] = min(widths[flexible], max(free, LEAST))
    for number, row in enumerate(cells):
        for indent, line in enumerate(lines):
            padded = [cut(row[column], widths[column]) if column == flexible else row[column] for column in line]
            padded = [cell + " " * (widths[column] - width(cell)) for column, cell in zip(line, padded, strict=True)]
            text = f"{'  ' * (indent > 0)}{'  '.join(padded)}".rstrip()
            if text:
                print(styled(text, "1") if number == 0 else text)


LEAST = 24
"""Columns of a text below which a table puts it on a line of its own."""


def _tell(text: str) -> None:
    """Write to stderr; where that is full nobody can be told."""
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise
    except OSError:
        return


def note(text: str) -> None:
    """Print one line on stderr; a line end within it, as names of files may have, is escaped."""
    line = visible(text).replace("\n", "\\x0a")
    _tell(f"mem: {line}\n")


def notes(texts: Iterable[str]) -> None:
    """Print lines on stderr, each as `note` does."""
    for text in texts:
        note(text)


def problems(lines: Sequence[object]) -> None:
    """Print in one line that something could not be read; an agent pays for every line it is told each turn."""
    if lines:
        others = f" (and {len(lines) - 1} more: run `mem check`)" if len(lines) > 1 else ""
        note(f"{lines[0]}{others}")


def failure(error: MemError, arguments: Sequence[str] = (), *, as_json: bool) -> None:
    """Print on stderr what went wrong and what mends it, without the secrets among the words of the command."""
    from ..api.workspace import unsaid

    if as_json:
        message, fix = unsaid(error.message, arguments), unsaid(error.fix, arguments)
        document: ErrorDocument = {"error": {"code": error.code, "message": message, "fix": fix}}
        _tell(f"{json.dumps(document, ensure_ascii=False)}\n")
    else:
        note(unsaid(str(error), arguments))


class Bar:
    """Progress on a terminal's stderr; silent elsewhere, and where TERM=dumb says that a line cannot be redrawn."""

    def __init__(self, label: str) -> None:
        """Take a label."""
        self.label = label
        self.shown = False
        self._drawn = 0.0
        self._first = 0.0, 0  # when it was called first, and how much was done then
        self._done = sys.maxsize

    def __call__(self, done: int, total: int) -> None:
        """Show how much is done, ten times a second at most, and after a second how long the rest will take."""
        now = time.monotonic()
        if done <= self._done:  # another workspace begins
            self._first, self._drawn = (now, done), 0.0
        self._done = done
        if (now - self._drawn >= 0.1 or done == total) and to_terminal(sys.stderr) and os.environ.get("TERM") != "dumb":
            self.shown, self._drawn = True, now
            spent, steps = now - self._first[0], done - self._first[1]
            left = max(1, round(spent * (total - done) / steps)) if spent >= 1 and steps and done < total else 0
            estimate = f", {left} s left" if 0 < left < 100 else f", {round(left / 60)} min left" if left else ""
            _tell(f"\r\x1b[K{self.label} {done:,} of {total:,}{estimate}")

    def clear(self) -> None:
        """Erase the line."""
        if self.shown:
            _tell("\r\x1b[K")


def flush() -> None:
    """Flush stdout and stderr, so that a closed pipe or a full disk is noticed here."""
    sys.stdout.flush()
    _tell("")


def cannot_print(error: OSError) -> bool:
    """Return whether an error is that stdout takes nothing more, as on a full disk."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return error.filename is None and error.errno in _FULL  # of a stream without a buffer nothing is left to flush


ending: Callable[[int], object] | None = None
"""What is told the exit code before a process ends; of a fork, which has somebody waiting for it."""


def leave(code: int = 0) -> NoReturn:
    """End the process at once, without waiting for threads and without freeing its memory."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # reported already, or closed by the caller
            stream.flush()
    if ending:
        ending(code)
    os._exit(code)


MOST_SECRETS = 20
"""Secrets that are listed one by one."""


def judge_progress() -> Callable[[int, int], None]:
    """Return what shows how many questions the judge has answered, where there are several."""
    bar = Bar("questions answered by the LLM:")

    def progress(done: int, total: int) -> None:
        if done < total and total > 1:
            bar(done, total)
        else:
            bar.clear()

    return progress


def tell_unheard(error: str) -> None:
    """Say that an LLM did not judge, and who did."""
    if error:
        note(f"the LLM could not judge ({error}): the rules did")


def relations(
    supersedes: Sequence[str] = (),
    superseded_by: str = "",
    conflicts_with: Sequence[str] = (),
) -> str:
    """Say what became of other memories through one: `supersedes mem_…; conflicts with mem_…`."""
    ids_by_relation = {
        "supersedes": supersedes,
        "superseded by": [superseded_by] if superseded_by else [],
        "conflicts with": conflicts_with,
    }
    return "; ".join(f"{relation} {', '.join(ids)}" for relation, ids in ids_by_relation.items() if ids)


def counted(admitted: Sequence["Admitted"]) -> str:
    """Count what was more than made anew: `2 merged, 1 superseded`; empty where all was."""
    numbers = {
        "forgotten": sum(admission.action == "forgotten" for admission in admitted),
        "held back": sum(admission.action == "held" for admission in admitted),
        "waiting for a yes": sum(admission.action == "waits" for admission in admitted),
        "merged": sum(admission.action == "merged" for admission in admitted),
        "superseded": sum(len(admission.supersedes) + bool(admission.superseded_by) for admission in admitted),
        "in conflict": sum(bool(admission.conflicts_with) for admission in admitted),
    }
    return ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number)


def tell_redacted(redacted: Sequence["Redacted"]) -> None:
    """Say on stderr where a secret stood and which rule saw it, since it cannot be had back."""
    for secret in redacted[:MOST_SECRETS]:
        note(str(secret))
    if len(redacted) > MOST_SECRETS:
        note(f"and {number_of(len(redacted) - MOST_SECRETS, 'more secret')} redacted: --json lists them")
