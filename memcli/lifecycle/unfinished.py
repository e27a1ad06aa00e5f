"""Find the files that killed writers left among the memories, and remove them; nothing else is ever removed."""

import os
import time
from collections.abc import Sequence

from ..index.scan import Listing, scan
from ..store.temporary import is_abandoned, remove_abandoned
from ..store.workspace import Workspace


def abandoned(workspace: Workspace, listing: Listing | None = None) -> list[str]:
    """Give the paths of unfinished files that no living process writes."""
    paths = (listing or scan(workspace.root, workspace.layout)).unfinished
    now = time.time()
    return sorted(path for path in paths if is_abandoned(os.fspath(workspace.root / path), now))


def removed(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    """Remove those that still have no living writer, and give their paths."""
    now = time.time()
    return [path for path in paths if remove_abandoned(workspace.root / path, now)]
