"""List the files of a workspace with their stats, without reading them or following links out."""

import marshal
import os
import re
from dataclasses import dataclass, field
from operator import attrgetter
from stat import S_ISREG

from ..formats import build_digest
from ..store import (
    APP_SETTINGS,
    TEMPORARY_PREFIX,
    UNKNOWN,
    Workspace,
    is_ignored,
    read_excluded,
    read_patterns,
)

Stat = tuple[int, int, int, int]
"""Modification and change time in nanoseconds, size in bytes, inode."""

get_stat = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino")
ENDINGS = (".md", ".txt", ".jsonl", ".canvas")


@dataclass
class Listing:
    """The files of a workspace, and what could not be read."""

    stats: dict[str, Stat] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)  # path → modification time
    problems: dict[str, str] = field(default_factory=dict)  # path → reason
    unread: list[str] = field(default_factory=list)  # folders whose files are unknown
    leftovers: list[str] = field(default_factory=list)  # temporary files of killed writers
    views: list[str] = field(default_factory=list)  # Obsidian's `.base` files, which have no text

    def build_digest(self) -> str:
        """Return a digest that is the same as long as nothing on disk changed."""
        # Not a later version: its bytes also depend on which equal objects are the same object.
        return build_digest(
            marshal.dumps((self.stats, self.folders, self.problems, self.unread), 2)
        )


def scan_workspace(workspace: Workspace) -> Listing:
    """List every file that the index may contain, and some that it ignores."""
    listing = list_files(workspace, ("entries", "notes", "sessions"))
    patterns = read_ignored_patterns(workspace)
    if UNKNOWN in patterns:
        # The index stays as it is, so that it shows no note that Obsidian excludes.
        listing.problems[APP_SETTINGS] = "cannot be read, so mem skips new and changed notes"
        listing.unread.append("")
    if patterns:
        for path in [path for path in listing.stats if is_ignored(patterns, path)]:
            del listing.stats[path]
    return listing


def list_all_files(workspace: Workspace) -> list[str]:
    """Return every text file of the workspace: ignored ones, archives and the inbox too."""
    return sorted(list_files(workspace, ("entries", "notes", "sessions", "inbox")).stats)


def list_files(workspace: Workspace, folders: tuple[str, ...]) -> Listing:
    """List the files of a vault, or those at the top and in folders of a workspace."""
    listing = Listing()
    root = os.fspath(workspace.root)
    if workspace.is_vault:
        walk(workspace, root, "", listing)
        return listing
    list_folder(workspace, root, "", listing)
    for name in (*folders, *workspace.settings["index.include"]):
        if is_inside(root, name):
            walk(workspace, root, f"{name.rstrip('/')}/", listing)
        else:
            listing.problems[name] = "a folder outside of the workspace: not searched"
    return listing


def read_ignored_patterns(workspace: Workspace) -> list[str | re.Pattern[str]]:
    """Return the patterns of the files that mem does not read."""
    excluded = read_excluded(workspace.root) if workspace.is_vault else []
    return [*excluded, *read_patterns(workspace.root), *workspace.settings["index.exclude"]]


def is_inside(root: str, name: str) -> bool:
    """Return whether a folder is inside the workspace, without links on its way out."""
    # A name from mem.yaml may have any character, and realpath raises ValueError for this one.
    if "\0" in name:
        return False
    real_root = os.path.realpath(root)
    return os.path.realpath(f"{root}/{name}").startswith(f"{real_root}/")


def walk(workspace: Workspace, root: str, top: str, listing: Listing) -> None:
    """List a folder and everything below it."""
    # With a stack of our own, because folders can be nested more deeply than Python calls.
    if top and os.path.islink(f"{root}/{top.rstrip('/')}"):
        listing.problems[top.rstrip("/")] = "a symbolic link to a folder: not followed"
        return
    stack = [top]
    while stack:
        stack += list_folder(workspace, root, stack.pop(), listing)


def list_folder(workspace: Workspace, root: str, inside: str, listing: Listing) -> list[str]:
    """Add the files of one folder to the listing, and return the folders in it."""
    folders = []
    try:
        # Files are looked up by the folder's descriptor, which takes half as long as by whole path.
        descriptor = os.open(f"{root}/{inside}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # Deleted since its parent was listed, or never created: a new workspace has no notes.
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        listing.problems[inside.rstrip("/")] = f"cannot be opened: {error.strerror}"
        listing.unread.append(inside)
        return []
    try:
        listing.folders[inside] = os.fstat(descriptor).st_mtime_ns
        with os.scandir(descriptor) as items:
            for item in items:
                name = item.name
                # Hidden files belong to other programs: .git, .obsidian, .trash.
                if name[0] == ".":
                    if name.startswith(TEMPORARY_PREFIX):
                        listing.leftovers.append(inside + name)
                    continue
                if name.endswith(ENDINGS):
                    try:
                        status = item.stat(follow_symlinks=False)
                    except OSError:
                        continue  # it was deleted since
                    if S_ISREG(status.st_mode):
                        # The kind of a file is looked up only if it changed: with 10,000
                        # files every call in this loop is felt.
                        listing.stats[inside + name] = get_stat(status)
                        continue
                if item.is_symlink():
                    note_link(workspace, root, inside + name, listing)
                elif item.is_dir(follow_symlinks=False):
                    folders.append(f"{inside}{name}/")
                elif name.endswith(".base") and workspace.is_vault:
                    listing.views.append(inside + name)
                elif name.endswith(ENDINGS) and workspace.get_kind(inside + name):
                    listing.problems[inside + name] = "not a regular file"
    finally:
        os.close(descriptor)
    return folders


def note_link(workspace: Workspace, root: str, path: str, listing: Listing) -> None:
    """Report a link that might lead to memories. No link is followed."""
    target = os.path.realpath(f"{root}/{path}")
    leads_out = not is_inside(root, path)
    if os.path.isdir(target):
        if leads_out and (workspace.is_vault or path.startswith(("entries/", "notes/"))):
            listing.problems[path] = "a symbolic link to a folder outside: not followed"
    elif workspace.get_kind(path):
        reason = "to a file outside" if os.path.exists(target) else "to nothing"
        # A link inside the workspace leads to a file that is listed anyway.
        if leads_out or not os.path.exists(target):
            listing.problems[path] = f"a symbolic link {reason}: not followed"


def format_path(path: str) -> str:
    """Return a path as text that SQLite accepts.

    Python represents bytes that are not UTF-8 by lone surrogates.
    """
    return (
        path
        if path.isascii()
        else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    )


def remove_leftovers(workspace: Workspace) -> list[str]:
    """Delete the temporary files of killed commands, and return their paths."""
    from ..store import hold_lock, remove_temporary_file  # which a search does not need

    with hold_lock(workspace):
        leftovers = scan_workspace(workspace).leftovers
        for path in leftovers:
            remove_temporary_file(workspace, path)
    return leftovers
