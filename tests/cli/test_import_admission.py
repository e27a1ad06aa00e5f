"""Memories that come in meet those that stand: merged, settled, marked; once, and an export alone as it was."""

import base64
import json
import os
import re
import shutil
from functools import partial
from pathlib import Path

import pytest

from memcli.store.file_steps import PREFIX
from tests.conftest import FIXTURES, Mem
from tests.crash import cut_off
from tests.scenes import tree

TOKEN = "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"


def entries(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((root / "entries").rglob("*.md"))
    }


def own(identifier: str, text: str, **fields: object) -> str:
    """Write a line of an export."""
    head = {"id": identifier, "type": "fact", "created_at": "2026-11-01T00:00:00Z", "source": "user", **fields}
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in head.items())
    return json.dumps({"path": f"entries/{identifier}.md", "text": f"---\n{lines}---\n\n{text}\n"}) + "\n"


def test_what_stands_already_takes_it_in_and_a_second_import_does_nothing(mem: Mem, workspace: Path) -> None:
    known, path = mem("write", "User prefers tabs", "--type", "preference", "--tag", "a").rows[0][1:]
    path = path.removeprefix("memory/")
    lines = own("mem_theirs", "user prefers tabs.", type="preference", tags=["b"], strength=3) + own(
        "mem_other", "The retry limit is 3"
    )
    dry = mem("import", "-", "--dry-run", stdin=lines)
    assert dry.rows == [["would merge", f"memory/{path}", known], ["would create", "memory/entries/mem_other.md"]]
    ran = mem("import", "-", stdin=lines)
    assert (ran.code, ran.rows) == (
        0,
        [["merged", f"memory/{path}", known], ["created", "memory/entries/mem_other.md"]],
    )
    assert ran.err == "mem: 1 created, 1 merged\n"
    text = (workspace / path).read_text()
    assert "tags: [a, b]\n" in text
    fields = mem("read", known, "--json").json["fields"]
    assert (fields["strength"], fields["sources"]) == (4, ["import:mem_theirs"])
    assert (workspace / "entries/mem_other.md").read_text() == json.loads(lines.splitlines()[1])["text"]
    before = tree(workspace)
    assert mem("import", "-", stdin=lines).err == "mem: 2 unchanged\n"
    assert tree(workspace) == before
    mem("decay", "--apply")
    assert 'sources: ["import:mem_theirs"]\n' in (workspace / path).read_text()
    assert mem("import", "-", stdin=lines).err == "mem: 2 unchanged\n"


