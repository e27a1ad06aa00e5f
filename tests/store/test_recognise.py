"""Whose folder it is, told from its names and a few first lines."""

import shutil
from pathlib import Path

import pytest

from memcli.store.layouts import recognise
from tests.tables import cases

FIXTURES = Path(__file__).parents[2] / "fixtures" / "layouts"
NAMES = ("openclaw", "claude", "neovate", "golemcore", "jarvis")


def filled(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize("name", NAMES)
def test_each_tools_folder_is_recognised(name: str) -> None:
    found = recognise(FIXTURES / name)
    assert found is not None
    assert (found.layout, found.root) == (name, FIXTURES / name)
    assert found.why


@pytest.mark.parametrize("name", ["claude", "neovate"])
def test_a_folder_called_memory_is_recognised_from_above(name: str, tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / name, tmp_path / "memory")
    (tmp_path / "AGENTS.md").write_text("# Agents\n")
    found = recognise(tmp_path)
    assert found is not None
    assert (found.layout, found.root) == (name, tmp_path / "memory")


@cases("files", "layout")
def test_a_small_folder_is_recognised_by_what_it_has(files: dict[str, str], layout: str, tmp_path: Path) -> None:
    found = recognise(filled(tmp_path, files))
    assert found is not None
    assert found.layout == layout


def test_a_claude_folder_is_known_by_where_it_lies(tmp_path: Path) -> None:
    place = tmp_path / ".claude" / "projects" / "-home-noor-tickets" / "memory"
    place.mkdir(parents=True)
    found = recognise(place)
    assert found is not None
    assert found.layout == "claude"


@cases("files")
def test_other_folders_are_nobodys(files: dict[str, str], tmp_path: Path) -> None:
    assert recognise(filled(tmp_path, files)) is None


def test_what_cannot_be_looked_into_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "MEMORY.md").mkdir()
    (tmp_path / "a.md").mkdir()
    assert recognise(tmp_path / "file") is None
    assert recognise(tmp_path / "missing") is None
    assert recognise(tmp_path) is None
