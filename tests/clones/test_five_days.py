"""Ana's laptop and desktop share a memory through git for five days, as processes on a terminal.

Each day both machines write, edit, forget, note and learn from a conversation, and sync in the
morning and in the evening. On Tuesday they change two sentences of one memory. On Wednesday the
laptop purges a memory. On Thursday the desktop is offline, and both reword the same sentence.
"""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.transcript import run_on_terminal
from tests.helpers import get_process_environment

MONDAY = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
COLOURS = ("red", "blue", "green", "white", "black")
SECRET = "The spare key is under the flower pot."
PLAN = "The shop opens at nine.\n\nThe baker comes on Friday."


class Machine:
    """A home folder with a memory. Its commands run at a time of the story."""

    def __init__(self, folder: Path, name: str, minutes: int) -> None:
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.root = self.folder / ".local/share/mem"
        self.now = MONDAY
        self.offset = timedelta(minutes=minutes)  # no two clocks are the same
        self.steps: list[tuple[datetime, str]] = []
        self.orders: list[str] = []  # ids of a memory of each day

    def mem(self, *words: str, codes: tuple[int, ...] = (0,)) -> str:
        self.now += timedelta(minutes=7)
        environment = get_process_environment(self.folder) | {
            "MEM_NOW": (self.now + self.offset).isoformat(),
            "MEM_SEED": f"{self.name} {len(self.steps)}",
            "MEM_TIMEZONE": "UTC",
            "COLUMNS": "100",
        }
        text, code = run_on_terminal(words, self.folder, environment)
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        self.steps.append((self.now, f"{self.name}, {self.now:%A %H:%M} $ mem {shown}\n{text}"))
        assert code in codes, (words, code, text)
        return text

    def write(self, text: str) -> str:
        return re.findall(r"\((\w{6})\)", self.mem("write", text, "--source", "user"))[0]

    def sync(self) -> None:
        """Exchange memories, and answer the questions."""
        if "hint: mem review" in self.mem("sync", codes=(0, 3)):
            questions = self.mem("review", "--json", "id,kind")
            for question in re.findall(r'"id": "(\w{6})", "kind": "conflict"', questions):
                self.mem("review", question, "newer")

    def read_files(self) -> dict[str, str]:
        """Return the texts of all files of this home by their paths, git's objects excepted."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return {
            os.path.relpath(path, self.root): path.read_bytes().decode("utf-8", "replace")
            for path in files
            if ".git" not in path.parts
        }


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def spend_day(machine: Machine, other: Machine, day: int) -> list[str]:
    """Work for a day, and return the lines that must still be there at the end of the week."""
    name = machine.name
    order = machine.write(f"Order {day} of the {name} has {day + 3} chairs.")
    machine.mem("edit", order, "--replace", "chairs", "tables")
    machine.orders.append(order)
    if day:
        # The other machine's order of the day before, unless the desktop has been offline.
        author = machine if DAYS[day] in ("Thursday", "Friday") else other
        machine.mem("forget", author.orders[day - 1])
    machine.mem("note", f"Fed the cat on {DAYS[day]}, by the {name}.")
    machine.mem(
        "session",
        "append",
        f"day{day}",
        f"Remember that the {name} needs the {COLOURS[day]} cable.",
    )
    machine.mem("consolidate", f"day{day}")
    with (machine.root / "MEMORY.md").open("a") as page:  # in an editor
        page.write(f"- The {name} was here on {DAYS[day]}\n")
    return [
        f"Order {day} of the {name} has {day + 3} tables.",
        f"Fed the cat on {DAYS[day]}, by the {name}.",
        f"he {name} needs the {COLOURS[day]} cable.",
        f"- The {name} was here on {DAYS[day]}",
    ]


def test_two_machines_share_a_memory_for_five_days(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    laptop, desktop = machines = [Machine(tmp_path, "laptop", 0), Machine(tmp_path, "desktop", 3)]
    plan, secret = laptop.write(PLAN), laptop.write(SECRET)
    for machine in machines:
        machine.mem("sync", "../hub.git")
    lines = ["The shop opens at eight.", "The baker comes on Sunday."]
    for day, name in enumerate(DAYS):
        online = [laptop] if name == "Thursday" else machines
        for machine in machines:
            machine.now = MONDAY + timedelta(days=day, hours=1)
        for machine in online:
            machine.sync()
        if name == "Tuesday":
            laptop.mem("edit", plan, "--replace", "at nine", "at ten")
            desktop.mem("edit", plan, "--replace", "on Friday", "on Sunday")
        if name == "Wednesday":
            desktop.mem("note", f"Told Jonas: {SECRET}")
            laptop.mem("forget", secret, "--purge", "--yes")
        if name == "Thursday":
            laptop.mem("edit", plan, "--replace", "at ten", "at seven")
            desktop.mem("edit", plan, "--replace", "at ten", "at eight")
        with ThreadPoolExecutor() as threads:
            for said in threads.map(spend_day, machines, reversed(machines), [day, day]):
                lines += said
        for machine in online:
            machine.now = MONDAY + timedelta(days=day, hours=10)
            machine.sync()
    # The answer that the laptop gives in its last sync is a change, too.
    for machine in machines:
        machine.sync()
    steps = [step[1] for step in sorted(laptop.steps + desktop.steps, key=lambda step: step[0])]
    log = git(laptop.root, "log", "--graph", "--format=%an, %ad: %s", "--date=format:%a %H:%M")
    (tmp_path / "transcript.txt").write_text("\n".join([*steps, f"$ git log --graph\n{log}"]))

    subjects = git(laptop.root, "log", "--format=%s").splitlines()
    verbs = "Remember|Change|Replace|Forget|Delete|Update|Merge"
    assert [subject for subject in subjects if not re.match(verbs, subject)] == []
    assert "[" not in "".join(subjects)
    tracked = git(laptop.root, "ls-files").split()
    stored = [machine.read_files() for machine in machines]
    for machine, files in zip(machines, stored, strict=True):
        assert git(machine.root, "status", "--porcelain") == ""
        assert git(machine.root, "ls-files").split() == tracked
        assert [path for path in tracked if files[path] != stored[0][path]] == []
        assert [
            line for line in lines if line not in "".join(files[path] for path in tracked)
        ] == []
        assert [
            path for path, text in files.items() if "flower pot" in text or "<<<<" in text
        ] == []
