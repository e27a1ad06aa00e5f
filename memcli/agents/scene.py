"""Where an event of a conversation happened, what its hook may use, and what the agent is answered."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import monotonic

from ..store import trust
from ..store.workspace import Workspace
from .hook_event import HookEvent
from .keeping import Noise

Detach = Callable[[Workspace, Sequence[str], float], bool]
"""Starts `mem` with some words in a process of its own, no more often than every so many seconds."""
Behind = Callable[[Callable[[], None]], None]
"""Does work for which the agent need not wait."""


@dataclass(frozen=True)
class Scene:
    """Where an event happened, and what the hook may use."""

    workspaces: Sequence[Workspace]
    event: HookEvent
    noise: Noise
    detach: Detach
    behind: Behind
    began: float  # when the process began, on the monotonic clock

    @property
    def workspace(self) -> Workspace:
        """Give the workspace that is asked first, and gets what the user asks to remember."""
        return self.workspaces[0]

    @property
    def left(self) -> float:
        """Give the seconds the agent may still be kept waiting, counted from the start of the process."""
        within: float = self.workspace.settings["hooks.within"]
        return max(0.0, self.began + within / 1000 - monotonic())

    @cached_property
    def keeper(self) -> Workspace | None:
        """Give the workspace that keeps what is said; None where nothing is kept.

        `mem hook install` records whose that is. Without a record it is the project's, unless that came from others.
        """
        first = self.workspace
        record = trust.record_of(first.state, first.root) if first.state else None
        to_user = record.notes_to == "user" if record and record.notes_to else not first.is_trusted
        kept_by = next((one for one in self.workspaces if one.is_own), None) if to_user else first
        if kept_by is None or not self.event.session:
            return None
        return kept_by if first.settings["hooks.notes"] and kept_by.settings["hooks.notes"] else None


@dataclass(frozen=True)
class Answer:
    """What the agent is given."""

    event: str = ""
    context: str = ""
    is_late: bool = False  # threads may be busy still: leave the process without waiting for them

    def written(self) -> str:
        """Write the document both agents read, with no key that one of them does not know; nothing for no context."""
        if not self.context.strip():
            return ""
        told = {"hookEventName": self.event, "additionalContext": self.context}
        return json.dumps({"hookSpecificOutput": told}, ensure_ascii=False)
