"""Measure search on kinds of talk, each also with the weights that the other kinds alone would have chosen.

What is tuned on all kinds may fit none that comes next. So for each kind the best of a grid of weights is taken on the
others, and told for the one left out: what search does on a kind it was not tuned on.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

from bench.measures import Scores, mean, show
from bench.retrieval.__main__ import Made, Remembering, answered, say, settle, workspaces
from bench.retrieval.references import NAMES, rankings
from bench.retrieval.sets import collections
from memcli.index import embeddings, file_reader
from memcli.search.ranking_weights import WEIGHTS, Weights

OURS = Path(__file__).parents[1] / "data" / "talk"
KINDS = {
    "locomo-turn": "people who write to each other",
    "beam-user": "what people tell an assistant",
    "beam-all": "people and an assistant",
    "coding": "developers and a coding agent",
    "operations": "teams that run something",
    "everyday": "friends, families, one person and an assistant",
}
_GRID: Mapping[str, Sequence[Any]] = {
    "vector_turn": (0.35, 0.45, 0.55),
    "window": ((), (0.4, 0.25, 0.15, 0.1)),
    "pieces": (0.0, -0.05),
    "speaker": (0.0, 0.06),
    "asked": (0.0, -0.03),
}
_OFF: Mapping[str, Mapping[str, Any]] = {
    "no words of the turns around": {"window": ()},
    "long turns share their words as short ones do": {"reach": 10**9},
    "a turn of many pieces is not worth less": {"pieces": 0.0},
    "no speaker in the query": {"speaker": 0.0},
    "a turn that asks answers too": {"asked": 0.0},
    "the time named is no filter": {"dated": 0.0},
    "a share of meaning of .35": {"vector_turn": 0.35},
    "a share of meaning of .55": {"vector_turn": 0.55},
}
Cells = dict[str, tuple[float, float]]
"""Recall@5 and nDCG@10 by set."""


def main() -> None:
    """Measure what is asked for and print it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path, help="folder of the sets")
    options.add_argument("--cache", type=Path, help="folder in which embeddings are kept for the next run")
    options.add_argument("--write", action="store_true", help="write the page into bench/results")
    chosen = options.parse_args()
    embedder = Remembering(chosen.cache)
    embeddings.open_embedder = lambda *_, **__: embedder  # type: ignore[assignment]
    wanted = list(chain(collections(chosen.data, tuple(KINDS)), collections(OURS)))
    with tempfile.TemporaryDirectory() as folder, workspaces(wanted, Path(folder) / "made") as made:
        references: dict[str, dict[str, list[Scores]]] = defaultdict(lambda: defaultdict(list))
        for one in made:
            for name, found in rankings(one.collection, embedder.embed).items():
                references[one.collection.set][name] += found.values()
            settle(one.index)
        tried = {}
        for weights in _weights():
            say(f"weights {len(tried) + 1}")
            tried[weights] = _cells(made, weights)
        ablated = {name: _cells(made, WEIGHTS._replace(**changes)) for name, changes in _OFF.items()}
        ours = _cells(made)
        file_reader.SHORT_TURN = 0
        with workspaces(wanted, Path(folder) / "alone") as alone:
            ablated["no turn is read with the one before"] = _cells(alone)
    embedder.save()
    plain = {kind: {name: _mean(scores) for name, scores in found.items()} for kind, found in references.items()}
    show("kinds", "\n".join(_page(ours, plain, tried, ablated)), write=chosen.write)


def _weights() -> Iterator[Weights]:
    for values in product(*_GRID.values()):
        yield WEIGHTS._replace(**dict(zip(_GRID, values, strict=True)))


def _cells(made: Sequence[Made], weights: Weights = WEIGHTS) -> Cells:
    found: dict[str, list[Scores]] = defaultdict(list)
    for answer in answered(made, weights):
        found[answer.set].append(answer.scores)
    return {kind: _mean(scores) for kind, scores in found.items()}


def _mean(scores: Sequence[Scores]) -> tuple[float, float]:
    return mean([one.recall5 for one in scores]), mean([one.ndcg10 for one in scores])


def _page(ours: Cells, plain: Mapping[str, Cells], tried: Mapping[Weights, Cells], ablated: Mapping[str, Cells]) -> Any:
    yield "Cells are recall@5/nDCG@10. The plain references are BM25, one vector a turn, and the best of the"
    yield f"{len(NAMES)} of [retrieval.md](retrieval.md). Left out: the weights, of {len(tried)}, that are best on the"
    yield "other kinds by the mean of both measures. The rules themselves were chosen with all six kinds in sight:"
    yield "only a kind that is not here is wholly new to them.\n"
    yield "| kind of talk | set | BM25 | vector | best plain | mem | mem, this kind left out |"
    yield "|---|---|---|---|---|---|---|"
    for kind, told in KINDS.items():
        others = [name for name in ours if name != kind]
        best = max(tried, key=lambda weights: mean([sum(tried[weights][name]) for name in others]))
        cells = (plain[kind]["BM25"], plain[kind]["vector"], max(plain[kind].values(), key=sum), ours[kind])
        yield f"| {told} | {kind} | {' | '.join(map(_told, (*cells, tried[best][kind])))} |"
    yield "\n## What each rule is worth, by kind\n\nThe change of the mean of both measures without it:\n"
    yield f"| without | {' | '.join(KINDS)} | mean |"
    yield f"|---|{'---|' * (len(KINDS) + 1)}"
    for name, cells in ablated.items():
        changes = [(sum(cells[kind]) - sum(ours[kind])) / 2 for kind in KINDS]
        yield f"| {name} | {' | '.join(f'{change:+.3f}' for change in (*changes, mean(changes)))} |"


def _told(cell: tuple[float, float]) -> str:
    return f"{cell[0]:.3f}/{cell[1]:.3f}"


if __name__ == "__main__":
    sys.exit(main())
