"""A folder of a person's notes is read as Obsidian reads it, and left as it is."""

import json
import os
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memcli.index import reader
from memcli.store.obsidian import find_tags, format_day, list_daily_notes
from tests.helpers import run_mem
from tests.store.test_worktrees import git, make_repository

NOTES = {
    "People/Ana Sousa.md": "---\nAliases: [Ana]\nTags: [people/team]\nSTATUS: active\nRating: 5\n"
    "---\nAna repairs the espresso machine. #coffee/espresso\n",
    "Plan.md": "# Kitchen plan\n\nWe buy a zebrawood table. `#code`\n",
    "Lamps.md": "The lamps come on Tuesday.\n",
    "Clip.md": "---\nsource: https://example.org/kilns\n---\nKilns reach 1,300 degrees.\n",
    "Daily/2026-11-20.md": "We met [[Ana]] about beans.\n",
    "Templates/t.md": "Hello {{title}}, descale it.\n",
    "Private/diary.md": "Nobody reads about the falcon.\n",
    "Board.canvas": json.dumps(
        {
            "nodes": [
                {"type": "text", "text": "Descale the boiler."},
                {"type": "group", "label": "Tea"},
            ]
        }
    ),
    "Broken.canvas": "{",
    "People.base": "views:\n  - type: table\n",
    ".obsidian/daily-notes.json": '{"folder": "Daily", "format": "YYYY/MM-DD dddd"}',
    "Modèles/t.md": "Hello <% tp.file.title %>, descale it.\n",
    ".obsidian/templates.json": '{"folder": "Templates"}',
    ".obsidian/plugins/templater-obsidian/data.json": '{"templates_folder": "/Mode\\u0300les"}',
    ".obsidian/app.json": '{"userIgnoreFilters": ["Private/", "/^.*tmp/", 3]}',
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    for name, text in NOTES.items():
        path = tmp_path / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "vault"


def find(vault: Path, *query: str) -> list[str]:
    output = run_mem(vault, "search", *query, "--mode", "keyword", "--json")[1]
    return sorted({hit["path"] for hit in json.loads(output)["hits"]})


def list_entries(vault: Path, *options: str) -> dict[str, Any]:
    output = run_mem(vault, "ls", "--json", *options)[1]
    return {item["path"]: item for item in json.loads(output)["entries"]}


def read_all(vault: Path) -> dict[str, bytes]:
    return {name: (vault / name).read_bytes() for name in NOTES}


def test_init_reads_the_notes_and_changes_none(vault: Path) -> None:
    before = read_all(vault)
    code, _, errors = run_mem(vault, "init")
    assert (code, "left out 1 view without text: People.base" in errors) == (0, True)
    assert find(vault, "zebrawood") == ["Plan.md"]
    assert find(vault, "descale") == ["Board.canvas"]
    assert find(vault, "falcon") == []
    for words in (("write", "Ana likes tea."), ("note", "Bought beans."), ("tend",), ("decay",)):
        assert run_mem(vault, *words)[0] == 0, words
    assert run_mem(vault, "check")[0] == 0
    assert read_all(vault) == before
    others = {path.relative_to(vault).parts[0] for path in vault.rglob("*.md")}
    assert others - {Path(name).parts[0] for name in NOTES} == {"mem"}


def test_titles_tags_aliases_and_sources(vault: Path) -> None:
    run_mem(vault, "init")
    entries = list_entries(vault)
    assert entries["Plan.md"]["title"] == "Kitchen plan"
    assert entries["Lamps.md"]["title"] == "Lamps"
    assert list(list_entries(vault, "--tag", "coffee")) == ["People/Ana Sousa.md"]
    assert list(list_entries(vault, "--tag", "people")) == ["People/Ana Sousa.md"]
    assert "espresso" in run_mem(vault, "read", "ana")[1]
    assert entries["Lamps.md"]["source"] == "user"
    # A page that the user clipped from the web is not the user's word.
    assert entries["Clip.md"]["source"] == "observed"
    assert entries["Daily/2026-11-20.md"]["created_at"] == "2026-11-20T00:00:00Z"


def test_properties_as_filters(vault: Path) -> None:
    run_mem(vault, "init")
    for conditions in (["rating>=4"], ["status=active", "rating>=4"], ["Tags=people/team"]):
        options = [word for condition in conditions for word in ("--where", condition)]
        assert find(vault, "machine", *options) == ["People/Ana Sousa.md"]
    assert find(vault, "machine", "--where", "rating>5") == []


def test_a_filter_by_status_finds_only_notes_that_have_one(vault: Path) -> None:
    run_mem(vault, "init")
    run_mem(vault, "write", "The kiln is new.", "--path", "kiln")
    run_mem(vault, "write", "The kiln is old.", "--path", "old")
    run_mem(vault, "forget", "mem/entries/old.md")
    (vault / "Essay.md").write_text("---\nStatus: Reading\n---\nThe essay is about tides.\n")
    ours, ana = "mem/entries/kiln.md", "People/Ana Sousa.md"
    assert list_entries(vault, "--where", "status=Active").keys() == {ours, ana}
    assert list_entries(vault, "--where", "status=reading").keys() == {"Essay.md"}
    forgotten = list_entries(vault, "--status", "all", "--where", "status=forgotten")
    assert forgotten.keys() == {"mem/entries/old.md"}


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("Last Contact>2026-09-13", True),
        ("Last Contact>2026-09-14", False),
        ("last contact=14.9.2026", True),
        ("Last Contact!=14.9.2026", False),
        ("Last Contact<october", True),
        ("Last Contact>=september", True),
        ("Last Contact>last month", False),
        ("Last Contact=someday", False),
        ("Last Contact~2026-09", True),
        ("Größe (cm) = 7", True),
        ("Größe (cm)>10", False),
    ],
)
def test_properties_with_spaces_and_dates(vault: Path, condition: str, is_met: bool) -> None:
    (vault / "Jo.md").write_text("---\nLast Contact: 2026-09-14\nGröße (cm): 7\n---\nJo.\n")
    run_mem(vault, "init")
    assert ("Jo.md" in list_entries(vault, "--where", condition)) is is_met
    code, _, messages = run_mem(vault, "ls", "--where", "Last Contact<octobre")
    assert (code, "cannot read the date 'octobre'" in messages) == (2, True)


