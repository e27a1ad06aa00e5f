import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.api import add_gates
from memcli.cli.main import run
from memcli.errors import UsageError
from memcli.index.index import open_index
from memcli.reconcile.changes import Draft
from memcli.store.workspace import Workspace
from memcli.transfer import importer
from memcli.transfer.export import Selection, find_files, format_line, read_files
from memcli.transfer.importer import ImportResult, import_source
from memcli.transfer.items import Item, Source, TransferFile, open_source
from tests.helpers import make_context, make_workspace, run_mem

ENTRY = "---\nid: {id}\ntype: fact\nowner: {owner}\nsource: user\ncreated_at: {day}\nmood: calm  # mine\n---\n\n{text}\n"
OLD, NEW = "mem_01kajd3v7m4kq7tz", "mem_01kajd3v7m4kq7ty"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return add_gates(make_workspace(tmp_path))


def import_files(workspace: Workspace, *files: TransferFile) -> ImportResult:
    data = "".join(format_line(file) for file in files).encode("utf-8", "surrogateescape")
    return import_source(workspace, open_source(Path("-"), "-", io.BytesIO(data)))


def make_entry(
    path: str, text: str, id_: str = OLD, owner: str = "ana", **fields: str
) -> TransferFile:
    full = ENTRY.format(id=id_, owner=owner, day=fields.pop("day", "2026-01-05"), text=text)
    for name, value in fields.items():
        full = full.replace("type: fact", f"type: fact\n{name}: {value}")
    return TransferFile(path, "entry", full)


def test_owners_dates_and_bytes_survive(workspace: Workspace) -> None:
    odd = "caf\udce9\r\nline two\r\n"  # a byte that is not UTF-8, and line ends of Windows
    files = [
        make_entry("entries/a.md", "The oak is old."),
        make_entry("entries/b.md", "The oak is old.", NEW, owner="olek"),
        TransferFile("entries/odd.md", "entry", odd, "2025-03-01T00:00:00Z"),
    ]
    assert import_files(workspace, *files).imported == {"entry": 3}
    assert (workspace.root / "entries/odd.md").read_bytes() == b"caf\xe9\r\nline two\r\n"
    index = open_index(workspace)
    owners = {entry.id: (entry.owner, entry.created_at[:10]) for entry in index.list_entries()}
    assert owners[OLD] == ("ana", "2026-01-05") and owners[NEW][0] == "olek"
    assert owners["entries/odd.md"][1] == "2025-03-01"
    exported = list(read_files(index, find_files(index, Selection()), Selection()))
    assert sorted(file.text for file in exported) == sorted(file.text for file in files)
    assert import_files(workspace, *exported).unchanged == 3


@pytest.mark.parametrize(("day", "winner"), [("2027-01-01", NEW), ("2025-01-01", OLD)])
def test_the_later_value_of_a_key_replaces_the_other(
    workspace: Workspace, day: str, winner: str
) -> None:
    import_files(workspace, make_entry("entries/a.md", "Port 6543.", key="port"))
    import_files(workspace, make_entry("entries/b.md", "Port 7654.", NEW, key="port", day=day))
    entries = open_index(workspace).list_entries("status = 'active'")
    assert [entry.id for entry in entries] == [winner]


def test_a_changed_memory_stays_and_a_free_name_is_found(workspace: Workspace) -> None:
    import_files(workspace, make_entry("entries/a.md", "The oak is old."))
    result = import_files(
        workspace,
        make_entry("entries/a.md", "The oak is young."),
        make_entry("entries/a.md", "The elm is young.", NEW),
    )
    assert [item.reason for item in result.rejected] == [
        "differs from entries/a.md here, which was not changed"
    ]
    assert "elm" in (workspace.root / "entries/a-4kq7ty.md").read_text()


def test_a_changed_note_replaces_only_what_an_import_wrote(workspace: Workspace) -> None:
    path = "entries/rb/dns.md"
    notes = [TransferFile(path, "entry", f"---\nkey: dns\n---\nCheck {name}.\n") for name in "abc"]
    import_files(workspace, notes[0])
    assert import_files(workspace, notes[1]).imported == {"entry": 1}
    assert (workspace.root / path).read_text() == notes[1].text
    (workspace.root / path).write_text("Mine.\n")
    assert import_files(workspace, notes[2]).rejected
    assert (workspace.root / path).read_text() == "Mine.\n"


def test_history_and_notes_gain_what_is_missing(workspace: Workspace) -> None:
    note = workspace.root / "notes/2026-11-01.md"
    note.parent.mkdir()
    note.write_text("[09:00] one\n[10:00] mine\n")
    other = TransferFile("notes/2026-11-01.md", "note", "[09:00] one\n[11:00] two\n")
    import_files(workspace, other)
    assert note.read_text() == "[09:00] one\n[10:00] mine\n[11:00] two\n"
    assert import_files(workspace, other).unchanged == 1


