"""Choose the folder of a new workspace, and create the workspace.

The choice depends on the surroundings: a repository, a linked worktree, an Obsidian vault or
another folder of notes, or Claude Code's memory folder.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from ..context import Context
from ..errors import NotFoundError, RejectedError
from .git import Repository, find_remote, find_repository
from .machine import build_machine
from .workspace import MARK, find_explicit_folder
from .writer import write_atomically

# git must not carry these, even if the memory is shared.
LOCAL_PATHS = (".mem/", "sessions/", "inbox/", "notes/")
HISTORY_PATHS = "HISTORY-*.md"  # until share.history is set
# Ignored in a shared memory. A memory that is a repository of its own carries them.
SHARED_ONLY_PATHS = ("notes/", HISTORY_PATHS)
OWN_PATHS = ("mem.yaml", "MEMORY.md", "entries/", "purged.txt", HISTORY_PATHS, *LOCAL_PATHS)
VAULT_PATHS = ("mem.yaml", "mem/")
FIRST_LINE = "# Settings of this memory. See: mem config list\n"
# Markdown files that describe a project. Everybody has some of them, so they make no vault.
PROJECT_PAGES = frozenset(
    "readme changelog contributing license security code_of_conduct agents claude gemini memory"
    " todo".split()
)
ATTACHMENTS = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".pdf", ".canvas", ".base")
# git ignores folders such as `sessions/` in a memory, and code may have one of that name.
CODE = "This folder has other files, so the memory gets its own folder."
EMPTY = "Code may follow in this repository, so the memory gets its own folder."
FEWEST_NOTES = 3
MOST_CHECKED = 2_000  # files, because a home folder has very many


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

    Returns whether git now ignores it. If the user interrupts, nothing stays.
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
        # The user who creates a workspace trusts it.
        machine = build_machine(root.resolve(), context.state_folder, is_trusted=is_new)
        machine.save_trust(root.resolve(), is_new)
        # Last, because this file makes the folder a workspace.
        if not (root / "mem.yaml").exists():
            text = FIRST_LINE + (f"layout: {layout}\n" if is_vault else "")
            write_atomically(root / "mem.yaml", text.encode())
    except OSError as error:
        remove_created(created)
        raise RejectedError(f"cannot create a workspace in {root}: {error.strerror}") from None
    except BaseException:
        remove_created(created)
        raise
    return is_hidden


class Place(NamedTuple):
    """The folder of a new workspace, and its surroundings."""

    root: Path
    layout: str  # standard, vault or claude
    repository: Repository | None
    is_own: bool = False  # the user's own workspace
    is_certain: bool = True  # whether a vault need not be confirmed
    has_few_notes: bool = False  # a vault only if the user confirms it
    reason: str = ""  # why it is not in this folder, for the user

    @property
    def exists(self) -> bool:
        return (self.root / MARK).exists()

    @property
    def has_remote(self) -> bool:
        return self.repository is not None and find_remote(self.repository) != ""

    @property
    def is_perhaps_foreign(self) -> bool:
        """Whether somebody else may have written the notes here, because git can bring them."""
        return self.layout != "standard" and self.has_remote

    @property
    def project_folder(self) -> Path:
        """The folder whose conversations belong to the workspace."""
        if self.repository is not None:
            return (self.repository.main or self.repository.top).resolve()
        return self.root.parent if self.root.name == "memory" else self.root


def choose_place(context: Context, folder: str) -> Place:
    """Return the place where `mem init` creates a workspace. The user may name a `folder`."""
    place = find_place(context, folder)
    if place.root.is_symlink() and not place.is_own:
        # A repository could bring a link to somebody's trusted memory.
        hint = f"to use its target: mem init {place.root.resolve()}"
        raise RejectedError(f"{place.root} is a symbolic link", hint)
    return place


def find_place(context: Context, folder: str) -> Place:
    here = context.folder.resolve()
    if folder:
        root = (context.folder / Path(folder).expanduser()).resolve()
        layout = "vault" if is_vault(root, 1) else "standard"
        place = build_place(root, "claude" if is_claude_folder(root) else layout)
        is_memory = place.exists or layout == "vault" or root.name == "memory"
        others = {path.stem.casefold() for path in root.glob("[!.]*")} - PROJECT_PAGES
        is_top = place.repository is not None and place.repository.top.resolve() == root
        if place.repository and not is_memory and (others or is_top):
            return place._replace(root=root / "memory", reason=CODE if others else EMPTY)
        return place
    if context.common.scope == "user":
        return build_own_place(context)
    explicit = find_explicit_folder(context)
    if explicit:
        return build_place(explicit[0], "standard")
    if is_claude_folder(here):
        return build_place(here, "claude")
    vault = find_vault(here)
    if vault is not None:
        return build_place(vault, "vault")
    if (here / MARK).is_file():
        return build_place(here, "standard")
    repository = find_repository(here)
    if repository is None:
        if not is_vault(here, 1):
            return build_place(here / "memory", "standard")
        has_few_notes = not is_vault(here, FEWEST_NOTES)
        place = build_place(here, "vault")
        return place._replace(is_certain=False, has_few_notes=has_few_notes)
    if repository.main is None:
        reason = "A bare repository has no main worktree, so mem uses your own workspace."
        return build_own_place(context)._replace(reason=reason)
    # A memory in the linked worktree would be deleted with it.
    main = repository.main.resolve()
    reason = "All worktrees share the memory of the main one." if repository.is_linked else ""
    if repository.is_submodule:
        reason = "This submodule gets its own memory."
    if not repository.is_linked and is_vault(main, FEWEST_NOTES):
        return build_place(main, "vault")._replace(is_certain=False)
    home = context.environment.get("HOME", "")
    # Some people keep their whole home folder in a repository.
    top = here if home and main == Path(home).resolve() else main
    return Place(top / "memory", "standard", repository, reason=reason)


def is_vault(folder: Path, fewest: int) -> bool:
    """Return whether a folder is an Obsidian vault or holds Markdown notes, and little else."""
    if (folder / ".obsidian").is_dir():
        return True
    if (folder / "memory").is_dir():
        return False  # a memory, perhaps without its settings file
    notes = others = 0
    for path in islice(list_files(folder), MOST_CHECKED):
        if path.suffix == ".md":
            notes += path.stem.casefold() not in PROJECT_PAGES
        else:
            others += path.suffix.casefold() not in ATTACHMENTS
    return notes >= fewest and notes > others


def is_claude_folder(folder: Path) -> bool:
    """Return whether a folder is Claude Code's memory of a project."""
    return folder.name == "memory" and folder.parts[-4:-2] == (".claude", "projects")


