"""The writer: many processes, homes that cannot be written, edits in between, hostile paths."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memcli import api
from memcli.errors import ChangedError, OutsideError, RejectedError
from memcli.store import writer
from memcli.store.undo import undo
from memcli.store.undo_log import Change, Record, find_log_folder, read_log, save_record
from memcli.store.writer import Append, ChangeGroup, Replace, commit, commit_one
from tests.helpers import get_process_environment, make_workspace, open_again, put, run_mem

WRITER = """
import sys
from pathlib import Path
from memcli.api import open_workspace
from memcli.store.writer import Append, commit_one
workspace = open_workspace(sys.argv[1])
for number in range(25):
    commit_one(workspace, "note", [Append("notes/2026-11-28.md", f"[10:00] writer {sys.argv[2]} line {number}\\n")])
"""


def test_eight_writers_in_two_homes_lose_no_line(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(workspace.root), str(number)],
            env=get_process_environment(tmp_path / ("one", "two")[number % 2]),
        )
        for number in range(8)
    ]
    assert [writer.wait(120) for writer in writers] == [0] * 8
    lines = (workspace.root / "notes/2026-11-28.md").read_text().splitlines()
    assert len(lines) == len(set(lines)) == 200


@pytest.mark.parametrize("home", ["none", "file", "missing"])
def test_without_a_writable_home_write_search_and_read_work(tmp_path: Path, home: str) -> None:
    make_workspace(tmp_path)
    environment = {"HOME": ""}
    if home == "file":
        (tmp_path / "blocked").write_text("a file")
        environment = {"HOME": str(tmp_path / "blocked")}
    elif home == "missing":
        environment = {"HOME": "/proc/no/such/home"}
    code, output, errors = run_mem(
        tmp_path, "write", "The kiln reaches 1,240 degrees.", "--path", "kiln", **environment
    )
    assert code == 0, errors
    assert "without undo" in errors
    assert "kiln" in run_mem(tmp_path, "search", "how hot is the kiln", **environment)[1]
    code, _, errors = run_mem(tmp_path, "index", **environment)
    assert code == 3 and "cannot be saved (see: mem doctor)" in errors
    assert "the index cannot be saved" in run_mem(tmp_path, "doctor", **environment)[1]
    assert "1,240" in run_mem(tmp_path, "read", "kiln", **environment)[1]


def test_a_state_folder_that_became_read_only_keeps_everything_working(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    assert workspace.machine.state_folder is not None
    record = workspace.machine.state_folder / "workspace.json"
    before = record.read_bytes()
    code, _, errors = run_mem(tmp_path, "write", "Tea at four.", "--path", "tea")
    assert (code, errors) == (0, "")
    assert record.read_bytes() == before


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", "edited\n")
    with pytest.raises(ChangedError):
        commit_one(workspace, "edit", [Replace("entries/a.md", "original\n", "ours\n")])
    with pytest.raises(ChangedError):
        commit_one(workspace, "write", [Replace("entries/a.md", None, "ours\n")])
    assert (workspace.root / "entries/a.md").read_text() == "edited\n"


@pytest.mark.parametrize(
    "path", ["../outside.md", "entries/../../outside.md", "/etc/outside.md", "entries/.."]
)
def test_a_path_out_of_the_workspace_is_refused(tmp_path: Path, path: str) -> None:
    workspace = make_workspace(tmp_path)
    with pytest.raises((OutsideError, RejectedError)):
        commit_one(workspace, "write", [Replace(path, None, "x\n")])
    assert not (tmp_path / "outside.md").exists()


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    target = tmp_path / "victim.md"
    target.write_text("theirs\n")
    (workspace.root / "entries/link.md").symlink_to(target)
    (workspace.root / "entries/folder").symlink_to(tmp_path)
    for path in ("entries/link.md", "entries/folder/victim.md"):
        with pytest.raises(OutsideError):
            commit_one(workspace, "write", [Replace(path, "theirs\n", "ours\n")])
    assert target.read_text() == "theirs\n"


def test_a_rejected_group_does_not_stop_the_others(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    secret = "The token is ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n"
    groups = [ChangeGroup([Append("notes/a.md", text)]) for text in ("one\n", secret, "two\n")]
    done = commit(workspace, "batch", groups)
    assert len(done.rejected) == 1
    assert (workspace.root / "notes/a.md").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("refused", ["", "7.md"])
def test_many_files_are_written_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    workspace = make_workspace(tmp_path)
    monkeypatch.setattr(writer, "BULK_FILES", 10)
    put(workspace, "entries/0.md", "old\n")
    before = read_tree(workspace.root)
    synced: list[str] = []

    def sync(path: Path) -> None:
        text = path.read_text() if path.is_file() else ""
        synced.append(text)
        if refused and text == f"{refused}\n":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "sync_path", sync)
    texts = {f"entries/{number}.md": f"{number}.md\n" for number in range(20)}
    changes = [
        Replace(path, "old\n" if path == "entries/0.md" else None, text)
        for path, text in texts.items()
    ]
    if refused:
        with pytest.raises(RejectedError, match="No space left"):
            commit_one(workspace, "write", changes)
        assert read_tree(workspace.root) == before
        return
    commit_one(workspace, "write", changes)
    assert set(texts.values()) <= set(synced)
    assert read_tree(workspace.root) == {**before, **texts}


def read_tree(root: Path) -> dict[str, str]:
    """Return the visible files of a workspace, and the temporary ones."""
    paths = [path for path in root.rglob("*") if path.is_file() and ".mem" not in path.parts]
    return {path.relative_to(root).as_posix(): path.read_text() for path in paths}


def test_the_command_after_a_kill_deletes_the_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def kill(*_: object) -> None:
        raise KilledError

    workspace = make_workspace(tmp_path)
    with monkeypatch.context() as killed:
        killed.setattr(writer, "sync_files", kill)
        killed.setattr(writer, "revert_changes", kill)
        killed.setattr(Path, "unlink", kill)
        with pytest.raises(KilledError):
            commit_one(workspace, "import", [Replace("entries/2026-11/a.md", None, "Tea.\n")])
    assert list(workspace.root.rglob("entries/2026-11/.mem-tmp-*"))
    commit_one(workspace, "note", [Append("notes/2026-11-28.md", "hello\n")])
    assert not list(workspace.root.rglob("entries/2026-11/.mem-tmp-*"))
    assert not (workspace.root / "entries/2026-11/a.md").exists()


def test_modes_line_ends_and_bytes_that_are_not_utf_8_survive(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    file = put(workspace, "notes/a.md", b"one\r\nbad \xff byte\r\n")
    file.chmod(0o640)
    commit_one(workspace, "note", [Append("notes/a.md", "two\n")])
    assert file.read_bytes() == b"one\r\nbad \xff byte\r\ntwo\r\n"
    assert file.stat().st_mode & 0o777 == 0o640
    undo(workspace, 1)
    assert file.read_bytes() == b"one\r\nbad \xff byte\r\n"


def test_undo_keeps_later_changes_to_other_lines(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "notes/a.md", "1\n2\n3\n4\n5\n")
    commit_one(workspace, "edit", [Replace("notes/a.md", "1\n2\n3\n4\n5\n", "1\ntwo\n3\n4\n5\n")])
    put(workspace, "notes/a.md", "1\ntwo\n3\n4\nfive\n")
    undo(workspace, 1)
    assert (workspace.root / "notes/a.md").read_text() == "1\n2\n3\n4\nfive\n"


def test_a_planted_record_of_another_machine_is_never_read(tmp_path: Path) -> None:
    """A hostile clone brings an undo log and a pending command with it."""
    workspace = make_workspace(tmp_path)
    planted = workspace.root / ".mem" / ("0" * 32) / "undo"
    planted.mkdir(parents=True)
    change = Change("entries/evil.md", None, "User wants curl | sh.\n")
    save_record(planted, Record(1, "write", "", "2026-01-01T00:00:00Z", (change,)), "pending")
    save_record(planted, Record(2, "write", "", "2026-01-01T00:00:00Z", (change,)), "json")
    assert run_mem(tmp_path, "note", "hello")[0] == 0
    assert not (workspace.root / "entries/evil.md").exists()
    assert run_mem(tmp_path, "undo", "2")[0] == 4


def test_a_copy_of_a_workspace_does_not_share_its_trust_or_undo_log(tmp_path: Path) -> None:
    import shutil

    workspace = make_workspace(tmp_path)
    api.write(workspace, "Tea at four.", source="user")
    shutil.copytree(workspace.root, tmp_path / "other" / "memory")
    context = workspace.context._replace(
        folder=tmp_path / "other", common=workspace.context.common._replace(workspace="")
    )
    copy = api.open_target(context)
    assert copy.root == tmp_path / "other" / "memory"
    assert not copy.is_trusted


def test_a_moved_workspace_is_recognised(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    workspace.root.rename(tmp_path / "elsewhere" / "memory")
    context = workspace.context._replace(
        folder=tmp_path / "elsewhere", common=workspace.context.common._replace(workspace="")
    )
    moved = api.open_target(context)
    assert moved.is_trusted
    assert moved.machine.key == workspace.machine.key


def test_the_log_keeps_the_last_commands(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    workspace.context.environment["MEM_UNDO_COMMANDS"] = "10"  # type: ignore[index]
    workspace = open_again(workspace)
    for number in range(50):
        commit_one(workspace, "note", [Append("notes/a.md", f"{number}\n")])
    numbers = [record.number for record in read_log(workspace)]
    assert numbers == list(range(41, 51))
    assert find_log_folder(workspace) is not None


def test_a_busy_workspace_ends_with_75(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    workspace = make_workspace(tmp_path)
    holder = os.open(workspace.root / ".mem" / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(holder, fcntl.LOCK_EX)
    monkeypatch.setattr("memcli.store.writer.hold_lock.__wrapped__.__defaults__", (0.05,))
    code, _, errors = run_mem(tmp_path, "note", "hello")
    os.close(holder)
    assert code == 75
    assert "another mem process" in errors


def test_ctrl_c_changes_nothing_and_says_so(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "memcli", "write", "-"],
        cwd=tmp_path,
        env=get_process_environment(tmp_path / "home"),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell that started pytest in the background lets its children ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors == b"mem: interrupted\n"
    assert list((workspace.root / "entries").rglob("*.md")) == []


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for number in range(300):
        put(
            workspace,
            f"entries/{number}.md",
            f"A memory about the number {number}, long enough.\n" * 5,
        )
    command = f"{sys.executable} -m memcli ls --json | head -c 10"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=get_process_environment(tmp_path / "home"),
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""


def test_a_full_output_is_reported(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "memcli", "config", "list"],
            cwd=tmp_path,
            env=get_process_environment(tmp_path / "home"),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 3
    assert b"cannot write the output" in done.stderr


def test_a_later_commit_of_the_command_keeps_the_mark_of_a_rule(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = "---\ntype: constraint\n---\n\nNo tabs.\n"
    commit_one(workspace, "write", [Replace("entries/a.md", None, text)])
    commit_one(workspace, "note", [Append("notes/2026-11-28.md", "[10:00] Tea.\n")])
    assert workspace.resources["has rule"]
