"""Train the learned comparison of memories, from nothing to the data file: `python -m bench training.pair_model`.

Needs `pip install -e '.[train]'`; takes minutes on one core; the same data give the same figures to the third digit.
The calibration comes from pairs that were not trained on: every section of an author's pairs is judged by a model that
saw none of it.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np

from bench.training.pair_generator import Generator
from memcli.beliefs.pair_model import FORMAT, ReadText, default_file, features, is_never, read_text
from memcli.beliefs.settlement import REPEAT
from memcli.index.embedder import open_embedder
from memcli.index.embedding_model import BUILT_IN_COSINES

HERE = Path(__file__).parent
GENERATED = 6600
WEIGHT = 12  # of a pair written by hand; of a generated one 1
BESIDE = 3  # of a pair of strangers
AGAINST = 4  # times that of an update or a conflict: it looks most like a repeat
SECTION = 40  # pairs judged together where a file has no sections
FOLDS = 5
NEAREST, FARTHEST = 0.6, 0.3  # cosines between which texts of different sections are taken for strangers
LONG, SHORT_STEP = 70, 4  # characters of a long text, of which all are paired; of the others one in four
SETTINGS = {
    "objective": "binary", "num_leaves": 8, "learning_rate": 0.06, "max_bin": 63, "min_data_in_leaf": 20,
    "bagging_fraction": 0.7, "bagging_freq": 1, "feature_fraction": 0.3, "lambda_l2": 3.0,
    "num_threads": 1, "deterministic": True, "force_row_wise": True, "verbose": -1,
}  # fmt: skip
ROUNDS = 300
SEEDS = 3  # models whose scores are averaged
KINDS = ("same", "update", "conflict", "distinct")


class Pair(NamedTuple):
    """A pair with where it comes from."""

    label: str
    old: str
    new: str
    source: str
    section: str


def main() -> None:
    """Train, write the data file and its card, print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, default=default_file(), help="data file to write")
    out = options.parse_args().out
    start = time.monotonic()
    embedder = open_embedder(None, bulk=True)
    written = [pair for path in sorted((HERE / "data").glob("natural-*.tsv")) for pair in read_pairs(path)]
    made = [Pair(*pair, "generated", "") for pair in Generator(1).pairs(GENERATED)] + strangers(embedder, written)
    texts = read_texts(embedder, [*written, *made])
    table, extra = (rows(texts, pairs) for pairs in (written, made))
    scores = out_of_fold(table, extra, written, made)
    scale, shift = calibrate(scores, labels(written))
    left_out = np.array([is_never(texts[pair.old], texts[pair.new]) for pair in written])
    chances = np.where(left_out, 0.0, 1 / (1 + np.exp(-(scores * scale + shift))))
    every = np.concatenate([table, extra]), labels([*written, *made]), weights([*written, *made])
    meta = {
        "format": FORMAT, "embedding": embedder.model, "columns": table.shape[1], "scale": scale, "shift": shift
    }  # fmt: skip
    write(out, meta, [fit(*every, seed) for seed in range(SEEDS)])
    report = card(written, chances, embedder.model, out.stat().st_size)
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
    found = []
    for place, line in enumerate(BUILT_IN_COSINES.scaled(vectors @ vectors.T)):
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


def read_texts(embedder: Any, pairs: Sequence[Pair]) -> dict[str, ReadText]:
    """Read all texts of some pairs."""
    texts = sorted({text for pair in pairs for text in (pair.old, pair.new)})
    read = {}
    for start in range(0, len(texts), 512):
        part = texts[start : start + 512]
        read |= {text: read_text(tokens) for text, tokens in zip(part, embedder.embed_tokens(part)[1], strict=True)}
    return read


def rows(texts: Mapping[str, ReadText], pairs: Sequence[Pair]) -> Any:
    """Give the features of pairs."""
    return np.array([features(texts[pair.old], texts[pair.new]) for pair in pairs])


def labels(pairs: Sequence[Pair]) -> Any:
    """Give 1 for each pair that says the same, else 0."""
    return np.array([pair.label == "same" for pair in pairs], np.float64)


def weights(pairs: Sequence[Pair]) -> Any:
    """Give the weight of each pair."""
    return np.array([_weight(pair) for pair in pairs], np.float64)


def _weight(pair: Pair) -> int:
    where = {"generated": 1, "strangers": BESIDE}.get(pair.source, WEIGHT)
    return where * (AGAINST if pair.label in ("update", "conflict") else 1)


def fit(table: Any, wanted: Any, weight: Any, seed: int) -> Any:
    """Train the trees of a seed."""
    return lightgbm.train({**SETTINGS, "seed": seed}, lightgbm.Dataset(table, wanted, weight=weight), ROUNDS)


