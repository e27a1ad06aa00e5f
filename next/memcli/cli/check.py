"""mem check: find problems in files, and fix them."""

from typing import Annotated

from typer import Option

from ..api import open_target
from ..context import Context
from ..errors import UsageError
from ..upkeep.checks import Finding, check_staged_files, check_workspace, remove_leftovers
from .render import Result

FIELDS = tuple(Finding.__dataclass_fields__)


def run_check(
    context: Context,
    fix: Annotated[
        bool, Option("--fix", help="Fix the problems that have one right answer.")
    ] = False,
    staged: Annotated[
        bool, Option("--staged", help="Check the files that git is about to commit.")
    ] = False,
) -> Result:
    """Find problems in files: bad YAML, secrets, conflict markers, forgotten memories."""
    if fix and staged:
        raise UsageError("--fix and --staged exclude each other")
    workspace = open_target(context)
    fixed = remove_leftovers(workspace) if fix else []
    findings = check_staged_files(workspace) if staged else check_workspace(workspace)
    lines = [f"Removed: {path}" for path in fixed]
    lines += [f"{finding.path}:{finding.line}: {finding.reason}" for finding in findings]
    rows = [[f"{finding.path}:{finding.line}", finding.reason] for finding in findings]
    if not lines:
        lines = ["No problems found."]
    return Result(
        {"problems": findings, "fixed": fixed}, lines, rows, exit_code=1 if findings else 0
    )
