"""Find problems in the files of a workspace, and fix the ones that have one right answer."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import NotFoundError
from ..formats.text import Problem, decode, find_conflict_line
from ..index.index import Index, open_index
from ..index.scan import scan_workspace
from ..secrets.scanner import scan
from ..store.commit import read_file
from ..store.workspace import Workspace


@dataclass(frozen=True)
class Finding:
    """A problem in a file."""

    path: str
    line: int
    reason: str


def check_workspace(workspace: Workspace) -> list[Finding]:
    """Return the problems of all files, by path and line."""
    index = open_index(workspace)
    findings = [
        Finding(path, problem.line, problem.reason) for path, problem in index.list_problems()
    ]
    findings += find_masked_texts(index)
    findings += find_shared_ids(index)
    findings += find_broken_relations(index)
    for path in scan_workspace(workspace).leftovers:
        findings.append(
            Finding(path, 1, "a temporary file of a killed command: mem check --fix removes it")
        )
    return sorted(findings, key=lambda finding: (finding.path, finding.line))


def find_masked_texts(index: Index) -> list[Finding]:
    """Return the secrets and the hidden passages that arrived without the writer."""
    findings = []
    personal = index.workspace.settings["secrets.personal"]
    rows = index.run("select path, masked, hidden from files where masked > 0 or hidden > 0")
    for path, masked, hidden in rows.fetchall():
        text = read_file(index.workspace, path) or "" if masked else ""
        for secret in scan(text, personal=personal):
            reason = f"{secret.description} ({secret.rule}): masked in every output"
            findings.append(Finding(path, secret.line, reason))
        if hidden:
            findings.append(Finding(path, 1, "repeats a forgotten memory: hidden in every output"))
    return findings


def find_shared_ids(index: Index) -> list[Finding]:
    rows = index.run(
        "select path, id from entries join files using(file) where id in"
        " (select id from entries group by id having count(*) > 1)"
    )
    return [Finding(path, 1, f"another file has the id {entry_id} too") for path, entry_id in rows]


def find_broken_relations(index: Index) -> list[Finding]:
    """Return the entries that name an id that no file has."""
    rows = index.run(
        "select path, superseded_by from entries join files using(file)"
        " where superseded_by <> '' and superseded_by not in (select id from entries)"
    )
    return [
        Finding(path, 1, f"superseded_by names {other}, which does not exist")
        for path, other in rows
    ]


def remove_leftovers(workspace: Workspace) -> list[str]:
    """Delete the temporary files of killed commands, and return their paths."""
    from ..store.commit import hold_lock, remove_temporary_file

    with hold_lock(workspace):
        leftovers = scan_workspace(workspace).leftovers
        for path in leftovers:
            remove_temporary_file(workspace, path)
    return leftovers


def check_staged_files(workspace: Workspace) -> list[Finding]:
    """Return secrets and conflict markers in the files that git is about to commit.

    In a linked worktree, these are its own files, not those of the main worktree.
    """
    names = run_git(workspace, "diff", "--cached", "--name-only", "-z", "--diff-filter=ACMR")
    findings = []
    for name in names.decode("utf-8", "surrogateescape").split("\0"):
        if not name:
            continue
        text, problem = decode(run_git(workspace, "show", f":{name}"))
        problems: Sequence[Problem] = [problem] if problem else []
        conflict = find_conflict_line(text)
        if conflict is not None:
            problems = [*problems, Problem(conflict, "a git conflict marker")]
        findings += [Finding(name, item.line, item.reason) for item in problems]
        for secret in scan(text, personal=workspace.settings["secrets.personal"]):
            findings.append(Finding(name, secret.line, f"{secret.description} ({secret.rule})"))
    return findings


def run_git(workspace: Workspace, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(workspace.context.folder), *arguments],
            capture_output=True,
            timeout=60,
            check=False,
        )
    except OSError:
        raise NotFoundError("git is not installed") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NotFoundError(f"git: {reason[0] if reason else 'failed'}")
    return done.stdout
