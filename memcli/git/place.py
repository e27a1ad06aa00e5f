"""The place a session works at: the top of its repository, and the files that changed there last."""

from contextlib import suppress
from pathlib import Path
from time import monotonic

from ..errors import GitError

_COMMITS, _CHANGED = 3, 40  # the last commits that are looked at, and files of them


def place_of(folder: Path) -> Path:
    """Return the top of the repository a folder lies in, the main one of a linked worktree; else the folder itself."""
    for parent in (folder, *folder.parents):
        mark = parent / ".git"
        if mark.is_dir():
            return parent
        if mark.is_file():
            with suppress(OSError):
                _, _, target = mark.read_text("utf-8", "replace").partition("gitdir: ")
                main, _, worktree = target.strip().partition("/.git/worktrees/")
                if worktree:
                    return Path(main)
            return parent
    return folder


def changed_lately(folder: Path, seconds: float) -> tuple[str, ...]:
    """Return the paths of a repository that are changed, or that its last commits changed; nothing without git.

    Git is stopped after so many seconds, and what it told by then is returned.
    """
    from . import run  # late: most places are asked for their name alone

    end = monotonic() + seconds
    paths: dict[str, None] = {}
    with suppress(GitError):
        status = run.run(folder, "status", "--porcelain", "-z", "--untracked-files=no", seconds=seconds)
        paths.update((line[3:], None) for line in run.split(status))
        left = max(end - monotonic(), 0.001)
        named = run.run(folder, "log", f"-{_COMMITS}", "--format=", "--name-only", "-z", seconds=left)
        paths.update(dict.fromkeys(run.split(named)))
    return tuple(paths)[:_CHANGED]
