"""The archive: folders that it empties stay in git, and what was forgotten is looked for in it.

git takes a folder that lost all its files to another one for a renamed folder: at the next merge it puts the files
that other clones made there into the archive too. So a folder that is emptied keeps a `.gitkeep`.
"""

import os
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from ..errors import MemError
from ..formats.text_lines import normalized
from . import atomic_files, trust
from .file_steps import is_temporary
from .privacy import write_private
from .workspace import Workspace

KEEP = ".gitkeep"
_UNMARKED = "unforgotten"
"""The file of derived data with the stats of archived files that have no mark of forgetting."""
_FEW = 16
"""Files that are read again sooner than noted."""
_SETTLED = 2_000_000_000
"""Nanoseconds after which no change leaves a file's times as they are."""


def keep_folders(workspace: Workspace, leaving: Collection[str]) -> None:
    """Put a `.gitkeep` into each folder of entries that would be empty without the files that are about to leave."""
    folders = dict.fromkeys(os.path.dirname(path) for path in leaving if workspace.layout.kind_of(path) == "entry")
    leaving_files = {os.fspath(workspace.root / path) for path in leaving}
    for folder in filter(None, folders):
        if not any(name not in leaving_files for name in files_below(workspace.root / folder)):
            with suppress(FileExistsError):
                atomic_files.create(workspace.path(f"{folder}/{KEEP}"), b"")


def is_hollow(folder: Path) -> bool:
    """Return whether a folder holds nothing but what keeps it in git."""
    names = [os.path.basename(name) for name in files_below(folder)]
    return bool(names) and set(names) == {KEEP}


def may_have_forgotten(workspace: Workspace, texts: Collection[str] | None = None) -> bool:
    """Return whether anything was forgotten or deleted for good here; with `texts`, anything that may say one of them.

    Opens no index. The files are the record, and a pull or an editor may change them: those whose stat is not noted as
    that of a file without a mark are read.
    """
    if not workspace.is_trusted:
        return False
    wanted = None if texts is None else set(map(normalized, texts)) - {""}
    state, root = workspace.state, workspace.root
    if state and trust.has_purged(state, root) and (wanted is None or trust.purged_on(state, root, wanted)):
        return True
    return workspace.has_archive and _has_marked(workspace, wanted)


def _has_marked(workspace: Workspace, wanted: Collection[str] | None) -> bool:
    note = workspace.derived / _UNMARKED
    noted = _noted(note)
    unmarked: dict[str, int] = {}
    has_marked = False
    for name in files_below(workspace.root / workspace.layout.archive):
        if not name.endswith(".md"):
            continue
        with suppress(MemError, OSError):
            status = os.stat(name)
            stat = f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"
            if stat not in noted and b"forgotten_at" in (data := atomic_files.read(Path(name))):
                if has_marked := wanted is None or _may_say(data, wanted):
                    break
                continue
            unmarked[stat] = max(status.st_mtime_ns, status.st_ctime_ns)
    if len(unmarked.keys() - noted) > _FEW:
        settled = time.time_ns() - _SETTLED
        stats = {stat for stat, changed in unmarked.items() if changed < settled} | (noted if has_marked else set())
        with suppress(OSError):
            write_private(note, "\n".join(stats))
    return has_marked


def _may_say(data: bytes, texts: Collection[str]) -> bool:
    """Return whether a file may say one of some normalized texts; how its frontmatter quotes wordings is not read."""
    whole = normalized(data.decode("utf-8", "replace"))
    return b"wordings" in data or any(text in whole for text in texts)


def _noted(file: Path) -> set[str]:
    try:
        return set(file.read_text("ascii", "replace").split("\n"))
    except OSError:
        return set()


def files_below(folder: Path) -> Iterator[str]:
    """Yield the files in a folder and below it, without those that are only being written."""
    for inner, _, names in os.walk(folder):
        yield from (os.path.join(inner, name) for name in names if not is_temporary(name))


def put(
    workspace: Workspace,
    path: str,
    data: bytes,
    mode: int = 0o666,
    modified: datetime | None = None,
    over: str | None = None,
) -> None:
    """Write a file, or replace the one whose digest is `over`.

    `modified` is when a file that comes from elsewhere was last changed. The mode is never more than the user's umask
    allows. Raises FileExistsError if the name is taken.
    """
    target = workspace.path(path)
    if over is None:
        atomic_files.create(target, data, mode)
    else:
        from .lock import locked

        wait = workspace.settings["lock.wait"]
        with locked(workspace.derived, command="mem import", now=workspace.stamp, wait=wait) as held:
            held.check()
            atomic_files.replace(target, data, over)
    if modified is not None:
        with suppress(OSError):  # a file system that keeps no such time
            os.utime(target, (modified.timestamp(), modified.timestamp()))
