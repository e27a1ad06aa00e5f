"""Train the score of what is worth remembering: `python -m bench training.worth [--write]`.

Reads the labelled sentences and conversations of `bench/training/data`, trains linear outputs, chooses the calibration
by conversations left out, and writes `memcli/data/worth.model`. Deterministic.
"""

import argparse
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from bench import measures
from memcli.consolidation.candidates import Candidate, candidates, without_filler
from memcli.consolidation.worth import FILE, KEEP, REQUEST, SHORT, hashed_features, is_short, plain_features
from memcli.formats.session_event import Event
from memcli.language.linear_model import FORMAT

DATA = Path(__file__).with_name("data")
SIZE = 1 << 14
STRENGTH, SHORT_STRENGTH = 0.25, 0.1  # of regularisation
FOLDS = 4
SENTENCES, SHORT_SENTENCES = ("utterances", "requests", "singles"), ("facts", "short")
SPEAKERS = {"u": "user", "a": "assistant", "t": "tool"}
Label = tuple[int, int, bool, str]  # where in a message, worth keeping or not, and kind
KINDS = ("rule", "preference", "fact", "person", "decision", "plan", "cause", "fix", "correction", "event", REQUEST)


@dataclass(frozen=True)
class Example:
    """A candidate with what somebody said of it."""

    candidate: Candidate
    keep: bool
    kind: str
    group: str  # conversation, or block of single sentences: left out together


