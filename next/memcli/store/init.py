"""Create a workspace."""

from collections.abc import Sequence
from pathlib import Path

from ..context import Context
from ..errors import RejectedError
from .commit import write_atomically
from .machine import build_machine
from .worktrees import find_repository

# git must not carry these, whether the memory is shared or not.
LOCAL_PATHS = (".mem/", "sessions/", "inbox/", "notes/")
HISTORY_PATHS = "HISTORY-*.md"  # until share.history is set
OWN_PATHS = ("mem.yaml", "MEMORY.md", "entries/", "purged.txt", HISTORY_PATHS, *LOCAL_PATHS)
FIRST_LINES = {
    "standard": "# Settings of this memory. See: mem config list\n",
    "vault": "# Settings of this memory. See: mem config list\nlayout: vault\n",
}


def create_workspace(context: Context, root: Path, layout: str = "standard") -> None:
    """Create a workspace in a folder, and trust it unless it came with memories."""
    is_new = layout == "vault" or not any((root / "entries").rglob("*.md"))
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = root / "mem" if layout == "vault" else root
        folder.mkdir(exist_ok=True)
        add_lines(folder / ".gitignore", (*LOCAL_PATHS, HISTORY_PATHS))
        if layout == "standard":
            (root / "entries").mkdir(exist_ok=True)
        # Last, because this file makes the folder a workspace.
        write_if_missing(root / "mem.yaml", FIRST_LINES[layout])
    except OSError as error:
        raise RejectedError(f"cannot create a workspace in {root}: {error.strerror}") from None
    # Whoever creates a workspace is its user.
    machine = build_machine(root.resolve(), context.state_folder, is_trusted=is_new)
    machine.save_trust(root.resolve(), is_new)


def write_if_missing(path: Path, text: str) -> None:
    if not path.exists():
        write_atomically(path, text.encode())


def add_lines(path: Path, lines: Sequence[str]) -> None:
    """Add the lines that a file does not have yet."""
    text = path.read_text("utf-8", "surrogateescape") if path.exists() else ""
    missing = [line for line in lines if line not in text.splitlines()]
    if missing:
        if text and not text.endswith("\n"):
            text += "\n"
        text += "".join(f"{line}\n" for line in missing)
        write_atomically(path, text.encode("utf-8", "surrogateescape"))


def hide_from_git(root: Path, layout: str) -> bool:
    """List a private workspace in `.git/info/exclude`. Return whether that was possible."""
    repository = find_repository(root)
    if repository is None or repository.main is None:
        return False
    inner = root.relative_to(repository.top.resolve()).as_posix()
    if layout == "vault":
        names: Sequence[str] = ("mem.yaml", "mem/")
    else:
        # A workspace that is the repository itself shares its folder with other files.
        names = OWN_PATHS if inner == "." else ("",)
    prefix = "/" if inner == "." else f"/{inner}/"
    try:
        add_lines(repository.git_folder / "info" / "exclude", [f"{prefix}{name}" for name in names])
    except OSError:
        return False
    return True


def is_vault(folder: Path) -> bool:
    """Return whether a folder is an Obsidian vault or holds Markdown notes."""
    if (folder / ".obsidian").is_dir():
        return True
    return any(
        path.is_file()
        for path in folder.glob("*.md")
        if path.name not in ("README.md", "MEMORY.md")
    )
