"""A Python program tends, checks, consolidates and configures memory: it gets values and errors, nothing is printed."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memcli.api import check, configure, consolidate, maintain, review, stats
from memcli.api.workspace import Workspace, open_workspace, surroundings
from memcli.errors import NotFoundError, RefusedError, UsageError
from tests.conftest import Mem

EVENING = datetime(2026, 3, 1, 19, 30, tzinfo=UTC)
YEARS_AGO = (EVENING - timedelta(days=900)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def environ(world: Path) -> dict[str, str]:
    home = world.parent / "home"
    return {
        "HOME": str(world),
        "MEM_SEED": "1",
        "MEM_NOW": "2026-03-01T19:30:00Z",
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CONFIG_HOME": str(home / ".config"),
    }


@pytest.fixture
def place(workspace: Path, environ: dict[str, str]) -> Workspace:
    return open_workspace(workspace, environ=environ, now=EVENING)


@pytest.fixture(autouse=True)
def silence(capfd: pytest.CaptureFixture[str], place: Workspace) -> Iterator[None]:
    """Fail a test in which the library prints anything."""
    capfd.readouterr()
    yield
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def put(where: Workspace, name: str, body: str, **fields: object) -> Path:
    path = where.root / "entries" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    told = {"id": name, "type": "fact", "created_at": "2026-02-27T08:00:00Z", **fields}
    head = "".join(f"{key}: {value}\n" for key, value in told.items())
    path.write_text(f"---\n{head}---\n\n{body}\n")
    return path


def documents(where: Workspace) -> dict[str, str]:
    files = (path for path in where.root.rglob("*.md") if ".mem" not in path.parts)
    return {path.relative_to(where.root).as_posix(): path.read_text() for path in files}


def test_decay_judges_first_and_archives_only_when_told(place: Workspace) -> None:
    put(place, "mem_old", "The quay crane is painted ochre.", created_at=YEARS_AGO)
    for name in ("a", "b", "c"):
        put(place, f"mem_{name}", f"Shed {name} is locked at dusk.")
    before = documents(place)
    report = maintain.decay(place)
    assert (report.entries[0].id, report.entries[0].verdict) == ("mem_old", "archive")
    assert not report.applied
    assert documents(place) == before
    done = maintain.decay(place, apply=True)
    assert [name for name, _ in done.archived] == ["mem_old"]
    assert not (place.root / "entries/mem_old.md").exists()
    assert "mem_old" not in [one.id for one in maintain.decay(place).entries]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda where: maintain.decay(where, max_fraction=1.5), "--max-fraction"),
        (lambda where: maintain.decay(where, as_of="soonish"), "no date"),
        (lambda where: maintain.promote(where), "nothing to promote"),
        (lambda where: maintain.promote(where, ["x"], auto=True), "or chosen by mem"),
        (lambda where: consolidate.rollup(where), "not clear"),
        (lambda where: consolidate.rollup(where, "quay", everything=True), "not clear"),
        (lambda where: stats.index(where, rebuild=True, status=True), "--rebuild"),
        (lambda where: review.answer(where, "q_1", "perhaps"), "no decision"),
        (lambda where: review.answer(where, "q_1", "keep", source="imported"), "no source"),
        (lambda where: configure.setting("serach.limit"), "no setting"),
        (lambda where: maintain.dedup(where, judge=True), "LLM"),
        (lambda where: check.check_staged(where), "git"),
    ],
)
def test_what_is_told_wrong_is_an_error_that_says_so(
    place: Workspace, call: Callable[[Workspace], object], words: str
) -> None:
    before = documents(place)
    with pytest.raises(UsageError) as error:
        call(place)
    assert words in str(error.value)
    assert documents(place) == before


def test_a_line_is_promoted_shown_and_taken_off_again(place: Workspace) -> None:
    put(place, "mem_rule", "Never moor at the fuel jetty.", type="constraint", source="user")
    report = maintain.promote(place, ["mem_rule"], by="user")
    assert report.applied
    assert "Never moor at the fuel jetty." in (place.root / report.path).read_text()
    assert report.as_dict()["promoted"] == [{"id": "mem_rule", "statement": "Never moor at the fuel jetty."}]
    maintain.demote(place, ["mem_rule"])
    assert "fuel jetty" not in (place.root / report.path).read_text()
    with pytest.raises(NotFoundError):
        maintain.demote(place, ["mem_rule"])


def test_what_no_person_said_is_not_promoted_for_an_agent(place: Workspace) -> None:
    put(place, "mem_seen", "The tide gauge reads high.", source="observed")
    with pytest.raises(RefusedError):
        maintain.promote(place, ["mem_seen"])
    assert maintain.promote(place, ["mem_seen"], source="user").applied


def test_twins_are_shown_as_a_diff_and_merged_when_told(place: Workspace) -> None:
    put(place, "mem_1", "The pilot boat leaves at six.", source="user")
    put(place, "mem_2", "the pilot boat leaves at six", source="user", created_at="2026-02-28T08:00:00Z")
    before = documents(place)
    shown = maintain.dedup(place)
    assert documents(place) == before
    assert "superseded" in shown.diff
    assert shown.as_dict()["diff"] == shown.diff
    assert [group.kept for group in maintain.dedup(place, apply=True).groups] == ["mem_1"]
    assert maintain.dedup(place).groups == ()


def test_a_twin_is_merged_and_what_was_found_distinct_is_not(place: Workspace) -> None:
    put(place, "mem_1", "The pilot boat leaves at 18:00.", source="user")
    put(place, "mem_2", "the pilot boat  leaves at 18:00", source="user", created_at="2026-02-28T08:00:00Z")
    put(place, "mem_3", "The pilot boat leaves at 18:00.", created_at="2026-02-28T08:00:00Z", distinct=["mem_1"])
    [group] = maintain.dedup(place).groups
    assert (group.kept, group.merged) == ("mem_1", ("mem_2",))


def test_the_index_and_the_numbers_count_the_same_entries(place: Workspace) -> None:
    for name in ("a", "b"):
        put(place, f"mem_{name}", f"Berth {name} is for ferries.")
    seen: list[tuple[int, int]] = []
    report = stats.index(place, status=True, reading=lambda done, total: seen.append((done, total)))
    (one,) = report.workspaces
    assert (one.entries, one.added, report.error, report.problems) == (2, one.files, None, ())
    assert seen[-1] == (one.files, one.files)
    counted = stats.stats(place)
    assert (counted.statuses, counted.index.entries) == ({"active": 2}, 2)
    assert counted.as_dict()["entries"] == 2


def test_check_names_a_fault_and_fixes_the_one_with_a_right_answer(place: Workspace) -> None:
    path = put(place, "mem_x", "Bollard 7 is loose.")
    path.write_text(path.read_text().replace("id: mem_x\n", ""))
    put(place, "mem_y", "See [[the nonexistent ledger]].")
    found = check.check(place)
    assert [(one.path, one.rule) for one in found.problems] == [("entries/mem_y.md", "link")]
    assert found.nameless == 1
    dry = check.check(place, fix=True, dry_run=True)
    assert "+id: mem_" in dry.diff
    assert "id:" not in path.read_text()
    done = check.check(place, fix=True)
    assert len(done.fixed) == 1
    assert "\nid: mem_" in path.read_text()
    assert [one.rule for one in done.problems] == ["link"]


def said(*texts: str) -> io.BytesIO:
    lines = [json.dumps({"role": "user", "content": text}) for text in texts]
    return io.BytesIO("\n".join(lines).encode())


def test_a_transcript_is_previewed_without_writing_and_consolidated_once(place: Workspace) -> None:
    text = "Please always use metric units in the tide tables."
    before = documents(place)
    shown = consolidate.consolidate(place, [said(text)], dry_run=True)
    assert documents(place) == before
    assert "metric units" in shown.sessions[0].diff
    done = consolidate.consolidate(place, [said(text)])
    assert (done.failed, done.is_partial) == ((), False)
    assert [one.entries for one in done.sessions] == [1]
    assert any("metric units" in body for body in documents(place).values())
    assert consolidate.consolidate(place).sessions == ()
    with pytest.raises(NotFoundError):
        consolidate.consolidate(place, ["nobody"])


def test_consolidation_that_is_switched_off_is_refused(place: Workspace, environ: dict[str, str]) -> None:
    off = open_workspace(place.root, environ=environ | {"MEM_CONSOLIDATE_ENABLED": "false"}, now=EVENING)
    with pytest.raises(RefusedError):
        consolidate.consolidate(off, [said("Use tabs.")])


def test_tend_does_what_is_due_and_then_nothing(place: Workspace) -> None:
    put(place, "mem_a", "The lock gate opens inwards.")
    (one,) = [one for one in maintain.tend(place).done if one.task == "index"]
    assert (one.error, one.said) == (None, "embedded 1 texts")
    assert maintain.tend(place).as_dict() == {"done": []}


def test_a_question_is_listed_and_answered_by_its_id(place: Workspace) -> None:
    put(place, "mem_1", "The mooring fee is 12 euros.", source="user", conflicts_with="[mem_2]", verdicts="[mem_2]")
    put(place, "mem_2", "The mooring fee is 15 euros.", source="user", created_at="2026-02-28T08:00:00Z")
    report = review.review(place)
    (question,) = report.questions
    assert report.count == 1
    proposed = review.answer(place, question.id, "newer")
    assert proposed.action == "proposed"
    assert review.answer(place, question.id, "newer", source="user").as_dict()["action"] == "settled"
    assert review.review(place).count == 0
    with pytest.raises(NotFoundError):
        review.answer(place, question.id, "newer", source="user")


def test_a_setting_is_written_read_and_refused(place: Workspace, environ: dict[str, str]) -> None:
    around = surroundings(place.root, environ, EVENING)
    change = configure.set_setting("search.limit", "9", place.root, around=around)
    assert (change.value, change.file) == (9, str(place.root / "mem.yaml"))
    found = configure.setting("search.limit", place.root, around=around)
    assert found.as_dict() == {"name": "search.limit", "value": 9, "from": found.from_}
    hidden = configure.set_setting("llm.api_key", "sk-or-v1-tuna", around=around)
    assert hidden.value == "[not shown]"
    rows = {one["name"]: one for one in configure.settings(place.root, around=around).as_dict()["settings"]}
    assert (rows["search.limit"]["value"], rows["llm.api_key"]["value"]) == (9, "[not shown]")
    with pytest.raises(UsageError):
        configure.set_setting("search.limit", "many", place.root, around=around)


def test_a_workspace_is_made_where_a_program_says(tmp_path: Path, environ: dict[str, str]) -> None:
    around = surroundings(tmp_path, environ, EVENING)
    made = configure.init("harbour", around=around)
    assert made.as_dict()["workspace"] == str(tmp_path / "harbour")
    assert "mem.yaml" in made.made
    assert configure.init("harbour", around=around).made == ()
    with pytest.raises(UsageError):
        configure.init("quay", layout="cubist", around=around)


def test_results_do_not_change(place: Workspace) -> None:
    for result in (maintain.tend(place), stats.stats(place), check.check(place), review.review(place)):
        with pytest.raises(FrozenInstanceError):
            result.extra = 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("command", "call"),
    [
        (["decay"], lambda where: maintain.decay(where).as_dict()),
        (["promote", "--auto"], lambda where: maintain.promote(where, auto=True).as_dict()),
        (["dedup"], lambda where: maintain.dedup(where).as_dict()),
        (["stats"], lambda where: stats.stats(where).as_dict()),
        (["check"], lambda where: check.check(where).as_dict()),
        (["review"], lambda where: review.review(where).as_dict()),
        (["index", "--status"], lambda where: stats.index(where, status=True).as_dict()),
        (["config", "list"], lambda where: configure.settings(where.root).as_dict()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_result_is_the_document_of_its_command(
    place: Workspace, mem: Mem, command: list[str], call: Callable[[Workspace], dict[str, Any]]
) -> None:
    put(place, "mem_1", "The harbour radio is on channel 12.", source="user")
    put(place, "mem_2", "The harbour radio is on channel 14.", source="user", created_at=YEARS_AGO)
    call(open_workspace(place.root))  # the index is made
    told = json.loads(mem(*command, "--json").out)
    own = json.loads(json.dumps(call(open_workspace(place.root))))
    for document in (told, own):
        document.get("index", {}).pop("bytes", None)  # of the database, whose log comes and goes
    assert told == own
