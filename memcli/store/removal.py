"""Delete a file for good: the one way a memory is destroyed."""

import os
from pathlib import Path

from ..errors import NotFoundError
from . import disk


def remove(path: Path) -> None:
    """Delete one file; a missing one is NotFoundError."""
    with disk.naming("delete", path):
        try:
            os.unlink(path)
        except FileNotFoundError:
            raise NotFoundError(f"there is no file {path}", "`mem ls` shows what there is") from None
        disk.settle(path.parent)


def remove_folder(path: Path) -> None:
    """Delete a folder with everything in it; a link inside it goes, what it leads to stays."""
    from shutil import rmtree

    with disk.naming("delete", path):
        try:
            rmtree(path)
        except FileNotFoundError:
            raise NotFoundError(f"there is no folder {path}", "`mem session ls` shows what there is") from None
        disk.settle(path.parent)
