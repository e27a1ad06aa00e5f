"""Those who change memory by what they find in it go one after the other, and nobody waits for ever."""

from pathlib import Path
from threading import Thread, get_ident

import pytest

from memcli.store import entries
from memcli.store import lock as turns
from memcli.store.journal import exclusive
from memcli.store.lock import change_mark, changing, one_by_one
from memcli.store.workspace import Workspace
from tests.beliefs.test_admit import at


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def test_the_mark_moves_with_every_change_and_is_another_one_meanwhile(workspace: Workspace) -> None:
    marks = [change_mark(workspace)]
    for number in range(3):
        with exclusive(workspace, "mem test") as held:
            assert held.has_seen(marks[-1])
            assert not held.has_seen(change_mark(workspace))
        marks.append(change_mark(workspace))
        entries.write(workspace, {}, "The user prefers tabs", lambda attempt, number=number: bytes([number] * 8))
        marks.append(change_mark(workspace))
    assert len(set(marks)) == 7


def test_a_change_that_fails_moves_the_mark(workspace: Workspace) -> None:
    before = change_mark(workspace)
    with pytest.raises(RuntimeError), exclusive(workspace, "mem test"):
        raise RuntimeError
    assert change_mark(workspace) not in ("", before)


def test_a_damaged_mark_says_nothing(workspace: Workspace) -> None:
    workspace.derived.mkdir()
    (workspace.derived / "turn").write_bytes(b"\xff\xfe")
    mark = change_mark(workspace)
    with exclusive(workspace, "mem test") as held:
        assert not held.has_seen(mark)


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
            with changing(workspace):
                other.join(0.2)
        ended.append("the one before")
    other.join()
    assert ended == ["the one before", "the one who waits"]


def test_where_there_is_no_place_to_wait_one_goes_on(workspace: Workspace) -> None:
    workspace.derived.write_text("a file in the way")
    with one_by_one(workspace, "mem write"):
        pass
    assert workspace.derived.read_text() == "a file in the way"
