"""The place a session works at: the top of its repository, and the files that changed there last."""

import json
from contextlib import suppress
from pathlib import Path

from ..errors import GitError
from ..store import access_log
from ..store.workspace import Workspace

_COMMITS, _CHANGED = 3, 40  # the last commits that are looked at, and files of them
_SECONDS = 0.5
_NOTED = "changed"  # file of derived data: what git told, and for which state of the repository


def place_of(folder: Path) -> Path:
    """Return the top of the repository a folder lies in, the main one of a linked worktree; else the folder itself."""
    top, git = _repository(folder)
    if git in (top, top / ".git") or git.parent.name != "worktrees":
        return top
    main = git.parent.parent  # of a linked worktree git's folder is MAIN/.git/worktrees/NAME
    return main.parent if main.name == ".git" else main


def _repository(folder: Path) -> tuple[Path, Path]:
    """Return the top of the worktree a folder lies in, and its folder of git; twice the folder where there is none."""
    for top in (folder, *folder.parents):
        git = top / ".git"
        if git.is_dir():
            return top, git
        with suppress(OSError):
            _, marked, target = git.read_text("utf-8", "replace").partition("gitdir: ")
            if marked:
                return top, (top / target.strip()).resolve()
    return folder, folder


def changed_lately(workspace: Workspace) -> tuple[str, ...]:
    """Return the paths that are staged where the workspace was opened, or that the last commits changed.

    Git is asked when the repository changed since, and compares nothing of the worktree, where a filter that the
    repository names would run. What it told stays told, so that the same start has the same bytes. Nothing without git,
    or where the workspace is not trusted.
    """
    top, git = _repository(workspace.folder.absolute())
    if git == top or not workspace.is_trusted:
        return ()
    state = [str(top), *(_time_of(git / name) for name in ("index", "HEAD", "logs/HEAD"))]
    with suppress(ValueError, TypeError, KeyError):
        noted = json.loads(access_log.text_of(workspace, _NOTED))
        if noted["state"] == state:
            return tuple(map(str, noted["paths"]))
    from . import run

    words: list[tuple[str, ...]] = [("diff", "--cached", "--name-only", "-z")]
    if state[-1]:  # there are commits
        words.append(("log", f"-{_COMMITS}", "--format=", "--name-only", "-z"))
    paths: dict[str, None] = {}
    try:
        for each in words:
            paths.update(dict.fromkeys(run.split(run.run(top, *each, seconds=_SECONDS))))
    except GitError:
        return ()
    listed = list(paths)[:_CHANGED]
    with suppress(OSError):
        access_log.replace_text(workspace, _NOTED, json.dumps({"state": state, "paths": listed}))
    return tuple(listed)


def _time_of(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
