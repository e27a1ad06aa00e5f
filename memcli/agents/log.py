"""What went wrong where nobody could be told: lines in `.mem/log`, which never grows beyond two short files."""

import os
from contextlib import suppress

from ..store.privacy import make_derived, opener
from ..store.workspace import Workspace
from ..text.times import stamp

NAME = "log"
LARGEST = 64 << 10
_LONGEST_LINE = 400


def log(workspace: Workspace, what: str) -> None:
    """Add a line; one that cannot be written is dropped, since a memory that fails must not stop an agent."""
    path = workspace.derived / NAME
    line = f"{stamp(workspace.now)} {' '.join(what.split())}"[:_LONGEST_LINE]
    with suppress(OSError):
        if workspace.derived.is_symlink() or path.is_symlink():
            return  # a folder that came with a clone may lead anywhere
        if path.exists() and path.stat().st_size > LARGEST:
            os.replace(path, path.with_name(f"{NAME}.old"))
        make_derived(path.parent)
        with open(path, "a", encoding="utf-8", errors="replace", opener=opener) as file:
            file.write(f"{line}\n")
