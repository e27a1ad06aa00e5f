"""Conversations and imports from a Python program: what a caller is given, and that nothing is printed."""

import io
import json
from pathlib import Path

import pytest

from memcli import open_workspace
from memcli.api import sessions, transfer
from memcli.api.choice import Choice
from memcli.api.workspace import Workspace
from memcli.errors import NotFoundError, RefusedError, UsageError
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


def test_without_a_name_each_call_begins_a_session_of_its_own(opened: Workspace) -> None:
    first = sessions.append(opened, '{"role": "user", "content": "One."}')
    second = sessions.append(opened, '{"role": "user", "content": "Two."}')
    listed = sessions.list_sessions(opened)
    assert {one.id for one in listed.sessions} == {first.session.id, second.session.id}
    assert {row["scope"] for row in listed.as_dict()["sessions"]} == {opened.scope}


@pytest.mark.parametrize(
    "event",
    [
        sessions.NewEvent("nobody", "Hello."),
        sessions.NewEvent("user", "Hello.", timestamp="soon"),
        "no JSON",
        "[]",
        [{"content": "said by nobody"}],
    ],
)
def test_what_is_no_event_is_refused_and_nothing_is_added(
    opened: Workspace, event: "sessions.NewEvent | str | list[dict[str, str]]"
) -> None:
    with pytest.raises(UsageError):
        sessions.append(opened, event, "s1")
    assert sessions.list_sessions(opened).sessions == ()


def test_a_secret_that_is_said_is_blanked_out_and_told(opened: Workspace) -> None:
    token = "ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
    done = sessions.append(opened, sessions.NewEvent("user", f"The token is {token}."), "s1")
    assert len(done.redacted) == 1
    assert token not in json.dumps(done.as_dict()) + json.dumps(sessions.show(opened, "s1").as_dict())


def test_a_transcript_comes_in_from_a_file_and_from_a_stream_once(opened: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "monday.txt"
    file.write_text(CHAT)
    first = sessions.import_transcript(opened, file, "restore")
    again = sessions.import_transcript(opened, io.BytesIO(CHAT.encode()), "restore", name="monday.txt")
    assert (first.added, first.format, again.added, again.known) == (2, "chat", 0, 2)


def test_a_folder_of_transcripts_is_imported_and_a_dry_run_leaves_everything(opened: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "talks"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.jsonl").write_text(json.dumps({"role": "user", "content": f"Talk {name}."}) + "\n")
    assert sessions.holds_many(opened, folder)
    planned = sessions.import_sessions(opened, folder, dry_run=True)
    assert sessions.list_sessions(opened).sessions == ()
    progress: list[tuple[int, int]] = []
    done = sessions.import_sessions(opened, folder, progress=lambda *numbers: progress.append(numbers))
    assert len(planned.sessions) == len(done.sessions) == len(sessions.list_sessions(opened).sessions) == 2
    assert progress[-1] == (2, 2)


def test_a_session_is_found_in_the_first_of_several_workspaces_that_has_it(mem: Mem, world: Path) -> None:
    mem("init", "one")
    mem("init", "two")
    both = [open_workspace(world / name) for name in ("one", "two")]
    said(both[1], "s1", "Only there.")
    where, session = sessions.find_session(both, "s1")
    assert (where.root, session.id) == (both[1].root, "s1")
    with pytest.raises(NotFoundError):
        sessions.show(both, "s2")


def test_figures_and_recap_of_a_session_are_typed(opened: Workspace) -> None:
    said(opened, "s1", "We moved staging to port 8443.", "Who restarts it?")
    told = sessions.stats(opened, "s1")
    assert (told.messages, told.waiting, told.passed) == (2, 2, "")
    assert told.as_dict()["soft_limit"] == told.soft_limit
    assert sessions.recap(opened).messages == 2
    assert sessions.recap(opened, "s1").as_dict()["said"]


def test_a_session_is_cleared_archived_and_deleted_for_good(opened: Workspace) -> None:
    said(opened, "s1", "Old words.")
    cleared = sessions.clear(opened, "s1")
    assert cleared.archived
    assert not sessions.show(opened, "s1").events
    said(opened, "s1", "New words.")
    assert sessions.delete(opened, "s1").action == "archived"
    assert [one.id for one in sessions.list_sessions(opened, archived=True).sessions] == ["s1", "s1"]
    with pytest.raises(RefusedError):
        sessions.delete(opened, "s1")
    gone = sessions.delete(opened, "s1", purge=True)
    assert (gone.action, sessions.list_sessions(opened, archived=True).sessions) == ("purged", ())


def test_compacting_a_short_session_does_nothing_unless_it_is_forced(opened: Workspace) -> None:
    said(opened, "s1", *(f"The number of house {number} is {number}." for number in range(30)))
    assert [done.moved for done in sessions.compact(opened, "s1").sessions] == [0]
    (done,) = sessions.compact(opened, "s1", keep=5, force=True).sessions
    assert done.moved == 25
    assert done.archived


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


def test_an_export_to_a_file_narrows_as_it_is_asked(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    mem("write", "--no-dedup", "The staging port is 8443.", "--tag", "infra")
    mem("write", "--no-dedup", "User likes tea.", "--type", "preference")
    file = tmp_path / "out.md"
    done = transfer.export(open_workspace(workspace), file, format="markdown", choice=Choice(tag=["infra"]))
    assert done.as_dict() == {"file": str(file), "files": 1, "problems": []}
    assert "8443" in file.read_text()
    assert "tea" not in file.read_text()


@pytest.mark.parametrize(
    ("target", "options", "error"),
    [
        ("out.csv", {"format": "csv"}, UsageError),
        (".", {}, UsageError),
        ("memory/entries/a.md", {}, RefusedError),
    ],
)
def test_an_export_that_would_do_harm_is_refused(
    workspace: Path, target: str, options: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        transfer.export(open_workspace(workspace), target, **options)


def test_what_is_wrong_with_a_line_stops_none_of_the_rest(workspace: Path) -> None:
    lines = b'junk\n{"content": "The cellar key is with Olga."}\n{"path": "../a.md", "text": "x"}\n'
    done = transfer.import_memories(open_workspace(workspace), io.BytesIO(lines), dedup=False)
    assert done.counts == {"refused": 2, "created": 1}
    assert [one.action for one in done.files] == ["refused", "created", "refused"]
    assert done.as_dict()["files"][0]["line"] == 1


@pytest.mark.parametrize("name", ["monday.txt", "talks/monday.txt", "./monday.txt"])
def test_a_file_that_cannot_be_read_is_named_as_the_caller_named_it(opened: Workspace, name: str) -> None:
    for bring_in in (sessions.import_transcript, transfer.import_memories):
        with pytest.raises(UsageError, match=f"^cannot read {name}: no such file"):
            bring_in(opened, name)
