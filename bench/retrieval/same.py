"""Whether the command line gives what is measured here: random queries of each set, asked both ways."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from bench.measures import DEPTH
from memcli.formats.ids import stamp
from memcli.store.workspace import Workspace

if TYPE_CHECKING:
    from bench.retrieval.__main__ import Answer, Made


def compared(
    made: "Sequence[Made]", count: int, answered: "Callable[[Sequence[Made]], Iterable[Answer]]"
) -> Iterator[str]:
    """Say of each set for how many of its queries, drawn by chance, `mem search` gives the ids measured here."""
    draw = random.Random(1)
    for name, inside in groupby(made, key=lambda one: one.collection.set):
        queries = [(one, query) for one in inside for query in one.collection.queries]
        drawn = draw.sample(queries, min(count, len(queries)))
        others = []
        for one, query in drawn:
            (answer,) = answered([replace(one, collection=replace(one.collection, queries=(query,)))])
            if [hit.id for hit in answer.hits] != told(one.index.workspace, query.text):
                others.append(query.id)
        same = f"{name}: the same ids in the same order for {len(drawn) - len(others)} of {len(drawn)} queries"
        yield f"{same}; not for {', '.join(others)}" if others else same


def told(workspace: Workspace, text: str) -> list[str]:
    """Give the ids that the command line prints for a query, in their order."""
    words = ["search", "--json", "--kind", "all", "--min-score", "0", "-n", str(DEPTH), "--workspace", workspace.root]
    home = {"HOME": str(workspace.root), "XDG_CACHE_HOME": str(workspace.root.parent / "cache")}
    ran = subprocess.run(
        [sys.executable, "-m", "memcli", *words, "--", text],
        env={**os.environ, **home, "MEM_NOW": stamp(workspace.now)},
        capture_output=True,
        check=False,
    )
    found = json.loads(ran.stdout)
    return [hit["id"] for hit in found["hits"]]
