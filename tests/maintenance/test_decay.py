"""What fades, what is spared, and what archiving does to the files."""

from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from memcli.beliefs.plan import as_diff
from memcli.errors import RefusedError
from memcli.formats.frontmatter import document
from memcli.index.filters import Filter
from memcli.index.index import Index, ask
from memcli.maintenance.decay import DecayReport, decay_plan
from memcli.maintenance.decay import decay as decayed
from memcli.recall.retention import Judged, judged, last_accessed
from memcli.store import access_log
from memcli.store.workspace import Surroundings, Workspace, opened
from tests.crash import cut_off
from tests.tables import cases

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)


def at(root: Path, **environ: str) -> Workspace:
    root.mkdir(parents=True, exist_ok=True)
    around = {"HOME": str(root.parent), "MEM_TIMEZONE": "UTC", "MEM_LOCK_WAIT": "0"} | environ
    return opened(Surroundings(root, around, NOW), root)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def put(workspace: Workspace, name: str, days: float = 0.0, head: str = "", body: str = "It is so.") -> Path:
    made = (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = workspace.root / f"entries/{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\nid: {name}\ntype: fact\ncreated_at: {made}\ntrust: 1.0\n{head}---\n\n{body}\n")
    return path


def judge(workspace: Workspace, **more: Any) -> list[Judged]:
    def rows(index: Index) -> list[dict[str, Any]]:
        index.refresh()
        return index.list_entries(Filter(), "id")

    found = ask(workspace, rows)
    counts = access_log.counts(workspace, last_accessed(found))
    return judged(found, workspace.now, workspace.settings, counts, **more)


def decay(workspace: Workspace, entries: list[Judged], *more: Any) -> DecayReport:
    return decayed(workspace, DecayReport(tuple(entries), "", 0.1, ()), *more)


def run(workspace: Workspace, fraction: float = 1.0) -> DecayReport:
    return decay(workspace, judge(workspace), fraction)


def verdicts(workspace: Workspace) -> dict[str, str]:
    return {one.id: one.verdict for one in judge(workspace)}


LONG_AGO = "2026-09-01T00:00:00Z"


@cases("head", "verdict")
def test_who_fades_and_who_is_spared_after_300_days(workspace: Workspace, head: str, verdict: str | None) -> None:
    text = put(workspace, "one", 300, head).read_text()
    if "type: " in head:
        (workspace.root / "entries/one.md").write_text(text.replace("type: fact\n", "", 1))
    assert verdicts(workspace).get("one") == verdict


def test_what_has_expired_has_faded_however_young(workspace: Workspace) -> None:
    put(workspace, "gone", 0, "expires_at: 2026-11-21\n")
    put(workspace, "good", 0, "expires_at: 2026-11-22\n")
    assert verdicts(workspace) == {"gone": "archive", "good": "keep"}


def test_a_year_of_ids_is_not_listed_in_full(workspace: Workspace) -> None:
    for number in range(25):
        put(workspace, f"n{number:02}", 300)
    run(workspace)
    said = (workspace.root / "HISTORY-2026-11.md").read_text()
    assert "25 entries have faded" in said
    assert "n19 and 5 more." in said
    assert "n20" not in said


def test_nothing_faded_writes_nothing(workspace: Workspace) -> None:
    put(workspace, "young")
    assert not run(workspace).archived
    assert not list(workspace.root.glob("HISTORY*"))


def test_a_quarter_is_not_more_than_a_quarter(workspace: Workspace) -> None:
    put(workspace, "a", 300)
    for name in ("b", "c", "d"):
        put(workspace, name)
    assert len(run(workspace, 0.25).archived) == 1


def test_a_name_that_the_archive_has_already_gets_a_number(workspace: Workspace) -> None:
    put(workspace, "old", 300)
    there = workspace.root / "archive/entries/old.md"
    there.parent.mkdir(parents=True)
    there.write_text("another one")
    assert run(workspace).archived == (("old", "archive/entries/old-2.md"),)
    assert there.read_text() == "another one"


