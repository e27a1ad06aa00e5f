"""Create a workspace."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

from ..context import Context
from ..errors import RejectedError
from .commit import write_atomically
from .machine import build_machine
from .worktrees import find_repository

# git must not carry these, whether the memory is shared or not.
LOCAL_PATHS = (".mem/", "sessions/", "inbox/", "notes/")
HISTORY_PATHS = "HISTORY-*.md"  # until share.history is set
# A memory that is a repository of its own carries these.
SHARED_ONLY_PATHS = ("notes/", HISTORY_PATHS)
OWN_PATHS = ("mem.yaml", "MEMORY.md", "entries/", "purged.txt", HISTORY_PATHS, *LOCAL_PATHS)
FIRST_LINES = {
    "standard": "# Settings of this memory. See: mem config list\n",
    "vault": "# Settings of this memory. See: mem config list\nlayout: vault\n",
    "claude": "# Settings of this memory. See: mem config list\nlayout: claude\n",
}


def create_workspace(
    context: Context,
    root: Path,
    layout: str = "standard",
    *,
    is_private: bool = False,
    is_foreign: bool = False,
) -> bool:
    """Create a workspace in a folder, and trust it unless it came with memories.

    `is_foreign` says that notes in the folder may be somebody else's.

    Returns whether git was told to ignore it. If the user interrupts, nothing stays.
    """
    is_empty = not (root / "MEMORY.md").exists() and not any((root / "entries").rglob("*.md"))
    is_vault = layout != "standard"
    is_new = not is_foreign if is_vault else is_empty
    folder = root / "mem" if is_vault else root
    for path in (root / "mem", folder / ".gitignore", root / "entries"):
        # A clone may bring a link to a private file, whose text git would then carry.
        if path.is_symlink():
            raise RejectedError(f"{path} is a symbolic link", "remove it, then try again")
    names = (root, folder) if is_vault else (root, folder, root / "entries")
    created: list[Path] = []
    try:
        for name in names:
            make_folder(name, created)
        if not (folder / ".gitignore").exists():
            created.append(folder / ".gitignore")
        add_lines(folder / ".gitignore", (*LOCAL_PATHS, HISTORY_PATHS))
        # Before the workspace exists, or git could see it for a moment.
        is_hidden = is_private and hide_from_git(root, layout)
        # Whoever creates a workspace is its user.
        machine = build_machine(root.resolve(), context.state_folder, is_trusted=is_new)
        machine.save_trust(root.resolve(), is_new)
        # Last, because this file makes the folder a workspace.
        write_if_missing(root / "mem.yaml", FIRST_LINES[layout])
    except OSError as error:
        remove_created(created)
        raise RejectedError(f"cannot create a workspace in {root}: {error.strerror}") from None
    except BaseException:
        remove_created(created)
        raise
    return is_hidden


def make_folder(folder: Path, created: list[Path]) -> None:
    """Create a folder and its parents, and add the new ones to `created`."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.is_dir()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        created.append(parent)


def remove_created(created: Sequence[Path]) -> None:
    """Remove the files and folders of a workspace that was not completed."""
    for path in reversed(created):
        with suppress(OSError):
            if path.is_dir():
                rmtree(path / ".mem", ignore_errors=True)
                path.rmdir()
            else:
                path.unlink()


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
    if layout != "standard":
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
