"""Find problems in the files of a workspace."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..formats.text import Problem, decode, find_conflict_line
from ..index.index import Index, open_index
from ..index.scan import scan_workspace
from ..store.gates import find_secret_problems
from ..store.git import run_git
from ..store.workspace import Workspace
from .fixes import find_dangling, find_page_fixes, find_session_fixes, find_without_id


@dataclass(frozen=True)
class Finding:
    """A problem in a file."""

    path: str
    line: int
    reason: str


def find_problems(workspace: Workspace) -> list[Finding]:
    """Return the problems of all files, by path and line."""
    index = open_index(workspace)
    findings = [
        Finding(path, problem.line, problem.reason) for path, problem in index.list_problems()
    ]
    findings += find_shared_ids(index)
    findings += [
        Finding(path, 1, f"{key} names {other}, which does not exist")
        for path, key, other in find_dangling(index)
    ]
    findings += [
        Finding(path, 1, "has no id: if it is renamed, it counts as another memory")
        for path, _ in find_without_id(index)
    ]
    findings += [
        Finding(fix.path, fix.line, fix.reason)
        for fix in (*find_page_fixes(workspace), *find_session_fixes(workspace))
    ]
    for path in scan_workspace(workspace).leftovers:
        findings.append(Finding(path, 1, "a temporary file of a killed command"))
    return sorted(findings, key=lambda finding: (finding.path, finding.line))


def find_shared_ids(index: Index) -> list[Finding]:
    rows = index.run(
        "select path, id from entries join files using(file) where id in"
        " (select id from entries group by id having count(*) > 1)"
    )
    return [Finding(path, 1, f"another file has the id {entry_id} too") for path, entry_id in rows]


def find_staged_problems(workspace: Workspace) -> list[Finding]:
    """Return secrets and conflict markers in the files that git is about to commit.

    In a linked worktree, these are its own files, not those of the main worktree.
    """
    # Deleted files cannot contain anything.
    names = run_git(
        workspace.context.folder, "diff", "--cached", "--name-only", "-z", "--diff-filter=ACMR"
    )
    findings = []
    for name in names.decode("utf-8", "surrogateescape").split("\0"):
        if not name:
            continue
        text, problem = decode(run_git(workspace.context.folder, "show", f":{name}"))
        problems: Sequence[Problem] = [problem] if problem else []
        conflict = find_conflict_line(text)
        if conflict is not None:
            problems = [*problems, Problem(conflict, "a git conflict marker")]
        problems = [*problems, *find_secret_problems(workspace, text)]
        findings += [Finding(name, item.line, item.reason) for item in problems]
    return findings
