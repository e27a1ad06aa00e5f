"""Recall: the memories a prompt should have, found in time, within a budget, and not twice in a session."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ..store.workspace import Workspace
from .pack import SECTIONS, Memory, Pack

Judge = Callable[[str, Sequence[Memory]], Collection[str]]
"""Given the prompt and what was found, the ids worth showing; whatever it raises as MemError keeps them all."""


@dataclass(frozen=True)
class Recall:
    """What is asked for; None takes the setting."""

    query: str = ""  # empty: only the standing sections
    session: str = ""  # shown once per session; empty: nothing is noted
    within_ms: int | None = None  # None: as long as it takes
    budget_soft: int | None = None  # tokens past which nothing more begins
    budget_hard: int | None = None  # tokens never passed
    characters: int | None = None  # never passed either; a hook has 10,000
    gate: bool = False  # give nothing relevant for a turn that asks for no memory
    judge: Judge | None = None
    sections: tuple[str, ...] = SECTIONS
    fresh: bool = False  # forget what the session was shown: after a compaction


def recall(workspaces: Sequence[Workspace], request: Recall) -> Pack:
    """Find, choose and note what a prompt should be given; the first workspace keeps the session's state.

    Raises UsageError for a budget below 0. With `within_ms` nothing else is raised, and nothing is waited for longer.
    """
    return Pack()
