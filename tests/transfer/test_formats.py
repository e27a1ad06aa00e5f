"""Each format of other tools, from a small invented sample with the structure of the real files."""

import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memcli.api import add_gates
from memcli.errors import UsageError
from memcli.formats.entry import Entry
from memcli.formats.frontmatter import parse
from memcli.index.index import open_index
from memcli.store.workspace import Workspace
from memcli.transfer.files import read_file_entry
from memcli.transfer.importer import ImportResult, import_source
from memcli.transfer.items import TransferFile, open_source, read_date
from memcli.transfer.notes import render_bundle
from memcli.transfer.records import parse_columns
from tests.helpers import make_workspace

MEM0 = {
    "results": [
        {"id": "8c1f-1", "memory": "Is allergic to peanuts", "user_id": "ravi", "hash": "5f2b", "categories": ["food"], "created_at": "2025-06-20T20:37:33.5-07:00", "updated_at": "2025-07-01T00:00:00Z"},
        {"id": "8c1f-2", "memory": "Is allergic to peanuts", "user_id": "lena", "created_at": "2025-07-20T20:37:33Z", "expiration_date": "2031-01-01"},
        {"id": "8c1f-3", "memory": "Smokes", "user_id": "lena", "event": "DELETE"},
    ],
    "relations": [{"source": "ravi", "relationship": "works_in", "target": "porto"}],
}  # fmt: skip
JCODE = {
    "graph_version": 2,
    "memories": {
        "mem_1": {"id": "mem_1", "category": "fact", "content": "The staging port is 8080.", "tags": ["ops"], "search_text": "x", "created_at": "2026-01-20T10:00:00.1Z", "updated_at": "2026-01-20T10:00:00Z", "trust": "medium", "strength": 1, "active": False, "superseded_by": "mem_2", "embedding": [0.5] * 384},
        "mem_2": {"id": "mem_2", "category": "correction", "content": "The staging port is 8081.", "tags": ["ops"], "created_at": "2026-01-21T10:00:00Z", "updated_at": "2026-01-21T10:00:00Z", "trust": "high", "active": True, "confidence": 0.9},
        "mem_3": {"id": "mem_3", "category": {"custom": "workflow"}, "content": "Ines cuts the releases.", "tags": [], "created_at": "2026-01-22T10:00:00Z", "trust": "low", "active": True},
    },
    "tags": {"ops": {"id": "tag:ops", "count": 2}},
    "edges": {"mem_2": [{"target": "mem_1", "kind": "supersedes"}]},
}  # fmt: skip
GOLEMCORE = {
    "memory/MEMORY.md": "Build machine: forge, 16 cores.\n",
    "memory/2026-02-05.md": "[16:00] User: start the billing module | Assistant: done\n",
    "memory/items/semantic.jsonl": '{"id": "5d1c", "layer": "SEMANTIC", "type": "PROJECT_FACT", "title": "Port", "content": "PostgreSQL listens on 5433.", "tags": ["billing"], "source": "turn:telegram:1", "confidence": 0.91, "createdAt": "2026-02-05T15:42:10Z", "references": ["application.yaml"], "fingerprint": "9e8f"}\n',
    "memory/items/episodic/2026-02-06.jsonl": '{"id": "f3f4", "layer": "EPISODIC", "type": "TASK_STATE", "content": "The image stage is red.", "ttlDays": 30, "createdAt": "2026-02-06T09:00:00Z"}\n',
    "sessions/web:3f2a.json": '{"id": "web:3f2a", "messages": [], "state": "TERMINATED"}',
    "usage/2026-02.jsonl": '{"tokens": 12}\n',
}
JARVIS = {
    "memory/mem_abc123.md": "---\nid: mem_abc123\ntype: fact\ntags: [user_preference, settings]\ncreatedAt: 2024-01-01T00:00:00Z\n---\n\nUser prefers dark mode.\n",
    "memory/mem_9f02aa.md": "---\nid: mem_9f02aa\nactive: false\ncreatedAt: 2024-01-03T08:11:52.318Z\n---\n\nThe code hangs in the hall.\n",
    "memory/mem_0badc0.md": "---\nid: mem_0badc0\ntags: [water, [garden\n---\n\nThe valve leaks.\n",
}
NEOVATE = {
    "MEMORY.md": "# Long-term Memory\n\n- Reminders on Thursdays\n",
    "HISTORY.md": "\n## 2026-01-09T18:22:07.412Z\n[2026-01-09 19:22] Tomas set up the bot.\n\n## 2026-02-03T20:41:18.733Z\n[2026-02-03 21:41] Talk about the water bill.\n",
    "learnings/swedish-plurals.md": "---\ntopic: 'swedish plurals'\ntags: \"language, swedish\"\n---\nen lott, flera lotter.\n",
    "2025-12-20.md": "# 2025-12-20\n\n- First day of the bot.\n",
}
GRAPH = """{"type":"entity","name":"Teresa_Silva","entityType":"person","observations":["keeps the books","sings"]}
{"type":"relation","from":"Teresa_Silva","to":"Loja_Azul","relationType":"works_for"}
"""
BASIC_MEMORY = {
    "kitchen/Coffee Brewing.md": "---\ntitle: Coffee Brewing\ntype: note\npermalink: kitchen/coffee-brewing\ntags: [coffee]\ncreated: 2026-02-01T10:00:00+01:00\n---\n\n# Coffee Brewing\n\n- [method] Pour over brings out the acidity #filter\n- relates_to [[Tea]]\n",
}
OKF = {
    "index.md": '---\nokf_version: "0.2"\n---\n\n# Metrics\n\n* [Revenue](metrics/revenue.md) - Recognized revenue.\n',
    "log.md": "# Log\n\n## 2026-06-01\n* **Creation**: Added revenue.\n",
    "metrics/revenue.md": "---\ntype: Metric\ntitle: Revenue\nstatus: stable\nowner: finance\ngenerated: { by: agent/2, at: 2026-06-20T22:53:05Z }\nverified: { by: human:ana, at: 2026-06-25T09:00:00Z }\nstale_after: 2031-09-23\nsources:\n  - id: policy\n    resource: https://wiki.example/revenue\n---\n\nRevenue is booked when the parcel leaves.\n",
    "metrics/churn.md": "---\ntype: Metric\nstatus: deprecated\ntimestamp: 2026-05-01\n---\n\nChurn counts closed accounts.\n",
}
VAULT = {
    ".obsidian/app.json": "{}",
    "Daily/2026-01-05.md": "Planted the yew hedge.\n",
    "Projects/Harbour.md": "---\nstatus: in progress\naliases: [Dock]\ndate: 2026-03-01\n---\n\nThe harbour opens in May. See [[Dock]].\n",
    "Board.canvas": "{}",
}
TABLE = 'Id;Note;Labels;Created At;Mood\n1;"Runs; early";sport, health;27.11.2025;good\n2;Likes fado;music;soon;\n'


