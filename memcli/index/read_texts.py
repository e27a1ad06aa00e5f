"""The texts the model read last, with the vectors of their word pieces; refuses to hold more than it has room for."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .embedder import Embedder, TokenVectors

_ROOM = 40_000  # word pieces whose vectors are kept: 60 MB


class ReadTexts:
    """Texts with the vectors of their word pieces, the latest of them kept, so that none is embedded twice."""

    def __init__(self, room: int = _ROOM) -> None:
        """Keep so many word pieces; the text used longest ago goes first."""
        self._known: dict[str, TokenVectors] = {}
        self._left = room

    def read(self, embedder: "Embedder", texts: Iterable[str]) -> "dict[str, TokenVectors]":
        """Give each text with its vectors; those that are not kept are embedded in one pass of the model."""
        wanted = dict.fromkeys(texts)
        found = {text: self._known.pop(text) for text in wanted if text in self._known}
        self._left += sum(len(one.pieces) for one in found.values())
        if missing := [text for text in wanted if text not in found]:
            found |= {one.text: one for one in embedder.embed_tokens(missing)[1]}
        self._known |= found
        self._left -= sum(len(one.pieces) for one in found.values())
        while self._left < 0:
            self._left += len(self._known.pop(next(iter(self._known))).pieces)
        return found

    def vectors(self, embedder: "Embedder", texts: Collection[str]) -> "NDArray[np.float32]":
        """Give the unit vector of each text, a row each."""
        import numpy as np

        read = self.read(embedder, texts)
        return np.stack([read[text].pooled for text in texts])
