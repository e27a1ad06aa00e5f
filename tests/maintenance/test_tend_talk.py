"""What is due of conversations is done unasked: what waits, what is long, what has happened in a project."""

from dataclasses import replace
from pathlib import Path

import pytest

from memcli.errors import LlmError
from memcli.maintenance.tend import SESSION_TASKS, Tended, tend
from memcli.store.sessions.sessions import find, reset
from memcli.store.workspace import Workspace
from tests.consolidation.conversations import cursor, history, page, say, state
from tests.scenes import at

CONSOLIDATE, COMPACT, ROLLUP = SESSION_TASKS
WINDOW = {"MEM_CONSOLIDATE_WINDOW": "6", "MEM_CONSOLIDATE_KEEP": "2"}


def done(workspace: Workspace) -> tuple[Tended, ...]:
    return tend(workspace, SESSION_TASKS).tasks


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory", **WINDOW)


def test_a_session_is_consolidated_once_enough_waits(workspace: Workspace) -> None:
    say(workspace, *["We use tool X here"] * 6)
    assert done(workspace) == ()
    say(workspace, "We use tool Y here", first=7)
    (one,) = done(workspace)
    assert (one.task, one.error) == ("consolidate", None)
    assert one.said.startswith("5 messages")
    assert cursor(workspace) == "m5", "the latest messages are left for next time"
    before = state(workspace)
    assert done(workspace) == ()
    assert state(workspace) == before


def test_what_was_put_away_does_not_wait_for_more(workspace: Workspace) -> None:
    say(workspace, "We use tool X here", "Yes.")
    reset(workspace, find(workspace, "s"))
    (one,) = done(workspace)
    assert one.said.startswith("2 messages")
    assert done(workspace) == ()


def test_an_llm_that_fails_is_said_and_the_messages_stay_due(workspace: Workspace) -> None:
    say(workspace, *["We use tool X here"] * 7)
    failing = at(workspace.root, **WINDOW, MEM_LLM_COMMAND="false")
    (one,) = done(failing)
    assert isinstance(one.error, LlmError)
    assert len(history(workspace)) == 1
    assert done(failing)[0].error
    assert len(history(workspace)) == 1, "no second fallback record"
    assert done(workspace)[0].error is None
    assert cursor(workspace) == "m5"


def test_a_long_session_is_compacted_unless_that_is_switched_off(workspace: Workspace) -> None:
    limits = {"MEM_SESSION_SOFT_LIMIT": "30000", "MEM_SESSION_HARD_LIMIT": "60000"}
    say(workspace, *["We use tool X here " * 80] * 100)
    off = at(workspace.root, **WINDOW, **limits, MEM_SESSION_COMPACT="off", MEM_CONSOLIDATE_ENABLED="off")
    assert done(off) == ()
    said = done(at(workspace.root, **WINDOW, **limits))
    assert [one.task for one in said] == ["consolidate", "compact"]
    assert (workspace.root / "archive/sessions/s/session.jsonl").exists()


def test_a_session_that_cannot_be_compacted_stops_no_other(workspace: Workspace) -> None:
    limits = {"MEM_SESSION_SOFT_LIMIT": "30000", "MEM_SESSION_HARD_LIMIT": "60000"}
    for name in ("a", "b"):
        say(workspace, *["We use tool X here " * 80] * 100, into=name)
    file = workspace.root / "sessions/a/session.jsonl"
    file.write_bytes(file.read_bytes().replace(b"tool X", b"tool \xff", 1))
    said = done(at(workspace.root, **WINDOW, **limits, MEM_CONSOLIDATE_ENABLED="off"))
    assert [one.task for one in said] == ["compact"]
    assert "sessions/a/session.jsonl:1: not UTF-8" in str(said[0].error)
    assert (workspace.root / "archive/sessions/b/session.jsonl").exists()


def test_a_project_with_some_episodes_is_summed_up(workspace: Workspace) -> None:
    for name in ("a", "b"):
        session = say(
            workspace,
            *[
                "We always use Postgres 16 in the shop",
                "Fixed: the build of the shop passes again, since the cache was emptied on both runners. " * 2,
            ]
            * 4,
            into=name,
        )
        target = workspace.root / session.page_path
        target.write_text(target.read_text().replace('"metadata": {}', '"metadata": {"cwd": "/home/rita/shop"}'))
    said = done(workspace)
    assert [(one.task, one.error) for one in said] == [("consolidate", None), ("rollup", None)]
    assert said[1].said == "entries/projects/shop/summary.md"
    assert done(workspace) == ()


def test_with_consolidation_switched_off_nothing_is_due(workspace: Workspace) -> None:
    say(workspace, *["We use tool X here"] * 9)
    off = replace(workspace, settings=at(workspace.root, MEM_CONSOLIDATE_ENABLED="off").settings)
    assert done(off) == ()
    assert not (workspace.root / "MEMORY.md").exists() or page(workspace)
