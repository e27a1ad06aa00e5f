"""Any query gets an answer, and what is called by its name is first."""

import os
import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.index import embeddings
from memcli.index.filters import Filter
from memcli.index.index import ask
from memcli.search.index_search import SearchRequest, search_index
from memcli.store.workspace import Surroundings, opened
from tests.conftest import Mem
from tests.fakes import CountingEmbedder
from tests.sample import sampled
from tests.tables import cases

Hit = dict[str, object]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Path:
    """Give a copy of a year of somebody's memories."""
    return Path(shutil.copytree(indexed, tmp_path_factory.mktemp("relevance") / "memory"))


@pytest.fixture
def year(place: Path, monkeypatch: pytest.MonkeyPatch, trusted: Callable[[Path], Path]) -> Path:
    """Stand in it: what is changed of it stays."""
    monkeypatch.chdir(trusted(place))
    return place


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
    shown = hits(mem, "quantum chromodynamics lattice", "--kind", "entry")
    every = hits(mem, "quantum chromodynamics lattice", "--kind", "entry", "--min-score", "0")
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


QUERIES = [
    *("a", "?", "é", "\u0301", "…", "---", "()", "''", '"', '""', '"quagga', 'quagga"', "*", "quagga*", "^quagga"),
    *(
        "AND",
        "OR NOT",
        "quagga AND",
        "NEAR(",
        "NEAR(quagga okapi, 5)",
        "NOT quagga",
        "-quagga",
        "body:quagga",
        "{a b}:c",
    ),
    *(
        "title : quagga",
        "quagga + okapi",
        "(quagga",
        "quagga)",
        "quagga; drop table chunks",
        "' or 1=1 --",
        "%",
        "_",
        "\\",
    ),
    *(
        "\x00",
        "quagga\x00okapi",
        "\ufeff",
        "\u202equagga",
        "\ud800",
        "quagga \udcff",
        "😀",
        "👩‍👩‍👧",
        "\n\nquagga\n",
        "\x1b[31m",
    ),
    *("深色", "色", "用户喜欢深色主题", "ア", "กขค", "한국어", "مرحبا", "quagga深色"),
    *(
        "mem_01kajd3v7m4kq7tz",
        "4kq7tz",
        "entries/zoo.md",
        "entries/zoo.md:7",
        "MEMORY.md#memory",
        "2026-11-21",
        "12",
        "E1042",
    ),
    *(
        "the of and",
        "what is it",
        "A" * 5000,
        "quagga " * 3000,
        "q" * 100_000,
        " ".join(f"w{n}" for n in range(15_000)),
    ),
    *(
        "--help",
        "-n",
        "[]",
        "{}",
        "null",
        "quagga?",
        "QUAGGA!!!",
        "quagga/okapi",
        "quagga\tokapi",
        "<script>",
        "${HOME}",
    ),
]


@pytest.fixture
def zoo(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep a few memories in several scripts, with an embedder that costs nothing."""
    embedder = CountingEmbedder()
    monkeypatch.setattr(embeddings, "open_embedder", lambda *args, **options: embedder)
    monkeypatch.setattr(embeddings, "built_in_name", lambda: embedder.model)
    (workspace / "entries").mkdir()
    (workspace / "entries" / "zoo.md").write_text(
        "---\nid: mem_01kajd3v7m4kq7tz\ntitle: Zoo\n---\n\nThe quagga sleeps.\nError E1042 on 2026-11-21.\n"
    )
    (workspace / "entries" / "theme.md").write_text("用户喜欢深色主题。\n")
    (workspace / "entries" / "odd.md").write_text('NEAR( "quotes" AND * 😀 100% under_score C:\\path\n')
    return workspace


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
def test_any_query_gets_an_answer(mem: Mem, zoo: Path, mode: str) -> None:
    for query in QUERIES:
        ran = mem("search", "--mode", mode, "--min-score", "0", "--json", "--explain", "--", query)
        if not query.strip():
            assert (ran.code, ran.out) == (2, "")
            continue
        assert ran.code in (0, 1), query
        assert ran.err == "", query
        assert (ran.code == 0) == bool(ran.json["hits"])
        for hit in ran.json["hits"]:
            assert 0 <= hit["relevance"] <= 1
            assert abs(sum(hit["parts"].values()) - hit["relevance"]) < 0.001
            assert len(hit["summary"]) <= 160
            assert mem("read", hit["id"]).code == 0


def test_any_pattern_and_any_name_get_an_answer(mem: Mem, zoo: Path) -> None:
    for query in sampled(QUERIES, 25):
        for words in (("grep", "-F"), ("grep",), ("grep", "-i", "-w", "-C", "1")):
            ran = mem(*words, "--", query)
            assert ran.code in (0, 1, 2), (words, query)
            assert ran.err.count("\n") == (ran.code == 2), (words, query)
        for words in (("read",), ("ls",), ("search", "quagga", "--mode", "keyword", "--path"),
                      ("ls", "--tag"), ("ls", "--type"), ("ls", "--project"), ("ls", "--path")):  # fmt: skip
            argument = (f"{words[-1]}={query}",) if words[-1].startswith("--") else ("--", query)
            ran = mem(*words[: -1 if words[-1].startswith("--") else None], *argument)
            assert ran.code in (0, 1, 2, 4), (words, query, ran.err)
            assert len(ran.err) < 300_000


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given((st.text(max_size=60) | st.text('"*():^-+{}ANDORNT quagga', max_size=30)).filter(lambda query: query != "-"))
def test_any_text_is_a_query(mem: Mem, zoo: Path, query: str) -> None:
    ran = mem("search", "--mode", "keyword", "--", query)
    assert ran.code in (0, 1, 2)
    assert (ran.code == 2) == (not query.strip())


def top(mem: Mem, query: str) -> str:
    ran = mem("search", query, "--mode", "keyword", "--json")
    return str(ran.json["hits"][0]["path"]) if ran.json["hits"] else ""


@cases("query", "path")
def test_words_and_parts_of_words_are_found(mem: Mem, zoo: Path, query: str, path: str) -> None:
    assert top(mem, query) == path


def test_a_query_comes_from_standard_input(mem: Mem, zoo: Path) -> None:
    assert mem("search", "-", "--mode", "keyword", stdin="quagga\n").rows[0][4] == "memory/entries/zoo.md:6"
    assert mem("search", "-", stdin=b"\xff").code == 2
    assert mem("search", "-", stdin=b"").code == 2
