"""Flags that an earlier version guessed are named by `mem check`, taken off by `--fix`, and asked about by nobody."""

from pathlib import Path

from tests.conftest import Mem


def put(workspace: Path, name: str, fields: str) -> Path:
    path = workspace / "entries" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\nid: mem_{name}\ntype: fact\n{fields}created_at: 2026-11-01T00:00:00Z\n---\n\nText {name}.\n")
    return path


def test_what_was_guessed_is_named_taken_off_in_one_step_and_brought_back_by_undo(mem: Mem, workspace: Path) -> None:
    paths = [
        put(workspace, "a", "conflicts_with: [mem_b, mem_c]\nlikely_same: [mem_b]\n"),
        put(workspace, "b", "conflicts_with: [mem_a]\nlikely_same: [mem_a]\n"),
        put(workspace, "c", "conflicts_with: [mem_a, mem_d]\nverdicts: [mem_d]\n"),
        put(workspace, "d", "conflicts_with: [mem_c]\n"),
        put(workspace, "e", "key: port\nconflicts_with: [mem_f]\n"),
        put(workspace, "f", "key: Port\nconflicts_with: [mem_e]\n"),
    ]
    before = [path.read_text() for path in paths]
    assert [
        (one["kind"], sorted(side["id"] for side in one["memories"]))
        for one in mem("review", "--json").json["questions"]
    ] == [
        ("key", ["mem_e", "mem_f"]),
        ("conflict", ["mem_c", "mem_d"]),
    ]
    named = [one for one in mem("check", "--json").json["problems"] if one["rule"] == "flag"]
    assert [(one["path"], one["line"], one["fixable"]) for one in named] == [
        ("entries/a.md", 4, True),
        ("entries/b.md", 4, True),
        ("entries/c.md", 4, True),
    ]
    assert "flagged with mem_b, mem_c by a guess" in named[0]["reason"]
    assert mem("check", "--fix").code == 0
    assert [path.read_text() for path in paths] == [
        before[0].replace("conflicts_with: [mem_b, mem_c]\nlikely_same: [mem_b]\n", ""),
        before[1].replace("conflicts_with: [mem_a]\nlikely_same: [mem_a]\n", ""),
        before[2].replace("[mem_a, mem_d]", "[mem_d]"),
        *before[3:],
    ]
    assert mem("check").code == 0
    assert mem("undo").code == 0
    assert [path.read_text() for path in paths] == before
