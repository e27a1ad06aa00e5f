"""Vectors are kept, compared and found, whatever happens to their file."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memcli.errors import UnavailableError
from memcli.index import embeddings, similarity
from memcli.index.embedding_model import BUILT_IN_COSINES
from memcli.index.filters import Filter
from memcli.index.index import Index, ask
from memcli.index.similarity import nearest_before, nearest_to_each, similar_pairs, twins
from memcli.index.text_vectors import ReadTexts, TokenVectors
from memcli.index.vector_file import Matrix
from memcli.search.index_search import SearchRequest, search_index
from memcli.store import entries
from memcli.store.workspace import Surroundings, Workspace, opened
from tests.fakes import CountingEmbedder
from tests.processes import running

HEADER = 64


def unit(count: int, dimension: int = 8, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    normal: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normal


@pytest.fixture
def path() -> Iterator[Path]:
    """Give the name of a matrix in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "vectors.f32"


def filled(path: Path, vectors: NDArray[np.float32]) -> Matrix:
    matrix = Matrix.create(path, vectors.shape[1])
    matrix.append(0, vectors)
    return matrix


def harm(matrix: Matrix, row: int, vector: object) -> None:
    """Write over a row as a damaged disk would."""
    with matrix.file.open("r+b") as file:
        file.seek(HEADER + row * 4 * matrix.dimension)
        file.write(np.asarray(vector, np.float32).tobytes())


@given(st.lists(st.integers(0, 39), max_size=60), st.integers(1, 40), st.integers(0, 9))
def test_scores_are_the_products_numpy_gives(rows: list[int], count: int, seed: int) -> None:
    vectors, query = unit(count, 5, seed), unit(1, 5, seed + 100)[0]
    with tempfile.TemporaryDirectory() as folder:
        matrix = filled(Path(folder) / "vectors.f32", vectors)
        rows = [row % count for row in rows]
        assert np.allclose(matrix.scores(np.array(rows, np.int64), query), vectors[rows] @ query, atol=1e-6)
        assert np.allclose(matrix.scores(None, query), vectors @ query, atol=1e-6)
        assert np.array_equal(matrix.take(rows), vectors[rows])
        assert np.flatnonzero(~matrix.verify(rows)).tolist() == []


def test_few_rows_of_many_are_gathered_in_the_order_asked_for(path: Path) -> None:
    vectors, query = unit(9000), unit(1, seed=1)[0]
    matrix = filled(path, vectors)
    rows = np.random.default_rng(2).permutation(9000)[:4000]
    assert np.allclose(matrix.scores(rows, query), vectors[rows] @ query, atol=1e-6)


