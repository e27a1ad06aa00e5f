"""Write the user's files so that a crash leaves the old text or the new text.

The door for all who change a file of the workspace. Refuses to overwrite what its caller has not read, to
follow a link it was not allowed to, and to leave half a record behind. Knows no markdown and takes no lock.
"""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..errors import NotFoundError, RefusedError
from ..formats.ids import blake2b
from . import file_steps
from .file_moves import move
from .privacy import contained
from .temporary_files import sweep, temporary_name

__all__ = ["append", "contained", "create", "digest", "move", "read", "replace", "write_out"]

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
    _sweep_once(path.parent)


def replace(path: Path, data: bytes, expected: str, *, within: Path | None = None, lasting: bool = True) -> None:
    """Swap in new bytes if the file still has the digest its reader saw; mode and owner are kept.

    A symbolic link is refused, or written through when `within` names the workspace its real file is in. The new bytes
    are safe on disk unless `lasting` is false: then they are when the caller has settled the folder.
    """
    target = path if within is None else contained(within, path)
    with file_steps.naming("write", target):
        try:
            _replace(target, data, expected)
        except FileNotFoundError:
            raise RefusedError(f"{target} vanished underneath", "read it again") from None
        if lasting:
            with suppress(OSError):  # the new text is there: to say it is not would have it written twice
                file_steps.sync_folder(target.parent)
    _sweep_once(target.parent)


def append(path: Path, data: bytes, *, within: Path | None = None) -> None:
    """Add whole lines to the end, making the file if need be; the caller holds the workspace's lock.

    A last line left without its newline is closed off first. What cannot be written whole is taken back.
    Links are treated as by `replace`.
    """
    target = path if within is None else contained(within, path)
    with file_steps.naming("write", target):
        try:
            before = os.lstat(target)
        except FileNotFoundError:
            create(target, data)
            return
        file_steps.require_writable(target, before)
        fd = os.open(target, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            _append(fd, data)
        finally:
            os.close(fd)


def _sweep_once(folder: Path) -> None:
    """Clear a folder just written to of what killed writers left; only the first time, since it lists the folder."""
    if folder not in _swept:
        _swept.add(folder)
        sweep(folder, time.time())


def _replace(target: Path, data: bytes, expected: str) -> None:
    """Write beside the file, look once more that it is the one that was read, and rename over it."""
    before = os.lstat(target)
    file_steps.require_writable(target, before)
    temporary = file_steps.write_temporary(target.parent, data, like=before)
    try:
        if digest(file_steps.contents(target, os.O_NOFOLLOW)) != expected:
            raise RefusedError(f"{target} changed underneath", "read it again")
        os.rename(temporary, target)
    except BaseException:
        file_steps.discard(temporary)
        raise


def _append(fd: int, data: bytes) -> None:
    """Add the bytes on a line of their own, or leave the file as long as it was."""
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
            return  # all of it stands and cannot be taken back: said to have failed, it would be written twice
        raise


def write_out(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file outside of any workspace piece by piece; it gets its name when it is whole."""
    with file_steps.naming("write", path):
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                device.writelines(pieces)
            return
        target = Path(os.path.realpath(path))
        temporary = target.with_name(temporary_name())
        try:
            with temporary.open("xb") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            file_steps.discard(temporary)
            raise
        file_steps.sync_folder(target.parent)
