"""mem check: find problems in files, and fix them."""

from typing import Annotated

from typer import Option

from ..api import open_existing
from ..context import Context
from ..errors import UsageError
from ..index.scan import remove_leftovers
from ..upkeep.checks import Finding, find_problems, find_staged_problems
from .render import Result

FIELDS = tuple(Finding.__dataclass_fields__)


def run_check(
    context: Context,
    fix: Annotated[
        bool, Option("--fix", help="Delete temporary files left by killed commands.")
    ] = False,
    staged: Annotated[
        bool, Option("--staged", help="Check the files that git is about to commit.")
    ] = False,
) -> Result:
    """Find problems in files: bad YAML, secrets, conflict markers, forgotten memories."""
    if fix and staged:
        raise UsageError("--fix and --staged cannot be used together")
    workspace = open_existing(context)
    # First, so that the findings below no longer contain what was fixed.
    fixed = remove_leftovers(workspace) if fix else []
    findings = find_staged_problems(workspace) if staged else find_problems(workspace)
    lines = [f"Removed: {path}" for path in fixed]
    lines += [f"{finding.path}:{finding.line}: {finding.reason}" for finding in findings]
    rows = [[f"{finding.path}:{finding.line}", finding.reason] for finding in findings]
    if not lines:
        lines = ["No problems found."]
    return Result(
        {"problems": findings, "fixed": fixed}, lines, rows, exit_code=1 if findings else 0
    )
