"""Stand-ins with behaviour for what is slow or costs money."""

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class CountingEmbedder:
    """An embedder that hashes words into 64 numbers: the more words two texts share, the nearer they are.

    The same in every process; the order and the case of the words do not matter. Counts what it is asked.
    """

    def __init__(self, model: str = "words-64@00000000", salt: str = "") -> None:
        """Begin with nothing counted; vectors of two salts have nothing in common."""
        self.model = model
        self._salt = salt
        self.dimension = 64
        self.calls = 0
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        """Give a row of length 1 for each text; a text without words gives the same row as any other such text."""
        self.calls += 1
        self.embedded += texts
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                vector[zlib.crc32((self._salt + word).encode("utf-8", "replace")) % self.dimension] += 1
            vector /= np.linalg.norm(vector)
        return vectors
