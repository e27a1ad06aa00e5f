"""A Python program keeps, changes and puts away memories: it is given values and errors, and nothing is printed."""

import json
import os
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memcli
from memcli.api import edit, history
from memcli.api.workspace import Workspace, open_workspace, open_workspaces
from memcli.api.write import NewEntry, Written, write
from memcli.errors import NotFoundError, RefusedError, SwitchedOffError, UsageError
from tests.conftest import Mem

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


def test_the_same_words_are_confirmed_and_not_kept_twice(place: Workspace) -> None:
    first = write(place, NewEntry("Otters live below the weir."))
    again = write(place, NewEntry("otters live  below the weir"))
    assert (first.action, again.action, again.id, again.strength) == ("created", "merged", first.id, 2)
    assert write(place, NewEntry("Otters live below the weir."), dedup=False).action == "created"


def test_what_is_trusted_more_gives_way_to_the_user_alone(place: Workspace) -> None:
    said = write(place, NewEntry("Lunch is at noon.", source="user"))
    guess = write(place, NewEntry("Lunch is at one.", supersedes=said.id))
    assert (guess.supersedes, guess.conflicts_with) == ((), (said.id,))
    assert "trusted less" in guess.notices[0]
    sure = write(place, NewEntry("Lunch is at two.", supersedes=said.id), by="user")
    assert (sure.supersedes, sure.conflicts_with, sure.notices) == ((said.id,), (), ())


def test_a_key_has_one_value(place: Workspace) -> None:
    old = write(place, NewEntry("Staging listens on 8080.", key="staging/port"))
    new = write(place, NewEntry("Staging listens on 9090.", key="staging/port"), dedup=False)
    assert new.supersedes == (old.id,)
    assert f"superseded_by: {new.id}" in text_of(place, old.path)


def test_a_change_touches_what_is_told_and_nothing_else(place: Workspace) -> None:
    first = write(place, NewEntry("The gate opens inwards.", title="Gate", tags=("door", "yard")))
    done = write(place, NewEntry(id=first.id[-6:], title="", tags=["gate"]))
    text = text_of(place, done.path)
    assert (done.action, done.path) == ("updated", first.path)
    assert "title:" not in text
    assert "yard" not in text
    assert text.endswith("The gate opens inwards.\n")
    assert write(place, NewEntry(id=first.id, tags=["gate"])).action == "unchanged"


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({}, "nothing to remember"),
        ({"text": "x", "id": "mem_1", "path": "a.md"}, "an entry that is changed stays where it is"),
        ({"text": "x", "supersedes": "mem_1", "path": "a.md"}, "what supersedes an entry is a new one"),
    ],
)
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


def test_a_secret_is_blanked_out_and_told_or_kept_on_purpose(place: Workspace) -> None:
    blanked = write(place, NewEntry(f"Deploys log in with {SECRET} since May."), redact=True)
    assert SECRET not in text_of(place, blanked.path)
    assert [(one.name, one.line) for one in blanked.redacted] == [("the text", 1)]
    kept = write(place, NewEntry(f"Builds log in with {SECRET}."), allow_secret=True)
    assert SECRET in text_of(place, kept.path)
    with pytest.raises(RefusedError, match="looks like a secret"):
        edit.replace_words(place, blanked.id, "since May", f"and {SECRET}")
    done = edit.replace_words(place, blanked.id, "since May", f"and {SECRET}", redact=True)
    assert len(done.redacted) == 1
    assert SECRET not in text_of(place, done.path)


def test_results_cannot_be_changed_by_accident(place: Workspace) -> None:
    done: Written = write(place, NewEntry("Bees sleep at night."))
    with pytest.raises(FrozenInstanceError):
        done.id = "another"  # type: ignore[misc]


