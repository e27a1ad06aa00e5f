"""mem check: find problems in files, and fix them."""

from typing import Annotated

from typer import Option

from ..api import open_existing
from ..context import Context
from ..errors import UsageError
from ..upkeep.check import Finding, find_problems, find_staged_problems, fix_problems
from .render import Result

FIELDS = (*Finding.__dataclass_fields__, "problems", "fixed", "undo")


def run_check(
    context: Context,
    fix: Annotated[
        bool, Option("--fix", help="Fix what has one right answer, without losing a text.")
    ] = False,
    staged: Annotated[
        bool, Option("--staged", help="Check the files that git is about to commit.")
    ] = False,
) -> Result:
    """Find problems in files: bad YAML, secrets, conflict markers, forgotten memories.

    --fix adds missing ids, gives copies an id of their own, corrects relations and lines of
    MEMORY.md, and removes what killed commands left.
    """
    if fix and staged:
        raise UsageError("--fix and --staged cannot be used together")
    workspace = open_existing(context)
    lines: list[str] = []
    messages: list[str] = []
    fixed: list[Finding] = []
    number = 0
    # First, so that the findings below no longer contain what was fixed.
    if fix:
        fixes, messages, result = fix_problems(workspace)
        fixed = [Finding(item.path, item.line, item.reason) for item in fixes]
        lines = [f"Fixed: {item.path}: {item.reason}" for item in fixed]
        number = result.number
        if len(result.paths) > 1:
            lines.append("Undo: mem undo")
    findings = find_staged_problems(workspace) if staged else find_problems(workspace)
    lines += [f"{finding.path}:{finding.line}: {finding.reason}" for finding in findings]
    rows = [[f"{item.path}:{item.line}", f"fixed: {item.reason}"] for item in fixed]
    rows += [[f"{finding.path}:{finding.line}", finding.reason] for finding in findings]
    return Result(
        {"problems": findings, "fixed": fixed, "undo": number},
        lines,
        rows,
        messages,
        exit_code=1 if findings else 0,
        # git shows this at each commit.
        nothing="" if staged else "No problems found.",
    )
