"""Which texts are alike: as numpy says of all of them at once."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from memcli.index import similarity
from memcli.index.calibration import BUILT_IN
from memcli.index.filters import Filter
from memcli.index.index import Index, ask
from memcli.index.similarity import nearest_before, nearest_to_each, similar_pairs, twins
from memcli.store import entries
from memcli.store.workspace import Surroundings, Workspace, opened
from tests.fakes import CountingEmbedder

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
ENTRIES = Filter(kinds=("entry",))
TEXTS = ["red apple pie", "red apple cake", "green pear", "green pear tart", "blue sky", "red apple pie"]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Give a workspace with a few texts."""
    root = tmp_path / "memory"
    root.mkdir()
    workspace = opened(Surroundings(root, {"HOME": str(tmp_path), "MEM_TIMEZONE": "UTC"}, NOW), root)
    for number, text in enumerate(TEXTS):
        entries.write(workspace, {}, text, lambda _, number=number: bytes([number] * 8))
    return workspace


def embedded(index: Index) -> CountingEmbedder:
    """Bring the index in step, with vectors of shared words."""
    embedder = CountingEmbedder(index.embedding.embedder().model)
    index.embedding.lend(embedder)
    index.refresh()
    index.embedding.embed_missing(None)
    return embedder


def texts_of(index: Index) -> dict[int, str]:
    return {chunk: piece.text.strip() for chunk, piece in index.pieces(list(index.documents(ENTRIES))).items()}


def test_pairs_above_a_cosine_are_each_given_once_whatever_the_block(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(index: Index) -> list[tuple[list[str], float]]:
        embedded(index)
        texts = texts_of(index)
        return [
            (sorted((texts[one], texts[other])), round(cosine, 3))
            for one, other, cosine in similar_pairs(index, 0.5, ENTRIES)
        ]

    vectors = CountingEmbedder().embed(TEXTS)
    cosines = vectors @ vectors.T
    wanted = sorted(
        (sorted((TEXTS[one], TEXTS[other])), round(float(cosines[one, other]), 3))
        for one in range(len(TEXTS))
        for other in range(one + 1, len(TEXTS))
        if cosines[one, other] > 0.5
    )
    assert len(wanted) >= 4
    for block in (1, 2, 5, 1024):
        monkeypatch.setattr(similarity, "BLOCK", block)
        assert sorted(ask(workspace, found)) == wanted


def test_a_damaged_row_is_no_neighbour(workspace: Workspace) -> None:
    ask(workspace, embedded)
    (matrix,) = (workspace.derived).glob("vectors-*.f32")
    data = bytearray(matrix.read_bytes())
    data[64 : 64 + 4 * 64] = b"\xff" * (4 * 64)
    matrix.write_bytes(bytes(data))
    found = ask(workspace, lambda index: list(similar_pairs(index, 0.5, ENTRIES)))
    assert all(np.isfinite(cosine) for _, _, cosine in found)


def test_the_nearest_to_each_of_many_are_those_asked_one_by_one(workspace: Workspace) -> None:
    def both(index: Index) -> tuple[list[dict[int, float]], list[dict[int, float]]]:
        vectors = embedded(index).embed(["red apple", "pear tart", "unheard of"])
        together = nearest_to_each(index, vectors, ENTRIES, 2)
        single = [index.embedding.nearest(vector, ENTRIES, 2)[0] for vector in vectors]
        return together, single

    together, single = ask(workspace, both)
    rounded = [[sorted(round(value, 4) for value in row.values()) for row in rows] for rows in (together, single)]
    assert rounded[0] == rounded[1]
    assert [len(row) for row in together] == [2, 2, 2]


def test_an_empty_workspace_has_no_neighbours(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    workspace = opened(Surroundings(tmp_path, {"HOME": str(tmp_path)}, NOW), tmp_path / "empty")
    vectors = CountingEmbedder().embed(["one", "two"])
    assert ask(workspace, lambda index: nearest_to_each(index, vectors, ENTRIES, 5)) == [{}, {}]
    assert ask(workspace, lambda index: list(similar_pairs(index, 0.5, ENTRIES))) == []


def test_the_nearest_before_looks_back_only(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = CountingEmbedder().embed(TEXTS)
    for block in (1, 4, 1024):
        monkeypatch.setattr(similarity, "BLOCK", block)
        found = nearest_before(vectors, 2, BUILT_IN)
        assert found[0] == {}
        assert list(found[1]) == [0]
        assert all(earlier < number for number, row in enumerate(found) for earlier in row)
        assert next(iter(found[5])) == 0
        assert found[5][0] == pytest.approx(1.0)


def test_twins_hold_exactly_a_text(workspace: Workspace) -> None:
    def found(index: Index) -> dict[str, list[str]]:
        index.refresh()
        texts = texts_of(index)
        asked = twins(index, ["red apple pie", "red apple", "blue sky"], ENTRIES)
        return {text: [texts[chunk] for chunk in chunks] for text, chunks in asked.items()}

    assert ask(workspace, found) == {"red apple pie": ["red apple pie"] * 2, "blue sky": ["blue sky"]}
