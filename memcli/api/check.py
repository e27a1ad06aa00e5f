"""Find what is wrong with the files of a workspace, and fix what has one right answer."""

from collections.abc import Sequence
from typing import Annotated

from ..beliefs.citations import Cited as Cited
from ..beliefs.citations import cited as citations
from ..beliefs.citations import refresh_plan
from ..beliefs.plan import Plan, applied, as_diff
from ..dataclass import dataclass
from ..errors import NotFoundError
from ..git.repository import changed_files, left_behind, since
from ..git.run import Staged, staged
from ..maintenance import checks
from ..maintenance.invariants import Fault as Fault
from ..maintenance.rivals import with_conflicts
from ..results import Diff, Result
from .workspace import Workspace, locate, recorded

ALL = "all"
"""Instead of an entry's name: every entry."""


@dataclass(frozen=True)
class CheckReport(Result):
    """What is wrong, and what was fixed."""

    problems: Annotated[tuple[Fault, ...], "what is wrong with files"]  # those that are left
    files: Annotated[int, "how many files"]  # looked at
    fixed: Annotated[tuple[str, ...], "what was mended"] = ()
    diff: Diff = ""  # of the fixes asked for
    nameless: int = 0  # entries whose only id is their path, where `fix` would give them one


@recorded("check")
def check(workspace: Workspace, *, secrets: bool = False, fix: bool = False, dry_run: bool = False) -> CheckReport:
    """Check every file of a workspace, and the index; with `fix` change what has one right answer.

    With `secrets` conversations and what is staged for git are searched for secrets too. `dry_run` only shows the fixes
    as a diff. Raise RefusedError if a file changed in the middle of it.
    """
    checked, merge = with_conflicts(workspace, checks.check(workspace))
    plan = Plan()
    if fix:
        plan = checks.mend_plan(workspace, checked.readings, checked.faults)
        plan = merge.plan(workspace, checked, plan)
    fixed = checks.fix(workspace, checked.faults, plan) if fix and not dry_run else ()
    if fixed:
        merge.finish(workspace)
        checked, merge = with_conflicts(workspace, checks.check(workspace))
        if second_plan := merge.plan(workspace, checked, Plan()):  # what came back into use may fill another's key
            fixed += checks.fix(workspace, (), second_plan)
            checked, _ = with_conflicts(workspace, checks.check(workspace))
    hidden = [Fault(path, 1, reason, "hidden") for path, reason in left_behind(workspace).items()]
    faults = (*checked.faults, *hidden, *checks.leaks_in(workspace, everywhere=secrets))
    is_own = workspace.layout.is_mems and not fix
    nameless = sum(map(checks.lacks_id, checked.readings)) if is_own else 0
    return CheckReport(faults, len(checked.readings), fixed, as_diff(plan), nameless)


def check_staged(workspace: Workspace) -> CheckReport:
    """Check the versions of files that git is about to commit, secrets included.

    Raise UsageError if the workspace is in no git repository.
    """
    return _check_some(workspace, staged(workspace, workspace.environ, workspace.folder))


def check_since(workspace: Workspace, revision: str) -> CheckReport:
    """Check the files that changed since a commit, secrets included; `main...` names where they left main.

    Raise UsageError if there is no such commit, or the workspace is in no git repository.
    """
    files = changed_files(workspace, *since(workspace, revision))
    return _check_some(
        workspace, [Staged(file.path, file.after, file.is_link) for file in files if file.after is not None]
    )


def _check_some(workspace: Workspace, files: Sequence[Staged]) -> CheckReport:
    checked = checks.check_some(workspace, files)
    texts = [(file.path, file.data.decode("utf-8", "replace")) for file in files if not file.is_link]
    nameless = sum(map(checks.lacks_id, checked.readings)) if workspace.layout.is_mems else 0
    return CheckReport((*checked.faults, *checks.leaks(workspace, texts)), len(checked.readings), nameless=nameless)


@dataclass(frozen=True)
class CitedReport(CheckReport):
    """The cited lines that are not what they were."""

    cited: tuple[Cited, ...] = ()
    accepted: tuple[str, ...] = ()  # what was, or for a dry run would be, accepted, a line each


@recorded("check --refresh")
def check_cited(workspace: Workspace, *, accept: str = "", dry_run: bool = False) -> CitedReport:
    """Compare the lines that memories cite with the files; `accept` what an entry, or `ALL`, cites as it is now.

    Raise NotFoundError and AmbiguousError for the entry's name, RefusedError if its file changed meanwhile.
    """
    cited = citations(workspace)
    plan = Plan()
    if accept:
        identifier = accept if accept == ALL else _entry(workspace, accept)
        plan = refresh_plan(
            workspace, [citation for citation in cited if identifier in (ALL, citation.id, citation.path)]
        )
        if plan and not dry_run:
            applied(workspace, plan, "mem check --refresh")
            cited = citations(workspace)
    left = tuple(line for line in cited if not line.is_moved)
    faults = tuple(Fault(line.path, line.line, line.reason, "cited", line.now is not None) for line in left)
    count = len({fault.path for fault in faults})
    fixed = () if dry_run else plan.reasons
    return CitedReport(faults, count, fixed, as_diff(plan), cited=left, accepted=plan.reasons)


def _entry(workspace: Workspace, name: str) -> str:
    there, address = locate(workspace, name, strict=True)
    if there.layout.kind_of(address.path) != "entry":
        raise NotFoundError(f"{name} is no entry", "`mem check --cited` lists the entries to refresh")
    return address.path
