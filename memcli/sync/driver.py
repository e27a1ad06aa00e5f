"""The merge driver, which git calls for files of a memory in a project's repository."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from ..context import Context
from ..errors import BusyError, NotFoundError
from ..store import MARK, Workspace, commit_one, open_folder, read_text, run_git, write_atomically
from .files import change_attributes
from .merge import merge_file

# If a driver cannot run, git counts the file as merged. The last command marks conflicts instead.
COMMAND = (
    "{program} merge-driver %O %A %B %L %P; code=$?; test $code = 0 && exit 0;"
    " test $code = {conflict} && exit 1;"
    " git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"
)
CONFLICT_CODE = 3


def install_driver(workspace: Workspace, program: Sequence[str]) -> bool:
    """Add the driver to the configuration of this clone, if possible.

    A clone brings .gitattributes along, but no commands: git would not run them.
    """
    command = COMMAND.format(program=shlex.join(program), conflict=CONFLICT_CODE)
    try:
        for name, value in (("name", "Merge memories"), ("driver", command)):
            run_git(workspace.root, "config", f"merge.mem.{name}", value)
    except (NotFoundError, BusyError):
        return False
    return True


def share_attributes(workspace: Workspace) -> None:
    """List the files that the driver merges in the shared .gitattributes."""
    change = change_attributes(workspace)
    if change.before != change.after:
        commit_one(workspace, "init", [change], actor="hook")


def merge_for_git(
    context: Context, base: Path, ours: Path, theirs: Path, size: int, path: Path
) -> str:
    """Merge three temporary files of git into the second, and return the conflict.

    `size` is the length of conflict markers. `path` is the file in the work tree.
    """
    kind, name = "entry", path.name
    roots = [folder for folder in path.parents if (folder / MARK).is_file()]
    if roots:
        name = path.relative_to(roots[0]).as_posix()
        kind = open_folder(context, roots[0], "", None).get_kind(name)
    texts = [read_text(file) for file in (base, ours, theirs)]
    merged = merge_file(kind, name, texts[0] or None, texts[1], texts[2], size)
    write_atomically(ours, (merged.text or "").encode("utf-8", "surrogateescape"))
    return merged.conflict
