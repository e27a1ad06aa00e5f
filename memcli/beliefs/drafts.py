"""What wants to become memory, and what became of it: the values that admission takes and gives."""

from collections.abc import Callable, Mapping
from typing import Any

from ..dataclass import dataclass
from ..formats.entry import Entry, read_entry
from ..formats.frontmatter.document import parse
from ..store.access_log import Access
from ..store.entries import drafted
from ..store.workspace import Workspace
from .plan import Plan


@dataclass(frozen=True)
class Draft:
    """A memory that wants in: the fields told, its text, and the random source of its id."""

    told: Mapping[str, Any]
    body: str
    noise: Callable[[int], bytes]
    path: str = ""  # of a file that stands elsewhere already; empty: as the layout has it
    text: str = ""  # that file's text; it keeps its id and every byte but for the marks that it gets
    confirms: bool = True  # whether it counts that it was said again; text that was pasted once more confirms nothing

    @property
    def is_told_now(self) -> bool:
        """Tell whether it has no date of its own."""
        return not self.text and not self.told.get("created_at")


@dataclass(frozen=True)
class Admitted:
    """What became of a draft."""

    action: str  # created or merged
    id: str  # of the entry that says it now
    path: str
    supersedes: tuple[str, ...] = ()  # ids it took the place of
    superseded_by: str = ""  # id of the entry that is believed in its stead
    conflicts_with: tuple[str, ...] = ()
    likely_same: tuple[str, ...] = ()  # those of these that probably say the same
    reason: str = ""
    strength: int = 1  # how often it was confirmed, this time included

    def as_dict(self) -> dict[str, Any]:
        """Return it for a JSON document; what does not apply is left out."""
        known = {
            "supersedes": list(self.supersedes),
            "superseded_by": self.superseded_by,
            "conflicts_with": list(self.conflicts_with),
            "likely_same": list(self.likely_same),
            "reason": self.reason,
            "strength": self.strength if self.action == "merged" else 0,
        }
        return {"action": self.action, "id": self.id, "path": self.path} | {
            key: value for key, value in known.items() if value
        }


@dataclass(frozen=True)
class Settled:
    """What became of all drafts, the plan that did it, and what had to be said on the way."""

    admitted: tuple[Admitted, ...]
    plan: Plan
    notices: tuple[str, ...] = ()
    error: str = ""  # why the judge was not heard; the rules decided then
    confirmed: tuple[tuple[str, Access], ...] = ()  # to be counted once the plan is applied

    @property
    def superseded(self) -> frozenset[str]:
        """Return the ids of what stood before and is believed no more."""
        return frozenset(one for done in self.admitted for one in done.supersedes)

    @property
    def made(self) -> list[str]:
        """Return the ids of what was made and is believed."""
        return [done.id for done in self.admitted if done.action == "created" and not done.superseded_by]


def entry_of(workspace: Workspace, draft: Draft) -> Entry:
    """Return the entry that a draft would make."""
    if draft.text:
        return read_entry(parse(draft.text), draft.path, workspace.now)[0]
    return drafted(workspace, draft.told, draft.body)
