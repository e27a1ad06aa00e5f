"""The model makes the same vectors in every way it is opened, from a prepared copy too."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UnavailableError
from memcli.index.embedder import OnnxEmbedder, open_embedder
from memcli.index.embedding_model import built_in_name, find_model
from memcli.index.onnx_session import discard, prepare, prepared_file, usable
from memcli.index.text_vectors import CONTEXT_END, batched
from tests.processes import run

if TYPE_CHECKING:
    from memcli.index.text_vectors import Embedder

TEXTS = [
    "User prefers dark mode and concise responses.",
    "",
    " \n\t ",
    "😀🎉",
    "\ud83d a lone surrogate",
    "\x00 zero",
    "用户喜欢深色模式，请简短回答。",
    "a" * 500,
    "word " * 20_000,
    "The meeting is at 15:00 on Friday in room 4711.",
    "Bash scripts begin with `set -euo pipefail`; otherwise errors pass unnoticed.",
]
PARAPHRASES = [
    ("User prefers dark mode in the editor.", "The user likes a dark theme for their editor."),
    ("The deploy runs every night at two.", "Each night at 2 am the deployment is started."),
    ("She moved from Berlin to Lisbon.", "She used to live in Berlin and now lives in Lisbon."),
    ("The tests fail because the database is missing.", "Without the database the tests do not pass."),
    ("He is allergic to peanuts.", "Peanuts give him an allergic reaction."),
]


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    """Open the built-in model as a command that asks one question does."""
    return open_embedder(None, bulk=False)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a cache with the prepared copy in it."""
    cache = tmp_path_factory.mktemp("cache")
    open_embedder(None, bulk=True, cache=cache)
    return cache


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a sentence-transformers folder of the built-in model."""
    built_in = find_model(None)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.onnx").symlink_to(built_in.file)
    (tmp_path / "model" / "tokenizer.json").write_bytes(built_in.tokenizer.read_bytes())
    return tmp_path / "model"


def test_an_open_model_has_the_name_known_without_opening_it(embedder: OnnxEmbedder) -> None:
    named: Embedder = embedder
    assert named.model == built_in_name()
    assert named.dimension == 384


def test_paraphrases_are_nearer_than_what_is_unrelated(embedder: OnnxEmbedder) -> None:
    left = embedder.embed([one for one, _ in PARAPHRASES])
    right = embedder.embed([other for _, other in PARAPHRASES])
    cosines = left @ right.T
    unrelated = cosines[~np.eye(len(PARAPHRASES), dtype=bool)]
    assert np.diag(cosines).min() > 0.6
    assert unrelated.max() < 0.4


def test_every_text_has_a_vector_of_length_one(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert embedder.embed([]).shape == (0, 384)


def test_the_same_texts_give_the_same_bytes(embedder: OnnxEmbedder) -> None:
    assert np.array_equal(embedder.embed(TEXTS), embedder.embed(TEXTS))


def test_a_text_has_the_same_vector_alone_and_in_company(embedder: OnnxEmbedder) -> None:
    together = embedder.embed(TEXTS)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert (together * alone).sum(axis=1).min() > 0.9999


def test_the_ways_to_open_the_model_agree(embedder: OnnxEmbedder, cache: Path) -> None:
    expected = embedder.embed(TEXTS)
    for other in (
        open_embedder(None, bulk=True, threads=1),
        open_embedder(None, bulk=True, threads=3),
        open_embedder(None, bulk=True, threads=2, cache=cache),
        open_embedder(None, bulk=False, cache=cache),
    ):
        assert (other.embed(TEXTS) * expected).sum(axis=1).min() > 0.9999


def test_only_the_first_256_word_pieces_count(embedder: OnnxEmbedder) -> None:
    start = " ".join(f"word{number}" for number in range(300))
    long, longer, shorter = embedder.embed([start, f"{start} and something else altogether", start[:200]])
    assert np.array_equal(long, longer)
    assert long @ shorter < 0.999


def test_a_huge_text_is_not_read_to_its_end(embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    class Watched:
        read = 0

        def encode_batch_fast(self, texts: list[str]) -> object:
            self.read += sum(map(len, texts))
            return tokenizer.encode_batch_fast(texts)

    tokenizer, watched = embedder._tokenizer, Watched()
    monkeypatch.setattr(embedder, "_tokenizer", watched)
    short, huge = embedder.embed(["memory " * 300, "memory " * 300_000])
    assert np.array_equal(short, huge)
    assert watched.read < 20_000


def test_pooling_passes_over_the_padding(embedder: OnnxEmbedder) -> None:
    alone = embedder.embed(["tea"])[0]
    padded = embedder.embed(["tea", "tea " * 12])[0]
    assert alone @ padded > 0.9999


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 1024))
def test_batches_hold_every_text_once_within_the_limit(lengths: list[int], limit: int) -> None:
    batches = batched(lengths, limit)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or longest * len(batch) <= limit


@pytest.mark.parametrize("others", [[15, 15, 16, 17, 19], [6, 7, 7], [40, 44, 45, 41]])
def test_one_long_text_among_short_ones_is_not_what_all_are_padded_to(others: list[int]) -> None:
    batches = batched([*others, 120], 1024)
    assert sorted(map(len, batches)) == [1, len(others)]
    assert batched([*others, max(others) + 2], 1024) == [sorted(range(len(others) + 1), key=[*others, 999].__getitem__)]


def test_a_folder_of_the_same_model_gives_the_same_vectors_under_its_own_name(
    embedder: OnnxEmbedder, folder: Path
) -> None:
    other = open_embedder(folder, bulk=False)
    assert other.model.startswith("model@")
    assert np.array_equal(other.embed(TEXTS), embedder.embed(TEXTS))


def test_a_folder_can_ask_for_other_pooling_and_length(embedder: OnnxEmbedder, folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 8}))
    other = open_embedder(folder, bulk=False)
    one, same_start = other.embed(["one two three four five six seven", "one two three four five six something else"])
    assert np.array_equal(one, same_start)
    assert one @ embedder.embed(["one two three four five six seven"])[0] < 0.95


def test_a_folder_can_ask_for_words_before_queries_and_texts(embedder: OnnxEmbedder, folder: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "passage": "passage: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    other = open_embedder(folder, bulk=False)
    assert np.array_equal(other.embed(["tea"]), embedder.embed(["passage: tea"]))
    assert np.array_equal(other.embed(["tea"], is_query=True), embedder.embed(["query: tea"]))


def damage(data: bytes) -> list[bytes]:
    return [b"", b"not a model at all", data[:-1000], data[: len(data) // 2]]


@pytest.mark.parametrize("which", range(4))
def test_a_damaged_model_is_named_with_a_fix(which: int, folder: Path) -> None:
    data = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").write_bytes(damage(data)[which])
    with pytest.raises(UnavailableError, match=r"model\.onnx cannot be used as a model .*: install"):
        open_embedder(folder, bulk=False)


@pytest.mark.parametrize("which", range(4))
def test_a_damaged_tokenizer_is_named_with_a_fix(which: int, folder: Path) -> None:
    data = (folder / "tokenizer.json").read_bytes()
    (folder / "tokenizer.json").write_bytes(damage(data)[which])
    with pytest.raises(UnavailableError, match=r"tokenizer\.json cannot be used as a model .*: install"):
        open_embedder(folder, bulk=False)


def test_a_tokenizer_of_another_model_is_an_error_and_no_vector(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_bytes())
    tokenizer["model"]["vocab"]["tea"] = 4_000_000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(UnavailableError, match="cannot be used as a model"):
        open_embedder(folder, bulk=False).embed(["tea"])


@pytest.mark.parametrize("provider", ["abacus", "azure", "CPU "])
def test_what_runs_the_model_is_here_and_not_in_a_cloud(provider: str) -> None:
    with pytest.raises(UnavailableError, match="choose one of cpu"):
        open_embedder(None, bulk=False, provider=provider)


def cut_short(file: Path) -> None:
    with (file.parent / "weights.bin").open("r+b") as weights:
        weights.truncate(1000)


@pytest.mark.parametrize(
    "harm", [cut_short, lambda file: file.write_bytes(b"?"), lambda file: (file.parent / "weights.bin").unlink()]
)
def test_a_prepared_copy_that_does_not_open_is_removed_and_not_missed(
    harm: Callable[[Path], object], embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    open_embedder(None, bulk=True, cache=tmp_path)
    (file,) = tmp_path.glob("models/*/model.onnx")
    harm(file)
    other = open_embedder(None, bulk=False, cache=tmp_path)
    assert np.allclose(other.embed(["tea"]), embedder.embed(["tea"]), atol=1e-4)
    assert not file.exists()


def test_a_command_that_asks_once_prepares_nothing(tmp_path: Path) -> None:
    open_embedder(None, bulk=False, cache=tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["models.json"]


def test_importing_the_module_loads_no_heavy_library() -> None:
    script = "import sys, memcli.index.embedder\nprint(*sorted({name.split('.')[0] for name in sys.modules}))"
    assert not {"numpy", "onnxruntime", "tokenizers", "hashlib", "concurrent"} & set(run(script).out.split())


def test_telemetry_and_parallel_tokenising_are_off_before_their_libraries_load() -> None:
    script = """
