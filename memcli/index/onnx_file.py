"""Write a model in ONNX form: the few messages of the format that a converted model needs, and no library for it.

The numbers of the messages' fields are those of onnx.proto (Apache-2.0); weights go into a file of their own, which is
mapped and not read when the model is opened.
"""

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

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
            places = {"location": self._name, "offset": str(self._weights.tell()), "length": str(len(data))}
            fields += [_bytes(13, _text(1, key) + _text(2, value)) for key, value in places.items()]
            fields.append(_number(14, 1))  # kept outside
            self._weights.write(data)
        self._tensors.append(b"".join(fields))
        return name

    def node(self, kind: str, given: Sequence[str], made: str, domain: str = "", **settings: float) -> str:
        """Add a step and return the name of what it makes; a whole number among its settings is one for ONNX too."""
        fields = [_text(1, name) for name in given] + [_text(2, made), _text(3, made), _text(4, kind)]
        fields += [_bytes(5, _setting(name, value)) for name, value in settings.items()]
        self._nodes.append(b"".join([*fields, _text(7, domain)]))
        return made

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
    sizes = b"".join(_bytes(1, _text(2, one) if isinstance(one, str) else _number(1, one)) for one in shape)
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
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
