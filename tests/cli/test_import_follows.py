"""Another tool's store, imported again, is followed, but not over what was done here."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_import_retired import jcode, store
from tests.conftest import Mem

PORT, RELEASES = "The staging port is 8080.", "Releases are cut by Rui."
LATER = "2026-02-01T00:00:00Z"


def taken(mem: Mem, *memories: dict[str, Any], code: int = 0) -> dict[str, int]:
    """Import a store of these memories; return how many of each became what."""
    ran = mem("import", "-", "--json", stdin=json.dumps(store(*memories), indent=2))
    assert ran.code == code, ran.err
    return {action: count for action, count in ran.json["counts"].items() if action != "unchanged"}


def statuses(mem: Mem) -> dict[str, str]:
    every = ("--status", "active", "--status", "superseded", "--status", "archived")
    return {
        row["id"]: row["status"] for row in mem("ls", *every, "--json").json["entries"] if "archive" not in row["path"]
    }


def test_a_later_change_and_a_retraction_of_the_store_come_in_and_are_undone(mem: Mem, workspace: Path) -> None:
    assert taken(mem, jcode("mem_1", PORT), jcode("mem_2", RELEASES)) == {"created": 2}
    over = jcode("mem_1", PORT, active=False, superseded_by="mem_3")
    said = jcode("mem_2", "Releases are cut by Ines.", updated_at=LATER, tags=["ops", "ship"])
    new = jcode("mem_3", "The staging port is 8081.")
    again = (over, said, new)
    assert taken(mem, *again) == {"created": 1, "updated": 2}
    assert statuses(mem) == {"mem_1": "superseded", "mem_2": "active", "mem_3": "active"}
    fields = mem("read", "mem_2", "--json").json["fields"]
    assert (fields["tags"], fields["updated_at"]) == (["ops", "ship"], LATER)
    assert "Ines" in mem("read", "mem_2").out
    assert "Rui" in mem("read", "mem_2", "--history").out
    assert [hit["id"] for hit in mem("search", "staging port", "--mode", "keyword", "--json").json["hits"]] == ["mem_3"]
    assert taken(mem, *again) == {}
    assert mem("check").code == 0
    assert mem("undo").code == 0
    assert statuses(mem) == {"mem_1": "active", "mem_2": "active"}
    assert "Rui" in mem("read", "mem_2").out


def test_what_the_tool_only_counted_changes_no_file(mem: Mem, workspace: Path) -> None:
    taken(mem, jcode("mem_1", PORT))
    (file,) = (workspace / "entries").rglob("*.md")
    before = file.read_bytes()
    counted = jcode("mem_1", PORT, updated_at=LATER, access_count=40, strength=7, confidence=0.4)
    assert taken(mem, counted) == {}
    assert file.read_bytes() == before


def test_what_was_changed_here_later_is_a_conflict(mem: Mem, workspace: Path) -> None:
    taken(mem, jcode("mem_1", RELEASES))
    assert mem("edit", "mem_1", "--replace", "Rui", "Mara").code == 0
    assert taken(mem, jcode("mem_1", "Releases are cut by Ines.", updated_at=LATER), code=3) == {"conflict": 1}
    assert "Mara" in mem("read", "mem_1").out


def test_what_says_no_time_changes_nothing_that_stands(mem: Mem, workspace: Path) -> None:
    record = {"id": "x-1", "content": RELEASES}
    assert mem("import", "-", stdin=json.dumps(record)).code == 0
    ran = mem("import", "-", stdin=json.dumps({**record, "content": "Releases are cut by Ines."}))
    assert (ran.code, "says something else" in ran.err) == (3, True)
    assert "Rui" in mem("read", "x-1").out


def test_what_was_restored_or_forgotten_here_stays_so(mem: Mem, workspace: Path) -> None:
    taken(mem, jcode("mem_1", PORT), jcode("mem_2", RELEASES))
    over = jcode("mem_1", PORT, active=False)
    taken(mem, over, jcode("mem_2", RELEASES))
    assert mem("restore", "mem_1").code == 0
    assert mem("forget", "mem_2").code == 0
    assert taken(mem, over, jcode("mem_2", "Releases are cut by Ines.", updated_at=LATER)) == {}
    assert statuses(mem) == {"mem_1": "active"}
    assert mem("restore", "mem_2").code == 0
    assert "Rui" in mem("read", "mem_2").out


@pytest.mark.parametrize(
    "said", [{"active": False}, {"archived": True}, {"active": False, "superseded_by": "mem_9"}, {"status": "archived"}]
)
def test_restore_brings_back_what_came_in_as_over(mem: Mem, workspace: Path, said: dict[str, Any]) -> None:
    taken(mem, jcode("mem_1", PORT, **said))
    status = "archived" if "archived" in (*said, said.get("status")) else "superseded"
    assert statuses(mem) == {"mem_1": status}
    assert mem("restore", "mem_1").code == 0
    assert mem("search", "staging port", "--mode", "keyword").code == 0
    assert mem("restore", "mem_1").code != 0


def test_a_file_of_another_tool_that_is_off_is_superseded_and_restored(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir()
    (workspace / "entries/port.md").write_text(f"---\nid: mem_1\nactive: false # off\n---\n\n{PORT}\n")
    assert statuses(mem) == {"mem_1": "superseded"}
    assert mem("restore", "mem_1").code == 0
    assert statuses(mem) == {"mem_1": "active"}
    assert "active: false # off" in (workspace / "entries/port.md").read_text()


@pytest.mark.parametrize(
    ("said", "source", "trust"),
    [
        ({"trust_score": 0.95}, "user", 0.95),
        ({"trust_score": 0.7}, "observed", 0.7),
        ({"trustScore": 0.4}, "inferred", 0.4),
        ({"trust": 0.65}, "observed", 0.65),
        ({"trust_score": 85}, "observed", 0.7),
        ({"trust": "low"}, "inferred", 0.5),
        ({}, "observed", 0.7),
    ],
)
def test_a_score_of_trust_is_kept(
    mem: Mem, workspace: Path, said: dict[str, object], source: str, trust: float
) -> None:
    record = {key: value for key, value in jcode("mem_1", PORT).items() if key != "trust"} | said
    taken(mem, record)
    (row,) = mem("ls", "--json").json["entries"]
    assert (row["source"], row["trust"]) == (source, trust)


def test_the_command_says_what_states_more_trust_than_its_source_has(mem: Mem, workspace: Path) -> None:
    record = {"id": "x-1", "content": PORT, "source": "observed", "trust": 0.95}
    ran = mem("import", "-", stdin=json.dumps(record))
    assert "1 of source observed say more trust than it has: they count for 0.7" in ran.err
    assert "0.7" not in mem("import", "-", stdin=json.dumps(record)).err


def test_what_the_store_holds_again_is_in_use_again(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken(mem, jcode("mem_1", PORT), jcode("mem_2", RELEASES))
    taken(mem, jcode("mem_1", PORT, active=False), jcode("mem_2", RELEASES, active=False, superseded_by="mem_3"))
    assert statuses(mem) == {"mem_1": "superseded", "mem_2": "superseded"}
    monkeypatch.setenv("MEM_NOW", "2026-11-23T20:15:03Z")
    again = {"updated_at": "2026-11-22T00:00:00Z"}
    assert taken(mem, jcode("mem_1", PORT, **again), jcode("mem_2", RELEASES, **again)) == {"updated": 1}
    assert statuses(mem) == {"mem_1": "active", "mem_2": "superseded"}, "something took the place of the other one"
    assert mem("undo").code == 0
    assert statuses(mem)["mem_1"] == "superseded"
