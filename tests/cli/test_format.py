"""A workspace says its format; a later one is refused."""

from pathlib import Path

import pytest

from memcli.store.settings import FORMAT
from tests.conftest import Mem

COMMANDS = [
    ("ls",),
    ("search", "x"),
    ("grep", "x"),
    ("read", "MEMORY.md"),
    ("write", "One."),
    ("write", "One.", "--no-dedup"),
    ("note", "One."),
    ("check", "--fix"),
    ("index", "--rebuild"),
    ("config", "set", "search.limit", "3"),
    ("init",),
    ("recall", "x"),
    ("export",),
    ("consolidate",),
    ("tend",),
    ("stats",),
]


def test_a_new_workspace_says_its_format(mem: Mem, workspace: Path) -> None:
    assert f"\nformat: {FORMAT}\n" in (workspace / "mem.yaml").read_text()
    assert mem("check").code == 0
    assert mem("config", "set", "search.limit", "3").code == 0
    assert f"\nformat: {FORMAT}\n" in (workspace / "mem.yaml").read_text()


@pytest.mark.parametrize("said", ["", "format:\n", f"format: {FORMAT}\n", f"format: '{FORMAT}'\n", "format: 0\n"])
def test_the_format_of_this_mem_an_older_one_and_none_are_read(mem: Mem, workspace: Path, said: str) -> None:
    (workspace / "mem.yaml").write_text(said)
    for command in COMMANDS:
        ran = mem(*command)
        assert ran.code in (0, 1), (command, ran.err)
        assert "format" not in ran.err


@pytest.mark.parametrize("number", [FORMAT + 1, 99])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_later_format_is_refused_with_the_line_that_helps(
    mem: Mem, workspace: Path, command: tuple[str, ...], number: int
) -> None:
    (workspace / "mem.yaml").write_text(f"format: {number}\nlater.setting: x\n")
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    ran = mem(*command)
    assert (ran.code, ran.out) == (5, "")
    assert f"the workspace has format {number}, and this mem knows {FORMAT}" in ran.err
    assert "install a newer one, as README says" in ran.err
    assert {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("value", ["one", "1.5", "true", "[1]"])
def test_a_format_that_is_no_number_is_named(mem: Mem, workspace: Path, value: str) -> None:
    (workspace / "mem.yaml").write_text(f"format: {value}\n")
    ran = mem("ls")
    assert ran.code == 2
    assert f"write format: {FORMAT}" in ran.err


def test_the_format_of_an_export_is_not_taken_for_a_setting(mem: Mem, workspace: Path) -> None:
    assert '"kind": "settings"' not in mem("export").out
    assert mem("config", "set", "search.limit", "3").code == 0
    lines = mem("export").out
    assert mem("init", "other").code == 0
    assert mem("--workspace", "other", "import", "-", stdin=lines).code == 0
    assert mem("--workspace", "other", "config", "get", "search.limit").out == "3\n"
