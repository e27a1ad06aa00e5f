"""How often each memory was shown on this machine.

The counters are in the state folder, because a memory's file must not change when it is read.
"""

import json
from collections.abc import Iterable
from contextlib import suppress

from .machine import save_private
from .workspace import Workspace

FILE = "access.json"


def read_access_counts(workspace: Workspace) -> dict[str, int]:
    """Return how often each memory was shown, by id."""
    folder = workspace.machine.state_folder
    if folder is None:
        return {}
    with suppress(OSError, ValueError):
        counts = json.loads((folder / FILE).read_text("utf-8"))
        if isinstance(counts, dict):
            return {name: count for name, count in counts.items() if isinstance(count, int)}
    return {}


def count_access(workspace: Workspace, ids: Iterable[str]) -> None:
    """Count that memories were shown. Without a writable state folder nothing is counted."""
    folder = workspace.machine.state_folder
    ids = list(ids)
    if folder is None or not ids:
        return
    counts = read_access_counts(workspace)
    for entry_id in ids:
        counts[entry_id] = counts.get(entry_id, 0) + 1
    # Two processes at the same moment can lose a count, which no lock is worth.
    with suppress(OSError):
        save_private(folder / FILE, json.dumps(counts).encode())