def test_counters_go_into_the_files_that_stay_and_nothing_else_changes(workspace: Workspace) -> None:
    path = put(workspace, "young", 0, "access_count: 2\nupdated_at: 2026-11-20T00:00:00Z\n")
    foreign = put(workspace, "theirs", 0, "accessCount: 5\nlastAccessed: 2026-01-01T00:00:00Z\naccess: public\n")
    before = path.read_text()
    for name in ("young", "young", "young", "theirs"):
        access_log.note(workspace, [name])
    assert set(run(workspace).folded) == {"theirs", "young"}
    new = "access_count: 5\nupdated_at: 2026-11-20T00:00:00Z\nlast_accessed_at: 2026-11-21T20:15:03Z\n"
    assert path.read_text() == before.replace("access_count: 2\nupdated_at: 2026-11-20T00:00:00Z\n", new)
    fields = document.parse(foreign.read_text()).fields
    assert (fields["accessCount"], fields["access"]) == (6, "public")
    assert run(workspace).folded == ()
    assert {one.id: one.accesses for one in judge(workspace)} == {"theirs": 6, "young": 5}


def test_a_file_without_frontmatter_keeps_its_counter_beside_it(workspace: Workspace) -> None:
    path = workspace.root / "entries/plain.md"
    path.parent.mkdir()
    path.write_text("Just a line.\n")
    access_log.note(workspace, ["entries/plain.md"])
    assert run(workspace).folded == ()
    assert path.read_text() == "Just a line.\n"
    assert judge(workspace)[0].accesses == 1


def test_the_plan_says_why_and_shows_where_each_file_goes(workspace: Workspace) -> None:
    put(workspace, "old", 300)
    plan, _ = decay_plan(workspace, judge(workspace), 1.0)
    assert plan.reasons == ("old: e^(-300.0/30) × (1 + ln(0 + 1)) × 1 = 0.000; below 0.1",)
    assert "rename from entries/old.md\nrename to archive/entries/old.md\n" in as_diff(plan)
    assert (workspace.root / "entries/old.md").exists()


def test_what_was_superseded_goes_with_what_had_taken_its_place_and_is_told(workspace: Workspace) -> None:
    put(workspace, "first", 900, "status: superseded\nsuperseded_by: second\n")
    put(workspace, "second", 600, "status: superseded\nsuperseded_by: third\n")
    put(workspace, "third", 300)
    put(workspace, "kept", 1)
    put(workspace, "by-kept", 900, "status: superseded\nsuperseded_by: kept\n")
    done = run(workspace, 0.5)
    assert done.archived == tuple((name, f"archive/entries/{name}.md") for name in ("third", "second", "first"))
    assert done.superseded == ("second", "first")
    assert sorted(path.stem for path in (workspace.root / "entries").iterdir()) == ["by-kept", "kept"]
    said = "1 entry has faded and went to the archive: third, with what had been superseded: second, first."
    assert said in (workspace.root / "HISTORY-2026-11.md").read_text()


def test_two_runs_at_once_archive_and_tell_of_it_once(workspace: Workspace) -> None:
    put(workspace, "old", 300)
    seen = judge(workspace)
    assert len(decay(workspace, seen, 1.0).archived) == 1
    late = decay(workspace, seen, 1.0)
    assert not late.archived
    assert (workspace.root / "HISTORY-2026-11.md").read_text().count("archive: old") == 1


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(workspace: Workspace) -> None:
    path = put(workspace, "a", 300)
    put(workspace, "b", 300)
    seen = judge(workspace)
    path.unlink()
    path.mkdir()
    done = decay(workspace, seen, 1.0)
    assert done.archived == (("b", "archive/entries/b.md"),)
    assert done.failed == (("entries/a.md", "cannot be read"),)


def test_switched_off_it_archives_nothing(tmp_path: Path) -> None:
    workspace = at(tmp_path / "memory", MEM_DECAY_ENABLED="no")
    put(workspace, "old", 300)
    with pytest.raises(RefusedError, match="switched off"):
        run(workspace)


def test_killed_anywhere_and_run_again_it_ends_the_same(tmp_path: Path) -> None:
    for cut in count(1):
        workspace = at(tmp_path / str(cut) / "memory")
        put(workspace, "old", 300)
        young = put(workspace, "young", 0)
        access_log.note(workspace, ["young", "old"], LONG_AGO)
        found = judge(workspace)
        is_cut = cut_off(cut, partial(decay, workspace, found, 1.0))
        run(workspace)
        assert (workspace.root / "archive/entries/old.md").exists()
        assert not (workspace.root / "entries/old.md").exists()
        assert document.parse(young.read_text()).fields["access_count"] == 1
        assert (workspace.root / "HISTORY-2026-11.md").read_text().count("went to the archive: old.") == 1
        assert not list((workspace.derived / "journal").glob("*.json"))
        if not is_cut:
            assert cut > 10
            return