def test_a_note_in_the_daily_note_of_the_vault(vault: Path) -> None:
    run_mem(vault, "init")
    run_mem(vault, "config", "set", "vault.daily_note", "true")
    assert "(Daily/2026/11-28 Saturday.md)" in run_mem(vault, "note", "Bought beans.")[1]
    assert "Bought beans." in (vault / "Daily/2026/11-28 Saturday.md").read_text()
    assert "Bought beans." in run_mem(vault, "recall", "beans", "--format", "context")[1]
    daily = vault / "Daily/2026/11-28 Saturday.md"
    for newline in ("\n", "\r\n", ""):
        daily.write_text(f"- woke early{newline}", newline="")
        run_mem(vault, "note", "Roasted beans.")
        run_mem(vault, "note", "Sold beans.")
        end = newline or "\n"
        notes = daily.read_bytes().decode().split(end)
        assert notes[:2] == ["- woke early", ""] and notes[4:] == [""]
        assert [note[-6:] for note in notes[2:4]] == ["beans."] * 2
    (vault / ".obsidian/daily-notes.json").write_text('{"format": "YYYY/DD.MM.YYYY"}')
    (vault / "2026").mkdir()
    (vault / "2026/03.09.2026.md").write_text("A walrus.\n")
    assert list(list_entries(vault, "--since", "2026-09-03", "--until", "2026-09-03")) == [
        "2026/03.09.2026.md"
    ]
    for settings in ('{"folder": "../out"}', '{"format": "gggg-ww"}', "{"):
        (vault / ".obsidian/daily-notes.json").write_text(settings)
        _, output, errors = run_mem(vault, "note", "Ground them.")
        assert "(mem/notes/2026-11-28.md)" in output and "so the note is in mem/notes/" in errors


