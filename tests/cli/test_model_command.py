"""`mem model`: what can be used, what is used, how far each index is; what cannot be used changes nothing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.index import embedding_model
from memcli.index.embedding_model import find_model
from memcli.index.packaged_model import PACKAGED
from tests.conftest import Mem


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Make the folder of another model: the built-in one, told with a word of its own before each text."""
    folder = tmp_path / "my models" / "other-model"
    folder.mkdir(parents=True)
    built_in = find_model(None)
    shutil.copyfile(built_in.file, folder / "model.onnx")
    shutil.copyfile(built_in.tokenizer, folder / "tokenizer.json")
    put(folder, "config_sentence_transformers.json", {"prompts": {"query": "passage: ", "document": "passage: "}})
    put(folder, "1_Pooling/config.json", {"pooling_mode_mean_tokens": True, "word_embedding_dimension": 384})
    (folder / "README.md").write_text("---\nlicense: mit\nlanguage: en\n---\n# Other\n")
    return folder


def put(folder: Path, name: str, value: object) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(value))


@pytest.fixture
def memories(mem: Mem, workspace: Path) -> Path:
    for text in ("The bakery closes at noon on Sundays", "User's cat is called Miso", "Deploys run on Hetzner"):
        assert mem("write", "--no-dedup", text).code == 0
    assert mem("index").code == 0
    return workspace


def listed(mem: Mem) -> list[tuple[str, bool]]:
    found = mem("model", "list", "--json").json["models"]
    return [(Path(one["choice"]).name, one["is_chosen"]) for one in found if one["choice"] != PACKAGED]


def best(mem: Mem, query: str) -> tuple[str, list[str]]:
    found = mem("search", query, "--mode", "vector", "--json").json
    return found["hits"][0]["summary"], found["notices"]


