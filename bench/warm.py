"""What a warm process is worth: commands and hooks with one and without, at rest, in a crowd and under load.

Usage: python -m bench warm [--entries 1000 10000] [--runs 20] [--quick] [--write]. Times are whole processes, as ratios
to `python -c pass` in the same run. Then come the trials: edits that the next search must find, a listener that is
killed again and again, clients at once, and the prompts of a conversation while the processors are busy.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import measures
from bench.agents import MCP
from bench.timing import PYTHON, QUERY, say
from bench.workspaces import make
from memcli import warm

MEM = [str(Path(PYTHON).with_name("mem"))]
"""As people and hooks run it: `python -m` takes a third of the time of `python -c pass` for itself."""
BUSY = 16
SPIN = "while True: pass"


class Home:
    """A user's home, in which there is a warm process or none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "run").mkdir(mode=0o700)
        self.environ = {**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder / "run"), "MEM_WARM": "on"}
        for name in ("XDG_CACHE_HOME", "PYTHONDONTWRITEBYTECODE"):  # or every process compiles what was changed
            self.environ.pop(name, None)

    def run(self, *words: str, fed: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command."""
        return subprocess.run([*MEM, *words], input=fed, env={**self.environ, **more}, capture_output=True, check=False)

    def start(self) -> subprocess.Popen[bytes]:
        """Start a warm process and wait until it listens."""
        process = subprocess.Popen([*MEM, "serve"], env=self.environ)
        while not (self.folder / "run" / "mem-warm" / warm.socket_name()).exists():
            time.sleep(0.01)
        time.sleep(0.5)
        return process


def prompt(root: Path, text: str, session: str = "s") -> bytes:
    """Return the event of a prompt."""
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": str(root), "prompt": text}
    return json.dumps(event).encode()


def ratios(home: Home, root: Path, runs: int) -> Iterator[str]:
    """Yield a row for each command: without and with a warm process, as ratios to an interpreter that does nothing."""
    here = ("--workspace", str(root))
    hook = ("hook", "run", "claude-code")
    cases: dict[str, tuple[tuple[str, ...], bytes]] = {
        "search": (("search", QUERY, *here), b""),
        "recall": (("recall", QUERY, *here), b""),
        "ls -n 20": (("ls", "-n", "20", *here), b""),
        "hook run, a prompt": (hook, prompt(root, QUERY, "{n}")),
        "hook run, a start": (hook, prompt(root, "", "{n}").replace(b"UserPromptSubmit", b"SessionStart")),
    }
    times: dict[str, list[float]] = {}
    for turn in range(runs + 1):
        for name, (words, fed) in {"pass": ((), b""), **cases}.items():
            for way in ("on", "off") if words else ("",):
                command = [*MEM, *words] if words else [PYTHON, "-c", "pass"]
                event = fed.replace(b"{n}", f"{turn}{way}".encode())
                begin = time.perf_counter()
                subprocess.run(command, input=event, env={**home.environ, "MEM_WARM": way}, stdout=subprocess.DEVNULL)
                if turn:
                    times.setdefault(name + way, []).append(time.perf_counter() - begin)
                time.sleep(0.15)  # the next fork is made ready
    base = statistics.median(times["pass"])
    for name in cases:
        ways = [[each / base for each in times[name + way]] for way in ("off", "on")]
        cold, hot = (f"{statistics.median(way):.1f} ({spread(way)})" for way in ways)
        yield f"| `{name}` | {cold} | {hot} |"
    for tool in ("memory_search", "memory_recall"):
        words = [PYTHON, "-c", MCP, str(root), QUERY, str(runs), tool]
        done = subprocess.run(words, env=home.environ, capture_output=True, check=True)
        served = [each / 1000 / base for each in json.loads(done.stdout)]
        yield f"| `{tool}` over MCP | | {statistics.median(served):.1f} ({spread(served)}) |"


def spread(values: list[float]) -> str:
    """Return the quartiles of some values."""
    low, _, high = statistics.quantiles(values, n=4)
    return f"{low:.1f} to {high:.1f}"


def edits(home: Home, root: Path, count: int) -> int:
    """Return how many of so many edits, renames and removals the next search did not see."""
    path = root / "entries" / "edited.md"
    missed = 0
    for number in range(count):
        word = f"zebra{number}x"
        path.write_text(f"---\nid: mem_00000000edited00\ntype: fact\n---\n\nThe {word} is new.\n")
        missed += word.encode() not in home.run("grep", word, "--workspace", str(root)).stdout
        if number % 3 == 1:
            path = path.rename(path.with_name(f"edited-{number}.md"))
        found = home.run("search", word, "--mode", "keyword", "--workspace", str(root)).stdout
        missed += word.encode() not in found or path.name.encode() not in found
    return missed


def killed(home: Home, root: Path, count: int) -> int:
    """Return how many of so many searches were wrong while listeners were killed at random moments."""
    expected = home.run("search", QUERY, "--workspace", str(root), MEM_WARM="off").stdout
    wrong, is_over = 0, False

    def kill() -> None:
        chance = random.Random(1)
        while not is_over:
            process = subprocess.Popen([*MEM, "serve"], env=home.environ)
            time.sleep(chance.uniform(1.0, 3.0))
            process.send_signal(signal.SIGKILL)
            process.wait()

    killer = threading.Thread(target=kill)
    killer.start()
    for _ in range(count):
        done = home.run("search", QUERY, "--workspace", str(root))
        wrong += (done.returncode, done.stdout, done.stderr) != (0, expected, b"")
    is_over = True
    killer.join()
    return wrong


def crowd(home: Home, root: Path, seconds: float) -> str:
    """Return what came of eight clients that search as fast as they can."""
    expected = home.run("search", QUERY, "--workspace", str(root), MEM_WARM="off").stdout
    times: list[float] = []
    wrong: list[bytes] = []
    end = time.monotonic() + seconds

    def client() -> None:
        while time.monotonic() < end:
            begin = time.perf_counter()
            done = home.run("search", QUERY, "--workspace", str(root))
            times.append(time.perf_counter() - begin)
            if (done.returncode, done.stdout) != (0, expected):
                wrong.append(done.stderr)

    clients = [threading.Thread(target=client) for _ in range(8)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    times.sort()
    middle, late = times[len(times) // 2], times[int(0.99 * len(times))]
    return f"{len(times)} searches, {len(wrong)} wrong, p50 {1000 * middle:.0f} ms, p99 {late / middle:.1f} × that"


@contextmanager
def busy() -> Iterator[None]:
    """Keep the processors busy."""
    others = [subprocess.Popen([PYTHON, "-c", SPIN]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for each in others:
            each.kill()
            each.wait()


def conversation(home: Home, root: Path, count: int, way: str) -> Mapping[str, int]:
    """Return how many of so many prompts, each about a memory of its own, got it in time, a turn later, or never."""
    hook = ("hook", "run", "claude-code")
    came = {"in time": 0, "later": 0, "twice": 0, "never": 0}
    told: list[str] = []
    once = {"MEM_WARM": way, "MEM_RECALL_TURNS": "1000"}  # or what was told long ago is told again
    with busy():
        for number in range(count):
            text = f"On which port does the gadget named Quux{number} listen in Porto?"
            told.append(home.run(*hook, fed=prompt(root, text, f"busy {way}"), **once).stdout.decode())
    for _ in range(3):
        time.sleep(5.0)
        told.append(home.run(*hook, fed=prompt(root, "ok, thanks", f"busy {way}"), **once).stdout.decode())
    for number in range(count):
        turns = [turn for turn, context in enumerate(told) if f"Quux{number} listens" in context]
        came["never" if not turns else "in time" if turns[0] <= number else "later"] += 1
        came["twice"] += len(turns) > 1
    return came


def resident(pid: int) -> float:
    """Return the MB that a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def measure(folder: Path, entries: list[int], runs: int, *, is_quick: bool) -> Iterator[str]:
    """Yield the lines of the report."""
    home = Home(folder)
    roots = {count: folder / f"of-{count}" for count in entries}
    for count, root in roots.items():
        make(root, count)
        home.run("index", "--workspace", str(root))
    process = home.start()
    for count, root in roots.items():
        say(f"at {count:,}")
        yield f"At {count:,} entries, as ratios to `python -c pass`, medians of {runs} with their quartiles:\n"
        yield "| what | one-shot | warm |\n|---|---|---|"
        yield from ratios(home, root, runs)
        yield ""
    yield f"The warm process holds {resident(process.pid):.0f} MB.\n"
    root = roots[entries[0]]
    count = 50 if is_quick else 1000
    say("edits")
    yield f"* {count} edits and renames: {edits(home, root, count)} not seen by the next command."
    say("a crowd")
    yield f"* Eight clients for {5 if is_quick else 60} s: {crowd(home, root, 5 if is_quick else 60)}."
    say("under load")
    prompts = 8 if is_quick else 56
    for number in range(prompts):
        text = f"The gadget named Quux{number} listens on port {4000 + number} in Porto."
        home.run("write", text, "--no-dedup", "--workspace", str(root))
    home.run("index", "--workspace", str(root))
    for way in ("off", "on"):
        came: Any = conversation(home, root, prompts, way)
        said = ", ".join(f"{number} {when}" for when, number in came.items())
        yield f"* {prompts} prompts beside {BUSY} busy processes, {'warm' if way == 'on' else 'one-shot'}: {said}."
    process.kill()
    process.wait()
    say("killing")
    yield f"* {count} searches while listeners are killed: {killed(home, root, count)} wrong."


def main() -> None:
    """Run everything and print the report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", type=int, nargs="+", default=[1000, 10_000])
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--quick", action="store_true", help="fewer of everything, in two minutes")
    options.add_argument("--write", action="store_true", help="keep the report in results/")
    chosen = options.parse_args()
    entries, runs = ([1000], 7) if chosen.quick else (chosen.entries, chosen.runs)
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(measure(Path(folder), entries, runs, is_quick=chosen.quick))
    machine = f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {os.uname().sysname} {os.uname().release}"
    measures.show("warm", f"{machine}.\n\n{text}\n", write=chosen.write)
