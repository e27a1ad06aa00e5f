"""A command that was cut off is repeated as it was typed, and what was written a moment ago is known to the next."""

import os
from pathlib import Path

import pytest

from memcli.beliefs.forgotten import Forgetting
from memcli.maintenance import archiving
from memcli.store.workspace import Workspace
from tests.conftest import Mem


@pytest.mark.parametrize("form", ["id", "path", "here"])
@pytest.mark.parametrize("cut", [1, 2])
def test_forgetting_several_is_finished_by_the_same_words(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch, form: str, cut: int
) -> None:
    names = []
    for text in ("One.", "Two.", "Three."):
        written = mem("write", text, "--no-dedup", "--json").json
        names.append({"id": written["id"], "path": written["path"], "here": f"memory/{written['path']}"}[form])
    forgetting, done = archiving.forgetting, []

    def cut_off(where: Workspace, paths: list[str], **told: str) -> Forgetting:
        if len(done) == cut:
            raise KeyboardInterrupt
        done.extend(paths)
        return forgetting(where, paths, **told)

    with monkeypatch.context() as patched:
        patched.setattr(archiving, "forgetting", cut_off)
        assert mem("forget", *names).code == 130
    assert len(mem("ls").rows) == 3 - cut
    ran = mem("forget", *names)
    assert ran.code == 0, ran.err
    assert [row[0] for row in ran.rows] == ["unchanged"] * cut + ["archived"] * (3 - cut)
    assert mem("ls").out == ""
    assert len(list(workspace.glob("archive/**/*.md"))) == 3


def test_what_stands_between_two_names_stops_neither(mem: Mem, workspace: Path) -> None:
    one, two = (mem("write", text, "--no-dedup").rows[0][1] for text in ("One.", "Two."))
    ran = mem("forget", one, "MEMORY.md", two, "--json")
    assert ran.code == 3
    assert [row["action"] for row in ran.json["entries"]] == ["archived", "archived"]
    assert [row["name"] for row in ran.json["failed"]] == ["MEMORY.md"]


@pytest.mark.parametrize("name", ["p/ship.md", "entries/p/ship.md", "memory/entries/p/ship.md"])
def test_what_was_written_at_a_path_is_promoted_by_it_at_once(mem: Mem, workspace: Path, name: str) -> None:
    assert mem("write", "Ships leave at noon.", "--path", "p/ship.md").code == 0
    ran = mem("promote", name)
    assert ran.code == 0
    assert "Ships leave at noon." in (workspace / "MEMORY.md").read_text()


def test_a_file_without_an_id_that_an_editor_just_made_is_known_to_promote(mem: Mem, workspace: Path) -> None:
    assert mem("ls").code == 0
    (workspace / "entries").mkdir(exist_ok=True)
    page = workspace / "entries" / "plain.md"
    page.write_text("Ships leave at one.\n")
    os.utime(page, (0, 0))
    ran = mem("promote", "plain.md")
    assert "is gone" not in ran.err


def test_a_purge_that_was_cut_off_is_finished_by_the_same_words(mem: Mem, workspace: Path) -> None:
    one, two = (mem("write", text, "--no-dedup").rows[0][1] for text in ("One.", "Two."))
    assert mem("forget", "--purge", one).code == 0
    ran = mem("forget", "--purge", one, two, "--json")
    assert ran.code == 3
    assert [row["name"] for row in ran.json["entries"]] == [two]
    assert [row["name"] for row in ran.json["failed"]] == [one]
    assert not list((workspace / "entries").rglob("*.md"))
    assert mem("forget", "--purge", one).code == 4


@pytest.mark.parametrize("secret", ["ghp_" + "aB3dE6fG9hJ2kL5mN8pQ" + "1rS4tU7vW0xY3zA6", "password=hunter2-Zebra!9"])
def test_a_secret_named_by_mistake_is_not_repeated(mem: Mem, workspace: Path, secret: str) -> None:
    ran = mem("forget", "--purge", secret, "--json")
    assert ran.code == 4
    assert secret not in ran.out + ran.err
    assert "REDACTED" in ran.out


@pytest.mark.parametrize("done", [1, 2])
def test_restoring_several_is_finished_by_the_same_words(mem: Mem, workspace: Path, done: int) -> None:
    names = [mem("write", text, "--no-dedup").rows[0][1] for text in ("One.", "Two.", "Three.")]
    assert mem("forget", *names).code == 0
    assert mem("restore", *names[:done]).code == 0
    ran = mem("restore", *names)
    assert ran.code == 0, ran.err
    assert [row[0] for row in ran.rows] == ["unchanged"] * done + ["restored"] * (3 - done)
    assert len(mem("ls").rows) == 3
    assert mem("restore", names[0]).code == 5
