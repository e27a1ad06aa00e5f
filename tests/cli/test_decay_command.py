"""What `mem decay` shows and does."""

from pathlib import Path

import pytest

from tests.conftest import Mem


@pytest.fixture
def aged(mem: Mem, workspace: Path) -> Path:
    """Give a workspace with one entry of long ago and four of today."""
    assert mem("write", "Staging ran on port 5432.", "--created-at", "2026-01-02").code == 0
    for number in range(4):
        assert mem("write", f"Fact number {number}.").code == 0
    return workspace


def test_a_pipe_gets_every_entry_with_its_number_and_why(mem: Mem, aged: Path) -> None:
    rows = mem("decay").rows
    assert [row[1:6] for row in rows] == [["323.8", "0", "1", "0.000", "archive"]] + [
        ["0.0", "0", "1", "1.000", "keep"]
    ] * 4
    assert rows[0][6] == "e^(-323.8/30) × (1 + ln(0 + 1)) × 1 = 0.000; below 0.1"


def test_json_has_the_numbers_and_nothing_moves(mem: Mem, aged: Path) -> None:
    document = mem("decay", "--json").json
    old = document["entries"][0]
    assert old["summary"] == "Staging ran on port 5432."
    assert (old["verdict"], old["decay_days"], old["archived"]) == ("archive", 30.0, None)
    assert old["score"] < document["threshold"]
    assert (document["applied"], document["as_of"]) == (False, "2026-11-21T20:15:03Z")
    assert not (aged / "archive").exists()


def test_as_of_shows_the_future(mem: Mem, aged: Path) -> None:
    assert {row[5] for row in mem("decay", "--as-of", "2027-11-21").rows} == {"archive"}
    assert mem("decay", "--as-of", "2025-01-01").rows[0][5] == "keep"


def test_applied_and_restored_an_entry_is_as_before(mem: Mem, aged: Path) -> None:
    (path,) = aged.glob("entries/2026-01/*.md")
    before = path.read_bytes()
    ran = mem("decay", "--apply")
    assert ran.code == 0
    assert [row[0] for row in ran.rows] == ["archived"]
    assert "port 5432" not in mem("search", "port 5432", "--mode", "keyword").out
    assert mem("restore", ran.rows[0][1]).code == 0
    assert path.read_bytes() == before


def test_what_was_restored_fades_anew_from_that_day(mem: Mem, aged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = (row[1] for row in mem("decay", "--apply").rows)
    mem("restore", old)
    (one,) = (one for one in mem("decay", "--json").json["entries"] if one["id"] == old)
    assert (one["verdict"], one["age_days"]) == ("keep", 0)
    assert "restored at 2026-11-21T20:15:03Z" in one["reason"]
    mem("read", old)
    for _ in range(2):
        assert mem("decay", "--apply").rows == []
    assert {one["id"]: one["verdict"] for one in mem("decay", "--as-of", "2027-03-01", "--json").json["entries"]}[
        old
    ] == "archive"


def test_what_had_expired_and_was_restored_stays(mem: Mem, aged: Path) -> None:
    path = (
        mem("write", "The sale ends soon", "--expires-at", "2026-11-21T20:15:03Z", "--no-dedup")
        .rows[0][2]
        .removeprefix("memory/")
    )
    mem("decay", "--apply", "--max-fraction", "1")
    before = (aged / "archive" / path).read_bytes()
    mem("restore", f"archive/{path}")
    assert (aged / path).read_bytes() == before
    assert mem("decay", "--apply", "--max-fraction", "1").rows == []


def test_reading_counts_and_pages_of_one_reading_count_once(mem: Mem, aged: Path) -> None:
    identifier = mem("ls", "-n", "1").rows[0][0]
    mem("read", identifier, "--limit", "5")
    mem("read", identifier, "--offset", "5")
    mem("read", identifier, "--json")
    mem("read", "MEMORY.md")
    counted = {one["id"]: one["accesses"] for one in mem("decay", "--json").json["entries"]}
    assert counted.pop(identifier) == 2
    assert set(counted.values()) == {0}


def test_reading_changes_no_file_until_decay_is_applied(mem: Mem, aged: Path) -> None:
    identifier, path = (mem("ls", "-n", "1").rows[0][place] for place in (0, 3))
    path = path.removeprefix("memory/")
    before = (aged / path).read_text()
    mem("read", identifier)
    assert (aged / path).read_text() == before
    assert mem("decay", "--apply").code == 0
    assert "access_count: 1\nlast_accessed_at: 2026-11-21T20:15:03Z\n---" in (aged / path).read_text()
    assert mem("read", identifier, "--json").json["fields"]["updated_at"] in before


def test_too_many_at_once_are_refused_with_the_way_to_do_it(mem: Mem, aged: Path) -> None:
    for number in range(3):
        mem("write", f"Old fact number {number}.", "--created-at", "2026-01-02")
    ran = mem("decay", "--apply")
    assert (ran.code, ran.out) == (5, "")
    assert "--max-fraction 0.5 archives them all" in ran.err
    assert len(mem("decay", "--apply", "--max-fraction", "0.5").rows) == 4


def test_a_file_that_does_not_parse_is_left_alone_and_makes_it_partly_done(mem: Mem, aged: Path) -> None:
    broken = aged / "entries/broken.md"
    broken.write_text("---\ntitle: a: b\n---\nOld.\n")
    ran = mem("decay", "--apply")
    assert ran.code == 3
    assert len(ran.rows) == 1
    assert "memory/entries/broken.md: left alone" in ran.err
    assert broken.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--max-fraction", "2"), 2, "between 0 and 1"),
        (("--max-fraction", "nan"), 2, "between 0 and 1"),
        (("--as-of", "soon"), 2, "no date"),
        (("--scope", "all"), 2, "one workspace"),
    ],
)
def test_a_mistake_is_one_clear_line(mem: Mem, aged: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    ran = mem("decay", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert words in ran.err


def test_numbers_that_make_no_sense_are_told_and_do_not_stop_it(mem: Mem, aged: Path) -> None:
    for number, line in enumerate(
        ("trust: .nan", "trust: -3", "trust: 1e300", "strength: strong", "created_at: 2026-02-30")
    ):
        (aged / f"entries/odd{number}.md").write_text(f"---\nid: odd{number}\n{line}\n---\nOdd.\n")
    ran = mem("decay", "--json")
    assert ran.code == 0
    odd = [one for one in ran.json["entries"] if one["id"].startswith("odd")]
    assert len(odd) == 5
    assert all(one["trust"] == 0.7 for one in odd)
    assert len(ran.json["problems"]) == 5
