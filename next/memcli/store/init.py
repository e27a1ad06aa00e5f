"""Create a workspace."""

import os
from contextlib import suppress
from pathlib import Path

from ..context import Context
from ..errors import RejectedError
from .commit import write_atomically
from .machine import make_machine
from .worktrees import find_repository

GIT_IGNORE = ".mem/\nsessions/\ninbox/\nnotes/\n"
HISTORY_LINE = "HISTORY-*.md\n"  # until share.history is set
FIRST_LINES = {
    "standard": "# Settings of this memory. See: mem config list\n",
    "vault": "# Settings of this memory. See: mem config list\nlayout: vault\n",
}


def create_workspace(context: Context, root: Path, layout: str = "standard") -> None:
    """Create a workspace in a folder, and trust it: its maker is its user."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = root / "mem" if layout == "vault" else root
        folder.mkdir(exist_ok=True)
        write_if_missing(folder / ".gitignore", GIT_IGNORE + HISTORY_LINE)
        if layout == "standard":
            (root / "entries").mkdir(exist_ok=True)
        # Last, because this file makes the folder a workspace.
        write_if_missing(root / "mem.yaml", FIRST_LINES[layout])
    except OSError as error:
        raise RejectedError(f"cannot create a workspace in {root}: {error.strerror}") from None
    machine = make_machine(root.resolve(), context.state_folder, is_trusted=True)
    machine.save_trust(root.resolve(), True)


def write_if_missing(path: Path, text: str) -> None:
    if not path.exists():
        write_atomically(path, text.encode())


def hide_from_git(root: Path) -> bool:
    """List a private workspace in `.git/info/exclude`. Return whether that was possible."""
    repository = find_repository(root)
    if repository is None or repository.main is None:
        return False
    inner = root.relative_to(repository.top.resolve()).as_posix()
    line = "/mem.yaml\n/entries/" if inner == "." else f"/{inner}/"
    exclude = repository.git_folder / "info" / "exclude"
    try:
        text = exclude.read_text("utf-8") if exclude.exists() else ""
    except (OSError, UnicodeDecodeError):
        return False
    if line in text.splitlines():
        return True
    with suppress(OSError):
        write_atomically(exclude, f"{text.rstrip(os.linesep)}\n{line}\n".lstrip("\n").encode())
        return True
    return False


def is_vault(folder: Path) -> bool:
    """Return whether a folder is an Obsidian vault or holds Markdown notes."""
    if (folder / ".obsidian").is_dir():
        return True
    return any(
        path.is_file()
        for path in folder.glob("*.md")
        if path.name not in ("README.md", "MEMORY.md")
    )
