"""The manual pages and the generated documents say what the app says."""

import subprocess
import sys
from pathlib import Path

import pytest

from memcli.api.reference import entry_fields
from memcli.cli.app import FIRST, app, commands
from memcli.cli.help import TOPICS
from memcli.formats.entry import FIELDS
from tests.conftest import Mem

ROOT = Path(__file__).parent.parent


def test_the_manual_is_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "man" / "generate.py", "--check"], capture_output=True, check=False, text=True
    )
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", commands())
def test_every_command_explains_itself(mem: Mem, name: str) -> None:
    ran = mem(name, "--help")
    assert ran.code == 0
    assert commands()[name].help.split()[0] in ran.out
    assert mem("help", name).out == ran.out


def test_the_overview_fits_a_screen_and_names_where_every_command_is(mem: Mem) -> None:
    overview = mem().out
    assert overview == mem("--help").out == mem("help").out
    assert len(overview.splitlines()) <= 24
    assert max(map(len, overview.splitlines())) <= 80
    assert all(f"  {name} " in overview for name in FIRST)
    assert "mem help all" in overview
    every = mem("help", "all").out
    shown, _, programs = every.partition("Called by programs: ")
    for name, command in commands().items():
        assert f"  {name} " in shown if command.family != "programs" else name in programs
    assert app.registered_callback


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_shown_without_man(mem: Mem, topic: str) -> None:
    assert mem("help", topic).out.startswith("# ")


def test_an_unknown_topic_is_told(mem: Mem) -> None:
    ran = mem("help", "nothing")
    assert ran.code == 2
    assert "topics: all, workspace" in ran.err


def test_every_field_of_an_entry_is_explained(mem: Mem) -> None:
    told = entry_fields()
    assert told.keys() == FIELDS.keys()
    assert [name for name, says in told.items() if not says.endswith(".")] == []
    page = mem("help", "workspace").out
    assert [name for name in told if f"`{name}`" not in page] == []