def test_words_are_replaced_where_they_stand_once(place: Workspace) -> None:
    one = write(place, NewEntry("The red door is the front door."))
    done = edit.replace_words(place, one.id, "red", "green")
    assert done.as_dict() == {"action": "updated", "id": one.id, "path": one.path}
    assert "green door" in text_of(place, one.path)
    for words in ("door", "window"):
        with pytest.raises(RefusedError):
            edit.replace_words(place, one.id, words, "gate")
    diff = f"--- {one.path}\n+++ {one.path}\n@@ -1 +1 @@\n-The green door is the front door.\n+The green door is new.\n"
    assert edit.apply_patch(place, one.path, diff).action == "updated"
    assert text_of(place, one.path).endswith("The green door is new.\n")


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


def test_one_entry_takes_the_place_of_another_and_comes_back(place: Workspace) -> None:
    old, new = (write(place, NewEntry(text), dedup=False) for text in ("Trams run hourly.", "Trams run at night only."))
    planned = edit.supersede(place, old.id, new.id, dry_run=True)
    assert planned.diff
    assert "superseded" not in text_of(place, old.path)
    done = edit.supersede(place, old.id, new.id)
    assert done.as_dict() == {
        "action": "superseded", "id": old.id, "superseded_by": new.id, "conflicts_with": [], "path": old.path,
    }  # fmt: skip
    assert edit.supersede(place, old.id, new.id).action == "unchanged"
    with pytest.raises(RefusedError, match="circle"):
        edit.supersede(place, new.id, old.id)
    with pytest.raises(UsageError, match="not an entry"):
        edit.supersede(place, "MEMORY.md", new.id)
    back = edit.restore(place, [old.id])
    assert [one.action for one in back.entries] == ["restored"]
    assert new.id in text_of(place, old.path)  # both are flagged
    assert any("flagged" in notice for notice in back.entries[0].notices)


def test_a_wrong_name_among_several_leaves_all_where_they_are(place: Workspace) -> None:
    ids = [write(place, NewEntry(text), dedup=False).id for text in ("Swans hiss.", "Geese honk.")]
    before = stored(place)
    with pytest.raises(NotFoundError):
        edit.forget(place, [*ids, "mem_0000000000000000"])
    assert stored(place) == before
    done = edit.forget(place, [ids[0], *ids])
    assert [(one.action, one.path.split("/")[0]) for one in done.entries] == [("archived", "archive")] * 2
    assert [text.count("forgotten_at: ") for text in stored(place).values()].count(1) == 2
    assert [one.action for one in edit.restore(place, ids).entries] == ["restored"] * 2
    assert stored(place) == before


def test_a_purge_goes_on_past_what_is_gone(place: Workspace) -> None:
    one = write(place, NewEntry("Moths like lamps."))
    done = edit.forget(place, ["mem_0000000000000000", one.id], purge=True)
    assert [each.action for each in done.entries] == ["purged"]
    assert [type(each.error) for each in done.failed] == [NotFoundError]
    assert [row["name"] for row in done.as_dict()["failed"]] == ["mem_0000000000000000"]
    assert not (place.root / one.path).exists()


def test_history_and_notes_are_added_and_read(place: Workspace) -> None:
    added = history.add_history(place, f"Moved the build to night; the old token was {SECRET}.")
    assert [one.rule for one in added.redacted] != []
    assert SECRET not in text_of(place, added.path)
    later = open_workspace(place.root, environ=place.environ, now=MORNING.replace(month=5))
    second = history.add_history(later, "Moved the build back.")
    found = history.read_history(later)
    assert [one.id for one in found.records] == [added.id, second.id]
    assert [one.id for one in history.read_history(later, since="2026-04").records] == [second.id]
    assert [one.id for one in history.read_history(later, until="2026-04").records] == [added.id]
    assert [one.id for one in history.read_history(later, limit=1).records] == [second.id]
    with pytest.raises(UsageError, match="since 'someday' is no date"):
        history.read_history(later, since="someday")
    noted = history.add_note(place, user="Which port?", assistant="8443.")
    assert noted.line in text_of(place, noted.path)
    for wrong in ({}, {"text": "a", "user": "b"}, {"text": "   "}):
        with pytest.raises(UsageError):
            history.add_note(place, **wrong)  # type: ignore[arg-type]


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