@given(st.lists(st.integers(0, 5), max_size=12))
def test_what_was_appended_is_there_in_another_process(counts: list[int]) -> None:
    vectors = unit(sum(counts) or 1)[: sum(counts)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.f32"
        writer = Matrix.create(path, 8)
        reader = Matrix.open(path, 8, writer.token)
        assert reader is not None
        for count in counts:
            first = writer.rows
            writer.append(first, vectors[first : first + count])
            assert np.array_equal(reader.take(np.arange(reader.rows)), vectors[: first + count])


def test_an_empty_matrix_answers(path: Path) -> None:
    matrix = Matrix.create(path, 8)
    assert matrix.rows == 0
    assert matrix.scores(None, unit(1)[0]).shape == (0,)
    assert np.isnan(matrix.scores(np.array([0]), unit(1)[0])).all()


def test_only_the_file_of_the_token_is_opened(path: Path) -> None:
    matrix = filled(path, unit(3))
    assert Matrix.open(path, 8, matrix.token) is not None
    assert Matrix.open(path, 9, matrix.token) is None
    assert Matrix.open(path, 8, bytes(16)) is None
    matrix.file.rename(path.with_name(f"vectors-{bytes(8).hex()}.f32"))
    assert Matrix.open(path, 8, bytes(16)) is None


@pytest.mark.parametrize("size", [0, 1, HEADER - 1])
def test_a_file_without_its_whole_header_is_not_opened(size: int, path: Path) -> None:
    matrix = filled(path, unit(3))
    os.truncate(matrix.file, size)
    assert Matrix.open(path, 8, matrix.token) is None


@pytest.mark.parametrize("place", [0, 8, 12, 16, 31])
def test_a_foreign_header_is_not_opened(place: int, path: Path) -> None:
    matrix = filled(path, unit(3))
    data = bytearray(matrix.file.read_bytes())
    data[place] ^= 0xFF
    matrix.file.write_bytes(data)
    assert Matrix.open(path, 8, matrix.token) is None


def test_rows_a_cut_took_have_no_score(path: Path) -> None:
    vectors, query = unit(10), unit(1, seed=1)[0]
    token = filled(path, vectors).token
    cut = Matrix.open(path, 8, token)
    assert cut is not None
    os.truncate(cut.file, HEADER + 7 * 32 + 5)
    assert cut.rows == 7
    scores = cut.scores(np.arange(10), query)
    assert np.allclose(scores[:7], vectors[:7] @ query, atol=1e-6)
    assert np.isnan(scores[7:]).all()
    assert np.flatnonzero(~cut.verify(np.arange(10))).tolist() == [7, 8, 9]
    assert np.isnan(cut.take([6, 7])[1]).all()


@pytest.mark.parametrize("row", [[np.nan] * 8, [np.inf] + [0] * 7, [3e38] * 8, [5.0] * 8, [0] * 8])
@pytest.mark.parametrize("rows", [40, 4])
def test_a_row_that_is_no_unit_vector_has_no_score(rows: int, row: list[float], path: Path) -> None:
    vectors = unit(40)
    matrix = filled(path, vectors)
    harm(matrix, 3, row)
    scores = matrix.scores(np.arange(rows), vectors[5])
    assert np.flatnonzero(np.isnan(scores)).tolist() == [3]
    assert np.flatnonzero(~matrix.verify(np.arange(40))).tolist() == [3]


def test_a_row_too_short_to_be_seen_from_its_score_is_found_by_verifying(path: Path) -> None:
    vectors = unit(40)
    matrix = filled(path, vectors)
    harm(matrix, 3, vectors[3] / 2)
    assert matrix.verify([2, 3, 4, -1, 40]).tolist() == [True, False, True, False, False]


def test_a_sound_row_at_a_right_angle_keeps_its_score(path: Path) -> None:
    matrix = filled(path, np.eye(8, dtype=np.float32))
    assert matrix.scores(None, np.eye(8, dtype=np.float32)[2]).tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


def test_a_gap_left_by_lost_rows_is_not_sound(path: Path) -> None:
    matrix = filled(path, unit(2))
    matrix.append(4, unit(1))
    assert matrix.rows == 5
    assert np.flatnonzero(~matrix.verify(np.arange(5))).tolist() == [2, 3]


def test_rows_of_another_length_are_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="rows of 8 numbers"):
        Matrix.create(path, 8).append(0, unit(2, 9))


def test_compacting_keeps_the_rows_named_and_leaves_the_old_file(path: Path) -> None:
    vectors = unit(3000)
    old = filled(path, vectors)
    rows = np.arange(1, 3000, 2)
    new = old.compacted(path, rows)
    assert new.token != old.token
    assert np.array_equal(new.take(np.arange(new.rows)), vectors[rows])
    assert Matrix.open(path, 8, old.token) is not None
    (path.parent / "vectors.f32").touch()
    (path.parent / "vectors-notes.f32").touch()
    Matrix.sweep(path, [new.token])
    assert sorted(os.listdir(path.parent)) == sorted([new.file.name, "vectors-notes.f32", "vectors.f32"])


def test_a_matrix_that_vanished_says_so_when_written(path: Path) -> None:
    matrix = filled(path, unit(2))
    matrix.file.unlink()
    assert matrix.rows == 0
    with pytest.raises(UnavailableError, match=r"cannot write .*vectors-.*: No such file"):
        matrix.append(2, unit(1))


def test_a_full_disk_is_an_error_of_the_users_world(path: Path) -> None:
    script = f"""
import resource, signal, numpy as np
from pathlib import Path
from memcli.index.vector_file import Matrix
matrix = Matrix.create(Path({str(path)!r}), 8)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (64 + 48, 64 + 48))
matrix.append(0, np.eye(8, dtype=np.float32)[:3])
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "UnavailableError: cannot write" in ended.stderr
    (file,) = path.parent.iterdir()
    assert file.stat().st_size == HEADER + 48  # one row and a torn one, which no table names


def test_a_row_reported_before_the_process_is_killed_is_in_the_file(path: Path) -> None:
    script = """
import sys
import numpy as np
from pathlib import Path
from memcli.index.vector_file import Matrix
matrix = Matrix.create(Path(sys.argv[1]), 8)
print(matrix.token.hex(), flush=True)
for row in range(100_000):
    matrix.append(row, np.eye(8, dtype=np.float32)[row % 8 : row % 8 + 1])
    print(row, flush=True)
