"""Secrets in what a workspace holds are found by file, line and rule."""

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memcli.maintenance import checks
from memcli.maintenance.checks import all_texts, leaks, leaks_in
from memcli.maintenance.invariants import Fault
from memcli.store.workspace import Surroundings, Workspace, opened
from tests.tables import cases

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
TOKEN = "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"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "memory"
    (root / "entries").mkdir(parents=True)
    return opened(Surroundings(root, {"HOME": str(tmp_path)}, NOW), root)


def found(workspace: Workspace) -> list[str]:
    return [str(one) for one in leaks(workspace, all_texts(workspace, sessions=True))]


def test_every_kind_of_file_is_looked_at(workspace: Workspace) -> None:
    paths = ["MEMORY.md", "archive/entries/b.md", "entries/a.md", "notes/2026-11-21.md", "sessions/s/session.jsonl"]
    for path in paths:
        file = workspace.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'one\n"{TOKEN}"\n')
    said = [one.partition(": remove")[0] for one in found(workspace)]
    assert said == [f"{path}:2: looks like a secret (github-token)" for path in paths]


@cases("text")
def test_what_only_looks_like_one_passes(workspace: Workspace, text: str) -> None:
    (workspace.root / "entries/a.md").write_text(text)
    assert found(workspace) == []


def test_values_of_the_env_file_beside_the_workspace_are_secrets(workspace: Workspace) -> None:
    (workspace.root.parent / ".env").write_text("DB_PASSWORD=correct-Horse-77-battery\n")
    (workspace.root / "entries/a.md").write_text("It is correct-Horse-77-battery since May.\n")
    assert [one.partition(": remove")[0] for one in found(workspace)] == [
        "entries/a.md:1: looks like a secret (env-value)"
    ]


@pytest.mark.parametrize("allowed", ["entries/a.md", "entries/", "[MEMORY.md, entries/*.md]"])
def test_files_named_in_the_setting_are_passed_over(tmp_path: Path, allowed: str) -> None:
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries/a.md").write_text(TOKEN)
    (tmp_path / "mem.yaml").write_text(f"secrets.allow: {allowed}\n")
    around = Surroundings(tmp_path, {"HOME": str(tmp_path)}, NOW)
    assert found(opened(around, tmp_path)) == []
    (tmp_path / "mem.yaml").write_text("secrets.allow: notes/\n")
    assert len(found(opened(around, tmp_path))) == 1


def test_a_text_found_clean_is_searched_again_once_it_or_what_it_is_judged_by_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "entries").mkdir()
    searched: list[str] = []

    def noted(workspace: Workspace, texts: Iterable[tuple[str, str]], **options: Any) -> Iterator[Fault]:
        pairs = list(texts)
        searched.extend(path for path, _ in pairs)
        return leaks(workspace, pairs, **options)

    monkeypatch.setattr(checks, "leaks", noted)

    def check() -> tuple[list[str], list[str]]:
        searched.clear()
        workspace = opened(Surroundings(tmp_path, {"HOME": str(tmp_path)}, NOW), tmp_path)
        faults = [fault.path for fault in leaks_in(workspace, everywhere=False)]
        return [*searched], faults

    clean, leaking = tmp_path / "entries/a.md", tmp_path / "entries/b.md"
    clean.write_text("Ask ada.lovelace@lovelace-works.org about correct-Horse-77-battery.\n")
    leaking.write_text(TOKEN)
    (tmp_path / "mem.yaml").write_text("secrets.allow: entries/c.md\nsecrets.personal: off\n")
    (tmp_path / "entries/c.md").write_text(f"{TOKEN}\n")
    everything = ["entries/a.md", "entries/b.md", "entries/c.md"]
    assert check() == (everything, ["entries/b.md"])
    assert check() == (everything[1:], ["entries/b.md"])
    (tmp_path / "entries/c.md").rename(tmp_path / "entries/d.md")
    assert check() == (["entries/b.md", "entries/d.md"], ["entries/b.md", "entries/d.md"])
    status = clean.stat()
    clean.write_text(TOKEN.ljust(status.st_size))
    os.utime(clean, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "entries/a.md" in check()[1]
    clean.write_text("Ask ada.lovelace@lovelace-works.org about correct-Horse-77-battery.\n")
    assert "entries/a.md" not in check()[1]
    (tmp_path / ".env").write_text("DB_PASSWORD=correct-Horse-77-battery\n")
    assert "entries/a.md" in check()[1]
    (tmp_path / ".env").unlink()
    (tmp_path / "mem.yaml").write_text("secrets.personal: refuse\nsecrets.personal_rules: [email]\n")
    assert "entries/a.md" in check()[1]
