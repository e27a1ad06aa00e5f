"""Models in ONNX form and their tokenizers, opened to run: the only code that does; it never goes to the network.

A model opens in moments from a copy in the user's cache that the library has prepared.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ..errors import UnavailableError

T = TypeVar("T")
# numpy's BLAS reads this when it is first imported. With threads of its own that takes 40 to 60 ms longer, and a scan
# of 10,000 rows on a busy machine 8 ms instead of 0.6: the threads wait for each other, and memory is the limit.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_CHARACTERS = 64  # read for each word piece the model takes: what comes after in a huge text is never tokenised
WEIGHTS = "weights.bin"
_FILE = "model.onnx"
_OLD_SECONDS = 86400  # copies this much older than the newest belong to a model or a library no longer in use


def usable(wanted: int = 0) -> int:
    """Return the number of threads wanted, or one for each core this process may run on when none is named."""
    if wanted > 0:
        return wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def open_session(file: Path, digest: str, cache: Path | None, *, bulk: bool, provider: str = "cpu") -> Any:
    """Open a model, from its prepared copy in a cache where there is one; `bulk` makes that first.

    Raise UnavailableError where the library cannot.
    """
    if cache and provider == "cpu":
        session = _prepared_session(file, digest, cache, bulk)
        if session is not None:
            return session
    return _session(file, bulk, _provider(provider), optimise=bulk)


def open_tokenizer(file: Path, max_tokens: int) -> tuple[Any, int]:
    """Open a tokenizer, with the id it pads with; its own padding and shorter limit are switched off."""
    # Set before the import: it warns when a process forks after tokenising in parallel, as one that calls git does.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer

    with blaming(file):
        tokenizer = Tokenizer.from_file(str(file))
    pad = (tokenizer.padding or {}).get("pad_id", 0)
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer, pad


def readable(text: str, max_tokens: int) -> str:
    """Return what of a text a tokenizer is given."""
    # A lone surrogate (a file name, a damaged transcript) is no text to the tokenizer, which then refuses the lot.
    return text[: max_tokens * _CHARACTERS].encode("utf-8", "replace").decode()


def run_session(session: Any, file: Path, output: str, values: dict[str, Any]) -> Any:
    """Return an output of a model for the inputs it asks for of `values`, which are arrays of whole numbers."""
    inputs = {each.name: "int32" if each.type == "tensor(int32)" else "int64" for each in session.get_inputs()}
    with blaming(file):
        (result,) = session.run(
            [output], {name: values[name].astype(kind, copy=False) for name, kind in inputs.items()}
        )
    return result


def run_batches(run: Callable[[list[int]], T], batches: Sequence[list[int]], workers: int) -> Iterator[T]:
    """Run batches, a core for each: threads inside one run would wait for each other by spinning.

    On a busy machine that took twice the processor time for half the texts.
    """
    if workers == 1 or len(batches) == 1:
        yield from map(run, batches)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(run, batches)


@contextmanager
def blaming(file: Path) -> Iterator[None]:
    """Turn whatever the libraries raise about a file into an UnavailableError that names it."""
    try:
        yield
    except Exception as error:  # their errors have no common class
        reason = " ".join(str(error).split())[:200]
        raise UnavailableError(f"{file} cannot be used as a model ({reason})", "install the model again") from error


def _onnxruntime() -> Any:
    # Set before the import, which is when the library decides whether it reports to its makers.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def _provider(name: str) -> str:
    """Return the library's name for what runs the model; azure is left out, since it would send texts away."""
    providers = _onnxruntime().get_available_providers()
    usual = {each.removesuffix("ExecutionProvider").lower(): each for each in providers}
    usual.pop("azure", None)
    if name not in usual:
        names = ", ".join(sorted(usual))
        raise UnavailableError(f"onnxruntime cannot run models on {name!r}", f"choose one of {names}")
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
    with blaming(file):
        return _onnxruntime().InferenceSession(
            str(file), _options(bulk, optimise=optimise), providers=list(dict.fromkeys([provider, _provider("cpu")]))
        )


def _prepared_session(source: Path, digest: str, cache: Path, bulk: bool) -> Any:
    """Open the prepared copy, making it first when opening for bulk; None if there is none that opens."""
    version = _onnxruntime().__version__
    file = prepared_file(cache, digest, version)
    if file is None and bulk:
        file = prepare(cache, digest, version, lambda target: _write_prepared(source, target))
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


def prepared_file(cache: Path, digest: str, version: str) -> Path | None:
    """Return the copy made of a model for a version of the library, if there is one."""
    file = _folder(cache, digest, version) / _FILE
    return file if file.is_file() else None


def prepare(cache: Path, digest: str, version: str, write: Callable[[Path], object]) -> Path | None:
    """Write the copy and return its file; None if that fails, and nothing is left behind.

    `write` is given the file to make, and may put weights beside it.
    """
    folder = _folder(cache, digest, version)
    try:
        put_in_place(folder, lambda making: write(making / _FILE))
    except Exception:  # the library's own errors on a full disk have no class of their own
        return prepared_file(cache, digest, version)
    _sweep(folder)
    return folder / _FILE


def put_in_place(folder: Path, write: Callable[[Path], object]) -> None:
    """Write a folder beside its path and rename it there; a failure leaves nothing behind."""
    making = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        making.mkdir(parents=True)
        write(making)
        for part in making.rglob("*"):
            if part.is_file():
                _settle(part)
        making.replace(folder)
    finally:
        _remove(making)


def discard(file: Path) -> None:
    """Remove a copy that does not open."""
    _remove(file.parent)


def _folder(cache: Path, digest: str, version: str) -> Path:
    return cache / "models" / f"{digest[:16]}-{version}"


def _settle(part: Path) -> None:
    """Bring a file to the disk: after a power cut zeros in the place of weights would be loaded as they are."""
    with part.open("rb") as file:
        os.fsync(file.fileno())


def _sweep(newest: Path) -> None:
    with suppress(OSError):
        modified = newest.stat().st_mtime
        for other in newest.parent.iterdir():
            if other != newest and modified - other.stat().st_mtime > _OLD_SECONDS:
                _remove(other)


def _remove(folder: Path) -> None:
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)
