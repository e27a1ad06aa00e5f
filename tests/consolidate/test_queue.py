"""One consolidation at a time, and processes in the background."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memcli.consolidate.queue import hold_queue, run_consolidation, start_background
from memcli.errors import BusyError
from memcli.store.sessions import append_events, list_sessions, read_session
from tests.consolidate.talk import list_memories, open_workspace, say
from tests.helpers import get_process_environment, open_again


def test_one_process_consolidates_and_others_can_write(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    other = open_again(workspace)
    with hold_queue(workspace):
        with pytest.raises(BusyError, match="consolidating"), hold_queue(other):
            pass
        append_events(other, "s1", [{"role": "user", "content": "Always use tabs."}])
    done, _ = run_consolidation(other, name="s1")
    assert len(done) == 1


def test_a_background_process_consolidates(tmp_path: Path) -> None:
    environment = get_process_environment(tmp_path / "home")
    workspace = open_workspace(tmp_path, **environment, MEM_NOW="2026-11-28T12:00:00Z")
    say(workspace, "Always use tabs.", "Noted.")
    # Python must not import a module of the workspace.
    (workspace.root / "typing.py").write_text("raise SystemExit('planted')\n")
    # The session ended while another process was consolidating, so the new one waits.
    with hold_queue(workspace):
        assert start_background(workspace, list_sessions(workspace))
        time.sleep(1.5)
        # It will find the sessions that end meanwhile, so no second process waits.
        command = [sys.executable, "-P", "-m", "memcli", "consolidate", "--background"]
        subprocess.run(command, cwd=workspace.root, env=environment, check=True, timeout=20)
    deadline = time.monotonic() + 30
    while not read_session(workspace, "s1").consolidated_to and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list_memories(open_again(workspace)) == {"Always use tabs.": "user"}
    log = workspace.machine.folder
    assert log is not None
    assert "planted" not in (log / "log").read_text()
    assert os.stat(log / "log").st_mode & 0o077 == 0


def test_a_user_can_switch_it_off(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path, MEM_CONSOLIDATE_AUTOMATIC="false")
    session = say(workspace, "Always use tabs.")
    assert not start_background(workspace, [session])