def build_files(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def build_zip(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def build_claude_mem(path: Path) -> Path:
    with sqlite3.connect(path) as database:
        database.executescript(
            """
            create table observations (id integer primary key, memory_session_id text, project text,
                text text, type text, title text, subtitle text, facts text, narrative text,
                concepts text, files_read text, files_modified text, prompt_number integer,
                discovery_tokens integer, created_at text, created_at_epoch integer);
            create table session_summaries (id integer primary key, memory_session_id text,
                project text, request text, investigated text, learned text, completed text,
                next_steps text, files_read text, files_edited text, notes text, created_at text,
                created_at_epoch integer);
            insert into observations values (1, 's', 'shop', null, 'bugfix', 'Cache race fixed',
                'Two workers wrote one file', '["The lock was missing"]', 'A lock was added.',
                '["gotcha"]', '[]', '["src/cache.py"]', 1, 9, '2026-03-04T05:06:07.000Z', 1);
            insert into session_summaries values (1, 's', 'shop', 'fix the cache', null,
                'locks are needed', 'the lock', null, null, null, null, null, 1772600767000);
            """
        )
    database.close()
    return path


def build_source(folder: Path, sample: Any) -> Path:
    if callable(sample):
        path: Path = sample(folder / "store.db")
        return path
    if isinstance(sample, str):
        path = folder / ("people.csv" if sample is TABLE else "memory.jsonl")
        path.write_text(sample)
        return path
    if all(isinstance(text, str) for text in sample.values()):
        return build_files(folder / "theirs", sample)
    path = folder / "export.json"
    path.write_text(json.dumps(sample, indent=2))
    return path


# Of each sample: how many memories, and what must survive of the one with these words.
CASES = {
    "mem0": (MEM0, 3, "Is allergic to peanuts", {"owner": "ravi", "created_at": "2025-06-21T03:37:33Z", "tags": ["food"]}),
    "jcode": (JCODE, 3, "The staging port is 8081.", {"type": "correction", "source": "inferred", "created_at": "2026-01-21T10:00:00Z"}),
    "golemcore": (GOLEMCORE, 3, "PostgreSQL listens on 5433.", {"title": "Port", "created_at": "2026-02-05T15:42:10Z", "confidence": 0.91}),
    "jarvis": (JARVIS, 3, "User prefers dark mode.", {"created_at": "2024-01-01T00:00:00Z", "tags": ["user_preference", "settings"]}),
    "neovate": (NEOVATE, 3, "- First day of the bot.", {"created_at": "2025-12-20T00:00:00Z"}),
    "MCP memory server": (GRAPH, 2, "- keeps the books", {"type": "entity", "title": "Teresa_Silva", "tags": ["person"]}),
    "basic-memory": (BASIC_MEMORY, 1, "- [method] Pour over", {"title": "Coffee Brewing", "created_at": "2026-02-01T09:00:00Z"}),
    "claude-mem": (build_claude_mem, 2, "A lock was added.", {"type": "lesson", "project": "shop", "created_at": "2026-03-04T05:06:07Z", "title": "Cache race fixed"}),
    "OKF": (OKF, 2, "Revenue is booked when the parcel leaves.", {"type": "metric", "owner": "finance", "source": "inferred", "created_at": "2026-06-20T22:53:05Z", "expires_at": "2031-09-23T00:00:00Z"}),
    "Obsidian": (VAULT, 2, "The harbour opens in May.", {"aliases": ["Dock"], "status": "active", "created_at": "2026-03-01T00:00:00Z"}),
    "CSV": (TABLE, 2, "Runs; early", {"tags": ["sport", "health"], "created_at": "2025-11-27T00:00:00Z"}),
}  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return add_gates(make_workspace(tmp_path))


def import_path(workspace: Workspace, path: Path, **columns: str) -> ImportResult:
    source = open_source(path, path.name)
    source.columns = columns
    return import_source(workspace, source)


def read_entries(workspace: Workspace) -> list[Entry]:
    """Return the memories in the order of their dates."""
    files = [
        TransferFile(entry.path, "entry", (workspace.root / entry.path).read_text())
        for entry in open_index(workspace).list_entries()
    ]
    return sorted(map(read_file_entry, files), key=lambda entry: entry.created_at)


@pytest.mark.parametrize("name", CASES)
def test_memories_keep_owner_and_dates_and_come_once(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    sample, count, words, expected = CASES[name]
    path = build_source(tmp_path, sample)
    result = import_path(workspace, path)
    assert result.imported["entry"] == count, result
    chosen = next(entry for entry in read_entries(workspace) if words in entry.body)
    found = {key: getattr(chosen, key) for key in expected}
    assert json.loads(json.dumps(found)) == expected
    files = {file: file.read_bytes() for file in workspace.root.rglob("*.md")}
    again = import_path(workspace, path)
    assert not again.imported and again.unchanged >= count, again
    assert {file: file.read_bytes() for file in workspace.root.rglob("*.md")} == files


@pytest.mark.parametrize("name", ["Obsidian", "golemcore", "OKF"])
def test_a_zip_is_read_like_its_folder(workspace: Workspace, tmp_path: Path, name: str) -> None:
    sample, count, *_ = CASES[name]
    inner = build_zip(
        tmp_path / "inner.zip", {f"theirs/{path}": text for path, text in sample.items()}
    )
    outer = tmp_path / "theirs.zip"
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(inner, "Part-1.zip")
    assert import_path(workspace, outer).imported["entry"] == count
    folder = build_files(tmp_path / "theirs", sample)
    assert not import_path(workspace, folder).imported


@pytest.mark.parametrize("top", ["", "backup/"])
def test_a_zip_of_an_export_keeps_its_folders(
    workspace: Workspace, tmp_path: Path, top: str
) -> None:
    files = {"entries/oak.md": "The oak is old.\n", "notes/2026-01-05.md": "[09:00] one\n"}
    packed = build_zip(tmp_path / "backup.zip", {f"{top}{path}": files[path] for path in files})
    result = import_path(workspace, packed)
    assert (result.format, result.imported) == ("markdown", {"entry": 1, "note": 1})
    assert all((workspace.root / path).read_text() == text for path, text in files.items())


def test_neovate_and_golemcore_bring_history_and_notes(
    workspace: Workspace, tmp_path: Path
) -> None:
    import_path(workspace, build_files(tmp_path / "a", NEOVATE))
    import_path(workspace, build_files(tmp_path / "b", GOLEMCORE))
    assert "Tomas set up the bot." in (workspace.root / "HISTORY-2026-01.md").read_text()
    assert "water bill" in (workspace.root / "HISTORY-2026-02.md").read_text()
    assert "start the billing" in (workspace.root / "notes/2026-02-05.md").read_text()


def test_what_the_other_tool_gave_up_is_not_active(workspace: Workspace, tmp_path: Path) -> None:
    import_path(workspace, build_source(tmp_path, JCODE))
    import_path(workspace, build_files(tmp_path / "okf", OKF))
    statuses = {entry.body: entry.status for entry in read_entries(workspace)}
    assert statuses["The staging port is 8080."] == "superseded"
    assert statuses["Churn counts closed accounts."] == "superseded"
    assert "embedding" not in "".join(path.read_text() for path in workspace.root.rglob("*.md"))


def test_a_later_export_replaces_what_the_tool_changed(
    workspace: Workspace, tmp_path: Path
) -> None:
    record = {
        "id": "1",
        "memory": "Lives in Lisbon",
        "user_id": "ana",
        "created_at": "2026-01-01T00:00:00Z",
    }
    path = tmp_path / "mem0.json"
    for text, day in (("Lisbon", "02"), ("Braga", "03"), ("Braga", "03"), ("Porto", "01")):
        changed = {**record, "memory": f"Lives in {text}", "updated_at": f"2026-02-{day}T00:00:00Z"}
        path.write_text(json.dumps([changed]))
        import_path(workspace, path)
    entries = {entry.body: entry.status for entry in read_entries(workspace)}
    assert entries == {"Lives in Lisbon": "superseded", "Lives in Braga": "active"}


def test_entities_with_dates_owners_and_the_same_name(workspace: Workspace, tmp_path: Path) -> None:
    entity = {"name": "Well", "entityType": "place", "createdAt": "2025-03-01T10:00:00Z"}
    lines = [
        {**entity, "observations": [{"text": "12 m deep", "timestamp": "2025-03-01"}]},
        {**entity, "observations": ["Dry in August"], "createdBy": "Rui"},
        {"from": "Well", "relationType": "fed_by", "to": "Rain", "createdAt": "2025-03-02"},
    ]
    path = tmp_path / "memory.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert import_path(workspace, path).imported == {"entry": 3}
    deep, dry, fed = sorted(read_entries(workspace), key=lambda entry: entry.body)
    assert (deep.body, dry.body, fed.body) == ("- 12 m deep", "- Dry in August", "Well fed by Rain")
    assert {deep.created_at, dry.created_at} == {"2025-03-01T10:00:00Z"}
    assert dry.metadata["createdBy"] == "Rui" and fed.created_at == "2025-03-02T00:00:00Z"
    assert import_path(workspace, path).unchanged == 3


def test_a_page_of_mem0_without_owners(workspace: Workspace, tmp_path: Path) -> None:
    record = {"id": "f4cb", "memory": "Prefers tea", "created_at": "2024-07-01T12:00:00Z"}
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"count": 1, "next": None, "results": [record]}, indent=1))
    import_path(workspace, path)
    assert read_entries(workspace)[0].metadata["tool"] == "mem0"


