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
