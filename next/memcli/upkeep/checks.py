"""Find problems in the files of a workspace, and fix the ones that have one right answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..formats.text import Problem, decode, find_conflict_line
from ..index.index import Index, open_index
from ..index.scan import scan_workspace
from ..store.gates import find_secret_problems
from ..store.git import run_git
from ..store.workspace import Workspace


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
    findings += find_broken_relations(index)
    for path in scan_workspace(workspace).leftovers:
        findings.append(
            Finding(path, 1, "a temporary file of a killed command: mem check --fix removes it")
        )
    return sorted(findings, key=lambda finding: (finding.path, finding.line))


def find_shared_ids(index: Index) -> list[Finding]:
    rows = index.run(
        "select path, id from entries join files using(file) where id in"
        " (select id from entries group by id having count(*) > 1)"
    )
    return [Finding(path, 1, f"another file has the id {entry_id} too") for path, entry_id in rows]


def find_broken_relations(index: Index) -> list[Finding]:
    """Return the entries that name an id that no file has."""
    rows = index.run(
        "select files.path, 'superseded_by', superseded_by from entries join files using(file)"
        " where superseded_by <> '' and superseded_by not in (select id from entries)"
        " union all select files.path, 'conflicts_with', value from entries join files using(file),"
        " json_each(conflicts_with) where value not in (select id from entries)"
    )
    return [
        Finding(path, 1, f"{field} names {other}, which does not exist")
        for path, field, other in rows
    ]


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
