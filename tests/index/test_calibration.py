"""What is measured of a model makes its cosines mean what those of the built-in one do."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memcli.errors import UnavailableError
from memcli.index import calibration, embedder
from memcli.index.calibration import Calibration, measure
from memcli.index.embedding_model import find_model
from memcli.search.thresholds import thresholds
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
    calibration._read.clear()
    return folder


@pytest.fixture
def memories(mem: Mem, workspace: Path) -> Path:
    for text in TEXTS:
        assert mem("write", "--no-dedup", text).code == 0
    assert mem("index").code == 0
    return workspace


def relevance(mem: Mem, query: str) -> list[float]:
    return [hit["relevance"] for hit in mem("search", query, "--mode", "vector", "--json").json["hits"]]


def state(mem: Mem) -> str:
    return str(next(one["calibrated"] for one in mem("model", "list", "--json").json["models"] if one["is_chosen"]))


def test_a_calibrated_model_gives_the_relevance_that_the_built_in_one_gives(
    mem: Mem, memories: Path, crowded: Path
) -> None:
    queries = ("pet", "when can I buy bread", "where does it run", "violin")
    before = [relevance(mem, query) for query in queries]
    assert state(mem) == "yes"
    assert mem("model", "use", str(crowded), "--wait").code == 0
    assert state(mem) == "no"
    ran = mem("search", "pet", "--json")
    (notice,) = ran.json["notices"]
    assert f"run `mem model calibrate {crowded}`" in notice
    ((_, said),) = mem("model", "status").rows
    assert said.endswith("(calibrated: no)")

    ran = mem("model", "calibrate", str(crowded), "--json")
    assert ran.code == 0, ran.err
    assert 0.6 < ran.json["floor"] < ran.json["top"] <= 1.01
    assert mem("search", "pet", "--json").json["notices"] == []
    assert state(mem) == "without the comparison"
    for query, expected in zip(queries, before, strict=True):
        found = relevance(mem, query)
        assert found[:2] == pytest.approx(expected[:2], abs=0.04)


def test_the_built_in_model_measured_by_itself_is_itself() -> None:
    found = measure(embedder.open_embedder(None, bulk=True, threads=1))
    assert (found.floor, found.top) == (pytest.approx(0, abs=0.003), pytest.approx(1, abs=0.003))


def test_the_threshold_of_another_topic_moves_with_the_scale(crowded: Path) -> None:
    calibration._read["some@12345678"] = (Calibration(0.7, 0.9, True), None)
    assert thresholds("some@12345678").topic == pytest.approx(0.7 + 0.2 * thresholds("").topic)
    assert thresholds("unknown@12345678").shown == 0


@pytest.mark.parametrize(
    "said",
    [b"", b"{", b"[]", b'{"floor": 0.5}', b'{"model": "x@1", "floor": 0.5, "top": 1.0}', b'{"floor": "a", "top": 1}'],
)
def test_a_calibration_that_is_damaged_or_of_other_weights_counts_for_nothing(crowded: Path, said: bytes) -> None:
    name = find_model(crowded).name
    (crowded / calibration.FILE).write_bytes(said)
    assert calibration.read_calibration(name, crowded) is None
    for floor, top in ((0.9, 0.9), (0.5, float("nan")), (0.5, 9.0)):
        (crowded / calibration.FILE).write_text(json.dumps({"model": name, "floor": floor, "top": top}))
        calibration._read.clear()
        assert calibration.read_calibration(name, crowded) is None


def test_a_folder_that_cannot_be_written_and_the_built_in_model_are_refused_in_one_line(
    mem: Mem, world: Path, crowded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = mem("model", "calibrate", "built-in")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)

    def refused(self: Path, *_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", refused)
        ran = mem("model", "calibrate", str(crowded))
    assert (ran.code, len(ran.err.splitlines())) == (6, 1)
    assert "Permission denied): copy the model to a folder of yours" in ran.err


def test_a_model_that_tells_nothing_apart_cannot_be_calibrated() -> None:
    class Blind:
        model = "blind@00000000"

        def embed(self, texts: list[str]) -> NDArray[np.float32]:
            return np.tile(np.eye(1, 8, dtype=np.float32), (len(texts), 1))

    with pytest.raises(UnavailableError, match="blind@"):
        measure(Blind())  # type: ignore[arg-type]


def test_what_a_model_can_read_is_a_property_of_the_model() -> None:
    assert calibration.BUILT_IN.readable("настройки") == 0
    assert calibration.BUILT_IN.readable("Einstellungen") == 1
    assert Calibration(0.7, 0.9).readable("настройки") == 1