def utterances(names: Sequence[str]) -> list[Example]:
    """Read single sentences: label, kind, role and text a line."""
    found = []
    for name in names:
        lines = (DATA / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            label, kind, role, text = line.split("\t")
            found.append(Example(Candidate(text, role), label == "keep", kind, f"{name[0]}{number // 5}"))
    return found


def conversations() -> list[Example]:
    """Read labelled conversations: messages with labels of their parts, and messages as labelled sentences."""
    found = []
    for told in measures.rows(DATA / "conversations.jsonl"):
        labels: dict[int, list[Label]] = {}
        for label in told["labels"]:
            start = told["messages"][label["message"]]["content"].find(label["text"])
            one = (start, start + len(label["text"]), bool(label["keep"]), label["kind"])
            labels.setdefault(label["message"], []).append(one)
        found += matched(told["id"], [(one["role"], one["content"]) for one in told["messages"]], labels)
    for file in ("chats", "talks"):
        for name, messages, labels in chats(file):
            found += matched(name, messages, labels)
    return found


def chats(file: str) -> Iterator[tuple[str, list[tuple[str, str]], dict[int, list[Label]]]]:
    """Yield the conversations of a file of labelled sentences: name, messages by role, and labels by message."""
    for number, block in enumerate((DATA / f"{file}.tsv").read_text(encoding="utf-8").split("\n\n")):
        messages: list[tuple[str, str]] = []
        labels: dict[int, list[Label]] = {}
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            speaker, *said = line.split("\t")
            text = ""
            for one in said:
                kind, _, sentence = one.partition(" ")
                start = len(text)
                text += sentence
                labels.setdefault(len(messages), []).append((start, len(text), kind[0] == "+", kind[1:]))
                text += " " if sentence.endswith((".", "!", "?")) else "\n"
            messages.append((SPEAKERS[speaker], text.strip()))
        yield f"{file.removesuffix('s')}-{number}", messages, labels


def matched(name: str, messages: Sequence[tuple[str, str]], labels: Mapping[int, Sequence[Label]]) -> list[Example]:
    """Return the candidates mem finds in a conversation that its labels speak of; `labels` are by message."""
    events = [
        Event(str(number), *(("tool_result", "system") if role == "tool" else ("message", role)), text)
        for number, (role, text) in enumerate(messages)
    ]
    found = []
    for one in candidates(events):
        here = labels.get(int(one.message), ())
        shared = [(min(one.stop, stop) - max(one.start, start), keep, kind) for start, stop, keep, kind in here]
        best = max(shared, default=(0, False, ""))
        if best[0] > 0.5 * (one.stop - one.start) or any(size > 0 and keep for size, keep, _ in shared):
            kept = [kind for size, keep, kind in shared if keep and size > 0.3 * min(one.stop - one.start, 60)]
            found.append(Example(one, bool(kept), kept[0] if kept else best[2], name))
        found += parts(one, messages[int(one.message)][1], here, name)
    return found


def parts(whole: Candidate, text: str, labels: Sequence[Label], name: str) -> Iterator[Example]:
    """Yield the statements that a candidate runs together, each as a candidate of its own."""
    inner = [label for label in labels if whole.start <= label[0] and label[1] <= whole.stop]
    for start, stop, keep, kind in inner if len(inner) > 1 else ():
        if part := without_filler(text[start:stop]):
            yield Example(replace(whole, text=part, start=start, stop=stop), keep, kind, name)


class Features:
    """The features of examples, (n, size + plain + 1), of which few are not 0; the last is 1 and bears the bias."""

    def __init__(self, rows: Sequence[tuple[Sequence[tuple[int, float]], Sequence[float]]], size: int) -> None:
        """Take the hashed places with their values and the plain features of each example."""
        width = size + len(rows[0][1]) + 1
        cells = [[*hashed, *enumerate((*plain, 1.0), size)] for hashed, plain in rows]
        self._set([len(row) for row in cells], np.array(list(chain.from_iterable(cells))), width)

    def _set(self, lengths: Sequence[int], cells: np.ndarray, width: int) -> None:
        self.lengths, self.cells, self.width = np.array(lengths), cells, width
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.places, self.values = cells[:, 0].astype(np.int64), cells[:, 1]

    def of(self, chosen: np.ndarray) -> "Features":
        """Return the rows for which `chosen`, (n,) of bool, holds."""
        part = object.__new__(Features)
        part._set(self.lengths[chosen], self.cells[np.repeat(chosen, self.lengths)], self.width)
        return part

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Return the sum of each example, (n,)."""
        return np.add.reduceat(self.values * weights[self.places], self.starts)

    def back(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of each feature over the examples, weighed by `values`, (n,)."""
        return np.bincount(self.places, self.values * np.repeat(values, self.lengths), self.width)


def described(examples: Sequence[Example]) -> Features:
    """Return the features of candidates."""
    sentences = [example.candidate for example in examples]
    return Features([(hashed_features(each.text, SIZE), plain_features(each)) for each in sentences], SIZE)


def fit(features: Features, labels: np.ndarray, strength: float) -> np.ndarray:
    """Return the weights of a logistic regression, the bias last.

    Newton's method, each step by conjugate gradients (Lin, Weng and Keerthi 2008); the bias is regularised, too.
    """
    weights = np.zeros(features.width)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-features.sums(weights)))
        spread = np.maximum(chance * (1 - chance), 1e-4)
        residual = -(features.back(chance - labels) + strength * weights)
        step, direction, size = np.zeros_like(weights), residual.copy(), residual @ residual
        enough = 1e-6 * size
        for _ in range(200):
            bent = features.back(spread * features.sums(direction)) + strength * direction
            length = size / (direction @ bent)
            step += length * direction
            residual -= length * bent
            size, last = residual @ residual, size
            if size < enough:
                break
            direction = residual + size / last * direction
        weights += step
        if np.abs(step).max() < 1e-3:
            break
    return weights


def area(sums: np.ndarray, labels: np.ndarray) -> float:
    """Return the area under the receiver operating characteristic."""
    order = np.argsort(sums, kind="stable")
    ranks = np.empty(len(sums))
    ranks[order] = np.arange(1, len(sums) + 1)
    good = labels.sum()
    return float((ranks[labels == 1].sum() - good * (good + 1) / 2) / (good * (len(labels) - good)))


def left_out(features: Features, labels: np.ndarray, groups: np.ndarray, strength: float) -> np.ndarray:
    """Return the sums that each example gets from a model which never saw its conversation."""
    sums = np.empty(len(labels))
    for fold in range(FOLDS):
        held = groups % FOLDS == fold
        sums[held] = features.of(held).sums(fit(features.of(~held), labels[~held], strength))
    return sums


