"""A sync is killed, or meets a failing disk, at a call of mem or of a git that it runs.

Afterwards another sync ends as one without a fault: nothing is lost, and nothing comes back.
"""

import os
import random
import re
import shutil
from pathlib import Path

import pytest

from tests.faults.fault import FAULTS, Fault, Run, find_compiler, run_mem
from tests.sync.test_sync import Machine, git

# Calls for each fault. All 680 take an hour.
MOST = int(os.environ.get("MEM_FAULTS", "20" if os.environ.get("MEM_LONG") else "1"))
GIT_KILLED = Fault("git is killed", spares_mem=True)
TRIES = 3  # the first sync after a fault may only name a lock that a killed git has left


def sync(machine: Path, *words: str, fault: Fault | None = None) -> Run:
    return run_mem(machine, "sync", "--scope", "user", *words, fault=fault)


def read_memory(machine: Path) -> dict[str, str]:
    root = machine / "home/.local/share/mem"
    paths = [path for path in root.rglob("*") if path.is_file()]
    inner = {path.relative_to(root).as_posix(): path for path in paths}
    hidden = (".git/", ".mem/")
    return {name: inner[name].read_text() for name in sorted(inner) if not name.startswith(hidden)}


def build_world(world: Path) -> None:
    """Two machines of one user that both changed, of which the second one has sent its changes."""
    git(world.parent, "init", "-q", "--bare", "-b", "main", str(world.parent / "hub.git"))
    laptop = Machine(world)
    shutil.move(world.parent / "hub.git", world / "hub.git")
    desktop = Machine(world / "second")
    for machine in (laptop, desktop):
        (machine.folder / "project").mkdir()
    tea = laptop.write("Tea at four.")
    key = laptop.write("The key is red.\n\nIt hangs here.", "--path", "key")
    laptop.mem("note", "Tea at four.")
    for machine in (laptop, desktop):
        machine.sync(str(world / "hub.git"))
    desktop.mem("forget", tea, "--purge", "--yes")
    desktop.edit(key, "red", "blue")
    desktop.write("The elm is young.")
    desktop.sync()
    laptop.edit(key, "here", "there")
    laptop.write("The oak is old.")
    laptop.mem("note", "Cut the hedge.")


def recover(machine: Path) -> Run:
    """Run a sync until it is done. Delete the locks that it names, as its hint says."""
    for _ in range(TRIES):
        run = sync(machine)
        lock = re.search(r"first: rm (\S+)", run.stderr)
        if run.code == 0 or not lock:
            break
        Path(lock[1]).unlink()
    return run


def try_fault(template: Path, world: Path, fault: Fault, expected: dict[str, str]) -> list[str]:
    shutil.rmtree(world)
    shutil.copytree(template, world, symlinks=True)
    failed = sync(world, fault=fault)
    problems = [failed.stderr] if "Traceback" in failed.stderr else []
    if failed.code == 0 and read_memory(world) != expected:
        problems.append("reported success too early")
    machines = (world, world / "second", world)
    problems += [f"{run.code}: {run.stderr}" for run in map(recover, machines) if run.code]
    for machine in machines[:2]:
        files = read_memory(machine)
        wrong = [name for name in files | expected if files.get(name) != expected.get(name)]
        problems += [f"{name} differs: {files.get(name)}" for name in wrong]
    return [f"{fault.name} at {fault.at}: {problem}" for problem in problems]


@pytest.mark.skipif(not find_compiler(), reason="needs a C compiler on Linux to build the shim")
def test_a_sync_after_a_fault_ends_as_one_without_a_fault(tmp_path: Path) -> None:
    world, template = tmp_path / "world", tmp_path / "template"
    build_world(world)
    shutil.copytree(world, template, symlinks=True)
    counted = sync(world, fault=FAULTS[0])
    assert counted.code == 0, counted
    expected = read_memory(world)
    assert not any("Tea" in text for text in expected.values())
    assert "blue" in expected["entries/key.md"] and "there" in expected["entries/key.md"]
    broken = []
    faults = (*FAULTS, GIT_KILLED) if os.environ.get("MEM_LONG") else FAULTS[:1]
    for fault in faults:
        calls = random.Random(fault.name).sample(range(1, counted.calls + 1), counted.calls)
        for at in sorted(calls[:MOST]):
            broken += try_fault(template, world, fault.hitting(at), expected)
    assert broken == []
