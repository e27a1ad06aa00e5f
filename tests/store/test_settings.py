"""A wrong setting is reported by every command, and never switches anything off silently."""

from pathlib import Path

import pytest

from tests.helpers import make_workspace, put, run_mem

WRONG = {
    "search.limt: 5": "unknown setting 'search.limt'",
    "search.limit: many": "search.limit must be a number, not 'many'",
    "search.min_score: 5": "search.min_score must be between 0 and 1",
    "secrets.personal: [card-numbers]": "not 'card-numbers'",
    "team.dsn: service=team": "only your own settings can have team.dsn",
    "search.limit: [1": "no new files are read: bad YAML",
    "- search.limit": "all settings are ignored",
    f"index.exclude: [{'x' * 2**20}]": "no new files are read: the file is too large",
}


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
def test_every_command_reports_a_wrong_setting_once(tmp_path: Path, line: str) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.root / "mem.yaml").write_text(f"{line}\n")
    _, _, messages = run_mem(tmp_path, "search", "tea")
    assert messages.count(WRONG[line]) == 1
    code, findings, _ = run_mem(tmp_path, "check")
    assert code == 1
    assert WRONG[line] in findings


def test_without_its_settings_a_workspace_shows_no_new_memories(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/old.md", "The tea is green.\n")
    put(workspace, "mem.yaml", "index.exclude: [entries/private]\ntimezone: Asia/Tokyo\n")
    assert "green" in run_mem(tmp_path, "search", "tea")[1]
    put(workspace, "mem.yaml", "index.exclude: [entries/private]\nsearch.limit 5\n")
    put(workspace, "entries/private/new.md", "The secret tea is black.\n")
    put(workspace, "entries/new.md", "The other tea is red.\n")
    put(workspace, "entries/old.md", "The tea is white.\n")
    found = run_mem(tmp_path, "search", "tea")[1]
    assert "white" in found and "red" not in found and "black" not in found
    put(workspace, "mem.yaml", "index.exclude: [entries/private]\ntimezone: Asia/Tokyo\n")
    found = run_mem(tmp_path, "search", "tea")[1]
    assert "white" in found and "red" in found and "black" not in found


def test_a_command_names_the_first_of_several_wrong_settings(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.root / "mem.yaml").write_text(
        "search:\n  limit: 5\n  limt: 5\n  count: 5\nserch.limit: 4\n"
    )
    _, _, messages = run_mem(tmp_path, "search", "tea")
    assert "mem.yaml:3: unknown setting 'search.limt': ignored (and 2 more: mem check)" in messages
    assert "search.count" not in messages
    _, findings, _ = run_mem(tmp_path, "check")
    assert "mem.yaml:4\tunknown setting 'search.count'" in findings
    assert "mem.yaml:5\tunknown setting 'serch.limit'" in findings


def test_a_setting_is_not_changed_to_an_unknown_kind_of_personal_data(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    code, _, messages = run_mem(tmp_path, "config", "set", "secrets.personal", "[card-numbers]")
    assert code == 2
    assert "not 'card-numbers'" in messages


def test_a_vault_without_its_settings_stays_a_vault(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    run_mem(tmp_path, "init")
    (tmp_path / "mem.yaml").write_text("layout: vault\nsearch [\n")
    run_mem(tmp_path, "write", "The roof is red.")
    assert list(tmp_path.glob("mem/entries/*/the-roof*.md"))
