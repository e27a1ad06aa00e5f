"""What kind a file is of by the layout of its folder, and by what a tool's folder is known."""

import shutil
from datetime import date
from pathlib import Path

import pytest

from memcli.errors import UsageError
from memcli.store.layouts import KINDS, LAYOUTS, MEM, OPENCLAW, Layout, adjusted, recognise
from tests.tables import cases, table

FIXTURES = Path(__file__).parents[2] / "fixtures" / "layouts"
OURS = table(__file__, "OURS")


@pytest.mark.parametrize("name", OURS)
def test_every_file_of_a_folder_is_of_its_kind_or_of_none(name: str) -> None:
    root = FIXTURES / name
    found: dict[str, list[str]] = {}
    for path in sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()):
        kind = LAYOUTS[name].kind_of(path)
        if kind:
            found.setdefault(kind, []).append(path)
    assert found == OURS[name]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_what_a_layout_makes_is_of_the_kind_it_was_made_as(layout: Layout) -> None:
    day = date(2026, 11, 21)
    made = {
        "memory": layout.memory,
        "history": layout.history.format(month="2026-11"),
        "note": layout.notes.format(date=day.isoformat()),
        "entry": layout.entry_path("a-name", "mem_01kajd3v7m4kq7tz", day),
        "session": "sessions/abc/session.jsonl",
    }
    assert {kind: layout.kind_of(path) for kind, path in made.items()} == {kind: kind for kind in KINDS}
    assert {kind: layout.kind_of(f"{layout.archive}{path}") for kind, path in made.items()} == {
        kind: kind for kind in KINDS
    }
    if layout.history_copy:
        assert layout.kind_of(layout.history_copy) == "history"


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_kind_lies_below_a_folder_that_is_looked_into_once(layout: Layout) -> None:
    roots = dict(layout.roots)
    for folder, deep in roots.items():
        inside = [one for one in roots if one != folder and (not folder or one.startswith(f"{folder}/"))]
        assert not (deep and inside)
    for path in (layout.memory, layout.notes.format(date="2026-11-21"), layout.entry_path("a", "x", date(2026, 1, 1))):
        folder = path.rpartition("/")[0]
        below = [one for one, deep in roots.items() if deep and (not one or f"{folder}/".startswith(f"{one}/"))]
        assert folder in roots or below


@pytest.mark.parametrize(
    "path", [".git/hooks/x.md", "entries/.obsidian/x.md", "entries/2026-11/.x.md", "archive/.a/x.md"]
)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_hidden_files_are_never_memories(layout: Layout, path: str) -> None:
    assert layout.kind_of(path) is None


@pytest.mark.parametrize("path", ["entries/x.md.bak", "entries/x.txt", "x.md", "HISTORY-2026.md", "MEMORY.md/x"])
def test_a_name_must_fit_as_a_whole(path: str) -> None:
    assert MEM.kind_of(path) is None


def test_a_name_with_a_newline_is_still_an_entry() -> None:
    assert MEM.kind_of("entries/two\nlines.md") == "entry"


def test_single_paths_can_be_set() -> None:
    layout = adjusted(
        OPENCLAW,
        {
            "memory": "docs/MEMORY.md",
            "notes": "./journal/{date}.md",
            "history": "log/{month}.md",
            "entries": "docs/memories/",
        },
    )
    assert layout.kind_of("docs/MEMORY.md") == "memory"
    assert layout.kind_of("journal/2026-11-21.md") == "note"
    assert layout.kind_of("log/2026-11.md") == layout.kind_of("log/HISTORY.md") == "history"
    assert layout.kind_of("docs/memories/a/b.md") == "entry"
    assert layout.kind_of("memory/a.md") is layout.kind_of("MEMORY.md") is None
    assert layout.entry_path("a", "mem_123456", date(2026, 11, 21)) == "docs/memories/entries/2026-11/a-123456.md"
    assert adjusted(MEM, {"entries": "."}).kind_of("a.md") == "entry"
    assert adjusted(MEM, {"entries": ""}) is MEM
    assert adjusted(LAYOUTS["neovate"], {"history": "log/{month}.md"}).kind_of("HISTORY.md") == "history"


@cases("name", "value", "words")
def test_a_path_that_came_with_a_clone_cannot_lead_elsewhere(name: str, value: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("{", r"\{")):
        adjusted(MEM, {name: value})


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
