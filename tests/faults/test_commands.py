"""Whatever call of a command fails or is its last, nothing is lost, torn or doubled; a sample of `make faults`."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.cli.app import commands
from memcli.cli.history import history_app
from memcli.cli.hook import hook_app
from memcli.cli.session import session_app
from tests.faults.commands import COMMANDS, Command
from tests.faults.disk import FAULTS, KILL, compiler
from tests.faults.trial import Trials, cuts, trials, tries

pytestmark = pytest.mark.skipif(not compiler(), reason="the failing disk needs Linux and a C compiler")
ERRORS = [fault for fault in FAULTS.values() if fault.error]
ONLY_READ = {
    *(
        "blame",
        "diff",
        "grep",
        "ls",
        "stats",
        "export",
        "completion",
        "help",
        "replay",
        "mcp",
    ),  # mcp calls what is tried by name
    *("history show", "session ls", "session show", "session stats", "session recap", "hook status"),
}
ELSEWHERE = {"hook uninstall", "hook skill"}  # files of other programs, tried with the integrations
GROUPS = {"session": session_app, "history": history_app, "hook": hook_app}


@pytest.fixture(scope="module")
def ready() -> Iterator[Trials]:
    """Make the workspace that all commands begin with."""
    place = Path("/dev/shm")
    with trials(place if place.is_dir() else None) as made:
        yield made


def test_every_command_that_writes_is_tried() -> None:
    names = {name for name in commands() if name not in GROUPS}
    for group, app in GROUPS.items():
        names |= {f"{group} {one.name or one.callback.__name__}" for one in app.registered_commands if one.callback}
    tried = {" ".join(one.words[: 2 if one.words[0] in GROUPS else 1]) for one in COMMANDS}
    assert names - tried - ONLY_READ - ELSEWHERE == set()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_that_is_killed_or_fails_loses_tears_and_doubles_nothing(ready: Trials, command: Command) -> None:
    luck = random.Random(command.name)
    trial = ready.of(command)
    broken = list(tries(trial, KILL, luck, 1))
    broken += tries(trial, luck.choice(ERRORS), luck, 1) if luck.random() < 0.6 else cuts(trial, luck, 1)
    assert [line for lines in broken for line in lines] == []
