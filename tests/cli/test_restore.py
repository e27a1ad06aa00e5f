"""An export that comes into an empty workspace restores everything it is said to hold, also after a cut."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem

ODD = {
    "entries/日本語/メモ.md": "---\nid: mem_cjk\ntype: fact\n---\n\n東京の倉庫は六時に閉まる。\n".encode(),
    "entries/crlf.md": b"\xef\xbb\xbf---\r\nid: mem_crlf\r\nx-tool: {a: [1, 2]}\r\n---\r\n\r\nTea.  \r\n",
    "entries/unknown.md": b"---\nid: mem_unknown\ntype: my-own\nweights: [0.1] # by hand\nwhen: 2026-01-02\n---\n\nX.",
    "archive/entries/by-hand.md": b"---\nid: mem_by_hand\ntype: fact\n---\n\nPut away without a mark.\n",
    "HISTORY-2026-10.md": b"## 2026-10-02T10:00:00.000Z\n[2026-10-02 10:00] Talked of walnuts.\n",
    "notes/2026-10-02.md": b"[10:00] User: hi | Assistant: hello\n",
    "sessions/s1/session.jsonl": b'{"role": "user", "content": "hello", "timestamp": "2026-10-02T10:00:00Z"}\n',
    "sessions/s1/metadata.json": b'{"channel": "x"}',
}


def files(root: Path) -> dict[str, bytes]:
    """Give every file that is neither derived data nor for git."""
    made = {".gitignore", ".gitattributes"}
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".mem" not in path.parts and path.name not in made
    }


@pytest.fixture
def nasty(mem: Mem, workspace: Path) -> Path:
    """Give a workspace with all that `mem` keeps."""

    def write(*arguments: str) -> str:
        ran = mem("write", "--json", *arguments)
        assert ran.code == 0, ran.err
        return str(ran.json["id"])

    for port in ("7654", "7655", "7656"):
        write(f"Staging runs on port {port}.", "--key", "staging/port", "--source", "user")
    write("Never deploy on Fridays.", "--type", "constraint", "--pinned")
    assert mem("promote", write("The office is in Porto.", "--source", "user")).code == 0
    assert mem("forget", write("Marta is allergic to walnuts.", "--source", "user"), "--reason", "wrong").code == 0
    assert mem("write", "Walnuts make Marta ill, she is allergic to walnuts.", "--source", "observed").code == 0
    assert len(list((workspace / "inbox").glob("*.md"))) == 1
    old, new = write("The build takes ten minutes."), write("Lunch is served at noon on Mondays.")
    assert mem("supersede", old, new).code == 0
    (workspace / "mem.yaml").write_text("search:\n  limit: 8\n")
    for name, data in ODD.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o600 if name.startswith(("notes/", "sessions/")) else 0o644)  # as `mem` makes them
    os.utime(workspace / "entries" / "crlf.md", (1_600_000_000, 1_600_000_000))
    return workspace


def listed(mem: Mem, root: Path) -> list[dict[str, Any]]:
    """Give what `mem` says of every memory of a workspace."""
    entries = mem("--workspace", str(root), "ls", "--archived", "--status", "active", "--status", "superseded",
                  "--status", "archived", "--sort", "path", "--json").json["entries"]  # fmt: skip
    return [{key: value for key, value in entry.items() if key != "workspace"} for entry in entries]


def test_everything_comes_back_byte_for_byte(mem: Mem, nasty: Path, world: Path) -> None:
    assert mem("init", "other").code == 0
    other = world / "other"
    lines = mem("export", "--kind", "all").out
    ran = mem("--workspace", "other", "import", "-", stdin=lines)
    assert ran.code == 0, ran.err
    assert files(other) == files(nasty)
    assert mem("--workspace", "other", "export", "--kind", "all").out == lines
    assert listed(mem, other) == listed(mem, nasty)
    assert {entry["status"] for entry in listed(mem, other)} == {"active", "superseded", "archived"}
    assert (other / "inbox" / ".gitignore").read_text() == "*\n"
    again = mem("--workspace", "other", "import", "-", stdin=lines)
    assert (again.code, again.out) == (0, "")
    assert files(other) == files(nasty)


def test_what_was_forgotten_stays_so_where_it_comes_back(mem: Mem, nasty: Path, world: Path) -> None:
    assert mem("init", "other").code == 0
    assert mem("--workspace", "other", "import", "-", stdin=mem("export").out).code == 0
    ran = mem("--workspace", "other", "write", "Marta is allergic to walnuts.", "--source", "observed")
    assert "was forgotten on" in ran.err


def test_an_export_to_hand_on_holds_nothing_forgotten(mem: Mem, nasty: Path) -> None:
    ran = mem("export")
    assert "walnuts" in ran.out
    assert ran.err == "mem: conversations are left out: --kind all takes them in\n"
    handed_on = mem("export", "--status", "active", "--kind", "entry").out
    assert "walnuts" not in handed_on
    assert "7656" in handed_on


def test_killed_and_run_again_it_restores_the_same(mem: Mem, nasty: Path, world: Path) -> None:
    for number in range(300):
        (nasty / "entries" / f"{number}.md").write_text(f"---\nid: mem_n{number}\n---\n\nThe {number}th box is blue.\n")
    assert mem("export", "--kind", "all", "-o", "all.jsonl").code == 0
    assert mem("init", "other").code == 0
    command = [sys.executable, "-m", "memcli", "--workspace", "other", "import", "all.jsonl"]
    kills = 0
    for wanted in (20, 150, 290):
        with subprocess.Popen(command, cwd=world, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            while running.poll() is None and len(list((world / "other").rglob("*.md"))) < wanted:
                time.sleep(0.002)
            if running.poll() is None:
                os.kill(running.pid, signal.SIGKILL)
                kills += 1
    assert kills
    assert mem("--workspace", "other", "import", "all.jsonl").code == 0
    assert files(world / "other") == files(nasty)
