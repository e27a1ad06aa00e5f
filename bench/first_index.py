"""Measure the first index of a workspace against a bare loop over the same texts with the same model.

Usage: python -m bench first_index [--entries 1500] [--runs 5]. Each round times `mem index --rebuild` as a whole
process, then the loop, in which the model is open before the clock starts. The loop is what the machine can do: a
worker for each core with a session of its own of one thread, texts sorted by their length over all there are, the
longest first.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from bench.timing import Bench, Row
from bench.workspaces import make

LEAST = 0.85
"""Share of the loop's texts a second that the whole command is to reach."""

SCRIPT = """
import json, os, statistics, subprocess, sys, threading, time
from datetime import UTC, datetime
from pathlib import Path
import numpy as np
from memcli.index.database import texts_of
from memcli.index.embedding_model import find_model
from memcli.index.index import ask
from memcli.index.onnx_session import open_session, open_tokenizer, usable
from memcli.store.workspace import Surroundings, opened

root, runs, pieces = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
workspace = opened(Surroundings(root, os.environ, datetime.now(UTC)), root)
command = [sys.executable, "-m", "memcli", "index", "--rebuild", "--workspace", str(root)]

def mem():
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

def stored(index):
    chunks = [chunk for (chunk,) in index.connection.execute("select chunk from chunks")]
    return {each.hash: each.prefix + each.text for each in texts_of(index.connection, chunks)}

mem()
texts = list(ask(workspace, stored).values())
model = find_model(None, workspace.cache)
tokenizer, _ = open_tokenizer(model.tokenizer, model.max_tokens)
sessions = [open_session(model.file, model.digest, workspace.cache, bulk=True) for _ in range(usable())]
names = [each.name for each in sessions[0].get_inputs()]

def bare():
    ids = sorted((each.ids for each in tokenizer.encode_batch_fast(texts)), key=len)
    lock = threading.Lock()

    def work(session):
        while True:
            with lock:
                if not ids:
                    return
                count = max(1, pieces // len(ids[-1]))
                batch = ids[-count:]
                del ids[-count:]
            tokens = np.zeros((len(batch), len(batch[-1])), np.int64)
            mask = np.zeros_like(tokens)
            for row, numbers in enumerate(batch):
                tokens[row, : len(numbers)] = numbers
                mask[row, : len(numbers)] = 1
            feeds = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
            session.run(None, {name: feeds[name] for name in names})

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def processor():
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system

spent = {"mem": [], "bare": []}
for _ in range(runs):
    for name, work in (("mem", mem), ("bare", bare)):
        start, used = time.perf_counter(), processor()
        work()
        spent[name].append((time.perf_counter() - start, processor() - used))
rates = {name: [len(texts) / statistics.median(each) for each in zip(*times)] for name, times in spent.items()}
print(json.dumps({"texts": len(texts), **rates}))
"""
_PIECES = 256  # word pieces in a batch of the loop, padding counted: of 128 to 2,048 measured best on one core


def first_index(bench: Bench, root: Path, runs: int) -> list[Row]:
    """Index a workspace anew several times, and return the rows of the clock and of the processor."""
    measured = bench.inside(SCRIPT, str(root), str(runs), str(_PIECES))
    return [
        (
            f"`mem index --rebuild`, {measured['texts']:,} texts",
            f"{ours:.0f} texts a second{of}",
            f"bare loop on all cores, {bare:.0f}",
            bare / ours,
            limit,
        )
        for of, ours, bare, limit in zip(
            ("", " of one core"), measured["mem"], measured["bare"], (1 / LEAST, None), strict=True
        )
    ]


def main() -> None:
    """Measure and print the rows."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", type=int, default=1500)
    options.add_argument("--runs", type=int, default=5)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "workspace", chosen.entries)
        for _, figure, against, ratio, _ in first_index(
            Bench(Path(folder), chosen.runs), Path(folder) / "workspace", chosen.runs
        ):
            print(f"{figure}; {against}: {1 / ratio:.2f} of it", file=sys.stdout)
