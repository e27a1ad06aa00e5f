"""How far the relevance of what is found moves when a thousand unrelated texts are added."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from bench.retrieval.sets import build, write_fact
from memcli.index import database
from memcli.index.filters import Filter
from memcli.index.index import Index
from memcli.search.index_search import SearchRequest, search_index

ADDED = 1000
SETS = ("gbrain-pages", "locomo-obs", "madial-lastturn", "openclaw_bm-small", "qmd-files")
"""Small workspaces, in which a thousand texts more are most."""
_SYLLABLES = "ba ce di fo gu ha jel kim lon mu nar pel quo rim sta tul vex win yor zan".split()  # noqa: SIM905


def strange(count: int) -> list[str]:
    """Make up texts of words that nobody asks for."""
    random = Random(7)
    words = ["".join(random.choices(_SYLLABLES, k=random.choice((2, 3)))) for _ in range(3000)]
    return [" ".join(random.choices(words, k=random.randrange(8, 60))).capitalize() + "." for _ in range(count)]


def moved(made: Sequence[Any], folder: Path, crowds: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[float]]]:
    """Give, by set and crowd of texts, the change of the relevance of each of the first five hits of every query."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in made:
        name = one.collection.set
        if name not in SETS or name in found:
            continue
        found[name] = {}
        for title, texts in crowds.items():
            model = one.index.workspace.settings["embedding.model"]
            workspace, known = build(one.collection, folder / name / title, model)
            for number, text in enumerate(texts):
                write_fact(workspace, {"text": text}, len(known) + number)
            workspace.derived.mkdir()
            with closing(Index(workspace, *database.connect(workspace.derived))) as crowded:
                crowded.refresh()
                crowded.embedding.embed_missing(None)
                queries = one.collection.queries
                changes = [change for query in queries for change in changes_of(one.index, crowded, query.text)]
            found[name][title] = changes
    return found


def changes_of(index: Index, crowded: Index, query: str) -> list[float]:
    """Give the change of the relevance of each of the first five hits."""
    before = search_index(index, SearchRequest(query, 5, Filter())).hits
    after = {hit.path: hit.relevance for hit in search_index(crowded, SearchRequest(query, 1000, Filter())).hits}
    return [after[hit.path] - hit.relevance for hit in before if hit.path in after]
