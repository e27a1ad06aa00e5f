"""Time `mem serve`, and check that it never answers wrongly or for a caller with other rights.

python -m bench.serve [--entries 1000 10000] [--runs 15] [--edits 1000] [--kills 1000]

Times are whole processes, as multiples of `python -c pass`, interleaved.
"""

import argparse
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.hooks import EVENTS
from bench.speed import make_workspace

CHECKOUT = Path(__file__).parents[1]
MEM = (sys.executable, "-P", "-m", "memcli")
ONE_SHOT = (
    *(sys.executable, "-P", "-c"),
    "import os, sys; from memcli.cli.main import run_process; os._exit(run_process(sys.argv[1:]))",
)
QUERY = "when does the boiler need a valve"
NOW = "2026-11-29T09:00:00"  # so that equal commands have equal output
# A program that asks the server with every check of its own switched off.
INTRUDER = """
import ctypes, os, struct, sys
from memcli.cli import ask
import _socket
libc = ctypes.CDLL(None)
address, way = sys.argv[1:]
if way in ("seccomp", "landlock", "no new privileges"):
    assert libc.prctl(38, 1, 0, 0, 0) == 0
if way == "seccomp":
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(allow)))
    assert libc.prctl(22, 2, program) == 0
if way == "landlock":
    reading = ctypes.create_string_buffer(struct.pack("Q", 1 << 2))
    ruleset = libc.syscall(444, reading, 8, 0)
    assert ruleset >= 0 and libc.syscall(446, ruleset, 0) == 0
ask.read_rights = lambda process: []
if way == "guess":
    ask.read_name = lambda *_: b"/memfd:mem-00000000000000000000000000000000 (deleted)"
sys.exit(0 if ask.ask_server(address, ["ls", "-n", "1"], b"") else 9)
"""
SANDBOXES: dict[str, tuple[tuple[str, ...], str]] = {
    "the same rights": ((), ""),
    "a user namespace": (("unshare", "-U"), ""),
    "a mount namespace": (("unshare", "-m"), ""),
    "a network namespace": (("unshare", "-n"), ""),
    "a process namespace": (("unshare", "-pf"), ""),
    "a host name of its own": (("unshare", "-u"), ""),
    "another group": (("setpriv", "--regid", "65534", "--clear-groups"), ""),
    "fewer capabilities": (("setpriv", "--bounding-set", "-sys_admin"), ""),
    "another user": (("setpriv", "--reuid", "65534", "--clear-groups"), ""),
    "seccomp": ((), "seccomp"),
    "Landlock": ((), "landlock"),
    "no new privileges": ((), "no new privileges"),
    "a guessed name": ((), "guess"),
}


class Machine:
    """A home with a memory, and a server or none."""

    def __init__(self, folder: Path, count: int, tree: Path = CHECKOUT) -> None:
        self.folder = folder
        self.home, self.root = folder / "home", folder / "memory"
        self.home.mkdir(parents=True)
        self.tree = folder / "tree"
        # A copy, because the server ends when a file of the program changes.
        shutil.copytree(tree / "memcli", self.tree / "memcli")
        make_workspace(self.root, count)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(self.tree),
            "MEM_NOW": NOW,
        }
        self.server: subprocess.Popen[bytes] | None = None
        self.run("trust")
        self.run("index")

    @property
    def address(self) -> Path:
        return self.home / ".local/state/mem/serve/socket"

    def run(
        self, *words: str, stdin: bytes = b"", is_one_shot: bool = False
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*(ONE_SHOT if is_one_shot else MEM), *words],
            input=stdin,
            env=self.environment,
            cwd=self.root,
            capture_output=True,
            check=False,
        )

    def start(self) -> int:
        """Start a server and wait until it listens."""
        self.address.unlink(missing_ok=True)
        self.server = subprocess.Popen(
            [*MEM, "serve"], env=self.environment, cwd="/", stderr=subprocess.DEVNULL
        )
        for _ in range(3000):
            if self.address.exists():
                break
            time.sleep(0.01)
        return self.server.pid

    def stop(self, number: int = signal.SIGKILL) -> None:
        if self.server is not None:
            self.server.send_signal(number)
            self.server.wait()

    def ask_as(self, sandbox: str) -> bool | None:
        """Return whether the server answers a caller in a sandbox. None: no such sandbox here."""
        prefix, way = SANDBOXES[sandbox]
        if prefix and subprocess.run([*prefix, "true"], capture_output=True).returncode:
            return None
        done = subprocess.run(
            [*prefix, sys.executable, "-P", "-c", INTRUDER, str(self.address), way],
            env=self.environment,
            cwd="/",
            capture_output=True,
            check=False,
        )
        return None if done.returncode not in (0, 9) else done.returncode == 0


