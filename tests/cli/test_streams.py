"""What goes through streams stays as it is, and a printed path opens."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.cli import output
from memcli.results import number_of
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


def test_a_terminal_shows_lines_of_windows_as_lines_and_a_lone_return_as_what_it_is(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "to_terminal", lambda stream: True)
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "crlf.md").write_bytes("# Kiln\r\nshown\rhidden \u202e\r\n".encode())
    assert mem("read", "crlf.md").out == "# Kiln\nshown\\x0dhidden \\u202e\n"


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


BROKEN = "---\nid: mem_1\ntags: [a\n---\n\nA broken walrus.\n"
CONFLICT = "---\ntype: fact\n---\n\n<<<<<<< HEAD\nOur penguin.\n=======\nTheir penguin.\n>>>>>>> other\n"
PLACES = [".", "memory", "memory/entries", "memory/entries/projects", "src/deep"]


@pytest.fixture
def kept(mem: Mem, workspace: Path) -> Path:
    """Keep one memory at a path and one in a conversation's notes."""
    assert mem("write", "The otter lives in the harbour.", "--path", "projects/otter.md", "--no-dedup").code == 0
    assert mem("note", "The otter was fed.").code == 0
    (workspace.parent / "src" / "deep").mkdir(parents=True)
    return workspace


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("command", "column"),
    [
        (("grep", "-l", "otter lives"), 0),
        (("search", "otter lives", "--mode", "keyword", "--kind", "entry"), 4),
        (("ls",), 3),
        (("write", "--id", "projects/otter.md", "The otter left."), 2),
        (("edit", "projects/otter.md", "--replace", "lives", "lived"), 2),
        (("note", "Again."), 1),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
def test_a_printed_path_opens_from_where_one_stands(
    mem: Mem, kept: Path, monkeypatch: pytest.MonkeyPatch, place: str, command: tuple[str, ...], column: int
) -> None:
    monkeypatch.chdir(kept.parent / place)
    ran = mem(*command)
    assert ran.code == 0, ran.err
    printed = ran.rows[0][column].partition(".md:")[0].removesuffix(".md") + ".md"
    assert Path(printed).is_file()
    assert not Path(printed).is_absolute()


@pytest.mark.parametrize("place", PLACES)
def test_a_printed_path_is_taken_by_every_command_that_takes_one(
    mem: Mem, kept: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(kept.parent / place)
    path = mem("grep", "-l", "otter lives").out.strip()
    assert mem("read", path).out == "The otter lives in the harbour.\n"
    assert mem("search", path, "--mode", "keyword", "--json").json["hits"][0]["path"] == "entries/projects/otter.md"
    assert mem("ls", path).rows[0][3] == path
    assert mem("ls", "--path", path).rows[0][3] == path
    assert mem("grep", "-l", "otter", "--path", path).out.strip() == path
    assert mem("edit", path, "--replace", "harbour", "bay").code == 0
    assert mem("write", "--id", path, "The otter lives in the bay.").code == 0
    assert mem("forget", path).code == 0
    assert mem("ls").out == ""
    assert mem("restore", path).rows[0][2] == path
    assert mem("ls").rows[0][3] == path


def test_a_path_of_a_workspace_elsewhere_is_printed_in_full(
    mem: Mem, kept: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "other" / "place").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other" / "place")
    ran = mem("grep", "-l", "otter lives", "--workspace", str(kept))
    assert ran.out.strip() == str(kept / "entries" / "projects" / "otter.md")


def test_json_keeps_paths_of_the_workspace_wherever_one_stands(
    mem: Mem, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in PLACES:
        monkeypatch.chdir(kept.parent / place)
        assert mem("ls", "--json").json["entries"][0]["path"] == "entries/projects/otter.md"


@pytest.mark.parametrize(
    "prefix", ["projects/", "projects", "entries/projects/", "memory/entries/projects", "./memory/"]
)
def test_a_folder_means_the_same_in_every_command(mem: Mem, kept: Path, prefix: str) -> None:
    assert mem("write", "The heron lives by the lake.", "--no-dedup").code == 0
    listed = {row[3] for row in mem("ls", "--path", prefix).rows}
    assert listed == {row[3] for row in mem("ls", prefix).rows}
    assert listed == {row[4].partition(":")[0] for row in mem("search", "lives", "--path", prefix).rows}
    assert listed == set(mem("grep", "-l", "lives", "--path", prefix).out.split())
    exported = [line for line in mem("export", "--path", prefix).out.splitlines() if '"kind": "entry"' in line]
    assert len(exported) == len(listed) == (2 if prefix == "./memory/" else 1)


def test_a_name_of_two_files_is_refused_and_the_one_here_can_be_said(
    mem: Mem, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = next((kept / "notes").glob("*.md"))
    (kept / "entries" / "notes").mkdir()
    shutil.copy(note, kept / "entries" / "notes" / note.name)
    monkeypatch.chdir(kept / "entries")
    ran = mem("forget", f"notes/{note.name}")
    assert ran.code == 4
    assert f"entries/notes/{note.name}" in ran.err
    assert f"./notes/{note.name}" in ran.err
    assert mem("forget", f"./notes/{note.name}").code == 0
    assert note.is_file()
    assert not (kept / "entries" / "notes").exists() or not list((kept / "entries" / "notes").glob("*.md"))


def test_an_editor_opens_what_grep_lists_in_a_pipe(mem: Mem, kept: Path) -> None:
    binary = kept.parent / "bin"
    binary.mkdir()
    (binary / "mem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memcli "$@"\n')
    (binary / "mem").chmod(0o755)
    root = str(Path(__file__).parent.parent.parent)
    environ = {**os.environ, "PATH": f"{binary}:{os.environ['PATH']}", "PYTHONPATH": root}
    done = subprocess.run(
        ["sh", "-c", "cat $(mem grep -l 'otter lives')"],
        cwd=kept.parent / "src",
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "The otter lives in the harbour." in done.stdout, done.stderr


@pytest.mark.parametrize(
    "command",
    [("search", "walrus"), ("ls",), ("grep", "walrus"), ("recall", "walrus"), ("decay",), ("history", "show")],
)
def test_a_broken_file_that_is_found_all_the_same_is_not_named_on_every_call(
    mem: Mem, workspace: Path, command: tuple[str, ...]
) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "broken.md").write_text(BROKEN)
    assert mem(*command).err == ""


def test_a_broken_file_is_named_by_check_and_by_what_needs_it(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "broken.md").write_text(BROKEN)
    assert mem("check").out.startswith("memory/entries/broken.md:3: ")
    assert mem("read", "broken.md").err.startswith("mem: memory/entries/broken.md:3: ")
    assert "entries/broken.md:3: " in mem("write", "--id", "broken.md", "--tag", "b").err
    assert mem("ls", "--tag", "a").err.startswith("mem: memory/entries/broken.md:3: ")
    assert [one["left_out"] for one in mem("ls", "--json").json["problems"]] == [False]
    assert [one["left_out"] for one in mem("ls", "--tag", "a", "--json").json["problems"]] == [True]


def test_a_file_that_an_answer_lacks_is_named_by_the_answer(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "conflict.md").write_text(CONFLICT)
    (workspace / "entries" / "broken.md").write_text(BROKEN)
    for command in (("search", "penguin", "--mode", "keyword"), ("ls",), ("recall", "penguin")):
        assert mem(*command).err.startswith("mem: memory/entries/conflict.md:5: a git conflict marker"), command
    ran = mem("grep", "-l", "penguin")  # which reads the file as it is
    assert (ran.out, ran.err) == ("memory/entries/conflict.md\n", "")


Clock = Callable[[float, int, int], str]


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Clock:
    """Give a function that calls a bar at a time, and returns what it shows then."""
    progress, now = output.Bar("embedding texts"), 0.0
    monkeypatch.setattr(output, "to_terminal", lambda stream: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(output.time, "monotonic", lambda: now)

    def called(seconds: float, done: int, total: int) -> str:
        nonlocal now
        now = 1000 + seconds
        progress(done, total)
        return capsys.readouterr().err.removeprefix("\r\x1b[K")

    return called


def test_the_line_says_how_long_the_rest_takes_once_that_is_known(bar: Clock) -> None:
    assert bar(0, 100, 10_000) == "embedding texts 100 of 10,000"
    assert bar(0.05, 110, 10_000) == ""
    assert bar(2, 300, 10_000) == "embedding texts 300 of 10,000, 97 s left"
    assert bar(30, 1_100, 10_000) == "embedding texts 1,100 of 10,000, 4 min left"
    assert bar(99, 9_990, 10_000) == "embedding texts 9,990 of 10,000, 1 s left"
    assert bar(100, 10_000, 10_000) == "embedding texts 10,000 of 10,000"


def test_another_workspace_is_timed_from_its_own_beginning(bar: Clock) -> None:
    bar(0, 100, 1_000)
    bar(50, 1_000, 1_000)
    assert bar(50, 20, 120) == "embedding texts 20 of 120"
    assert bar(60, 70, 120) == "embedding texts 70 of 120, 10 s left"


def test_how_many_texts_were_embedded_is_said_of_this_run_alone(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    counts = []
    for number in (1, 2):
        (workspace / "entries" / f"{number}.md").write_text(f"Paper {number} lies on the desk.\n")
        counts.append(mem("index", "--json").json["embedded"])
    assert counts == [1, 1]


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (1, ("entry",), "1 entry"),
        (0, ("entry",), "0 entries"),
        (2, ("day",), "2 days"),
        (1200, ("more secret",), "1,200 more secrets"),
        (1, ("text", "is", "are"), "1 text is"),
        (2, ("memory", "lies", "lie"), "2 memories lie"),
    ],
)
def test_a_number_of_things_has_their_plural(number: int, words: tuple[str, ...], said: str) -> None:
    assert number_of(number, *words) == said


def test_one_of_each_is_counted_as_one(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mem("write", "Storks nest on the mill.")
    (workspace / "MEMORY.md").unlink()
    assert "1 file (1 new, 0 changed, 1 gone), 1 text, 0 not embedded" in mem("index").out
    assert "1 file in out.jsonl" in mem("export", "--output", "out.jsonl", "--kind", "entry").err
    monkeypatch.setattr("memcli.cli.output.to_terminal", lambda stream: True)
    shown = mem("stats").out
    assert "1 entry: 1 active" in shown
    assert "1 text, 0 not embedded" in shown
    assert "1 file, nothing wrong" in mem("check").err
