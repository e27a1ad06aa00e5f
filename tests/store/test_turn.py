"""Those who change memory by what they find in it go one after the other, and nobody waits for ever."""

from pathlib import Path
from threading import Thread, get_ident

import pytest

from memcli.store import lock as turns
from memcli.store.lock import next_turn, one_by_one, turn
from memcli.store.workspace import Workspace
from tests.beliefs.test_admit import at


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def test_the_mark_moves_with_every_change_and_is_empty_before(workspace: Workspace) -> None:
    assert turn(workspace) == ""
    workspace.derived.mkdir()
    marks = []
    for _ in range(3):
        next_turn(workspace)
        marks.append(turn(workspace))
    assert len({*marks, ""}) == 4


def test_a_damaged_mark_is_another_one(workspace: Workspace) -> None:
    workspace.derived.mkdir()
    (workspace.derived / "turn").write_bytes(b"\xff\xfe")
    assert turn(workspace) == ""


def test_who_waits_too_long_goes_on_beside_the_others(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.0)
    ran = []

    def go() -> None:
        with one_by_one(workspace, "mem write"):
            ran.append(get_ident())

    with one_by_one(workspace, "mem write"):
        other = Thread(target=go)
        other.start()
        other.join()
    go()
    assert len(ran) == 2


def test_while_the_others_get_on_one_waits_for_them(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 1.0)
    ended: list[str] = []

    def go() -> None:
        with one_by_one(workspace, "mem write"):
            ended.append("the one who waits")

    with one_by_one(workspace, "mem write"):
        other = Thread(target=go)
        other.start()
        for _ in range(12):
            next_turn(workspace)
            other.join(0.2)
        ended.append("the one before")
    other.join()
    assert ended == ["the one before", "the one who waits"]


def test_where_there_is_no_place_to_wait_one_goes_on(workspace: Workspace) -> None:
    workspace.derived.write_text("a file in the way")
    with one_by_one(workspace, "mem write"):
        pass
    assert workspace.derived.read_text() == "a file in the way"
