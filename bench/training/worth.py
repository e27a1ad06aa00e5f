"""Train the score of what is worth remembering: `python -m bench training.worth [--write]`.

Reads the labelled sentences and conversations of `bench/training/data`, trains linear outputs by iteratively reweighted
least squares in the dual (there are far more features than sentences), chooses the calibration by conversations left
out, and writes `memcli/consolidation/worth.model`. Deterministic.
"""

import argparse
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
SENTENCES, SHORT_SENTENCES = ("utterances", "requests"), ("facts", "short")
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
    for name, messages, labels in chats("chats"):
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


def matrix(rows: Sequence[tuple[Sequence[tuple[int, float]], Sequence[float]]], size: int) -> np.ndarray:
    """Return the features of examples, (n, size + plain) float32, of their hashed places with values and plain ones."""
    found = np.zeros((len(rows), size + len(rows[0][1])), np.float32)
    for row, (hashed, plain) in zip(found, rows, strict=True):
        for place, value in hashed:
            row[place] += value
        row[size:] = plain
    return found


def described(examples: Sequence[Example]) -> np.ndarray:
    """Return the features of candidates."""
    told = [one.candidate for one in examples]
    return matrix([(hashed_features(one.text, SIZE), plain_features(one)) for one in told], SIZE)


def products(features: np.ndarray) -> np.ndarray:
    """Return the kernel of features, (n, n) float64; the bias is one more feature that is always 1."""
    return (features @ features.T).astype(np.float64) + 1.0


def fit(kernel: np.ndarray, labels: np.ndarray, strength: float) -> np.ndarray:
    """Return the dual weights of a logistic regression, (n,): Newton steps on the kernel with its bias column."""
    dual = np.zeros(len(labels))
    for _ in range(25):
        sums = kernel @ dual
        chance = 1 / (1 + np.exp(-sums))
        spread = np.maximum(chance * (1 - chance), 1e-4)
        target = sums + (labels - chance) / spread
        new = np.linalg.solve(kernel + strength * np.diag(1 / spread), target)
        if np.abs(new - dual).max() < 1e-3:
            return new
        dual = new
    return dual


def area(sums: np.ndarray, labels: np.ndarray) -> float:
    """Return the area under the receiver operating characteristic."""
    order = np.argsort(sums, kind="stable")
    ranks = np.empty(len(sums))
    ranks[order] = np.arange(1, len(sums) + 1)
    good = labels.sum()
    return float((ranks[labels == 1].sum() - good * (good + 1) / 2) / (good * (len(labels) - good)))


def left_out(kernel: np.ndarray, labels: np.ndarray, groups: np.ndarray, strength: float) -> np.ndarray:
    """Return the sums that each example gets from a model which never saw its conversation."""
    sums = np.empty(len(labels))
    for fold in range(FOLDS):
        held = groups % FOLDS == fold
        dual = fit(kernel[np.ix_(~held, ~held)], labels[~held], strength)
        sums[held] = kernel[np.ix_(held, ~held)] @ dual
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
    kernel: np.ndarray, labels: np.ndarray, groups: Sequence[str], strength: float
) -> tuple[np.ndarray, float, float]:
    """Return the probability of each example by models that never saw its group, and their calibration's line.

    Print the area, too. The line is slope and offset.
    """
    sums = left_out(kernel, labels, np.array([zlib.crc32(name.encode()) for name in groups]), strength)
    print(f"area left out {area(sums, labels):.3f}")
    slope, offset = calibration(sums, labels)
    return 1 / (1 + np.exp(-(slope * sums + offset))), slope, offset


def trained(examples: Sequence[Example], strength: float) -> tuple[np.ndarray, float, float, float]:
    """Return the weights of what to keep of examples, their bias, and the slope and offset of their calibration."""
    groups = [one.group for one in examples]
    labels = np.array([float(one.keep) for one in examples])
    features = described(examples)
    kernel = products(features)
    print(f"{len(examples)} candidates, {int(labels.sum())} to keep, {len(set(groups))} groups")
    chance, slope, offset = judged(kernel, labels, groups, strength)
    for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        told = chance >= least
        right, wrong = told[labels == 1].mean(), told[labels == 0].mean()
        print(f"at {least}: keeps {right:.2f} of what to keep, {wrong:.2f} of the rest")
    dual = fit(kernel, labels, strength)
    return features.T @ dual, float(dual.sum()), slope, offset


def kinds(examples: Sequence[Example]) -> tuple[list[np.ndarray], list[float]]:
    """Return the weights and the bias of each kind, learned from what is worth keeping and from requests for once."""
    kept = [one for one in examples if one.keep or one.kind == REQUEST]
    features = described(kept)
    kernel = products(features)
    duals = [fit(kernel, np.array([float(one.kind == kind) for one in kept]), 2 * STRENGTH) for kind in KINDS]
    return [features.T @ dual for dual in duals], [float(dual.sum()) for dual in duals]


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
