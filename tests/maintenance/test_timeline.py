"""`mem read --history` knows who said a memory, where, and what became of it, from whatever is there to tell."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.scenes import commit, git

Items = list[dict[str, Any]]


def items(mem: Mem, *name: str) -> Items:
    ran = mem("read", *name, "--history", "--json")
    assert ran.code == 0, ran.err
    return ran.json["timeline"]


def told(found: Items, what: str) -> dict[str, Any]:
    (one,) = [one for one in found if one["what"] == what]
    return one


@pytest.fixture
def said(workspace: Path, mem: Mem, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the id of a memory that a conversation of three messages says in its second one."""
    for moment, role, text in (
        ("2026-11-21T10:00:00Z", "user", "Good morning."),
        ("2026-11-21T10:05:00Z", "user", "The backup runs at 03:30."),
        ("2026-11-21T10:06:00Z", "assistant", "Noted, thank you."),
    ):
        monkeypatch.setenv("MEM_NOW", moment)
        assert mem("session", "append", "--session", "talk", "--role", role, "--text", text).code == 0
    monkeypatch.setenv("MEM_NOW", "2026-11-21T12:00:00Z")
    words = ("The backup runs at 03:30.", "--origin", "session:talk#1:3", "--no-dedup", "--source", "user")
    return str(mem("write", *words, "--json").json["id"])


def test_the_message_that_said_it_is_told_from_those_around_it(said: str, mem: Mem) -> None:
    one = told(items(mem, said), "said")
    assert (one["by"], one["at"], one["place"]) == ("user", "2026-11-21T10:05:00Z", "session:talk#2")
    assert one["text"] == "The backup runs at 03:30."


def test_a_session_that_is_gone_is_said_to_be(said: str, mem: Mem, workspace: Path) -> None:
    shutil.rmtree(workspace / "sessions")
    assert "talk" in told(items(mem, said), "said")["text"]