@pytest.mark.parametrize("filters", ['["/^Pri.*e/"]', '["/(a+)+$/"]', "[", '["Private/"]\n"x": 1'])
def test_what_obsidian_excludes_stays_hidden_if_its_settings_are_damaged(
    vault: Path, filters: str
) -> None:
    run_mem(vault, "init")
    (vault / ".obsidian/app.json").write_text(f'{{"userIgnoreFilters": {filters}}}')
    (vault / "Private/new.md").write_text("The falcon has a nest.\n")
    (vault / "New.md").write_text("The heron has a nest.\n")
    entries = list_entries(vault)
    assert "Plan.md" in entries and not {"Private/diary.md", "Private/new.md"} & entries.keys()
    is_readable = "Pri.*" in filters
    assert ("New.md" in entries) is is_readable
    assert ("app.json" in run_mem(vault, "search", "nest")[2]) is not is_readable


def test_a_new_vault_with_damaged_settings_says_so(vault: Path) -> None:
    (vault / ".obsidian/app.json").write_text("{")
    _, output, errors = run_mem(vault, "init")
    assert "not searched: .obsidian/app.json" in output + errors
    assert "app.json, which cannot be read" in run_mem(vault, "read", "Plan")[2]


def test_forget_about_leaves_the_notes_of_the_vault_alone(vault: Path) -> None:
    run_mem(vault, "init")
    before = read_all(vault)
    run_mem(vault, "write", "Ana likes the zebrawood table.")
    assert run_mem(vault, "forget", "--about", "zebrawood")[0] == 0
    assert read_all(vault) == before
    code, _, messages = run_mem(vault, "forget", "--about", "zebrawood")
    assert (code, "name a note of the vault" in messages) == (4, True)
    assert run_mem(vault, "forget", "Plan.md")[0] == 0
    assert "status: forgotten" in (vault / "Plan.md").read_text()


def test_forgetting_a_note_leaves_its_own_properties_alone(vault: Path) -> None:
    run_mem(vault, "init")
    for head in ("Status: Reading\nReason: for the essay", "reason: why\nstatus: Active"):
        note = f"---\n{head}\n---\nThe essay is about tides.\n"
        (vault / "Essay.md").write_text(note)
        assert run_mem(vault, "forget", "Essay.md", "--reason", "done")[0] == 0
        forgotten = (vault / "Essay.md").read_text()
        assert forgotten.startswith(f"---\n{head}\nforgotten_at: ")
        assert list_entries(vault, "--status", "forgotten").keys() == {"Essay.md"}
        assert run_mem(vault, "restore", "Essay.md")[0] == 0
        assert (vault / "Essay.md").read_text() == note
        text = f"The essay has the head {head!r}."
        run_mem(vault, "write", text, "--supersedes", "Essay.md", "--source", "user")
        assert (vault / "Essay.md").read_text().startswith(f"---\n{head}\nsuperseded_by: mem_")
        assert list_entries(vault, "--status", "superseded").keys() == {"Essay.md"}
        assert run_mem(vault, "restore", "Essay.md")[0] == 0
        assert f"---\n{head}\nconflicts_with: " in (vault / "Essay.md").read_text()


def test_a_daily_note_is_next_to_earlier_ones_without_obsidians_settings(vault: Path) -> None:
    run_mem(vault, "init")
    run_mem(vault, "config", "set", "vault.daily_note", "true")
    (vault / ".obsidian/daily-notes.json").unlink()
    run_mem(vault, "note", "woke early")
    assert "woke early" in (vault / "Daily/2026-11-28.md").read_text()


