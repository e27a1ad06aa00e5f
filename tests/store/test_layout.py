"""Which file of a folder is of which kind, in mem's own layout and in those of other tools."""

from datetime import date
from pathlib import Path

import pytest

from memcli.errors import UsageError
from memcli.store.layouts import KINDS, LAYOUTS, MEM, OPENCLAW, Layout, adjusted
from tests.tables import cases

FIXTURES = Path(__file__).parents[2] / "fixtures" / "layouts"
OURS = {
    "openclaw": {
        "memory": ["MEMORY.md", "USER.md"],
        "note": [
            "memory/2026-02-12.md",
            "memory/2026-02-13.md",
            "memory/2026-02-14-supplier-call.md",
            "memory/2026-02-14.md",
            "memory/2026-02-15-0931.md",
            "memory/daily/2025-12-30.md",
        ],
        "entry": [
            "memory/lessons-learned.md",
            "memory/people/anneke.md",
            "memory/people/jonas-dewael.md",
            "memory/projects/shop-website.md",
            "memory/topics/自転車.md",
        ],
    },
    "claude": {
        "memory": ["MEMORY.md"],
        "entry": [
            "debugging.md",
            "empty.md",
            "feedback_no_emoji.md",
            "feedback_testing.md",
            "project_release-train.md",
            "project_迁移计划.md",
            "reference_dashboards.md",
            "reference_deploy.md",
            "seat-map-rewrite.md",
            "team/on-call.md",
            "user_role.md",
        ],
    },
    "neovate": {
        "memory": ["MEMORY.md"],
        "history": ["HISTORY-2026-01.md", "HISTORY-2026-02.md", "HISTORY-2026-03.md", "HISTORY.md"],
        "note": ["2025-12-20.md"],
        "entry": [
            "learnings/odd frontmatter.md",
            "learnings/swedish-plurals.md",
            "learnings/weather-station.md",
            "learnings/ポンプ.md",
        ],
    },
    "golemcore": {
        "memory": ["memory/MEMORY.md"],
        "note": [
            "memory/2026-02-05.md",
            "memory/2026-02-06.md",
            "memory/2026-02-07.md",
            "memory/items/episodic/2026-02-06.jsonl",
            "memory/items/procedural.jsonl",
            "memory/items/semantic.jsonl",
        ],
        "entry": ["memory/deploy-checklist.md"],
        "session": ["sessions/telegram:12345.json", "sessions/web:3f2a.json"],
    },
    "jarvis": {
        "entry": [
            "memory/mem_0badc0.md",
            "memory/mem_9c1d44.md",
            "memory/mem_9f02aa.md",
            "memory/mem_abc123.md",
            "memory/mem_b1e3f7.md",
            "memory/mem_c44d10.md",
            "memory/mem_d5a8c2.md",
            "memory/mem_e77b90.md",
            "memory/mem_f10e55.md",
            "memory/shopping rules.md",
        ],
        "session": ["sessions/telegram_12345_user_67890/session.jsonl"],
    },
}


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