def test_a_memory_may_have_a_list_of_another_kind(workspace: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "memory.json"
    source.write_text('{"content": "Buy these for the picnic.", "items": ["milk", "plums"]}')
    import_path(workspace, source)
    assert [entry.body for entry in read_entries(workspace)] == ["Buy these for the picnic."]


def test_a_memory_may_name_its_session(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "memories.jsonl"
    record = {"content": "The kiln is in shed 2.", "sessionId": "s1", "userId": "ines"}
    path.write_text(json.dumps({**record, "timestamp": "2025-08-31T10:00:00Z"}) + "\n")
    import_path(workspace, path)
    (entry,) = read_entries(workspace)
    assert (entry.owner, entry.created_at) == ("ines", "2025-08-31T10:00:00Z")


GEMINI = {
    "sessionId": "g1",
    "projectHash": "x",
    "messages": [
        {"id": "1", "type": "user", "content": "Which kiln?"},
        {"id": "2", "type": "gemini", "content": "Kiln 2. " * 9000},
    ],
}
PLAIN = [{"role": "user", "content": "Which kiln?"}, {"role": "assistant", "content": "Kiln 2."}]


@pytest.mark.parametrize("document", [GEMINI, PLAIN, {"model": "m", "messages": PLAIN}])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_conversation_is_one_document(
    workspace: Workspace, tmp_path: Path, document: Any, indent: int | None
) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(document, indent=indent))
    assert import_path(workspace, path).imported == {"session": 1}
    (session,) = workspace.root.glob("sessions/*/session.jsonl")
    assert session.read_text().count("\n") == 2


def test_a_bundle_need_not_declare_its_version(workspace: Workspace, tmp_path: Path) -> None:
    files = {**OKF, "index.md": "# Subdirectories\n\n* [metrics](metrics/) - Numbers.\n"}
    result = import_path(workspace, build_files(tmp_path / "bundle", files))
    assert result.format == "okf" and result.imported == {"entry": 2}
    dates = [entry.expires_at for entry in read_entries(workspace)]
    assert dates == ["", "2031-09-23T00:00:00Z"]


@pytest.mark.parametrize(("source", "trust"), [("", 0.5), ("user", 1.0)])
def test_an_imported_memory_is_not_the_users_word(
    workspace: Workspace, tmp_path: Path, source: str, trust: float
) -> None:
    claim = {"source": "user", "trust": "high", "confidence": 1}
    note = "---\nsource: user\ntrust: 1\nmood: calm\n---\n\nThe kiln is cold.\n"
    files = {"a.jsonl": json.dumps({"memory": "Kiln 2.", "user_id": "a", **claim}), "b.md": note}
    opened = open_source(build_files(tmp_path / "claims", files), "claims")
    opened.memory_source = source
    import_source(workspace, opened)
    entries = open_index(workspace).list_entries()
    assert [(entry.trust, entry.source) for entry in entries] == [(trust, source or "inferred")] * 2
    assert "mood: calm" in (workspace.root / "entries/claims/b.md").read_text()


def test_a_dry_run_names_the_items(workspace: Workspace, tmp_path: Path) -> None:
    texts = ["Tea at four.", "The key is ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m"]
    path = tmp_path / "one-line.json"
    path.write_text(json.dumps([{"memory": text, "user_id": "a"} for text in texts]))
    result = import_source(workspace, open_source(path, path.name), is_dry_run=True)
    assert result.imported == {"entry": 1} and result.examples == ["Tea at four."]
    assert [item.place for item in result.rejected] == ["item 2"]
    assert "GitHub" in result.rejected[0].reason
    assert not open_index(workspace).list_entries()
    assert [item.place for item in import_path(workspace, path).rejected] == ["item 2"]


def test_unread_dates_and_the_column_with_the_text(workspace: Workspace, tmp_path: Path) -> None:
    table = tmp_path / "log.csv"
    table.write_text("Datum;Notiz\n09.04.2023 23:36:48;Kiln 2 is cold\nsoon;Kiln 3 is hot\n")
    with pytest.raises(UsageError) as raised:
        import_path(workspace, table)
    assert raised.value.hint.endswith("--map text=Notiz")
    result = import_path(workspace, table, text="Notiz", created_at="Datum")
    assert result.messages == ["line 3: cannot read created_at 'soon', so it was left out"]
    first, second = read_entries(workspace)
    assert first.created_at == "2023-04-09T23:36:48Z"
    assert second.metadata["created_at"] == "soon"
    table.write_text("09.04.2023;Kiln 2 is cold\n")
    with pytest.raises(UsageError) as raised:
        import_path(workspace, table)
    assert "first line" in raised.value.hint


def test_columns_are_named_by_the_user(workspace: Workspace, tmp_path: Path) -> None:
    table = tmp_path / "odd.csv"
    table.write_text("who,what,when\nKate,Lives in Braga,2026-01-05\nAna,too,many,cells\n")
    with pytest.raises(UsageError, match="no column with a known name: who, what, when"):
        import_path(workspace, table)
    with pytest.raises(UsageError, match="no column 'wat'"):
        import_path(workspace, table, text="wat")
    result = import_path(workspace, table, text="what", owner="who", created_at="when")
    assert result.imported == {"entry": 1} and [item.place for item in result.rejected] == [
        "line 3"
    ]
    lines = tmp_path / "odd.jsonl"
    lines.write_text('{"q": "Rui cuts the releases.", "by": "rui"}\n')
    import_path(workspace, lines, text="q", owner="by")
    owners = {entry.body: (entry.owner, entry.created_at[:10]) for entry in read_entries(workspace)}
    assert owners["Lives in Braga"] == ("Kate", "2026-01-05")
    assert owners["Rui cuts the releases."][0] == "rui"
    again = import_path(workspace, lines, text="q")
    assert again.messages[0].startswith("1 text already here with another owner")
    assert parse_columns(["text=a,tags=b", "title=c"]) == {"text": "a", "tags": "b", "title": "c"}
    with pytest.raises(UsageError):
        parse_columns(["txet=a"])


@pytest.mark.parametrize("build", [build_files, build_zip])
def test_columns_are_named_for_the_tables_of_a_folder(
    workspace: Workspace, tmp_path: Path, build: Callable[[Path, dict[str, str]], Path]
) -> None:
    files = {"people.csv": "who,what\nKate,Lives in Braga\n", "kiln.md": "The kiln is cold.\n"}
    import_path(workspace, build(tmp_path / "tables.zip", files), text="what", owner="who")
    owners = {entry.body: entry.owner for entry in read_entries(workspace)}
    assert owners == {"Lives in Braga": "Kate", "The kiln is cold.": ""}


def test_an_okf_bundle_conforms_and_comes_back(workspace: Workspace, tmp_path: Path) -> None:
    files = [
        TransferFile("entries/a.md", "entry", "---\nid: mem_01kajd3v7m4kq7tz\ntype: fact\nowner: ana\nsource: user\ncreated_at: 2026-01-05\nsources: [chat-1]\nexpires_at: 2031-01-01\n---\n\nThe oak is old.\n"),
        TransferFile("entries/b.md", "entry", "---\nid: mem_01kajd3v7m4kq7ty\ntype: fact\nsuperseded_by: mem_01kajd3v7m4kq7tz\n---\n\nThe oak is young.\n"),
        TransferFile("entries/log.md", "entry", "No frontmatter.\n"),
        TransferFile("entries/c.md", "entry", "---\ntags: [a\n---\n\nBroken.\n"),
        TransferFile("entries/d.md", "entry", "---\nid: mem_01kajd3v7m4kq7tx\ntype: fact\nforgotten_at: 2026-01-01\n---\n\nHidden.\n"),
    ]  # fmt: skip
    problems: list[str] = []
    bundle = {file.path: file.text for file in render_bundle(iter(files), problems)}
    assert list(bundle) == ["entries/a.md", "entries/b.md", "entries/log-note.md", "index.md"]
    assert len(problems) == 1 and "c.md:3" in problems[0]
    for path, text in bundle.items():
        assert path == "index.md" or parse(text).fields["type"]
    fields = parse(bundle["entries/a.md"]).fields
    assert fields["verified"] == [{"by": "human:ana", "at": "2026-01-05T00:00:00Z"}]
    assert fields["sources"] == [{"resource": "chat-1"}] and fields["stale_after"] == "2031-01-01"
    assert parse(bundle["entries/b.md"]).fields["status"] == "deprecated"
    import_path(workspace, build_files(tmp_path / "bundle", bundle))
    for file in files[:2]:
        assert (workspace.root / file.path).read_text() == file.text


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (1767225600, "2026-01-01T00:00:00Z"),
        ("1767225600000", "2026-01-01T00:00:00Z"),
        ("2026-01-01 10:00:00+01:00", "2026-01-01T09:00:00Z"),
        ("Nov 27, 2026", "2026-11-27T00:00:00Z"),
        ("27.11.2026 08:30", "2026-11-27T08:30:00Z"),
        ("Fri Nov 27 08:30:00 2026", "2026-11-27T08:30:00Z"),
        ("Thu, 01 Jan 2026 10:00:00 +0000", "2026-01-01T10:00:00Z"),
        ("03/04/2026", ""),
        ("soon", ""),
        (10**30, ""),
        (None, ""),
    ],
)
def test_dates_of_other_tools(value: object, stored: str) -> None:
    assert read_date(value) == stored


