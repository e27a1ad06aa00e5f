"""Whether a sentence ends something that memory holds: "Emil no longer has a cat" where an entry says that he has one.

Owns: the look at the entries for that. Refuses to decide what becomes of them: see `beliefs`.
"""

from collections.abc import Sequence

from ..beliefs.changes import is_ended_by, tells_of_change
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.keywords import sharing_words
from .candidates import Candidate
from .drafts import Batch

_MOST = 30  # entries that are looked at for each sentence


def ending(batch: Batch, said: Sequence[Candidate]) -> list[Candidate]:
    """Return what the user says outright is no longer so, where an entry that stands, or will, states just that."""
    told = [one for one in said if one.role == "user" and not one.is_told and tells_of_change(one.text)]
    if not told:  # which is the rule
        return []

    def looked(index: Index) -> list[Candidate]:
        if batch.before is None:
            index.refresh()
        stated = {one: (*_like(index, one.text), *(batch.before or ())) for one in told}
        return [one for one in told if any(is_ended_by(text, one.text) is not None for text in stated[one])]

    return ask(batch.workspace, looked)


def _like(index: Index, text: str) -> list[str]:
    """Return what entries say that share its words: whatever ends a statement repeats it."""
    chunks = sharing_words(index, text, Filter(kinds=("entry",)), _MOST)
    return [piece.text.strip() for piece in index.pieces(chunks).values()]
