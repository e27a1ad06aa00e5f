"""What a relevance says: 1 for what is called by its name, little for what is not in memory, and parts that add up."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.index.filters import Filter
from memcli.index.index import ask
from memcli.search.index_search import SearchRequest, search_index
from memcli.store.workspace import Surroundings, opened
from tests.conftest import FIXTURES, Mem
from tests.tables import cases

Hit = dict[str, object]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of a year of somebody's memories, of which the first to ask pays the index."""
    return Path(shutil.copytree(FIXTURES / "workspace", tmp_path_factory.mktemp("relevance") / "memory"))


@pytest.fixture
def year(indexed: Path, mem: Mem, monkeypatch: pytest.MonkeyPatch, trusted: Callable[[Path], Path]) -> Iterator[Path]:
    monkeypatch.chdir(trusted(indexed))
    if not (indexed / ".mem/index.db").exists():
        mem("index")
    return indexed


def hits(mem: Mem, query: str, *options: str) -> list[Hit]:
    found: list[Hit] = mem("search", "--json", "--explain", *options, "--", query).json["hits"]
    return found


@cases("query", "first")
def test_what_is_called_by_its_name_is_first_and_sure(mem: Mem, year: Path, query: str, first: str) -> None:
    found = hits(mem, query)
    assert (found[0]["id"], found[0]["relevance"]) == (first, 1)
    assert [hit["relevance"] for hit in found[1:] if hit["relevance"] == 1] == []


@cases("query", "path")
def test_code_errors_and_other_scripts_find_their_memory(mem: Mem, year: Path, query: str, path: str) -> None:
    found = hits(mem, query)
    assert path in str(found[0]["path"])
    assert float(str(found[0]["relevance"])) > 0.35


@cases("query")
def test_what_memory_does_not_hold_has_little_relevance(mem: Mem, year: Path, query: str) -> None:
    assert all(float(str(hit["relevance"])) < 0.25 for hit in hits(mem, query, "--min-score", "0"))


@pytest.mark.parametrize("query", ["👍", "7654987", "…", "ꙮ"])
def test_nothing_is_made_up_of_what_no_model_reads(mem: Mem, year: Path, query: str) -> None:
    ran = mem("search", query)
    assert (ran.code, ran.out) == (1, "")


@cases("query")
def test_the_parts_shown_add_up_to_the_relevance_shown(mem: Mem, year: Path, query: str) -> None:
    ran = mem("search", query, "--explain")
    assert ran.code == 0
    for row in ran.rows:
        relevance, _, parts = row[-1].partition(" = ")
        assert float(row[0]) == pytest.approx(float(relevance), abs=0.0051)
        assert sum(float(part.split()[0]) for part in parts.split(" + ")) == pytest.approx(float(relevance), abs=0.003)


def test_hits_below_the_default_are_told_of_not_shown(mem: Mem, year: Path) -> None:
    shown = hits(mem, "quantum chromodynamics lattice")
    every = hits(mem, "quantum chromodynamics lattice", "--min-score", "0")
    assert shown == [hit for hit in every if float(str(hit["relevance"])) >= 0.02]
    ran = mem("search", "quagga okapi xylophone", "--min-score", "0.9")
    assert ran.code == 1
    assert "--min-score 0 shows them" in ran.err


def test_queries_drawn_by_chance_bring_the_ids_that_the_ranking_function_gives(mem: Mem, year: Path) -> None:
    draw = random.Random(16)
    texts = [path.read_text().rpartition("---\n")[2].split() for path in sorted(year.glob("entries/**/*.md"))]
    queries = [" ".join(draw.sample(words, min(len(words), 5))) for words in draw.sample(texts, 20)]
    where = opened(Surroundings(year, os.environ, datetime.now(UTC)), year)
    kinds = Filter(kinds=("entry", "memory", "history", "note", "session"))
    for query in queries:
        request = SearchRequest(query, 10, kinds, may_mean_alone=True)
        results = ask(where, lambda index, request=request: search_index(index, request))  # type: ignore[misc]
        expected = [hit.id for hit in (*results.hits, *results.later)]
        found = hits(mem, query, "--kind", "all", "--min-score", "0", "-n", "10")
        assert [hit["id"] for hit in found] == expected, query
        assert expected, query
