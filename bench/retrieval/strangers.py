"""Measure the times and the other names of a query, on questions of people who never saw how mem reads them.

A folder has `times.json` (groups of dated notes, with questions that name a time or only look as if) and `aliases.json`
(cases of entries with aliases, with a question each). `data/strangers` has one of each of two authors: the rules were
mended with the questions of the first in sight, those of the second are held.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.measures import mean, show
from bench.retrieval.__main__ import Answer, Remembering, answered, workspaces
from bench.retrieval.sets import Collection, Query
from memcli.index import embeddings
from memcli.language.lexicon import names_a_time
from memcli.language.periods import period_in
from memcli.search import index_search
from memcli.search.ranking_weights import WEIGHTS

AUTHORS = Path(__file__).parents[1] / "data" / "strangers"
TIME, LOOK = "a time", "looks like a time"


def main() -> None:
    """Measure what is asked for and print it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "data", type=Path, nargs="*", default=[AUTHORS / "first", AUTHORS / "second"], help="folders of questions"
    )
    options.add_argument("--lines", action="store_true", help="show each question, how it was read and where it led")
    options.add_argument("--write", action="store_true", help="write the page into bench/results")
    chosen = options.parse_args()
    embedder = Remembering(None)
    embeddings.open_embedder = lambda *_, **__: embedder  # type: ignore[assignment]
    page = []
    for author in chosen.data:
        page += [f"## {author.name.capitalize()} author", "", *_times(author / "times.json", lines=chosen.lines), ""]
        page += [*_names(author / "aliases.json", lines=chosen.lines), ""]
    show("strangers", "\n".join(page), write=chosen.write)


def _times(file: Path, *, lines: bool) -> Iterator[str]:
    data = json.loads(file.read_text(encoding="utf-8"))
    today = date.fromisoformat(data["now"])
    noon = datetime.combine(today, time(12), UTC)
    days: dict[str, date] = {}
    groups, read = [], {}
    for number, group in enumerate(data["groups"]):
        days |= {note["id"]: date.fromisoformat(note["date"]) for note in group["notes"]}
        notes = tuple(
            {"id": one["id"], "text": one["text"], "timestamp": f"{one['date']}T09:00:00Z"} for one in group["notes"]
        )
        asked = tuple(
            _query(f"g{number}-q{place}", one["text"], one["right"], TIME if one["names_time"] else LOOK)
            for place, one in enumerate(group["questions"])
        )
        read |= {one.id: _read(one, today, days) for one in asked}
        groups.append(Collection("times", f"g{number}", notes, asked, noon))
    yield "| questions that name | the time named is | questions | first is right | recall@5 | nDCG@10 |"
    yield "|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder, workspaces(groups, Path(folder)) as made:
        ways = {"a filter": list(answered(made)), "none": list(answered(made, WEIGHTS._replace(dated=0.0)))}
    for kind in (TIME, LOOK):
        for way, answers in ways.items():
            yield f"| {kind} | {way} | {_cells([one for one in answers if one.query.category == kind])} |"
    yield "\nA time is read right where it holds all that answers the question:\n"
    for kind in (TIME, LOOK):
        found = Counter(read[one.query.id] for one in ways["a filter"] if one.query.category == kind)
        yield f"* {kind}: {', '.join(f'{count} {how}' for how, count in found.most_common())}"
    if lines:
        yield from (f"{one.scores.reciprocal:.2f} {read[one.query.id]:9} {one.query.text}" for one in ways["a filter"])


def _read(query: Query, today: date, days: dict[str, date]) -> str:
    period = period_in(query.text, today) if names_a_time(query.text) else None
    if period is None:
        return "not read"
    there = ((period.near(days[one]), days[one]) for one in query.grades)
    return "right" if all(near.first <= day <= near.last for near, day in there) else "wrong"


def _names(file: Path, *, lines: bool) -> Iterator[str]:
    cases = json.loads(file.read_text(encoding="utf-8"))
    asked = [(_query(f"c{number}", one["question"], one["right"], ""),) for number, one in enumerate(cases)]
    known = [Collection("names", f"c{at}", tuple(one["entries"]), asked[at]) for at, one in enumerate(cases)]
    bare = [tuple({**entry, "aliases": []} for entry in one["entries"]) for one in cases]
    unknown = [Collection("bare", f"c{at}", documents, asked[at]) for at, documents in enumerate(bare)]
    alone: AbstractContextManager[Any] = patch.object(index_search, "with_other_names", lambda question, _: question)
    ways = {
        "aliases": (known, nullcontext()),
        "aliases, words of their entry alone": (known, alone),
        "no aliases": (unknown, nullcontext()),
    }
    yield "| entries have | cases | first is right | recall@5 | nDCG@10 |"
    yield "|---|---|---|---|---|"
    for way, (wanted, changed) in ways.items():
        with tempfile.TemporaryDirectory() as folder, workspaces(wanted, Path(folder)) as made, changed:
            answers = list(answered(made))
        yield f"| {way} | {_cells(answers)} |"
        if lines:
            yield from (f"{one.scores.reciprocal:.2f} {one.query.text}" for one in answers if one.scores.reciprocal < 1)


def _query(name: str, text: str, right: Sequence[str], kind: str) -> Query:
    return Query(name, text, dict.fromkeys(right, 1.0), kind, True)


def _cells(answers: Sequence[Answer]) -> str:
    every = [one.scores for one in answers]
    first = mean([float(one.reciprocal == 1) for one in every])
    recall, gain = mean([one.recall5 for one in every]), mean([one.ndcg10 for one in every])
    return f"{len(every)} | {first:.3f} | {recall:.3f} | {gain:.3f}"


if __name__ == "__main__":
    sys.exit(main())
