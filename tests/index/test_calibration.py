"""What is measured of a model makes its cosines mean what those of the built-in one do."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memcli.errors import UnavailableError
from memcli.index import calibration, embedder, embeddings
from memcli.index.calibration import Calibration, measure
from memcli.index.embedding_model import find_model
from memcli.search.query import thresholds
from tests.conftest import Mem

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
    calibration._known.clear()
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

    calibration._known.clear()
    monkeypatch.setattr(embeddings, "measure", measured_again)
    assert relevance(mem, "pet")


def test_the_built_in_model_measured_by_itself_is_itself() -> None:
    found = measure(embedder.open_embedder(None, bulk=True, threads=1))
    assert (found.floor, found.top) == (pytest.approx(0, abs=0.003), pytest.approx(1, abs=0.003))


def test_the_threshold_of_another_topic_moves_with_the_scale(crowded: Path) -> None:
    calibration._known["some@12345678"] = Calibration(0.7, 0.9)
    assert thresholds("some@12345678").topic == pytest.approx(0.7 + 0.2 * thresholds("").topic)
    assert thresholds("unknown@12345678").shown == 0


@pytest.mark.parametrize("noted", [b"", b"{", b"[]", b'{"x@1": 5}', b'{"x@1": ["a", 1]}', b'{"x@1": [0.9, 0.9]}'])
def test_a_note_that_is_damaged_counts_for_nothing_and_is_written_anew(tmp_path: Path, noted: bytes) -> None:
    (tmp_path / calibration.FILE).write_bytes(noted)
    calibration._known.pop("x@1", None)
    assert calibration.calibration_of("x@1", tmp_path) is None
    calibration.keep(Calibration(0.5, 1.0), "x@1", tmp_path)
    calibration._known.pop("x@1")
    assert calibration.calibration_of("x@1", tmp_path) == Calibration(0.5, 1.0)


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
    assert calibration.BUILT_IN.readable("настройки") == 0
    assert calibration.BUILT_IN.readable("Einstellungen") == 1
    assert Calibration(0.7, 0.9).readable("настройки") == 1
