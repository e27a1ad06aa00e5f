"""Accesses are counted beside the files, bounded, and never at the cost of the command that reads."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memcli.store import access_log
from memcli.store.access_log import Access, counts, finish_folding, note, take
from memcli.store.workspace import Surroundings, Workspace, opened
from memcli.transcripts.sources import ImportLog, Seen
from tests.processes import race

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
LATER = "2026-11-21T20:15:04Z"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory"


def at(root: Path, seconds: int = 0) -> Workspace:
    return opened(Surroundings(root, {"HOME": str(root)}, NOW + timedelta(seconds=seconds)), root)


def test_accesses_are_counted_by_id_with_the_moment_of_the_last(root: Path) -> None:
    note(at(root), ["a", "b"])
    note(at(root, 1), ["a"])
    assert counts(at(root)) == {"a": Access(2, LATER), "b": Access(1, "2026-11-21T20:15:03Z")}


def test_the_folder_of_counts_is_kept_from_git(root: Path) -> None:
    note(at(root), ["a"])
    assert (root / ".mem/.gitignore").read_text() == "*\n"


def test_a_damaged_line_is_passed_over(root: Path) -> None:
    note(at(root), ["a"])
    with (root / ".mem/access").open("ab") as file:
        file.write(b"\xff\x00\n2026-11-21T2\t\n\t\t\n2026-99-99T00:00:00Z\ta\n2026-11-21T20:15:03Z\ta\t-5\nhalf")
    assert counts(at(root))["a"].count == 1


@pytest.mark.parametrize("name", ["", "two\nlines", "tab\there", "\udcff"])
def test_an_id_that_would_break_the_lines_is_not_counted(root: Path, name: str) -> None:
    note(at(root), [name])
    assert counts(at(root)) == {}


@pytest.mark.parametrize("what", ["file", "link", "loop", "folder", "pipe"])
def test_where_it_cannot_be_kept_nothing_happens(root: Path, what: str, tmp_path: Path) -> None:
    derived = root / ".mem"
    workspace = at(root)  # a link that is there already is refused; this one comes later
    if what == "file":
        derived.write_text("in the way")
    elif what == "link":
        (tmp_path / "elsewhere").mkdir()
        derived.symlink_to(tmp_path / "elsewhere")
    else:
        derived.mkdir()
        make = {"loop": lambda path: path.symlink_to(path), "folder": Path.mkdir, "pipe": os.mkfifo}[what]
        make(derived / "access")
    note(workspace, ["a"])
    assert counts(workspace) == {}
    assert not (tmp_path / "elsewhere/access").exists()


def test_many_lines_are_summed_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "LARGE", 2000)
    sizes = []
    for number in range(300):
        note(at(root, number), [f"mem_{number % 7}"])
        sizes.append((root / ".mem/access").stat().st_size)
    assert max(sizes) < 2100
    assert sum(one.count for one in counts(at(root)).values()) == 300


def test_with_more_ids_than_fit_the_sums_are_not_made_at_every_line(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "LARGE", 500)
    made = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *names: (made.append(1), replace(*names)))
    for number in range(400):
        note(at(root), [f"mem_{number}"])
    assert len(counts(at(root))) == 400
    assert 0 < len(made) < 10


def test_what_is_folded_is_dropped_and_the_rest_counts_on(root: Path) -> None:
    note(at(root), ["a", "a", "b"])
    taken = take(at(root))
    note(at(root, 1), ["a"])
    finish_folding(at(root), ["a"])
    assert counts(at(root)) == {"a": Access(1, LATER), "b": Access(1, taken["b"].last)}
    assert not (root / ".mem/access.taken").exists()


def test_a_folding_that_was_killed_counts_once_whether_it_reached_the_files_or_not(root: Path) -> None:
    note(at(root), ["a", "b"])
    take(at(root))
    note(at(root, 1), ["a"])
    reached = {"a": "2026-11-21T20:15:03Z"}
    assert {key: one.count for key, one in counts(at(root), reached).items()} == {"a": 1, "b": 1}
    assert {key: one.count for key, one in take(at(root), reached).items()} == {"a": 1, "b": 1}
    take(at(root), reached)
    finish_folding(at(root), [])
    assert {key: one.count for key, one in counts(at(root)).items()} == {"a": 1, "b": 1}


def test_processes_that_count_at_once_lose_nothing(root: Path) -> None:
    script = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from memcli.store.access_log import note
from memcli.store.workspace import Surroundings, opened
root = Path(sys.argv[2])
for _ in range(20):
    note(opened(Surroundings(root, {"HOME": str(root)}, datetime.now(UTC)), root), ["a"])
"""
    assert {one.code for one in race(script, 10, root)} == {0}
    assert counts(at(root))["a"].count == 200


@pytest.mark.parametrize("torn", [b"half", b'{"source": "/a", "sta', b"\xff\xfe", b"2026-11-21T20:15:03Z\ta"])
def test_a_line_that_was_cut_off_costs_only_itself_whichever_file_it_is_in(root: Path, torn: bytes) -> None:
    workspace = at(root)
    for name in ("imports.jsonl", "access", "turns/one.jsonl"):
        access_log.append(workspace, name, b"first\n")
        with (root / ".mem" / name).open("ab") as file:
            file.write(torn)
        for line in (b"second\n", b"third\n"):
            access_log.append(workspace, name, line)
        assert (root / ".mem" / name).read_bytes() == b"first\n" + torn + b"\nsecond\nthird\n"


def test_what_was_imported_is_noted_in_no_file_that_came_as_a_link(root: Path, tmp_path: Path) -> None:
    (root / ".mem").mkdir()
    elsewhere = tmp_path / "theirs"
    elsewhere.write_text("theirs\n")
    (root / ".mem" / "imports.jsonl").symlink_to(elsewhere)
    ImportLog(at(root)).add([(tmp_path / "a.jsonl", Seen((1, 2, 3)))])
    assert elsewhere.read_text() == "theirs\n"
    (root / ".mem" / "imports.jsonl").unlink()
    ImportLog(at(root)).add([(tmp_path / "a.jsonl", Seen((1, 2, 3), taken=2))])
    assert ImportLog(at(root)).get(tmp_path / "a.jsonl") == Seen((1, 2, 3), taken=2)
