"""mem init: create a workspace."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..context import Context
from ..errors import UsageError
from ..store.init import create_workspace, hide_from_git, is_vault
from ..store.workspace import MARK
from ..store.worktrees import find_repository
from .render import Result
from .terminal import ask

FIELDS = ("path", "layout", "git")


def run_init(
    context: Context,
    folder: Annotated[
        str, Argument(help="The folder; default: memory/; in a vault, the vault.")
    ] = "",
    private: Annotated[bool, Option("--private", help="Hide it from git (the default).")] = False,
    shared: Annotated[bool, Option("--shared", help="Commit it with the code.")] = False,
) -> Result:
    """Create a workspace.

    In an Obsidian vault or another folder of Markdown notes, mem reads the notes where they are and
    writes its own memories to mem/. It never rewrites a note unless a command names it.
    """
    root = choose_folder(context, folder)
    if (root / MARK).exists():
        return Result(
            {"path": str(root), "layout": "", "git": ""}, [f"{root} is already a workspace"]
        )
    layout = "vault" if is_vault(root) else "standard"
    repository = find_repository(root)
    git = choose_git(context, repository is not None, private=private, shared=shared)
    create_workspace(context, root, layout)
    is_hidden = git == "private" and hide_from_git(root, layout)
    lines = [f"Created {describe_folder(context, root)}"]
    if layout == "vault":
        lines.append("mem reads your notes where they are, and writes its own memories to mem/.")
    if git == "shared":
        lines.append("Commit it with your code. Conversations and the index stay on this machine.")
    if is_hidden:
        lines.append("git does not see it. To share it later, remove it from .git/info/exclude.")
    return Result({"path": str(root), "layout": layout, "git": git}, lines)


def choose_folder(context: Context, folder: str) -> Path:
    """Return the root of the new workspace: in a linked worktree, of the main one."""
    if folder or context.common.workspace:
        return (context.folder / Path(folder or context.common.workspace).expanduser()).resolve()
    if (context.folder / ".obsidian").is_dir():
        return context.folder.resolve()
    # A memory in the linked worktree would be deleted with it.
    repository = find_repository(context.folder)
    if repository is not None and repository.is_linked and repository.main is not None:
        return (repository.main / "memory").resolve()
    return (context.folder / "memory").resolve()


def choose_git(context: Context, has_repository: bool, *, private: bool, shared: bool) -> str:
    """Return private, shared, or nothing outside a repository."""
    if private and shared:
        raise UsageError("--private and --shared cannot be used together")
    if not has_repository:
        return ""
    # A memory that is committed by accident is public, so private is the default.
    if not private and not shared and ask(context, "Commit this memory with the code?"):
        return "shared"
    return "shared" if shared else "private"


def describe_folder(context: Context, root: Path) -> str:
    if root.is_relative_to(context.folder.resolve()):
        inner = root.relative_to(context.folder.resolve()).as_posix()
        return f"a workspace in {root}" if inner == "." else f"{inner}/ in {context.folder}"
    return str(root)
