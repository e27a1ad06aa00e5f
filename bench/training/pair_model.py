"""Train the learned comparison of memories, from nothing to the data file: `python -m bench training.pair_model`.

Needs `pip install -e '.[train]'`; takes minutes on one core; the same data give the same figures to the third digit.
Thresholds and calibration come from pairs that were not trained on: every section of an author's pairs is judged by a
model that saw none of it.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np

from bench.training.pair_generator import Generator
from memcli.beliefs.pair_features import features, read_text
from memcli.beliefs.pair_model import CLASSES, FORMAT, Axes, are_turned_round, columns, default_file, is_foreign
from memcli.index.calibration import BUILT_IN, COMPARISON, measure
from memcli.index.embedder import default_model_name, open_embedder

HERE = Path(__file__).parent
GENERATED = 6600
WEIGHT = 12  # of a pair written by hand; of a generated one 1
BESIDE = 3  # of a pair of strangers
SECTION = 40  # pairs judged together where a file has no sections
FOLDS = 5
PRECISION = 0.98  # of what is merged, on pairs not trained on
TOUCHED = 0.06  # share of the distinct pairs of people, the hardest there are, that may be flagged
NEAREST, FARTHEST = 0.6, 0.3  # cosines between which texts of different sections are taken for strangers
LONG, SHORT_STEP = 70, 4  # characters of a long text, of which all are paired; of the others one in four
WRITES = 0.03  # share of texts that may be flagged with one of the strangers beside them
POOLED, LEFT = 32, 16  # components kept of the pooled vectors, and of what is left over
SETTINGS = {
    "objective": "multiclass", "num_class": len(CLASSES), "num_leaves": 15, "learning_rate": 0.08, "max_bin": 63,
    "min_data_in_leaf": 20, "bagging_fraction": 0.7, "bagging_freq": 1, "feature_fraction": 0.2, "lambda_l2": 3.0,
    "num_threads": 1, "deterministic": True, "force_row_wise": True, "seed": 0, "verbose": -1,
}  # fmt: skip
ROUNDS = 150
SEEDS = 3  # models whose scores are averaged


class Pair(NamedTuple):
    """A pair with where it comes from."""

    label: str
    old: str
    new: str
    source: str
    section: str


class Arrays(NamedTuple):
    """Features of many pairs."""

    plain: Any
    vectors: Any
    differs: Any
    foreign: Any


def main() -> None:
    """Train, write the data file and its card, print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", type=Path, help="folder of another embedding model, into which the file is written")
    options.add_argument("--out", type=Path, help="data file to write")
    chosen = options.parse_args()
    out = chosen.out or (chosen.model.expanduser() / COMPARISON if chosen.model else default_file())
    start = time.monotonic()
    embedder = open_embedder(chosen.model, bulk=True)
    written = [pair for path in sorted((HERE / "data").glob("natural-*.tsv")) for pair in read_pairs(path)]
    made = [Pair(*pair, "generated", "") for pair in Generator(1).pairs(GENERATED)]
    made += strangers(embedder, written)
    found, more = arrays(embedder, written), arrays(embedder, made)
    axes = projections(found, more)
    table, extra = project(axes, found), project(axes, more)
    labels, others = (np.array([CLASSES.index(pair.label) for pair in pairs]) for pairs in (written, made))
    scores, beside = out_of_fold(table, labels, extra, others, written, made)
    scale, shift = calibrate(scores, labels)
    chances, apart = softmax(scores * scale + shift), softmax(beside * scale + shift)
    aside = np.array([bool(pair.section) for pair in made])
    merge = merging(
        *map(np.concatenate, ((chances, apart), (labels, others[aside]), (found.differs, more.differs[aside])))
    )
    least = in_writes(apart, [pair.new for pair in made if pair.section])
    flag, flag_foreign = (max(in_pairs(chances, labels, group), least) for group in (~found.foreign, found.foreign))
    every = np.concatenate([table, extra]), np.concatenate([labels, others]), weights(written, made)
    boosters = [fit(*every, seed) for seed in range(SEEDS)]
    meta = {"format": FORMAT, "embedding": embedder.model, "merge": merge, "flag": flag, "flag_foreign": flag_foreign}
    write(out, meta, boosters, axes, (scale, shift), table.shape[1])
    report = card(written, chances, labels, found, meta, out.stat().st_size)
    out.with_suffix(".md").write_text(report, encoding="utf-8")
    print(report)
    print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)


