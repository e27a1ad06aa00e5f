"""Learn from conversations that agents stored before mem was installed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import MemError
from ..llm.client import is_configured
from ..store.workspace import Workspace
from ..transcripts.importer import import_file
from .consolidate import find_due_sessions
from .queue import run_consolidation, start_background


@dataclass
class PastResult:
    """Counts of imported conversations and of new memories."""

    conversations: int = 0
    memories: int = 0
    is_in_background: bool = False  # a language model still reads the conversations
    problems: list[str] = field(default_factory=list)


def learn_from_transcripts(
    workspace: Workspace,
    paths: Sequence[Path],
    progress: Callable[[int, int], None] | None = None,
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
    if is_configured(workspace):
        result.is_in_background = start_background(workspace, due)
    elif due:
        done, _ = run_consolidation(workspace, use_llm=False)
        actions = [outcome.action for batch in done for outcome in batch.memories]
        result.memories = actions.count("saved")
    return result
