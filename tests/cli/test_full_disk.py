"""A full disk is told in one line that names the place; nothing is lost, and with space all of it goes in."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, Mem, Ran

ROOM = 200_000  # bytes that a file may have: the system refuses the rest as it does on a full disk


@pytest.fixture
def talk(world: Path) -> Path:
    """Write a conversation that is larger than there is room for."""
    said = [{"role": "user", "content": "Please remember: the cellar key hangs behind the boiler."}]
    said += [{"role": "assistant", "content": f"{number} {'Noted. ' * 500}"} for number in range(100)]
    path = world / "talk.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in said))
    return path


def content(root: Path) -> dict[str, bytes]:
    """Read every file of a workspace but the derived ones."""
    files = (path for path in root.rglob("*") if path.is_file() and ".mem" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def crowded(spawn: Callable[..., Ran], *arguments: str, stdin: bytes = b"") -> Ran:
    """Run `mem` where no file can grow past what there is room for."""
    command = ["-m", "memcli", *arguments]
    room = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({ROOM},) * 2)"
    return spawn(code=f"{room}; import os, sys; os.execv(sys.executable, [sys.executable, *{command!r}])", stdin=stdin)


@pytest.mark.parametrize("command", [("consolidate",), ("session", "import"), ("session", "import", "--session", "s")])
@pytest.mark.parametrize("piped", [False, True])
def test_a_conversation_too_large_for_the_disk_is_refused_whole_and_goes_in_when_there_is_space(
    mem: Mem, spawn: Callable[..., Ran], workspace: Path, talk: Path, command: tuple[str, ...], piped: bool
) -> None:
    before = content(workspace)
    name, stdin = ("-", talk.read_bytes()) if piped else (str(talk), b"")
    ran = crowded(spawn, *command, name, stdin=stdin)
    assert (ran.code, ran.out, ran.err.count("\n")) == (5, "", 1), ran.err
    assert ran.err.startswith(f"mem: cannot write {workspace}/.mem: ")
    assert "ulimit" in ran.err
    assert content(workspace) == before
    assert mem(*command, name, stdin=stdin).code == 0
    (kept,) = mem("session", "ls", "--json").json["sessions"]
    assert kept["messages"] == 101


def test_tend_says_that_nothing_could_be_embedded(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mem("write", "The bakery opens at seven.", "--no-dedup")
    monkeypatch.setattr("memcli.index.database.folder_of", lambda derived, cache: None)
    ran = mem("tend")
    assert (ran.code, ran.err.count("\n")) == (6, 1)
    assert "not embedded: the index cannot be kept here" in ran.err


def test_an_index_that_is_kept_elsewhere_is_said_to_be(
    mem: Mem, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem("write", "The bakery opens at seven.", "--no-dedup")
    assert mem("index", "--rebuild").err == ""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("memcli.index.database.folder_of", lambda derived, cache: elsewhere)
    ran = mem("index", "--rebuild")
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert f"its index is kept in {elsewhere}" in ran.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words",
    ["search bakery", "search bakery --json", "ls", "grep bakery", "read MEMORY.md", "--help", "--version", "stats",
     "export", "help settings", "write Another_one"],
)  # fmt: skip
def test_output_that_cannot_be_written_is_told_in_one_line(
    mem: Mem, workspace: Path, words: str, unbuffered: str
) -> None:
    mem("write", "The bakery opens at seven.", "--no-dedup")
    (workspace / "MEMORY.md").write_text("The bakery.\n")
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "memcli", *words.split()],
            stdout=full, stderr=subprocess.PIPE, check=False, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONPATH": str(FIXTURES.parent)},
        )  # fmt: skip
    assert (ran.returncode, ran.stderr.count("\n")) == (5, 1), ran.stderr
    assert "cannot write the output: no space left on device" in ran.stderr
    assert ran.stderr.startswith('{"error"' if "--json" in words else "mem: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_messages_that_nobody_can_be_told_change_neither_answer_nor_exit_code(mem: Mem, workspace: Path) -> None:
    mem("write", "The bakery opens at seven.", "--no-dedup")
    (workspace / "entries" / "broken.md").write_text("---\ntags: [a\n---\n\nThe bakery.\n")
    for words, code, said in (("ls", 0, "bakery"), ("read nobody", 4, ""), ("search zeppelin --mode keyword", 1, "")):
        with open("/dev/full", "wb") as full:
            ran = subprocess.run(
                [sys.executable, "-m", "memcli", *words.split()],
                stdout=subprocess.PIPE, stderr=full, check=False, text=True,
                env={**os.environ, "PYTHONPATH": str(FIXTURES.parent)},
            )  # fmt: skip
        assert (ran.returncode, said in ran.stdout) == (code, True), words
