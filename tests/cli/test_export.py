"""Taking memories out: as lines that lose nothing, and as a document."""

import json
import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memcli.store.file_steps import PREFIX
from memcli.transfer import export as exporting
from tests.conftest import FIXTURES, Mem
from tests.tables import cases


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def paths(text: str) -> list[str]:
    return [record["path"] for record in records(text)]


def test_a_line_holds_a_file_and_what_an_entry_says(mem: Mem, workspace: Path) -> None:
    identifier, path = mem("write", "Uses zsh.", "--type", "preference", "--tag", "shell").rows[0][1:]
    path = path.removeprefix("memory/")
    entry, page = records(mem("export").out)[::-1]
    assert page == {
        "path": "MEMORY.md",
        "kind": "memory",
        "modified": page["modified"],
        "text": (workspace / "MEMORY.md").read_text(),
    }
    assert entry == {
        "path": path,
        "kind": "entry",
        "modified": entry["modified"],
        "id": identifier,
        "type": "preference",
        "tags": ["shell"],
        "status": "active",
        "source": "user",
        "trust": 1.0,
        "created_at": "2026-11-21T20:15:03Z",
        "updated_at": "2026-11-21T20:15:03Z",
        "text": (workspace / path).read_text(),
    }


def test_the_filters_of_ls_choose(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "workspace", world / "memory")
    everything = paths(mem("export", "--kind", "all").out)
    plain = paths(mem("export").out)
    assert set(plain) < set(everything)
    assert {path.partition("/")[0] for path in set(everything) - set(plain)} == {"sessions"}
    active = paths(mem("export", "--status", "active").out)
    assert {path.partition("/")[0] for path in set(plain) - set(active)} >= {"archive"}
    assert not any(path.startswith(("archive/", "sessions/")) for path in active)
    sessions = paths(mem("export", "--kind", "session").out)
    assert {path.rpartition("/")[2] for path in sessions} == {"session.jsonl", "metadata.json"}
    assert len(sessions) == 2 * len(list((world / "memory" / "sessions").iterdir()))
    assert paths(mem("export", "--kind", "memory").out) == ["MEMORY.md"]
    preferences = records(mem("export", "--type", "preference", "--tag", "coffee").out)
    assert {(record["kind"], record["type"]) for record in preferences} == {("entry", "preference")}
    assert paths(mem("export", "--path", "notes/").out) == [path for path in plain if path.startswith("notes/")]
    assert mem("export", "--path", "nowhere/").out == ""


def test_what_was_superseded_is_not_left_behind(mem: Mem, workspace: Path) -> None:
    path = mem("write", "Uses poetry.", "--status", "superseded").rows[0][2].removeprefix("memory/")
    (workspace / "entries/proposed.md").write_text("---\nstatus: proposed\n---\n\nUse uv.\n")
    assert {path, "entries/proposed.md"} <= {*paths(mem("export").out)}
    assert path not in paths(mem("export", "--status", "active").out)


