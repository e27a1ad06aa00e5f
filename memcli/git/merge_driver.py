"""Git's merge driver: which merge the content of a path takes, its one run for one file, and where git is told of it.

git starts one process for each file that both sides changed, so this loads what that one file takes and no more.
"""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import BusyError, GitError, MemError
from ..formats.frontmatter.document import load_mapping
from ..formats.three_way import MARKER as MARKER_SIZE
from ..formats.three_way import Merged
from ..store.file_steps import temporary_name

if TYPE_CHECKING:
    from pathlib import Path

    from ..store.layouts import Layout


SETTINGS = "mem.yaml"
ATTRIBUTES = ".gitattributes"
ATTRIBUTE_LINES = ("*.md merge=mem", f"{SETTINGS} merge=mem")
"""What names the files that the driver merges. Attributes for text or line ends would turn a user's CRLF into LF."""
MERGED, CLASHES, NOT_OURS = 0, 3, 2
"""How a run ends: all is merged; places for a person stand between markers; git is to merge this file itself."""
LARGEST = 32 * 1024 * 1024
"""Bytes of all three versions above which git merges a file itself."""
_PATHS = ("memory", "history", "notes", "entries")


def merge_content(
    kind: str | None,
    base: bytes,
    ours: bytes,
    theirs: bytes,
    size: int = MARKER_SIZE,
    *,
    is_half_merged: bool = False,
) -> tuple[bytes, int] | None:
    """Merge three versions of a file of a kind of the layout, or of the settings; return it and its clashes.

    `is_half_merged` says that the sides were taken from between conflict markers, see `merge_entry`.
    None for a file that is no memory, no UTF-8 text, or too large: then it is for git to merge.
    """
    if kind in (None, "session") or len(base) + len(ours) + len(theirs) > LARGEST:
        return None
    try:
        texts = base.decode(), ours.decode(), theirs.decode()
    except UnicodeDecodeError:
        return None
    if any("\0" in text for text in texts):
        return None
    merged = _merge(kind, *texts, size, is_half_merged)
    return merged.text.encode(), merged.clashes


def _merge(kind: str | None, base: str, ours: str, theirs: str, size: int, is_half_merged: bool) -> Merged:
    if kind == "entry":
        from ..formats.entry_merge import merge_entry

        return merge_entry(base, ours, theirs, size, is_half_merged=is_half_merged)
    if kind == "memory":
        from ..formats.page_merge import merge_page

        return merge_page(base, ours, theirs, size)
    if kind == "settings":
        from ..formats.entry_merge import merge_settings

        return merge_settings(base, ours, theirs)
    from ..formats.three_way import merge_history, merge_notes

    return (merge_history if kind == "history" else merge_notes)(base, ours, theirs, size)


def kind_in(layout: "Layout", path: str) -> str | None:
    """Return how a file of a workspace is merged: as a kind of its layout, or as `settings`; None for any other."""
    return "settings" if path == SETTINGS else layout.kind_of(path) if path.endswith(".md") else None


def run(arguments: list[str]) -> int:
    """Merge as git asks (`%O %A %B %L %P`), in the folder it stands in, and return how that ended.

    The result takes the place of ours in one step: when this is killed, ours is whole and git merges by itself.
    """
    try:
        return _merged(*arguments)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        sys.stderr.write(f"mem: cannot merge {arguments[-1]}: {reason}: git merges it by lines\n")
        return NOT_OURS


def _merged(base: str, ours: str, theirs: str, size: str, path: str) -> int:
    with open(base, "rb") as base_file, open(ours, "rb") as our_file, open(theirs, "rb") as their_file:
        texts = base_file.read(LARGEST + 1), our_file.read(LARGEST + 1), their_file.read(LARGEST + 1)
    try:
        merged = merge_content(_kind_at(path), *texts, int(size))
    except MemError:
        merged = None
    if merged is None:
        return NOT_OURS
    # Under a name that git passes over and the next writer of the folder removes, where this is killed.
    folder = os.path.dirname(path)
    unfinished = os.path.join(folder if os.path.isdir(folder) else os.path.dirname(ours), temporary_name())
    try:
        with open(unfinished, "wb") as file:
            file.write(merged[0])
        os.replace(unfinished, ours)
    except BaseException:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise
    return CLASHES if merged[1] else MERGED


def _kind_at(path: str) -> str | None:
    """Return how a file of a repository is merged, by the settings of the workspace around it, or by its name alone."""
    from ..store.layouts import LAYOUTS, MEM, adjusted

    parts = path.split("/")
    for depth in range(len(parts) - 1, -1, -1):
        try:
            with open(os.path.join(*parts[:depth], SETTINGS), encoding="utf-8") as file:
                fields, _ = load_mapping(file.read())
        except (OSError, ValueError):
            continue
        layout = LAYOUTS.get(str(fields.get("layout")), MEM)
        paths = fields.get("paths")
        nested = paths if isinstance(paths, Mapping) else {}
        set_paths = {name: str(fields.get(f"paths.{name}") or nested.get(name) or "") for name in _PATHS}
        return kind_in(adjusted(layout, set_paths) if any(set_paths.values()) else layout, "/".join(parts[depth:]))
    paths_below = ("/".join(parts[depth:]) for depth in range(len(parts)))  # a merge without a worktree
    return next((kind for path_below in paths_below if (kind := kind_in(MEM, path_below))), None)


def mem_path() -> str:
    """Return the path of mem's program; empty if it is not a program of its own."""
    import shutil

    return shutil.which("mem", path=os.path.dirname(sys.executable)) or shutil.which("mem") or ""


def attributes_to_add(folder: "Path") -> str:
    """Return the lines that the attributes of a workspace lack; none where a person has said how to merge markdown."""
    try:
        lines = (folder / ATTRIBUTES).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    patterns = {
        words[0]
        for words in map(str.split, lines)
        if any(word.lstrip("-!").partition("=")[0] == "merge" for word in words[1:])
    }
    return "".join(f"{line}\n" for line in ATTRIBUTE_LINES if line.split()[0] not in patterns)


def install(folder: "Path") -> bool:
    """Tell the repository around a folder of the driver; return whether it knows it, which it does not where git fails.

    Only a driver that is another one is written.
    """
    from .run import local_settings, set_locally

    wanted = {
        "merge.mem.name": "memories by field, logs by record",
        "merge.mem.driver": _command(mem_path() or "mem"),
    }
    try:
        settings = local_settings(folder)
        for name in (name for name in wanted if settings.get(name) != wanted[name]):
            set_locally(folder, name, wanted[name])
    except (BusyError, GitError):
        return False
    return True


def uninstall(folder: "Path") -> bool:
    """Take the driver out of the settings of a repository; return whether it was there.

    Raise GitError if git fails, BusyError where another git holds the lock of the settings.
    """
    from .run import local_settings, set_locally

    there = [name for name in local_settings(folder) if name.startswith("merge.mem.")]
    for name in there:
        set_locally(folder, name, None)
    return bool(there)


def _command(program: str) -> str:
    """Return what git runs for a file: the driver and, however that fails, git's own merge of lines."""
    import shlex

    labels = "-L ours -L base -L theirs"
    instead = f"git merge-file -q --marker-size=%L {labels} %A %O %B || exit 1"
    shown = shlex.quote(program).replace("%", "%%")
    return f"{shown} merge-driver %O %A %B %L %P; case $? in {MERGED}) ;; {CLASHES}) exit 1;; *) {instead};; esac"
