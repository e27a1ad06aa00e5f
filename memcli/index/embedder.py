"""Texts to vectors with a local ONNX model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UnavailableError
from .embedding_model import EmbeddingModel, find_model
from .onnx_session import open_session, open_tokenizer, readable, run_batches, run_session, usable
from .text_vectors import CONTEXT_END, TokenVectors, batched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_WINDOW = 4096  # texts tokenised and sorted by length together
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
_BULK_BATCH = 256  # word pieces in a batch, padding counted: 8 texts of 32, 1 of 256; measured best on one core
_Pieces = tuple[list[int], slice]
"""A text's word pieces, and where its context's stand, which are read and left out of its vector."""
_QUICK_BATCH = 1024  # a model opened quickly unpacks its weights anew for each batch (40 ms): fewer, larger ones


def open_embedder(
    folder: Path | None, *, bulk: bool, threads: int = 0, provider: str = "cpu", cache: Path | None = None
) -> "OnnxEmbedder":
    """Open the built-in model, or the sentence-transformers ONNX model in a folder.

    `bulk` opens it for hundreds of texts, slowly and with `threads` workers (0: one for each core). `cache`, a folder
    of the user's own and never a workspace's (a clone could bring a model along), keeps the check of the model's file
    and, once it was opened for bulk, a prepared copy of 90 MB. UnavailableError when there is no usable model.

    Measured for the built-in model: as it is, it opens in 40 ms and a query takes 55; with its graph optimised 150 to
    200 and 4. The prepared copy opens in 12 and takes 12, for bulk 50 and 5, and 84 MB less memory.
    """
    if folder is None and _held and not bulk:
        return _held[0]
    model = find_model(folder, cache)
    tokenizer, pad = open_tokenizer(model.tokenizer, model.max_tokens)
    session = open_session(model.file, model.digest, cache, bulk=bulk, provider=provider)
    workers = usable(threads) if bulk and provider == "cpu" else 1
    return OnnxEmbedder(model, session, tokenizer, pad, _BULK_BATCH if bulk else _QUICK_BATCH, workers)


_held: "list[OnnxEmbedder]" = []


def hold_built_in(cache: Path | None) -> list[Path]:
    """Open the built-in model for all who ask for it in this process and its forks; return its files."""
    import os

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _held[:] = _held or [open_embedder(None, bulk=True, threads=1, cache=cache)]
    _held[0].embed(["warm"])
    return [_held[0].parts.file, _held[0].parts.tokenizer]


class OnnxEmbedder:
    """An open model."""

    def __init__(self, model: EmbeddingModel, session: Any, tokenizer: Any, pad: int, batch: int, workers: int) -> None:
        """Take the parts; `open_embedder` is the way to get one."""
        self.model = model.name
        self.parts = model
        self._session = session
        self._tokenizer = tokenizer
        self._pad = pad
        self._batch = batch
        self._workers = workers
        outputs = {each.name: each.shape for each in session.get_outputs()}
        self._output = next((name for name in _TOKEN_OUTPUTS if name in outputs), next(iter(outputs)))
        if not {each.name for each in session.get_inputs()} <= _INPUTS:
            raise UnavailableError(f"{model.file} asks for more than text", "name a model of sentence-transformers")
        size = outputs[self._output][-1]
        self.dimension: int = size if isinstance(size, int) else self._run(self._pieces([""]))[1].shape[1]

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> "NDArray[np.float32]":
        """Return the unit vectors of texts, (n, dimension) float32; each may begin with context and CONTEXT_END."""
        import numpy as np

        prompt = self.parts.query if is_query else self.parts.passage
        unit_vectors = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), _WINDOW):
            read = self._pieces(texts[start : start + _WINDOW], prompt)
            batches = batched([len(ids) for ids, _ in read], self._batch)
            runs = run_batches(
                lambda batch, read=read: self._run([read[position] for position in batch])[1],  # type: ignore[misc]
                batches,
                self._workers,
            )
            for batch, vectors in zip(batches, runs, strict=True):
                unit_vectors[[start + position for position in batch]] = vectors
        return unit_vectors

    def embed_tokens(self, texts: Sequence[str]) -> "tuple[NDArray[np.float32], list[TokenVectors]]":
        """Return what `embed` returns, and the word pieces of each text with their vectors, from one pass.

        UnavailableError where the model gives one vector for a text and none for its pieces.
        """
        import numpy as np

        prompt = self.parts.passage
        token_vectors: list[Any] = [None] * len(texts)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        read = self._encoded([prompt + text for text in texts], with_spans=True)
        batches = batched([len(each.ids) for each in read], self._batch)
        runs = run_batches(
            lambda batch: self._run([(read[position].ids or [self._pad], slice(0)) for position in batch]),
            batches,
            self._workers,
        )
        for batch, (output, pooled) in zip(batches, runs, strict=True):
            if output.ndim != 3:
                raise UnavailableError(f"{self.parts.file} gives no vectors of tokens", "name another model")
            vectors[batch] = pooled
            for row, position in enumerate(batch):
                encoding = read[position]
                numbers = [
                    number
                    for number, (mark, span) in enumerate(
                        zip(encoding.special_tokens_mask, encoding.offsets, strict=True)
                    )
                    if not mark and span[1] > len(prompt)
                ]
                spans = tuple(
                    (max(0, encoding.offsets[number][0] - len(prompt)), encoding.offsets[number][1] - len(prompt))
                    for number in numbers
                )
                pieces = tuple(encoding.ids[number] for number in numbers)
                token_vectors[position] = TokenVectors(
                    texts[position], pieces, spans, output[row, numbers], pooled[row]
                )
        return vectors, token_vectors

    def _pieces(self, texts: Sequence[str], prompt: str = "") -> list[_Pieces]:
        """Return the word pieces of texts, each with its context's before it, as far as the model has room for them."""
        parted = [text.partition(CONTEXT_END) for text in texts]
        inputs = [prompt + (text if end else whole) for whole, end, text in parted]
        read: list[_Pieces] = [(each.ids or [self._pad], slice(0)) for each in self._encoded(inputs)]
        by_mean = self.parts.pooling == "mean" and self._output in _TOKEN_OUTPUTS
        contexts = {position: context for position, (context, end, _) in enumerate(parted) if end and by_mean}
        for position, each in zip(contexts, self._encoded(list(contexts.values())), strict=True):
            ids, marks = read[position][0], each.special_tokens_mask
            context = [piece for piece, mark in zip(each.ids, marks, strict=True) if not mark]
            del context[: max(0, len(ids) + len(context) - self.parts.max_tokens)]  # the text has the first claim
            opening = marks[0] if marks else 0
            read[position] = [*ids[:opening], *context, *ids[opening:]], slice(opening, opening + len(context))
        return read

    def _encoded(self, texts: Sequence[str], *, with_spans: bool = False) -> list[Any]:
        clean = [readable(text, self.parts.max_tokens) for text in texts]
        encode = self._tokenizer.encode_batch if with_spans else self._tokenizer.encode_batch_fast
        return list(encode(clean))

    def _run(self, read: list[_Pieces]) -> "tuple[NDArray[np.float32], NDArray[np.float32]]":
        """Return the model's output, (n, tokens, dimension) unless it pools, and the unit vectors, (n, dimension)."""
        import numpy as np

        longest = max(len(ids) for ids, _ in read)
        tokens = np.full((len(read), longest), self._pad, np.int64)
        mask, pooled = np.zeros_like(tokens), np.zeros_like(tokens)
        for row, (ids, context) in enumerate(read):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = pooled[row, : len(ids)] = 1
            pooled[row, context] = 0
        values = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        output = run_session(self._session, self.parts.file, self._output, values)
        vectors = _pooled(output, pooled, self.parts.pooling)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise UnavailableError(f"{self.parts.file} gives no usable vectors", "install the model again")
        return output.astype(np.float32, copy=False), vectors / lengths


def _pooled(output: "NDArray[np.float32]", mask: "NDArray[np.int64]", pooling: str) -> "NDArray[np.float32]":
    import numpy as np

    output = output.astype(np.float32, copy=False)
    if output.ndim == 2:  # the model pools for itself
        return output
    if pooling == "cls":
        return output[:, 0]
    weights = mask.astype(np.float32)
    mean: NDArray[np.float32] = np.einsum("btd,bt->bd", output, weights) / weights.sum(axis=1, keepdims=True)
    return mean
