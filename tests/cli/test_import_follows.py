"""What another tool changed, took back or gave up is followed by an import."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.tables import cases

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


@pytest.mark.parametrize("changed", ["Rui", "tags: [ops]"])
def test_an_edit_by_hand_gives_way_to_what_the_tool_said_later_alone(mem: Mem, workspace: Path, changed: str) -> None:
    taken(mem, jcode("mem_1", RELEASES))
    (file,) = (workspace / "entries").rglob("*.md")
    file.write_text(file.read_text().replace(changed, "Mara" if changed == "Rui" else "tags: [rota]"))
    by_hand = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
    os.utime(file, (by_hand, by_hand))
    before = file.read_bytes()
    older = jcode("mem_1", "Releases are cut by Ines.", updated_at=LATER)
    assert taken(mem, older, code=3) == {"conflict": 1}
    assert file.read_bytes() == before
    newer = jcode("mem_1", "Releases are cut by Ines.", updated_at="2026-04-01T00:00:00Z")
    assert taken(mem, newer) == {"updated": 1}
    assert "Ines" in mem("read", "mem_1").out


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


@cases("said", "source", "trust")
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
    assert "1 memory says more trust than source observed has: 0.7 counts" in ran.err
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


VECTOR = [0.01 * at for at in range(384)]


def jcode(identifier: str, content: str, **more: Any) -> dict[str, Any]:
    """Give a memory as jcode keeps it."""
    return {
        "id": identifier,
        "category": "fact",
        "content": content,
        "tags": ["ops"],
        "search_text": content.lower(),
        "created_at": "2026-01-20T10:00:00.123456Z",
        "updated_at": "2026-01-21T10:00:00Z",
        "access_count": 3,
        "source": "session_fox_17",
        "trust": "medium",
        "strength": 1,
        "active": True,
        "reinforcements": [],
        "embedding": VECTOR,
        "embedding_model": "minilm-l6-v2",
        "confidence": 0.9,
        **more,
    }


def store(*memories: dict[str, Any]) -> dict[str, Any]:
    return {
        "graph_version": 2,
        "memories": {one["id"]: one for one in memories},
        "tags": {"ops": {"id": "tag:ops", "name": "ops", "count": 2}},
        "clusters": {},
        "edges": {"mem_2": [{"target": "mem_1", "kind": "supersedes"}]},
    }


OLD = jcode("mem_1", "The staging port is 8080.", active=False, superseded_by="mem_2")
NEW = jcode("mem_2", "The staging port is 8081.", trust="high", category="correction")
GONE = jcode("mem_3", "The kettle stands in the hall.", active=False)
OWN = jcode("mem_4", "Releases are cut by Rui.", category={"custom": "workflow"}, trust="low", strength=0)


@pytest.mark.parametrize("indent", [2, None, 4])
@pytest.mark.parametrize("shape", ["map", "list", "bare list", "entries"])
def test_the_store_of_jcode_is_read_as_it_lies_on_disk(mem: Mem, workspace: Path, indent: int, shape: str) -> None:
    graph = store(OLD, NEW, GONE, OWN)
    every = list(graph["memories"].values())
    document = {"map": graph, "list": {"memories": every}, "bare list": every, "entries": {"entries": every}}[shape]
    Path("global.json").write_text(json.dumps(document, indent=indent) + "\n")
    ran = mem("import", "global.json", "--no-dedup")
    assert ran.code == 0, ran.err
    assert len(ran.rows) == 4
    active = {row["id"]: row for row in mem("ls", "--json").json["entries"]}
    assert set(active) == {"mem_2", "mem_4"}
    assert (active["mem_2"]["type"], active["mem_2"]["source"]) == ("correction", "user")
    assert active["mem_4"]["source"] == "inferred"
    assert mem("import", "global.json", "--no-dedup").err.strip().endswith("4 unchanged")


@pytest.mark.parametrize("dedup", [(), ("--no-dedup",)])
def test_a_belief_that_was_given_up_does_not_come_back(mem: Mem, workspace: Path, dedup: tuple[str, ...]) -> None:
    lines = "".join(json.dumps(one) + "\n" for one in (OLD, NEW, GONE))
    assert mem("import", "-", *dedup, stdin=lines).code == 0
    hits = mem("search", "staging port", "--mode", "keyword", "--json").json["hits"]
    assert [hit["id"] for hit in hits] == ["mem_2"]
    assert mem("search", "kettle", "--mode", "keyword").code == 1
    by_id = {row["id"]: row for row in mem("ls", "--status", "superseded", "--json").json["entries"]}
    assert by_id["mem_1"]["superseded_by"] == "mem_2"


@cases("said")
def test_every_way_to_say_that_a_memory_is_off_is_understood(
    mem: Mem, workspace: Path, said: dict[str, object]
) -> None:
    record = {"id": "x-1", "content": "The kettle stands in the hall.", **said}
    assert mem("import", "-", "--no-dedup", stdin=json.dumps(record)).code == 0
    assert mem("search", "kettle", "--mode", "keyword").code == 1
    assert mem("ls", "--json").json["entries"] == []


@pytest.mark.parametrize(
    "said", [{"active": True}, {"deleted": False}, {"superseded_by": None}, {"active": None}, {"status": "active"}]
)
def test_what_is_believed_stays_so(mem: Mem, workspace: Path, said: dict[str, object]) -> None:
    record = {"id": "x-1", "content": "The kettle stands in the hall.", **said}
    assert mem("import", "-", "--no-dedup", stdin=json.dumps(record)).code == 0
    assert mem("search", "kettle", "--mode", "keyword").code == 0


@pytest.mark.parametrize(
    "said",
    [
        {"embedding": VECTOR},
        {"embeddings": [VECTOR]},
        {"content_embedding": VECTOR},
        {"vector": VECTOR},
        {"embeddingVector": VECTOR},
        {"weights": VECTOR},
        {"metadata": {"embedding": VECTOR, "channel": "ops"}},
        {"embedding": {"model": "m", "values": VECTOR}},
        {"embedding": "AAAA" * 400},
    ],
)
def test_no_vector_is_written_into_a_file(mem: Mem, workspace: Path, said: dict[str, object]) -> None:
    record = {"content": "The kettle stands in the hall.", "mood": "good", **said}
    assert mem("import", "-", "--no-dedup", stdin=json.dumps(record)).code == 0
    (file,) = (workspace / "entries").rglob("*.md")
    text = file.read_text()
    assert "0.01" not in text
    assert "AAAA" not in text
    assert len(text) < 600
    assert "mood: good" in text


def test_an_episodic_item_of_golemcore_is_an_episode(mem: Mem, workspace: Path) -> None:
    record = {
        "id": "e-1",
        "layer": "EPISODIC",
        "type": "TASK_STATE",
        "title": "Clock test",
        "content": "Mended the flaky clock test.",
        "createdAt": "2026-02-06T09:31:00Z",
    }
    fact = {**record, "id": "s-1", "layer": "SEMANTIC", "content": "The clock test reads the wall clock."}
    lines = "".join(json.dumps(one) + "\n" for one in (record, fact))
    assert mem("import", "-", "--no-dedup", stdin=lines).code == 0
    found = {row["id"]: row["type"] for row in mem("ls", "--json").json["entries"]}
    assert found == {"e-1": "episode", "s-1": "observation"}


@pytest.mark.parametrize("text", ['{\n  "memories": {\n', '{\n  "servers": []\n}\n', "[\n  1,\n  2\n]\n"])
def test_a_document_without_memories_is_one_complaint(mem: Mem, workspace: Path, text: str) -> None:
    ran = mem("import", "-", stdin=text)
    assert ran.code == 3
    assert len(ran.err.strip().splitlines()) == 2
    assert "no document with memories" in ran.err


def test_the_mcp_memory_servers_older_file_is_read(mem: Mem, workspace: Path) -> None:
    document = {
        "entities": [{"name": "Teresa", "entityType": "person", "observations": ["keeps the books"]}],
        "relations": [{"from": "Teresa", "to": "Loja Azul", "relationType": "works_for"}],
    }
    ran = mem("import", "-", "--no-dedup", stdin=json.dumps(document, indent=2))
    assert ran.code == 0, ran.err
    assert {row["type"] for row in mem("ls", "--json").json["entries"]} == {"entity", "fact"}
