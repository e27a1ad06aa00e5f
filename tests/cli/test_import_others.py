"""What other memory tools have comes in: known by its content, once, with where it comes from."""

import gzip
import json
import os
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.sample import in_turn

MEM0 = {
    "count": 2,
    "next": None,
    "previous": None,
    "results": [
        {
            "id": "3c90c3cc-0d44-4b50-8888-8dd25736052a",
            "memory": "Prefers tea to coffee",
            "user_id": "alex",
            "agent_id": None,
            "hash": "5f2b1c0c",
            "categories": ["food", "drinks"],
            "metadata": {"app": "kitchen"},
            "created_at": "2026-01-07T05:31:56.123456-08:00",
            "updated_at": None,
        },
        {
            "id": "4c90c3cc-0d44-4b50-8888-8dd25736052b",
            "memory": "Works from Porto on Fridays",
            "user_id": "alex",
            "score": 0.4,
            "created_at": 1767225600,
            "expiration_date": "2027-12-31",
        },
    ],
    "relations": [{"source": "alex", "relationship": "works_in", "target": "porto"}],
}
HISTORY = [
    {
        "id": "h1",
        "memory_id": "m-1",
        "old_memory": None,
        "new_memory": "Lives in Lisbon",
        "event": "ADD",
        "created_at": "2026-01-01T00:00:00Z",
    },
    {
        "id": "h2",
        "memory_id": "m-1",
        "old_memory": "Lives in Lisbon",
        "new_memory": "Lives in Braga",
        "event": "UPDATE",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-02-01T00:00:00Z",
    },
    {
        "id": "h3",
        "memory_id": "m-2",
        "old_memory": "Has a cat",
        "new_memory": None,
        "event": "DELETE",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-03-01T00:00:00Z",
        "is_deleted": 1,
    },
]
OPENMEMORY = {
    "user": {"id": "u-1", "user_id": "alex"},
    "apps": [{"id": "a-1", "name": "cursor"}],
    "categories": [{"id": "c-1", "name": "health"}],
    "memories": [
        {
            "id": "om-1",
            "user_id": "u-1",
            "app_id": "a-1",
            "content": "Runs on Tuesdays",
            "state": "active",
            "category_ids": ["c-1"],
            "created_at": "2026-01-01T00:00:00+00:00",
        },
        {"id": "om-2", "user_id": "u-1", "content": "Smokes", "state": "deleted", "category_ids": []},
    ],
    "status_history": [],
}
NOTE = """---
title: Coffee Brewing
type: note
permalink: kitchen/coffee-brewing
tags: [coffee]
created: 2026-02-01T10:00:00+01:00
---

# Coffee Brewing

- [method] Pour over brings out the acidity #filter (tried it)
- [ ] buy beans #errand

- relates_to [[Coffee Brewing]]
"""
AGENT_MEMORY = """---
id: 20260812-ask-before-push-pf3d
name: ask-before-push
type: feedback
scope: here
description: Ask before every git push
created: 2026-08-12T15:40:00+08:00
source:
  tool: claude-code
  session_id: f28c105d-1fb1-4c23-90c1-92cfd3ac94af
  git_remote: git.example.com/shop-web
---
Ask Alex before every `git push`.

**Why:** a force-push once overwrote a commit.
"""
CLAUDE_MEMORIES = {
    "conversations_memory": "**Work context**\n\nAlex is a backend engineer.\n\n**Personal**\n\nKeeps bees.",
    "project_memories": {"p-1": "The beds face south."},
    "memory_files": [{"path": "/profile.md", "content": "- Metric units", "updated_at": "2026-09-11T08:28:30.5Z"}],
    "account_uuid": "0198aaaa-0000-7000-8000-000000000001",
}
CLAUDE_PROJECT = {
    "uuid": "p-1",
    "name": "Garden",
    "description": "",
    "prompt_template": "Answer in Portuguese.",
    "created_at": "2026-02-22T10:00:00Z",
    "updated_at": "2026-02-23T10:00:00Z",
    "docs": [],
}
CLAUDE_CONVERSATION = {
    "uuid": "c-1",
    "name": "Bees",
    "created_at": "2026-09-30T09:00:00Z",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "Do bees sleep?", "created_at": "2026-09-30T09:00:00Z"}
    ],
}


def chatgpt(*nodes: dict[str, Any]) -> dict[str, Any]:
    mapping = {message["id"]: {"id": message["id"], "parent": None, "message": message} for message in nodes}
    return {"id": "c-9", "title": "t", "create_time": 1767225600.5, "mapping": mapping, "current_node": nodes[0]["id"]}


