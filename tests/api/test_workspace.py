"""An opened workspace as a value of a program: what may be done with it, and what is said once its folder is gone."""

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli import open_workspace
from memcli.api import (
    check,
    consolidate,
    edit,
    find,
    history,
    maintain,
    read,
    recall,
    review,
    sessions,
    stats,
    transfer,
    write,
)
from memcli.api.workspace import Workspace
from memcli.errors import NotFoundError, UnknownTranscriptError

JOBS: dict[str, Callable[[Workspace], object]] = {
    "write": lambda ws: write.write(ws, write.NewEntry("A quagga sleeps.")),
    "write as it is": lambda ws: write.write(ws, write.NewEntry("A quagga sleeps."), dedup=False),
    "search": lambda ws: find.search(ws, "quagga"),
    "grep": lambda ws: find.grep(ws, "quagga"),
    "ls": find.list_entries,
    "read": lambda ws: read.read(ws, "MEMORY.md"),
    "recall": lambda ws: recall.recall(ws, "quagga"),
    "forget": lambda ws: edit.forget(ws, ["quagga.md"]),
    "move": lambda ws: edit.move(ws, "quagga.md", "user"),
    "note": lambda ws: history.add_note(ws, "Fed the quagga."),
    "history": history.read_history,
    "session append": lambda ws: sessions.append(ws, sessions.NewEvent("user", "Hello."), "talk"),
    "session ls": sessions.list_sessions,
    "consolidate": consolidate.consolidate,
    "check": check.check,
    "review": review.review,
    "stats": stats.stats,
    "decay": maintain.decay,
    "dedup": maintain.dedup,
    "tend": maintain.tend,
    "export": lambda ws: transfer.export(ws, ws.folder / "all.jsonl"),
}


@pytest.mark.parametrize("job", JOBS)
def test_a_workspace_whose_folder_is_gone_is_an_error_and_is_not_made_anew(workspace: Path, job: str) -> None:
    opened = open_workspace(workspace)
    write.write(opened, write.NewEntry("A quagga sleeps."), dedup=False)
    shutil.rmtree(workspace)
    with pytest.raises(NotFoundError, match="no workspace"):
        JOBS[job](opened)
    assert not workspace.exists()


def test_a_workspace_is_a_key_and_goes_to_another_process(workspace: Path) -> None:
    opened = open_workspace(workspace, environ=os.environ)
    assert {opened: 1}[open_workspace(workspace, environ=os.environ, now=opened.now)] == 1
    assert opened.layout.name  # which is found out once and kept beside the fields
    there = pickle.loads(pickle.dumps(opened))
    assert there == opened
    assert write.write(there, write.NewEntry("A quagga sleeps."), dedup=False).action == "created"


def test_a_file_without_a_conversation_is_an_error_of_the_library(workspace: Path, world: Path) -> None:
    (world / "list.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UnknownTranscriptError, match="no line says who speaks"):
        sessions.import_transcript(open_workspace(workspace), world / "list.csv")