def test_there_and_back(mem: Mem, memories: Path, other: Path) -> None:
    assert listed(mem) == [("built-in", True)]
    ran = mem("model", "use", str(other), "--wait", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["model"].startswith("other-model@")
    assert listed(mem) == [("built-in", False), ("other-model", True)]
    *_, row = mem("model", "list").rows
    assert row[:5] == ["*", str(other), "mit", "23 MB", "384"]
    assert best(mem, "pet")[0] == "User's cat is called Miso"
    ran = mem("model", "use", "built-in", "--wait")
    assert (ran.code, ran.rows[0][0]) == (0, find_model(None).name)
    assert listed(mem) == [("built-in", True), ("other-model", False)]
    assert best(mem, "pet") == ("User's cat is called Miso", [])


def test_without_waiting_another_process_embeds_and_the_old_vectors_answer(
    mem: Mem, memories: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.integrations.hooks import background

    begun: list[tuple[str, ...]] = []
    monkeypatch.setattr(background, "detach", lambda where, words, rest: begun.append(tuple(words)))
    ran = mem("model", "use", str(other))
    assert (ran.code, begun) == (0, [("index",)])
    assert "in the background" in ran.err
    summary, (notice,) = best(mem, "pet")
    assert summary == "User's cat is called Miso"
    assert "`mem index` goes over to other-model@" in notice
    ((_, state),) = mem("model", "status").rows
    assert state.startswith(f"{find_model(None).name} answers; 0 of ")
    assert mem("index").code == 0
    assert mem("model", "use", str(other)).err == ""  # nothing is left to embed
    assert begun == [("index",)]


def test_two_choices_in_a_minute_both_begin_to_embed(
    mem: Mem, memories: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import subprocess

    begun: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *command, **_: begun.append(command))
    shutil.copytree(other, other.parent / "third")
    assert mem("model", "use", str(other)).code == 0
    assert mem("model", "use", str(other.parent / "third")).code == 0
    assert len(begun) == 2


def test_a_name_is_taken_from_where_one_stands(mem: Mem, workspace: Path, other: Path) -> None:
    shutil.copytree(other, workspace.parent / "near")
    assert mem("model", "use", "near", "--wait").code == 0
    assert mem("config", "get", "embedding.model").out.strip() == str((workspace.parent / "near").resolve())


def test_without_a_workspace_only_the_settings_change(mem: Mem, world: Path, other: Path) -> None:
    assert mem("model", "use", str(other)).code == 0
    assert listed(mem)[1] == ("other-model", True)


def test_a_variable_that_overrules_the_choice_is_named(
    mem: Mem, memories: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", str(other))
    ran = mem("model", "use", "built-in", "--wait")
    assert "MEM_EMBEDDING_MODEL is set and goes before this choice" in ran.err


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


NO_WORDS = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 100}, "unk_token": "[UNK]"},
}
UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "there is no model folder"),
    "no weights": (without("model.onnx"), "has no model.onnx: export the model to ONNX"),
    "no tokenizer": (without("tokenizer.json"), "has no tokenizer.json: export the model with its fast tokenizer"),
    "no ONNX": (lambda folder: (folder / "model.onnx").write_bytes(b"PK\x03\x04 torch"), "cannot be used as a model"),
    "half a copy": (
        lambda folder: (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:9_000_000]),
        "cannot be used as a model",
    ),
    "another tokenizer's numbers": (
        lambda folder: (folder / "tokenizer.json").write_text(
            (folder / "tokenizer.json").read_text().replace('"at":', '"at": 99999999, "\\u0000":')
        ),
        "cannot be used as a model",
    ),
    "a dense layer behind": (
        lambda folder: put(folder, "modules.json", [{"type": "sentence_transformers.models.Dense"}]),
        "has a part mem does not know: Dense: name another model",
    ),
    "a late-interaction model": (
        lambda folder: put(folder, "modules.json", [{"type": "pylate.models.ColBERT"}]),
        "has a part mem does not know: ColBERT",
    ),
    "pooling by the last token": (
        lambda folder: put(folder, "1_Pooling/config.json", {"pooling_mode_lasttoken": True}),
        "asks for a pooling mem does not know",
    ),
    "another dimension than it says": (
        lambda folder: put(folder, "1_Pooling/config.json", {"word_embedding_dimension": 768, "pooling_mode": "mean"}),
        "says that its vectors have 768 numbers, and they have 384: export the model again",
    ),
    "a tokenizer that knows no word": (
        lambda folder: put(folder, "tokenizer.json", NO_WORDS),
        "gives all texts the same numbers: export the model again, with its tokenizer",
    ),
    "a length in words": (
        lambda folder: put(folder, "sentence_bert_config.json", {"max_seq_length": "many"}),
        "has a max_seq_length of 'many': write how many word pieces it takes",
    ),
    "no length": (
        lambda folder: put(folder, "sentence_bert_config.json", {"max_seq_length": -1}),
        "has a max_seq_length of -1",
    ),
    "prompts in a list": (
        lambda folder: put(folder, "config_sentence_transformers.json", {"prompts": ["query: "]}),
        "has prompts that are no text",
    ),
    "a config that is no JSON": (lambda folder: (folder / "modules.json").write_text("{"), "cannot be read"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_folder_that_cannot_be_used_is_named_with_a_fix_and_changes_nothing(
    mem: Mem, memories: Path, other: Path, world: Path, name: str
) -> None:
    harm, said = UNUSABLE[name]
    harm(other)
    before = mem("config", "list").out
    ran = mem("model", "use", str(other), "--wait")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (6, "", 1)
    assert said in ran.err
    assert str(other) in ran.err
    assert mem("config", "list").out == before
    assert best(mem, "pet") == ("User's cat is called Miso", [])
    assert json.loads(mem("model", "use", str(other), "--json").err)["error"]["code"] == "unavailable"


def test_a_model_of_two_gigabytes_on_a_small_machine_is_refused_before_it_is_read(
    mem: Mem, memories: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (other / "model.onnx_data").open("wb") as file:
        file.truncate(2_000_000_000)
    read: list[Path] = []
    hashed = embedding_model._sha256_of
    monkeypatch.setattr(embedding_model, "_sha256_of", lambda path: read.append(path) or hashed(path))
    monkeypatch.setattr(embedding_model, "_free_memory", lambda: 900e6)
    ran = mem("model", "use", str(other))
    assert (ran.code, len(ran.err.splitlines())) == (6, 1)
    assert "needs about 2.6 GB of memory, and 0.9 are free: take a smaller model" in ran.err
    assert [path for path in read if path.is_relative_to(other)] == []


def test_the_memory_that_is_free_is_known_here() -> None:
    assert 10e6 < embedding_model._free_memory() < 1e15


def test_a_listed_folder_that_is_gone_is_said_to_be(mem: Mem, memories: Path, other: Path) -> None:
    assert mem("model", "use", str(other), "--wait").code == 0
    assert mem("model", "use", "built-in", "--wait").code == 0
    shutil.rmtree(other)
    *_, row = mem("model", "list").rows
    assert "there is no model folder" in row[-1]
    assert best(mem, "pet") == ("User's cat is called Miso", [])


def test_on_a_terminal_what_mends_a_model_is_not_cut_off(
    mem: Mem, memories: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mem("model", "use", str(other), "--wait").code == 0
    assert mem("model", "use", "built-in", "--wait").code == 0
    (other / "tokenizer.json").unlink()
    monkeypatch.setattr("memcli.cli.output.is_watched", lambda: True)
    ran = mem("model", "list")
    assert f"mem: {other} has no tokenizer.json: export the model with its fast tokenizer" in ran.err.splitlines()
    assert ran.out.splitlines()[-1].endswith("cannot be used")
