"""Whether a sentence ends something that memory holds: "Emil no longer has a cat" where an entry says that he has one.

Owns: the look at the entries for that. Refuses to decide what becomes of them: see `beliefs`.
"""

from collections.abc import Sequence

from ..beliefs.changes import is_ended_by, tells_of_change
from ..index.filters import Filter
from ..index.index import Index, ask
from ..store.workspace import Workspace
from ..text import frontmatter
from .candidates import Candidate


def ending(workspace: Workspace, said: Sequence[Candidate]) -> list[Candidate]:
    """Return what the user says outright is no longer so, where an active entry states just that.

    Entries are read only where a sentence tells of a change at all, which is rare.
    """
    told = [one for one in said if one.role == "user" and not one.is_told and tells_of_change(one.text)]
    known = _known(workspace) if told else []
    return [one for one in told if any(is_ended_by(body, one.text) is not None for body in known)]


def _known(workspace: Workspace) -> list[str]:
    """Return what the active entries say."""

    def looked(index: Index) -> list[str]:
        index.refresh()
        return [frontmatter.parse(text).body.strip() for _, text in index.texts(Filter(kinds=("entry",)))]

    return ask(workspace, looked)
