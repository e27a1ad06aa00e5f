"""Show later memories of the same subject: changes the order of hits, and nothing on disk.

Of two alike and nearly equal hits the later comes first; a later one that is alike and would not be shown is added.
What is alike is measured, what holds is not decided: a verdict, a key or an expiry says that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ..language.keyword_tokens import query_terms
from .ranking import Scored

if TYPE_CHECKING:
    from ..index.index import Piece

COSINE = 0.6
"""Least cosine of two texts that may be about the same."""
SHARED = 0.5
"""Least share of the content words of the shorter of two entries that stand in the other."""
NEARLY = 0.9
"""Share of an earlier entry's relevance from which a later one stands before it."""
OVER_TALK = 0.5
"""The same between an entry and a note, turn or record of another day, and of one that is added."""
MOST_ADDED = 2
"""Hits, the best ones, for each of which a later one may be added; for all ten, dense talk would add one or two."""
_TALK = ("note", "session", "history")


class LaterFirst:
    """Compares the documents of a search by their vectors; texts without a vector are like nothing."""

    def __init__(
        self, now: str, pieces: Mapping[int, "Piece"], alike: Mapping[int, frozenset[int]], *, marks: bool = False
    ) -> None:
        """Take the chunks of all documents of a search, and those that are alike by a cosine of `COSINE`.

        With `marks`, note of each which other one it is later than. A time after `now` counts as now.
        """
        self._marks = marks
        self._pieces = pieces
        self._now = now
        self._alike = alike

    def view(
        self, shown: Sequence[Scored], ranked: Sequence[Scored], limit: int
    ) -> tuple[list[Scored], dict[int, int], list[Scored]]:
        """Return documents in their order, the chunks they are later than, and up to `MOST_ADDED` later documents.

        The later documents are taken from those in `ranked` that are not among the first `limit`. The mapping has,
        for the chunk of each of them, and with `marks` of each other later document, the chunk of the earlier one.
        """
        order, later = self._ordered(shown)
        shown_documents = {scored.document for scored in order[:limit]}
        missing = self._missing(order[:limit], [scored for scored in ranked if scored.document not in shown_documents])
        return order, later | {scored.chunk: than for scored, than in missing}, [scored for scored, _ in missing]

    def _ordered(self, shown: Sequence[Scored]) -> tuple[list[Scored], dict[int, int]]:
        """Return documents with the later of two alike and nearly equal ones first, as relevant as the earlier.

        Return also, for the chunk of each later one, the chunk of the first that it is later than.
        """
        result: list[Scored] = []
        later: dict[int, int] = {}
        for scored in shown:
            alike = self._alike.get(scored.chunk, ())
            near = [(position, other) for position, other in enumerate(result) if other.chunk in alike]
            outranked = [position for position, other in near if self._stands_before(scored, other)]
            if not outranked:
                if earlier := next((other for _, other in near if self._marks and self._is_later(scored, other)), None):
                    later[scored.chunk] = earlier.chunk
                result.append(scored)
                continue
            other = result[outranked[0]]
            if self._marks:
                later[scored.chunk] = other.chunk
            gain = other.relevance - scored.relevance
            parts = {**scored.parts, "later": gain} if gain > 0 else scored.parts
            result.insert(outranked[0], replace(scored, relevance=max(other.relevance, scored.relevance), parts=parts))
        return result, later

    def _missing(self, shown: Sequence[Scored], others: Sequence[Scored]) -> list[tuple[Scored, int]]:
        """Return the later documents to show besides, each with the chunk of the document it is later than."""
        added: dict[int, tuple[Scored, int]] = {}
        for scored in shown[:MOST_ADDED]:
            alike = self._alike.get(scored.chunk, ())
            near = [each for each in others if each.chunk in alike and each.relevance >= OVER_TALK * scored.relevance]
            after = [other for other in near if other.chunk not in added and self._is_later(other, scored)]
            if after:
                latest = max(after, key=lambda other: self._moment(self._pieces[other.chunk]))
                added[latest.chunk] = latest, scored.chunk
        return list(added.values())

    def _stands_before(self, later: Scored, earlier: Scored) -> bool:
        is_talk = _is_talk(self._pieces[later.chunk]) or _is_talk(self._pieces[earlier.chunk])
        least = OVER_TALK if is_talk else NEARLY
        return later.relevance >= least * earlier.relevance and self._is_later(later, earlier)

    def _is_later(self, later: Scored, earlier: Scored) -> bool:
        """Return whether of two documents that are alike by their vectors `later` was written after `earlier`."""
        new, old = self._pieces[later.chunk], self._pieces[earlier.chunk]
        is_talk = _is_talk(new), _is_talk(old)
        if all(is_talk) or not all(_is_talk(piece) or piece.kind == "entry" for piece in (new, old)):
            return False
        if any(is_talk):
            is_repeat = _plain(old.text) in _plain(new.text)  # such as the record of what was said before it was kept
            if is_repeat or new.timestamp[:10] == old.timestamp[:10]:
                return False
        elif new.entry["id"] == old.entry["id"] or new.entry["trust"] < old.entry["trust"]:
            return False
        return self._moment(new) > self._moment(old) and (any(is_talk) or self._share_words(new, old))

    def _share_words(self, new: "Piece", old: "Piece") -> bool:
        ours, theirs = _content_words(new.text), _content_words(old.text)
        return len(ours & theirs) >= SHARED * min(len(ours), len(theirs))

    def _moment(self, piece: "Piece") -> tuple[str, str]:
        """Return what sorts memories by when they changed, then by when they were made, as ids sort."""
        return min(piece.timestamp, self._now), str(piece.entry.get("id") or "")


@lru_cache(1000)
def _content_words(text: str) -> frozenset[str]:
    return frozenset(query_terms(text))


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".")


def _is_talk(piece: "Piece") -> bool:
    return piece.kind in _TALK
