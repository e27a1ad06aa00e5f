"""The texts the model read last, with the vectors of their word pieces; refuses to hold more than it has room for."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .embedder import Embedder, TokenVectors

_ROOM = 40_000  # word pieces whose vectors are kept: 60 MB
_ROOM_IN_BULK = 240_000  # with numbers of two bytes: 180 MB


class ReadTexts:
    """Texts with the vectors of their word pieces, the latest of them kept, so that none is embedded twice."""

    def __init__(self, room: int = 0, *, in_bulk: bool = False) -> None:
        """Keep so many word pieces, in bulk more at half the precision; the text used longest ago goes first."""
        self._known: dict[str, TokenVectors] = {}
        self._left = room or (_ROOM_IN_BULK if in_bulk else _ROOM)
        self._kept_as = "float16" if in_bulk else "float32"

    def read(self, embedder: "Embedder", texts: Iterable[str]) -> "dict[str, TokenVectors]":
        """Give each text with its vectors; those that are not kept are embedded in one pass of the model."""
        wanted = dict.fromkeys(texts)
        known = {text: self._known.pop(text) for text in wanted if text in self._known}
        self._left += sum(len(one.pieces) for one in known.values())
        found = {text: _as(one, "float32") for text, one in known.items()}
        if missing := [text for text in wanted if text not in found]:
            found |= {one.text: one for one in embedder.embed_tokens(missing)[1]}
        self._known |= known | {text: _as(found[text], self._kept_as) for text in missing}
        self._left -= sum(len(one.pieces) for one in found.values())
        while self._left < 0:
            self._left += len(self._known.pop(next(iter(self._known))).pieces)
        return found

    def vectors(self, embedder: "Embedder", texts: Collection[str]) -> "NDArray[np.float32]":
        """Give the unit vector of each text, a row each."""
        import numpy as np

        read = self.read(embedder, texts)
        return np.stack([read[text].pooled for text in texts])


def _as(one: "TokenVectors", kind: str) -> "TokenVectors":
    """Return a text with its pieces' vectors as numbers of a kind."""
    return one if one.vectors.dtype == kind else one._replace(vectors=one.vectors.astype(kind))
