"""What is due is done, one thing after another, and what fails keeps nothing else from its turn."""

from pathlib import Path
from typing import Any

import pytest

from memcli.errors import RefusedError
from memcli.maintenance.tend import TASKS, Task, tend
from memcli.store.workspace import Workspace
from tests.scenes import at

DECAY, PROMOTE = TASKS[:2]


def put(workspace: Workspace, name: str, created: str = "2026-11-20", head: str = "") -> None:
    path = workspace.root / f"entries/{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\nid: {name}\ncreated_at: {created}\n{head}---\n\nIt is {name}.\n")


def test_what_is_not_due_is_not_run(tmp_path: Path) -> None:
    ran: list[Any] = []

    def run(workspace: Workspace, what: object) -> str:
        ran.append(what)
        return "did it"

    tasks = (Task("no", lambda workspace: [], run), Task("yes", lambda workspace: ["this"], run))
    done = tend(at(tmp_path / "memory"), tasks).tasks
    assert [(one.task, one.said) for one in done] == [("yes", "did it")]
    assert ran == [["this"]]


def test_a_task_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    def refused(workspace: Workspace) -> bool:
        raise RefusedError("not today", "tomorrow")

    tasks = (Task("bad", refused, lambda *_: ""), Task("good", lambda workspace: True, lambda *_: "did it"))
    bad, good = tend(at(tmp_path / "memory"), tasks).tasks
    assert (bad.task, str(bad.error)) == ("bad", "not today: tomorrow")
    assert good.said == "did it"


def test_decay_and_promotion_wait_for_their_settings(tmp_path: Path) -> None:
    workspace = at(tmp_path / "memory")
    put(workspace, "old", "2026-01-01")
    for name in ("a", "b", "c"):
        put(workspace, name, head="source: user\nstrength: 3\n")
    assert tend(workspace, (DECAY, PROMOTE)).tasks == ()
    willing = at(workspace.root, MEM_DECAY_AUTO="yes", MEM_PROMOTE_AUTO="yes")
    done = tend(willing, (DECAY, PROMOTE)).tasks
    assert [one.said for one in done] == ["archived 1 that faded", "MEMORY.md: 3 promoted"]
    assert (workspace.root / "archive/entries/old.md").exists()
    assert tend(willing, (DECAY, PROMOTE)).tasks == ()


@pytest.mark.parametrize("switch", ["MEM_DECAY_ENABLED", "MEM_PROMOTE_ENABLED"])
def test_what_is_switched_off_is_never_due(tmp_path: Path, switch: str) -> None:
    workspace = at(tmp_path / "memory", MEM_DECAY_AUTO="yes", MEM_PROMOTE_AUTO="yes", **{switch: "no"})
    put(workspace, "old", "2026-01-01")
    for name in ("a", "b", "c"):
        put(workspace, name, head="source: user\nstrength: 3\n")
    done = tend(workspace, (DECAY, PROMOTE)).tasks
    assert [one.task for one in done] == (["promote"] if switch == "MEM_DECAY_ENABLED" else ["decay"])


def test_too_many_faded_at_once_are_left_for_a_person_and_are_no_failure_every_night(tmp_path: Path) -> None:
    workspace = at(tmp_path / "memory", MEM_DECAY_AUTO="yes")
    put(workspace, "old", "2026-01-01")
    (done,) = tend(workspace, (DECAY,)).tasks
    assert done.error is None
    assert "1 of 1 faded, too many to archive unasked: look at them with `mem decay`" in done.said
    assert (workspace.root / "entries/old.md").exists()
