"""Lines of an export, records of other tools and a document for people are read and written."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.frontmatter import document as frontmatter
from memcli.store.layouts import CLAUDE, LAYOUTS, MEM
from memcli.transfer import foreign_memories as module
from memcli.transfer.export import BundledFile, in_reading_order, lowered, packed, unpacked
from memcli.transfer.foreign_memories import file_from_record, is_made_here, record_lines
from tests.tables import cases

PARTS = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda part: not part.startswith(".")
)
PATHS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


@given(PATHS, st.binary(max_size=300), st.integers(0, 0o777))
def test_every_byte_comes_back(path: str, data: bytes, mode: int) -> None:
    line = packed(BundledFile(path, "entry", data, mode, "2026-11-21T20:15:03Z", {"tags": ["a"]}))
    assert "\n" not in line
    back = unpacked(json.loads(line))
    assert (back.path, back.kind, back.data, back.modified) == (path, "entry", data, "2026-11-21T20:15:03Z")
    assert back.mode == mode or {back.mode, mode} == {0o644, 0o664}


@given(st.text())
def test_text_is_readable_text(text: str) -> None:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    record = json.loads(packed(BundledFile("a.md", "note", data)))
    assert record["text"] == text


def test_what_is_no_text_is_base64() -> None:
    assert json.loads(packed(BundledFile("a.md", "note", b"\xff\xfe")))["base64"] == "//4="


def test_a_file_of_control_characters_does_not_swell_sixfold() -> None:
    data = b"\x01" * 100_000
    assert len(packed(BundledFile("a.md", "note", data))) < 2 * len(data)


def test_what_an_entry_says_cannot_pose_as_its_place() -> None:
    record = json.loads(packed(BundledFile("a.md", "entry", b"x", said={"path": "../b", "text": "y", "type": "fact"})))
    assert (record["path"], record["text"], record["type"]) == ("a.md", "x", "fact")


@cases("line", "words")
def test_a_wrong_line_says_what_is_wrong(line: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        unpacked(line)


def test_a_mode_grants_nothing_but_access() -> None:
    assert unpacked({"path": "a.md", "text": "", "mode": "4755"}).mode == 0o755


def read(data: bytes) -> list[tuple[int, object]]:
    return [
        (line.number, line.record if line.record is not None else line.fault) for line in record_lines(io.BytesIO(data))
    ]


def test_lines_are_numbered_and_blank_ones_passed_over() -> None:
    assert read(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"b": "\xc3\xa9"}') == [(1, {"a": 1}), (4, {"b": "é"})]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b'{"a": 1\n', "not JSON"),
        (b"hello\n", "not JSON"),
        (b"[1]\n", "no object"),
        (b"7\n", "no object"),
        (b'{"a": "\xff"}\n', "not UTF-8"),
        (b"[" * 100_000 + b"\n", "not JSON that can be read"),
        (b'{"path": "a.md", "te', "cut off"),
    ],
)
def test_a_broken_line_is_told_and_the_next_one_read(data: bytes, fault: str) -> None:
    ((number, said),) = read(data)
    assert number == 1
    assert fault in str(said)
    if data.endswith(b"\n"):
        assert read(data + b'{"a": 1}')[1:] == [(2, {"a": 1})]


def test_a_line_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 100)
    long = b'{"a": "' + b"x" * 500 + b'"}\n'
    found = read(b'{"a": 1}\n' + long + b'{"a": 2}\n' + long.rstrip())
    assert [number for number, _ in found] == [1, 2, 3, 4]
    assert [said for _, said in found][::2] == [{"a": 1}, {"a": 2}]
    assert "longer than" in str(found[1][1])
    assert "longer than" in str(found[3][1])


def test_a_line_as_long_as_allowed_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b'{"a": "' + b"x" * 90 + b'"}'
    monkeypatch.setattr(module, "LONGEST", len(line))
    assert read(line + b"\n" + line) == [(1, {"a": "x" * 90}), (2, {"a": "x" * 90})]


def test_headings_are_pushed_below_their_chapter() -> None:
    assert lowered("# A\n\n## B\ntext", 4) == "#### A\n\n##### B\ntext"
    assert lowered("### A\n# B", 4) == "###### A\n#### B"
    assert lowered("# A\n#### B", 4) == "#### A\n###### B"
    assert lowered("##### A", 4) == "##### A"


def test_what_only_looks_like_a_heading_stays() -> None:
    text = "#tag\n```sh\n# comment\n```\n####### seven\n~~~\n# x\n```\n# y\n~~~"
    assert lowered(text, 4) == text


def test_chapters_come_in_the_order_of_the_types() -> None:
    chosen = [
        ("HISTORY.md", "history"),
        ("HISTORY-2026-01.md", "history"),
        ("notes/2026-01-02.md", "note"),
        ("entries/z.md", "entry"),
        ("entries/y.md", "entry"),
        ("entries/x.md", "entry"),
        ("MEMORY.md", "memory"),
        ("sessions/a/session.jsonl", "session"),
    ]
    types = {"entries/z.md": "fact", "entries/y.md": "summary", "entries/x.md": "feedback"}
    assert [path for path, _ in in_reading_order(chosen, types)] == [
        "MEMORY.md",
        "entries/z.md",
        "entries/y.md",
        "entries/x.md",
        "notes/2026-01-02.md",
        "HISTORY-2026-01.md",
        "HISTORY.md",
    ]


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
    assert fields["metadata"] == {"user_id": "u1"} | ({"tool": "mem0"} if key == "memory" else {})


@cases("record")
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
