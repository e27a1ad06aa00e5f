"""Records of other tools become entries."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memcli.formats.frontmatter import document as frontmatter
from memcli.store.layouts import CLAUDE, LAYOUTS, MEM
from memcli.transfer.foreign_memories import file_from_record, is_made_here

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)


def made(record: dict[str, Any]) -> tuple[str, dict[str, object], str]:
    file = file_from_record(record, MEM, NOW)
    document = frontmatter.parse(file.data.decode())
    assert document.problem is None
    return file.path, document.fields, document.body.strip("\n")


def test_an_entity_of_the_mcp_memory_server() -> None:
    path, fields, body = made(
        {
            "type": "entity",
            "name": "Teresa",
            "entityType": "person",
            "observations": ["keeps the books", "is away\nin August"],
        }
    )
    assert path.startswith("entries/imported/teresa-")
    assert (fields["type"], fields["title"], fields["tags"]) == ("entity", "Teresa", ["person"])
    assert body == "- keeps the books\n- is away in August"


def test_a_relation_of_the_mcp_memory_server() -> None:
    _, fields, body = made({"type": "relation", "from": "Teresa", "to": "Loja Azul", "relationType": "works_for"})
    assert (fields["type"], body) == ("fact", "Teresa works for Loja Azul")


def test_an_item_of_golemcore() -> None:
    _, fields, body = made(
        {
            "id": "0e4a9d9c-52d7",
            "layer": "PROCEDURAL",
            "type": "FIX",
            "title": "Flaky clock",
            "content": "Inject a Clock.",
            "tags": ["test"],
            "source": "turn:telegram:12345",
            "confidence": 0.88,
            "salience": 0.6,
            "ttlDays": 30,
            "createdAt": "2026-02-06T09:31:00Z",
            "lastAccessedAt": None,
            "references": ["a/b.java"],
            "fingerprint": "5511dd20",
        }
    )
    assert body == "Inject a Clock."
    assert fields["id"] == "0e4a9d9c-52d7"
    assert (fields["type"], fields["title"], fields["confidence"]) == ("lesson", "Flaky clock", 0.88)
    assert (fields["created_at"], fields["expires_at"]) == ("2026-02-06T09:31:00Z", "2026-03-08T09:31:00Z")
    assert fields["metadata"] == {
        "layer": "PROCEDURAL",
        "ttlDays": 30,
        "fingerprint": "5511dd20",
        "source": "turn:telegram:12345",
    }


@pytest.mark.parametrize("key", ["content", "memory", "text", "body"])
def test_any_record_with_a_content(key: str) -> None:
    _, fields, body = made({key: "Likes tea.", "category": "preference", "created": "2026-01-05", "user_id": "u1"})
    assert (fields["type"], fields["created_at"], body) == ("preference", "2026-01-05T00:00:00Z", "Likes tea.")
    assert fields["metadata"] == {"user_id": "u1"}


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"content": ""},
        {"content": "  \n"},
        {"content": {"a": 1}},
        {"type": "entity", "observations": ["x"]},
        {"type": "relation", "from": "a", "to": "b"},
        {"messages": []},
    ],
)
def test_what_says_nothing_is_no_memory(record: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"it says nothing|neither a path nor a content"):
        file_from_record(record, MEM, NOW)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_same_record_has_the_same_name_at_any_time_and_in_any_layout(layout: Any) -> None:
    record = {"content": "Likes tea.", "metadata": {"a": 1}}
    first, later = (file_from_record(record, layout, moment) for moment in (NOW, datetime(2027, 1, 1, tzinfo=UTC)))
    assert first.path == later.path
    assert layout.kind_of(first.path) == "entry"
    assert is_made_here(first.path)
    assert file_from_record(record | {"content": "Likes tea"}, layout, NOW).path != first.path


def test_a_strange_id_is_not_taken_over() -> None:
    for strange in ("../../x", "a b", "", {"a": 1}, "x" * 200):
        _, fields, _ = made({"content": "Likes tea.", "id": strange})
        assert str(fields["id"]).startswith("mem_"), strange


def test_an_entry_for_claude_is_in_its_manner() -> None:
    text = file_from_record({"content": "Likes tea.", "type": "preference"}, CLAUDE, NOW).data.decode()
    assert text.startswith("---\nname: likes-tea\ndescription: Likes tea.\nmetadata: {node_type: memory, type: user}\n")


def test_a_life_beyond_the_last_year_never_ends() -> None:
    _, fields, _ = made({"content": "Tea at five.", "createdAt": "9999-12-31T00:00:00Z", "ttlDays": 30})
    assert "expires_at" not in fields


def test_fields_that_no_reader_would_take_are_refused() -> None:
    deep: object = 1
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ValueError, match="nested more than"):
        file_from_record({"content": "Tea at five.", "path_of": deep}, MEM, NOW)
