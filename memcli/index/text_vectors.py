"""Texts as vectors: what an embedding model gives, and a cache of it within one process."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


CONTEXT_END = "\x1e"
"""Ends the context of a text to embed: what stands before it is read with the text, and left out of its vector.

The pieces of a text then mean what they mean there ("late chunking", Günther et al. 2024, arXiv:2409.04701); a model
that does not pool by the mean is not given the context."""


class TokenVectors(NamedTuple):
    """A text's word pieces, without the marks that a tokenizer puts around a text.

    `vectors` is (n, dimension) float32, a row for each piece as the model's last layer gives it; `pooled` is the unit
    vector of the whole text, as `embed` gives it. A text longer than the model reads has the pieces that were read.
    """

    text: str
    pieces: tuple[int, ...]  # the number of each in the vocabulary
    spans: tuple[tuple[int, int], ...]  # start and end of each in the text, in characters
    vectors: "NDArray[np.float32]"
    pooled: "NDArray[np.float32]"


class Embedder(Protocol):
    """Something that turns texts into unit vectors."""

    @property
    def model(self) -> str:
        """Return the name of the model; vectors of two names are never compared."""

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> "NDArray[np.float32]":
        """Return the unit vectors of texts, (n, dimension) float32; some models treat a query differently."""

    def embed_tokens(self, texts: Sequence[str]) -> "tuple[NDArray[np.float32], list[TokenVectors]]":
        """Return what `embed` returns, and the word pieces of each text with their vectors, from one pass."""


_RUN = 20  # word pieces that take as long as beginning another run: padding beyond that costs more than it spares


def batched(lengths: Sequence[int], limit: int) -> list[list[int]]:
    """Put the places of texts of like length together, each batch within a limit of word pieces, padding counted.

    A longer text begins another batch where padding the shorter ones to its length would take longer than another run.
    The longest come first, so that of several workers none is left alone with them at the end.
    """
    batches: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        last = batches[-1] if batches else []
        padding = len(last) * (lengths[position] - lengths[last[-1]]) if last else 0
        if not last or padding > _RUN or (len(last) + 1) * lengths[position] > limit:
            batches.append([])
        batches[-1].append(position)
    return batches[::-1]


_ROOM = 40_000  # word pieces whose vectors are kept: 60 MB
_ROOM_IN_BULK = 240_000  # with numbers of two bytes: 180 MB


class ReadTexts:
    """Texts with the vectors of their word pieces, the latest of them kept, so that none is embedded twice."""

    def __init__(self, room: int = 0, *, in_bulk: bool = False) -> None:
        """Keep so many word pieces, in bulk more at half the precision; the text used longest ago goes first."""
        self._known: dict[str, TokenVectors] = {}
        self._left = room or (_ROOM_IN_BULK if in_bulk else _ROOM)
        self._kept_as = "float16" if in_bulk else "float32"

    def read(self, embedder: Embedder, texts: Iterable[str]) -> dict[str, TokenVectors]:
        """Return each text with its vectors; texts not kept are embedded in one pass of the model."""
        wanted = dict.fromkeys(texts)
        cached = {text: self._known.pop(text) for text in wanted if text in self._known}
        self._left += sum(len(read.pieces) for read in cached.values())
        vectors = {text: _as(read, "float32") for text, read in cached.items()}
        if missing := [text for text in wanted if text not in vectors]:
            vectors |= {read.text: read for read in embedder.embed_tokens(missing)[1]}
        self._known |= cached | {text: _as(vectors[text], self._kept_as) for text in missing}
        self._left -= sum(len(read.pieces) for read in vectors.values())
        while self._left < 0:
            self._left += len(self._known.pop(next(iter(self._known))).pieces)
        return vectors

    def vectors(self, embedder: Embedder, texts: Collection[str]) -> "NDArray[np.float32]":
        """Return the unit vectors of texts, (n, dimension) float32."""
        import numpy as np

        read = self.read(embedder, texts)
        return np.stack([read[text].pooled for text in texts])


def _as(read: TokenVectors, kind: str) -> TokenVectors:
    return read if read.vectors.dtype == kind else read._replace(vectors=read.vectors.astype(kind))
