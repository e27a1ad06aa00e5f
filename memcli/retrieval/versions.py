"""The versions of a file that git knows of; nothing where it is in no repository."""

from dataclasses import dataclass
from pathlib import Path

from ..errors import GitError
from ..store import git

SECONDS = 5.0
MOST = 50
_FORMAT = "%h%x00%aI%x00%an%x00%s"


@dataclass(frozen=True)
class Version:
    """One commit that changed the file."""

    commit: str
    date: str
    author: str
    subject: str


def versions(file: Path) -> list[Version]:
    """List the commits that changed a file, the newest first, its renames followed."""
    if not any((folder / ".git").exists() for folder in file.parents):
        return []
    words = ("log", "--follow", f"--max-count={MOST}", f"--format={_FORMAT}", "--", file.name)
    try:
        told = git.text(file.parent, *words, seconds=SECONDS)
    except GitError:
        return []
    rows = [line.split("\0") for line in told.split("\n")]
    return [Version(*row) for row in rows if len(row) == 4]
