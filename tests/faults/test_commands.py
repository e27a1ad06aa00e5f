"""Whatever call of a command fails or is its last, nothing is lost, torn or doubled; a sample of `make faults`."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memcli.cli.app import LazyCommands, commands
from tests.faults.commands import COMMANDS, Command
from tests.faults.disk import FAULTS, KILL, compiler
from tests.faults.trial import Trials, cuts, trials, tries
from tests.sample import in_turn, sampled

pytestmark = pytest.mark.skipif(not compiler(), reason="the failing disk needs Linux and a C compiler")
ERRORS = [fault for fault in FAULTS.values() if fault.error]
ONLY_READ = {
    *("completion", "context", "diff", "grep", "help", "ls", "stats"),
    *("config get", "config list", "history show", "hook doctor", "hook status", "model list", "model status"),
    *("session ls", "session recap", "session show", "session stats"),
}
ELSEWHERE = {
    *("mcp", "serve", "ui"),  # run what is tried by name
    *("index --migrate", "index --share"),  # need a server: tests/index/test_team.py and test_postgres.py
    "model calibrate",  # writes into the folder of a model alone
    *(
        "consolidate --judge",
        "dedup --judge",
        "import --judge",
        "review --judge",
        "write --judge",
    ),  # asks an LLM before it writes
}
NO_OTHER_WAY = {
    *("--json", "--quiet", "--dry-run", "--list", "--status", "--explain", "--gate", "--raw", "--history"),
    *("--staged", "--secrets", "--cited", "--no-wait", "--wait", "--fresh", "--error", "--pinned"),
    *("--all", "--archived", "--source", "--project", "--user", "--shared", "--tool-errors"),
    *("--no-dedup", "--allow-secret", "--ask"),
}
"""Switches with which a command writes nothing, or something else or elsewhere in the same way."""


@pytest.fixture(scope="module")
def ready() -> Iterator[Trials]:
    """Make the workspace that all commands begin with."""
    place = Path("/dev/shm")
    with trials(place if place.is_dir() else None) as made:
        yield made


def test_every_command_that_writes_is_tried_with_every_switch() -> None:
    group = LazyCommands(name="mem")
    left = {}
    for name in commands():
        command = group.get_command(None, name)
        for path, one in _leaves(name, command):
            tried = [row for row in COMMANDS if " ".join(row.words).startswith(path)]
            words = {word for row in tried for word in row.words}
            switches = {
                max(option.opts, key=len) for option in one.params if getattr(option, "is_flag", False)
            } - NO_OTHER_WAY
            wanted = {path, *(f"{path} {switch}" for switch in switches - words)} - ({path} if tried else set())
            left[path] = wanted if path not in ONLY_READ | ELSEWHERE else set()
    assert sorted(set().union(*left.values()) - ELSEWHERE) == []


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield each command of a group, those of groups in it too, by its words."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, one in command.commands.items():
        yield from _leaves(f"{name} {word}", one)


@pytest.mark.parametrize(
    ("command", "what"),
    in_turn(sampled(COMMANDS, 43), ("is killed", "fails", "loses power")),
    ids=lambda value: value.name if isinstance(value, Command) else value,
)
def test_a_command_that_is_cut_off_loses_tears_and_doubles_nothing(ready: Trials, command: Command, what: str) -> None:
    luck = random.Random(command.name)
    trial = ready.of(command)
    if what == "loses power":
        broken = list(cuts(trial, luck, 1))
    else:
        broken = list(tries(trial, KILL if what == "is killed" else luck.choice(ERRORS), luck, 1))
    assert [line for lines in broken for line in lines] == []
