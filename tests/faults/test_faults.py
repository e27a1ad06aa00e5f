"""Every command is killed, or meets a failing disk, at every call that changes a file.

Afterwards its files are the old ones or the new ones. A command that reported an error has changed
nothing, and nothing of it happens when the next command runs.
"""

import json
import os
import random
import shutil
from functools import cache
from pathlib import Path

import pytest

from tests.faults.fault import (
    FAULTS,
    KILL,
    Fault,
    Run,
    find_compiler,
    read_files,
    run_in_process,
    run_mem,
)

SAMPLE = 3  # calls per command and fault; MEM_LONG=1 tries all of them
PAGE = "# Memory\n\n<!-- mem:promoted -->\n- Tea at four. <!-- {tea} -->\n<!-- /mem:promoted -->\n"

COMMANDS: dict[str, list[str]] = {
    "write": ["write", "The boiler is serviced in October.", "--tag", "home"],
    "supersede": ["write", "Staging listens on port 7654.", "--key", "staging/port"],
    "confirm": ["write", "Tea at four."],
    "update": ["write", "Tea at five.", "--id", "tea"],
    "edit": ["edit", "tea", "--replace", "four", "five"],
    "move": ["edit", "tea", "--scope", "user"],
    "note": ["note", "ordered a valve"],
    "history": ["history", "--add", "Released 1.2."],
    "forget": ["forget", "tea"],
    "restore": ["restore", "old idea"],
    "purge": ["forget", "tea", "--purge", "--yes"],
    "undo": ["undo"],
    "config": ["config", "set", "timezone", "Europe/Lisbon"],
    "promote": ["promote", "old"],
    "demote": ["promote", "tea", "--remove"],
    "decay": ["decay"],
    "tend": ["tend"],
    "consolidate": ["consolidate", "--all"],
    "compact": ["session", "compact", "talk"],
    "check": ["check", "--fix"],
    "import": ["import", "source.jsonl"],
    # The ids of the questions are filled in by the template.
    "review": ["review", "number", "newer"],
    "accept": ["review", "inbox", "accept"],
    "reject": ["review", "inbox", "reject"],
}
# It is still running, so `tend` leaves it alone.
TALK = (
    '{"id": "a", "role": "user", "content": "Always use tabs.", "timestamp": "2026-11-28T09:55:00Z"}\n'
    '{"id": "b", "role": "user", "content": "Remember that Rita is on leave until March.",'
    ' "timestamp": "2026-11-28T09:56:00Z"}\n'
)
SOURCE = (
    '{"path": "entries/oak.md", "text": "The oak is 80 years old.\\n"}\n'
    '{"path": "entries/elm.md", "text": "The elm is younger.\\n"}\n'
    '{"path": "notes/2026-11-20.md", "kind": "note", "text": "[09:00] cut the hedge\\n"}\n'
)
OLD = "---\nid: mem_01kajd3v7m4kq7tz\ncreated_at: 2026-01-05\n---\n\nThe old stove is green.\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a promoted memory, a keyed one, a forgotten one, notes and history."""
    world = tmp_path_factory.mktemp("faults") / "world"
    (world / "project").mkdir(parents=True)
    (world / "home").mkdir()
    for number, arguments in enumerate(
        (
            ["init"],
            ["config", "set", "decay.max_fraction", "1"],
            ["write", "Tea at four.", "--path", "tea", "--title", "tea"],
            ["write", "Staging listens on port 6543.", "--key", "staging/port"],
            ["write", "An old idea.", "--path", "idea", "--title", "old idea"],
            ["forget", "old idea"],
            ["note", "we talked about it: Tea at four."],
            ["write", "User drinks coffee.", "--scope", "user"],
            ["write", "The rent is 5 euros."],
            ["write", "The rent is 6 euros."],
            ["write", "An idea that is old.", "--key", "idea"],
            ["write", "The last command."],
        )
    ):
        run = run_in_process(world, *arguments, now=f"2026-11-27T10:{number:02}:00Z")
        assert run.code == 0, run
    assert run_mem(world, "session", "append", "talk", "-", stdin=TALK).code == 0
    assert run_in_process(world, "config", "set", "compact.keep_tokens", "0").code == 0
    (world / "project/memory/entries/old.md").write_text(OLD)
    os.utime(world / "project/memory/entries/old.md", (0, 0))
    (world / "project/source.jsonl").write_text(SOURCE)
    tea = (world / "project/memory/entries/tea.md").read_text().partition("id: ")[2].split()[0]
    (world / "project/memory/MEMORY.md").write_text(PAGE.format(tea=tea))
    # A relation to nothing, which `check --fix` removes.
    plan = world / "project/memory/entries/plan.md"
    plan.write_text("---\nid: mem_01kajd3v7m4kq7ty\nsuperseded_by: mem_0\n---\n\nAn old plan.\n")
    assert run_in_process(world, "index").code == 0
    questions = json.loads(run_in_process(world, "review", "--json", "id,kind").stdout)["questions"]
    ids = {question["kind"]: question["id"] for question in questions}
    # The fixture runs again if the worker has tests of other files in between.
    COMMANDS["review"][1] = ids["number"]
    COMMANDS["accept"][1] = COMMANDS["reject"][1] = ids["inbox"]
    return world


