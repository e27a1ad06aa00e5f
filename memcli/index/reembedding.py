"""Embed all that there is, with the model that the settings name: also where the vectors are of another one so far.

The new vectors are made beside the old ones, which answer until none is missing; then both change places at once. What
was made is kept when a process is killed or the disk is full, and the next one goes on from there.
"""

import sqlite3
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..errors import BusyError, UnavailableError
from .database import MovedError
from .embeddings import Embedding, unwritten
from .generations import swap, sweep

if TYPE_CHECKING:
    from .embedding_model import KnownModel
    from .index import Index
    from .updater import Progress

_ROUNDS = 5  # looks at what is missing, while others write


@dataclass(frozen=True)
class Switch:
    """How far an index is from one model to another."""

    answering: str  # the model whose vectors answer; empty where there are none
    wanted: str  # the one that the settings name; empty where it is missing
    texts: int
    embedded: int  # of the texts, with the model that the settings name
    problem: str = ""  # why that one cannot be used

    @property
    def is_done(self) -> bool:
        """Return whether the model answers that the settings name, or will as soon as there is something to ask."""
        return not self.problem and self.answering in ("", self.wanted)


def embed_all(index: "Index", progress: "Progress | None" = None) -> int:
    """Embed every chunk with the model that the settings name, drop what is not needed, return how many are left.

    Where another model answered until now, this one answers as soon as no chunk is left. Raise UnavailableError if
    there is no such model, BusyError if another process writes, or embeds with a third model.
    """
    embedding = index.embedding
    wanted, left = embedding.wanted(), 0
    for _ in range(_ROUNDS):
        embedding.look_again()
        try:
            if embedding.model() == wanted.name or index.folder is None:
                left = embedding.embed_missing(None, progress=progress)
            else:
                left = _embed_beside(embedding, wanted, progress)
        except MovedError:
            if wanted.name not in (embedding.answering.model, embedding.other.model):
                raise BusyError(f"another process embeds with {embedding.other.model}", "let it end first") from None
        else:
            if not left or index.folder is None:
                break
    embedding.look_again()
    tidy(embedding, wanted.name)
    chosen = index.workspace.settings["embedding.model"]
    if not left and index.meta("choice") != chosen and index.folder is not None:
        with index.writing():
            index.set_meta("choice", chosen)
    embedding.fold()
    return left


def switch_of(index: "Index") -> Switch:
    """Return how far an index is with the model that the settings name."""
    embedding = index.embedding
    held = "" if embedding.answering.is_empty() else embedding.answering.model
    total = index.chunk_count()
    try:
        wanted = embedding.wanted().name
    except UnavailableError as error:
        return Switch(held, "", total, 0, str(error))
    both = (embedding.answering, embedding.other)
    done = next((total - len(one.missing()) for one in both if one.is_of(wanted)), 0)
    return Switch(held, wanted, total, done)


def pending(index: "Index") -> int:
    """Count the texts that `embed_all` would embed; at least 1 where another model is to answer."""
    missing = index.health().not_embedded
    switch = switch_of(index)
    return missing if switch.is_done or switch.problem else max(missing, switch.texts - switch.embedded, 1)


def tidy(embedding: Embedding, wanted: str) -> int:
    """Drop vectors unused for 30 days and return how many; rewrite the file if a quarter is dead."""
    if embedding.index.folder is None:
        return 0
    with embedding.index.writing():
        # Before this one rewrites the file, lest a crash takes the generation that is named until the commit.
        sweep(embedding.index)
        dropped = embedding.answering.drop_unused(is_wanted=True)
        dropped += embedding.other.drop_unused(is_wanted=embedding.other.model == wanted)
        embedding.answering.compact()
    return dropped


def _embed_beside(embedding: Embedding, model: "KnownModel", progress: "Progress | None") -> int:
    """Embed with another model than the one that answers, and let it answer if none is left; return how many are."""
    other = embedding.other
    try:
        if not other.is_of(model.name):
            with embedding.index.writing():
                other.start_over(model.name)
        if missing := other.missing():
            embedding.fill(other, embedding.open(model, bulk=True), missing, None, progress)
        with embedding.index.writing():
            left = len(other.missing())
            if other.model != model.name:
                raise MovedError
            if not left:
                swap(embedding.index)
    except sqlite3.OperationalError as error:
        raise unwritten(error, True) from error
    return left