def test_a_file_is_written_whole_or_not_at_all(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("One.", "Two."):
        mem("write", text)
    out = workspace.parent / "out.jsonl"
    out.write_text("an older export\n")
    real = exporting.read_file

    def fail(*given: Any) -> Any:
        if given[1].startswith("entries/"):
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(exporting, "read_file", fail)
    assert mem("export", "-o", str(out)).code == 130
    assert out.read_text() == "an older export\n"
    assert not [path for path in out.parent.iterdir() if path.name.startswith(PREFIX)]
    monkeypatch.undo()


def test_a_file_is_named_and_counted(mem: Mem, workspace: Path) -> None:
    mem("write", "One.")
    ran = mem("export", "-o", "out.jsonl", "--json")
    assert ran.json == {"file": str(workspace.parent / "out.jsonl"), "files": 2, "problems": []}
    assert (workspace.parent / "out.jsonl").read_text() == mem("export").out
    assert mem("export", "-o", "out.jsonl").err == "mem: 2 files in out.jsonl\n"
    assert mem("export", "-o", "-").out == mem("export").out


@cases("arguments", "code", "words")
def test_a_mistake_is_told(mem: Mem, workspace: Path, arguments: list[str], code: int, words: str) -> None:
    before = (workspace / "MEMORY.md").read_bytes()
    ran = mem("export", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert (workspace / "MEMORY.md").read_bytes() == before


def test_a_file_that_cannot_be_read_is_named_and_the_rest_goes_out(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = mem("write", "A " * 600).rows[0][2].removeprefix("memory/")
    mem("write", "Small.")
    monkeypatch.setattr(exporting, "LARGEST", 1000)
    ran = mem("export")
    assert ran.code == 3
    assert large not in paths(ran.out)
    assert len(paths(ran.out)) == 2
    assert f"{large}:1: larger than" in ran.err


def test_a_link_out_of_the_workspace_is_not_followed(mem: Mem, workspace: Path, world: Path) -> None:
    (world / "secret.md").write_text("not yours")
    (workspace / "entries").mkdir()
    (workspace / "entries" / "link.md").symlink_to(world / "secret.md")
    assert "not yours" not in mem("export", "--kind", "all").out


def test_a_document_reads_from_the_page_to_the_history(mem: Mem, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_bytes(b"\xef\xbb\xbf# Memory\r\n\r\nRita lives in Lisbon.\r\n")
    mem("write", "# Deploy\n\n## Steps\n\n1. push", "--type", "procedure", "--tag", "ops", "--project", "shop")
    mem("write", "Uses poetry.", "--type", "preference", "--status", "superseded", "--title", "Packages")
    mem("write", "Met Ana.", "--path", "ana.md", "--type", "entity")
    (workspace / "entries" / "broken.md").write_text("---\na: [b\n---\nStill readable.\n")
    (workspace / "notes").mkdir()
    (workspace / "notes" / "2026-11-20.md").write_text("[14:15] User: hi | Assistant: hello\n")
    record = "## 2026-11-20T10:00:00.000Z\n[2026-11-20 10:00] Talked.\n"
    (workspace / "HISTORY-2026-11.md").write_text(record)
    (workspace / "HISTORY.md").write_text(record)
    ran = mem("export", "--format", "markdown")
    assert ran.code == 0
    ids = {row[4].split(":")[0]: row[0] for row in mem("ls", "--status", "active", "--status", "superseded").rows}
    assert ran.out == (
        "# memory\n\nExported on 2026-11-21.\n"
        "\n## Long-term memory\n\n### MEMORY.md\n\n#### Memory\n\nRita lives in Lisbon.\n"
        "\n## Facts\n\n### entries/broken.md\n\n---\na: [b\n---\nStill readable.\n\n*"
        + ran.out.partition("Still readable.\n\n*")[2].partition(" ")[0]
        + " · observed · entries/broken.md*\n"
        "\n## Preferences\n\n### Packages\n\nUses poetry.\n"
        f"\n*2026-11-21 · user · superseded · {ids['Packages']}*\n"
        f"\n## Entities\n\n### Met Ana.\n\n*2026-11-21 · user · {ids['Met Ana.']}*\n"
        "\n## Procedures\n\n### Deploy\n\n#### Steps\n\n1. push\n"
        f"\n*2026-11-21 · user · #ops · shop · {ids['Deploy Steps push']}*\n"
        "\n## Notes\n\n### 2026-11-20\n\n[14:15] User: hi | Assistant: hello\n"
        "\n## History\n\n### 2026-11-20 10:00 UTC\n\n[2026-11-20 10:00] Talked.\n"
    )


def test_conversations_are_no_part_of_a_document(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "workspace", world / "memory")
    ran = mem("export", "--format", "markdown", "--kind", "all", "-o", "all.md")
    assert ran.code == 0
    assert "conversations are left out" in ran.err
    text = (world / "all.md").read_text()
    places = [text.index(f"\n## {chapter}\n") for chapter in ("Long-term memory", "Facts", "Notes", "History")]
    assert places == sorted(places)


def test_a_file_that_vanishes_meanwhile_is_named(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mem("write", "One.").rows[0][2].removeprefix("memory/")
    real = exporting.chosen_files

    def late(*given: Any) -> Any:
        chosen = real(*given)
        (workspace / path).unlink()
        return chosen

    monkeypatch.setattr(exporting, "chosen_files", late)
    ran = mem("export")
    assert (ran.code, paths(ran.out)) == (3, ["MEMORY.md"])
    assert ran.err == f"mem: memory/{path}:1: cannot be looked at: no such file or directory\n"


def test_conversations_are_chosen_by_their_last_change(mem: Mem, workspace: Path) -> None:
    for day in ("2026-01-05", "2026-03-05"):
        folder = workspace / "sessions" / day
        folder.mkdir(parents=True)
        (folder / "session.jsonl").write_text("{}\n")
        moment = datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()
        os.utime(folder / "session.jsonl", (moment, moment))
    january, march = "sessions/2026-01-05/session.jsonl", "sessions/2026-03-05/session.jsonl"

    def taken(*options: str) -> list[str]:
        return paths(mem("export", "--kind", "session", *options).out)

    assert taken() == [january, march]
    assert taken("--since", "2026-02") == taken("--path", "sessions/2026-03") == [march]
    assert taken("--until", "2026-02") == [january]
    assert taken("--type", "fact") == taken("--status", "archived") == []


@pytest.mark.parametrize("name", ["mem.yaml", "entries/../mem.yaml", ".mem/x", ".hidden.jsonl"])
def test_no_export_takes_the_place_of_what_belongs_to_the_workspace(mem: Mem, workspace: Path, name: str) -> None:
    (workspace / "entries").mkdir()
    before = (workspace / "mem.yaml").read_bytes()
    ran = mem("export", "-o", str(workspace / name))
    assert (ran.code, "belongs to the workspace" in ran.err) == (5, True)
    assert (workspace / "mem.yaml").read_bytes() == before