def find_vault(folder: Path) -> Path | None:
    """Return the Obsidian vault around a folder. A repository inside it is not part of it."""
    for parent in (folder, *folder.parents):
        if (parent / ".obsidian").is_dir():
            return parent
        if (parent / ".git").exists():
            return None
    return None


def build_place(root: Path, layout: str) -> Place:
    return Place(root, layout, find_repository(root))


def build_own_place(context: Context) -> Place:
    if context.data_folder is None:
        raise NotFoundError("no HOME for your own workspace", "set HOME")
    return Place(context.data_folder, "standard", None, is_own=True)


def list_files(folder: Path) -> Iterator[Path]:
    """Yield the visible files of a folder and of the folders in it."""
    for path in chain(folder.glob("*"), folder.glob("*/*")):
        parts = path.relative_to(folder).parts
        if not any(part.startswith(".") for part in parts) and path.is_file():
            yield path


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
                # `build_machine` creates this folder, so it is not in the list.
                rmtree(path / ".mem", ignore_errors=True)
                path.rmdir()
            else:
                path.unlink()


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
    place = find_exclude_file(root)
    if place is None:
        return False
    path, prefix = place
    if layout != "standard":
        # Only mem's own files. The user commits the notes.
        names: Sequence[str] = VAULT_PATHS
    else:
        # A workspace that is the repository itself shares its folder with other files.
        names = OWN_PATHS if prefix == "/" else ("",)
    try:
        add_lines(path, [f"{prefix}{name}" for name in names])
    except OSError:
        return False
    return True


def show_to_git(root: Path) -> None:
    """Remove the lines of a private workspace from `.git/info/exclude`."""
    place = find_exclude_file(root)
    if place is None or not place[0].exists():
        return
    path, prefix = place
    hidden = [f"{prefix}{name}" for name in ("", *VAULT_PATHS, *OWN_PATHS)]
    lines = path.read_text("utf-8", "surrogateescape").splitlines(keepends=True)
    text = "".join(line for line in lines if line.rstrip("\r\n") not in hidden)
    write_atomically(path, text.encode("utf-8", "surrogateescape"))


def find_exclude_file(root: Path) -> tuple[Path, str] | None:
    """Return the repository's `.git/info/exclude`, and the start of the workspace's lines in it."""
    repository = find_repository(root)
    if repository is None or repository.main is None:
        return None
    inner = root.relative_to(repository.top.resolve()).as_posix()
    prefix = "/" if inner == "." else f"/{inner}/"
    return repository.git_folder / "info" / "exclude", prefix
