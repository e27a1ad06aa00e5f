"""Write down at once what a user says is to be remembered: nothing that was said so plainly may be lost.

It comes in by the door of all new memories, so that what is known is confirmed and not kept twice. Where that takes too
long or fails it is kept as it is, and a later `mem dedup` settles the rest. Secrets are blanked out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from ..store.workspace import Workspace
from ..text.times import day_of

if TYPE_CHECKING:
    from ..lifecycle.admission import Draft

_LONGEST = 200  # characters told back


@dataclass(frozen=True)
class Kept:
    """What became of it: the id of the memory that says it now, what the agent is told, and whether time is over."""

    id: str
    said: str
    is_late: bool = False  # a thread may be busy still


def remember(
    workspace: Workspace, session: str, text: str, source: str, noise: Callable[[int], bytes], seconds: float
) -> Kept:
    """Keep what a user asked to remember; MemError where not even a plain file could be written."""
    from ..consolidation.drafts import paths
    from ..consolidation.relative_dates import dated
    from ..consolidation.standing_rules import plain_type
    from ..lifecycle.admission import Draft
    from ..store.redaction import redactor

    guard = redactor(workspace, "the prompt")
    text = dated(guard.text(text), day_of(workspace.now, workspace.zone))
    told = {"type": plain_type(text), "source": source, "files": list(paths(text)) or None}
    told["sources"] = [f"session:{session}"] if session else None
    draft = Draft({key: value for key, value in told.items() if value}, text, noise)
    blanked = " A secret in it was blanked out." if guard.found else ""
    kept = _admitted(workspace, draft, seconds)
    return Kept(kept.id, f"{kept.said}{blanked}", kept.is_late)


def _admitted(workspace: Workspace, draft: "Draft", seconds: float) -> Kept:
    """Let it in by the rules within the time, or else as it is."""
    from ..lifecycle.admit import admit
    from ..retrieval.deadline import Race
    from ..store import entries
    from ..text.summary import shorten

    text = shorten(draft.body, _LONGEST)
    race: Race[tuple[str, str]] = Race(monotonic() + seconds)

    def let_in() -> tuple[str, str]:
        (one,) = admit(workspace, [draft], "mem hook run").admitted
        if one.action == "merged":
            return one.id, f"Known already as {one.id}, confirmed {one.strength} times now: {text}"
        places = (
            ("It takes the place of {}.", one.supersedes),
            ("Believed in its place is {}.", (one.superseded_by,) if one.superseded_by else ()),
            (
                "It may contradict {}: both are kept.",
                [name for name in one.conflicts_with if name not in one.likely_same],
            ),
            ("It probably says the same as {}: both are kept.", one.likely_same),
        )
        also = "".join(f" {said.format(', '.join(ids))}" for said, ids in places if ids)
        return one.id, f"Kept in memory as {one.id}: {text}{also}"

    race.enter(let_in)
    done = race.first()
    if done:
        return Kept(*done)
    written = entries.write(workspace, draft.told, draft.body, draft.noise)
    return Kept(written.id, f"Kept in memory as {written.id}: {text}", race.is_busy)
