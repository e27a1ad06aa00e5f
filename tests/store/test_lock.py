"""Who has the lock, who waits in its turn, and what a killed holder leaves."""

import errno
import fcntl
import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Thread, get_ident

import filelock
import pytest

from memcli.errors import BusyError, NotFoundError, RefusedError
from memcli.store import atomic_files, entries
from memcli.store import lock as turns
from memcli.store.journal import exclusive
from memcli.store.lock import Held, change_mark, changing, locked, one_by_one
from memcli.store.workspace import Workspace
from tests.beliefs.test_admit import at
from tests.crash import RefusingOS
from tests.processes import race, run, running
from tests.sample import IS_LONG

NOW = "2026-11-21T20:15:03Z"


@pytest.fixture
def mem_dir(bare: Path) -> Path:
    return bare / ".mem"


def try_lock(mem_dir: Path) -> Held:
    """Take and give back the lock without waiting for it."""
    with locked(mem_dir, command="mem try", now=NOW, wait=0) as held:
        return held


def elsewhere(work: Callable[[], object]) -> object:
    """Do the work in another thread and give its result or its error."""
    result: list[object] = []

    def catching() -> None:
        try:
            result.append(work())
        except Exception as error:
            result.append(error)

    thread = threading.Thread(target=catching)
    thread.start()
    thread.join(60)
    return result[0]


def test_processes_that_append_under_the_lock_lose_no_record(bare: Path) -> None:
    count = 50 if IS_LONG else 20
    script = """
from pathlib import Path
from memcli.store import atomic_files as files
from memcli.store.lock import locked
root = Path(sys.argv[2])
with locked(root / ".mem", command="mem note", now="now", wait=100) as held:
    before = files.read(root / "log.md") if (root / "log.md").exists() else b""
    files.append(root / "log.md", f"{before.count(10)} {sys.argv[1]}\\n".encode())
    held.check()
"""
    assert race(script, count, bare) == [(0, "", "")] * count
    records = [line.split() for line in (bare / "log.md").read_text().splitlines()]
    assert [int(position) for position, _ in records] == list(range(count))
    assert sorted(int(writer) for _, writer in records) == list(range(count))
    assert sorted(os.listdir(bare / ".mem")) == [".gitignore", "lock"]


def test_threads_of_one_process_exclude_each_other(mem_dir: Path) -> None:
    with locked(mem_dir, command="mem edit a", now=NOW):
        assert isinstance(elsewhere(lambda: try_lock(mem_dir)), BusyError)
    assert isinstance(elsewhere(lambda: try_lock(mem_dir)), Held)


def test_two_workspaces_have_two_locks(bare: Path) -> None:
    with locked(bare / "one", command="mem a", now=NOW) as one, locked(bare / "two", command="b", now=NOW):
        one.check()


def test_asking_again_for_what_the_thread_holds_is_a_bug_that_is_named(mem_dir: Path, bare: Path) -> None:
    (bare / "door").symlink_to(".")
    with locked(mem_dir, command="mem edit a", now=NOW):
        for spelling in (mem_dir, bare / "door" / ".mem"):
            with pytest.raises(RuntimeError, match="this thread already holds"):
                try_lock(spelling)
    try_lock(mem_dir).path.unlink()


def test_the_lock_is_given_back_when_the_work_fails(mem_dir: Path) -> None:
    with pytest.raises(KeyError), locked(mem_dir, command="mem edit a", now=NOW):
        raise KeyError
    try_lock(mem_dir)


def test_who_waits_in_vain_learns_who_holds_the_lock(mem_dir: Path) -> None:
    with locked(mem_dir, command="mem consolidate", now=NOW):
        error = elsewhere(lambda: try_lock(mem_dir))
    assert isinstance(error, BusyError)
    holder = f"mem consolidate (pid {os.getpid()} on {os.uname().nodename}) since {NOW}"
    assert str(error) == f"workspace is busy: {holder}: try again"
    assert error.exit_code == 75