def out_of_fold(table: Any, extra: Any, written: Sequence[Pair], made: Sequence[Pair]) -> Any:
    """Return the score of each pair by models that saw nothing of its section.

    Each seed parts the sections anew: a figure then rests less on who was judged by whom.
    """
    names = sorted({pair.section for pair in written})
    scores = np.zeros(len(table))
    for seed in range(SEEDS):
        order = dict(zip(names, (np.random.RandomState(seed).permutation(len(names)) % FOLDS).tolist(), strict=True))
        folds = np.array([order[pair.section] for pair in written])
        sides = [{order[name] for name in pair.section.split(" + ")} if pair.section else set() for pair in made]
        for fold in range(FOLDS):
            seen = folds != fold
            known = np.array([fold not in side for side in sides])
            pairs = [pair for pair, is_seen in zip((*written, *made), (*seen, *known), strict=True) if is_seen]
            booster = fit(np.concatenate([table[seen], extra[known]]), labels(pairs), weights(pairs), seed)
            scores[~seen] += booster.predict(table[~seen], raw_score=True) / SEEDS
    return scores


def calibrate(scores: Any, wanted: Any) -> tuple[float, float]:
    """Fit a scale and a shift (Platt 1999), by gradient descent on the likelihood."""
    scale, shift = 1.0, 0.0
    for _ in range(3000):
        off = 1 / (1 + np.exp(-(scores * scale + shift))) - wanted
        scale, shift = scale - 0.1 * float((off * scores).mean()), shift - 0.1 * float(off.mean())
    return scale, shift


def write(path: Path, meta: dict[str, Any], boosters: Sequence[Any]) -> None:
    """Write the trees as arrays: of a node that parts pairs the left one follows, a leaf's right one is itself."""
    nodes: list[tuple[int, float, int, float]] = []
    depth = 0

    def add(node: dict[str, Any], level: int) -> int:
        nonlocal depth
        depth, place = max(depth, level), len(nodes)
        nodes.append((0, 0.0, place, float(node.get("leaf_value", 0.0)) / len(boosters)))
        if "leaf_value" not in node:
            add(node["left_child"], level + 1)
            nodes[place] = (node["split_feature"], node["threshold"], add(node["right_child"], level + 1), 0.0)
        return place

    trees = [tree for booster in boosters for tree in booster.dump_model()["tree_info"]]
    roots = [add(tree["tree_structure"], 0) for tree in trees]
    feature, threshold, right, value = zip(*nodes, strict=True)
    with path.open("wb") as file:
        np.savez_compressed(
            file,
            meta=np.frombuffer(json.dumps({**meta, "depth": depth}).encode(), np.uint8),
            feature=np.array(feature, np.uint8),
            threshold=np.array(threshold, np.float32),
            right=np.array(right, np.uint16),
            value=np.array(value, np.float16),
            roots=np.array(roots, np.uint16),
        )


def card(written: Sequence[Pair], chances: Any, embedding: str, size: int) -> str:
    """Describe the file: what it is for, data, licences, figures."""
    lines = []
    for source in dict.fromkeys(pair.source for pair in written):
        counts = []
        for kind in KINDS:
            found = [chance >= REPEAT for pair, chance in zip(written, chances, strict=True)
                     if (pair.source, pair.label) == (source, kind)]  # fmt: skip
            counts.append(f"{sum(found)} of {len(found)}")
        lines.append(f"| {source} | {' | '.join(counts)} |")
    edges = np.linspace(0, 1, 6)
    bins = np.clip(np.digitize(chances, edges) - 1, 0, 4)
    wanted = labels(written)
    means = [
        f"| {edges[b]:.1f}–{edges[b + 1]:.1f} | {(bins == b).sum()} | {chances[bins == b].mean():.2f} | "
        f"{wanted[bins == b].mean():.2f} |"
        for b in range(5)
    ]
    return CARD.format(
        size=f"{size / 1000:.0f} kB", rows="\n".join(lines), bins="\n".join(means), written=len(written), format=FORMAT,
        generated=GENERATED, rounds=ROUNDS, seeds=SEEDS, minutes=math.ceil(time.process_time() / 60), repeat=REPEAT,
        embedding=embedding, kinds=" | ".join(KINDS),
    )  # fmt: skip


CARD = """# pair_model.npz: whether a new memory says the same as an old one

Written by `bench/training/pair_model.py`; do not edit either file by hand. Format {format}, {size}.

**Use.** How likely a new text says the same as an old one, for short statements of memory. It belongs to the embedding
model `{embedding}` and is refused with another. From {repeat} a text confirms an
entry, where the script is Latin; it never supersedes and flags nothing.

**Method.** {rounds} rounds of gradient boosted trees (LightGBM), the mean of {seeds} seeds, over the contextual
alignment of tokens, what is left unaligned, and lists of words; calibrated by scale and shift. Training from nothing
takes {minutes} minutes of one core, embedding included; twice gives the same figures.

**Data.** {written} pairs written by hand for mem by seven authors, {generated} made by `pair_generator.py` from
`relations.toml`, and texts of these authors about different subjects that lie side by side. All are our own, under the
licence of mem (MIT); no outside text. Languages: mostly English, then Chinese, German, Japanese, French, Spanish,
Korean, Russian, Italian.

**Figures**: how many of the pairs written by hand confirm, each judged by a model that saw nothing of its section:

| pairs | {kinds} |
|---|---|---|---|---|
{rows}

| probability | cases | mean | true |
|---|---|---|---|
{bins}

**Limits.** The embedding model knows English best: in other Latin scripts more is missed, in other scripts nothing
confirms.
"""


if __name__ == "__main__":
    main()
