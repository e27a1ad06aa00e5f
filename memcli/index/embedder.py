"""Texts to vectors with a local ONNX model: the only code that opens one; it never goes to the network."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UnavailableError
from .embedding_model import VOCABULARY, EmbeddingModel, built_in_name, find_model, require_memory
from .prepared_model import WEIGHTS, discard, prepare, prepared_file
from .text_vectors import CONTEXT_END, TokenVectors, batched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# numpy's BLAS reads this when it is first imported. With threads of its own that takes 40 to 60 ms longer, and a scan
# of 10,000 rows on a busy machine 8 ms instead of 0.6: the threads wait for each other, and memory is the limit.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def usable(wanted: int = 0) -> int:
    """Return the number of threads wanted, or one for each core this process may run on when none is named."""
    if wanted > 0:
        return wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_WINDOW = 4096  # texts tokenised and sorted by length together
_CHARACTERS = 64  # read for each word piece the model takes: what comes after in a huge text is never tokenised
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
_BULK_BATCH = 256  # word pieces in a batch, padding counted: 8 texts of 32, 1 of 256; measured best on one core
_Pieces = tuple[list[int], slice]
"""A text's word pieces, and where its context's stand, which are read and left out of its vector."""
_QUICK_BATCH = 1024  # a model opened quickly unpacks its weights anew for each batch (40 ms): fewer, larger ones


def default_model_name() -> str:
    """Name the built-in model without opening it."""
    return built_in_name()


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
    model = find_model(folder, cache)
    require_memory(model)
    tokenizer, pad = _tokenizer(model)
    session = _prepared_session(model, cache, bulk) if cache and provider == "cpu" else None
    session = session or _session(model.file, bulk, _provider(provider), optimise=bulk)
    workers = usable(threads) if bulk and provider == "cpu" else 1
    return OnnxEmbedder(model, session, tokenizer, pad, _BULK_BATCH if bulk else _QUICK_BATCH, workers)


class OnnxEmbedder:
    """An open model."""

    def __init__(self, model: EmbeddingModel, session: Any, tokenizer: Any, pad: int, batch: int, workers: int) -> None:
        """Take the parts; `open_embedder` is the way to get one."""
        self.model = model.name
        self._parts = model
        self._session = session
        self._tokenizer = tokenizer
        self._pad = pad
        self._batch = batch
        self._workers = workers
        self._inputs = {each.name: each.type for each in session.get_inputs()}
        outputs = {each.name: each.shape for each in session.get_outputs()}
        self._output = next((name for name in _TOKEN_OUTPUTS if name in outputs), next(iter(outputs)))
        if not self._inputs.keys() <= _INPUTS:
            raise UnavailableError(f"{model.file} asks for more than text", "name a model of sentence-transformers")
        size = outputs[self._output][-1]
        self.dimension: int = size if isinstance(size, int) else self._run(self._pieces([""]))[1].shape[1]

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> "NDArray[np.float32]":
        """Return the unit vectors of texts, (n, dimension) float32; each may begin with context and CONTEXT_END."""
        import numpy as np

        prompt = self._parts.query if is_query else self._parts.passage
        found = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), _WINDOW):
            read = self._pieces(texts[start : start + _WINDOW], prompt)
            batches = batched([len(ids) for ids, _ in read], self._batch)
            runs = self._each(lambda batch, read=read: self._run([read[place] for place in batch])[1], batches)  # type: ignore[misc]
            for batch, vectors in zip(batches, runs, strict=True):
                found[[start + place for place in batch]] = vectors
        return found

    def embed_tokens(self, texts: Sequence[str]) -> "tuple[NDArray[np.float32], list[TokenVectors]]":
        """Return what `embed` returns, and the word pieces of each text with their vectors, from one pass.

        UnavailableError where the model gives one vector for a text and none for its pieces.
        """
        import numpy as np

        prompt = self._parts.passage
        found: list[Any] = [None] * len(texts)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        read = self._encoded([prompt + text for text in texts], with_spans=True)
        batches = batched([len(each.ids) for each in read], self._batch)
        runs = self._each(
            lambda batch: self._run([(read[place].ids or [self._pad], slice(0)) for place in batch]), batches
        )
        for batch, (output, pooled) in zip(batches, runs, strict=True):
            if output.ndim != 3:
                raise UnavailableError(f"{self._parts.file} gives no vectors of tokens", "name another model")
            vectors[batch] = pooled
            for row, place in enumerate(batch):
                one = read[place]
                kept = [
                    number
                    for number, (mark, span) in enumerate(zip(one.special_tokens_mask, one.offsets, strict=True))
                    if not mark and span[1] > len(prompt)
                ]
                spans = tuple(
                    (max(0, one.offsets[at][0] - len(prompt)), one.offsets[at][1] - len(prompt)) for at in kept
                )
                pieces = tuple(one.ids[at] for at in kept)
                found[place] = TokenVectors(texts[place], pieces, spans, output[row, kept], pooled[row])
        return vectors, found

    def _each(self, run: Callable[[list[int]], Any], batches: list[list[int]]) -> Iterator[Any]:
        """Run batches, a core for each: threads inside one run would wait for each other by spinning.

        On a busy machine that took twice the processor time for half the texts.
        """
        if self._workers == 1 or len(batches) == 1:
            yield from map(run, batches)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._workers) as pool:
            yield from pool.map(run, batches)

    def _pieces(self, texts: Sequence[str], prompt: str = "") -> list[_Pieces]:
        """Return the word pieces of texts, each with its context's before it, as far as the model has room for them."""
        parted = [text.partition(CONTEXT_END) for text in texts]
        said = [prompt + (text if end else whole) for whole, end, text in parted]
        read: list[_Pieces] = [(each.ids or [self._pad], slice(0)) for each in self._encoded(said)]
        by_mean = self._parts.pooling == "mean" and self._output in _TOKEN_OUTPUTS
        contexts = {place: context for place, (context, end, _) in enumerate(parted) if end and by_mean}
        for place, each in zip(contexts, self._encoded(list(contexts.values())), strict=True):
            ids, marks = read[place][0], each.special_tokens_mask
            context = [piece for piece, mark in zip(each.ids, marks, strict=True) if not mark]
            del context[: max(0, len(ids) + len(context) - self._parts.max_tokens)]  # what is said has the first claim
            opening = marks[0] if marks else 0
            read[place] = [*ids[:opening], *context, *ids[opening:]], slice(opening, opening + len(context))
        return read

    def _encoded(self, texts: Sequence[str], *, with_spans: bool = False) -> list[Any]:
        # A lone surrogate (a file name, a damaged transcript) is no text to the tokenizer, which then refuses the lot.
        clean = [text[: self._parts.max_tokens * _CHARACTERS].encode("utf-8", "replace").decode() for text in texts]
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
        feeds = {name: values[name].astype(_number(kind), copy=False) for name, kind in self._inputs.items()}
        with _blaming(self._parts.file):
            (output,) = self._session.run([self._output], feeds)
        vectors = _pooled(output, pooled, self._parts.pooling)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise UnavailableError(f"{self._parts.file} gives no usable vectors", "install the model again")
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


