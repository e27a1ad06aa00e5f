"""A warm process answers as a process of its own does, serves only who has its rights, and is never in the way."""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from memcli import warm
from memcli.cli import warm_fork
from tests.conftest import Mem, Ran
from tests.sample import IS_LONG, sampled

MEM = [sys.executable, "-m", "memcli"]
PR_SET_NO_NEW_PRIVS = 38


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something to be so; fail where it never is."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a private folder for the socket, of a name as short as a socket's must be."""
    with TemporaryDirectory(prefix="mem-", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        monkeypatch.delenv("MEM_WARM")
        yield Path(folder) / "mem-warm"


@pytest.fixture
def listener(runtime: Path, world: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Give a warm process that listens."""
    with subprocess.Popen([*MEM, "serve"]) as process:
        try:
            until(lambda: (runtime / warm.socket_name()).exists() and forks(process.pid))
            yield process
        finally:
            process.kill()


def children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def forks(pid: int) -> list[int]:
    """Return the forks that take requests: what was forked before them helps them."""
    return children(pid)[len(os.sched_getaffinity(0)) > 1 :]


def served(listener: subprocess.Popen[bytes]) -> int:
    """Return a number that is another one after each request that was taken."""
    pids: list[int] = []
    until(lambda: pids or pids.extend(forks(listener.pid)))
    return max(pids)


def ran(*arguments: str, stdin: bytes = b"", **options: object) -> Ran:
    done = subprocess.run([*MEM, *arguments], input=stdin, capture_output=True, check=False, **options)  # type: ignore[call-overload]
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def entries(workspace: Path, mem: Mem) -> Path:
    """Keep some memories."""
    for text in ("Rita prefers tabs over spaces.", "The staging proxy listens on port 9108.", "Größe und 東京 🦊."):
        assert mem("write", text).code == 0
    assert mem("index").code == 0
    return workspace


PROMPT = (
    b'{"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Which port does the proxy listen on?"}'
)
BOTH_WAYS: dict[str, tuple[list[str], bytes]] = {
    "search": (["search", "tabs or spaces"], b""),
    "search as JSON": (["search", "which port", "--json"], b""),
    "a query on standard input": (["search", "-"], "東京 🦊".encode()),
    "nothing found": (["search", "xyzzy", "--mode", "keyword"], b""),
    "recall": (["recall", "which port does the proxy listen on?"], b""),
    "ls": (["ls"], b""),
    "grep": (["grep", "tabs"], b""),
    "stats": (["stats", "--json"], b""),
    "read a page": (["read", "MEMORY.md"], b""),
    "an unknown id": (["read", "mem_nothing"], b""),
    "no such option": (["ls", "--nonsense"], b""),
    "no such option as JSON": (["search", "x", "--limit", "many", "--json"], b""),
    "help": (["search", "--help"], b""),
    "context": (["context"], b""),
    "a prompt": (["hook", "run", "claude-code"], PROMPT),
    "an event of nobody": (["hook", "run", "claude-code"], b'{"hook_event_name": "Nonsense"}'),
    "no event": (["hook", "run", "nobody"], b"\xff\x00"),
}


def test_each_command_answers_the_same_both_ways(entries: Path, listener: subprocess.Popen[bytes]) -> None:
    """One listener for all, since it takes seconds to start."""
    different = []
    for case, (arguments, stdin) in BOTH_WAYS.items():
        before = served(listener)
        answer = ran(*arguments, stdin=stdin)
        until(lambda before=before: served(listener) != before)  # type: ignore[misc]
        if case == "a prompt":  # what was shown is not shown again in a session
            stdin = stdin.replace(b"s1", b"s2")
        alone = ran(*arguments, stdin=stdin, env={**os.environ, "MEM_WARM": "off"})
        if answer != alone or ((answer.out, answer.err) == ("", "")) != (case in ("an event of nobody", "no event")):
            different.append((case, answer, alone))
    assert not different


def test_it_has_one_thread_where_it_forks(listener: subprocess.Popen[bytes], entries: Path) -> None:
    for _ in range(5):
        ran("search", "tabs")
        assert len(list(Path(f"/proc/{listener.pid}/task").iterdir())) == 1
    fork = served(listener)  # it rehearses with the threads of a hook
    until(lambda: len(list(Path(f"/proc/{fork}/task").iterdir())) == 1)


def test_what_changed_on_the_disk_is_found_by_the_next_search(listener: subprocess.Popen[bytes], entries: Path) -> None:
    path = next(entries.glob("entries/**/*rita*.md"))
    text = path.read_text()
    for number in range(20 if IS_LONG else 6):
        path.write_text(text.replace("tabs over spaces", f"colour number{number}x"))
        assert f"number{number}x" in ran("search", f"number{number}x").out
    path.rename(path.with_name("moved.md"))
    assert "moved.md" in ran("search", "colour").out


def test_it_works_where_the_caller_stands_at_its_clock_and_with_its_environment(
    listener: subprocess.Popen[bytes], entries: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "with\nnewline 東"
    elsewhere.mkdir()
    environ = dict(os.environ)
    failed = ran("ls", cwd=elsewhere)
    assert (failed.code, failed.err.count("with\\x0anewline 東")) == (4, 1)
    there = ran("ls", cwd=elsewhere, env={**environ, "MEM_WORKSPACE": str(entries)})
    assert len(there.rows) == 3
    assert "MEM_NOW is" in ran("ls", env={**environ, "MEM_NOW": "noon"}).err


OTHER_RIGHTS: dict[str, Callable[[], object]] = {
    "umask": lambda: os.umask(0o077),
    "limit": lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    "sandbox": lambda: ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
}


def test_who_has_other_rights_is_not_served(listener: subprocess.Popen[bytes], entries: Path) -> None:
    words = "import sys; from memcli import warm; sys.exit(warm.ask(['ls']) is not None)"
    for name, change in OTHER_RIGHTS.items():
        before = served(listener)
        assert subprocess.run([sys.executable, "-c", words], preexec_fn=change, check=False).returncode == 0, name
        until(lambda before=before: served(listener) != before)  # type: ignore[misc]
        assert len(ran("ls", preexec_fn=change).rows) == 3, name


def test_one_whose_own_rights_cannot_be_seen_serves_nobody(runtime: Path) -> None:
    refused = subprocess.run(
        [*MEM, "serve"],
        preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        capture_output=True,
        check=False,
    )
    assert b"start it outside of a sandbox" in refused.stderr
    assert warm_fork.rights(os.getpid()) is not None
    assert warm_fork.rights(0) is None


def test_killed_at_any_moment_it_takes_no_answer_along(runtime: Path, entries: Path) -> None:
    for pause in sampled((0.0, 0.3, 0.6, 0.9, 1.5), 3):
        with subprocess.Popen([*MEM, "serve"]) as process:
            time.sleep(pause)
            searches = [
                subprocess.Popen([*MEM, "search", "which port"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(3)
            ]
            time.sleep(pause / 5)
            process.kill()
            for search in searches:
                out, err = search.communicate()
                assert (search.returncode, out.count(b"on port 9108"), err) == (0, 1, b"")
    with subprocess.Popen([*MEM, "serve"]) as process:  # what they left is in nobody's way
        until(lambda: (runtime / warm.socket_name()).exists() and forks(process.pid))
        ran("ls")
        process.terminate()
        assert process.wait(60) == 0
    until(lambda: [path.suffix for path in runtime.iterdir()] == [".lock"])


def test_a_fork_ends_with_who_waits_for_it(listener: subprocess.Popen[bytes], entries: Path) -> None:
    fork = served(listener)
    with subprocess.Popen([*MEM, "search", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as search:
        until(lambda: served(listener) != fork)
        search.send_signal(signal.SIGINT)
        assert search.wait(60) == 130
        assert search.stderr is not None
        assert search.stderr.read() == b"mem: interrupted\n"
        until(lambda: fork not in forks(listener.pid))


def test_a_fork_that_is_killed_is_told(listener: subprocess.Popen[bytes], entries: Path) -> None:
    fork = served(listener)
    with subprocess.Popen([*MEM, "search", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as search:
        until(lambda: served(listener) != fork)
        time.sleep(0.1)
        os.kill(fork, signal.SIGKILL)
        assert search.wait(60) == 137
        assert search.stderr is not None
        assert b"run the command again" in search.stderr.read()
    assert len(ran("ls").rows) == 3


def test_a_fork_that_is_killed_while_it_waits_has_a_successor(listener: subprocess.Popen[bytes], entries: Path) -> None:
    for _ in range(3):
        fork = served(listener)
        os.kill(fork, signal.SIGKILL)
        until(lambda fork=fork: served(listener) != fork)  # type: ignore[misc]
        assert len(ran("ls").rows) == 3


def test_a_client_that_breaks_off_or_talks_nonsense_hinders_nobody(
    listener: subprocess.Popen[bytes], entries: Path
) -> None:
    address = Path(os.environ["XDG_RUNTIME_DIR"], "mem-warm", warm.socket_name())
    for sent in (b"", b"\x10\x00", struct.pack("I", 50) + b"ls", struct.pack("I", 1 << 31), b"\xff" * 9):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(address))
            client.sendall(sent)
            assert len(ran("ls").rows) == 3, sent
            client.shutdown(socket.SHUT_WR)
            client.settimeout(10)
            with suppress(ConnectionResetError):
                assert client.recv(1) == b"", sent
        until(lambda: len(forks(listener.pid)) == 1)


def test_many_at_once_are_all_answered(listener: subprocess.Popen[bytes], entries: Path) -> None:
    count = 30 if IS_LONG else 12
    searches = [subprocess.Popen([*MEM, "search", "which port"], stdout=subprocess.PIPE) for _ in range(count)]
    assert all(b"9108" in search.communicate()[0] for search in searches)
    until(lambda: len(forks(listener.pid)) == 1)


def test_what_is_no_socket_of_ours_is_passed_over(runtime: Path, entries: Path) -> None:
    runtime.mkdir(0o700)
    address = runtime / warm.socket_name()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(address))
    assert len(ran("ls").rows) == 3
    address.unlink()
    address.write_text("a file")
    assert len(ran("ls").rows) == 3


def test_a_folder_that_others_may_enter_or_of_too_long_a_name_is_not_used(
    tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime.mkdir()
    runtime.chmod(0o755)
    assert not warm.is_private(str(runtime))
    (tmp_path / "link").symlink_to(tmp_path)
    assert not warm.is_private(str(tmp_path / "link"))
    long = tmp_path / ("n" * 100)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    monkeypatch.setenv("XDG_CACHE_HOME", str(long))
    refused = ran("serve")
    assert "no private folder for a socket" in refused.err


def test_there_is_one_which_is_shown_and_stopped(listener: subprocess.Popen[bytes], runtime: Path) -> None:
    assert ran("serve", "--status").rows == [["warm", str(listener.pid)]]
    second = ran("serve")
    assert (second.code, str(listener.pid) in second.err) == (2, True)
    assert ran("serve", "--stop").rows == [["stopped", str(listener.pid)]]
    assert listener.wait(60) == 0
    for option in ("--status", "--stop"):
        assert "there is no warm process" in ran("serve", option).err


def test_it_goes_into_the_background_and_ends_when_nobody_asks(runtime: Path, entries: Path) -> None:
    assert ran("serve", "--detach", "--idle", "1s") == Ran(0, "", "")
    until(lambda: (runtime / warm.socket_name()).exists())
    until(lambda: ran("serve", "--status").code)
    assert not (runtime / warm.socket_name()).exists()
    assert "--idle is 'soon'" in ran("serve", "--idle", "soon").err


@pytest.mark.parametrize("name", ["warm.py", "data/settings.toml"])
def test_it_ends_when_its_files_are_replaced(listener: subprocess.Popen[bytes], entries: Path, name: str) -> None:
    """Their times stand for all of it; they are put back."""
    file = Path(warm.__file__).parent / name
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    try:
        assert len(ran("ls").rows) == 3
        assert listener.wait(60) == 0
    finally:
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_one_whose_lock_was_deleted_ends_and_leaves_its_successor_the_socket(
    listener: subprocess.Popen[bytes], runtime: Path, entries: Path
) -> None:
    address = runtime / warm.socket_name()
    before = address.stat().st_ino
    listener.send_signal(signal.SIGSTOP)
    address.with_name(f"{address.name}.lock").unlink()
    with subprocess.Popen([*MEM, "serve"]) as successor:
        try:
            until(lambda: address.exists() and address.stat().st_ino != before and forks(successor.pid))
            listener.send_signal(signal.SIGCONT)
            assert listener.wait(60) == 0
            assert ran("serve", "--status").rows == [["warm", str(successor.pid)]]
            fork = served(successor)
            assert len(ran("ls").rows) == 3
            until(lambda: served(successor) != fork)
        finally:
            successor.kill()


def test_a_process_that_does_not_hold_the_lock_is_not_stopped(runtime: Path) -> None:
    """In another container that shares the folder the number in the lock is somebody else's."""
    runtime.mkdir(0o700)
    with (runtime / f"{warm.socket_name()}.lock").open("w") as lock, subprocess.Popen(["sleep", "60"]) as other:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            print(other.pid, file=lock, flush=True)
            assert "there is no warm process" in ran("serve", "--stop").err
            assert other.poll() is None
        finally:
            other.kill()


def test_where_no_fork_begins_the_command_runs_in_its_own_process(
    listener: subprocess.Popen[bytes], entries: Path
) -> None:
    stopped = [*children(listener.pid), listener.pid]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    assert len(ran("ls").rows) == 3
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    fork = served(listener)
    assert len(ran("ls").rows) == 3
    until(lambda: served(listener) != fork)


@pytest.mark.parametrize("where", ["memcli.warm._enter", "memcli.cli.run", "memcli.git.merge_driver.run"])
def test_interrupted_before_a_command_begins_it_says_so(runtime: Path, where: str) -> None:
    """Python imports for longer than many a command takes."""
    runtime.mkdir(0o700)
    (runtime / warm.socket_name()).touch()
    module, _, name = where.rpartition(".")
    words = (
        f"import sys, {module} as module\n"
        "def interrupt(*_): raise KeyboardInterrupt\n"
        f"module.{name} = interrupt\n"
        "from memcli.__main__ import main\n"
        "main()"
    )
    arguments = ["merge-driver", "1", "2", "3", "4", "5"] if "git" in where else ["ls"]
    done = subprocess.run([sys.executable, "-c", words, *arguments], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"mem: interrupted\n")


def test_mcp_has_one_as_long_as_it_lives(runtime: Path, entries: Path) -> None:
    with subprocess.Popen([*MEM, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        until(lambda: (runtime / warm.socket_name()).exists())
        warm_pid = int(ran("serve", "--status").rows[0][1])
        assert warm_pid not in children(server.pid)  # it would be left as a zombie
        assert "9108" in ran("search", "which port").out
        server.communicate()
    until(lambda: ran("serve", "--status").code)


def test_it_is_off_where_the_user_says_so(listener: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_WARM", "off")
    assert warm.ask(["ls"]) is None
    assert "MEM_WARM is off" in ran("serve").err
