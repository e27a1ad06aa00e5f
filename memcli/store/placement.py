"""Put a file that comes from elsewhere into the workspace, with the mode and the age it had."""

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from ..formats.times import stamp
from . import atomic_files, file_steps
from .archive import explain
from .temporary_files import temporary_name
from .workspace import Workspace


def place(
    workspace: Workspace, path: str, data: bytes, mode: int, modified: datetime | None, over: str | None = None
) -> None:
    """Make a file, or replace the one whose digest is `over`; FileExistsError where the name is taken.

    The mode is never more than the user's umask allows.
    """
    target = workspace.path(path)
    explain(workspace, {path: data})
    if over is None:
        atomic_files.create(target, data, mode)
    else:
        from .lock import locked

        wait = workspace.settings["lock.wait"]
        with locked(workspace.derived, command="mem import", now=stamp(workspace.now), wait=wait) as held:
            held.check()
            atomic_files.replace(target, data, over)
    if modified is not None:
        with suppress(OSError):  # a file system that keeps no such time
            os.utime(target, (modified.timestamp(), modified.timestamp()))


def write_out(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file outside of any workspace piece by piece; it has its name only when it is whole."""
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
        file_steps.settle(target.parent)
