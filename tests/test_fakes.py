"""The embedder of the tests is near what shares words, and counts."""

import numpy as np

from memcli.index.text_vectors import Embedder
from tests.fakes import CountingEmbedder
from tests.processes import run


def test_it_counts_calls_and_remembers_texts() -> None:
    embedder = CountingEmbedder()
    embedder.embed(["a", "b"])
    embedder.embed(["a"])
    assert (embedder.calls, embedder.embedded) == (2, ["a", "b", "a"])


def test_it_is_an_embedder_of_unit_vectors() -> None:
    embedder: Embedder = CountingEmbedder()
    vectors = embedder.embed(["tea", "", "tea tea coffee", "😀", "\ud83d"])
    assert vectors.shape == (5, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_texts_that_share_words_are_nearer() -> None:
    one, same, near, far = CountingEmbedder().embed(
        ["User likes green tea", "green tea likes user", "User likes coffee", "deploy with docker"]
    )
    assert one @ same > 0.999
    assert one @ same > one @ near > one @ far


def test_another_process_makes_the_same_vectors() -> None:
    script = "from tests.fakes import CountingEmbedder as C\nprint(C().embed(['green tea']).nonzero()[1].tolist())"
    here = CountingEmbedder().embed(["green tea"]).nonzero()[1].tolist()
    assert run(script).out.strip() == str(here)
