"""A Python program tends, checks, consolidates and configures memory: it gets values and errors, nothing is printed."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.api import check, configure, consolidate, maintain, review, sessions, stats, transfer
from memcli.api.workspace import Workspace, open_workspace, surroundings
from memcli.errors import UsageError

EVENING = datetime(2026, 3, 1, 19, 30, tzinfo=UTC)


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


def documents(where: Workspace) -> dict[str, str]:
    files = (path for path in where.root.rglob("*.md") if ".mem" not in path.parts)
    return {path.relative_to(where.root).as_posix(): path.read_text() for path in files}


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
        (lambda where: transfer.export(where, where.root.parent / "out.csv", format="csv"), "no format"),
        (lambda where: sessions.append(where, "[]", "talk"), "no event"),
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


def said(*texts: str) -> io.BytesIO:
    lines = [json.dumps({"role": "user", "content": text}) for text in texts]
    return io.BytesIO("\n".join(lines).encode())


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
