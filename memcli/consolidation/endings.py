"""Whether a sentence ends something that memory holds: "Emil no longer has a cat" where an entry says that he has one.

Owns: the look at the entries for that. Refuses to decide what becomes of them: see `beliefs`.
"""

from collections.abc import Sequence

from ..beliefs.changes import is_ended_by, tells_of_change
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.keywords import sharing_words
from ..store.workspace import Workspace
from .candidates import Candidate

_MOST = 30  # entries that are looked at for each sentence


def ending(workspace: Workspace, said: Sequence[Candidate]) -> list[Candidate]:
    """Return what the user says outright is no longer so, where an active entry states just that."""
    told = [one for one in said if one.role == "user" and not one.is_told and tells_of_change(one.text)]
    if not told:  # which is the rule
        return []

    def looked(index: Index) -> list[Candidate]:
        index.refresh()
        return [one for one in told if any(is_ended_by(text, one.text) is not None for text in _like(index, one.text))]

    return ask(workspace, looked)


def _like(index: Index, text: str) -> list[str]:
    """Return what entries say that share its words: whatever ends a statement repeats it."""
    chunks = sharing_words(index, text, Filter(kinds=("entry",)), _MOST)
    return [piece.text.strip() for piece in index.pieces(chunks).values()]