def read_pairs(path: Path) -> list[Pair]:
    """Read label, old and new text of each line; a line that begins with # opens a section."""
    found: list[Pair] = []
    section = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if line.startswith("#"):
            section = line if number else ""
        elif line:
            label, old, new = line.split("\t")[:3]
            found.append(Pair(label, old, new, path.stem, f"{path.stem} {section or len(found) // SECTION}"))
    return found


def strangers(embedder: Any, written: Sequence[Pair]) -> list[Pair]:
    """Pair texts with their nearest ones of other sections: what a new memory mostly has for neighbours.

    Two texts of different sections about one thing lie nearer to each other than `NEAREST`, and are left out.
    """
    sections = {text: pair.section for pair in written for text in (pair.old, pair.new)}
    texts = sorted(text for text in sections if len(text) > LONG) + sorted(sections)[::SHORT_STEP]
    texts = list(dict.fromkeys(texts))
    vectors = embedder.embed(texts)
    scale = BUILT_IN if embedder.model == default_model_name() else measure(embedder)
    found = []
    for place, line in enumerate(scale.scaled(vectors @ vectors.T)):
        near = [at for at in np.argsort(-line, kind="stable")[:40] if sections[texts[at]] != sections[texts[place]]]
        near = [at for at in near if FARTHEST < line[at] < NEAREST][:3]
        joint = "{} + {}"
        found += [
            Pair(
                "distinct",
                texts[at],
                texts[place],
                "strangers",
                joint.format(sections[texts[at]], sections[texts[place]]),
            )
            for at in near
        ]
    return found


def arrays(embedder: Any, pairs: Sequence[Pair]) -> Arrays:
    """Give the features of pairs."""
    texts = sorted({text for pair in pairs for text in (pair.old, pair.new)})
    read = {}
    for start in range(0, len(texts), 512):
        part = texts[start : start + 512]
        read |= {text: read_text(tokens) for text, tokens in zip(part, embedder.embed_tokens(part)[1], strict=True)}
    rows = [features(read[pair.old], read[pair.new]) for pair in pairs]
    texts_of = [(read[pair.old], read[pair.new]) for pair in pairs]
    return Arrays(
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows], np.float32),
        np.array([are_turned_round(old, new) for old, new in texts_of]),
        np.array([is_foreign(old, new) for old, new in texts_of]),
    )


def projections(*parts: Arrays) -> dict[str, Any]:
    """Find the principal components of the pooled vectors and of what is left over."""
    vectors = np.concatenate([part.vectors for part in parts])
    axes: dict[str, Any] = {}
    for name, data, count in (
        ("pooled", vectors[:, :3].reshape(len(vectors), -1), POOLED),
        ("left", vectors[:, 3:].reshape(-1, vectors.shape[2]), LEFT),
    ):
        mean = data.mean(axis=0, dtype=np.float64)
        _, found = np.linalg.eigh(np.cov(data.T.astype(np.float64)))
        best = found[:, ::-1][:, :count]
        best *= np.sign(best[np.abs(best).argmax(axis=0), np.arange(count)])
        axes[f"mean_{name}"], axes[f"axes_{name}"] = mean.astype(np.float16), best.astype(np.float16)
    return axes


def project(axes: dict[str, Any], part: Arrays) -> Any:
    """Give the table of features."""
    pooled, left = (
        Axes(*(axes[f"{kind}_{name}"].astype(np.float32) for kind in ("mean", "axes"))) for name in ("pooled", "left")
    )
    return columns(list(zip(part.plain, part.vectors, strict=True)), pooled, left)


def weights(written: Sequence[Pair], made: Sequence[Pair]) -> Any:
    """Give the weight of each pair."""
    return np.array([WEIGHT] * len(written) + [BESIDE if pair.section else 1 for pair in made], np.float64)


def fit(table: Any, labels: Any, weight: Any, seed: int) -> Any:
    """Train the trees of a seed."""
    return lightgbm.train({**SETTINGS, "seed": seed}, lightgbm.Dataset(table, labels, weight=weight), ROUNDS)


