"""Move a file or folder, never over something, so that a crash leaves it under one name or both."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import NotFoundError, RefusedError
from . import file_steps


def move(src: Path, dst: Path) -> None:
    """Rename a file or folder; raise FileExistsError if the name is taken.

    Between the two names there is a moment with both and none without either; run again, it is finished.
    """
    with file_steps.naming("move", src):
        if not stat.S_ISDIR(_seen(src).st_mode):
            move_all([(src, dst)])
            return
        file_steps.make_folder(dst.parent)
        _move_folder(src, dst)
        file_steps.sync_folder(dst.parent)
        file_steps.sync_folder(src.parent)


def move_all(pairs: Sequence[tuple[Path, Path]], check: Callable[[], None] = lambda: None) -> None:
    """Rename files as `move` does, but settle each folder once: all new names are safe before an old one goes.

    `check` is called before each name is given or taken, and raises where that is not allowed any more.
    """
    named = []
    for src, dst in pairs:
        with file_steps.naming("move", src):
            before = _seen(src)
            file_steps.require_regular(src, before)
            file_steps.make_folder(dst.parent)
            check()
            named.append((src, dst, before, _give_new_name(src, dst, before)))
    for folder in dict.fromkeys(dst.parent for _, dst in pairs):
        with file_steps.naming("write", folder):
            file_steps.sync_folder(folder)
    for src, dst, before, is_new in named:
        check()
        with file_steps.naming("move", src):
            _drop_old_name(src, dst, before, is_new)
    for folder in dict.fromkeys(src.parent for src, _ in pairs):
        with file_steps.naming("write", folder):
            file_steps.sync_folder(folder)


def _seen(src: Path) -> os.stat_result:
    try:
        return os.lstat(src)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"there is no file {src}", "`mem ls` shows what there is") from None


def _move_folder(src: Path, dst: Path) -> None:
    """Rename a folder; the system itself refuses to do so over anything but an empty one."""
    try:
        os.rename(src, dst)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.ENOTDIR):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(dst)) from None
        raise


def _give_new_name(src: Path, dst: Path, before: os.stat_result) -> bool:
    """Let the file appear whole under its new name too; return whether it had not done so before."""
    try:
        _link_or_copy(src, dst, before)
    except FileExistsError:
        if not _is_half_moved(src, dst):
            raise
        return False
    return True


def _link_or_copy(src: Path, dst: Path, before: os.stat_result) -> None:
    """Link the new name to the file or, on another disk, to a copy as old as the file."""
    try:
        file_steps.second_name(src, dst)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        file_steps.publish(dst, file_steps.contents(src, os.O_NOFOLLOW), like=before)
        os.utime(dst, ns=(before.st_atime_ns, before.st_mtime_ns))


def _drop_old_name(src: Path, dst: Path, before: os.stat_result, is_new: bool) -> None:
    """Remove the old name; when the file was changed meanwhile or cannot be removed, take ours back."""
    try:
        now = os.lstat(src)
        if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
            raise RefusedError(f"{src} changed underneath", "read it again")
        os.unlink(src)
    except FileNotFoundError:
        pass  # renamed for want of links, or moved by somebody else: what is under the new name must stay
    except BaseException:
        if is_new:
            file_steps.discard(dst)
        raise


def _is_half_moved(src: Path, dst: Path) -> bool:
    """Return whether an earlier move was cut off between its two names."""
    old, new = os.lstat(src), os.lstat(dst)
    if old.st_dev != new.st_dev:
        return stat.S_ISREG(new.st_mode) and file_steps.contents(src) == file_steps.contents(dst)
    # One name spelled in two ways is the same inode as well, and removing it would remove the file.
    same_name = src.name.casefold() == dst.name.casefold() and os.path.samefile(src.parent, dst.parent)
    return old.st_ino == new.st_ino and old.st_nlink > 1 and not same_name


def remove(path: Path) -> None:
    """Delete one file; a missing one is NotFoundError."""
    with file_steps.naming("delete", path):
        try:
            os.unlink(path)
        except FileNotFoundError:
            raise NotFoundError(f"there is no file {path}", "`mem ls` shows what there is") from None
        file_steps.sync_folder(path.parent)


def remove_folder(path: Path) -> None:
    """Delete a folder with everything in it; a link inside it goes, what it leads to stays."""
    from shutil import rmtree

    with file_steps.naming("delete", path):
        try:
            rmtree(path)
        except FileNotFoundError:
            raise NotFoundError(f"there is no folder {path}", "`mem session ls` shows what there is") from None
        file_steps.sync_folder(path.parent)
