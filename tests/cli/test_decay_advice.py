"""What `mem decay` advises: nothing a user would miss, in words that work, and nothing in a folder of another tool."""

import re
import shlex
import shutil
from collections import Counter
from pathlib import Path

import pytest

from memcli.store.layouts import LAYOUTS
from tests.conftest import FIXTURES, Mem


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands believe that they print on a terminal."""
    monkeypatch.setattr("memcli.cli.output.is_watched", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")


def command_in(out: str) -> list[str]:
    (found,) = re.findall(r"mem (decay --apply[^\n;]*)", out)
    return shlex.split(found)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("old", [1, 3, 9])
@pytest.mark.parametrize("named", [(), ("--workspace", "memory")])
def test_the_command_that_is_offered_does_what_it_says(
    mem: Mem, workspace: Path, old: int, named: tuple[str, ...]
) -> None:
    for number in range(10):
        made = ("--created-at", "2026-01-02") if number < old else ()
        mem("write", f"Fact number {number}.", "--no-dedup", *made)
    shown = mem("decay", *named)
    offered = command_in(shown.out)
    assert set(named) <= set(offered)
    done = mem(*offered)
    assert done.code == 0, done.err
    assert len(list((workspace / "archive").rglob("*.md"))) == old


@pytest.mark.usefixtures("watched")
def test_a_year_of_memories_is_shown_by_type_and_loses_no_rule_and_nobody(mem: Mem, world: Path) -> None:
    shutil.copytree(FIXTURES / "workspace", world / "memory")
    entries = mem("decay", "--json").json["entries"]
    gone = Counter(one["type"] for one in entries if one["verdict"] == "archive")
    aged = [one for one in entries if one["verdict"] == "archive" and "; expired" not in one["reason"]]
    assert not {one["type"] for one in aged} & {"constraint", "entity"}
    preferences = mem("ls", "--type", "preference", "--limit", "1000", "--json").json["entries"]
    told = {row["id"]: row["source"] for row in preferences}
    assert not [one for one in aged if told.get(one["id"]) == "user"]
    out = mem("decay").out
    faded = out.partition("\n\n")[0].splitlines()[2:]
    types = [line.split()[0] for line in faded]
    assert Counter(types) == gone
    assert list(dict.fromkeys(types)) == [name for name, _ in sorted(gone.items(), key=lambda one: (-one[1], one[0]))]


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - {"mem"}))
def test_nothing_is_offered_in_a_folder_that_is_not_mems_own(mem: Mem, world: Path, layout: str) -> None:
    folder = world / "theirs"
    (folder / "memory").mkdir(parents=True)
    assert mem("init", str(folder), "--layout", layout).code == 0
    path = folder / LAYOUTS[layout].entries / "old.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("---\nid: old\ntype: fact\ncreated_at: 2025-01-01\nupdated_at: 2025-01-01\n---\n\nLong ago.\n")
    out = mem("decay", "--workspace", str(folder)).out
    assert "old" in out
    assert "--apply" not in out


@pytest.mark.parametrize("how", ["read", "recall"])
def test_what_was_read_or_recalled_lately_stays(mem: Mem, workspace: Path, how: str) -> None:
    mem(
        "write", "Deploys of the shop run from the release branch.", "--created-at", "2025-01-02", "--type", "procedure"
    )
    mem("write", "The old printer is in the cellar.", "--created-at", "2025-01-02", "--no-dedup")
    read = {row["summary"]: row["id"] for row in mem("ls", "--json").json["entries"]}
    if how == "read":
        mem("read", next(one for summary, one in read.items() if "release" in summary))
    else:
        assert "release branch" in mem("recall", "from which branch do deploys of the shop run?").out
    found = {one["summary"]: one["verdict"] for one in mem("decay", "--json").json["entries"]}
    assert [found[one] for one in sorted(found)] == ["keep", "archive"]