def out_of_fold(
    table: Any, labels: Any, extra: Any, others: Any, written: Sequence[Pair], made: Sequence[Pair]
) -> tuple[Any, Any]:
    """Return the scores of each pair, and of each pair of strangers, by models that saw nothing of its sections.

    Each seed parts the sections anew: a threshold then rests less on who was judged by whom.
    """
    names = sorted({pair.section for pair in written})
    weight, generated = weights(written, []), weights([], made)
    scores, beside = np.zeros((len(table), len(CLASSES))), np.zeros((len(extra), len(CLASSES)))
    for seed in range(SEEDS):
        order = dict(zip(names, (np.random.RandomState(seed).permutation(len(names)) % FOLDS).tolist(), strict=True))
        folds = np.array([order[pair.section] for pair in written])
        sides = [{order[name] for name in pair.section.split(" + ")} if pair.section else set() for pair in made]
        apart = np.zeros_like(beside)
        for fold in range(FOLDS):
            seen, known = folds != fold, np.array([fold not in side for side in sides])
            booster = fit(
                np.concatenate([table[seen], extra[known]]),
                np.concatenate([labels[seen], others[known]]),
                np.concatenate([weight[seen], generated[known]]),
                seed,
            )
            scores[~seen] += booster.predict(table[~seen], raw_score=True) / SEEDS
            apart[~known] = booster.predict(extra[~known], raw_score=True) / SEEDS
        beside += apart
    return scores, beside[[bool(pair.section) for pair in made]]


def softmax(scores: Any) -> Any:
    """Give probabilities for scores."""
    values = np.exp(scores - scores.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)


def calibrate(scores: Any, labels: Any) -> tuple[Any, Any]:
    """Fit one scale and a shift for each class (Guo et al. 2017), by gradient descent on the likelihood."""
    scale, shift, wanted = 1.0, np.zeros(len(CLASSES)), np.eye(len(CLASSES))[labels]
    for _ in range(3000):
        off = softmax(scores * scale + shift) - wanted
        scale -= 0.1 * float((off * scores).sum(axis=1).mean())
        shift -= 0.1 * off.mean(axis=0)
    return np.array([scale]), shift - shift.mean()


def merging(chances: Any, labels: Any, differs: Any) -> float:
    """Choose from which probability "same" merges, of pairs of people and of the strangers beside them."""
    is_same = labels == CLASSES.index("same")
    order = np.argsort(-chances[:, 0], kind="stable")
    order = order[~differs[order]]
    precise = np.flatnonzero(np.cumsum(is_same[order]) / np.arange(1, len(order) + 1) >= PRECISION)
    return round(float(chances[order[precise[-1]], 0]), 4) if len(precise) else 1.0


def in_pairs(chances: Any, labels: Any, group: Any) -> float:
    """Choose from which probability anything but "distinct" is flagged: by the distinct pairs of a group of scripts."""
    touched = 1 - chances[group & (labels == CLASSES.index("distinct")), 3]
    return round(float(np.quantile(touched, 1 - TOUCHED)), 4)


def in_writes(apart: Any, texts: Sequence[str]) -> float:
    """Give the least such probability: by strangers with their probabilities, and the new text of each."""
    worst: dict[str, float] = {}
    for text, chance in zip(texts, 1 - apart[:, 3], strict=True):
        worst[text] = max(worst.get(text, 0.0), float(chance))
    return round(float(np.quantile(list(worst.values()), 1 - WRITES)), 4)


def write(
    path: Path, meta: dict[str, Any], boosters: Sequence[Any], axes: dict[str, Any], fitted: Any, columns: int
) -> None:
    """Write the trees as arrays: a leaf sends everything to itself."""
    nodes: list[tuple[int, float, int, int, float]] = []
    depth = 0

    def add(node: dict[str, Any], level: int) -> int:
        nonlocal depth
        depth, place = max(depth, level), len(nodes)
        nodes.append((0, 0.0, place, place, float(node.get("leaf_value", 0.0)) / len(boosters)))
        if "leaf_value" not in node:
            left, right = (add(node[side], level + 1) for side in ("left_child", "right_child"))
            nodes[place] = (node["split_feature"], node["threshold"], left, right, 0.0)
        return place

    trees = [tree for booster in boosters for tree in booster.dump_model()["tree_info"]]
    roots = [add(tree["tree_structure"], 0) for tree in trees]
    feature, threshold, left, right, value = zip(*nodes, strict=True)
    with path.open("wb") as file:
        np.savez(
            file,
            meta=np.frombuffer(json.dumps({**meta, "depth": depth}).encode(), np.uint8),
            columns=np.array([columns], np.int32),
            feature=np.array(feature, np.uint8),
            threshold=np.array(threshold, np.float32),
            left=np.array(left, np.uint16),
            right=np.array(right, np.uint16),
            value=np.array(value, np.float16),
            roots=np.array(roots, np.uint16),
            scale=fitted[0],
            shift=fitted[1],
            **axes,
        )