BIO = {
    "id": "aaaa1111-0d44-4b50-8888-8dd25736052a",
    "author": {"role": "assistant"},
    "recipient": "bio",
    "create_time": 1767225600.0,
    "content": {"content_type": "text", "parts": ["Prefers Python for scripts."]},
}
LISTED = {
    "id": "m-0",
    "author": {"role": "system"},
    "create_time": 1767225601.0,
    "content": {
        "content_type": "model_editable_context",
        "model_set_context": "1. [2025-05-02]. Likes ice cream.\n\n2. [2025-05-03]. Prefers Python for scripts.",
    },
}
USER = {
    "id": "m-2",
    "author": {"role": "user"},
    "create_time": 1767225602.0,
    "content": {"content_type": "text", "parts": ["Write a script"]},
}
GRAPH = (
    '{"type":"entity","name":"Teresa","entityType":"person","observations":["keeps the books"]}\n'
    '{"type":"relation","from":"Teresa","to":"Loja Azul","relationType":"works_for"}\n'
)
TABLE = 'Id;Note;Labels;Created At;Mood\n1;"Runs; early";sport, health;27.11.2026;good\n2;Likes fado;music;soon;\n'


def zipped(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def entries(mem: Mem) -> dict[str, dict[str, Any]]:
    """Return the fields of every entry by its text, those that are no longer in use included."""
    every = ("--status", "active", "--status", "superseded", "--status", "archived")
    rows = mem("ls", *every, "--json").json["entries"]
    documents = [mem("read", row["id"], "--json").json for row in rows]
    return {document["content"].strip(): {**document["fields"], "id": document["id"]} for document in documents}


def taken(mem: Mem, file: object, *options: str, code: int = 0) -> dict[str, int]:
    """Import a file, dry first; return how many became what, which is what the dry run told."""
    dry = mem("import", str(file), *options, "--dry-run", "--json")
    ran = mem("import", str(file), *options, "--json")
    assert ran.code == dry.code == code, ran.err
    assert dry.json["counts"] == ran.json["counts"]
    return ran.json["counts"]


CASES: dict[str, tuple[dict[str, str], dict[str, dict[str, Any]]]] = {
    "mem0": (
        {"x": json.dumps(MEM0)},
        {
            "Prefers tea to coffee": {
                "id": "3c90c3cc-0d44-4b50-8888-8dd25736052a",
                "tags": ["food", "drinks"],
                "created_at": "2026-01-07T13:31:56Z",
                "metadata": {"tool": "mem0", "user_id": "alex", "app": "kitchen"},
            },
            "Works from Porto on Fridays": {
                "created_at": "2026-01-01T00:00:00Z",
                "expires_at": "2027-12-31T00:00:00Z",
                "metadata": {"tool": "mem0", "user_id": "alex"},
            },
            "alex works in porto": {"metadata": {"tool": "mem0"}},
        },
    ),
    "mem0, pages": (
        {"x": json.dumps([{"results": MEM0["results"][:1]}, {"results": MEM0["results"][1:]}])},  # type: ignore[index]
        {"Prefers tea to coffee": {}, "Works from Porto on Fridays": {}},
    ),
    "mem0's history": (
        {"x": json.dumps(HISTORY)},
        {
            "Lives in Braga": {"id": "m-1", "updated_at": "2026-02-01T00:00:00Z", "metadata": {"tool": "mem0"}},
            "Has a cat": {"id": "m-2", "status": "archived"},
        },
    ),
    "OpenMemory's backup": (
        {"x": json.dumps(OPENMEMORY, indent=2)},
        {
            "Runs on Tuesdays": {
                "tags": ["health"],
                "metadata": {"tool": "mem0", "user_id": "u-1", "app_id": "cursor"},
            },
            "Smokes": {"status": "archived"},
        },
    ),
    "the graph of the MCP memory server": (
        {"x": GRAPH},
        {
            "- keeps the books": {"type": "entity", "title": "Teresa", "tags": ["person"]},
            "Teresa works for Loja Azul": {"metadata": {"tool": "MCP memory server"}},
        },
    ),
    "basic-memory": (
        {"kitchen/Coffee Brewing.md": NOTE, "README.md": "# A folder\n\nof notes.\n"},
        {
            NOTE.partition("---\n\n")[2].strip(): {
                "id": "kitchen:coffee-brewing",
                "title": "Coffee Brewing",
                "tags": ["coffee", "filter"],
                "created_at": "2026-02-01T09:00:00Z",
                "metadata": {"tool": "basic-memory", "tool_id": "kitchen/coffee-brewing"},
            }
        },
    ),
    "agent-memory-git": (
        {"memories/2026/08/20260812-ask-before-push-pf3d.md": AGENT_MEMORY, ".cache/index.json": "{}"},
        {
            AGENT_MEMORY.rpartition("---\n")[2].strip(): {
                "id": "20260812-ask-before-push-pf3d",
                "type": "constraint",
                "title": "Ask before every git push",
                "aliases": ["ask-before-push"],
                "project": "shop-web",
                "created_at": "2026-08-12T07:40:00Z",
            }
        },
    ),
    "Claude's export": (
        {
            "memories/u.json": json.dumps(CLAUDE_MEMORIES),
            "projects/p.json": json.dumps(CLAUDE_PROJECT),
            "users.json": json.dumps([{"uuid": "u", "full_name": "Alex"}]),
        },
        {
            "Alex is a backend engineer.": {"title": "Work context", "source": "inferred"},
            "Keeps bees.": {"metadata": {"tool": "Claude", "tool_id": "Personal"}},
            "The beds face south.": {"project": "Garden"},
            "- Metric units": {"updated_at": "2026-09-11T08:28:30Z"},
            "Answer in Portuguese.": {"type": "procedure", "source": "user", "project": "Garden"},
        },
    ),
    "ChatGPT's export": (
        {"conversations.json": json.dumps([chatgpt(USER), chatgpt(BIO, LISTED)])},
        {
            "Prefers Python for scripts.": {
                "id": "aaaa1111-0d44-4b50-8888-8dd25736052a",
                "created_at": "2026-01-01T00:00:00Z",
                "metadata": {"tool": "ChatGPT", "session": "c-9"},
            },
            "Likes ice cream.": {"created_at": "2025-05-02T00:00:00Z"},
        },
    ),
    "a table": (
        {"people.csv": TABLE},
        {
            "Runs; early": {
                "tags": ["sport", "health"],
                "created_at": "2026-11-27T00:00:00Z",
                "metadata": {"tool": "CSV", "tool_id": "1", "Mood": "good"},
            },
            "Likes fado": {"metadata": {"tool": "CSV", "tool_id": "2", "created_at": "soon"}},
        },
    ),
}


@pytest.mark.parametrize(("case", "form"), [*in_turn(list(CASES), ["folder"]), *in_turn(list(CASES), ["zip", "file"])])
def test_what_a_tool_has_comes_in_once_with_where_it_comes_from(
    mem: Mem, workspace: Path, tmp_path: Path, case: str, form: str
) -> None:
    files, expected = CASES[case]
    source = tmp_path / "theirs"
    for name, text in files.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if form == "zip":
        source = zipped(tmp_path / "theirs.zip", files)
    elif form == "file":
        if len([name for name in files if not name.startswith((".", "README"))]) > 1:
            pytest.skip("its memories are in more than one file")
        source = source / next(iter(files))
    assert taken(mem, source) == {"created": len(expected)}
    standing = entries(mem)
    assert set(standing) == set(expected)
    for text, fields in expected.items():
        assert {key: standing[text].get(key) for key in fields} == fields
        assert standing[text].get("metadata", {}).get("tool")
    before = {path: path.read_bytes() for path in workspace.rglob("*.md")}
    assert set(taken(mem, source)) == {"unchanged"}
    assert {path: path.read_bytes() for path in workspace.rglob("*.md")} == before
    assert mem("check").code == 0


def test_a_packed_backup_and_other_encodings_are_read(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    lines = json.dumps(
        {"id": "om-3", "content": "Cycles to work", "state": "active", "app": "cursor", "categories": []}
    )
    (tmp_path / "memories.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert taken(mem, tmp_path / "memories.jsonl.gz") == {"created": 1}
    (tmp_path / "wide.tsv").write_bytes("text\tdate\nCanta fado às terças\tNov 27, 2026\n".encode("utf-16"))
    assert taken(mem, tmp_path / "wide.tsv") == {"created": 1}
    (tmp_path / "marked.csv").write_bytes("\ufefftext,tags\nBebe chá,a|b\n".encode())
    assert taken(mem, tmp_path / "marked.csv") == {"created": 1}
    (tmp_path / "old.csv").write_bytes("text,tags\nJoão toca viola,x\n".encode("latin-1"))
    ran = mem("import", str(tmp_path / "old.csv"))
    assert "not UTF-8: it is read as Latin-1" in ran.err
    (tmp_path / "old.csv.gz").write_bytes(gzip.compress("text,tags\nInês dança,x\n".encode("latin-1")))
    ran = mem("import", str(tmp_path / "old.csv.gz"))
    assert "not UTF-8: it is read as Latin-1" in ran.err
    assert {"Cycles to work", "Canta fado às terças", "Bebe chá", "João toca viola", "Inês dança"} == set(entries(mem))


def test_columns_are_named_where_the_header_does_not_say(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    table = tmp_path / "odd.csv"
    table.write_text("who,what,when\nKate,Lives in Braga,2026-01-05\nRui,Cuts the releases\nAna,too,many,cells\n")
    ran = mem("import", str(table))
    assert (ran.code, "--map text=who" in ran.err) == (2, True)
    assert mem("import", str(table), "--map", "text=wat").code == 2
    assert mem("import", str(table), "--map", "txet=what").code == 2
    counts = taken(mem, table, "--map", "text=what,title=who,created_at=when", code=3)
    assert counts == {"created": 2, "refused": 1}
    assert entries(mem)["Lives in Braga"]["title"] == "Kate"
    assert entries(mem)["Lives in Braga"]["created_at"] == "2026-01-05T00:00:00Z"
    ran = mem("import", str(table), "--map", "text=what", "--dry-run")
    assert "kept as metadata: 'who', 'when' (--map FIELD=who makes a field of one)" in ran.err


def test_a_later_export_is_followed_and_what_was_changed_here_stays(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    """The graph and Claude's memories name no dates: they are as old as their file."""
    graph, export = tmp_path / "memory.jsonl", tmp_path / "claude.json"
    graph.write_text(GRAPH)
    export.write_text(json.dumps([CLAUDE_MEMORIES]))
    for path in (graph, export):
        os.utime(path, (1767225600, 1767225600))
        taken(mem, path)
    identifier = entries(mem)["Keeps bees."]["id"]
    assert mem("edit", identifier, "--replace", "bees", "goats").code == 0
    graph.write_text(GRAPH.replace('["keeps the books"]', '["keeps the books","sings"]'))
    export.write_text(json.dumps([CLAUDE_MEMORIES]).replace("Keeps bees", "Keeps hens").replace("backend", "data"))
    for path in (graph, export):
        os.utime(path, (1769904000, 1769904000))
    assert taken(mem, graph) == {"updated": 1, "unchanged": 1}
    assert taken(mem, export, code=3) == {"updated": 1, "conflict": 1, "unchanged": 2}
    assert {"- keeps the books\n- sings", "Alex is a data engineer.", "Keeps goats."} <= set(entries(mem))


def test_an_id_that_another_memory_has_loses_neither(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    assert mem("write", "The port is 8080.", "--no-dedup").code == 0
    ours = next(iter(entries(mem).values()))["id"]
    records = [
        {"id": ours, "memory": "Likes olives", "user_id": "a"},
        {"id": "t-1", "memory": "Likes rain", "user_id": "a"},
        {"id": "t-1", "memory": "Owns a boat", "user_id": "a"},
        {"id": "t-2", "memory": "Lives in Faro", "user_id": "a", "updated_at": "2026-01-01T00:00:00Z"},
        {"id": "t-2", "memory": "Lives in Évora", "user_id": "a", "updated_at": "2026-02-01T00:00:00Z"},
        {"id": "t-2", "memory": "Lives in Beja", "user_id": "a", "updated_at": "2025-02-01T00:00:00Z"},
    ]
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"results": records}))
    assert taken(mem, path) == {"created": 4, "updated": 1, "left out": 1}
    standing = entries(mem)
    assert standing["The port is 8080."]["id"] == ours
    assert standing["Likes olives"]["metadata"]["tool_id"] == ours
    assert standing["Likes rain"]["id"] == "t-1"
    assert standing["Owns a boat"]["metadata"]["tool_id"] == "t-1"
    assert standing["Lives in Évora"]["id"] == "t-2"
    assert set(taken(mem, path)) == {"unchanged", "left out"}
    assert entries(mem) == standing


def test_a_conversation_is_told_where_it_belongs(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    export = tmp_path / "conversations.json"
    export.write_text(json.dumps([CLAUDE_CONVERSATION]))
    line = {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "hello"}}
    (tmp_path / "talk.jsonl").write_text(json.dumps({**line, "timestamp": "2026-01-01T00:00:00Z"}) + "\n")
    (tmp_path / "chat.txt").write_text("User: hello\nAssistant: hi\n")
    archive = zipped(tmp_path / "claude.zip", {"conversations.json": export.read_text()})
    for path in (export, archive, tmp_path / "talk.jsonl", tmp_path / "chat.txt"):
        ran = mem("import", str(path))
        assert (ran.code, f"`mem session import {path}`" in ran.err) == (2, True), ran.err
        assert mem("session", "import", str(path)).code == 0
    mixed = zipped(tmp_path / "both.zip", {"conversations.json": export.read_text(), "m.json": json.dumps(MEM0)})
    ran = mem("import", str(mixed))
    assert (ran.code, f"`mem session import {mixed}`" in ran.err) == (0, True)


def test_no_archive_leads_out_bursts_or_stops_the_rest(mem: Mem, workspace: Path, tmp_path: Path, world: Path) -> None:
    hostile = zipped(
        tmp_path / "x.zip",
        {"../../evil.json": '{"content": "evil"}', "/root.json": '{"content": "evil"}', "m.json": json.dumps(MEM0)},
    )
    ran = mem("import", str(hostile), "--json")
    assert (ran.code, ran.json["counts"]) == (0, {"created": 3})
    assert "leads out of" in ran.err
    assert not list(tmp_path.rglob("evil.json"))
    half = tmp_path / "half.zip"
    half.write_bytes(hostile.read_bytes()[:-40])
    bomb = zipped(tmp_path / "bomb.zip", {"conversations.json": b" " * (70 << 20)})
    damaged = tmp_path / "damaged.zip"
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("a.json", json.dumps({"content": "Whole and well", "id": "a"}))
        archive.writestr("b.json", json.dumps({"content": "Broken on the way", "id": "b"}))
    damaged.write_bytes(damaged.read_bytes().replace(b"Broken", b"Brokem", 1))
    locked = tmp_path / "locked.zip"
    data = bytearray(zipped(locked, {"conversations.json": "[]"}).read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = -1
        while (position := data.find(mark, position + 1)) >= 0:
            data[position + offset] |= 1
    locked.write_bytes(data)
    for path, words in ((half, "cut off"), (bomb, "would unpack to"), (locked, "needs a password")):
        for command in (("import",), ("session", "import")):
            ran = mem(*command, str(path))
            assert ran.code != 0
            assert words in ran.err
            assert "Traceback" not in ran.err
    ran = mem("import", str(damaged), "--json")
    assert (ran.code, ran.json["counts"]) == (3, {"created": 1, "refused": 1})
    packed = tmp_path / "half.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"content": "x"}\n' * 90)[:-20])
    assert "cut off" in mem("import", str(packed)).err


@pytest.mark.parametrize(
    ("case", "cut"), [*in_turn(list(CASES), [1, 7, 60, 200, 500]), *in_turn(list(CASES), [500, 200, 60])]
)
def test_half_a_file_is_refused_in_a_line_and_the_whole_comes_in_later(
    mem: Mem, workspace: Path, tmp_path: Path, case: str, cut: int
) -> None:
    files, expected = CASES[case]
    name, text = max(files.items(), key=lambda file: len(file[1]))
    path = tmp_path / Path(name).name
    path.write_text(text[:-cut] if cut < len(text) else "")
    ran = mem("import", str(path))
    assert ran.code in (0, 2, 3)
    assert "Traceback" not in ran.err
    path.write_text(text)
    assert mem("import", str(path)).code in (0, 3)
    assert {key for key in expected if key in entries(mem)} or len(files) > 1


def test_an_import_killed_at_any_moment_is_finished_by_the_next_one(
    mem: Mem, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.transfer import importer

    monkeypatch.setattr(importer, "TOGETHER", 2)
    records = [{"id": f"t-{n}", "memory": f"Wrote chapter {n} of book {n * 7}", "user_id": "a"} for n in range(9)]
    path = zipped(tmp_path / "x.zip", {"m.json": json.dumps({"results": records})})
    admitted = importer.admit_files

    class Killed(BaseException):
        pass

    left = [2]

    def dying(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return admitted(*arguments, **named)

    monkeypatch.setattr(importer, "admit_files", dying)
    with pytest.raises(Killed):
        mem("import", str(path))
    monkeypatch.setattr(importer, "admit_files", admitted)
    assert 0 < len(entries(mem)) < 9
    assert mem("import", str(path)).code == 0
    assert sorted(fields["id"] for fields in entries(mem).values()) == [f"t-{n}" for n in range(9)]


def test_what_is_no_text_and_a_folder_of_none_are_told(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "photo.json").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert "is no text" in mem("import", str(tmp_path / "photo.json")).err
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Idea.md").write_text("# Idea\n\nSee [[Other]].\n")
    ran = mem("import", str(tmp_path / "vault"))
    assert (ran.code, "mem init" in ran.err) == (2, True)
    ran = mem("import", str(tmp_path / "vault" / "Idea.md"))
    assert (ran.code, ran.err.count("\n"), "`mem write --file" in ran.err) == (2, 1, True)


def test_an_import_of_a_tool_is_undone(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(MEM0))
    taken(mem, path)
    assert mem("undo").code == 0
    assert entries(mem) == {}


LATE, LATER = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    "files",
    [
        {"a/notes.csv": "id,text\n1,Likes fado\n", "b/notes.csv": "id,text\n1,Owns a boat\n"},
        {
            "a.jsonl": json.dumps({"id": "1", "content": "Likes fado", "updated_at": LATE}),
            "b.jsonl": json.dumps({"id": "1", "content": "Owns a boat", "updated_at": LATER}),
        },
    ],
)
@pytest.mark.parametrize("is_whole", [True, False])
def test_rows_of_two_sources_with_one_number_are_two_memories(
    mem: Mem, workspace: Path, tmp_path: Path, files: dict[str, str], is_whole: bool
) -> None:
    source = tmp_path / "theirs"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    if is_whole or "a.jsonl" not in files:
        assert taken(mem, source) == {"created": 2}
    else:
        assert [taken(mem, source / name) for name in files] == [{"created": 1}] * 2
    assert set(entries(mem)) == {"Likes fado", "Owns a boat"}
    assert taken(mem, source) == {"unchanged": 2}


SECRET = "The gate code word is walrus."


def forget(mem: Mem) -> None:
    identifier = mem("write", SECRET, "--source", "observed").rows[0][1]
    assert mem("forget", identifier).code == 0


def packed(path: str, text: str, kind: str = "entry") -> str:
    return json.dumps({"path": path, "kind": kind, "text": text})


@pytest.mark.parametrize(
    ("line", "action"),
    [
        (json.dumps({"id": "k-2", "content": SECRET, "updated_at": LATER, "source": "observed"}), "forgotten"),
        (packed("entries/b.md", f"---\nid: [broken\n---\n{SECRET}\n"), "created"),
        (packed("entries/w.md", f"---\nid: w-1\nwordings:\n- {SECRET}\n---\n\nAna lives in Faro.\n"), "created"),
    ],
)
def test_no_import_brings_back_what_was_forgotten(
    mem: Mem, workspace: Path, tmp_path: Path, line: str, action: str
) -> None:
    (tmp_path / "k.jsonl").write_text(json.dumps({"id": "k-2", "content": "Ana likes tea", "updated_at": LATE}))
    taken(mem, tmp_path / "k.jsonl")
    forget(mem)
    assert mem("import", "-", "--json", stdin=line).json["counts"] == {action: 1}
    assert not [path for path in (workspace / "entries").rglob("*.md") if "walrus" in path.read_text()]


@pytest.mark.parametrize("is_another", [False, True])
def test_a_restore_that_was_cut_off_lets_nothing_in_that_was_forgotten_since(
    mem: Mem, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_another: bool
) -> None:
    from memcli.transfer.import_target import ImportTarget

    lines = [packed(f"entries/{n}.md", f"---\nid: n-{n}\nsource: observed\n---\n\n{text}\n")
             for n, text in enumerate(["Ana likes tea.", SECRET])]  # fmt: skip
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    make, left = ImportTarget.make, [1]

    class Killed(BaseException):
        pass

    def dying(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return make(*arguments, **named)

    monkeypatch.setattr(ImportTarget, "make", dying)
    with pytest.raises(Killed):
        mem("import", str(tmp_path / "x.jsonl"))
    monkeypatch.setattr(ImportTarget, "make", make)
    monkeypatch.setenv("MEM_NOW", "2026-11-23T20:15:03Z")
    forget(mem)
    if is_another:
        (tmp_path / "x.jsonl").write_text("\n".join([*lines, packed("entries/9.md", "Rui sings.")]))
    assert "was forgotten on" in mem("import", str(tmp_path / "x.jsonl")).err
    assert not [path for path in (workspace / "entries").rglob("*.md") if "walrus" in path.read_text()]
    assert not (workspace / ".mem/restoring").exists()


def test_one_bad_member_of_an_archive_stops_none_of_the_rest(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    inner = gzip.compress(zipped(tmp_path / "in.zip", {"x.json": "{}"}).read_bytes())
    archive = zipped(
        tmp_path / "x.zip",
        {"a.json": '{"content": "Likes fado"}', "b.gz": inner, "c.json": '{"content": "Owns a boat"}'},
    )
    assert taken(mem, archive, code=3) == {"created": 2, "refused": 1}
    assert set(entries(mem)) == {"Likes fado", "Owns a boat"}


def test_what_mem0_answers_that_it_deleted_arrives_as_archived(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    answer = [
        {"id": "a-1", "memory": "Likes hiking", "event": "ADD"},
        {"id": "a-2", "memory": "Smokes", "event": "DELETE"},
    ]
    (tmp_path / "added.json").write_text(json.dumps({"results": answer}))
    assert taken(mem, tmp_path / "added.json") == {"created": 2}
    assert [row["summary"] for row in mem("ls", "--json").json["entries"]] == ["Likes hiking"]
    (tmp_path / "log.json").write_text('{"content": "The table was emptied", "event": "DELETE"}')
    assert taken(mem, tmp_path / "log.json") == {"created": 1}
    assert len(mem("ls", "--json").json["entries"]) == 2


def test_an_empty_list_in_an_archive_is_no_fault(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", {"a.json": '{"content": "Likes fado"}', "message_feedback.json": "[]"})
    assert taken(mem, archive) == {"created": 1}
    (tmp_path / "none.json").write_text("[]")
    ran = mem("import", str(tmp_path / "none.json"))
    assert (ran.code, "holds no memories" in ran.err) == (0, True)


def test_pictures_in_a_data_export_keep_no_conversation_out(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    files = {"conversations.json": json.dumps([CLAUDE_CONVERSATION]), "a.png": b" " * (70 << 20)}
    assert mem("session", "import", str(zipped(tmp_path / "x.zip", files))).code == 0


def test_an_own_export_with_another_text_of_an_imported_memory_is_a_conflict(
    mem: Mem, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text('{"id": "k-1", "content": "Likes fado"}')
    taken(mem, tmp_path / "x.json")
    lines = mem("export").out
    assert mem("import", "-", stdin=lines).code == 0
    ran = mem("import", "-", "--json", stdin=lines.replace("Likes fado", "Likes jazz"))
    assert (ran.code, ran.json["counts"]["conflict"]) == (3, 1)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"x.csv": "text,metadata\nLikes fado,loud\n"}, {"Likes fado": {"tool": "CSV", "metadata": "loud"}}),
        ({"x.json": '{"content": "Likes fado", "metadata": "loud"}'}, {"Likes fado": {"metadata": "loud"}}),
        (
            {"x.json": '{"type": "entity", "name": "Ana", "observations": [{"content": "sings"}, "dances"]}'},
            {"- sings\n- dances": {"tool": "MCP memory server"}},
        ),
        ({"x.jsonl": '{"version": 1}\n{"content": "Likes fado", "a": 1}\n'}, {"Likes fado": {"a": 1}}),
    ],
)
def test_nothing_a_record_says_is_dropped(
    mem: Mem, workspace: Path, tmp_path: Path, files: dict[str, str], expected: dict[str, dict[str, Any]]
) -> None:
    (tmp_path / "theirs").mkdir()
    for name, text in files.items():
        (tmp_path / "theirs" / name).write_text(text)
    mem("import", str(tmp_path / "theirs"))
    assert {text: fields.get("metadata") for text, fields in entries(mem).items()} == expected


def deep(times: int) -> bytes:
    data = b'{"content": "x"}'
    for _ in range(times):
        data = gzip.compress(data)
    return data


def with_bad_lzma(path: Path) -> bytes:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.json", '{"content": "Likes fado and a long walk"}' * 9)
    data = bytearray(path.read_bytes())
    data[36 + 4 : 36 + 9] = b"\xff" * 5
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("sep.csv", 2, "a text that no tool's marks are in"),
        ("note.md", 0, ""),
        ("deep.gz", 5, "packed more than 3 times"),
        ("name.zip", 5, "cut off or damaged"),
        ("lzma.zip", 3, "cut off or damaged"),
        ("far.json", 0, ""),
    ],
)
def test_no_odd_file_ends_in_a_traceback(
    mem: Mem, workspace: Path, tmp_path: Path, name: str, code: int, words: str
) -> None:
    contents = {
        "sep.csv": b"sep=;",
        "note.md": b"---\npermalink: a\ntags: 5\n---\n\nLikes fado.\n",
        "deep.gz": deep(400),
        "name.zip": zipped(tmp_path / "u.zip", {"\u00e9.json": "{}"})
        .read_bytes()
        .replace("\u00e9".encode(), b"\xff\xfe"),
        "lzma.zip": with_bad_lzma(tmp_path / "l.zip"),
        "far.json": b'{"content": "Likes fado"}',
    }
    (tmp_path / name).write_bytes(contents[name])
    if name == "far.json":
        os.utime(tmp_path / name, (1e12, 1e12))
    ran = mem("import", str(tmp_path / name))
    assert (ran.code, words in ran.err) == (code, True), ran.err
    assert "Traceback" not in ran.err


def test_a_table_is_mapped_and_json_is_not_and_an_unreadable_date_is_told(
    mem: Mem, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text('{"content": "Likes fado", "created_at": "soon"}')
    assert "a table has columns to map; " in mem("import", str(tmp_path / "x.json"), "--map", "text=content").err
    assert "1 unreadable date: dated as of 2026-" in mem("import", str(tmp_path / "x.json")).err
    assert "could not be read" not in mem("import", str(tmp_path / "x.json")).err


def test_names_of_imported_memories_are_found_in_a_time_that_grows_with_the_text() -> None:
    from memcli.transfer.import_target import _NAMED_SOURCE

    text = "import:x" + " " * 200_000 + "y, import:z"
    began = time.perf_counter()
    assert [match[1][:1] for match in _NAMED_SOURCE.finditer(text)] == ["x", "z"]
    assert time.perf_counter() - began < 1


def test_a_dry_run_lifts_nothing_that_was_forgotten(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget(mem)
    before = {path: path.read_bytes() for path in workspace.rglob("*.md")}
    monkeypatch.setenv("MEM_NOW", "2026-11-25T20:15:03Z")
    record = {"id": "u-1", "content": SECRET, "source": "user", "created_at": "2026-11-24T00:00:00Z"}
    for options in (["--dry-run"], []):
        ran = mem("import", "-", "--no-dedup", *options, "--json", stdin=json.dumps(record))
        assert ran.json["counts"] == {"created": 1}
        assert ({path: path.read_bytes() for path in workspace.rglob("*.md")} == before) == bool(options)


@pytest.mark.parametrize("form", ["file", "folder"])
def test_two_tables_of_one_name_share_no_ids_and_each_is_followed(
    mem: Mem, workspace: Path, world: Path, form: str
) -> None:
    def taken(folder: str, *rows: str) -> Mapping[str, int]:
        path = world / folder / "people.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("id,text,updated_at\n" + "".join(f"{row}\n" for row in rows))
        ran = mem("import", str(path if form == "file" else path.parent), "--no-dedup", "--json")
        assert ran.code == 0, ran.err
        return {**ran.json["counts"]}

    assert taken("left", "1,Likes fado,2026-01-01") == {"created": 1}
    assert taken("right", "1,Owns a boat,2026-02-01") == {"created": 1}
    assert taken("left", "1,Likes fado,2026-01-01") == {"unchanged": 1}
    assert taken("left", "1,Likes jazz,2026-03-01") == {"updated": 1}
    assert sorted(row[4] for row in mem("ls").rows) == ["Likes jazz", "Owns a boat"]


def test_a_page_that_begins_with_a_bracket_is_no_json(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "README.md").write_text("[![build](b.svg)](x) [link](y)\n\n[1]: z\n")
    (folder / "TODO.md").write_text("{{toc}}\n- [ ] water the beans\n")
    (folder / "a.json").write_text('[\n  {"content": "Likes fado"}\n]')
    ran = mem("import", str(folder), "--no-dedup")
    assert (ran.code, len(ran.rows)) == (0, 1)
    assert ran.err == "mem: files without memories in them: 2\nmem: 1 created\n"
    (folder / "a.json").write_text('[\n  {"content": "Likes')
    assert mem("import", str(folder), "--no-dedup").code == 3


def test_what_is_packed_may_unpack_to_no_more_than_the_bound(
    mem: Mem, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.formats.archive_members.MOST_BYTES", 1 << 20)
    line = b'{"content": "Likes fado"}\n'
    (tmp_path / "a.gz").write_bytes(gzip.compress(line * 100_000))
    zipped(tmp_path / "a.zip", {"a.jsonl": (line * 100_000).decode()})
    for name in ("a.gz", "a.zip"):
        ran = mem("import", str(tmp_path / name), "--no-dedup", "--dry-run")
        assert (ran.code, "would unpack to" in ran.err) == (3 if name == "a.gz" else 5, True), ran.err


NESTED = [
    {"metadata": {"env": [{"name": "DB_PASSWORD", "value": "k7Qz9!vRt2Lp"}]}},
    {"metadata": {"api": {"secret": {"value": "k7Qz9!vRt2Lp"}}}},
    {"metadata": {"api": {"token": ["k7Qz9!vRt2Lp"]}}},
    {"metadata": {"raw": json.dumps({"db": json.dumps({"password": "k7Qz9!vRt2Lp"})})}},
]


@pytest.mark.parametrize("fields", NESTED, ids=str)
def test_a_secret_in_whatever_depth_of_a_record_is_blanked_out(
    mem: Mem, workspace: Path, fields: dict[str, Any]
) -> None:
    ran = mem("import", "-", "--no-dedup", stdin=json.dumps({"content": "The shop has its settings here.", **fields}))
    assert (ran.code, " redacted" in ran.err) == (0, True)
    assert "k7Qz" not in "".join(path.read_text() for path in (workspace / "entries").rglob("*.md"))
