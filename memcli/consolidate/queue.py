"""Run consolidations: one at a time in each workspace, in the background, and after `init`.

After `init`, the conversations that agents stored before mem was installed are consolidated.
"""

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import BusyError, LlmError, MemError
from ..formats import Progress, count_noun
from ..llm.client import is_configured
from ..store import NICENESS, Session, Workspace, get_session, list_sessions
from ..transcripts.importer import import_file
from .batch import find_due_messages
from .compaction import HARD_LIMIT, compact_session, needs_compaction, shorten_page
from .consolidate import BatchResult, consolidate_sessions, find_due_sessions

LOCK = "consolidate.lock"
WAITING_LOCK = "consolidate-waiting.lock"  # of the one that waits in the background
WAIT_SECONDS = 120.0  # for another consolidation, which may have begun before a session ended


@contextmanager
def hold_queue(
    workspace: Workspace, seconds: float = 0.0, *, is_background: bool = False
) -> Iterator[None]:
    """Hold the right to consolidate. Raises BusyError if another process has it for too long.

    In the background only one process waits, because it then finds the sessions of all.

    This is not the lock of the workspace: while a language model works, others can write.
    """
    workspace.ensure_machine()
    folder = workspace.machine.folder
    if folder is None:
        # Without a state folder there is nothing to lock. The cursor is compared before each write.
        yield
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    from filelock import FileLock, Timeout  # 40 ms to import

    lock = FileLock(folder / LOCK, timeout=seconds, mode=0o600)
    try:
        with FileLock(folder / WAITING_LOCK, timeout=0) if is_background else nullcontext():
            lock.acquire()
    except Timeout:
        raise BusyError("another process is consolidating this workspace") from None
    try:
        yield
    finally:
        lock.release()


def run_consolidation(
    workspace: Workspace,
    *,
    name: str = "",
    is_forced: bool = False,
    use_llm: bool = True,
    actor: str = "person",
    seconds: float = 0.0,
) -> tuple[list[BatchResult], list[str]]:
    """Consolidate and compact due sessions, and shorten MEMORY.md.

    Returns results and messages.

    With the name of a session, only that one is consolidated, up to its end.

    Raises BusyError if another process does it.
    """
    messages = []
    with hold_queue(workspace, seconds, is_background=actor == "hook"):
        # Agents cannot read a session above the hard limit, so it does not wait for a model.
        for session in list_sessions(workspace):
            if session.token_count > HARD_LIMIT:
                compact_session(workspace, session, actor=actor)
        if name:
            sessions = [get_session(workspace, name)]
        else:
            sessions = find_due_sessions(workspace, is_forced=is_forced)
        done = consolidate_sessions(
            workspace, sessions, is_forced=is_forced or bool(name), use_llm=use_llm, actor=actor
        )
        for session in list_sessions(workspace):
            if needs_compaction(workspace, session):
                moved = compact_session(workspace, session, actor=actor)
                messages.append(f"moved {moved} messages of {session.id} to its archive")
        if use_llm and not any(result.error for result in done):
            messages.append(shorten_page(workspace, actor=actor))
    return done, [message for message in messages if message]


def find_due_conversations(workspace: Workspace) -> Sequence[Session]:
    """Return the conversations to consolidate or to compact."""
    if not workspace.settings["consolidate.automatic"]:
        return []
    due = [session.id for session in find_due_sessions(workspace)]
    return [
        session
        for session in list_sessions(workspace)
        if session.id in due or needs_compaction(workspace, session)
    ]


def consolidate_due(workspace: Workspace, sessions: Sequence[Session]) -> str:
    """Consolidate and compact due sessions. Raises LlmError if the model failed."""
    try:
        done, _ = run_consolidation(workspace, actor="hook")
    except BusyError:
        return "conversations are being consolidated by another process"
    for result in done:
        if result.error:
            raise LlmError(f"the language model failed ({result.error}): the next run tries again")
    conversations = count_noun(len(sessions), "conversation")
    memories = count_noun(sum(len(result.memories) for result in done), "memory")
    return f"consolidate: {conversations}, {memories}"


def start_background(workspace: Workspace, sessions: Sequence[Session]) -> bool:
    """Start a process that consolidates, if a session is due. Return whether one was started.

    Hooks call this, because nobody should wait for a language model.
    """
    import subprocess

    with suppress(OSError):
        workspace.ensure_machine()
    if workspace.machine.folder is None or not workspace.settings["consolidate.automatic"]:
        return False
    if not any(find_due_messages(workspace, session) for session in sessions):
        return False
    # In the user's own workspace, --workspace would make it a project's.
    place = ["--scope", "user"] if workspace.is_own else ["--workspace", str(workspace.root)]
    with workspace.machine.open_log() as log:
        process = subprocess.Popen(
            # -P: a module in the workspace must not replace one of Python's.
            [sys.executable, "-P", "-m", "memcli", "consolidate", "--background", *place],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=workspace.root,
            env=dict(workspace.context.environment),
            # The agent kills the process group of its hooks.
            start_new_session=True,
        )
    # The agent is starting, working or ending: it needs the processor more. A function that runs
    # between fork and exec could wait forever for a thread of the model.
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
    # In a long-lived process somebody has to wait for it, or it stays as a zombie.
    threading.Thread(target=process.wait, daemon=True).start()
    return True


@dataclass
class PastResult:
    """Counts of imported conversations and of new memories."""

    conversations: int = 0
    memories: int = 0
    is_in_background: bool = False  # a language model still reads the conversations
    problems: list[str] = field(default_factory=list)


def learn_from_transcripts(
    workspace: Workspace, paths: Sequence[Path], progress: Progress | None = None
) -> PastResult:
    """Import conversations and consolidate those that have ended.

    With a language model, this takes half a minute for each, so it runs in the background.
    """
    result = PastResult()
    for number, path in enumerate(paths, 1):
        try:
            imported = import_file(workspace, path, [])
        except (MemError, OSError) as error:
            result.problems.append(f"{path}: {error}")
            continue
        result.conversations += len(imported)
        if progress:
            progress(number, len(paths))
    due = find_due_sessions(workspace)
    if result.conversations and not due:
        result.problems.append("mem learns later from conversations that may still be running")
    if is_configured(workspace):
        result.is_in_background = start_background(workspace, due)
    elif due:
        done, _ = run_consolidation(workspace, use_llm=False)
        actions = [outcome.action for batch in done for outcome in batch.memories]
        result.memories = actions.count("saved")
    return result
