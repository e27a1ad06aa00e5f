"""What a recall asks for, and what a pack is chosen from."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import field

from ..dataclass import dataclass
from ..formats.text_lines import FileProblem
from ..language.harness_text import without_injected
from .pack import SECTIONS, Memory
from .session_state import SessionState

Judge = Callable[[str, Sequence[Memory]], Collection[str]]
"""Given the prompt and what was found, the ids worth showing; a MemError it raises keeps them all."""
QUERY = 4000
"""Characters of a prompt that are searched for: its first half and its end, where a pasted log has its question."""


@dataclass(frozen=True)
class RecallRequest:
    """What a recall asks for; None takes the setting."""

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
    as_of: str = ""  # RFC 3339: give what was believed then; the workspaces' clock stands there too


@dataclass(frozen=True)
class Matches:
    """What was found for a prompt, best first."""

    memories: tuple[Memory, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    notices: tuple[str, ...] = ()
    vector: tuple[float, ...] = ()
    model: str = ""

    @property
    def best(self) -> float:
        """Return the relevance of the best memory; 0 where there is none."""
        return max((memory.relevance for memory in self.memories), default=0.0)


@dataclass(frozen=True)
class PackSources:
    """Everything a pack is chosen from."""

    state: SessionState
    standing: tuple[Memory, ...] = ()
    fitting: Matches = field(default_factory=Matches)
    documents: Matches = field(default_factory=Matches)
    problems: tuple[FileProblem, ...] = ()
    found_by: str = ""


def query_of(prompt: str) -> str:
    """Return the part of a prompt to search for: what was said, without what tools put in, cut to `QUERY`."""
    text = without_injected(prompt).replace("\x00", " ").strip()
    return text if len(text) <= QUERY else f"{text[: QUERY // 2]}\n{text[-QUERY // 2 :]}"
