"""What a killed command or a full disk left is finished, named or removed by the next command."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.beliefs.forgotten import Forgetting
from memcli.maintenance import archiving
from memcli.store.file_steps import PREFIX, temporary_name
from memcli.store.workspace import Workspace
from tests.conftest import FIXTURES, Mem, Ran
from tests.sample import in_turn, sampled


@pytest.mark.parametrize("form", ["id", "path", "here"])
@pytest.mark.parametrize("cut", [1, 2])
def test_forgetting_several_is_finished_by_the_same_words(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch, form: str, cut: int
) -> None:
    names = []
    for text in ("One.", "Two.", "Three."):
        written = mem("write", text, "--no-dedup", "--json").json
        names.append({"id": written["id"], "path": written["path"], "here": f"memory/{written['path']}"}[form])
    forgetting, done = archiving.forgetting, []

    def cut_off(where: Workspace, paths: list[str], **told: str) -> Forgetting:
        if len(done) == cut:
            raise KeyboardInterrupt
        done.extend(paths)
        return forgetting(where, paths, **told)

    with monkeypatch.context() as patched:
        patched.setattr(archiving, "forgetting", cut_off)
        ran = mem("forget", *names)
        assert (ran.code, ran.err) == (130, "mem: interrupted\n")
    assert len(mem("ls").rows) == 3 - cut
    ran = mem("forget", *names)
    assert ran.code == 0, ran.err
    assert [row[0] for row in ran.rows] == ["unchanged"] * cut + ["archived"] * (3 - cut)
    assert mem("ls").out == ""
    assert len(list(workspace.glob("archive/**/*.md"))) == 3


def test_what_stands_between_two_names_stops_neither(mem: Mem, workspace: Path) -> None:
    one, two = (mem("write", text, "--no-dedup").rows[0][1] for text in ("One.", "Two."))
    ran = mem("forget", one, "MEMORY.md", two, "--json")
    assert ran.code == 3
    assert [row["action"] for row in ran.json["entries"]] == ["archived", "archived"]
    assert [row["name"] for row in ran.json["failed"]] == ["MEMORY.md"]


@pytest.mark.parametrize("name", ["p/ship.md", "entries/p/ship.md", "memory/entries/p/ship.md"])
def test_what_was_written_at_a_path_is_promoted_by_it_at_once(mem: Mem, workspace: Path, name: str) -> None:
    assert mem("write", "Ships leave at noon.", "--path", "p/ship.md").code == 0
    ran = mem("promote", name)
    assert ran.code == 0
    assert "Ships leave at noon." in (workspace / "MEMORY.md").read_text()


def test_a_file_without_an_id_that_an_editor_just_made_is_known_to_promote(mem: Mem, workspace: Path) -> None:
    assert mem("ls").code == 0
    (workspace / "entries").mkdir(exist_ok=True)
    page = workspace / "entries" / "plain.md"
    page.write_text("Ships leave at one.\n")
    os.utime(page, (0, 0))
    ran = mem("promote", "plain.md")
    assert "is gone" not in ran.err


def test_a_purge_that_was_cut_off_is_finished_by_the_same_words(mem: Mem, workspace: Path) -> None:
    one, two = (mem("write", text, "--no-dedup").rows[0][1] for text in ("One.", "Two."))
    assert mem("forget", "--purge", one).code == 0
    ran = mem("forget", "--purge", one, two, "--json")
    assert ran.code == 3
    assert [row["name"] for row in ran.json["entries"]] == [two]
    assert [row["name"] for row in ran.json["failed"]] == [one]
    assert not list((workspace / "entries").rglob("*.md"))
    assert mem("forget", "--purge", one).code == 4


@pytest.mark.parametrize("secret", ["ghp_" + "aB3dE6fG9hJ2kL5mN8pQ" + "1rS4tU7vW0xY3zA6", "password=hunter2-Zebra!9"])
def test_a_secret_named_by_mistake_is_not_repeated(mem: Mem, workspace: Path, secret: str) -> None:
    ran = mem("forget", "--purge", secret, "--json")
    assert ran.code == 4
    assert secret not in ran.out + ran.err
    assert "REDACTED" in ran.out


@pytest.mark.parametrize("done", [1, 2])
def test_restoring_several_is_finished_by_the_same_words(mem: Mem, workspace: Path, done: int) -> None:
    names = [mem("write", text, "--no-dedup").rows[0][1] for text in ("One.", "Two.", "Three.")]
    assert mem("forget", *names).code == 0
    assert mem("restore", *names[:done]).code == 0
    ran = mem("restore", *names)
    assert ran.code == 0, ran.err
    assert [row[0] for row in ran.rows] == ["unchanged"] * done + ["restored"] * (3 - done)
    assert len(mem("ls").rows) == 3
    assert mem("restore", names[0]).code == 5


WHOLE = '{"id": "m1", "type": "message", "role": "user", "content": "The key \\"B\\" is béside the stóve", '
WHOLE += '"timestamp": "2026-11-20T10:00:00Z"}\n'


@pytest.fixture
def session(mem: Mem, workspace: Path) -> Path:
    """Give the file of a session with one message."""
    assert mem("session", "append", "--text", "What is new?", "--session", "talk").code == 0
    return workspace / "sessions" / "talk" / "session.jsonl"


@pytest.mark.parametrize("at", sampled([1, 5, 12, *range(20, len(WHOLE.encode()), 7)], 9))
@pytest.mark.parametrize("goes_on", [False, True])
def test_check_fix_ends_it_wherever_it_was_cut_off(mem: Mem, session: Path, at: int, goes_on: bool) -> None:
    before = session.read_bytes()
    torn = WHOLE.encode()[:at]
    session.write_bytes(before + torn)
    if goes_on:
        assert mem("session", "append", "--text", "And then?", "--session", "talk").code == 0
    assert mem("check").code == 1
    fixed = mem("check", "--fix")
    assert (fixed.code, fixed.out) == (0, ""), fixed
    assert mem("check").code == 0
    assert session.read_bytes().startswith(before)
    said = [json.loads(line)["content"] for line in session.read_text().splitlines()]
    assert said[0] == "What is new?"
    assert said[-1] == "And then?" or not goes_on
    words = json.loads(WHOLE)["content"]
    for text in said[1 : 2 if at > len(WHOLE) // 2 else 1]:
        assert text == words or (text.endswith("…") and words.startswith(text[:-1])), text
    assert at < 70 or len(said) == 2 + goes_on


@pytest.mark.parametrize("at", [30, 70, 110, len(WHOLE.encode()) - 3])
def test_one_that_was_added_again_whole_is_not_there_twice(mem: Mem, session: Path, at: int) -> None:
    before = session.read_bytes()
    session.write_bytes(before + WHOLE.encode()[:at])
    assert mem("session", "append", "-", "--session", "talk", stdin=WHOLE).code == 0
    assert mem("check", "--fix").code == 0
    assert session.read_bytes() == before + WHOLE.encode()


@pytest.mark.parametrize(
    "line", ["not JSON at all", '{"id": "x", "other": [1, {"a": "b', '["a", "b', "{{{", '{"a": 1}}']
)
def test_a_line_that_no_crash_left_is_left_alone(mem: Mem, session: Path, line: str) -> None:
    left = session.read_bytes() + f"{line}\n".encode()
    session.write_bytes(left)
    mem("check", "--fix")
    assert session.read_bytes() == left


KILLED = """
import os, signal, sys
from pathlib import Path
from memcli.store import file_steps as disk
Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
disk.write_temporary(Path(sys.argv[1]), b"half a memory")
os.kill(os.getpid(), signal.SIGKILL)
"""
PLACES = ["entries/2026-11", "entries", "notes", "archive/entries", "."]


@pytest.fixture(params=PLACES)
def left(workspace: Path, request: pytest.FixtureRequest) -> str:
    """Kill a writer in a folder of the workspace, and give the path of what it left."""
    place = workspace / request.param
    done = subprocess.run([sys.executable, "-c", KILLED, str(place)], check=False)
    assert done.returncode == -signal.SIGKILL
    (path,) = place.glob(f"{PREFIX}*")
    return path.relative_to(workspace).as_posix()


def test_check_names_what_a_killed_write_left_and_fix_removes_it(mem: Mem, workspace: Path, left: str) -> None:
    ran = mem("check")
    assert (ran.code, ran.out.count("\n")) == (1, 1)
    assert ran.out.startswith(f"memory/{left}:1: left by a write that was killed")
    assert mem("check", "--fix", "--dry-run").code == 1
    assert (workspace / left).exists()
    fixed = mem("check", "--fix")
    assert (fixed.code, fixed.out, fixed.err) == (0, "", f"mem: mended {left}: removed\n")
    assert not (workspace / left).exists()
    assert mem("check").code == 0


def test_tend_removes_it_and_says_so_once(mem: Mem, workspace: Path, left: str) -> None:
    assert ["check", "removed 1 unfinished file of killed writes"] in mem("tend").rows
    assert not (workspace / left).exists()
    assert "removed" not in mem("tend").out


@pytest.mark.parametrize("command", [("check", "--fix"), ("tend",)])
def test_what_a_running_process_writes_and_what_a_person_named_so_stays(
    mem: Mem, workspace: Path, command: tuple[str, ...]
) -> None:
    folder = workspace / "entries"
    folder.mkdir()
    for name in (temporary_name(), ".mem-tmp-mine.md"):
        (folder / name).write_text("words of mine\n")
    os.utime(folder / ".mem-tmp-mine.md", (0, 0))
    assert mem("check").code == 0
    mem(*command)
    assert len(list(folder.iterdir())) == 2


def test_one_of_another_release_is_removed_after_an_hour(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir()
    path = workspace / "entries" / f"{PREFIX}0123456789abcdef"
    path.write_text("half")
    os.utime(path, (time.time() - 3500,) * 2)
    assert mem("check").code == 0
    os.utime(path, (time.time() - 3700,) * 2)
    assert mem("check", "--fix").code == 0
    assert not path.exists()


def test_git_passes_over_what_a_killed_write_left(mem: Mem, workspace: Path, left: str) -> None:
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    told = subprocess.run(
        ["git", "-C", str(workspace), "status", "--porcelain", "-uall"], capture_output=True, text=True, check=True
    )
    assert "MEMORY.md" in told.stdout
    assert PREFIX not in told.stdout


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
@pytest.mark.parametrize(
    ("words", "unbuffered"),
    in_turn(
        ["search bakery", "search bakery --json", "ls", "grep bakery", "read MEMORY.md", "--help", "--version", "stats",
         "export", "help settings", "write Another_one"],
        ["", "1"],
    ),
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