def card(written: Sequence[Pair], chances: Any, labels: Any, read: Arrays, meta: dict[str, Any], size: int) -> str:
    """Describe the file: what it is for, data, licences, figures."""
    merges = (chances[:, 0] >= meta["merge"]) & ~read.differs
    flagged = (1 - chances[:, 3] >= np.where(read.foreign, meta["flag_foreign"], meta["flag"])) & ~merges
    rows = []
    groups = {
        one: np.array([one == pair.source for pair in written]) for one in dict.fromkeys(p.source for p in written)
    }
    groups |= {"all in Latin script": ~read.foreign, "all in other scripts": read.foreign}
    for source, here in groups.items():
        same, distinct = here & (labels == 0), here & (labels == 3)
        opposed = here & ~same & ~distinct
        counts = [
            f"{merges[same].sum()} ({flagged[same].sum()} more flagged) of {same.sum()}",
            f"{flagged[opposed].sum()} (merged: {merges[opposed].sum()}) of {opposed.sum()}",
            f"{(flagged | merges)[distinct].sum()} of {distinct.sum()}",
        ]
        rows.append(f"| {source} | {' | '.join(counts)} |")
    edges = np.linspace(0, 1, 6)
    bins = np.clip(np.digitize(chances, edges) - 1, 0, 4)
    hits = np.eye(len(CLASSES))[labels]
    lines = [
        f"| {edges[b]:.1f}–{edges[b + 1]:.1f} | {(bins == b).sum()} | {chances[bins == b].mean():.2f} | "
        f"{hits[bins == b].mean():.2f} |"
        for b in range(5)
    ]
    return CARD.format(
        size=f"{size / 1000:.0f} kB", rows="\n".join(rows), bins="\n".join(lines), written=len(written),
        generated=GENERATED, rounds=ROUNDS, seeds=SEEDS, minutes=math.ceil(time.process_time() / 60), **meta,
    )  # fmt: skip


CARD = """# pair_model.npz: what a new memory is to an old one

Written by `bench/training/pair_model.py`; do not edit either file by hand. Format {format}, {size}.

**Use.** Probabilities that a new text says the same as an old one, updates it, is in conflict with it, or is distinct
from it, for short statements of memory. It belongs to the embedding model `{embedding}`
and is refused with another.
It never supersedes: "same" from {merge} confirms an entry where numbers, names, opposites and negations agree and the
script is Latin; anything but "distinct" from {flag} flags both, from {flag_foreign} in other scripts.

**Method.** {rounds} rounds of gradient boosted trees (LightGBM), the mean of {seeds} seeds, over the contextual
alignment of tokens, what is left unaligned, lists of words, and principal components of the vectors; calibrated by
temperature and shift. Training from nothing takes {minutes} minutes of one core, embedding included; twice gives the
same figures.

**Data.** {written} pairs written by hand for mem by seven authors, {generated} made by `pair_generator.py` from
`relations.toml`, and texts of these authors about different subjects that lie side by side. All are our own, under the
licence of mem (MIT); no outside text. Languages: mostly English, then Chinese, German, Japanese, French, Spanish,
Korean, Russian, Italian.

**Figures** on the pairs written by hand, each judged by a model that saw nothing of its section:

| pairs | same: merged | update or conflict: flagged | distinct: touched |
|---|---|---|---|
{rows}

| probability | cases | mean | true |
|---|---|---|---|
{bins}

**Limits.** About a quarter of updates need knowledge of the world ("the cast came off") and are missed. The embedding
model knows English best: in other Latin scripts more is missed, in other scripts nothing is merged.
"""
