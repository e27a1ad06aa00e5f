"""Two embedding models that agree on nothing: what one of them made of a text is noise to the other.

A process that has called `install` finds the second one in a folder of its own, as a user's settings name it.
"""

import time
from pathlib import Path
from typing import Any

from memcli.index import embeddings
from memcli.index.embedding_model import find_model
from tests.fakes import CountingEmbedder

BUILT_IN = "words-64@00000000"


class Models:
    """The embedders of the two models, which count what they are asked."""

    def __init__(self, seconds: float = 0.0) -> None:
        """Take a time for each call."""
        self.built_in = CountingEmbedder(BUILT_IN)
        self.others: dict[str, CountingEmbedder] = {}
        self._seconds = seconds

    def open(self, folder: Path | None, **_: Any) -> CountingEmbedder:
        """Open a model as `open_embedder` does; raise UnavailableError if its folder is gone."""
        time.sleep(self._seconds)
        if folder is None:
            return self.built_in
        name = find_model(folder).name
        return self.others.setdefault(name, CountingEmbedder(name, salt=name))

    def install(self) -> "Models":
        """Let this process find them."""
        embeddings.open_embedder = self.open  # type: ignore[assignment]
        embeddings.built_in_name = lambda: BUILT_IN
        return self


def folder_of_model(place: Path, name: str = "second") -> Path:
    """Make the folder of a model; it has files and no more."""
    folder = place / name
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"weights of " + name.encode())
    (folder / "tokenizer.json").write_text("{}")
    return folder
