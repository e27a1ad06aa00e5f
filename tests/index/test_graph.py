"""The graph finds what an exact scan finds, of what is alive, and is loaded only when there is no doubt about it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memcli.errors import UnavailableError
from memcli.index.hnsw import Graph
from memcli.index.vector_file import Matrix
from tests.processes import run

MODEL = "words@00000000"


def unit(count: int, dimension: int, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    normal: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normal


def filled(folder: Path, vectors: NDArray[np.float32]) -> Matrix:
    matrix = Matrix.create(folder / "vectors.f32", vectors.shape[1])
    matrix.append(0, vectors)
    return matrix


def exact(vectors: NDArray[np.float32], query: NDArray[np.float32], k: int, alive: NDArray[np.bool_]) -> list[int]:
    scores = np.where(alive, vectors @ query, -2)
    return [int(row) for row in np.argsort(-scores)[: min(k, alive.sum())]]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Make the graph of 5,000 random vectors, the hardest to find a way among."""
    matrix = filled(tmp_path_factory.mktemp("many"), unit(5000, 128))
    return Graph.build(matrix, np.arange(5000), threads=1)


@pytest.fixture
def small(tmp_path: Path) -> Graph:
    """Make and save the graph of 300 vectors."""
    graph = Graph.build(filled(tmp_path, unit(300, 16)), np.arange(300))
    graph.save(tmp_path / "graph.json", MODEL)
    return graph


def recall(graph: Graph, alive: NDArray[np.bool_]) -> float:
    vectors = graph.matrix.take(np.arange(5000))
    found = 0
    for query in unit(50, 128, seed=1):
        rows, _ = graph.nearest(query, 10, alive)
        assert alive[rows].all()
        found += len({*rows.tolist()} & {*exact(vectors, query, 10, alive)})
    return found / 500


def test_ten_of_5000_random_vectors_are_found_nearly_always(many: Graph) -> None:
    assert recall(many, np.ones(5000, bool)) >= 0.95


@pytest.mark.parametrize("share", [0.75, 0.25, 0.02])
def test_the_dead_are_passed_over_without_losing_the_living(share: float, many: Graph) -> None:
    assert recall(many, np.random.default_rng(3).random(5000) < share) >= 0.95


