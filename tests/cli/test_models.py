"""Another model can be named in the user's own settings; an index of one never meets the vectors of another."""

import json
from pathlib import Path

import pytest

from memcli.index.embedding_model import find_model
from tests.conftest import Mem


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Make the folder of another model: the built-in one, asked and told with words of its own before the text."""
    folder = tmp_path / "other-model"
    folder.mkdir()
    built_in = find_model(None)
    (folder / "model.onnx").symlink_to(built_in.file)
    (folder / "tokenizer.json").symlink_to(built_in.tokenizer)
    prompts = {"prompts": {"query": "query: ", "document": "passage: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


@pytest.fixture
def memories(mem: Mem, workspace: Path) -> Path:
    for text in ("The bakery closes at noon on Sundays", "User's cat is called Miso", "Deploys run on Hetzner"):
        assert mem("write", "--no-dedup", text).code == 0
    return workspace


def indexed(mem: Mem) -> tuple[str, int, int]:
    ran = mem("index", "--json")
    assert ran.code == 0, ran.err
    return ran.json["model"], ran.json["vectors"], ran.json["not_embedded"]


def test_a_model_named_by_the_user_embeds_everything_anew_and_is_left_again(
    mem: Mem, memories: Path, other: Path
) -> None:
    first, count, missing = indexed(mem)
    assert (first.partition("@")[0], missing) == ("all-MiniLM-L6-v2-int8", 0)
    assert mem("config", "set", "--user", "embedding.model", str(other)).code == 0
    second, again, missing = indexed(mem)
    assert (second.partition("@")[0], again, missing) == ("other-model", count, 0)
    ran = mem("search", "pet", "--mode", "vector", "--json")
    assert ran.json["hits"][0]["summary"] == "User's cat is called Miso"
    assert mem("config", "set", "--user", "embedding.model", "").code == 0
    assert indexed(mem) == (first, count, 0)
