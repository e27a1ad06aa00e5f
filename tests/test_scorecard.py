"""The scorecard: what tools are asked and how it is judged, on mem itself and on a tool that is scripted here."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.retrieval.sets import Collection, Query
from bench.scorecard import programs, tools
from bench.scorecard.page import page
from bench.scorecard.place import Broken, Place
from bench.scorecard.questions import retrieved, sample
from bench.scorecard.trials import crowded, edited, killed

SCRIPT = """
import shutil
from pathlib import Path
def ask(query):
    if query == "die":
        os._exit(3)
    print("noise of a library")
    words = set(query.split())
    files = sorted(Path(here.notes).rglob("*.md"), key=lambda file: -len(words & set(file.read_text().split())))
    return [[os.path.relpath(file, here.root), 0, file.read_text()] for file in files]
def index(_):
    shutil.copytree(here.notes, "kept")
def write(text):
    Path(here.notes, f"{os.getpid()}.md").write_text(text)
"""
SCRIPTED = tools.Tool(
    name="scripted",
    pip=("scripted==1",),
    told="words",
    search=("{python}", "-c", "pass"),
    library=programs.program(SCRIPT),
    write=("{python}", "-c", "{library}", "{here}", "{text}"),
)
MEM = tools.TOOLS[0]


@pytest.fixture
def places(tmp_path: Path) -> Any:
    """Make a place for a tool, whose environment is the one that the tests run in."""
    (tmp_path / "tools").mkdir()

    def make(tool: tools.Tool) -> Place:
        environment = tmp_path / "tools" / (tool.folder or tool.name)
        environment.symlink_to(sys.prefix)
        return Place(tool, tmp_path / "tools", tmp_path / "work", "http://127.0.0.1:9/v1")

    return make


def test_a_tool_is_asked_by_its_library_and_judged_by_the_labels(places: Any) -> None:
    documents = ({"id": "d1", "text": "The cat is grey."}, {"id": "d2", "text": "The dog sleeps."})
    asked = Collection("set", "one", documents, (Query("q1", "which dog sleeps.", {"d2": 1.0}, "", True),))
    (line,) = retrieved(asked, places(SCRIPTED))
    assert (line["question"], line["ranked"]) == ("q1", ["d2", "d1"])
    assert (line["recall@5"], line["nDCG@10"]) == (1.0, 1.0)


def test_a_library_that_ends_is_told(places: Any) -> None:
    place = places(SCRIPTED)
    with place.asking() as program, pytest.raises(Broken, match="scripted: its library ended with 3"):
        program.ask("die")


def test_writers_that_fail_are_counted(places: Any) -> None:
    assert [(line["failed"], line["on disk"], line["found"]) for line in crowded(places(SCRIPTED), 3)] == [
        (False, True, True)
    ] * 3


def test_writers_that_wrote_nothing_are_counted(places: Any) -> None:
    fails = ("{python}", "-c", "raise SystemExit(75)")
    lines = list(crowded(places(replace(SCRIPTED, write=fails)), 2))
    assert [(line["exit"], line["failed"], line["on disk"], line["found"]) for line in lines] == [
        (75, True, False, False)
    ] * 2


def test_mem_sees_what_a_hand_did(places: Any) -> None:
    assert [(line["kind"], line["seen"]) for line in edited(places(MEM), 1)] == [
        ("edit", True),
        ("delete", True),
        ("add", True),
    ]


def test_a_tool_that_remembers_what_was_there_is_stale(places: Any) -> None:
    library = programs.program(SCRIPT.replace("Path(here.notes).rglob", "Path('kept').rglob"))
    lines = edited(places(replace(SCRIPTED, library=library)), 1)
    assert [line["seen"] for line in lines] == [False, False, False]


def test_mem_loses_nothing_when_it_is_killed(places: Any) -> None:
    *kills, last = killed(places(MEM), 2)
    assert [(line["torn"], line["lost"], line["found"]) for line in kills] == [(False, False, True)] * 2
    assert last["goes through"]


def test_only_questions_that_were_held_are_drawn(tmp_path: Path) -> None:
    folder = tmp_path / "qmd-files"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"id": "a.md", "text": "A"}\n')
    (folder / "queries.jsonl").write_text("".join(f'{{"id": "q{n}", "text": "?"}}\n' for n in range(10)))
    (folder / "qrels.tsv").write_text("".join(f"q{n}\ta.md\t1\n" for n in range(10)))
    one, again = (next(found for found in sample(tmp_path, 3) if found.set == "qmd-files") for _ in range(2))
    assert len(one.queries) == 3
    assert all(query.is_held for query in one.queries)
    assert again.queries == one.queries


def _asked(tool: str, *gains: float) -> list[dict[str, Any]]:
    asked = {"tool": tool, "test": "retrieval", "set": "coding", "workspace": "chat02", "commit": "c0ffee1"}
    return [{**asked, "question": f"q{at}", "recall@5": gain, "nDCG@10": gain} for at, gain in enumerate(gains)]


def test_the_page_says_where_mem_is_not_first_and_what_broke() -> None:
    lines = [*_asked("mem", 0.5, 0.5), *_asked("memweave", 0.75, 0.85), *_asked("memsearch", 1.0)]
    lines += [{"tool": "mem", "test": "facts", "first": first, "stale": False} for first in (True, False)]
    lines += [{"tool": "memsearch", "test": "facts", "first": False, "stale": True}] * 2
    lines += [{"tool": "memweave", "test": test, "broken": "it said\nno"} for test in ("facts", "retrieval")]
    told = page(lines)
    assert (
        "| developers and a coding agent | coding | 2 | 0.500/0.500 | – | – | **0.800/0.800** | – | -0.300 ± 0.0"
        in told
    )
    assert "- coding, mem: memweave by 0.300 nDCG@10, more than two standard errors" in told
    assert "the first hit tells the current value | **1 of 2** | 0 of 2 | – | – |" in told
    assert "- memweave, facts: `it said no`" in told
    assert "| mem | this source, c0ffee1 (retrieval) |" in told


def test_an_empty_page_names_the_tools_and_how_they_are_installed() -> None:
    told = page([])
    assert "| memsearch | memsearch==0.4.23 |" in told
    assert "qmd" in told
    assert "Nowhere." in told
