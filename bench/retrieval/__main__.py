"""Measure how well search finds what answers a question.

Every set of a data folder becomes a real workspace (turns of conversations sessions, facts entries, pages files),
indexed and searched by mem's own code with one configuration for all. One half of each set was tuned on, the other is
held.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from bench.measures import DEPTH, RESULTS, Scores, scores
from bench.retrieval import report
from bench.retrieval.ablations import variants
from bench.retrieval.crowd import ADDED, moved, strange
from bench.retrieval.references import rankings
from bench.retrieval.same import compared
from bench.retrieval.sets import Collection, Query, build, collections, languages
from memcli.index import database, embeddings
from memcli.index.filters import Filter
from memcli.index.index import Index
from memcli.search.index_search import SearchRequest, search_index
from memcli.search.ranking_weights import WEIGHTS, Weights
from memcli.search.results import MODES, Hit

KINDS = ("entry", "memory", "history", "note", "session")
OTHERS = ("longmemeval-s20",)
"""What other people talked about, unrelated to the other sets."""
LANGUAGES = Path(__file__).parents[2] / "fixtures" / "languages.tsv"
PAGE = RESULTS / "retrieval.md"


@dataclass(frozen=True)
class Made:
    """A collection as a workspace, with its index open."""

    collection: Collection
    index: Index
    known: dict[tuple[str, int], str]  # path and line → document; line 0 for a whole file

    @property
    def texts(self) -> dict[str, str]:
        """Give what the documents say, by their ids."""
        return {document["id"]: document["text"] for document in self.collection.documents}

    def document(self, hit: Hit) -> str:
        """Name the document a hit stands for."""
        return self.known.get((hit.path, 0)) or self.known[hit.path, hit.line]


@dataclass(frozen=True)
class Answer:
    """What a query brought."""

    set: str
    name: str  # of the workspace
    query: Query
    hits: tuple[Hit, ...]
    documents: tuple[str, ...]  # of each hit
    scores: Scores


class Remembering:
    """An embedder that remembers what it has embedded, also from one run to the next."""

    def __init__(self, folder: Path | None, model: Path | None = None) -> None:
        """Open the model once for all workspaces, and what is kept in a folder; the built-in one if none is named."""
        import numpy as np

        self.folder = str(model or "")
        self._inner = embeddings.open_embedder(model, bulk=True, cache=folder)
        self.model = self._inner.model
        self.dimension = self._inner.dimension
        self._file = folder / f"{self.model}.npz" if folder else None
        self._known: dict[str, Any] = {}
        if self._file and self._file.exists():
            kept = np.load(self._file)
            self._known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> Any:
        """Give a row of length 1 for each text."""
        import numpy as np

        keys = [blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest() + "?" * is_query for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self._inner.embed(list(new.values()), is_query=is_query), strict=True))
        return np.array([self._known[key] for key in keys], np.float32).reshape(-1, self.dimension)

    def save(self) -> None:
        """Keep what was embedded."""
        import numpy as np

        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._file, keys=np.array(list(self._known)), vectors=np.array(list(self._known.values())))


def main() -> None:
    """Measure what is asked for and print it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path, help="folder of the sets")
    options.add_argument("--sets", nargs="+", default=(), metavar="NAME", help="only these")
    options.add_argument("--ablate", action="store_true", help="what each means of ranking is worth")
    options.add_argument("--model", type=Path, help="the folder of another embedding model")
    options.add_argument("--explain", metavar="WORDS", help="show the hits of the queries that hold these words")
    options.add_argument("--worst", action="store_true", help="show the ten worst questions of each set")
    options.add_argument("--same", type=int, metavar="N", help="ask N random queries of each set by the command too")
    options.add_argument("--cache", type=Path, help="folder in which embeddings are kept for the next run")
    options.add_argument("--write", action="store_true", help="write the page into bench/results")
    chosen = options.parse_args()
    started = time.monotonic()
    wanted = collections(chosen.data, tuple(chosen.sets))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        embedder = Remembering(chosen.cache, chosen.model)
        embeddings.open_embedder = lambda *_, **__: embedder  # type: ignore[assignment]
        with workspaces(wanted, folder, embedder.folder) as made:
            if chosen.explain:
                explain(made, chosen.explain)
                return
            if chosen.worst:
                texts = {
                    (one.collection.set, one.collection.name, name): text
                    for one in made
                    for name, text in one.texts.items()
                }
                print(report.worst(list(answered(made)), texts))
                return
            if chosen.same:
                print("\n".join(compared(made, chosen.same, answered)))
                return
            page = measured(made, embedder, folder, ablate=chosen.ablate)
    embedder.save()
    page += f"\nMade in {time.monotonic() - started:.0f} s.\n"
    print(page)
    if chosen.write:
        RESULTS.parent.mkdir(exist_ok=True)
        PAGE.write_text(page, encoding="utf-8")