"""
    with running(script, path) as process:
        assert process.stdout is not None
        token = bytes.fromhex(process.stdout.readline())
        reported = [int(process.stdout.readline()) for _ in range(50)]
        process.send_signal(signal.SIGKILL)
        process.wait()
        reported += [int(line) for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    matrix = Matrix.open(path, 8, token)
    assert matrix is not None
    assert matrix.rows >= len(reported)
    assert np.flatnonzero(~matrix.verify(reported)).tolist() == []


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
        entries.write(workspace, {}, text, bytes([number] * 8))
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


def test_the_mean_of_a_long_entry_is_of_its_first_chunks_that_have_a_vector(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    paragraphs = [" ".join([word] * 60) for word in ("plum", "quince", "cherry")]
    entries.write(workspace, {"wordings": ["rowan"]}, "\n\n".join(paragraphs), bytes([99] * 8))

    def cosines(index: Index) -> list[float]:
        vector, *pieces = embedded(index).embed(["plum quince", *paragraphs])
        (file,) = {piece.file for piece in index.pieces(list(index.documents(ENTRIES))).values() if not piece.is_whole}
        found = []
        for most in (3, 1):
            monkeypatch.setattr(embeddings, "MOST_CHUNKS", most)
            found += index.embedding.mean_cosines(vector, [file]).values()
        index.connection.execute("update chunks set vector = null where file = ? and anchor = ''", (file,))
        assert index.embedding.mean_cosines(vector, [file]) == {}
        return [*found, float(vector @ pieces[0])]

    whole, first, alone = ask(workspace, cosines)
    assert first == pytest.approx(alone, abs=1e-4)
    assert whole == pytest.approx(2**0.5 / 3, abs=1e-4)


def test_a_page_about_what_is_asked_stands_before_one_that_only_mentions_it(workspace: Workspace) -> None:
    mention = "\n\n".join(" ".join([word] * 60) for word in ("plum", "cherry", "rowan"))
    about = "\n\n".join([" ".join(["plum plum plum quince"] * 15)] * 3)
    paths = [entries.write(workspace, {}, text, text[-8:].encode()).path for text in (about, mention)]

    def found(index: Index) -> list[str]:
        embedded(index)
        return [hit.path for hit in search_index(index, SearchRequest("plum", 2, ENTRIES, mode="vector")).hits]

    assert ask(workspace, found) == paths


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
        found = nearest_before(vectors, 2, BUILT_IN_COSINES)
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


class Reader:
    """A model that gives each word of a text the same vector, and notes what it read."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_tokens(self, texts: list[str]) -> tuple[Any, list[TokenVectors]]:
        self.asked += texts
        found = []
        for text in texts:
            count = len(text.split())
            vectors = np.full((count, 2), len(text), np.float32)
            found.append(TokenVectors(text, (1,) * count, ((0, 1),) * count, vectors, np.full(2, len(text))))
        return None, found


@pytest.mark.parametrize("asked", [["a b", "c"], ["a b", "a b", "d e f"], [""]])
def test_what_was_read_is_not_read_again(asked: list[str]) -> None:
    reader, texts = Reader(), ReadTexts()
    first = texts.read(reader, asked)  # type: ignore[arg-type]
    again = texts.read(reader, asked)  # type: ignore[arg-type]
    assert (list(first), list(again)) == ([*dict.fromkeys(asked)],) * 2
    assert reader.asked == [*dict.fromkeys(asked)]


def test_every_text_has_a_row_in_the_order_of_the_texts() -> None:
    reader, texts = Reader(), ReadTexts()
    texts.read(reader, ["three words here"])  # type: ignore[arg-type]
    rows = texts.vectors(reader, ["one", "three words here", "one"])  # type: ignore[arg-type]
    assert rows[:, 0].tolist() == [3, 16, 3]


def test_what_was_used_longest_ago_is_let_go_when_there_is_no_room() -> None:
    reader, texts = Reader(), ReadTexts(room=4)
    for text in ("a b", "c d", "a b", "e f", "a b", "c d"):
        assert list(texts.read(reader, [text])) == [text]  # type: ignore[arg-type]
    assert reader.asked == ["a b", "c d", "e f", "c d"]


def test_more_than_there_is_room_for_is_read_and_not_kept() -> None:
    reader, texts = Reader(), ReadTexts(room=2)
    assert list(texts.read(reader, ["a b c", "d"])) == ["a b c", "d"]  # type: ignore[arg-type]
    texts.read(reader, ["a b c"])  # type: ignore[arg-type]
    assert reader.asked == ["a b c", "d", "a b c"]


def test_what_is_kept_in_bulk_comes_back_as_it_was_but_for_its_last_digits() -> None:
    reader, texts = Reader(), ReadTexts(in_bulk=True)
    (first,) = texts.read(reader, ["x" * 2049]).values()  # type: ignore[arg-type]
    (again,) = texts.read(reader, ["x" * 2049]).values()  # type: ignore[arg-type]
    assert again.vectors.dtype == first.vectors.dtype == np.float32
    assert np.allclose(again.vectors, first.vectors, rtol=1e-3)
    assert len(reader.asked) == 1
