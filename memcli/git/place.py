"""The place a session works at: the top of its repository."""

from contextlib import suppress
from pathlib import Path


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


def commit_mark(folder: Path) -> str:
    """Return what is another when the repository of a folder went to another commit; empty where there is none."""
    top, git = _repository(folder.absolute())
    files = [git / name for name in ("HEAD", "logs/HEAD")] if git != top else []
    return " ".join(str(file.stat().st_mtime_ns) for file in files if file.exists())
