"""A pack: the memories recalled for a prompt, with what was left out and why. Knows nothing of how they were found."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..formats.text_lines import FileProblem
from ..language.harness_text import without_injected
from .session_state import Surfaced

LONG_TERM, NOTES, RECENT, RELEVANT, DOCUMENTS = "long_term", "notes", "recent", "relevant", "documents"
SECTIONS = (LONG_TERM, NOTES, RECENT, RELEVANT, DOCUMENTS)
STANDING = (LONG_TERM, NOTES, RECENT)
"""Sections that follow from the day, whatever is asked."""
WORKING, EPISODIC, SEMANTIC, PROCEDURAL = "working", "episodic", "semantic", "procedural"
LAYERS = (WORKING, EPISODIC, SEMANTIC, PROCEDURAL)
"""Layers of what is relevant, in the order they are shown; working is what this session said and wrote."""
FORMATS = ("markdown", "block", "json")
CHARACTERS_A_TOKEN = 3.5


@dataclass(frozen=True)
class Memory:
    """One piece of a pack."""

    id: str  # what `mem read` takes
    section: str
    text: str  # the whole of it where there is room, else the passage that fits
    layer: str = ""  # of what is relevant
    kind: str = ""
    type: str = ""
    source: str = ""  # user, observed, inferred, repository; empty for what is no entry
    date: str = ""  # the day it was made or last changed, YYYY-MM-DD
    path: str = ""
    scope: str = ""
    summary: str = ""
    relevance: float = 0.0  # in [0, 1]; 0 for what was not searched for
    asked: str = ""  # the part of the prompt that it fits best; empty where that is the whole
    parts: Mapping[str, float] = field(default_factory=dict)  # what the relevance is made of; they add up to it
    kept: float = 1.0  # in [0, 1]: how much is left of it by age, trust and use
    score: float = 0.0  # what orders the section
    conflicts: tuple[str, ...] = ()  # ids of memories it is flagged with
    likely_same: tuple[str, ...] = ()  # those of these that probably say the same
    changed: tuple[str, ...] = ()  # what became of the lines it cites, where they are not what they were
    is_whole: bool = True  # the text is all of it
    digest: str = ""  # of the whole text: one that has changed is news


@dataclass(frozen=True)
class LeftOut:
    """What is not in the pack, and why: a memory, or a file of notes or history with the number of its parts."""

    id: str
    section: str
    why: str  # shown already, budget, limit, judged, gate, cutoff
    count: int = 1


@dataclass(frozen=True)
class Pack:
    """What was recalled."""

    chosen: tuple[Memory, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    notices: tuple[str, ...] = ()
    tokens: Mapping[str, int] = field(default_factory=dict)  # by section
    found_by: str = ""  # hybrid, keyword; empty where nothing was searched
    relevance: float = 0.0  # of the best memory found, shown or not
    is_late: bool = False  # the time was over: threads may still be busy, so leave the process without waiting
    is_gated: bool = False  # the turn asks for no memory
    reset: str = ""  # why the session's state began anew: new session, topic, turns, asked

    @property
    def surfaced(self) -> tuple[str, ...]:
        """Give the ids of what is shown."""
        return tuple(memory.id for memory in self.chosen)

    def text(self, form: str = "markdown") -> str:
        """Write the pack as `markdown`, as the short `block`, or as `json`; of an empty one the first two are empty."""
        from .pack_format import written

        return written(self, form)


Judge = Callable[[str, Sequence[Memory]], Collection[str]]
"""Given the prompt and what was found, the ids worth showing; a MemError it raises keeps them all."""
QUERY = 4000
"""Characters of a prompt that are searched for: its first half and its end, where a pasted log has its question."""


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
    as_of: str = ""  # RFC 3339: give what was believed then; the workspaces' clock stands there too


@dataclass(frozen=True)
class Fitting:
    """What was found for a prompt, best first."""

    memories: tuple[Memory, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    notices: tuple[str, ...] = ()
    vector: tuple[float, ...] = ()
    model: str = ""

    @property
    def best(self) -> float:
        """Give the relevance of the best memory."""
        return max((memory.relevance for memory in self.memories), default=0.0)


@dataclass(frozen=True)
class Gathered:
    """Everything a pack is chosen from."""

    state: Surfaced
    standing: tuple[Memory, ...] = ()
    fitting: Fitting = field(default_factory=Fitting)
    documents: Fitting = field(default_factory=Fitting)
    problems: tuple[FileProblem, ...] = ()
    found_by: str = ""


def asked_for(prompt: str) -> str:
    """Give what of a prompt is searched for: what was said, without what tools put in, and no more than is useful."""
    text = without_injected(prompt).replace("\x00", " ").strip()
    return text if len(text) <= QUERY else f"{text[: QUERY // 2]}\n{text[-QUERY // 2 :]}"