@pytest.mark.parametrize("note", [b"", b"one line\n", b"\xff\n2\n3\n4\n"])
def test_a_damaged_note_of_the_holder_does_not_hide_that_it_is_busy(note: bytes, mem_dir: Path) -> None:
    with locked(mem_dir, command="mem consolidate", now=NOW):
        (mem_dir / "lock.holder").write_bytes(note)
        error = elsewhere(lambda: try_lock(mem_dir))
    assert str(error) == "workspace is busy: another process holds its lock: try again"


def test_the_lock_of_a_killed_process_is_free(mem_dir: Path) -> None:
    script = """
import sys
from pathlib import Path
from memcli.store.lock import locked
with locked(Path(sys.argv[1]), command="mem decay", now="long ago"):
    print("held", flush=True)
    sys.stdin.read()
"""
    with running(script, mem_dir) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(BusyError, match=rf"mem decay \(pid {process.pid} on .*\) since long ago"):
            try_lock(mem_dir)
    try_lock(mem_dir)


def test_who_waits_while_the_folder_is_deleted_gets_a_new_lock_and_the_old_one_is_void(
    mem_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = threading.Event()
    real = filelock.FileLock.acquire

    def acquire(lock: filelock.FileLock, **options: float) -> object:
        waits.set()
        return real(lock, **options)

    def take_over() -> str:
        with locked(mem_dir, command="mem note", now=NOW, wait=60) as mine:
            mine.check()
            finished.wait(60)
            mine.check()
            with pytest.raises(BusyError, match="mem note"):
                elsewhere_raising(mem_dir)
        return "done"

    finished, results = threading.Event(), list[object]()
    waiter = threading.Thread(target=lambda: results.append(take_over()))
    with locked(mem_dir, command="mem edit a", now=NOW) as held:
        monkeypatch.setattr(filelock.FileLock, "acquire", acquire)
        waiter.start()
        assert waits.wait(60)
        shutil.rmtree(mem_dir.rename(mem_dir.with_name("gone")))  # at once: the waiter makes files in it
        while not (mem_dir / "lock.holder").exists():
            assert waiter.is_alive()
            time.sleep(0.01)
        with pytest.raises(BusyError, match="was deleted while it was held: run it again"):
            held.check()
    finished.set()
    waiter.join(60)
    assert results == ["done"]


def elsewhere_raising(mem_dir: Path) -> None:
    error = elsewhere(lambda: try_lock(mem_dir))
    assert isinstance(error, BusyError)
    raise error


def deleting(mem_dir: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody delete the lock file and make another right after it was locked, so many times."""
    real = filelock.FileLock.acquire
    left = [None] * times

    def acquire(lock: filelock.FileLock, **options: float) -> object:
        result = real(lock, **options)
        if left:
            left.pop()
            (mem_dir / "lock").unlink()
            (mem_dir / "lock").touch()
        return result

    monkeypatch.setattr(filelock.FileLock, "acquire", acquire)


def test_a_lock_on_a_file_that_was_replaced_meanwhile_is_taken_anew(
    mem_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting(mem_dir, 2, monkeypatch)
    with locked(mem_dir, command="mem edit a", now=NOW) as held:
        held.check()
        assert isinstance(elsewhere(lambda: try_lock(mem_dir)), BusyError)


def test_a_lock_file_that_is_replaced_for_ever_is_given_up(mem_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deleting(mem_dir, 1000, monkeypatch)
    with pytest.raises(BusyError, match="is deleted again and again"):
        try_lock(mem_dir)


def test_the_folder_is_made_but_not_the_workspace(bare: Path) -> None:
    try_lock(bare / ".mem")
    assert sorted(os.listdir(bare / ".mem")) == [".gitignore", "lock"]
    with pytest.raises(NotFoundError, match=f"there is no workspace {bare / 'none'}: `mem init` makes one"):
        try_lock(bare / "none" / ".mem")


def test_where_no_lock_can_be_written_the_work_is_refused(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "file").touch()
    (bare / "folder" / "lock").mkdir(parents=True)
    for name, reason in (("file", "not a directory"), ("folder", "is a directory")):
        with pytest.raises(RefusedError, match=f"cannot lock {bare / name}: {reason}"):
            try_lock(bare / name)
    for call in ("mkdir", "open"):
        monkeypatch.setattr("memcli.store.lock.os", RefusingOS({call: errno.EROFS}))
        with pytest.raises(RefusedError, match="read-only file system: make the file"):
            try_lock(bare / ".mem")


def test_a_link_in_place_of_the_lock_is_not_followed(mem_dir: Path, bare: Path) -> None:
    mem_dir.mkdir()
    (mem_dir / "lock").symlink_to(bare / "page.md")
    with pytest.raises(RefusedError, match="cannot lock"):
        try_lock(mem_dir)
    assert not (bare / "page.md").exists()


def test_a_file_system_without_locks_is_refused(mem_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(fd: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # filelock says that it makes do with a lesser lock
        with pytest.raises(RefusedError, match="keep the workspace on a file system with locks"):
            try_lock(mem_dir)


def test_a_full_disk_does_not_keep_the_lock_from_being_had(mem_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str, encoding: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    try_lock(mem_dir).path.unlink()


def test_the_lock_library_is_loaded_by_those_who_lock() -> None:
    script = """
import sys
from pathlib import Path
from memcli.store import lock
print("filelock" in sys.modules)
"""
    assert run(script).out == "False\n"


def test_a_torn_record_is_closed_off_by_the_next_holder(bare: Path) -> None:
    (bare / "log.md").write_bytes(b"one\ntor")
    with locked(bare / ".mem", command="mem note", now=NOW):
        atomic_files.append(bare / "log.md", b"two\n")
    assert (bare / "log.md").read_bytes() == b"one\ntor\ntwo\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def test_the_mark_moves_with_every_change_and_is_another_one_meanwhile(workspace: Workspace) -> None:
    marks = [change_mark(workspace)]
    for number in range(3):
        with exclusive(workspace, "mem test") as held:
            assert held.has_seen(marks[-1])
            assert not held.has_seen(change_mark(workspace))
        marks.append(change_mark(workspace))
        entries.write(workspace, {}, "The user prefers tabs", bytes([number] * 8))
        marks.append(change_mark(workspace))
    assert len(set(marks)) == 7


def test_a_change_that_fails_moves_the_mark(workspace: Workspace) -> None:
    before = change_mark(workspace)
    with pytest.raises(RuntimeError), exclusive(workspace, "mem test"):
        raise RuntimeError
    assert change_mark(workspace) not in ("", before)


def test_a_damaged_mark_says_nothing(workspace: Workspace) -> None:
    workspace.derived.mkdir()
    (workspace.derived / "turn").write_bytes(b"\xff\xfe")
    mark = change_mark(workspace)
    with exclusive(workspace, "mem test") as held:
        assert not held.has_seen(mark)


def test_who_waits_too_long_goes_on_beside_the_others(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.0)
    ran = []

    def go() -> None:
        with one_by_one(workspace, "mem write"):
            ran.append(get_ident())

    with one_by_one(workspace, "mem write"):
        other = Thread(target=go)
        other.start()
        other.join()
    go()
    assert len(ran) == 2


def test_while_the_others_get_on_one_waits_for_them(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 1.0)
    ended: list[str] = []

    def go() -> None:
        with one_by_one(workspace, "mem write"):
            ended.append("the one who waits")

    with one_by_one(workspace, "mem write"):
        other = Thread(target=go)
        other.start()
        for _ in range(12):
            with changing(workspace):
                other.join(0.2)
        ended.append("the one before")
    other.join()
    assert ended == ["the one before", "the one who waits"]


def test_where_there_is_no_place_to_wait_one_goes_on(workspace: Workspace) -> None:
    workspace.derived.write_text("a file in the way")
    with one_by_one(workspace, "mem write"):
        pass
    assert workspace.derived.read_text() == "a file in the way"