SETTINGS = {
    ".obsidian/templates.json": '{"folder": "F\u00f6rms/"}',
    ".obsidian/plugins/templater-obsidian/data.json": '{"templates_folder": "Bin/Tpl"}',
}


@pytest.mark.parametrize("build", [build_files, build_zip])
@pytest.mark.parametrize("vault", ["", "home/"])
def test_templates_of_a_vault_are_left_out(
    workspace: Workspace,
    tmp_path: Path,
    build: Callable[[Path, dict[str, str]], Path],
    vault: str,
) -> None:
    notes = {
        "Bin/Tpl/sub/Book.md": "---\ntitle: {{title}}\n---\n",
        "Bin/Tplate.md": "The bin is green.\n",
        "Fo\u0308rms/Day.md": "# {{date}}\n",  # as macOS writes it
        "Whales.md": "Whales sing.\n",
    }
    sample = {f"{vault}{path}": text for path, text in {**SETTINGS, **notes}.items()}
    source = build(tmp_path / "old vault.zip", {**sample, "readme.md": "Keep.\n"})
    result = import_path(workspace, source)
    texts = {entry.body for entry in read_entries(workspace)}
    assert texts == {"The bin is green.", "Whales sing.", "Keep."}
    left_out = f"{vault}Bin/Tpl/sub/Book.md; {vault}Fo\u0308rms/Day.md"
    assert result.messages == [f"2 files excluded by Obsidian left out: {left_out}"]