def restore_template(template: Path, world: Path) -> None:
    shutil.rmtree(world, ignore_errors=True)
    shutil.copytree(template, world, symlinks=True)


@cache
def run_whole(template: Path, name: str) -> tuple[int, dict[str, str], dict[str, str]]:
    """Return how many calls a command makes, and the files before and after it."""
    moved = template.with_name("template")
    if template.exists() and not moved.exists():
        template.rename(moved)
    restore_template(moved, template)
    before = read_files(template)
    run = run_mem(template, *COMMANDS[name], fault=KILL)
    assert run.code == 0, (name, run)
    after = read_files(template)
    assert after != before
    return run.calls, before, after


def try_fault(template: Path, name: str, fault: Fault, sample: int | None) -> list[str]:
    """Return the promises that were broken by a fault at each call."""
    count, before, after = run_whole(template, name)
    calls = list(range(1, count + 1))
    if sample is not None:
        calls = sorted(random.Random(name + fault.name).sample(calls, min(sample, count)))
    broken = []
    for at in calls:
        restore_template(template.with_name("template"), template)
        run = run_mem(template, *COMMANDS[name], fault=fault.hitting(at))
        broken += [
            f"{name}, {fault.name} at {at}: {reason}"
            for reason in check_outcome(template, run, fault, before, after, is_move=name == "move")
        ]
    return broken


def check_outcome(
    world: Path,
    run: Run,
    fault: Fault,
    before: dict[str, str],
    after: dict[str, str],
    *,
    is_move: bool,
) -> list[str]:
    code = run.code
    problems = []
    if "Traceback" in run.stderr:
        problems.append(run.stderr[-500:])
    now = read_files(world)
    if fault is not KILL:
        if code == 0 and now != after:
            problems.append(f"reported success, but {compare(now, after)}")
        if code != 0 and now != before and not fault.is_lasting:
            problems.append(f"reported an error, but {compare(now, before)}")
    following = run_in_process(world, "check")
    if following.code not in (0, 1):
        problems.append(f"the next command failed: {following.stderr[-300:]}")
    following = run_in_process(world, "note", "later", now="2026-11-29T10:00:00Z")
    if following.code:
        problems.append(f"the next command failed: {following.stderr[-300:]}")
    later = read_files(world)
    later = {path: text for path, text in later.items() if not path.endswith("notes/2026-11-29.md")}
    if is_move and later == {**after, **before}:
        # A move commits the receiving workspace first: a copy too many, and nothing lost.
        return [problem for problem in problems if "Traceback" in problem]
    if later not in (before, after):
        problems.append(f"half done: {compare(later, before)}")
    if fault is not KILL and code != 0 and later != before:
        problems.append(f"failed but done later: {compare(later, before)}")
    return problems


def compare(now: dict[str, str], wanted: dict[str, str]) -> str:
    names = sorted(path for path in now.keys() | wanted.keys() if now.get(path) != wanted.get(path))
    return f"these files differ: {names}"


@pytest.mark.skipif(not find_compiler(), reason="needs a C compiler on Linux to build the shim")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_done_whole_or_not_at_all(template: Path, name: str, fault: Fault) -> None:
    sample = None if os.environ.get("MEM_LONG") else SAMPLE
    assert try_fault(template, name, fault, sample) == []


@pytest.mark.skipif(not find_compiler(), reason="needs a C compiler on Linux to build the shim")
def test_a_killed_init_leaves_no_workspace_or_a_whole_one(tmp_path: Path) -> None:
    world = tmp_path / "world"

    def start_over() -> None:
        shutil.rmtree(world, ignore_errors=True)
        (world / "project").mkdir(parents=True)
        (world / "home").mkdir()

    start_over()
    run = run_mem(world, "init", fault=KILL)
    whole = read_files(world)
    assert run.code == 0 and "project/memory/mem.yaml" in whole
    for at in range(1, run.calls + 1):
        start_over()
        run_mem(world, "init", fault=KILL.hitting(at))
        files = read_files(world)
        assert files == whole or "project/memory/mem.yaml" not in files, at
        assert run_in_process(world, "init").code == 0
        assert run_in_process(world, "note", "later").code == 0
        assert whole.items() <= read_files(world).items(), at
