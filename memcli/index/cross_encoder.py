"""A query and a text to a score of how well the two fit, with a local cross-encoder in ONNX form."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UnavailableError
from ..store.settings import Settings
from .embedding_model import digest_of_parts, model_file, named, stated, weight_files
from .onnx_session import blaming, open_session, open_tokenizer, readable, run_batches, run_session, usable
from .text_vectors import batched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SETTING = "search.reranker"
HOW = f"`mem config set --user {SETTING} FOLDER`"
_MOST_TOKENS = 512
"""Word pieces of a pair, whatever the model takes: a chunk has fewer, and a long query is not worth the seconds."""
_BATCH = 1024  # word pieces in a batch, padding counted
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


class CrossEncoderModel(NamedTuple):
    """A cross-encoder's files."""

    name: str  # with the first 8 digits of the hash
    file: Path
    tokenizer: Path
    digest: str
    max_tokens: int


def chosen_cross_encoder(settings: Settings, cache: Path) -> "CrossEncoder":
    """Open the model that the user's settings name; raise UnavailableError if it cannot be used."""
    named_by = settings[SETTING]
    folder = Path(named_by).expanduser()
    # A relative one would be looked for in whatever folder one stands in, such as a clone that brings a model along.
    if not folder.is_absolute():
        raise UnavailableError(f"{SETTING} is {named_by!r}, no folder named from / or ~", f"{HOW} names one")
    return open_cross_encoder(find_cross_encoder(folder, cache), threads=settings["embedding.threads"], cache=cache)


def find_cross_encoder(folder: Path, cache: Path | None = None) -> CrossEncoderModel:
    """Find the model in a folder as sentence-transformers or optimum export it; import nothing heavy.

    `cache` is a folder of the user's own where the check of its files is noted; UnavailableError says what is missing.
    """
    if not folder.is_dir():
        raise UnavailableError(f"there is no model folder {folder}", f"bring it back, or {HOW} names another")
    file, tokenizer = model_file(folder), folder / "tokenizer.json"
    for part in (tokenizer, folder / "config.json"):
        if not part.is_file():
            raise UnavailableError(f"{folder} has no {part.name}", "export the model with its tokenizer and config")
    limits = (
        stated(folder / "config.json", "max_position_embeddings"),
        stated(folder / "tokenizer_config.json", "model_max_length"),
    )
    tokens = min([_MOST_TOKENS, *(limit for limit in limits if isinstance(limit, int) and limit > 3)])
    digest = digest_of_parts([*weight_files(file), tokenizer], cache, tokens)
    return CrossEncoderModel(named(folder.resolve().name, digest), file, tokenizer, digest, tokens)


@lru_cache(maxsize=1)
def open_cross_encoder(model: CrossEncoderModel, *, threads: int = 0, cache: Path | None = None) -> "CrossEncoder":
    """Open a model, from a prepared copy in the cache; the one opened last stays open.

    Raise UnavailableError if it cannot be used.
    """
    tokenizer, pad = open_tokenizer(model.tokenizer, model.max_tokens)
    # Copies of a folder of their own: preparing one removes those beside it that are out of use.
    kept = cache / "rerankers" if cache else None
    return CrossEncoder(model, open_session(model.file, model.digest, kept, bulk=True), tokenizer, pad, usable(threads))


class CrossEncoder:
    """An open model."""

    def __init__(self, model: CrossEncoderModel, session: Any, tokenizer: Any, pad: int, workers: int) -> None:
        """Take the parts; `open_cross_encoder` is the way to get one."""
        self._model, self._session, self._tokenizer, self._pad = model, session, tokenizer, pad
        self._workers = workers
        outputs = [each.name for each in session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]
        if not {each.name for each in session.get_inputs()} <= _INPUTS:
            raise UnavailableError(f"{model.file} asks for more than two texts", "name a cross-encoder")

    def scores(self, query: str, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return how well each text fits a query, (n,) float32: more is better, on a scale of the model's own.

        Of two numbers a pair the last one less the first counts, which orders as its probability does. Raise
        UnavailableError where the model gives no usable scores.
        """
        import numpy as np

        limit, whole = self._model.max_tokens, self._tokenizer
        # A long query is read once: as one of a pair it would be for each.
        asked = whole.encode(readable(query, limit), add_special_tokens=False)
        told = whole.encode_batch_fast([readable(text, limit) for text in texts], add_special_tokens=False)
        pairs = [whole.post_process(asked, each) for each in told]
        batches = batched([len(pair.ids) for pair in pairs], _BATCH)
        runs = run_batches(lambda batch: self._run([pairs[place] for place in batch]), batches, self._workers)
        found = np.empty(len(texts), np.float32)
        for batch, scores in zip(batches, runs, strict=True):
            found[batch] = scores
        if not np.isfinite(found).all():
            raise UnavailableError(f"{self._model.file} gives scores that are no numbers", "install the model again")
        return found

    def _run(self, pairs: Sequence[Any]) -> "NDArray[np.float32]":
        import numpy as np

        longest = max(len(pair.ids) for pair in pairs)
        tokens = np.full((len(pairs), longest), self._pad, np.int64)
        mask, types = np.zeros_like(tokens), np.zeros_like(tokens)
        for row, pair in enumerate(pairs):
            size = len(pair.ids)
            tokens[row, :size], mask[row, :size], types[row, :size] = pair.ids, 1, pair.type_ids
        values = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": types}
        output = run_session(self._session, self._model.file, self._output, values)
        with blaming(self._model.file):  # a sequence or map of some kind is no array
            scores: NDArray[np.float32] = np.asarray(output, np.float32)
        if scores.shape == (len(pairs),):
            return scores
        if scores.ndim != 2 or scores.shape[0] != len(pairs) or scores.shape[1] not in (1, 2):
            given = f"{scores.shape[1]} numbers for a pair" if scores.ndim == 2 else f"{scores.ndim} dimensions"
            raise UnavailableError(
                f"{self._model.file} gives {given}, not a score", "name a cross-encoder with one label"
            )
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]
