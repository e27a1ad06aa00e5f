"""What the learned comparison says of new texts and their neighbours, asked before anything is decided."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from ..errors import UnavailableError
from .comparison import Likelihoods

if TYPE_CHECKING:
    from ..index.text_vectors import Embedder, ReadTexts

FLOOR = 0.4
"""Cosine below which texts are not compared: of the pairs to train on, 4 in 100 of the updates lie below."""
_EMBEDDED = 64  # texts whose tokens are held at once


def is_learned_for(embedding: str) -> bool:
    """Tell whether a comparison was learned for an embedding model, and can be opened."""

    from .pair_model import load_pair_model  # numpy, when the embedder has said how many threads it may have

    try:
        load_pair_model(embedding)
    except UnavailableError:
        return False
    return True


class Learned:
    """Likelihoods of pairs of texts (old, new); None of a pair nobody asked about.

    `notice` says in one line why nothing is learned for this embedding model.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[tuple[str, str], Likelihoods] = {}
        self.notice = ""

    def __call__(self, old: str, new: str) -> Likelihoods | None:
        """Return what is known of a pair."""
        return self._known.get((old, new))

    def ask(self, embedder: "Embedder", pairs: Collection[tuple[str, str]], texts: "ReadTexts") -> None:
        """Compare the pairs that are not known; texts that were read before are not embedded again."""
        missing = dict.fromkeys(pair for pair in pairs if pair not in self._known)
        if not missing or self.notice:
            return

        from .pair_model import load_pair_model

        try:
            model = load_pair_model(embedder.model)
        except UnavailableError as error:
            self.notice = str(error)
            return
        by_new: dict[str, list[str]] = {}
        for old, new in missing:
            by_new.setdefault(new, []).append(old)
        for batch in _batches(by_new):
            read = texts.read(embedder, (text for new in batch for text in (new, *by_new[new])))
            asked = [(old, new) for new in batch for old in by_new[new]]
            found = model.compare([(read[old], read[new]) for old, new in asked])
            self._known |= dict(zip(asked, found, strict=True))


def _batches(by_new: Mapping[str, Collection[str]]) -> Iterator[list[str]]:
    """Part new texts so that the tokens of a part and its neighbours are held at once."""
    batch: list[str] = []
    count = 0
    for new, olds in by_new.items():
        batch.append(new)
        count += 1 + len(olds)
        if count >= _EMBEDDED:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch
