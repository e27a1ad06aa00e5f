"""mem grep: find lines by exact text."""

from typing import Annotated

from typer import Argument, Option

from ..api import open_all
from ..context import Context
from ..index import Filter
from ..search.grep import Line, grep
from .terminal import Result

GREP_FIELDS = tuple(Line.__dataclass_fields__)


def run_grep(
    context: Context,
    pattern: Annotated[str, Argument(help="The text to find.")],
    path: Annotated[str, Argument(help="Only files whose path starts with this.")] = "",
    expression: Annotated[
        bool, Option("-E", "--expression", help="The text is a regular expression.")
    ] = False,
    case: Annotated[
        bool,
        Option(
            "--case-sensitive/--ignore-case",
            "-s/-i",
            help="Distinguish upper and lower case; default: no.",
        ),
    ] = False,
    limit: Annotated[
        int | None, Option("-n", "--limit", min=1, help="Show at most this many lines.")
    ] = None,
    all_: Annotated[
        bool, Option("--all", help="Also in forgotten, faded and superseded memories.")
    ] = False,
) -> Result:
    """Find lines by exact text: in memories, MEMORY.md, history, notes and conversations."""
    # A forgotten memory must not come back through grep, unless somebody asks for all.
    wanted = Filter(statuses=() if all_ else ("active",), path=path)
    lines, messages = grep(
        open_all(context),
        pattern,
        wanted,
        is_expression=expression,
        ignore_case=not case,
        limit=limit or 0,
    )
    shown = [f"{line.path}:{line.line}: {line.text}" for line in lines]
    rows = [[f"{line.path}:{line.line}", line.text] for line in lines]
    code = 0 if lines else 1
    return Result({"lines": lines}, shown, rows, messages, [pattern], code, "no match")