def measure(machine: Machine, runs: int) -> None:
    """Print the time of commands with and without a server."""
    events = {
        f"hook: {name}": ("hook", "run", "claude-code") for name in ("start", "prompt", "stop")
    }
    commands: dict[str, tuple[str, ...]] = {
        "search": ("search", QUERY),
        "search --mode keyword": ("search", QUERY, "--mode", "keyword"),
        "recall": ("recall", QUERY),
        "ls": ("ls", "-n", "20"),
        "read": ("read", "entries/2026-01/00007.md"),
        "grep": ("grep", "port 77"),
        **events,
    }
    seconds: dict[str, list[float]] = {}
    for number in range(runs + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        seconds.setdefault("pass", []).append(time.perf_counter() - began)
        for name, words in commands.items():
            event = make_event(machine, name, f"{number}") if name in events else b""
            for is_one_shot in (True, False):
                began = time.perf_counter()
                if is_one_shot and event:
                    # Without the socket, a hook is one that runs alone.
                    hidden = machine.address.with_name("hidden")
                    machine.address.rename(hidden)
                    began = time.perf_counter()
                    machine.run(*words, stdin=event)
                    seconds.setdefault(f"{name} True", []).append(time.perf_counter() - began)
                    hidden.rename(machine.address)
                    time.sleep(0.2)  # for what it does in the background
                    event = make_event(machine, name, f"{number}-served")
                    continue
                machine.run(*words, stdin=event, is_one_shot=is_one_shot)
                seconds.setdefault(f"{name} {is_one_shot}", []).append(time.perf_counter() - began)
                time.sleep(0.2 if event else 0)
    base = statistics.median(seconds["pass"][1:])
    print(f"python -c pass: {1000 * base:.1f} ms\n\n| command | one-shot | served |\n|---|---|---|")
    for name in commands:
        alone, served = (
            statistics.median(seconds[f"{name} {way}"][1:]) / base for way in (True, False)
        )
        print(f"| {name} | {alone:.1f} | {served:.1f} |")


def make_event(machine: Machine, name: str, session: str) -> bytes:
    import json

    event = EVENTS[name.removeprefix("hook: ")]
    return json.dumps({"session_id": session, "cwd": str(machine.root), **event}).encode()


def count_unseen_edits(machine: Machine, count: int) -> int:
    """Return how many of so many edits, renames and deletions the next command did not see."""
    path = machine.root / "entries/edited.md"
    unseen = 0
    for number in range(count):
        word = f"zebra{number}x"
        path.write_text(f"---\nid: mem_00000000edited00\ntype: fact\n---\n\nThe {word} is new.\n")
        if number % 3 == 1:
            path = path.rename(path.with_name(f"edited-{number}.md"))
        found = machine.run("search", word, "--mode", "keyword").stdout
        unseen += word.encode() not in found or path.name.encode() not in found
        if number % 3 == 2:
            path.unlink()
            unseen += word.encode() in machine.run("grep", word).stdout
    return unseen


def count_wrong_answers(machine: Machine, count: int) -> tuple[int, float]:
    """Kill and freeze servers and kill clients, and compare so many searches in between.

    Return the number of wrong answers, and the longest time of a search.
    """
    machine.stop()
    expected = machine.run("search", QUERY, is_one_shot=True)
    noise = random.Random(1)
    is_over = threading.Event()

    def disturb_servers() -> None:
        while not is_over.is_set():
            machine.start()
            time.sleep(noise.uniform(0.0, 0.6))
            if noise.random() < 0.3 and machine.server is not None:
                machine.server.send_signal(signal.SIGSTOP)
                time.sleep(noise.uniform(0.0, 0.3))
            machine.stop()

    thread = threading.Thread(target=disturb_servers)
    thread.start()
    wrong, slowest = 0, 0.0
    for _ in range(count):
        if noise.random() < 0.5:
            kill_client(machine, noise.uniform(0.01, 0.06))
        began = time.perf_counter()
        done = machine.run("search", QUERY)
        slowest = max(slowest, time.perf_counter() - began)
        answer = (done.returncode, done.stdout, done.stderr)
        wrong += answer != (expected.returncode, expected.stdout, expected.stderr)
    is_over.set()
    thread.join()
    return wrong, slowest


def kill_client(machine: Machine, seconds: float) -> None:
    client = subprocess.Popen(
        [*MEM, "search", QUERY],
        env=machine.environment,
        cwd=machine.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    client.kill()
    client.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=1000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        machines = [Machine(Path(temporary) / str(count), count) for count in chosen.entries]
        for machine, count in zip(machines, chosen.entries, strict=True):
            pid = machine.start()
            print(f"{count:,} entries, medians of {chosen.runs}, as multiples of")
            measure(machine, chosen.runs)
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            print("\nmemory:", next(line for line in lines if line.startswith("VmRSS")), "\n")
        machine = machines[0]
        for sandbox in SANDBOXES:
            print(f"answers for a caller with {sandbox}: {machine.ask_as(sandbox)}")
        print(f"{chosen.edits} edits unseen: {count_unseen_edits(machine, chosen.edits)}")
        wrong, slowest = count_wrong_answers(machine, chosen.kills)
        print(f"{chosen.kills} searches beside kills wrong: {wrong}; slowest {slowest:.2f} s")
        for machine in machines:
            machine.stop()


if __name__ == "__main__":
    main()
