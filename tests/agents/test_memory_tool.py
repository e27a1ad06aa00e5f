"""Anthropic's memory tool: files below /memories."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import make_workspace, put, run_mem


def call(folder: Path, command: str, **fields: Any) -> tuple[str, bool]:
    stdin = json.dumps({"command": command, **fields})
    code, output, _ = run_mem(folder, "memory-tool", stdin=stdin)
    reply = json.loads(output)
    assert reply["is_error"] == bool(code)
    return reply["content"], reply["is_error"]


def test_a_file_is_created_viewed_changed_renamed_and_deleted(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    path = "/memories/project/notes.txt"
    text = "# Notes\nThe kiln runs on Mondays.\nThe terrace opens in May.\n"
    assert call(tmp_path, "create", path=path, file_text=text)[1] is False
    assert "already exists" in call(tmp_path, "create", path=path, file_text="x")[0]
    listed, _ = call(tmp_path, "view", path="/memories")
    assert listed.splitlines()[-2:] == [line for line in listed.splitlines() if "project/" in line]
    assert listed.endswith("/memories/project/notes.txt")
    shown, _ = call(tmp_path, "view", path=path, view_range=[2, 3])
    assert shown.splitlines()[1:] == [
        "     2\tThe kiln runs on Mondays.",
        "     3\tThe terrace opens in May.",
    ]
    edited, is_error = call(
        tmp_path, "str_replace", path=path, old_str="Mondays", new_str="Fridays"
    )
    assert not is_error and "     2\tThe kiln runs on Fridays." in edited
    assert not call(tmp_path, "insert", path=path, insert_line=0, insert_text="First line.\n")[1]
    new = "/memories/archive/notes.txt"
    assert not call(tmp_path, "rename", old_path=path, new_path=new)[1]
    assert "First line." in call(tmp_path, "view", path=new)[0]
    assert call(tmp_path, "view", path=path)[1]
    assert not call(tmp_path, "delete", path="/memories/archive")[1]
    assert call(tmp_path, "view", path=new)[1]
    text = (tmp_path / "memory/entries/archive/notes.txt.md").read_text()
    assert "status: forgotten" in text and "source: inferred" in text
    assert not call(tmp_path, "create", path=new, file_text="The bus leaves at nine.")[1]
    assert "nine" in call(tmp_path, "view", path=new)[0]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/memories/../../etc/passwd",
        "/memories/a/../../x",
        "/memories/.mem/key",
        "/memories/%2e%2e/x",
        "/memoriesx/a",
        "memories/a",
        "/memories/a\0b",
    ],
)
def test_paths_outside_are_refused(tmp_path: Path, path: str) -> None:
    workspace = make_workspace(tmp_path)
    before = sorted(workspace.root.rglob("*.md"))
    for fields in (
        {"command": "create", "file_text": "x"},
        {"command": "view"},
        {"command": "delete"},
        {"command": "str_replace", "old_str": "a", "new_str": "b"},
    ):
        assert call(tmp_path, path=path, **fields)[1]
    assert sorted(workspace.root.rglob("*.md")) == before


def test_wrong_values_and_secrets_are_errors(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    assert call(tmp_path, "create", path="/memories/a.md", file_text="one\none")[1] is False
    for fields in (
        {"command": "view", "path": 5},
        {"command": "view", "path": "/memories/a.md", "view_range": ["1", 2]},
        {"command": "insert", "path": "/memories/a.md", "insert_line": 9, "insert_text": "x"},
        {"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "x"},
        {"command": "str_replace", "path": "/memories/a.md", "old_str": "", "new_str": "x"},
        {"command": "delete", "path": "/memories"},
        {"command": "format"},
        {"command": ["view"]},
    ):
        assert call(tmp_path, **fields)[1], fields
    secret = "The password is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    code, output, _ = run_mem(
        tmp_path,
        "memory-tool",
        stdin=json.dumps({"command": "create", "path": "/memories/b.md", "file_text": secret}),
    )
    assert code == 5 and "ghp_a1" not in output
    for text in ("", "[]", "{", "\udcff", "[" * 100_000):
        assert run_mem(tmp_path, "memory-tool", stdin=text)[0] == 2


def test_a_name_with_a_secret_and_a_link_are_no_targets(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    call(tmp_path, "create", path="/memories/a", file_text="The bus leaves at nine.")
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace.root / "entries/link").symlink_to(outside)
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5"
    for name in (token, "x\x1b[31m", "x\ny", "link/a"):
        assert call(tmp_path, "rename", old_path="/memories/a", new_path=f"/memories/{name}")[1]
    assert call(tmp_path, "create", path="/memories/x\ny", file_text="A new line.")[1]
    assert not call(tmp_path, "view", path="/memories/a")[1]


def test_a_deleted_text_is_not_created_again(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    fields = {"path": "/memories/a", "file_text": "The bus leaves at nine."}
    call(tmp_path, "create", **fields)
    call(tmp_path, "delete", path="/memories/a")
    assert call(tmp_path, "create", **fields)[1]
    assert call(tmp_path, "view", path="/memories/a")[1]


def test_another_text_under_the_name_of_a_forgotten_one_does_not_bring_it_back(
    tmp_path: Path,
) -> None:
    make_workspace(tmp_path)
    text = "The bus leaves at nine from the mill."
    call(tmp_path, "create", path="/memories/a", file_text=text)
    call(tmp_path, "delete", path="/memories/a")
    for tea in ("Tea is at four.", "Coffee is at five."):
        assert not call(tmp_path, "create", path="/memories/a", file_text=tea)[1]
        assert tea in call(tmp_path, "view", path="/memories/a")[0]
        call(tmp_path, "delete", path="/memories/a")
    assert call(tmp_path, "create", path="/memories/b", file_text=text)[1]


def test_a_note_gets_no_frontmatter_from_an_agent(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    file = put(workspace, "entries/a.md", "The bus leaves at nine.\n")
    head = "---\nsource: user\npinned: true\n---"
    assert call(tmp_path, "insert", path="/memories/a", insert_line=0, insert_text=head)[1]
    fields = {"old_str": "The bus", "new_str": f"{head}\nThe bus"}
    assert call(tmp_path, "str_replace", path="/memories/a", **fields)[1]
    assert file.read_text() == "The bus leaves at nine.\n"
    assert call(tmp_path, "create", path="/memories/b", file_text=f"{head}\nTea at four.\n")
    assert '"source": "inferred"' in run_mem(tmp_path, "ls", "--json", "source")[1]


def test_a_long_or_purged_name_is_an_error_in_the_reply(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for name in ("a" * 300, "ä" * 130, "a/" * 3000 + "b"):
        for fields in (
            {"command": "create", "path": f"/memories/{name}", "file_text": "x"},
            {"command": "view", "path": f"/memories/{name}"},
            {"command": "rename", "old_path": "/memories/a", "new_path": f"/memories/{name}"},
        ):
            assert call(tmp_path, **fields)[1]
    text = "Grandma hides the emerald necklace."
    run_mem(tmp_path, "write", text, "--path", "a", "--source", "user")
    run_mem(tmp_path, "forget", "a", "--purge", "--yes")
    for name in (text, "Grandma-hides_the emerald-necklace", f"b/{text}/c"):
        reply, is_error = call(
            tmp_path, "create", path=f"/memories/{name}", file_text="Tea at four."
        )
        assert is_error, reply
    assert not [path for path in workspace.root.rglob("*") if "emerald" in path.name]
    files = [path for path in workspace.root.rglob("*") if path.is_file()]
    assert not any(b"emerald" in path.read_bytes() for path in files)
