"""A cross-encoder reads a query and a text as one; a folder that is none is refused in one line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.errors import UnavailableError
from memcli.index.cross_encoder import CrossEncoder, chosen_cross_encoder, find_cross_encoder, open_cross_encoder
from memcli.store.settings import Settings
from tests.cross_encoders import cross_encoder

KNOWS = {"pet": "cat", "drink": "tea"}
TEXTS = ["Our cat is called Miso.", "Tea is served at four.", "", "\ud83d a lone surrogate", "The pet has no drink."]


def opened(folder: Path) -> CrossEncoder:
    return open_cross_encoder(find_cross_encoder(folder))


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
def test_a_score_tells_how_well_query_and_text_fit(tmp_path: Path, name: str) -> None:
    model = opened(cross_encoder(tmp_path / "reader", KNOWS, name=name))
    assert model.scores("Which pet is it?", TEXTS).tolist() == [1, 0, 0, 0, 0]
    assert model.scores("What does the pet drink?", [*TEXTS, "The cat has tea."]).tolist() == [1, 1, 0, 0, 0, 2]
    assert model.scores("cat or tea", TEXTS).tolist() == [0] * 5  # the sides are not mixed up
    assert model.scores("pet", []).tolist() == []


@pytest.mark.parametrize(("kind", "score"), [("a number", 1), ("two labels", 2)])
def test_the_ways_to_give_a_score_order_alike(tmp_path: Path, kind: str, score: float) -> None:
    model = opened(cross_encoder(tmp_path / "reader", KNOWS, kind))
    assert model.scores("Which pet is it?", TEXTS).tolist() == [score, 0, 0, 0, 0]


def test_a_text_has_the_same_score_alone_and_in_company(tmp_path: Path) -> None:
    model = opened(cross_encoder(tmp_path / "reader", KNOWS))
    texts = [*TEXTS, "cat " * 700, "tea " * 90] * 9
    alone = [model.scores("pet and drink", [text])[0] for text in texts]
    assert model.scores("pet and drink", texts).tolist() == alone


def test_neither_a_long_query_nor_a_long_text_pushes_the_other_out(tmp_path: Path) -> None:
    model = opened(cross_encoder(tmp_path / "reader", KNOWS))
    assert model.scores("pet " * 9000, ["cat"]).tolist() == [512 - 4]  # but for three marks and the cat
    assert model.scores("pet", ["cat " * 9000]).tolist() == [512 - 4]


def test_the_query_is_made_into_word_pieces_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = opened(cross_encoder(tmp_path / "reader", KNOWS))
    tokenizer, read = model._tokenizer, list[str]()

    class Watched:
        post_process = tokenizer.post_process

        def encode(self, text: str, **options: bool) -> object:
            read.append(text)
            return tokenizer.encode(text, **options)

        def encode_batch_fast(self, texts: list[str], **options: bool) -> object:
            read.extend(texts)
            return tokenizer.encode_batch_fast(texts, **options)

    monkeypatch.setattr(model, "_tokenizer", Watched())
    model.scores("pet", ["cat", "tea", "cat and tea"])
    assert read == ["pet", "cat", "tea", "cat and tea"]


UNUSABLE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no weights": ("one label", lambda folder: (folder / "model.onnx").unlink(), "has no model.onnx"),
    "no tokenizer": ("one label", lambda folder: (folder / "tokenizer.json").unlink(), "has no tokenizer.json"),
    "no config": ("one label", lambda folder: (folder / "config.json").unlink(), "has no config.json"),
    "no ONNX": (
        "one label",
        lambda folder: (folder / "model.onnx").write_bytes(b"PK\x03\x04 torch"),
        "cannot be used as a model",
    ),
    "half of its weights": (
        "one label",
        lambda folder: (folder / "weights.bin").write_bytes(bytes(4096)),
        "cannot be used as a model",
    ),
    "a tokenizer that is none": (
        "one label",
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        "cannot be used as a model",
    ),
    "a config that is no JSON": (
        "one label",
        lambda folder: (folder / "config.json").write_text("{"),
        "cannot be read",
    ),
    "a model that embeds": ("a vector", lambda folder: None, "gives 3 dimensions, not a score"),
    "three labels": ("three labels", lambda folder: None, "gives 3 numbers for a pair, not a score"),
    "no numbers": ("no number", lambda folder: None, "gives scores that are no numbers"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_is_no_cross_encoder_is_refused(tmp_path: Path, name: str) -> None:
    kind, damage, reason = UNUSABLE[name]
    folder = cross_encoder(tmp_path / "reader", KNOWS, kind)
    damage(folder)
    with pytest.raises(UnavailableError, match=reason) as raised:
        opened(folder).scores("pet", TEXTS)
    assert raised.value.fix
    assert str(folder) in raised.value.message


def test_a_name_and_a_limit_follow_from_the_files(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "reader", KNOWS)
    first = find_cross_encoder(folder, tmp_path)
    assert (first.name.partition("@")[0], first.max_tokens) == ("reader", 512)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64}))
    second = find_cross_encoder(folder, tmp_path)
    assert second.max_tokens == 64
    assert second.name != first.name
    assert opened(folder).scores("pet", ["cat " * 9000]).tolist() == [60]


def test_a_folder_is_looked_for_in_no_place_one_happens_to_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cross_encoder(tmp_path / "reader", KNOWS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = {"search.reranker": "reader", "embedding.threads": 0}
    with pytest.raises(UnavailableError, match="no folder named from / or ~"):
        chosen_cross_encoder(Settings(settings, {}), tmp_path)
    settings["search.reranker"] = "~/reader"
    assert chosen_cross_encoder(Settings(settings, {}), tmp_path).scores("pet", ["a cat"]).tolist() == [1]
