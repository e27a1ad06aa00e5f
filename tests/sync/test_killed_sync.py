"""A sync that was killed harms no later one. `tests/faults` kills the other commands."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.sync.test_sync import Machine, git


def test_a_first_sync_that_was_killed_sends_notes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    hub = tmp_path / "hub.git"
    new = Machine(tmp_path / "new")
    new.write("Kai is in Lisbon.")
    new.mem("note", "Fed the cat.")
    ignored = new.root / ".gitignore"
    ignored.write_text(ignored.read_text() + "notes/\n")
    rename = os.rename

    def stop(source: Any, target: Any) -> None:
        if str(target).endswith(".json"):
            raise KeyboardInterrupt
        rename(source, target)

    def fail(*_: object) -> None:
        raise OSError

    # As a kill leaves it: the files are changed, and the record of the command is pending.
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("os.rename", stop)
        patch.setattr("memcli.store.writer.revert_changes", fail)
        new.sync(str(hub))
    new.sync(str(hub))
    assert "notes/" in git(hub, "ls-tree", "-r", "--name-only", "main")
