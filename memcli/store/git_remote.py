"""Fetch from a remote and push to it: one branch, by the user's own ssh and credential helpers, within a time.

A history that somebody changed on the remote since the last time is told, and left to a person.
"""

from contextlib import suppress

from ..errors import RefusedError
from .git_changes import Done, attempt, change, unreachable, without_passwords
from .git_commit import commit_of
from .local_log import replace_text, text_of
from .repository import Repository
from .workspace import Workspace

_FETCHED = "refs/worktree/mem-fetched"
_SYNCED = "synced"
"""Holds remotes, branches and the last commit both sides had: they tell a history that was rewritten, nothing else."""
_MOST = 20  # other branches of remotes that are remembered
_FASTER = ("fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "incorrect old value")
_UNREACHED = ("Could not read from remote repository", "unable to access", "Authentication failed")


def fetched(repository: Repository, remote: str, local: str, branch: str, seconds: float) -> str:
    """Fetch a branch and return its last commit; empty if the remote has no branch at all.

    Raise UnavailableError if it cannot be reached, RefusedError if it has only other branches.
    """
    top = repository.top
    words = ("fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules", "--no-write-fetch-head")
    done = attempt(top, *words, "--", remote, f"+refs/heads/{branch}:{_FETCHED}", seconds=seconds)
    if not done.code:
        theirs = commit_of(repository, _FETCHED)
        attempt(top, "update-ref", "-d", _FETCHED)
        return theirs
    if "couldn't find remote ref" not in done.said:
        raise unreachable(done, remote)
    listed = attempt(top, "ls-remote", "--heads", "--", remote, seconds=seconds)
    names = [line.partition("refs/heads/")[2] for line in listed.out.decode("utf-8", "replace").splitlines()]
    if names:
        fix = f"`git switch {names[0]}`, or push this branch once: `git push -u {remote} {local}:{branch}`"
        raise RefusedError(f"{without_passwords(remote)} has no branch {branch}, but {', '.join(names)}", fix)
    return ""


def push(repository: Repository, remote: str, local: str, branch: str, head: str, seconds: float) -> bool:
    """Push a commit to a branch; return False if another machine was faster.

    A branch that follows none follows this one from then on. Raise UnavailableError or RefusedError, saying why, where
    trying again does not help.
    """
    words = ("push", "--porcelain", "--no-signed", "--no-recurse-submodules", "--no-follow-tags")
    done = attempt(repository.top, *words, "--", remote, f"{head}:refs/heads/{branch}", seconds=seconds)
    if done.code:
        return _was_faster(done, without_passwords(remote), branch)
    if remote in repository.remotes and local not in repository.tracked:
        attempt(repository.top, "branch", "--quiet", f"--set-upstream-to={remote}/{branch}", local)
    return True


def _was_faster(done: Done, remote: str, branch: str) -> bool:
    """Return False where a push was late; raise what keeps it from ever going through."""
    rows = [line.split("\t") for line in done.out.decode("utf-8", "replace").splitlines() if line.startswith("!")]
    reason = rows[0][2].strip() if rows and len(rows[0]) > 2 else ""
    told = f"{reason} {done.said}"
    if any(word in told for word in _FASTER):
        return False
    if "branch is currently checked out" in told:
        fix = "push to one made with `git init --bare`"
        raise RefusedError(f"{remote} is no bare repository: its branch {branch} is checked out", fix)
    if reason:
        said = next((line.removeprefix("remote: ") for line in done.lines if line.startswith("remote: ")), "")
        why = f"{reason} ({said})" if said else reason
        raise RefusedError(f"{remote} refuses the push: {why}", "memory is committed here; ask who keeps the remote")
    if any(word in done.said for word in _UNREACHED):
        raise unreachable(done, remote)
    why = f" ({done.lines[0]})" if done.lines else ""
    raise RefusedError(f"the push to {remote} was stopped{why}", "see `git push` there; memory is committed here")


def require_not_taken_back(
    workspace: Workspace, repository: Repository, remote: str, branch: str, ours: str, theirs: str, push: str
) -> None:
    """Raise RefusedError where what we have would bring commits back that a branch of a remote had and has no more.

    What it had is what both sides had after an exchange, and what git's own log of the branch remembers here. A merge
    that a person made of a history that was rewritten goes through; `push` is the command that puts commits back.
    """
    seen = {*_synced(workspace).get((without_passwords(remote), branch), ()), *_logged(repository, remote, branch)}
    span = change(repository.top, "rev-list", "--topo-order", ours, *([f"^{theirs}"] if theirs else []))
    lost = next((commit for commit in span.decode().split() if commit in seen), "")
    if not lost:
        return
    name = f"{without_passwords(remote)}/{branch}"
    if not theirs:
        raise RefusedError(f"{name} is no longer there, and was when it was last seen here", f"`{push}` makes it again")
    reset = f"`git reset --hard {theirs[:12]}` takes what is there"
    if _follows(repository, lost, theirs):
        count = change(repository.top, "rev-list", "--count", f"{theirs}..{lost}").decode().strip()
        what = f"{name} was put back by {count} commit{'s' * (count != '1')} since it was last seen here"
        raise RefusedError(what, f"{reset}, `{push}` puts them there again")
    is_cut_off = repository.is_shallow and attempt(repository.top, "merge-base", ours, theirs).code  # nobody can tell
    if not _follows(repository, ours, theirs) and not is_cut_off:
        fix = f"`git merge {theirs[:12]}` keeps both, {reset}"
        raise RefusedError(f"the history of {name} was rewritten since it was last seen here", fix)


def _follows(repository: Repository, commit: str, other: str) -> bool:
    return not attempt(repository.top, "merge-base", "--is-ancestor", other, commit).code


def _logged(repository: Repository, remote: str, branch: str) -> set[str]:
    """Return the commits that git fetched of a branch or pushed to it, as long as it remembers them.

    It is its file that is read: of the first one only that tells what a clone brought.
    """
    if remote not in repository.remotes:
        return set()
    try:
        log = (repository.common / "logs/refs/remotes" / remote / branch).read_bytes()
    except OSError:
        return set()
    return {name for line in log.decode("utf-8", "replace").splitlines() for name in line.split(" ", 2)[:2]}


def _synced(workspace: Workspace) -> dict[tuple[str, str], list[str]]:
    """Return the last commit that was exchanged with each branch of a remote."""
    rows = (line.split("\t") for line in text_of(workspace, _SYNCED).splitlines())
    return {(row[0], row[1]): row[2:] for row in rows if len(row) == 3}


def note_commit(workspace: Workspace, remote: str, branch: str, commit: str) -> None:
    """Note that both sides have a commit; where that cannot be written, git's log alone tells of it."""
    known = _synced(workspace)
    place = (without_passwords(remote), branch)
    if known.pop(place, []) != [commit]:
        rows = [*list(known.items())[-_MOST:], (place, [commit])]
        with suppress(OSError):
            replace_text(workspace, _SYNCED, "".join("\t".join((*where, *made)) + "\n" for where, made in rows))
