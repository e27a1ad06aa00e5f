"""A Python program keeps, changes and puts away memories: it is given values and errors, and nothing is printed."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memcli
from memcli.api import edit
from memcli.api.workspace import Workspace, open_workspace, open_workspaces
from memcli.api.write import NewEntry, write
from memcli.errors import NotFoundError, RefusedError, SwitchedOffError, UsageError
from tests.conftest import Mem
from tests.tables import cases

MORNING = datetime(2026, 3, 1, 7, 30, tzinfo=UTC)
SECRET = "ghp_" + "a8Kd02mQz71LxVbN4tYw9RcE5uHsJf3GiPoT"


@pytest.fixture
def place(workspace: Path, world: Path) -> Workspace:
    """Open a workspace as a program would, with an environment of its own."""
    environ = {"HOME": str(world), "XDG_STATE_HOME": str(world.parent / "home" / ".local" / "state"), "MEM_SEED": "1"}
    return open_workspace(workspace, environ=environ, now=MORNING)


@pytest.fixture(autouse=True)
def silence(capfd: pytest.CaptureFixture[str], place: Workspace) -> Iterator[None]:
    """Fail a test in which the library prints anything."""
    capfd.readouterr()
    yield
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def text_of(where: Workspace, path: str) -> str:
    return (where.root / path).read_text()


def stored(where: Workspace) -> dict[str, str]:
    files = (path for path in where.root.rglob("*.md") if ".mem" not in path.parts)
    return {path.relative_to(where.root).as_posix(): path.read_text() for path in files}


def test_the_package_opens_a_workspace_from_the_folder_a_program_is_in(place: Workspace, world: Path) -> None:
    assert memcli.open_workspace().root == place.root
    assert memcli.open_workspace(folder=world / "memory" / "entries").root == place.root
    assert [one.scope for one in open_workspaces()] == ["project"]
    assert not hasattr(memcli, "no_such_name")


def test_what_cannot_be_opened_is_an_error_of_its_own_kind(place: Workspace, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no workspace in"):
        open_workspace(folder=tmp_path, environ={"HOME": str(tmp_path)})
    with pytest.raises(UsageError, match="one workspace"):
        open_workspace(place.root, scope="all")
    with pytest.raises(UsageError, match="no scope 'everywhere'"):
        open_workspace(place.root, scope="everywhere")
    with pytest.raises(SwitchedOffError):
        open_workspace(place.root, environ={**place.environ, "MEM_MEMORY_ENABLED": "false"})


def test_clock_environment_and_folder_are_those_the_program_gives(
    place: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_NOW", "1999-01-01T00:00:00Z")
    monkeypatch.setenv("MEM_WRITE_SOURCE", "inferred")
    first = write(place, NewEntry("The kiln reaches 1,240 degrees."), dedup=False)
    assert "created_at: 2026-03-01T07:30:00Z" in text_of(place, first.path)
    assert "source: observed" in text_of(place, first.path)
    edit.forget(place, [first.id], purge=True)
    again = NewEntry("The kiln reaches 1,240 degrees.", source="user")  # what was purged is the user's alone to say
    assert write(place, again, dedup=False).id == first.id  # MEM_SEED of `place`
    beside = open_workspace(place.root, folder=place.root.parent, environ=place.environ, now=MORNING)
    monkeypatch.chdir(tmp_path)
    assert write(beside, NewEntry("Glazes dry overnight.", path="./memory/entries/glaze.md")).path == "entries/glaze.md"


@pytest.mark.parametrize(
    ("entry", "options", "words"),
    [
        (NewEntry("Ferries leave at nine.", tags=["sea", "timetable"]), {}, "--tag sea,timetable"),
        (NewEntry("Ferries leave at ten.", path="sea/at.md", title="Ferry"), {}, "--path sea/at.md --title Ferry"),
        (NewEntry("Ferries leave at noon.", type="preference"), {"dedup": False}, "--no-dedup -t preference"),
        (NewEntry("The pier is closed.", supersedes="OLD"), {}, "--supersedes OLD"),
        (NewEntry("The gate is shut.", id="OLD", metadata={"on": "Sunday"}), {}, "--id OLD --metadata on=Sunday"),
        (NewEntry("Tickets cost 14 euros.", key="ferry/price"), {}, "--key ferry/price"),
    ],
)  # fmt: skip
def test_a_program_and_the_command_get_the_same_document(
    mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch, entry: NewEntry, options: dict[str, Any], words: str
) -> None:
    documents = []
    for number in range(2):
        folder = world / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert mem("init").code == 0
        old = mem("write", "--no-dedup", "--key", "ferry/price", "Tickets cost 12 euros.", "--json").json["id"]
        if number:
            named = {key: old if getattr(entry, key) == "OLD" else getattr(entry, key) for key in ("id", "supersedes")}
            done = write(open_workspace(), NewEntry(**{**vars(entry), **named}), by="user", **options)
            documents.append(done.as_dict())
        else:
            told = words.replace("OLD", old).split()
            documents.append(mem("write", entry.text or "", *told, "--json").json)
        documents[-1].pop("workspace")
    assert json.loads(json.dumps(documents[1])) == documents[0]


@cases("told", "message")
def test_what_cannot_be_told_together_is_no_entry(told: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        NewEntry(**told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entry", "options", "error"),
    [
        (NewEntry("x", type="prefrence"), {}, UsageError),
        (NewEntry("x", trust="much"), {}, UsageError),
        (NewEntry("x", source="somebody"), {}, UsageError),
        (NewEntry("x", path="../../outside.md"), {}, RefusedError),
        (NewEntry("<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> theirs"), {}, RefusedError),
        (NewEntry("x", id="mem_0000000000000000"), {}, NotFoundError),
        (NewEntry("x", supersedes="nothing-of-the-kind"), {}, NotFoundError),
        (NewEntry("x", path="x.md"), {"judge": True}, UsageError),
        (NewEntry("x"), {"redact": True, "allow_secret": True}, UsageError),
        (NewEntry(f"the token is {SECRET}"), {}, RefusedError),
        (NewEntry("x", tags=[SECRET]), {}, RefusedError),
    ],
)
def test_what_is_refused_leaves_nothing_behind(
    place: Workspace, entry: NewEntry, options: dict[str, bool], error: type[Exception]
) -> None:
    before = stored(place)
    with pytest.raises(error):
        write(place, entry, **options)
    assert stored(place) == before


def test_a_text_that_changed_under_an_editor_is_not_lost(place: Workspace) -> None:
    one = write(place, NewEntry("The mill has four sails."))
    copy = edit.begin_edit(place, one.id)
    copy.file.write_text(copy.file.read_text().replace("four", "six"))
    edit.replace_words(place, one.id, "four", "five")
    with pytest.raises(RefusedError, match="kept in") as refused:
        edit.end_edit(copy)
    assert str(copy.file) in refused.value.message
    assert "six sails" in copy.file.read_text()
    assert "five sails" in text_of(place, one.path)
    copy.discard()
    fresh = edit.begin_edit(place, one.id)
    fresh.file.write_text(fresh.file.read_text().replace("five", "seven"))
    assert edit.end_edit(fresh).action == "updated"
    assert not fresh.file.exists()


def test_no_workspace_is_asked_for_where_the_current_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    os.rmdir(gone)
    with pytest.raises(UsageError, match="the current folder is gone"):
        open_workspace()
    monkeypatch.chdir(tmp_path)
