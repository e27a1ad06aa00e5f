"""The page of the retrieval bench: tables of what was measured."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bench.measures import Scores, mean, paired_error
from bench.retrieval.references import NAMES
from memcli.search.query import CERTAINTIES, certainty

PUBLISHED: Mapping[str, tuple[tuple[float, float], ...]] = {
    "gbrain-pages": ((0.943, 0.887), (0.902, 0.910), (0.934, 0.947), (0.937, 0.913), (0.944, 0.949)),
    "locomo-obs": ((0.640, 0.592), (0.577, 0.521), (0.677, 0.635), (0.617, 0.590), (0.697, 0.658)),
    "locomo-session": ((0.857, 0.782), (0.738, 0.660), (0.836, 0.766), (0.840, 0.761), (0.893, 0.828)),
    "locomo-turn": ((0.506, 0.451), (0.360, 0.299), (0.528, 0.452), (0.480, 0.406), (0.596, 0.538)),
    "longmemeval-s20": ((0.900, 0.882), (0.750, 0.777), (0.900, 0.868), (0.900, 0.832), (0.900, 0.918)),
    "madial-dialogue": ((0.420, 0.434), (0.574, 0.579), (0.617, 0.610), (0.569, 0.570), (0.555, 0.578)),
    "madial-lastturn": ((0.369, 0.363), (0.531, 0.539), (0.517, 0.520), (0.486, 0.484), (0.489, 0.479)),
    "openclaw_bm-medium": ((0.552, 0.497), (0.434, 0.485), (0.620, 0.581), (0.650, 0.579), (0.743, 0.636)),
    "openclaw_bm-small": ((0.854, 0.744), (0.822, 0.704), (0.905, 0.765), (0.935, 0.776), (0.908, 0.828)),
    "qmd-files": ((1.0, 0.970), (1.0, 0.965), (1.0, 0.972), (1.0, 0.985), (1.0, 0.985)),
}
"""What others measured with bm25s and the same model in the same five ways: recall@5 and nDCG@10."""
TARGETS: Mapping[str, tuple[float, float]] = {
    "gbrain-pages": (0.95, 0.955),
    "locomo-obs": (0.73, 0.68),
    "locomo-session": (0.91, 0.84),
    "locomo-turn": (0.68, 0.59),
    "longmemeval-s20": (0.92, 0.92),
    "madial-dialogue": (0.63, 0.63),
    "madial-lastturn": (0.55, 0.55),
    "openclaw_bm-medium": (0.76, 0.66),
    "openclaw_bm-small": (0.94, 0.84),
    "qmd-files": (1.0, 0.985),
}
_NOTED = 0.0015  # a difference below this is not worth a word
_WORST, _SHOWN = 10, 200  # questions of a set, and characters of a text


def head(answers: Sequence[Any]) -> str:
    """Say what is measured and the mean over the sets."""
    tuned, held = (mean([_both(part) for part in _by_set(answers, half).values()]) for half in (False, True))
    return (
        "# Retrieval, measured\n\n"
        "`python -m bench retrieval DATA --ablate --write` made this page: every set is a real workspace, indexed and\n"
        "searched by mem's own code, one configuration for all. Cells are recall@5/nDCG@10 unless said. Tuned on\n"
        "conversations 26 and 30 of LoCoMo and on every other query elsewhere; held is the rest.\n\n"
        f"Mean of recall@5 and nDCG@10 over the sets: tuned {tuned:.3f}, held {held:.3f}.\n"
    )


def sets(answers: Sequence[Any], theirs: Mapping[Any, Mapping[str, Mapping[str, Scores]]]) -> str:
    """Compare every set with its target and with the best reference, by paired bootstrap."""
    lines = [
        "## By set\n",
        "| set (queries) | tuned | held | whole | recall@10 | MRR | target | best reference | difference ± its error |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    references: dict[str, dict[str, dict[tuple[str, str], Scores]]] = defaultdict(lambda: defaultdict(dict))
    for collection, found in theirs.items():
        for name, by_query in found.items():
            for query, one in by_query.items():
                references[collection.set][name][collection.name, query] = one
    halves = [_by_set(answers, half) for half in (False, True, None)]
    for name, part in halves[2].items():
        cells = [_cell([one.scores for one in half.get(name, [])]) for half in halves]
        ours = [one.scores for one in part]
        known = {way: list(found.values()) for way, found in references[name].items()}
        # The queries come in the same order from both.
        best = max(known, key=lambda way: mean([one.recall5 + one.ndcg10 for one in known[way]]))
        differences = [
            f"{mean(mine) - mean(other):+.3f} ± {paired_error(mine, other):.3f}"
            for mine, other in (
                ([one.recall5 for one in ours], [one.recall5 for one in known[best]]),
                ([one.ndcg10 for one in ours], [one.ndcg10 for one in known[best]]),
            )
        ]
        target = "{:g}/{:g}".format(*TARGETS[name]) if name in TARGETS else ""
        lines.append(
            f"| {name} ({len(part)}) | {' | '.join(cells)} | {mean([one.recall10 for one in ours]):.3f}"
            f" | {mean([one.reciprocal for one in ours]):.3f} | {target} | {best}: {_cell(known[best])}"
            f" | {', '.join(differences)} |"
        )
    lines += ["", "The references, made here and (in brackets) as others measured them with bm25s:\n"]
    lines += [f"| set | {' | '.join(NAMES)} |", "|---|" + "---|" * len(NAMES)]
    for name in halves[2]:
        published = PUBLISHED.get(name, ())
        cells = [_cell(list(references[name][way].values())) for way in NAMES]
        told = [f" ({r:.3f}/{n:.3f})" for r, n in published] or [""] * len(cells)
        lines.append(f"| {name} | {' | '.join(a + b for a, b in zip(cells, told, strict=True))} |")
    return "\n".join(lines) + "\n"


def categories(answers: Sequence[Any]) -> str:
    """Split the sets by the kind of question."""
    lines = ["## By kind of question\n", "| set | kind (queries): recall@5/nDCG@10 |", "|---|---|"]
    for name, part in _by_set(answers, None).items():
        kinds: dict[str, list[Scores]] = defaultdict(list)
        for one in part:
            kinds[one.query.category].append(one.scores)
        if len(kinds) > 1:
            cells = [f"{kind or 'other'} ({len(found)}): {_cell(found)}" for kind, found in sorted(kinds.items())]
            lines.append(f"| {name} | {' · '.join(cells)} |")
    return "\n".join(lines) + "\n"


def worst(answers: Sequence[Any], texts: Mapping[tuple[str, str, str], str]) -> str:
    """Show the ten questions of each set that lose most nDCG@10: what came first, and what answers them.

    `texts` has the documents by the set, the workspace and their ids.
    """
    lines = []
    for name, part in _by_set(answers, None).items():
        least = sorted((one for one in part if one.scores.ndcg10 < 1), key=lambda one: one.scores.ndcg10)[:_WORST]
        lines.append(f"\n## {name}")
        for one in least:
            lines.append(f"\n{one.query.id}: {_cell([one.scores])} {' '.join(one.query.text[-_SHOWN:].split())}")
            ranks: dict[str, int] = {}
            for document in one.documents:
                ranks.setdefault(document, len(ranks) + 1)
            shown = [*list(ranks)[:3], *(document for document in one.query.grades if ranks.get(document, 9) > 3)]
            for document in shown:
                mark = "*" if document in one.query.grades else " "
                text = " ".join(texts[name, one.name, document].split())[:_SHOWN]
                lines.append(f" {mark}{ranks.get(document, '–'):>3} {document}: {text}")
    return "\n".join(lines)


def reliability(answers: Sequence[Any]) -> str:
    """Say how many of the hits shown with a relevance are right."""
    lines = ["## What a relevance means\n", "Of the first five hits shown with such a relevance, so many were right:\n"]
    edges = [step / 10 for step in range(11)]
    lines += ["| half | " + " | ".join(f"{low:.1f}–{low + 0.1:.1f}" for low in edges[:-1]) + " | error |"]
    lines += ["|---|" + "---|" * len(edges)]
    for title, half in (("tuned", False), ("held", True)):
        shown = [pair for one in answers if one.query.is_held is half for pair in _judged(one)]
        cells, error = [], 0.0
        for low in edges[:-1]:
            inside = [(r, right) for r, right in shown if low <= r < low + 0.1 or (low == 0.9 and r >= 1)]
            cells.append(f"{mean([right for _, right in inside]):.2f} ({len(inside)})" if inside else "–")
            error += abs(sum(right - r for r, right in inside))
        lines.append(f"| {title} | {' | '.join(cells)} | {error / max(len(shown), 1):.3f} |")
    lines.append("\nThe error is the mean distance of relevance and share, weighted by the hits.")
    return "\n".join(lines) + "\n"


def certainties(answers: Sequence[Any], unanswerable: Sequence[Any]) -> str:
    """Say how many of the hits are right that a terminal calls clear, likely, possible or weak.

    And what the first hit is called where nothing answers: of questions that are `unanswerable`, and of all others
    where what answers them is taken out of the hits.
    """
    lines = ["## What a word for a relevance means\n", "Of the first five hits so called, so many were right:\n"]
    lines += [f"| which | {' | '.join(CERTAINTIES)} |", f"|---|{'---|' * len(CERTAINTIES)}"]
    judged: dict[tuple[str, str], list[float]] = defaultdict(list)
    for answer in answers:
        kind = _kind(answer)
        for number, (word, right) in enumerate(_words(kind, _judged(answer))):
            judged["others" if number else f"the first, of {kind}", word].append(right)
    for title in ("the first, of texts", "the first, of talk", "others"):
        cells = [judged[title, word] for word in CERTAINTIES]
        lines.append(f"| {title} | {' | '.join(f'{mean(one):.2f} ({len(one)})' if one else '–' for one in cells)} |")
    lines += ["", "Where nothing answers, the first hit is called, of so many questions:\n"]
    lines += [f"| questions | {' | '.join(CERTAINTIES)} |", f"|---|{'---|' * len(CERTAINTIES)}"]
    first: dict[str, list[str]] = defaultdict(list)
    for answer in answers:
        wrong = [pair for pair in _ranked(answer) if not pair[1]]
        first[f"to {_kind(answer)}, without what answers them"] += [
            word for word, _ in _words(_kind(answer), wrong)[:1]
        ] or [""]
    for answer in unanswerable:
        first[f"to {_kind(answer)}, {answer.query.category}"] += [
            word for word, _ in _words(_kind(answer), _ranked(answer))[:1]
        ] or [""]
    for title, words in first.items():
        cells = [f"{words.count(word) / len(words):.2f}" for word in CERTAINTIES]
        lines.append(f"| {title} ({len(words)}) | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _kind(answer: Any) -> str:
    return "talk" if answer.hits and answer.hits[0].kind == "session" else "texts"


def _words(kind: str, pairs: Sequence[tuple[float, float]]) -> list[tuple[str, float]]:
    """Give what each hit is called and whether it is right, of pairs of relevance and rightness."""
    best, following = (*(relevance for relevance, _ in pairs[:2]), 0.0, 0.0)[:2]
    return [(certainty(relevance, best, following, is_turn=kind == "talk"), right) for relevance, right in pairs]


def thresholds(answers: Sequence[Any]) -> str:
    """Say what a `--min-score` keeps and what it costs."""
    lines = [
        "## What `--min-score` costs\n",
        "| at least | hits kept | right ones kept | of those kept right | queries without a hit |",
        "|---|---|---|---|---|",
    ]
    shown = [pair for one in answers for pair in _judged(one)]
    every = sum(right for _, right in shown)
    for least in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
        kept = [right for r, right in shown if r >= least]
        none = mean([float(not any(hit.relevance >= least for hit in one.hits)) for one in answers])
        lines.append(
            f"| {least:g} | {len(kept) / len(shown):.2f} | {sum(kept) / every:.2f} | {mean(kept):.2f} | {none:.3f} |"
        )
    return "\n".join(lines) + "\n"


def crowded(changes: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Say how far relevance moves when a thousand unrelated texts are added."""
    lines = [
        "## A thousand unrelated texts more\n",
        "How far the relevance of the first five hits of each query moves. Strange texts share no word with any",
        "question, other people's conversations share everyday ones, which then tell less:\n",
        "| set | texts added | mean | 95 of 100 move less than | 99 of 100 | most |",
        "|---|---|---|---|---|---|",
    ]
    for name, crowds in changes.items():
        for title, found in crowds.items():
            sizes = sorted(map(abs, found))
            most = " | ".join(f"{sizes[int(share * (len(sizes) - 1))]:.3f}" for share in (0.95, 0.99, 1))
            lines.append(f"| {name} | {title} | {mean(found):+.3f} | {most} |")
    return "\n".join(lines) + "\n"