def test_a_purge_cleans_the_daily_note_and_names_other_notes(vault: Path) -> None:
    run_mem(vault, "init")
    run_mem(vault, "config", "set", "vault.daily_note", "true")
    text = "The spare key is under the flower pot."
    (vault / "House.md").write_text(f"{text}\n")
    daily = vault / "Daily/2026/11-28 Saturday.md"
    daily.parent.mkdir(parents=True)
    daily.write_text(f"Ana: {text}\n")
    run_mem(vault, "write", text, "--no-dedup", "--path", "key")
    run_mem(vault, "note", f"Told Jonas: {text}")
    code, _, messages = run_mem(vault, "forget", "mem/entries/key.md", "--purge", "--yes")
    assert code == 0
    ours = daily.read_text().removeprefix(f"Ana: {text}\n\n[12:")
    assert ours[2:] == "] Told Jonas: .\n"
    named = [line.split(":")[1] for line in messages.splitlines() if "still in" in line]
    assert named == [" still in Daily/2026/11-28 Saturday.md", " still in House.md"]
    # A purge hides a text, not the path that the next note has.
    for text in ("Dinner with Ann.", "Supper with Jan."):
        assert run_mem(vault, "forget", str(daily.relative_to(vault)), "--purge", "--yes")[0] == 0
        run_mem(vault, "note", text)
        assert text in run_mem(vault, "grep", "with")[1]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("YYYY-MM-DD", "2026-01-03"),
        ("gggg", ""),
        ("YY.M.D", "26.1.3"),
        ("[Day] Do MMMM, ddd [W]WW", "Day 3rd January, Sat W01"),
    ],
)
def test_formats_of_daily_notes(pattern: str, name: str) -> None:
    assert format_day(pattern, datetime(2026, 1, 3, tzinfo=UTC)) == name


def test_the_note_of_a_week_has_its_first_day() -> None:
    assert list_daily_notes("YYYY-[W]WW", 2026)["2026-W49"] == datetime(2026, 11, 30, tzinfo=UTC)


def test_tags_in_a_text() -> None:
    body = "#a x #b/c-d\n#ä1 #12 a#b https://x.org/#c `#d`\n# Heading\n```\n#e\n```\n(#f)\n#g, #y_"
    assert find_tags(body) == ["a", "b/c-d", "ä1", "g", "y_"]


def test_a_cloned_vault_is_data_until_it_is_trusted(vault: Path) -> None:
    make_repository(vault)
    assert run_mem(vault, "init", "--private")[0] == 0
    assert list_entries(vault)["Lamps.md"]["source"] == "user"
    git(vault, "remote", "add", "origin", "https://example.org/vault.git")
    for path in ("mem.yaml", ".mem"):
        os.rename(vault / path, vault.parent / path)
    code, output, _ = run_mem(vault, "init", "--private")
    assert (code, "mem trust" in output) == (0, True)
    entry = list_entries(vault)["Lamps.md"]
    assert (entry["source"], entry["trust"]) == ("repository", 0.5)
    assert run_mem(vault, "trust")[0] == 0
    assert list_entries(vault)["Lamps.md"]["source"] == "user"


def test_the_memory_folder_of_claude_code(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/-home-ana-shop/memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory Index\n\n- [Tests](tests.md): the zebrawood rule\n")
    topic = "---\nname: tests\ndescription: Real database\nmetadata:\n  type: feedback\n---\n"
    (folder / "tests.md").write_text(f"{topic}\nTests use the real Postgres.\n")
    assert run_mem(folder, "init")[0] == 0
    assert "layout: claude" in (folder / "mem.yaml").read_text()
    assert find(folder, "Postgres") == ["tests.md"]
    assert find(folder, "zebrawood") == ["MEMORY.md"]
    entry = list_entries(folder)["tests.md"]
    assert (entry["title"], entry["source"], entry["type"]) == ("tests", "observed", "feedback")
    run_mem(folder, "write", "Deploys happen on Mondays.")
    assert [path.parts[-3] for path in folder.rglob("deploys*.md")] == ["entries"]


@pytest.mark.parametrize(
    "name",
    [
        "日記 2026",
        unicodedata.normalize("NFD", "Café Müller"),
        "two\nlines",
        "a  b",
        "100% [x] {y}",
    ],
)
def test_names_of_notes(vault: Path, name: str) -> None:
    (vault / f"{name}.md").write_text("The quokka sleeps.\n")
    run_mem(vault, "init")
    assert find(vault, "quokka") == [f"{name}.md"]
    assert "quokka" in run_mem(vault, "read", unicodedata.normalize("NFC", name))[1]


def test_large_files_and_circular_links(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LARGEST", 2_000)
    (vault / "large.md").write_text("The quokka sleeps.\n" + "word " * 1_000 + "numbat")
    (vault / "loop").symlink_to(".")
    assert run_mem(vault, "init")[0] == 0
    assert find(vault, "quokka") == ["large.md"]
    assert find(vault, "numbat") == []
    assert "only its beginning is searched" in run_mem(vault, "check")[1]