def calibration(sums: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return slope and offset of Platt's scaling, by Newton's method (Platt 1999)."""
    design = np.c_[sums, np.ones(len(sums))]
    weights = np.array([1.0, 0.0])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-design @ weights))
        step = np.linalg.solve(
            (design * (chance * (1 - chance))[:, None]).T @ design + 1e-6 * np.eye(2), design.T @ (labels - chance)
        )
        weights += step
    return float(weights[0]), float(weights[1])


def judged(
    features: Features, labels: np.ndarray, groups: Sequence[str], strength: float
) -> tuple[np.ndarray, float, float]:
    """Return the probability of each example by models that never saw its group, and their calibration's line.

    Print the area, too. The line is slope and offset.
    """
    sums = left_out(features, labels, np.array([zlib.crc32(name.encode()) for name in groups]), strength)
    print(f"area left out {area(sums, labels):.3f}")
    slope, offset = calibration(sums, labels)
    return 1 / (1 + np.exp(-(slope * sums + offset))), slope, offset


def trained(examples: Sequence[Example], strength: float) -> tuple[np.ndarray, float, float, float]:
    """Return the weights of what to keep of examples, their bias, and the slope and offset of their calibration."""
    groups = [one.group for one in examples]
    labels = np.array([float(one.keep) for one in examples])
    features = described(examples)
    print(f"{len(examples)} candidates, {int(labels.sum())} to keep, {len(set(groups))} groups")
    chance, slope, offset = judged(features, labels, groups, strength)
    for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        told = chance >= least
        right, wrong = told[labels == 1].mean(), told[labels == 0].mean()
        print(f"at {least}: keeps {right:.2f} of what to keep, {wrong:.2f} of the rest")
    weights = fit(features, labels, strength)
    return weights[:-1], float(weights[-1]), slope, offset


def kinds(examples: Sequence[Example]) -> tuple[list[np.ndarray], list[float]]:
    """Return the weights and the bias of each kind, learned from what is worth keeping and from requests for once."""
    kept = [one for one in examples if one.keep or one.kind == REQUEST]
    features = described(kept)
    fits = [fit(features, np.array([float(example.kind == kind) for example in kept]), 2 * STRENGTH) for kind in KINDS]
    return [weights[:-1] for weights in fits], [float(weights[-1]) for weights in fits]


def write(
    file: Path,
    outputs: Sequence[str],
    size: int,
    weights: np.ndarray,
    bias: Sequence[float],
    line: tuple[float, float],
) -> None:
    """Write a model that `memcli.language.linear_model` reads.

    `weights` are (outputs, size + plain), `line` is slope and offset of the calibration.
    """
    scale = np.abs(weights[:, :size]).max(axis=1, initial=0.0) / 127
    small = np.round(weights[:, :size] / scale[:, None]).astype(np.int8)
    said = {
        "format": FORMAT,
        "outputs": list(outputs),
        "size": size,
        "plain": [[round(float(value), 5) for value in row] for row in weights[:, size:]],
        "bias": [round(float(one), 5) for one in bias],
        "scale": [round(float(one), 8) for one in scale],
        "slope": round(line[0], 5),
        "offset": round(line[1], 5),
        "checksum": zlib.crc32(small.tobytes()),
    }
    file.write_bytes(json.dumps(said).encode() + b"\n" + small.tobytes())
    print(f"wrote {file}")


def is_to_be_written(doc: str | None) -> bool:
    """Read the arguments of a training; return whether the model is to be put beside the code."""
    options = argparse.ArgumentParser(description=doc)
    options.add_argument("--write", action="store_true", help="put the model beside the code")
    return bool(options.parse_args().write)


def main() -> None:
    """Train, print the figures, and with --write put the model beside the code."""
    is_written = is_to_be_written(__doc__)
    told, plain = utterances(SENTENCES) + conversations(), utterances(SHORT_SENTENCES)
    weights, bias, slope, offset = trained(told, STRENGTH)
    short = [one for one in told + plain if is_short(one.candidate)]
    short_weights, short_bias, short_slope, short_offset = trained(short, SHORT_STRENGTH)
    # One calibration serves both outputs: the second is put on the scale of the first.
    short_weights *= short_slope / slope
    short_bias = (short_slope * short_bias + short_offset - offset) / slope
    of_kinds, biases = kinds(told + plain)
    every = np.array([weights, short_weights, *of_kinds])
    if is_written:
        write(FILE, (KEEP, SHORT, *KINDS), SIZE, every, (bias, short_bias, *biases), (slope, offset))