def test_what_contradicts_is_settled_by_time_and_trust_and_a_second_import_does_nothing(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")  # the rules alone, whatever a model learned
    standing = [
        mem("write", text, "--no-dedup", "--source", "user", "--created-at", "2026-11-05").rows[0]
        for text in ("Deploys run on Fly", "The retry limit is 3", "User uses Vim", "The API listens on port 80")
    ]
    ids = [row[1] for row in standing]
    lines = (
        own("mem_newer", "Correction: deploys run on Hetzner", created_at="2026-11-10T00:00:00Z")
        + own("mem_older", "Correction: the retry limit is 5", source="observed")
        + own("mem_unsure", "User uses Emacs", created_at="2026-11-10T00:00:00Z")
        + own(
            "mem_guess", "Correction: the API listens on port 81", created_at="2026-11-10T00:00:00Z", source="inferred"
        )
    )
    ran = mem("import", "-", "--json", stdin=lines)
    newer, older, unsure, guess = ran.json["files"]
    assert newer["supersedes"] == [ids[0]]
    assert [one["conflicts_with"] for one in (older, unsure, guess)] == [[ids[1]], [], [ids[3]]]
    assert [row[0] for row in mem("ls", "--status", "superseded").rows] == [ids[0]]
    assert f"conflicts_with: [{ids[1]}]\n" in (workspace / "entries/mem_older.md").read_text()
    before = tree(workspace)
    again = mem("import", "-", stdin=lines)
    assert (again.code, again.out, again.err) == (0, "", "mem: 4 unchanged\n")
    assert tree(workspace) == before


def test_without_dedup_everything_comes_in_as_it_is(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    mem("write", "User prefers tabs", "--no-dedup")
    line = own("mem_theirs", "User prefers tabs")
    ran = mem("import", "-", "--no-dedup", stdin=line)
    assert (ran.rows, ran.err) == ([["created", "memory/entries/mem_theirs.md"]], "mem: 1 created\n")
    assert (workspace / "entries/mem_theirs.md").read_text() == json.loads(line)["text"]


def test_two_of_one_export_are_not_compared_though_something_stands(mem: Mem, workspace: Path) -> None:
    mem("write", "Something else entirely", "--no-dedup")
    lines = own("mem_one", "User prefers tabs") + own("mem_two", "The user prefers tabs")
    assert [row[0] for row in mem("import", "-", stdin=lines).rows] == ["created", "created"]
    other = own("mem_three", "User uses vim") + own("mem_two", "The user prefers tabs")
    mem("import", "-", stdin=own("mem_zero", "User uses emacs") + other)
    assert "conflicts_with" not in entries(workspace)["entries/mem_three.md"]


def test_of_another_tools_records_one_says_it_for_all(mem: Mem, workspace: Path) -> None:
    texts = ["User prefers tabs", "The user prefers tabs.", "The retry limit is 3", "user prefers TABS"]
    lines = "".join(json.dumps({"content": text}) + "\n" for text in texts)
    ran = mem("import", "-", stdin=lines)
    assert [row[0] for row in ran.rows] == ["created", "merged", "created", "merged"]
    assert len(entries(workspace)) == 2
    assert sum("strength: 3\n" in text for text in entries(workspace).values()) == 1
    before = tree(workspace)
    later = {"MEM_NOW": "2027-01-01T00:00:00Z"}
    os.environ.update(later)
    assert mem("import", "-", stdin=lines).err == "mem: 4 unchanged\n"
    assert tree(workspace) == before


def test_files_that_are_no_belief_and_other_documents_come_in_as_they_are(mem: Mem, workspace: Path) -> None:
    for text in ("Deploys run on Fly", "word " * 600):
        mem("write", text, "--no-dedup")
    lines = (
        own("mem_a", "Deploys run on Fly", status="superseded", superseded_by="mem_b")
        + own("mem_c", "Deploys run on Fly", type="episode")
        + own("mem_d", "word " * 601)
        + own("mem_e", "Deploys run on Fly").replace("entries/", "archive/entries/")
    )
    assert [row[0] for row in mem("import", "-", stdin=lines).rows] == ["created"] * 4


def test_a_whole_workspace_brought_together_with_itself_changes_nothing(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "workspace", world / "memory")
    lines = mem("export", "--kind", "all").out
    before = tree(world / "memory")
    assert mem("import", "-", stdin=lines).code == 0
    assert tree(world / "memory") == before


def test_a_private_memory_stays_private_though_it_is_marked(mem: Mem, workspace: Path) -> None:
    mem("write", "The retry limit is 3", "--no-dedup", "--source", "user")
    line = json.loads(own("mem_private", "Correction: the retry limit is 5", source="observed")) | {"mode": "600"}
    mem("import", "-", stdin=json.dumps(line))
    path = workspace / "entries/mem_private.md"
    assert "conflicts_with" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_entry_that_cannot_be_changed_stops_no_other(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    (workspace / "entries").mkdir(exist_ok=True)
    odd = workspace / "entries/odd.md"
    odd.write_text("--- {id: mem_odd, type: fact, source: user}\n---\nThe retry limit is 3\n")
    before = odd.read_bytes()
    mem("write", "User prefers tabs", "--no-dedup")
    ran = mem("import", "-", stdin=own("mem_x", "The retry limit is 3") + own("mem_y", "User prefers tabs"))
    assert [row[0] for row in ran.rows] == ["created", "merged"]
    assert odd.read_bytes() == before


def test_without_a_model_words_decide_and_it_is_said_once(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    mem("write", "Deploys run on Fly", "--no-dedup")
    ran = mem("import", "-", stdin=own("mem_a", "deploys run on fly.") + own("mem_b", "Deploys run on Hetzner"))
    assert [row[0] for row in ran.rows] == ["merged", "created"]
    assert len(re.findall("by words alone", ran.err)) == 1


def test_secrets_are_blanked_out_and_named_and_kept_only_when_that_is_asked(mem: Mem, workspace: Path) -> None:
    event = json.dumps({"id": "m1", "role": "user", "content": f"use {TOKEN} please"})
    lines = (
        own("mem_a", f"First line\nthe token is {TOKEN}")
        + json.dumps({"path": "sessions/s/session.jsonl", "text": event + "\n"})
        + "\n"
        + json.dumps({"path": "notes/2026-11-20.md", "text": f"[10:00] {TOKEN}\n"})
    )
    ran = mem("import", "-", stdin=lines)
    assert ran.code == 0
    assert "mem: entries/mem_a.md:9: github-token redacted\n" in ran.err
    assert "mem: sessions/s/session.jsonl:1: github-token redacted\n" in ran.err
    assert not any(TOKEN.encode() in data for data in tree(workspace).values())
    assert json.loads((workspace / "sessions/s/session.jsonl").read_text())["content"].startswith("use [REDACTED")
    assert mem("import", "-", stdin=lines).out == ""
    shutil.rmtree(workspace / "entries")
    mem("import", "-", "--allow-secret", stdin=own("mem_a", f"the token is {TOKEN}"))
    assert TOKEN in entries(workspace)["entries/mem_a.md"]


def test_a_byte_that_is_not_utf_8_lets_no_secret_in(mem: Mem, workspace: Path) -> None:
    data = b"caf\xe9 " + TOKEN.encode() + b"\n"
    line = json.dumps({"path": "entries/cafe.md", "base64": base64.b64encode(data).decode()})
    ran = mem("import", "-", stdin=line)
    assert "entries/cafe.md:1: github-token redacted" in ran.err
    assert (workspace / "entries/cafe.md").read_bytes() == b"caf\xe9 [REDACTED:github-token]\n"


def test_the_power_may_fail_at_any_step_and_the_next_import_ends_the_same(
    mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is merged, one takes the place of what stood: neither twice, whatever happened."""
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    lines = (
        own("mem_a", "user prefers tabs")
        + own("mem_b", "Correction: deploys run on Hetzner")
        + own("mem_c", "Unrelated")
    )
    (world / "in.jsonl").write_text(lines)
    standing = {"tabs.md": "User prefers tabs", "fly.md": "Deploys run on Fly"}
    wanted: dict[str, bytes] = {}
    for at in range(200):
        root = world / str(at)
        assert mem("init", str(root)).code == 0
        (root / "entries").mkdir()
        for name, text in standing.items():
            (root / "entries" / name).write_text(
                f"---\nid: mem_{name[:3]}\ntype: fact\nsource: user\ncreated_at: 2026-10-01\n---\n\n{text}\n"
            )
        is_cut = not at or cut_off(at, partial(mem, "--workspace", str(root), "import", "in.jsonl"))
        assert mem("--workspace", str(root), "import", "in.jsonl").code == 0
        left = {name: data for name, data in tree(root).items() if PREFIX not in name}
        wanted = wanted or left
        assert left == wanted, f"cut at step {at}"
        if not is_cut:
            break
    assert at > 20
    assert b"superseded_by: mem_b\n" in wanted["entries/fly.md"]
