"""The outcome of a command for one memory."""

from dataclasses import dataclass, field

from ..errors import MemError
from ..index.index import Index, IndexedEntry
from ..store.commit import Commit


@dataclass
class Related:
    """Another memory that an outcome mentions."""

    id: str
    short_id: str
    text: str
    relation: str  # replaces, replaced by, contradicts, similar or hides
    path: str = ""


@dataclass
class Outcome:
    """The outcome for one memory, as commands print it."""

    action: str  # saved, confirmed, unchanged, held, restored, edited or rejected
    id: str = ""
    short_id: str = ""
    path: str = ""
    text: str = ""
    strength: int = 1
    related: list[Related] = field(default_factory=list)
    error: MemError | None = None
    undo: int = 0


@dataclass
class ForgetResult:
    """The outcome of `forget` or `restore`."""

    outcomes: list[Outcome] = field(default_factory=list)
    result: Commit = field(default_factory=Commit)
    other_files: list[str] = field(default_factory=list)  # that contained a purged text
    git_commits: list[str] = field(default_factory=list)  # that still contain it
    candidates: list[Related] = field(default_factory=list)  # one may be meant; nothing was done


def describe(index: Index, entry: IndexedEntry, relation: str) -> Related:
    return Related(entry.id, index.shorten_id(entry.id), entry.summary, relation, entry.path)


def build_outcome(index: Index, action: str, entry: IndexedEntry) -> Outcome:
    return Outcome(
        action, entry.id, index.shorten_id(entry.id), entry.path, entry.summary, entry.strength
    )
