"""Find lines by exact text or expression, in every file, through the gate of the index."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..index import Filter, build_sql, open_index
from ..store import Workspace

EXPRESSION_SECONDS = 10.0
HUGE_COUNT = re.compile(r"\{[^}]*\d{4}")
LONGEST_LINE = 300  # characters shown of a line


@dataclass(frozen=True)
class Line:
    """A line that matches."""

    path: str
    line: int
    text: str
    id: str = ""


def grep(
    workspaces: Sequence[Workspace],
    pattern: str,
    wanted: Filter,
    *,
    is_expression: bool = False,
    ignore_case: bool = True,
    limit: int = 0,
) -> tuple[list[Line], list[str]]:
    """Return the matching lines in the order of their paths, and messages."""
    search_line = build_matcher(pattern, is_expression, ignore_case)
    lines: list[Line] = []
    messages: list[str] = []
    where, values = build_sql(wanted)
    # lower() of SQLite knows ASCII only, so other patterns are left to Python.
    if not is_expression and pattern.isascii():
        # SQLite rules out most files before Python looks at their lines.
        where += " and instr(lower(text), ?) > 0"
        values.append(pattern.lower())
    for workspace in workspaces:
        index = open_index(workspace)
        messages += index.messages
        rows = index.run(
            "select path, text, id from files join texts using(file) left join entries using(file)"
            f" where {where} order by path",
            values,
        )
        for path, text, entry_id in rows:
            for number, line in enumerate(text.split("\n"), 1):
                try:
                    match = search_line(line)
                except TimeoutError:
                    messages.append(f"{path}:{number}: the expression takes too long; stopped here")
                    return lines, messages
                if match:
                    lines.append(Line(path, number, cut_line(line, match), entry_id or ""))
                    if limit and len(lines) >= limit:
                        return lines, messages
    return lines, messages


def build_matcher(pattern: str, is_expression: bool, ignore_case: bool) -> Callable[[str], Any]:
    """Return the function that searches a line. It raises TimeoutError if that takes too long."""
    flags = re.IGNORECASE if ignore_case else 0
    if not is_expression:
        return re.compile(re.escape(pattern), flags).search
    # The standard library cannot stop an expression such as (a|aa)+$ on a long line.
    import regex

    if HUGE_COUNT.search(pattern):
        raise UsageError("the expression repeats something more than 999 times")
    try:
        expression = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except (regex.error, RecursionError) as error:
        raise UsageError(f"bad expression: {error}", "search for plain text without -E") from None
    deadline = time.monotonic() + EXPRESSION_SECONDS
    return lambda line: expression.search(line, timeout=max(deadline - time.monotonic(), 0.001))


def cut_line(line: str, match: Any) -> str:
    """Return a line, or the part of a long one around its match."""
    line = line.rstrip("\r")
    if len(line) <= LONGEST_LINE:
        return line
    start = max(0, match.start() - LONGEST_LINE // 3)
    end = start + LONGEST_LINE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
