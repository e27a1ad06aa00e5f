"""What another tool no longer believes comes in as that, and what it computed does not come in at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.tables import cases

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