def test_a_folder_of_a_vault_follows_its_settings(workspace: Workspace, tmp_path: Path) -> None:
    sample = {
        ".obsidian/app.json": '{"userIgnoreFilters": ["Sub/Deep/"]}',
        ".obsidian/daily-notes.json": '{"folder": "Sub/J", "format": "DD.MM.YYYY"}',
        "Sub/Deep/Key.md": "The key is green.\n",
        "Sub/J/03.09.2026.md": "Whales sing.\n",
    }
    vault = build_files(tmp_path / "vault", sample)
    result = import_path(workspace, vault / "Sub")
    assert result.messages == ["1 file excluded by Obsidian left out: Deep/Key.md"]
    (entry,) = open_index(workspace).list_entries()
    assert (entry.summary, entry.created_at) == ("Whales sing.", "2026-09-03T00:00:00Z")
    (vault / ".obsidian/app.json").write_text("{")
    messages = import_path(workspace, vault / "Sub").messages
    assert ".obsidian/app.json cannot be read: it may exclude any note" in messages


@pytest.mark.parametrize("settings", ["{", "[]", '{"folder": "/"}', '{"folder": null}', "[" * 9999])
def test_a_vault_without_a_template_folder_is_whole(
    workspace: Workspace, tmp_path: Path, settings: str
) -> None:
    sample = {".obsidian/templates.json": settings, "Whales.md": "Whales sing.\n"}
    result = import_path(workspace, build_files(tmp_path / "vault", sample))
    assert result.imported == {"entry": 1} and not result.messages + result.rejected


