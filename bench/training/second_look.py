"""Train the second look at what is worth remembering: `python -m bench training.second_look [--write]`.

Reads what readers said of what was kept of the labelled conversations (`data/kept.tsv`: conversation, keep or no, why,
text), trains a linear score of plain facts by conversations left out, and writes
`memcli/consolidation/second_look.model`. Train `worth` first: its score is one of the facts. Deterministic.
"""

import json
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import numpy as np

from bench import measures
from bench.training.worth import DATA, SHORT_SENTENCES, chats, fit, is_to_be_written, judged, utterances, write
from memcli.consolidation.backlog import all_events
from memcli.consolidation.batch import Batch
from memcli.consolidation.candidates import candidates
from memcli.consolidation.rule_extractor import worthy
from memcli.consolidation.worth import ALONE, SECOND_FILE, judge, second_features
from memcli.store.workspace import Surroundings, opened
from memcli.transcripts.session_import import import_transcript

PASSED_OVER = ("overtaken", "duplicate", "guess")
"""What made a reader turn down a statement that says something by itself."""
FIRST_LOOK = 0.4  # what short sentences need there
STRENGTH = 10.0  # of regularisation


def conversations() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the name and the messages, by role, of each conversation."""
    for told in measures.rows(DATA / "conversations.jsonl"):
        yield told["id"], [(one["role"], one["content"]) for one in told["messages"]]
    for file in ("chats", "chats-kept"):
        yield from ((name, messages) for name, messages, _ in chats(file))


def examples() -> Iterator[tuple[tuple[float, ...], bool, str]]:
    """Yield the features of what is kept at first look, whether a reader keeps it, and its conversation."""
    said: dict[tuple[str, str], bool] = {}
    for line in (DATA / "kept.tsv").read_text(encoding="utf-8").splitlines():
        name, label, why, text = line.split("\t")
        if why not in PASSED_OVER:
            said[name, plain(text)] = label == "keep"
    for name, messages in conversations():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "mem.yaml").touch()
            workspace = opened(
                Surroundings(Path(folder), {"HOME": folder}, datetime(2026, 11, 1, tzinfo=UTC)), Path(folder)
            )
            lines = (json.dumps({"role": role, "content": text}) + "\n" for role, text in messages)
            session = import_transcript(workspace, BytesIO("".join(lines).encode()), "said.jsonl").session
            batch = Batch(workspace, session, all_events(workspace, session))
            for one, judged in worthy(batch, candidates(batch.events)):
                label = said.get((name, plain(one.text)))
                if label is not None:
                    yield second_features(one, judged), label, name


def sentences() -> Iterator[tuple[tuple[float, ...], bool, str]]:
    """Yield the same of single short sentences that pass the first look: many are fragments by their form alone."""
    for one in utterances(SHORT_SENTENCES):
        (judged,) = judge([one.candidate])
        if judged.probability >= FIRST_LOOK:
            yield second_features(one.candidate, judged), one.keep, one.group


def plain(text: str) -> str:
    """Return what is compared of a text."""
    return re.sub(r"\W+", "", text).casefold()


def main() -> None:
    """Train, print the figures, and with --write put the model beside the code."""
    is_written = is_to_be_written(__doc__)
    found = [*examples(), *sentences()]
    features = np.array([one for one, _, _ in found])
    labels = np.array([float(keep) for _, keep, _ in found])
    groups = [name for _, _, name in found]
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    scaled = np.c_[(features - mean) / spread, np.ones(len(features))]
    kernel = scaled @ scaled.T
    print(f"{len(labels):,} statements, {int(labels.sum()):,} to keep, {len(set(groups)):,} conversations")
    chances, slope, offset = judged(kernel, labels, groups, STRENGTH)
    for least in (0.4, 0.5, 0.6, 0.7):
        gone = chances < least
        print(f"below {least}: {gone.mean():.2f} of all, {1 - labels[gone].mean():.2f} of these turned down by readers")
    weights = scaled.T @ fit(kernel, labels, STRENGTH)
    plain_weights = weights[:-1] / spread
    bias = float(weights[-1] - (plain_weights * mean).sum())
    if is_written:
        write(SECOND_FILE, (ALONE,), 0, plain_weights[None, :], (bias,), (slope, offset))
