"""What reaches a terminal, a pipe and a closed stream: nothing that drives a terminal, and never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Mem

SEQUENCES = {
    "colour": "\x1b[31mred",
    "title": "\x1b]0;owned\x07",
    "one byte": "\x9b31mred",
    "backspace": "abc\b\b\bxyz",
    "return": "harmless\rhidden",
    "delete": "a\x7fb",
}


@pytest.mark.parametrize("text", SEQUENCES.values(), ids=SEQUENCES)
@pytest.mark.parametrize(
    "command",
    [
        ("read", "odd.md"),
        ("search", "zebra", "--mode", "keyword"),
        ("grep", "zebra"),
        ("ls",),
        ("recall", "zebra"),
        ("read", "odd.md", "--json"),
        ("ls", "--json"),
        ("grep", "zebra", "--json"),
        ("export", "--format", "markdown"),
    ],
    ids=" ".join,
)
def test_no_escape_of_a_memory_goes_through_a_pipe(
    mem: Mem, workspace: Path, command: tuple[str, ...], text: str
) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "odd.md").write_bytes(f"zebra {text} ends\n".encode())
    out = mem(*command).out
    assert "zebra" in out
    assert not set(out) & {*map(chr, range(9)), *map(chr, range(11, 32)), *map(chr, range(127, 160))}
    if command == ("read", "odd.md", "--json"):
        assert json.loads(out)["content"] == f"zebra {text} ends\n"


def test_text_of_every_script_and_its_line_ends_go_through_a_pipe_as_they_are(mem: Mem, workspace: Path) -> None:
    text = "שלום \u200fעולם\u200e, 京都, 😀\tnaïve\r\nsecond line\r\n"
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "scripts.md").write_bytes(text.encode())
    assert mem("read", "scripts.md").out == text


def test_raw_gives_every_byte(mem: Mem, workspace: Path) -> None:
    text = "zebra \x1b[31mred\x07 \x9b1m \r ends\n"
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "odd.md").write_bytes(text.encode())
    assert mem("read", "odd.md", "--raw").out == text
    (line,) = (one for one in map(json.loads, mem("export").out.splitlines()) if one["kind"] == "entry")
    assert line["text"] == text


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "command",
    ["ls", "search zebra --mode keyword", "ls --json", "read nothing", "write 'a zebra' --no-dedup", "--help"],
)
def test_a_closed_stream_is_no_traceback_and_harms_no_file(
    workspace: Path, world: Path, closed: str, command: str
) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "one.md").write_text("A zebra.\n")
    before = {path: path.read_bytes() for path in workspace.rglob("*.md")}
    root = str(Path(__file__).parent.parent.parent)
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m memcli {command} {closed}"],
        cwd=world,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr + done.stdout
    assert done.returncode == (4 if "nothing" in command else 0), done.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_an_unknown_settings_file_is_one_line_a_command_and_all_of_it_in_check(mem: Mem, workspace: Path) -> None:
    lines = "".join(f"other{number}: x\n" for number in range(5))
    (workspace / "mem.yaml").write_text(f"{lines}search:\n  limit: 3\n")
    for command in (("ls",), ("grep", "x"), ("history", "show"), ("write", "One.", "--no-dedup")):
        ran = mem(*command)
        assert ran.err.count("\n") == 1, command
        assert "unknown setting other0 (and 4 more: run `mem check`)" in ran.err
    assert mem("check").out.count("unknown setting other") == 5