@pytest.mark.parametrize(
    "path",
    ["/etc/a.md", "../a.md", "entries/../../a.md", ".mem/a.md", "entries/.a.md", "mem.yaml", "entries/a.sh", "entries//a.md", "entries/a\0.md"],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_rejected(workspace: Workspace, path: str) -> None:
    result = import_files(
        workspace, TransferFile(path, "memory" if path == "mem.yaml" else "entry", "x")
    )
    assert len(result.rejected) == 1 and not result.imported


@pytest.mark.parametrize(
    "line",
    ["nothing", "[]", '{"path": 1, "text": "x"}', '{"path": "entries/a.md"}', '{"path": "entries/a.md", "text": "\\ud800"}', '{"path": "a", "kind": "odd", "text": ""}', "[" * 100_000],
)  # fmt: skip
def test_a_bad_line_does_not_stop_the_others(workspace: Workspace, line: str) -> None:
    good = format_line(TransferFile("entries/a.md", "entry", "Good.\n"))
    stream = io.BytesIO(
        f"{good}{line}\n{good.replace('a.md', 'b.md').replace('Good', 'Fine')}".encode()
    )
    result = import_source(workspace, open_source(Path("-"), "-", stream))
    assert result.imported == {"entry": 2} and [item.place for item in result.rejected] == [
        "line 2"
    ]


def test_a_line_that_is_too_long_is_skipped(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("memcli.transfer.export.LARGEST_LINE", 1000)
    lines = [
        TransferFile(f"entries/{n}.md", "entry", f"{n} " * size)
        for n, size in (("a", 9), ("b", 9000), ("c", 9))
    ]
    file = tmp_path / "x.jsonl"
    file.write_text("".join(format_line(line) for line in lines))
    result = import_source(workspace, open_source(file, "x.jsonl"))
    assert [item.place for item in result.rejected] == ["line 2"]
    assert result.imported == {"entry": 2}


def test_batches_are_commands_of_their_own(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "BATCH_ITEMS", 2)
    files = [TransferFile(f"entries/{n}.md", "entry", f"Number {n}.\n") for n in range(5)]
    assert len(import_files(workspace, *files).commands) == 3
    assert import_files(workspace, *files).unchanged == 5


def test_an_import_reports_what_it_checks_and_saves(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    path.write_text(json.dumps([{"memory": f"Number {n}.", "user_id": "a"} for n in range(3)]))
    shown: dict[str, list[tuple[int, int]]] = {"on check": [], "on progress": []}
    for name, calls in shown.items():
        workspace.resources[name] = lambda done, total, calls=calls: calls.append((done, total))
    import_source(workspace, open_source(path, path.name))
    once = [(0, 3), (1, 3), (2, 3), (1, 1)]
    # The memories are compared with others, and then pass the gates.
    assert shown == {"on check": [*once, *once], "on progress": [(1, 3), (2, 3), (3, 3)]}


@pytest.mark.parametrize("name", ["-", "backup.jsonl", "backup.NDJSON"])
def test_an_empty_export_has_no_memories(workspace: Workspace, name: str) -> None:
    result = import_source(workspace, open_source(Path("-"), name, io.BytesIO()))
    assert result.format == "jsonl" and not result.imported
    assert result.messages == [f"{name} has no memories"]


@pytest.mark.parametrize("name", ["backup.json", "backup.csv"])
def test_another_empty_file_is_an_error(workspace: Workspace, name: str) -> None:
    for content in (b"", b"\n \n"):
        with pytest.raises(UsageError, match=rf"{name} is empty"):
            import_source(workspace, open_source(Path("-"), name, io.BytesIO(content)))


@pytest.mark.parametrize("is_folder", [True, False])
def test_an_export_shows_how_much_is_written(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_folder: bool
) -> None:
    monkeypatch.setattr("memcli.cli.terminal.PROGRESS_DELAY", -1)
    monkeypatch.setattr("memcli.cli.terminal.PROGRESS_INTERVAL", -1)
    import_files(workspace, *(TransferFile(f"entries/{n}.md", "entry", f"{n}\n") for n in "ab"))
    context = make_context(tmp_path, TERM="xterm")._replace(stderr=Terminal())
    assert run(context, ["export", "backup" if is_folder else "backup.jsonl"]) == 0
    messages = context.stderr.getvalue()  # type: ignore[attr-defined]
    assert "\rexporting " in messages and "1 of 2" in messages
    assert messages.endswith("\033[K")


def test_an_export_to_a_terminal_has_no_bar_between_its_lines(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.cli.terminal.PROGRESS_DELAY", -1)
    monkeypatch.setattr("memcli.cli.terminal.PROGRESS_INTERVAL", -1)
    import_files(workspace, TransferFile("entries/a.md", "entry", "The oak is old.\n"))
    for is_terminal in (False, True):
        context = make_context(tmp_path, TERM="xterm")
        context = context._replace(stderr=Terminal(), is_terminal=is_terminal)
        assert run(context, ["export"]) == 0
        messages = context.stderr.getvalue()  # type: ignore[attr-defined]
        assert ("exporting" in messages) == (not is_terminal)


def test_forgotten_memories_come_last_and_do_not_stop_their_history(workspace: Workspace) -> None:
    forgotten = make_entry(
        "entries/a.md", "The safe is behind the clock.", forgotten_at="2026-02-01"
    )
    history = TransferFile(
        "HISTORY-2026-01.md",
        "history",
        "## 2026-01-05T00:00:00Z\n\nThe safe is behind the clock.\n",
    )
    import_files(workspace, history, forgotten)
    index = open_index(workspace)
    files = find_files(index, Selection())
    assert [file.path for file in files] == ["HISTORY-2026-01.md", "entries/a.md"]
    assert next(read_files(index, files, Selection())).text == history.text
    chosen = Selection(types=["fact"])
    assert [file.kind for file in find_files(index, chosen)] == ["entry"]


def test_a_format_is_a_function_that_yields_drafts(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_lines(source: Source) -> Iterator[Item] | None:
        if not source.head.startswith(b"* "):
            return None
        return (
            Item(f"line {n}", Draft(line[2:], owner="olek", created_at="2026-03-01"))
            for n, line in source.read_lines(1000)
            if line
        )

    monkeypatch.setitem(importer.FORMATS, "stars", read_lines)
    result = import_source(
        workspace,
        open_source(
            Path("-"),
            "-",
            io.BytesIO(b"* Tea at four.\n* The key is ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n"),
        ),
    )
    assert result.format == "stars" and result.imported == {"entry": 1}
    assert [item.place for item in result.rejected] == ["line 2"]
    entry = open_index(workspace).list_entries()[0]
    assert (entry.owner, entry.created_at[:10]) == ("olek", "2026-03-01")


def test_an_exported_line_is_plain_json() -> None:
    data = json.loads(format_line(TransferFile("entries/ä.md", "entry", "ö\n")))
    assert data == {"path": "entries/ä.md", "kind": "entry", "text": "ö\n"}


def test_a_note_of_a_vault_names_its_successor(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "Mast.md").write_text("---\nsuperseded_by: 'New mast.md'\n---\nIt is 9 m tall.\n")
    (tmp_path / "New mast.md").write_text("It is 10 m tall.\n")
    assert run_mem(tmp_path, "init", ".")[0] == 0
    _, output, _ = run_mem(tmp_path, "export")
    assert "superseded_by: 'entries/New mast.md'" in output
    assert '"path": "entries/New mast.md"' in output
    (tmp_path / "New mast.md").write_text("---\nid: m2\n---\nIt is 10 m tall.\n")
    (tmp_path / "Old.md").write_text("---\nsuperseded_by: '[[New mast]]'\n---\nIt is 8 m tall.\n")
    old = "---\nid: o1\nsuperseded_by: entries/New.md\n---\nIt is 7 m tall.\n"
    (tmp_path / "mem/entries").mkdir()
    for name, text in {"Old": old, "New": "---\nid: n1\n---\nIt is 11 m tall.\n"}.items():
        (tmp_path / f"mem/entries/{name}.md").write_text(text)
    assert "superseded_by" not in run_mem(tmp_path, "check")[1]


def test_a_memory_that_its_tool_archived_keeps_its_fields(
    workspace: Workspace, tmp_path: Path
) -> None:
    record = {
        "memory": "The tea is old.",
        "key": "tea/age",
        "confidence": 0.9,
        "pinned": True,
        "expires_at": "2030-01-01",
        "files": ["tea.py"],
        "aliases": ["Chai"],
        "status": "archived",
    }
    (tmp_path / "old.json").write_text(json.dumps([record]))
    import_source(workspace, open_source(tmp_path / "old.json", "old.json"))
    (entry,) = open_index(workspace).list_entries()
    assert entry.status != "active" and entry.type == "fact"
    assert (entry.key, entry.confidence, entry.pinned) == ("tea/age", 0.9, True)
    assert (entry.files, entry.aliases) == (("tea.py",), ("Chai",))
    assert entry.expires_at[:10] == "2030-01-01" and entry.trust == 0.5


def test_an_import_again_with_owners_updates_the_rows(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    text = "Deploys go through the bastion."
    (tmp_path / "p.csv").write_text(f"what,who\n{text},ana\n{text},bo\nKiln 2 is cold.,\n")
    run_mem(tmp_path, "import", "p.csv", "--map", "text=what")
    for _ in range(2):
        run_mem(tmp_path, "import", "p.csv", "--map", "text=what,owner=who")
        entries = json.loads(run_mem(tmp_path, "ls", "--json", "owner,text")[1])["entries"]
        owners = sorted((entry["owner"], entry["text"]) for entry in entries)
        assert owners == [("", "Kiln 2 is cold."), ("ana", text), ("bo", text)]
