"""A record of history that a later one tells better is passed over, whichever month's file either stands in."""

from pathlib import Path

import pytest

from tests.conftest import Mem

OLD, OTHER, GOOD = "hist_01kajd3v7m4kq7tz", "hist_01kajd3v7m4kq7ta", "hist_01kbjd3v7m4kq7tb"
FALLBACK = f"## 2026-10-31T23:50:00.000Z <!-- {OLD} -->\n\n[raw-fallback] user: the zebrafinch cage is cleaned\n"
KEPT = f"\n## 2026-10-31T23:55:00.000Z <!-- {OTHER} -->\n\n[2026-10-31 23:55] The zebrafinch sang.\n"
RETOLD = (
    f"## 2026-11-21T10:00:00.000Z <!-- {GOOD} -->\n\n[2026-11-21 10:00] Cleaning the zebrafinch cage was agreed.\n"
    f"<!-- instead of {OLD} -->\n"
)


def found(mem: Mem, *options: str) -> set[str]:
    hits = mem("search", "zebrafinch", "--mode", "keyword", "--json", *options).json["hits"]
    return {hit["id"].rpartition("#")[2] for hit in hits}


@pytest.mark.parametrize("first", ["HISTORY-2026-10.md", "HISTORY-2026-11.md"])
def test_a_fallback_is_not_found_once_another_month_tells_it_better(mem: Mem, workspace: Path, first: str) -> None:
    files = {"HISTORY-2026-10.md": FALLBACK + KEPT, "HISTORY-2026-11.md": RETOLD}
    for name in sorted(files, key=lambda name: name != first):  # whichever is read first
        (workspace / name).write_text(files[name])
        found(mem)
    for _ in range(2):
        assert found(mem) == {OTHER, GOOD}
        told = mem("recall", "was the zebrafinch cage cleaned?").out
        assert "raw-fallback" not in told
        assert "zebrafinch" in told
        assert "raw-fallback" not in mem("history", "show").out
        assert mem("index", "--rebuild").code == 0
    assert "raw-fallback" in mem("read", OLD).out, "what stands in a file can be read"


def test_a_fallback_is_found_again_when_what_told_it_better_is_gone(mem: Mem, workspace: Path) -> None:
    (workspace / "HISTORY-2026-10.md").write_text(FALLBACK + KEPT)
    (workspace / "HISTORY-2026-11.md").write_text(RETOLD)
    assert found(mem) == {OTHER, GOOD}
    (workspace / "HISTORY-2026-11.md").unlink()
    assert found(mem) == {OLD, OTHER}


def test_a_fallback_is_passed_over_within_one_file_too(mem: Mem, workspace: Path) -> None:
    (workspace / "HISTORY-2026-11.md").write_text(f"{FALLBACK}{KEPT}\n{RETOLD}")
    assert found(mem) == {OTHER, GOOD}
    assert found(mem, "--status", "superseded") == {OLD}