def test_scores_are_the_exact_cosines_best_first(many: Graph) -> None:
    query = unit(1, 128, seed=2)[0]
    rows, scores = many.nearest(query, 10, np.ones(5000, bool))
    assert np.allclose(scores, many.matrix.take(rows) @ query, atol=1e-6)
    assert (np.diff(scores) <= 0).all()


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Make the graph of 40 vectors."""
    return Graph.build(filled(tmp_path_factory.mktemp("forty"), unit(40, 8)), np.arange(40))


@given(k=st.integers(0, 60), living=st.sets(st.integers(0, 39)))
def test_there_are_never_more_than_the_living_nor_fewer_than_could_be(k: int, living: set[int], forty: Graph) -> None:
    alive = np.isin(np.arange(40), list(living))
    rows, scores = forty.nearest(unit(1, 8, seed=4)[0], k, alive)
    assert len(rows) == len(scores) == min(k, len(living))
    assert set(rows.tolist()) <= living


def test_a_saved_graph_is_loaded_and_answers_the_same(small: Graph, tmp_path: Path) -> None:
    loaded = Graph.load(tmp_path / "graph.json", small.matrix, MODEL)
    assert loaded is not None
    assert (len(loaded), loaded.end) == (300, 300)
    query, alive = unit(1, 16, seed=5)[0], np.ones(300, bool)
    assert [part.tolist() for part in loaded.nearest(query, 9, alive)] == [
        part.tolist() for part in small.nearest(query, 9, alive)
    ]


def test_rows_are_folded_in_and_the_graph_grows(small: Graph, tmp_path: Path) -> None:
    loaded = Graph.load(tmp_path / "graph.json", small.matrix, MODEL)
    assert loaded is not None
    more = unit(500, 16, seed=6)
    small.matrix.append(300, more)
    alive = np.ones(800, bool)
    assert loaded.nearest(more[7], 1, alive)[0].tolist() != [307]
    for start in range(300, 800, 100):
        loaded.add(np.arange(start, start + 100))
    assert (len(loaded), loaded.end) == (800, 800)
    assert loaded.nearest(more[7], 1, alive)[0].tolist() == [307]
    loaded.save(tmp_path / "graph.json", MODEL)
    again = Graph.load(tmp_path / "graph.json", small.matrix, MODEL)
    assert again is not None
    assert len(again) == 800
    assert len(list(tmp_path.glob("graph-*.bin"))) == 1


def test_a_row_that_is_no_unit_vector_stays_out(tmp_path: Path) -> None:
    vectors = unit(50, 16)
    vectors[10] = np.nan
    vectors[20] *= 3
    graph = Graph.build(filled(tmp_path, vectors), np.arange(50))
    assert len(graph) == 48
    rows, scores = graph.nearest(vectors[0], 50, np.ones(50, bool))
    assert len(rows) == 48
    assert np.isfinite(scores).all()


def test_where_the_graph_does_not_hang_together_the_rows_are_scanned(many: Graph) -> None:
    class Torn:
        def knn_query(self, query: object, **asked: int) -> None:
            raise RuntimeError("Cannot return the results in a contiguous 2D array.")

        def get_current_count(self) -> int:
            return 5000

    torn = Graph(many.matrix, Torn(), many.end)
    query, alive = unit(1, 128, seed=7)[0], np.ones(5000, bool)
    assert torn.nearest(query, 10, alive)[0].tolist() == exact(many.matrix.take(np.arange(5000)), query, 10, alive)


def test_an_empty_graph_finds_nothing(tmp_path: Path) -> None:
    graph = Graph.build(Matrix.create(tmp_path / "vectors.f32", 16), np.arange(0))
    rows, scores = graph.nearest(unit(1, 16)[0], 5, np.ones(0, bool))
    assert (len(rows), len(scores)) == (0, 0)


def rewritten(**changes: object) -> Callable[[Path, Path], None]:
    def change(manifest: Path, file: Path) -> None:
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **changes}))

    return change


def flip(manifest: Path, file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 4
    file.write_bytes(data)


@pytest.mark.parametrize(
    "harm",
    [
        lambda manifest, file: manifest.unlink(),
        lambda manifest, file: manifest.write_text("{"),
        lambda manifest, file: manifest.write_text("[]"),
        lambda manifest, file: manifest.write_bytes(b"\xff"),
        rewritten(model="other@1"),
        rewritten(dimension=17),
        rewritten(format=0),
        rewritten(token="00" * 16),
        rewritten(links=8),
        rewritten(sha256="0" * 64),
        rewritten(rows=299),
        rewritten(rows=0),
        rewritten(rows=True),
        rewritten(end=301),
        rewritten(end="many"),
        rewritten(file="../../etc/passwd"),
        rewritten(file=None),
        lambda manifest, file: file.unlink(),
        lambda manifest, file: file.write_bytes(b""),
        lambda manifest, file: os.truncate(file, file.stat().st_size - 1),
        lambda manifest, file: file.write_bytes(file.read_bytes() + b"?"),
        flip,
    ],
)
def test_any_doubt_about_a_graph_and_it_is_not_loaded(
    harm: Callable[[Path, Path], object], small: Graph, tmp_path: Path
) -> None:
    (file,) = tmp_path.glob("graph-*.bin")
    harm(tmp_path / "graph.json", file)
    assert Graph.load(tmp_path / "graph.json", small.matrix, MODEL) is None


def test_a_graph_of_another_matrix_or_model_is_not_loaded(small: Graph, tmp_path: Path) -> None:
    compacted = small.matrix.compacted(tmp_path / "vectors.f32", np.arange(300))
    assert Graph.load(tmp_path / "graph.json", compacted, MODEL) is None
    assert Graph.load(tmp_path / "graph.json", small.matrix, "words@00000001") is None
    os.truncate(small.matrix.file, 64 + 299 * 64)
    assert Graph.load(tmp_path / "graph.json", small.matrix, MODEL) is None


def test_a_graph_whose_manifest_vouches_for_garbage_does_not_end_the_process(tmp_path: Path) -> None:
    script = """
import hashlib, json, sys
from pathlib import Path
import numpy as np
from memcli.index.hnsw import Graph
from memcli.index.vector_file import Matrix
folder = Path(sys.argv[1])
matrix = Matrix.create(folder / "vectors.f32", 16)
vectors = np.random.default_rng(0).standard_normal((300, 16)).astype(np.float32)
matrix.append(0, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
Graph.build(matrix, np.arange(300)).save(folder / "graph.json", "m")
(file,) = folder.glob("graph-*.bin")
whole = file.read_bytes()
for data in (b"", whole[:-1], whole[:100], whole + b"?", b"<<<<<<< HEAD\\n" + whole):
    file.write_bytes(data)
    manifest = json.loads((folder / "graph.json").read_text())
    manifest["sha256"] = hashlib.sha256(data).hexdigest()
    (folder / "graph.json").write_text(json.dumps(manifest))
    print(Graph.load(folder / "graph.json", matrix, "m"))
"""
    ended = run(script, tmp_path)
    assert (ended.code, ended.out.split()) == (0, ["None"] * 5), ended.err


def test_a_graph_that_cannot_be_written_is_an_error_of_the_users_world(small: Graph, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"cannot write .*graph\.json"):
        small.save(tmp_path / "nowhere" / "graph.json", MODEL)


def test_a_disk_that_takes_only_a_part_leaves_the_old_graph(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from memcli.errors import UnavailableError
from memcli.index.hnsw import Graph
from memcli.index.vector_file import Matrix
folder = Path(sys.argv[1])
matrix = Matrix.create(folder / "vectors.f32", 16)
vectors = np.random.default_rng(0).standard_normal((300, 16)).astype(np.float32)
matrix.append(0, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
Graph.build(matrix, np.arange(100)).save(folder / "graph.json", "m")
whole = Graph.build(matrix, np.arange(300))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    whole.save(folder / "graph.json", "m")
except UnavailableError as error:
    print("refused")
print(len(Graph.load(folder / "graph.json", matrix, "m")), len(list(folder.iterdir())))
"""
    ended = run(script, tmp_path / "work")
    assert ended.out.split() == ["refused", "100", "3"], ended.err