def languages(found: Mapping[str, Sequence[Any]]) -> str:
    """Say how many questions in other languages find their memory first, and among the first five."""
    lines = [
        "## Other languages\n",
        "Questions of `fixtures/languages.tsv` that find their memory first / among the first five, all in one",
        "workspace:\n",
    ]
    kinds = list(dict.fromkeys(one.query.category for one in next(iter(found.values()))))
    count = sum(one.query.category == kinds[0] for one in next(iter(found.values())))
    lines += [f"| by | {' | '.join(f'{kind} ({count})' for kind in kinds)} |", "|---|" + "---|" * len(kinds)]
    for mode, answers in found.items():
        cells = []
        for kind in kinds:
            part = [one.scores for one in answers if one.query.category == kind]
            cells.append(f"{sum(one.reciprocal == 1 for one in part)} / {sum(one.recall5 == 1 for one in part)}")
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def ablations(answers: Sequence[Any], rows: Iterable[tuple[str, Sequence[Any]]]) -> str:
    """Say what is lost when something is taken away: recall@5 and nDCG@10 over the sets, and where it shows."""
    lines = [
        "## What each means is worth\n",
        "The mean of recall@5 and nDCG@10 over the sets, and on the sets where the change is seen:\n",
        "| change | tuned | held | where (tuned/held) |",
        "|---|---|---|---|",
    ]
    whole = [{name: _both(part) for name, part in _by_set(answers, half).items()} for half in (False, True)]
    for title, found in rows:
        these = [{name: _both(part) for name, part in _by_set(found, half).items()} for half in (False, True)]
        means = [mean(list(b.values())) - mean(list(a.values())) for a, b in zip(whole, these, strict=True)]
        changes = {name: [these[h].get(name, 0) - whole[h].get(name, 0) for h in (0, 1)] for name in whole[1]}
        told = [f"{n} {t:+.3f}/{h:+.3f}" for n, (t, h) in changes.items() if max(abs(t), abs(h)) > _NOTED]
        lines.append(f"| {title} | {means[0]:+.4f} | {means[1]:+.4f} | {', '.join(told)} |")
    return "\n".join(lines) + "\n"


def _judged(answer: Any) -> list[tuple[float, float]]:
    """Give relevance and rightness of the first five documents."""
    return _ranked(answer)[:5]


def _ranked(answer: Any) -> list[tuple[float, float]]:
    """Give relevance and rightness of each document."""
    best: dict[str, float] = {}
    for hit, document in zip(answer.hits, answer.documents, strict=True):
        best.setdefault(document, hit.relevance)
    return [(r, float(answer.query.grades.get(document, 0) > 0)) for document, r in best.items()]


def _by_set(answers: Iterable[Any], half: bool | None) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for one in answers:
        if half is None or one.query.is_held is half:
            found[one.set].append(one)
    return found


def _both(part: Sequence[Any]) -> float:
    return mean([(one.scores.recall5 + one.scores.ndcg10) / 2 for one in part])


def _cell(found: Sequence[Scores]) -> str:
    pick: Callable[[str], float] = lambda name: mean([getattr(one, name) for one in found])  # noqa: E731
    return f"{pick('recall5'):.3f}/{pick('ndcg10'):.3f}"
