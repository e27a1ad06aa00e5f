"""Conversations and imports from a Python program: what a caller is given, and that nothing is printed."""

import io
from pathlib import Path

import pytest

from memcli import open_workspace
from memcli.api import sessions, transfer
from memcli.api.choice import Choice
from memcli.api.workspace import Workspace
from memcli.errors import NotFoundError, UsageError
from tests.conftest import Mem

CHAT = "User: From now on, always test a restore on Mondays.\nAssistant: Noted.\n"


@pytest.fixture
def opened(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Workspace:
    """Open the workspace of the test as a program does."""
    return open_workspace(workspace)


def said(where: Workspace, name: str, *texts: str) -> None:
    for text in texts:
        sessions.append(where, sessions.NewEvent("user", text), name)


def test_what_is_appended_is_what_is_shown(opened: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    added = sessions.append(opened, sessions.NewEvent("user", "The backup runs at 03:30."), "s1", channel="cli:7")
    answered = sessions.append(opened, [{"role": "assistant", "content": "Noted."}], "s1")
    shown = sessions.show(opened, "s1")
    assert [(position, one.role, one.text) for position, one in shown.numbered] == [
        (1, "user", "The backup runs at 03:30."),
        (2, "assistant", "Noted."),
    ]
    assert (added.added, answered.added, answered.counts.messages) == (1, 1, 2)
    assert [one["id"] for one in shown.as_dict()["events"]] == [*added.ids, *answered.ids]
    assert capsys.readouterr() == ("", "")


def test_a_transcript_comes_in_from_a_file_and_from_a_stream_once(opened: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "monday.txt"
    file.write_text(CHAT)
    first = sessions.import_transcript(opened, file, "restore")
    again = sessions.import_transcript(opened, io.BytesIO(CHAT.encode()), "restore", name="monday.txt")
    assert (first.added, first.format, again.added, again.known) == (2, "chat", 0, 2)


def test_a_session_is_found_in_the_first_of_several_workspaces_that_has_it(mem: Mem, world: Path) -> None:
    mem("init", "one")
    mem("init", "two")
    both = [open_workspace(world / name) for name in ("one", "two")]
    said(both[1], "s1", "Only there.")
    where, session = sessions.find_session(both, "s1")
    assert (where.root, session.id) == (both[1].root, "s1")
    with pytest.raises(NotFoundError):
        sessions.show(both, "s2")


def test_memories_go_out_and_come_back_byte_for_byte(mem: Mem, workspace: Path, world: Path) -> None:
    mem("write", "--no-dedup", "The staging port is 8443.", "--tag", "infra")
    mem("write", "--no-dedup", "User likes tea.", "--type", "preference")
    pieces: list[str] = []
    done = transfer.export(open_workspace(workspace), pieces.append, choice=Choice(kind=["entry"]))
    assert (done.files, done.file, done.problems) == (2, "", ())
    mem("init", "other")
    other = open_workspace(world / "other")
    lines: list[transfer.ImportedLine] = []
    came = transfer.import_memories(other, io.BytesIO("".join(pieces).encode()), on_line=lines.append)
    assert came.counts == {"created": 2}
    assert [line.path for line in lines] == [line.path for line in came.files]
    assert all((workspace / one.path).read_bytes() == (other.root / one.path).read_bytes() for one in came.files)


@pytest.mark.parametrize("name", ["monday.txt", "talks/monday.txt", "./monday.txt"])
def test_a_file_that_cannot_be_read_is_named_as_the_caller_named_it(opened: Workspace, name: str) -> None:
    for bring_in in (sessions.import_transcript, transfer.import_memories):
        with pytest.raises(UsageError, match=f"^cannot read {name}: no such file"):
            bring_in(opened, name)