def measured(made: Sequence[Made], embedder: Remembering, folder: Path, *, ablate: bool) -> str:
    """Ask everything and write the page."""
    say("asking")
    answers = list(answered(made))
    say("asking the references")
    theirs = {one.collection: rankings(one.collection, embedder.embed) for one in made}
    say("adding a thousand unrelated texts")
    crowds = {"strange": strange(ADDED)}
    told = [text for one in made if one.collection.set in OTHERS for text in one.texts.values()]
    if len(told) >= ADDED // 2:
        crowds["other people's"] = list(dict.fromkeys(told))[:ADDED]
    crowd = moved(made, folder / "crowd", crowds)
    parts = [report.head(answers), report.sets(answers, theirs), report.categories(answers)]
    unanswerable = list(answered(made, unanswerable=True))
    parts += [report.reliability(answers), report.certainties(answers, unanswerable), report.thresholds(answers)]
    parts.append(report.crowded(crowd))
    with workspaces([languages(LANGUAGES)], folder, embedder.folder) as spoken:
        parts.append(report.languages({mode: list(answered(spoken, mode=mode)) for mode in MODES}))
    rows = []
    if ablate:
        for one in made:
            settle(one.index)
        for name, weights, mode, changed in variants():
            say(name)
            with changed:
                rows.append((name, list(answered(made, weights, mode))))
    if rows:
        parts.append(report.ablations(answers, rows))
    return "\n".join(parts)


@contextmanager
def workspaces(wanted: Iterable[Collection], folder: Path, model: str = "") -> Iterator[list[Made]]:
    """Make the workspaces, index and embed them."""
    made = []
    for collection in wanted:
        say(f"indexing {collection.set} {collection.name}")
        workspace, known = build(collection, folder / collection.set / collection.name, model)
        workspace.derived.mkdir()
        index = Index(workspace, *database.connect(workspace.derived))
        index.refresh(talk=True)
        index.embedding.embed_missing(None)
        made.append(Made(collection, index, known))
    yield made
    for one in made:
        one.index.close()


def settle(index: Any) -> None:
    """Look at the disk no more, and remember what was read: the files stay as they are while weights change."""
    index.refresh = index.embedding.embed_missing = lambda *_, **__: 0
    index.problems = lambda *_, **__: []
    index.turns, documents = cache(index.turns), cache(index.documents)
    index.documents = lambda wanted, among=None: documents(wanted)
    postings, pieces = index.postings, index.pieces
    asked = cache(lambda terms: postings(terms))
    index.postings = lambda terms: asked(tuple(terms))
    known: dict[int, Any] = {}

    def remembered(chunks: Iterable[int]) -> dict[int, Any]:
        new = [chunk for chunk in chunks if chunk not in known]
        known.update(pieces(new) if new else {})
        return {chunk: known[chunk] for chunk in chunks}

    index.pieces = remembered


def answered(
    made: Sequence[Made], weights: Weights = WEIGHTS, mode: str = "hybrid", *, unanswerable: bool = False
) -> Iterator[Answer]:
    """Ask every query, or each of those that nothing answers."""
    for one in made:
        for query in one.collection.unanswerable if unanswerable else one.collection.queries:
            request = SearchRequest(query.text, DEPTH, Filter(kinds=KINDS), mode, weights=weights, may_mean_alone=True)
            hits = search_index(one.index, request).hits
            documents = tuple(map(one.document, hits))
            found = scores(tuple(dict.fromkeys(documents)), query.grades)
            yield Answer(one.collection.set, one.collection.name, query, hits, documents, found)


def explain(made: Sequence[Made], words: str) -> None:
    """Show the parts of the first hits of queries, and of every right document that is not among them."""
    for one in made:
        for query in one.collection.queries:
            if words.lower() not in query.text.lower():
                continue
            hits = search_index(
                one.index, SearchRequest(query.text, 1000, Filter(kinds=KINDS), may_mean_alone=True)
            ).hits
            ranks: dict[str, tuple[int, Hit]] = {}
            for hit in hits:
                ranks.setdefault(one.document(hit), (len(ranks) + 1, hit))
            print(f"\n{one.collection.set} {one.collection.name} {query.id}: {query.text[-300:]}")
            shown = [document for document, (rank, _) in ranks.items() if rank <= 5]
            for document in [*shown, *(document for document in query.grades if document not in shown)]:
                mark = "*" if document in query.grades else " "
                if document in ranks:
                    rank, hit = ranks[document]
                    parts = " + ".join(f"{value:.3f} {name}" for name, value in hit.parts.items())
                    print(f"{mark}{rank:4} {hit.relevance:.3f} = {parts}\n      {hit.summary}")
                else:
                    print(f"{mark}   – not a candidate: {one.texts[document][:160]!r}")


def say(text: str) -> None:
    """Tell how far it is."""
    print(f"{text} …", file=sys.stderr, flush=True)
