"""Whose folder it is, told from its names and a few first lines."""

import shutil
from pathlib import Path

import pytest

from memcli.store.layout_detection import recognise

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


@pytest.mark.parametrize(
    ("files", "layout"),
    [
        ({"memory.md": "x", "memory/2026-01-01.md": "x"}, "openclaw"),
        ({"SOUL.md": "x", "memory/2026-01-01-evening.md": "x"}, "openclaw"),
        ({"MEMORY.md": "x", "AGENTS.md": "x", "memory/people.md": "x"}, "openclaw"),
        ({"memory/MEMORY.md": "x", "memory/2026-01-01.md": "[10:00] User: a | Assistant: b"}, "golemcore"),
        ({"memory/items/semantic.jsonl": "{}", "sessions/web:1.json": "{}"}, "golemcore"),
        ({"SOUL.md": "x", "memory/MEMORY.md": "x", "memory/HISTORY.md": "[2026-01-01 10:00] Talked."}, "neovate"),
        ({"memory/MEMORY.md": "x", "memory/HISTORY.md": ""}, "neovate"),
        ({"memory/mem_1.md": "---\nid: mem_1\n---\nx"}, "jarvis"),
        ({"MEMORY.md": "x", "a.md": "---\nname: a\ndescription: b\n---\nx"}, "claude"),
        ({"MEMORY.md": "x", "a.md": "---\nname: a\ntype: feedback\n---\nx"}, "claude"),
    ],
)
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


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "x", "docs/MEMORY.md": "x"},
        {"MEMORY.md": "# How we manage memory", "HISTORY.md": "1.2.0 (2026-01-01)\n- fixed leaks"},
        {"AGENTS.md": "x", "MEMORY.md": "x", "memory/__init__.py": "x"},
        {"AGENTS.md": "x", "memory/notes.txt": "x"},
        {"MEMORY.md": "x", "post.md": "---\ntitle: a\n---\nx"},
        {"memory/a.md": "x", "memory/b.md": "---\nid: other\n---\nx"},
        {"MEMORY.md": "x", "entries/2026-01/a.md": "x", "HISTORY-2026-01.md": "## 2026-01-01T10:00:00Z\nx"},
        {"memory/MEMORY.md": "x", "memory/entries/a.md": "x", "memory/HISTORY-2026-01.md": "[2026-01-01 10:00] x"},
    ],
)
def test_other_folders_are_nobodys(files: dict[str, str], tmp_path: Path) -> None:
    assert recognise(filled(tmp_path, files)) is None


def test_what_cannot_be_looked_into_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "MEMORY.md").mkdir()
    (tmp_path / "a.md").mkdir()
    assert recognise(tmp_path / "file") is None
    assert recognise(tmp_path / "missing") is None
    assert recognise(tmp_path) is None
