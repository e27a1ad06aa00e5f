"""A name in a command is an id, a path, a title, an alias, or a part that only one memory has."""

from pathlib import Path

import pytest

from memcli.errors import UsageError
from memcli.index.index import Index, open_index
from memcli.search.names import SHORTEST_PART, find_named
from tests.helpers import make_workspace, open_again, put, run_mem

ENTRY = "---\nid: {}\ntitle: {}\naliases: [{}]\n---\n\nA text.\n"
ENTRIES = {
    "2026-11/heat-pump-service-7qemnx.md": ("mem_01m8k8v4y17qemnx", "Heat pump", "boiler"),
    "2026-10/standup.md": ("mem_01m5c2b3d4ewsaaj", "Daily Stand-up", "全体会议"),
    "People/Ana.md": ("mem_01m5c2b9k4ppy68n", "Ana Ruiz", "release manager"),
}


def build_index(folder: Path) -> Index:
    workspace = make_workspace(folder)
    put(workspace, "mem.yaml", "index.include: [boards]\n")
    put(workspace, "boards/Project map.canvas", "{}")
    for path, values in ENTRIES.items():
        put(workspace, f"entries/{path}", ENTRY.format(*values))
    put(workspace, "notes/2026-11-28.md", "[12:00] A note.\n")
    return open_index(open_again(workspace))


def list_parts(name: str) -> list[str]:
    """Return every part of a name that is long enough and, except in an id, starts with a word."""
    return [
        name[start:end]
        for start in range(len(name))
        if not (name.isascii() and name[start].isalnum() and name[start - 1 : start].isalnum())
        or name.startswith("mem_")
        for end in range(start + 1, len(name) + 1)
        if len(name[start:end].strip().encode()) >= SHORTEST_PART
    ]


def test_every_part_finds_its_memory_or_lists_those_that_share_it(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    for path, (entry_id, title, alias) in ENTRIES.items():
        names = (entry_id, path.removesuffix(".md"), title, alias)
        for part in {part for name in names for part in list_parts(name)}:
            try:
                named = find_named(index, part)
            except UsageError as error:
                assert "matches" in error.message, part
                assert entry_id[-6:] in error.hint, part
            else:
                assert named is not None and named.path == f"entries/{path}", part


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("7qe", "entries/2026-11/heat-pump-service-7qemnx.md"),
        ("heat-pump", "entries/2026-11/heat-pump-service-7qemnx.md"),
        ("pump service", "entries/2026-11/heat-pump-service-7qemnx.md"),
        ("ana-ru", "entries/People/Ana.md"),
        ("heat-pump-service-7qemnx.md", "entries/2026-11/heat-pump-service-7qemnx.md"),
        ("2026-10/standup", "entries/2026-10/standup.md"),
        ("people/ana", "entries/People/Ana.md"),
        ("ANA", "entries/People/Ana.md"),
        ("Rui", "entries/People/Ana.md"),
        ("会", "entries/2026-10/standup.md"),
        ("notes/2026-11-28", "notes/2026-11-28.md"),
        ("2026-11-28", "notes/2026-11-28.md"),
        ("Project map", "boards/Project map.canvas"),
        ("project map.canvas", "boards/Project map.canvas"),
    ],
)
def test_a_name_finds_its_file(name: str, path: str, tmp_path: Path) -> None:
    named = find_named(build_index(tmp_path), name)
    assert named is not None and named.path == path


def test_a_short_part_and_a_query_find_nothing(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    assert find_named(index, "pu") is None
    assert find_named(index, "ump") is None  # "ports" is not the rule about "exports"
    assert find_named(index, "pump", accept_parts=False) is None


def test_an_id_of_any_form_is_a_name_and_hints_quote_a_path(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/tank.md", "---\nid: 7a\n---\n\nThe tank is blue.\n")
    assert run_mem(tmp_path, "forget", "7a")[0] == 0
    put(workspace, "entries/a tank.md", "---\ntags: [a\n---\n\nThe tank is red.\n")
    assert "mem edit 'entries/a tank.md'" in run_mem(tmp_path, "forget", "a tank")[2]
    assert "save a copy with mem write" in run_mem(tmp_path, "promote", "a tank")[2]


def test_a_memory_with_conflict_markers_is_found_by_its_id_or_name(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    markers = "<<<<<<< HEAD\nTea at four.\n=======\nTea at five.\n>>>>>>> other\n"
    put(workspace, "entries/tea.md", f"---\nid: mem_01m5c2b9k4aaaaaa\n---\n\n{markers}")
    changes = (["forget", "aaaaaa"], ["write", "Tea.", "--id", "aaaaaa"])
    for words in (["read", "aaaaaa"], ["read", "tea"], ["forget", "tea"], *changes):
        code, output, errors = run_mem(tmp_path, *words)
        assert "entries/tea.md:5: a git conflict marker: resolve the conflict" in errors, words
        assert (code, output) == (5, ""), words
    unread = "not searched: entries/tea.md (a git conflict marker: resolve the conflict first)"
    assert unread in run_mem(tmp_path, "ls")[2]
    code, _, errors = run_mem(tmp_path, "edit", "aaaaaa", "--replace", markers, "Tea at six.\n")
    assert code == 0, errors
    assert run_mem(tmp_path, "read", "aaaaaa")[1].endswith("Tea at six.\n")
