"""What commands print on the fixture workspace, kept as snapshots."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Mem


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls", "--type", "preference", "-n", "8"),
        ("ls", "--tag", "hdrpop", "--type", "lesson", "--sort", "created"),
        ("ls", "projects"),
        ("ls", "--status", "superseded", "--since", "2026-09"),
        ("ls", "--since", "2026-11-18"),
        ("grep", "-w", "-F", "E2007", "--kind", "entry"),
        ("grep", "-i", "kyoto", "-l"),
        ("grep", "-c", "Lisbon|Lisboa"),
        ("grep", "-F", "京都"),
        ("read", "mem_01kh5zpjgkbz6vpb"),
        ("read", "MEMORY.md#people"),
        ("read", "notes/2026-11-20.md", "--lines", "1:2"),
        ("search", "E1042", "--mode", "keyword", "-n", "3"),
    ],
    ids=" ".join,
)
def test_a_pipe_gets_plain_lines(mem: Mem, year: Path, arguments: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    ran = mem(*arguments)
    assert ran.code == 0, ran.err
    assert ran.out.replace(str(year), "YEAR") == snapshot


def test_a_question_without_a_common_word_finds_the_answer_by_meaning_alone(mem: Mem, year: Path) -> None:
    found = mem("search", "how bright should screens be", "--type", "preference", "--explain", "--json").json["hits"]
    best = found[0]
    assert best["id"] == "mem_01kh5zpjgkbz6vpb"
    assert best["parts"]["keyword"] == 0
    assert best["parts"]["vector"] > 0


def test_the_theme_question_finds_the_dark_mode_first(mem: Mem, year: Path) -> None:
    hits = mem("search", "what editor theme does the user like", "--json").json["hits"]
    assert hits[0]["id"] == "mem_01kh5zpjgkbz6vpb"
    assert all(0 <= hit["relevance"] <= 1 for hit in hits)


def test_problems_are_listed_in_json_and_told_where_they_are_asked_for(mem: Mem, year: Path) -> None:
    ran = mem("ls", "--json")
    problems = {(problem["path"], problem["line"]) for problem in ran.json["problems"]}
    assert problems == {
        ("entries/inbox/broken-title-8bc09v.md", 4),
        ("entries/inbox/broken-list-07hdwc.md", 4),
        ("entries/inbox/broken-fence-kntwx3.md", 1),
    }
    assert ran.err == ""
    ran = mem("index", "--status")
    assert ran.code == 3
    assert ran.err.count("entries/inbox/broken-") == 3