def test_who_said_it_again_and_where_is_told(said: str, mem: Mem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_NOW", "2026-11-22T08:00:00Z")
    text = "Remember: the backup runs at 03:30!"
    assert mem("session", "append", "--session", "later", "--role", "user", "--text", text).code == 0
    again = ("The backup runs at 03:30", "--origin", "session:later#1", "--source", "user", "--json")
    assert mem("write", *again).json["action"] == "merged"
    found = items(mem, said)
    assert (told(found, "confirmed")["at"], told(found, "confirmed")["place"]) == (
        "2026-11-22T08:00:00Z",
        ".mem/access",
    )
    places = [one["place"] for one in found if one["what"].startswith("said")]
    assert places == ["session:talk#2", "session:later#1"]
    assert mem("decay", "--apply").code == 0
    assert told(items(mem, said), "said again")["place"] == "session:later#1"


def test_without_git_changes_supersedings_and_the_archive_are_known(
    workspace: Path, mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = mem("write", "The port is 8080.", "--no-dedup", "--json", "--source", "user").json["id"]
    monkeypatch.setenv("MEM_NOW", "2026-11-22T08:00:00Z")
    assert mem("edit", old, "--replace", "8080", "8081").code == 0
    monkeypatch.setenv("MEM_NOW", "2026-11-23T08:00:00Z")
    new = mem("write", "The port is 9090.", "--supersedes", old, "--json", "--source", "user").json["id"]
    assert mem("promote", new).code == 0
    found = items(mem, old)
    assert [(one["at"], one["what"]) for one in found] == [
        ("2026-11-21T20:15:03Z", "made"),
        ("2026-11-22T08:00:00Z", "changed"),
        ("2026-11-23T08:00:00Z", "superseded"),
    ]
    assert found[0]["text"] == "fact: The port is 8080."
    assert found[1]["lines"] == ["-The port is 8080.", "+The port is 8081."]
    assert new in found[2]["text"]
    shutil.rmtree(workspace / ".mem")  # all of which may be deleted
    later = items(mem, new)
    assert told(later, "replaced")["text"] == f"{old}: The port is 8081."
    assert told(later, "promoted")["place"] == "MEMORY.md"
    assert mem("forget", old).code == 0
    assert told(items(mem, old), "forgotten")["at"] == "2026-11-23T08:00:00Z"


def test_an_edit_by_another_takes_nobodys_words(workspace: Path, mem: Mem, monkeypatch: pytest.MonkeyPatch) -> None:
    one = mem("write", "The port is 8080.", "--no-dedup", "--json", "--source", "user").json["id"]
    monkeypatch.setenv("MEM_NOW", "2026-11-22T08:00:00Z")
    assert mem("edit", one, "--replace", "8080", "8081", "--source", "observed").code == 0
    found = items(mem, one)
    assert [(one["what"], one["by"]) for one in found[:2]] == [("made", "user"), ("changed", "observed")]


def test_each_commit_is_told_in_the_words_of_memory_wherever_the_file_lay(
    workspace: Path, world: Path, mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(world, "init", "-q")
    one = mem("write", "Tea is at five.", "--no-dedup", "--json", "--source", "user").json["id"]
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-22T01:00:00Z")
    commit(world, "learn")
    assert mem("promote", one).code == 0
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-22T02:00:00Z")
    commit(world, "always know it", who="Otto")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-22T03:00:00Z")
    path = workspace / mem("read", one, "--json").json["path"]
    path.write_text(path.read_text().replace("Tea is at five.", "Tea is at six."))
    commit(world, "late")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-22T04:00:00Z")
    assert mem("promote", "--demote", one).code == 0
    assert mem("forget", one).code == 0
    commit(world, "no more tea", who="Otto")
    commits = [one for one in items(mem, one) if one["place"].startswith("commit:")]
    assert [(one["what"], one["by"]) for one in commits if one["what"] != "demoted"] == [
        ("new", "Rita"),
        ("promoted", "Otto"),
        ("changed", "Rita"),
        ("forgotten", "Otto"),
    ]
    assert next(one for one in commits if one["what"] == "changed")["lines"] == ["-Tea is at five.", "+Tea is at six."]
    assert told(commits, "demoted")["by"] == "Otto"


def test_a_move_that_is_not_committed_yet_hides_no_commit(workspace: Path, world: Path, mem: Mem) -> None:
    git(world, "init", "-q")
    one = mem("write", "Tea is at five.", "--no-dedup", "--json").json["id"]
    commit(world, "learn")
    assert mem("forget", one).code == 0
    assert told(items(mem, one), "new")["text"] == "learn"


def test_times_of_all_zones_are_one_order(
    workspace: Path, world: Path, mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(world, "init", "-q")
    one = mem("write", "Tea is at five.", "--no-dedup", "--json").json["id"]
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-22T05:00:00+09:00")
    commit(world, "early in Tokyo")
    found = items(mem, one)
    assert [one["at"] for one in found] == sorted(one["at"] for one in found)
    assert told(found, "new")["at"] == "2026-11-21T20:00:00Z"


@pytest.mark.parametrize("author", ["\x1b[31mred", "tab\there", "<b>"])
def test_odd_names_and_subjects_stay_in_their_row(
    workspace: Path, world: Path, mem: Mem, author: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(world, "init", "-q")
    one = mem("write", "Tea is at five.", "--no-dedup", "--json").json["id"]
    git(world, "add", "-A")
    git(world, "commit", "-qm", "sub\tject\x1b[0m", who=author)
    rows = mem("read", one, "--history").rows
    assert all(len(row) == 5 for row in rows)
    assert "\x1b" not in mem("read", one, "--history").out


def test_history_counts_as_no_reading(workspace: Path, mem: Mem) -> None:
    one = mem("write", "Tea is at five.", "--no-dedup", "--json").json["id"]
    items(mem, one)
    assert "read" not in [item["what"] for item in items(mem, one)]
    assert mem("read", one).code == 0
    assert told(items(mem, one), "read")["text"].startswith("once")