@pytest.mark.parametrize("filters", ['["Private/"]', '["/^Pri.*e/"]', "["])
def test_what_obsidian_excludes_is_not_imported(
    workspace: Workspace, tmp_path: Path, filters: str
) -> None:
    sample = {
        "mem.yaml": "layout: vault\n",
        ".obsidian/app.json": f'{{"userIgnoreFilters": {filters}}}',
        "Private/Diary.md": "Nobody reads about the falcon.\n",
        "Whales.md": "Whales sing.\n",
    }
    result = import_path(workspace, build_files(tmp_path / "vault", sample))
    is_known = filters != "["
    assert result.imported == ({"entry": 1} if is_known else {})
    assert any("app.json cannot be read" in message for message in result.messages) != is_known


def test_every_note_and_file_with_a_problem_is_named(workspace: Workspace, tmp_path: Path) -> None:
    broken = "---\ntags: [a, [b\n---\n\nThe valve leaks at number {}.\n"
    sample = {f"{number}.md": broken.format(number) for number in (1, 2)}
    sample |= {f"{number:02}.png": "" for number in range(22)}
    sample |= {"blank.md": " \n", "unused.md": "---\ntags:\n---\n"}
    sample |= {"Emma.md": "---\nrating: 5\n---\n"}
    result = import_path(workspace, build_files(tmp_path / "vault", sample))
    unreadable, empty, others = result.messages
    assert unreadable.startswith("2 notes with") and "1.md:3: bad" in unreadable
    assert "2.md:3: bad" in unreadable
    assert empty == "2 empty notes left out: blank.md; unused.md"
    assert others.startswith("22 other files left out: 00.png; 01.png; ")
    assert others.endswith("; 19.png; and 2 more")
    # A note with properties only has the name of its file.
    assert "Emma" in {entry.title for entry in read_entries(workspace)}


