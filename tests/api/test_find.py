"""A Python program finds, reads and recalls memories without a shell."""

from pathlib import Path

import pytest

from memcli import open_workspace
from memcli.api import find, history, read, recall
from memcli.api.choice import Choice
from memcli.api.workspace import Workspace
from memcli.errors import NotFoundError, UsageError
from tests.conftest import Mem


@pytest.fixture
def opened(mem: Mem, workspace: Path) -> Workspace:
    """Open a workspace of memories and a conversation that the command line made."""
    for words in (
        ("The quagga eats hay at noon.", "--tag", "zoo"),
        ("Staging listens on port 8443.", "--key", "staging/port"),
        ("Staging listens on port 9443.", "--key", "staging/port"),
        ("We deploy on Fridays.", "--type", "preference"),
    ):
        assert mem("write", "--no-dedup", *words).code == 0
    talk = b'{"role":"user","content":"Which port does staging use?"}\n{"role":"assistant","content":"9443, on Fly."}\n'
    assert mem("session", "append", "-", "--session", "s1", stdin=talk).code == 0
    return open_workspace(workspace)


def test_nothing_is_printed(opened: Workspace, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    found = find.search(opened, "nothing of the kind", mode="keyword")
    read.read(opened, read.Which(key="staging/port"))
    recall.recall(opened, "which port?", session="a", budget=recall.Budget(hard=200))
    assert (capfd.readouterr(), found.hits) == (("", ""), ())


def test_what_is_wrong_is_raised_before_anything_is_read(opened: Workspace) -> None:
    for wrong in (
        lambda: find.search(opened, " "),
        lambda: find.search(opened, "x", mode="magic"),
        lambda: find.search(opened, "x", limit=0),
        lambda: find.search(opened, "x", min_score=1.5),
        lambda: find.list_entries(opened, sort="weight"),
        lambda: find.grep(opened, "("),
        lambda: find.grep(opened, "x", limit=-1),
        lambda: find.grep(opened, "x", choice=Choice(kind=["stone"])),
        lambda: history.read_history(opened, limit=-1),
        lambda: read.read(opened, read.Which()),
        lambda: read.read(opened, "MEMORY.md", lines="9:1"),
        lambda: recall.recall(opened, "x", sections=("attic",)),
        lambda: recall.recall(opened, "x", budget=recall.Budget(soft=-1)),
    ):
        with pytest.raises(UsageError):
            wrong()
    for missing in (
        lambda: read.read(opened, "no-such-entry"),
        lambda: read.read_key_history(opened, "no/key"),
    ):
        with pytest.raises(NotFoundError):
            missing()


def test_matches_carry_the_workspace_they_are_of(mem: Mem, opened: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert mem("init", str(other)).code == 0
    assert mem("--workspace", str(other), "write", "--no-dedup", "Another quagga.").code == 0
    both = [opened, open_workspace(other)]
    found = find.grep(both, "quagga")
    assert [one.workspace.root for one in found.matches] == [one.root for one in both]
    assert not Path(found.matches[0].path).is_absolute()
    assert Path(found.matches[1].path).is_relative_to(other)
    assert len(find.list_entries(both).entries) == 4
