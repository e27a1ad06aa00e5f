"""Put hooks into the files of agents and of git, and settle whose workspace keeps the conversations of a project.

`propose` makes a `FileChange`, `make` carries several out and refuses a file that changed meanwhile, `diff` shows them.

`default_keeper` is whose workspace keeps a project's conversations unless `record_keeper` settled it; `shared_files`
are those of its files that git would share.
"""

from pathlib import Path

from ..errors import GitError, UsageError
from ..store.conversation_keeper import KEEPERS, default_keeper, is_shared, record_keeper, shared_files
from ..store.file_changes import FileChange, diff, make, propose, read_bytes, read_text
from ..store.git import hooks_folder
from ..store.workspace import Surroundings, Workspace

__all__ = [
    "KEEPERS",
    "FileChange",
    "Surroundings",
    "Workspace",
    "default_keeper",
    "diff",
    "git_hooks_folder",
    "is_shared",
    "make",
    "propose",
    "read_bytes",
    "read_text",
    "record_keeper",
    "shared_files",
]


def git_hooks_folder(place: Path) -> Path:
    """Return the folder that git runs the hooks of a folder's repository from, `core.hooksPath` and worktrees heeded.

    Raise UsageError if there is no repository, GitError if git fails.
    """
    try:
        return hooks_folder(place)
    except GitError as error:
        if "not a git repository" not in error.message:
            raise
        raise UsageError(f"{place} is not in a git repository", "run it inside one") from None
