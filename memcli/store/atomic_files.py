"""Write the user's files so that a crash leaves the old text or the new text, and move them under one name or both.

The door for all who change a file of the workspace. Refuses to overwrite what its caller has not read, to
follow a link it was not allowed to, and to leave half a record behind. Knows no markdown and takes no lock.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import NotFoundError, RefusedError
from ..formats.ids import blake2b
from . import file_steps

_swept: set[Path] = set()  # folders this process has cleared


def digest(data: bytes) -> str:
    """Return the content hash used everywhere: 128 bits of BLAKE2b, in hex."""
    return blake2b(data, digest_size=16).hexdigest()


def read(path: Path) -> bytes:
    """Return all bytes of a regular file, a link followed; anything else is refused rather than waited for."""
    with file_steps.naming("read", path):
        try:
            return file_steps.contents(path)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(f"there is no file {path}", "`mem ls` shows what there is") from None


def create(path: Path, data: bytes, mode: int = 0o666, *, lasting: bool = True) -> None:
    """Make a new file, whole or not at all; raise FileExistsError if the name is taken. Needs no lock.

    Its name is safe on disk unless `lasting` is false: then the caller settles the folder.
    """
    with file_steps.naming("write", path):
        file_steps.make_folder(path.parent)
        file_steps.publish(path, data, mode=mode)
        try:
            if lasting:
                file_steps.sync_folder(path.parent)
        except OSError:
            file_steps.discard(path)  # said to have failed, so a second try must not make a twin
            if not os.path.lexists(path):
                raise
    if watch := file_steps.watcher.get():
        watch.changed(path, None, data)
    _sweep_once(path.parent)


def replace(target: Path, data: bytes, expected: str, *, lasting: bool = True, keeps_age: bool = False) -> None:
    """Swap in new bytes if the file still has the digest its reader saw; mode and owner are kept, and an age if asked.

    A symbolic link is refused. The new bytes are safe on disk unless `lasting` is false: then they are when the caller
    has settled the folder.
    """
    with file_steps.naming("write", target):
        try:
            _replace(target, data, expected, keeps_age=keeps_age)
        except FileNotFoundError:
            raise RefusedError(f"{target} vanished underneath", "read it again") from None
        if lasting:
            with suppress(OSError):  # the new text is there: to say it is not would have it written twice
                file_steps.sync_folder(target.parent)
    _sweep_once(target.parent)


def append(target: Path, data: bytes) -> None:
    """Add whole lines to the end, making the file if need be; the caller holds the workspace's lock.

    A last line left without its newline is closed off first. What cannot be written whole is taken back.
    A symbolic link is refused.
    """
    with file_steps.naming("write", target):
        try:
            before = os.lstat(target)
        except FileNotFoundError:
            create(target, data)
            return
        file_steps.require_writable(target, before)
        fd = os.open(target, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            size, data = _append(fd, data)
        finally:
            os.close(fd)
    if watch := file_steps.watcher.get():
        watch.appended(target, size, data)


def _sweep_once(folder: Path) -> None:
    """Clear a folder just written to of what killed writers left; only the first time, since it lists the folder."""
    if folder not in _swept:
        _swept.add(folder)
        file_steps.sweep(folder, time.time())


def _replace(target: Path, data: bytes, expected: str, *, keeps_age: bool) -> None:
    """Write beside the file, look once more that it is the one that was read, and rename over it.

    It is told before, since who is killed after the renaming could not tell what stood there.
    """
    before = os.lstat(target)
    file_steps.require_writable(target, before)
    temporary = file_steps.write_temporary(target.parent, data, like=before)
    try:
        old = file_steps.contents(target, os.O_NOFOLLOW)
        if digest(old) != expected:
            raise RefusedError(f"{target} changed underneath", "read it again")
        if keeps_age:
            with suppress(OSError):  # a file system that keeps no such time
                os.utime(temporary, ns=(before.st_atime_ns, before.st_mtime_ns))
        if watch := file_steps.watcher.get():
            watch.changed(target, old, data, stat.S_IMODE(before.st_mode))
        os.rename(temporary, target)
    except BaseException:
        file_steps.discard(temporary)
        raise


def _append(fd: int, data: bytes) -> tuple[int, bytes]:
    """Add the bytes on a line of their own, or leave the file as long as it was.

    Return how long it was, and the bytes added.
    """
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        data = b"\n" + data
    try:
        file_steps.write_all(fd, data)
        file_steps.sync(fd)
    except BaseException as error:
        written = os.lseek(fd, 0, os.SEEK_CUR)
        try:
            # Only when ours are the last bytes: an editor takes no lock and may have added its own.
            is_back = written == os.fstat(fd).st_size
            if is_back:
                os.ftruncate(fd, size)
        except OSError:  # what stays of a line is closed off by the next append
            is_back = False
        if isinstance(error, OSError) and not is_back and written >= size + len(data):
            return size, data  # all stands and cannot be taken back: said to have failed, it would be written twice
        raise
    return size, data


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
        if watch := file_steps.watcher.get():
            watch.moved(src, dst)
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
        if watch := file_steps.watcher.get():
            watch.moved(src, dst)
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


def remove(path: Path, *, for_good: bool = False) -> None:
    """Delete one file, leaving no copy where `for_good`; a missing one is NotFoundError."""
    with file_steps.naming("delete", path):
        watch = file_steps.watcher.get()
        mode, old = _mode_and_data(path) if watch and watch.watches(path) else (0, None)
        try:
            os.unlink(path)
        except FileNotFoundError:
            raise NotFoundError(f"there is no file {path}", "`mem ls` shows what there is") from None
        if watch and old is not None:
            watch.destroyed({path: old}) if for_good else watch.changed(path, old, None, mode)
        file_steps.sync_folder(path.parent)


def remove_folder(path: Path) -> None:
    """Delete a folder with everything in it, leaving no copy; a link inside it goes, what it leads to stays."""
    from shutil import rmtree

    with file_steps.naming("delete", path):
        watch = file_steps.watcher.get()
        old = dict(_contents_below(path)) if watch and watch.watches(path) else {}
        try:
            rmtree(path)
        except FileNotFoundError:
            raise NotFoundError(f"there is no folder {path}", "`mem session ls` shows what there is") from None
        if watch and old:
            watch.destroyed(old)
        file_steps.sync_folder(path.parent)


def _mode_and_data(path: Path) -> tuple[int, bytes | None]:
    with suppress(OSError, RefusedError):
        return stat.S_IMODE(os.lstat(path).st_mode), file_steps.contents(path, os.O_NOFOLLOW)
    return 0, None


def _contents_below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for below, _, names in os.walk(folder):
        yield from ((Path(below, name), _mode_and_data(Path(below, name))[1] or b"") for name in names)
