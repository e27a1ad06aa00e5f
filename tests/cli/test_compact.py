"""`mem session compact` and `clear` as a user sees them, also when the power fails."""

import json
from pathlib import Path

import pytest

from memcli.store.file_steps import is_temporary
from tests.conftest import Mem


def said(mem: Mem, count: int, first: int = 1) -> None:
    events = [
        {"id": f"m{number}", "role": ("assistant", "user")[number % 2], "content": f"We use tool number {number} here"}
        for number in range(first, first + count)
    ]
    assert mem("session", "append", "-", "--session", "s", stdin=json.dumps(events)).code == 0


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".mem" not in path.relative_to(root).parts and not is_temporary(path.name)
    }


def history(root: Path) -> str:
    return "".join(path.read_text() for path in sorted(root.glob("HISTORY-*.md")))


def test_only_a_session_past_its_limit_is_compacted(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said(mem, 60)
    before = tree(workspace)
    assert mem("session", "compact").out == ""
    assert mem("session", "compact", "s").out == ""
    assert tree(workspace) == before
    monkeypatch.setenv("MEM_SESSION_SOFT_LIMIT", "8100")
    monkeypatch.setenv("MEM_SESSION_HARD_LIMIT", "8200")
    (row,) = mem("session", "compact", "--json").json["sessions"]
    assert (row["session"], row["how"], row["archived"]) == ("s", "rules", "archive/sessions/s")
    assert row["tokens_after"] < row["tokens_before"]
    assert "[Conversation summary]" in mem("session", "show", "s", "--range", "1").out
    assert mem("read", "session:s#m1").code == 0, "what was archived is still read by its id"


def test_clear_consolidates_archives_and_begins_anew(mem: Mem, workspace: Path) -> None:
    said(mem, 4)
    mem(
        "session",
        "append",
        "--session",
        "s",
        "--role",
        "assistant",
        "--text",
        "Done: each tool number is installed now.",
    )
    assert mem("session", "clear", "s").rows == [["cleared", "s", "memory/archive/sessions/s"]]
    assert history(workspace).count("<!-- hist_") == 1
    assert mem("consolidate", "--all").out == ""
    said(mem, 2, first=5)
    assert [row[2] for row in mem("consolidate", "--all").rows] == ["2"]


def test_where_the_llm_fails_what_was_cleared_stays_due(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(mem, 4)
    monkeypatch.setenv("MEM_LLM_COMMAND", "false")
    cleared = mem("session", "clear", "s")
    assert cleared.code == 0
    assert "tries again from the archive" in cleared.err
    assert "[raw-fallback]" in history(workspace)
    monkeypatch.delenv("MEM_LLM_COMMAND")
    assert [(row[0], row[2]) for row in mem("consolidate", "--all").rows] == [("s", "4")]
    assert mem("consolidate", "--all").out == ""
    assert history(workspace).count("<!-- hist_") == 2


def test_what_was_deleted_is_not_consolidated(mem: Mem, workspace: Path) -> None:
    said(mem, 4)
    assert mem("session", "delete", "s").code == 0
    assert mem("consolidate", "--all").out == ""
    assert history(workspace) == ""


def test_with_consolidation_switched_off_nothing_is_made_of_what_is_put_away(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_CONSOLIDATE_ENABLED", "off")
    said(mem, 6)
    assert mem("session", "compact", "s", "--force", "--keep", "2").code == 0
    assert mem("session", "clear", "s").code == 0
    assert history(workspace) == ""
