"""Find out whether the files that a memory is about changed after it was written."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from ..errors import MemError
from ..formats.dates import parse_time
from ..store.git import run_git
from ..store.workspace import Workspace
from ..store.worktrees import find_repository

MOST_FILES = 3  # each may cost two git processes


def describe_changed_files(
    workspace: Workspace, files: Sequence[str], updated_at: str
) -> list[str]:
    """Return a sentence for each file that changed since: "src/a.py changed since …"."""
    written = parse_time(updated_at)
    repository = find_repository(workspace.context.folder)
    if not files or written is None:
        return []
    folder = repository.top if repository else workspace.root.parent
    sentences = []
    for name in files[:MOST_FILES]:
        path = folder / name
        # A pattern, or a path that leads elsewhere, is no file of this project.
        if name.startswith(("/", "~")) or ".." in Path(name).parts or "*" in name:
            continue
        if not path.exists():
            if repository and is_tracked(folder, name):
                sentences.append(f"{name} was deleted since this was written")
        elif is_newer(folder, path, written, has_git=repository is not None):
            sentences.append(f"{name} changed since this was written")
    return sentences


def is_newer(folder: Path, path: Path, written: datetime, *, has_git: bool) -> bool:
    """Return whether a file's content is newer than a memory."""
    seconds = written.timestamp() + 1  # stored times have no fractions
    if path.stat().st_mtime <= seconds:
        return False
    if not has_git or path.is_dir():
        return not path.is_dir()
    # A checkout or a clone gives every file a new time, so git's date decides.
    name = path.relative_to(folder).as_posix()
    try:
        committed = run_git(folder, "log", "-1", "--format=%ct", "--", name).strip()
        if not committed or float(committed) > seconds:
            return True
        return bool(
            run_git(folder, "--no-optional-locks", "status", "--porcelain", "--", name).strip()
        )
    except MemError:
        return True


def is_tracked(folder: Path, name: str) -> bool:
    """Return whether git knew a file once."""
    try:
        return bool(run_git(folder, "log", "-1", "--format=%h", "--", name).strip())
    except MemError:
        return False
