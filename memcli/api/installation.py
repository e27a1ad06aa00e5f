"""Put hooks into the files of agents and of git, and settle whose workspace keeps the conversations of a project.

`propose` makes a `FileChange`, `make` carries several out and refuses a file that changed meanwhile, `diff` shows them.

`install_merge_driver` tells a repository how to merge memories, and `run_merge_driver` is what git runs then.

`default_keeper` is whose workspace keeps a project's conversations unless `record_keeper` settled it; `shared_files`
are those of its files that git would share.
"""

from pathlib import Path

from ..errors import GitError, UsageError
from ..git.merge_driver import ATTRIBUTES, attributes_to_add, mem_path
from ..git.merge_driver import install as install_merge_driver
from ..git.merge_driver import run as run_merge_driver
from ..git.merge_driver import uninstall as uninstall_merge_driver
from ..git.run import hooks_folder
from ..store.conversation_keeper import KEEPERS, default_keeper, is_shared, record_keeper, shared_files
from ..store.file_changes import FileChange, diff, make, propose, read_bytes, read_text
from ..store.workspace import Surroundings, Workspace


def attributes_plan(workspace: Workspace) -> list[FileChange]:
    """Propose the lines that tell git which files of a workspace `mem merge-driver` merges, where they are missing."""
    path = workspace.root / ATTRIBUTES
    old, fresh = read_bytes(path) or b"", attributes_to_add(workspace.root)
    gap = b"\n" if old and not old.endswith(b"\n") else b""
    return [propose(path, old + gap + fresh.encode())] if fresh else []


def git_hooks_folder(folder: Path) -> Path:
    """Return the folder that git runs the hooks of a folder's repository from, `core.hooksPath` and worktrees heeded.

    Raise UsageError if there is no repository, GitError if git fails.
    """
    try:
        return hooks_folder(folder)
    except GitError as error:
        if "not a git repository" not in error.message:
            raise
        raise UsageError(f"{folder} is not in a git repository", "run it inside one") from None
