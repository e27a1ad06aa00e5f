"""Late recall: a background process finds the memories for a prompt, the next prompt delivers them.

The queue is a file next to the session's record. It has ids only, because a memory may be changed,
forgotten or purged before it is delivered.
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..index.index import open_index
from ..store.files import save_private
from ..store.workspace import Workspace
from .memories import Memory, MemoryReader
from .shown import Shown
from .visible import is_recallable


def start_late_search(workspace: Workspace, prompt: str, shown: Shown) -> None:
    """Start `mem recall --late` for a prompt. Nobody waits for it."""
    import subprocess

    context = workspace.context
    session = shown.record.get("session")
    if not session or not shown.path:
        return
    command = [sys.executable, "-P", "-m", "memcli", "recall", "--late", "--session", session]
    for option, value in (
        ("--workspace", context.common.workspace),
        ("--scope", context.common.scope),
    ):
        command += [option, value] if value else []
    # Without a new session, the agent would kill it together with the hook.
    with suppress(OSError):
        process = subprocess.Popen(
            [*command, "-"],
            cwd=context.folder,
            env=dict(context.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(prompt.encode("utf-8", "replace"))
        process.stdin.close()


def save_queued(memories: Sequence[Memory], shown: Shown) -> None:
    """Save which memories the next prompt of a session gets."""
    if not shown.path:
        return
    rows = [
        [str(memory.workspace.root), memory.id, memory.relevance]
        for memory in memories
        if memory.id and memory.id not in shown.ids
    ]
    path = get_queue_path(shown)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        save_private(path, json.dumps(rows).encode())


def read_queued(workspaces: Sequence[Workspace], shown: Shown) -> list[Memory]:
    """Return the memories found for the last prompt, and delete the record of them."""
    if not shown.path:
        return []
    path = get_queue_path(shown)
    try:
        # Renamed first, so that two hooks at the same moment do not both deliver it.
        taken = path.with_name(f"{path.name}.{os.getpid()}")
        path.rename(taken)
        rows: Any = json.loads(taken.read_bytes())
        taken.unlink()
    except (OSError, ValueError):
        return []
    memories = []
    for workspace in workspaces:
        wanted = {row[1]: float(row[2]) for row in rows if row[0] == str(workspace.root)}
        if not wanted:
            continue
        index = open_index(workspace)
        reader = MemoryReader(index, "")
        marks = ", ".join("?" * len(wanted))
        where = f"status = 'active' and id in ({marks})"
        for entry in index.list_entries(where, tuple(wanted)):
            if is_recallable(workspace, entry):
                memories.append(reader.build_from_entry(entry, wanted[entry.id]))
    return sorted(memories, key=lambda memory: -memory.score)


def get_queue_path(shown: Shown) -> Path:
    return Path(f"{shown.path}.late")