import os, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in ("onnxruntime", "tokenizers"):
            print(name, os.environ.get("ORT_DISABLE_TELEMETRY"), os.environ.get("TOKENIZERS_PARALLELISM"))
sys.meta_path.insert(0, Watch())
os.environ["ORT_DISABLE_TELEMETRY"] = "0"
from memcli.index.embedder import open_embedder
open_embedder(None, bulk=False)
"""
    seen = {line.split()[0]: line.split()[1:] for line in run(script).out.splitlines()}
    assert seen["onnxruntime"][0] == "1"
    assert seen["tokenizers"][1] == "false"


def test_a_short_answer_is_understood_by_what_it_answers_and_still_says_its_own(embedder: OnnxEmbedder) -> None:
    asked = "user: How many herons did you count on the lake?"
    said = "assistant: no, 89"
    alone, answer, question, query = embedder.embed(
        [said, f"{asked}{CONTEXT_END}{said}", asked, "How many herons were on the lake?"]
    )
    assert answer @ query > alone @ query
    assert answer @ alone > question @ alone


@pytest.mark.parametrize("context", ["", " ", "\n", "鷺" * 2000, "heron " * 2000])
def test_a_text_is_read_whole_whatever_its_context(embedder: OnnxEmbedder, context: str) -> None:
    said = "The herons nest in the reeds. " * 200  # as much as the model reads
    plain, long = embedder.embed([said, f"{context}{CONTEXT_END}{said}"])
    assert plain @ long == pytest.approx(1, abs=1e-5)
    (short,) = embedder.embed([f"{context}{CONTEXT_END}"])
    assert short @ short == pytest.approx(1, abs=1e-5)


def write(target: Path) -> None:
    target.write_bytes(b"graph")
    target.with_name("weights.bin").write_bytes(b"weights")


def test_a_copy_is_found_by_model_and_version(tmp_path: Path) -> None:
    assert prepared_file(tmp_path, "a" * 64, "1.0") is None
    file = prepare(tmp_path, "a" * 64, "1.0", write)
    assert file == prepared_file(tmp_path, "a" * 64, "1.0")
    assert prepared_file(tmp_path, "a" * 64, "1.1") is None
    assert prepared_file(tmp_path, "b" * 64, "1.0") is None


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(target: Path) -> None:
        write(target)
        raise OSError("disk full")

    assert prepare(tmp_path, "a" * 64, "1.0", fail) is None
    assert os.listdir(tmp_path / "models") == []
    (tmp_path / "file").touch()
    assert prepare(tmp_path / "file", "a" * 64, "1.0", write) is None


def test_an_interrupted_copy_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(target: Path) -> None:
        write(target)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path, "a" * 64, "1.0", interrupt)
    assert os.listdir(tmp_path / "models") == []


def test_of_two_that_prepare_at_once_one_is_used_by_both(tmp_path: Path) -> None:
    def slow(target: Path) -> None:
        write(target)
        (target.parent.with_name("other")).mkdir()
        write(target.parent.with_name("other") / "model.onnx")
        target.parent.with_name("other").rename(target.parent.with_suffix(""))

    file = prepare(tmp_path, "a" * 64, "1", slow)
    assert file is not None
    assert file == prepared_file(tmp_path, "a" * 64, "1")
    assert len(os.listdir(tmp_path / "models")) == 1


def test_copies_out_of_use_are_removed_when_another_is_made(tmp_path: Path) -> None:
    old = prepare(tmp_path, "a" * 64, "1.0", write)
    recent = prepare(tmp_path, "b" * 64, "1.0", write)
    assert old
    assert recent
    os.utime(old.parent, (0, 0))
    prepare(tmp_path, "a" * 64, "1.1", write)
    assert not old.parent.exists()
    assert recent.exists()


def test_a_copy_can_be_discarded(tmp_path: Path) -> None:
    file = prepare(tmp_path, "a" * 64, "1.0", write)
    assert file
    discard(file)
    assert prepared_file(tmp_path, "a" * 64, "1.0") is None


def test_a_number_that_is_named_counts() -> None:
    assert usable(3) == 3


def test_without_a_number_every_core_this_process_may_use_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5, 6})
    assert usable() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert usable() == 8


def test_whoever_scans_or_embeds_has_told_numpys_blas_to_use_one_thread() -> None:
    for module in ("vector_file", "embedder", "hnsw"):
        ended = run(
            f"import os, sys, memcli.index.{module}\nprint('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])"
        )
        assert ended.out.split() == ["False", "1"]


def test_numpy_is_not_imported_before_its_blas_was_told(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("import os\nprint(os.environ.get('OPENBLAS_NUM_THREADS'))\n")
    ended = run(f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport memcli.beliefs.pair_model")
    assert ended.out == "1\n"