def _number(kind: str) -> str:
    return "int32" if kind == "tensor(int32)" else "int64"


def _tokenizer(model: EmbeddingModel) -> tuple[Any, int]:
    """Open the tokenizer, with the id it pads with; its own padding and shorter limit are switched off."""
    if model.tokenizer.name == VOCABULARY:
        from .unigram import PAD, UnigramTokenizer  # seldom

        with _blaming(model.tokenizer):
            return UnigramTokenizer(model.tokenizer, model.max_tokens), PAD
    # Set before the import: it warns when a process forks after tokenising in parallel, as one that calls git does.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer

    with _blaming(model.tokenizer):
        tokenizer = Tokenizer.from_file(str(model.tokenizer))
    pad = (tokenizer.padding or {}).get("pad_id", 0)
    tokenizer.no_padding()
    tokenizer.enable_truncation(model.max_tokens)
    return tokenizer, pad


def _onnxruntime() -> Any:
    # Set before the import, which is when the library decides whether it reports to its makers.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def _provider(name: str) -> str:
    """Return the library's name for what runs the model; azure is left out, since it would send texts away."""
    found = _onnxruntime().get_available_providers()
    usual = {each.removesuffix("ExecutionProvider").lower(): each for each in found}
    usual.pop("azure", None)
    if name not in usual:
        known = ", ".join(sorted(usual))
        raise UnavailableError(f"onnxruntime cannot run models on {name!r}", f"choose one of {known}")
    return str(usual[name])


def _options(bulk: bool, *, optimise: bool) -> Any:
    onnxruntime = _onnxruntime()
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    # Not "all": what it adds is fitted to this processor, and a prepared copy may meet another.
    options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED if optimise else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = bulk
    options.add_session_config_entry("session.disable_prepacking", "0" if bulk else "1")
    return options


def _session(file: Path, bulk: bool, provider: str, *, optimise: bool) -> Any:
    with _blaming(file):
        return _onnxruntime().InferenceSession(
            str(file), _options(bulk, optimise=optimise), providers=list(dict.fromkeys([provider, _provider("cpu")]))
        )


def _prepared_session(model: EmbeddingModel, cache: Path, bulk: bool) -> Any:
    """Open the prepared copy, making it first when opening for bulk; None if there is none that opens, or needed."""
    if model.tokenizer.name == VOCABULARY:  # made to be mapped as it is
        return None
    version = _onnxruntime().__version__
    file = prepared_file(cache, model.digest, version)
    if file is None and bulk:
        file = prepare(cache, model.digest, version, lambda target: _write_prepared(model.file, target))
    if file is None:
        return None
    try:
        return _session(file, bulk, _provider("cpu"), optimise=False)
    except UnavailableError:
        discard(file)
        return None


def _write_prepared(source: Path, target: Path) -> None:
    options = _options(True, optimise=True)
    options.optimized_model_filepath = str(target)
    # Weights in a file of their own are mapped, not read.
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS)
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    _onnxruntime().InferenceSession(str(source), options, providers=[_provider("cpu")])


@contextmanager
def _blaming(file: Path) -> Iterator[None]:
    """Turn whatever the libraries raise about a file into an UnavailableError that names it."""
    try:
        yield
    except Exception as error:  # their errors have no common class
        reason = " ".join(str(error).split())[:200]
        raise UnavailableError(f"{file} cannot be used as a model ({reason})", "install the model again") from error
