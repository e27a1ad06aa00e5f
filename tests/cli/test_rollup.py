"""`mem session rollup` as a user sees it."""

import json
from pathlib import Path

import pytest

from tests.conftest import Mem


@pytest.fixture
def episodes(mem: Mem, workspace: Path) -> Path:
    """Make episodes of a project, from a conversation in its folder."""
    lines = [
        {"type": "session_meta", "cwd": "/home/rita/shop", "metadata": {"project": "shop"}},
        {"role": "user", "content": "We always use Postgres 16 in the shop", "timestamp": "2026-11-20T10:00:00Z"},
        {"role": "assistant", "content": "Done: Postgres 16 is installed now.", "timestamp": "2026-11-20T10:01:00Z"},
        {
            "role": "assistant",
            "content": "The tables are listed one by one below. " * 60,
            "timestamp": "2026-11-20T10:02:00Z",
        },
    ]
    (workspace.parent / "talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert mem("consolidate", "talk.jsonl").code == 0
    return workspace


def test_a_projects_episodes_become_a_page_that_is_found(mem: Mem, episodes: Path) -> None:
    shown = mem("session", "rollup", "shop", "--dry-run")
    assert "+++ b/entries/projects/shop/summary.md" in shown.out
    assert not (episodes / "entries/projects").exists()
    assert mem("session", "rollup", "shop").rows == [["memory/entries/projects/shop/summary.md", "rules", "1"]]
    assert mem("session", "rollup", "--all").out == ""
    hits = mem("search", "shop postgres", "--json", "--type", "summary").json["hits"]
    assert [hit["path"] for hit in hits] == ["entries/projects/shop/summary.md"]


def test_an_llm_that_fails_ends_with_7(mem: Mem, episodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_LLM_COMMAND", "false")
    failed = mem("session", "rollup", "shop")
    assert (failed.code, "the LLM failed" in failed.err) == (7, True)
    monkeypatch.setenv("MEM_LLM_COMMAND", "echo The shop uses Postgres.")
    assert mem("session", "rollup", "--all", "--json").json["summaries"][0]["how"] == "llm"


def test_a_page_in_conflict_keeps_no_other_project_from_its_page(mem: Mem, workspace: Path) -> None:
    for name in ("alpha", "beta"):
        for number in (1, 2):
            fields = f"id: mem_01kajd3v7m4k{name[0]}00{number}\ntype: episode\nproject: {name}"
            path = workspace / "entries" / "episodes" / f"{name}{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"---\n{fields}\ncreated_at: 2026-11-01T00:00:00Z\n---\n\nBuilt {name} {number}.\n")
    page = workspace / "entries" / "projects" / "alpha" / "summary.md"
    page.parent.mkdir(parents=True)
    page.write_text("<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n")
    ran = mem("session", "rollup", "--all")
    assert ran.code == 3
    assert ran.rows == [["memory/entries/projects/beta/summary.md", "rules", "2"]]
    assert "entries/projects/alpha/summary.md:1: a git conflict marker" in ran.err
    (workspace / "entries" / "projects" / "beta" / "summary.md").unlink()
    ran = mem("tend")
    assert ran.code == 3
    assert "alpha/summary.md:1: a git conflict marker" in ran.err
    assert (workspace / "entries" / "projects" / "beta" / "summary.md").exists()


@pytest.mark.parametrize(
    ("arguments", "code"), [((), 2), (("shop", "--all"), 2), (("nothing",), 4), (("--all", "-q"), 0)]
)
def test_what_makes_no_sense_is_said(mem: Mem, workspace: Path, arguments: tuple[str, ...], code: int) -> None:
    ran = mem("session", "rollup", *arguments)
    assert (ran.code, ran.out) == (code, "")
