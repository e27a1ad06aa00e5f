"""Small cross-encoders: real models that read a query and a text as one, in folders as exports lay them out."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from memcli.index.embedding_model import find_model
from memcli.index.packaged_model import FLOAT, OnnxGraph

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
KINDS: Mapping[str, tuple[int | str, ...]] = {
    "one label": ("texts", 1),
    "a number": ("texts",),
    "two labels": ("texts", 2),
    "three labels": ("texts", 3),
    "a vector": ("texts", "tokens", 1),
    "no number": ("texts", 1),
}
"""What a model gives, with its shape."""


def cross_encoder(folder: Path, knows: Mapping[str, str], kind: str = "one label", name: str = "model.onnx") -> Path:
    """Make a folder of a model that gives 1 for each word of a query and a word of a text that it knows to fit."""
    file = folder / name
    file.parent.mkdir(parents=True)
    shutil.copyfile(find_model(None).tokenizer, folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 512}))
    ids = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tables = np.zeros((2, ids.get_vocab_size(), len(knows)), np.float32)
    for column, pair in enumerate(knows.items()):
        for table, word in zip(tables, pair, strict=True):
            table[ids.token_to_id(word), column] = 1
    with file.with_name("weights.bin").open("wb") as weights:
        graph = OnnxGraph(weights, "weights.bin")
        axes = [graph.tensor(f"axis{axis}", np.array([axis], np.int64)) for axis in range(3)]
        is_text = graph.node("Unsqueeze", [graph.node("Cast", ["token_type_ids"], "kinds", to=FLOAT), axes[2]], "text")
        is_query = graph.node("Sub", [graph.tensor("one", np.ones(1, np.float32)), is_text], "query")
        sums = []
        for number, side in enumerate((is_query, is_text)):
            rows = graph.node("Gather", [graph.tensor(f"table{number}", tables[number]), "input_ids"], f"rows{number}")
            said = graph.node("Mul", [rows, side], f"said{number}")
            sums.append(graph.node("ReduceSum", [said, axes[1]], f"sum{number}", keepdims=0))
        fits = graph.node("Mul", sums, "fits")
        score = graph.node("ReduceSum", [fits, axes[1]], "score", keepdims=1)
        if kind == "a number":
            graph.node("Squeeze", [score, axes[1]], "logits")
        elif kind in ("two labels", "three labels"):
            against = graph.node("Neg", [score], "against")
            graph.node("Concat", [against, *[score] * (KINDS[kind][1] - 1)], "logits", axis=1)  # type: ignore[operator]
        elif kind == "a vector":
            graph.node("Mul", [is_text, is_query], "logits")
        elif kind == "no number":
            graph.node(
                "Log", [graph.node("Sub", [score, graph.tensor("much", np.full(1, 9, np.float32))], "less")], "logits"
            )
        else:
            graph.node("Identity", [score], "logits")
        file.write_bytes(graph.model(INPUTS, "logits", KINDS[kind]))
    return folder
