"""The merge driver: git calls it for files of a memory inside a project's repository."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from ..context import Context
from ..errors import BusyError, NotFoundError
from ..store.commit import commit_one, read_text, write_atomically
from ..store.git import run_git
from ..store.workspace import MARK, Workspace, open_folder
from .files import change_attributes
from .merge import merge_file

# git takes the file as merged if a driver cannot run. The plain merge at the end marks conflicts.
COMMAND = (
    "{program} merge-driver %O %A %B %L %P; code=$?; test $code = 0 && exit 0;"
    " test $code = {conflict} && exit 1;"
    " git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"
)
CONFLICT_CODE = 3


def install_driver(workspace: Workspace, program: Sequence[str]) -> bool:
    """Make git merge the files of a workspace by field and record. Return whether it can.

    The driver is in the configuration of this clone, because git runs nothing that a clone brings.
    """
    command = COMMAND.format(program=shlex.join(program), conflict=CONFLICT_CODE)
    try:
        for name, value in (("name", "Merge memories"), ("driver", command)):
            run_git(workspace.root, "config", f"merge.mem.{name}", value)
    except (NotFoundError, BusyError):
        return False
    return True


def share_attributes(workspace: Workspace) -> None:
    """Say in the shared .gitattributes which files the driver merges."""
    change = change_attributes(workspace)
    if change.before != change.after:
        commit_one(workspace, "init", [change], actor="hook")


def merge_for_git(
    context: Context, base: Path, ours: Path, theirs: Path, size: int, path: Path
) -> str:
    """Merge three files that git made, into the second one. Return the conflict, if there is one.

    `path` is the file in the work tree, which says what kind it is.
    """
    root = next((folder for folder in path.parents if (folder / MARK).is_file()), None)
    kind, inner = "entry", path.name
    if root is not None:
        inner = path.relative_to(root).as_posix()
        kind = open_folder(context, root, "", None).get_kind(inner)
    texts = [read_text(file) for file in (base, ours, theirs)]
    for file, text in zip((base, ours, theirs), texts, strict=True):
        if text is None:
            raise NotFoundError(f"no file {file}")
    merged = merge_file(kind, inner, texts[0] or None, texts[1], texts[2], markers=size)
    write_atomically(ours, (merged.text or "").encode("utf-8", "surrogateescape"))
    return merged.conflict