@pytest.mark.parametrize("format_name", ["", "notes", "markdown"])
def test_a_single_note_is_stored_as_in_its_folder(
    workspace: Workspace, tmp_path: Path, format_name: str
) -> None:
    files = {"Whales.md": "---\ntags: [sea]\nsource: user\n---\n\nWhales sing.\n", "b.md": "Two.\n"}
    folder = build_files(tmp_path / "vault", files)
    source = open_source(folder / "Whales.md", "Whales.md")
    assert import_source(workspace, source, format_name=format_name).imported == {"entry": 1}
    (entry,) = read_entries(workspace)
    assert (entry.body, entry.tags, entry.source) == ("Whales sing.", ("sea",), "inferred")
    assert (workspace.root / "entries/vault/Whales.md").is_file()
    again = import_path(workspace, folder)
    assert again.unchanged == 1 and again.imported == {"entry": 1}


def test_a_single_file_is_a_note_only_if_it_can_be_one(
    workspace: Workspace, tmp_path: Path
) -> None:
    chat = "# Chat\n\nUser: Which kiln?\n\nAssistant: Kiln 2.\n"
    files = {"chat.md": chat, "list.txt": "Buy plums.\n", "binary.md": "\0\1" * 99, "empty.md": ""}
    folder = build_files(tmp_path / "vault", files)
    assert import_path(workspace, folder / "chat.md").imported == {"session": 1}
    binary = import_path(workspace, folder / "binary.md")
    assert [item.reason for item in binary.rejected] == ["not a text"]
    for name, problem in (("list.txt", "no format"), ("empty.md", "empty")):
        with pytest.raises(UsageError, match=problem):
            import_path(workspace, folder / name)
    # The user knows better.
    for name in ("chat.md", "list.txt"):
        source = open_source(folder / name, name)
        assert import_source(workspace, source, format_name="notes").imported == {"entry": 1}


def test_a_named_format_makes_no_note_of_another_file(workspace: Workspace, tmp_path: Path) -> None:
    folder = build_files(tmp_path / "vault", {"a.md": "One.\n", "settings.json": '{"zoom": 2}\n'})
    (folder / "memories.json").write_text('[{"conversations_memory": "Ana has a dog."}]')
    result = import_source(workspace, open_source(folder, "vault"), format_name="markdown")
    assert result.imported == {"entry": 2}
    assert result.messages == ["1 other file left out: settings.json"]
