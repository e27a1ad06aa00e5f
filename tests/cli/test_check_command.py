"""What `mem check` prints, mends and refuses, and how git asks it before a commit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.tables import cases

TOKEN = "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"


@pytest.fixture
def broken(workspace: Path) -> Path:
    """Put a file with a problem, and one without an id, into a workspace."""
    (workspace / "entries").mkdir()
    (workspace / "entries/bad.md").write_text("---\ntitle: a: b\n---\nx\n")
    (workspace / "entries/plain.md").write_text("Plain.\n")
    return workspace


def test_nothing_wrong_prints_nothing(mem: Mem, workspace: Path) -> None:
    mem("write", "One memory.")
    ran = mem("check")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_a_problem_is_one_line_and_exit_code_one(mem: Mem, broken: Path) -> None:
    ran = mem("check")
    assert ran.code == 1
    assert ran.out == "memory/entries/bad.md:2: mapping values are not allowed here; quote the value\n"
    assert ran.err == "mem: 1 entry has no id but its path: `mem check --fix` gives one\n"


def test_json_has_every_problem_with_its_rule(mem: Mem, broken: Path) -> None:
    document = mem("check", "--json").json
    assert document["problems"] == [
        {
            "path": "entries/bad.md",
            "line": 2,
            "reason": "mapping values are not allowed here; quote the value",
            "scope": "",
            "left_out": False,
            "rule": "read",
            "fixable": False,
        }
    ]
    assert (document["files"], document["fixed"], document["diff"]) == (3, [], "")


def test_fix_mends_and_says_what_is_left(mem: Mem, broken: Path) -> None:
    shown = mem("check", "--fix", "--dry-run")
    assert shown.code == 1
    assert "+id: mem_" in shown.out
    assert (broken / "entries/plain.md").read_text() == "Plain.\n"
    ran = mem("check", "--fix")
    assert ran.code == 3
    assert ran.out.startswith("memory/entries/bad.md:2: ")
    assert "mended entries/plain.md: the id mem_" in ran.err
    assert (broken / "entries/plain.md").read_text().endswith("\n---\n\nPlain.\n")
    assert mem("check", "--fix").code == 1
    (broken / "entries/bad.md").unlink()
    assert mem("check", "--fix").code == 0


def test_two_files_of_one_id_are_mended(mem: Mem, workspace: Path) -> None:
    identifier, path = mem("write", "One memory.").rows[0][1:]
    path = path.removeprefix("memory/")
    (workspace / path).with_name("copy.md").write_bytes((workspace / path).read_bytes())
    ran = mem("check")
    assert ran.code == 1
    assert f"has the id {identifier} of" in ran.out
    assert ran.err == "mem: 1 of these can be mended: `mem check --fix`\n"
    assert mem("check", "--fix").code == 0
    assert len({row[0] for row in mem("ls").rows}) == 2


def test_a_damaged_index_is_made_anew(mem: Mem, workspace: Path) -> None:
    import sqlite3

    mem("write", "One memory.")
    assert mem("check").code == 0
    connection = sqlite3.connect(workspace / ".mem/index.db")
    connection.execute("update files set digest = 'other', noted = noted + 1000000000000000000")
    connection.commit()
    connection.close()
    assert mem("check").code == 1
    assert mem("check", "--fix").code == 0
    assert mem("check").code == 0


def test_a_secret_typed_into_a_file_by_hand_is_named_without_being_asked_for(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries/a.md").write_text(f"---\nid: a\n---\n\n{TOKEN}\n")
    (workspace / "notes").mkdir(exist_ok=True)
    (workspace / "notes/2026-11-20.md").write_text("[10:00] mysql -uroot -phunter2x shop\n")
    (workspace / "sessions/s").mkdir(parents=True, exist_ok=True)
    (workspace / "sessions/s/session.jsonl").write_text(json.dumps({"role": "user", "content": TOKEN}) + "\n")
    ran = mem("check")
    assert ran.code == 1
    assert [line.partition(": remove")[0] for line in ran.out.splitlines()] == [
        "memory/entries/a.md:5: looks like a secret (github-token)",
        "memory/notes/2026-11-20.md:1: looks like a secret (command-password)",
    ]
    assert "sessions/s/session.jsonl:1: looks like a secret (github-token)" in mem("check", "--secrets").out


@cases("arguments", "words")
def test_a_mistake_is_one_clear_line(mem: Mem, workspace: Path, arguments: tuple[str, ...], words: str) -> None:
    ran = mem("check", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err


@pytest.fixture
def repository(mem: Mem, workspace: Path, world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the workspace into a repository whose commits are checked by a hook."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git(world, "init", "-q")
    hook = world / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memcli check --staged\n')
    hook.chmod(0o755)
    mem("write", "One memory.")
    git(world, "add", "-A")
    return world


def git(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)


def test_a_commit_with_a_problem_is_stopped_by_the_hook_and_a_sound_one_passes(repository: Path) -> None:
    assert git(repository, "commit", "-qm", "sound").returncode == 0
    page = repository / "memory/MEMORY.md"
    page.write_text(f"# Memory\n\ntoken {TOKEN}\n")
    git(repository, "add", "-A")
    page.write_text("# Memory\n\nmended\n")
    stopped = git(repository, "commit", "-qm", "secret")
    assert stopped.returncode == 1
    assert "MEMORY.md:3: looks like a secret (github-token)" in stopped.stdout + stopped.stderr
    git(repository, "add", "-A")
    page.write_text("<<<<<<< only\n=======\n>>>>>>> on disk\n")
    assert git(repository, "commit", "-qm", "mended").returncode == 0


@pytest.mark.parametrize("words", [("commit", "-qam", "x"), ("commit", "-qm", "x", "memory/MEMORY.md")])
def test_the_index_that_git_makes_for_one_commit_is_the_one_checked(repository: Path, words: tuple[str, ...]) -> None:
    git(repository, "commit", "-qm", "sound")
    (repository / "memory/MEMORY.md").write_text("x\n<<<<<<< a\n=======\n>>>>>>> b\n")
    stopped = git(repository, *words)
    assert stopped.returncode == 1
    assert "MEMORY.md:2: a git conflict marker" in stopped.stdout + stopped.stderr


def test_the_hook_works_in_a_linked_worktree(repository: Path, tmp_path: Path) -> None:
    git(repository, "commit", "-qm", "sound")
    assert git(repository, "worktree", "add", "-q", str(tmp_path / "tree")).returncode == 0
    tree = tmp_path / "tree"
    (tree / "memory/entries/bad.md").write_text("---\ntitle: a: b\n---\nx\n")
    git(tree, "add", "-A")
    stopped = git(tree, "commit", "-qm", "x")
    assert "entries/bad.md:2: mapping values" in stopped.stdout + stopped.stderr
    assert stopped.returncode == 1


def test_a_secret_that_is_staged_and_gone_from_the_disk_is_found(mem: Mem, repository: Path) -> None:
    page = repository / "memory/MEMORY.md"
    page.write_text(f"{TOKEN}\n")
    git(repository, "add", "-A")
    page.write_text("# Memory\n")
    ran = mem("check", "--secrets")
    assert ran.code == 1
    assert ran.out.startswith("memory/MEMORY.md:1: looks like a secret (github-token) in the version staged for git: ")


CONFLICT = "The gate code list\n<<<<<<< ours\nred\n=======\nblue\n>>>>>>> theirs\n"


@pytest.mark.parametrize("words", [["Green now"], ["--title", "Gate"], ["--status", "superseded"]])
def test_a_file_with_a_conflict_is_written_by_nothing(mem: Mem, workspace: Path, words: list[str]) -> None:
    path = workspace / "entries" / "gate.md"
    path.parent.mkdir()
    path.write_text(CONFLICT)
    for target in ("entries/gate.md", "gate"):
        ran = mem("write", "--id", target, *words)
        assert ran.code == 5, ran
        assert "gate.md:2: a git conflict marker" in ran.err
    assert path.read_text() == CONFLICT
    assert not list((workspace / "archive").rglob("*.md"))


@pytest.mark.parametrize("command", [("search", "red"), ("ls",), ("grep", "red"), ("recall", "red"), ("stats",)])
def test_a_conflict_in_the_archive_is_named_by_check_alone(mem: Mem, workspace: Path, command: tuple[str, ...]) -> None:
    mem("write", "Tea at four", "--no-dedup")
    path = workspace / "archive" / "entries" / "gate.md"
    path.parent.mkdir(parents=True)
    path.write_text(CONFLICT)
    assert "conflict marker" not in mem(*command).err
    assert "archive/entries/gate.md:2: a git conflict marker" in mem("check").out
    assert "conflict marker" in mem("search", "red", "--archived").err


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40 + b"/lib64/ld-linux",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)),
        "lib64 smoker".encode("utf-16"),
    ],
)
def test_a_binary_file_is_no_memory_and_is_named_by_check(mem: Mem, workspace: Path, data: bytes) -> None:
    mem("write", "Tea at four", "--no-dedup")
    (workspace / "entries" / "tool.md").write_bytes(data)
    for command in (("search", "lib64 IHDR smoker"), ("grep", "lib64|IHDR"), ("ls",)):
        ran = mem(*command)
        assert "tool.md" not in ran.out + ran.err
    assert "entries/tool.md:1: a binary file" in mem("check").out
    assert (workspace / "entries" / "tool.md").read_bytes() == data


@pytest.mark.parametrize("name", ["new\nline.md", "two\n\nlines\r.md"])
def test_a_name_with_a_line_end_is_one_line_of_what_was_mended(mem: Mem, workspace: Path, name: str) -> None:
    (workspace / "entries").mkdir()
    (workspace / "entries" / name).write_text("Plain.\n")
    ran = mem("check", "--fix")
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert "line" in ran.err


@pytest.mark.parametrize("command", ["read", "forget", "edit"])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("between", ["=======\n", ""])
def test_the_id_of_an_entry_with_a_conflict_names_its_file_and_the_line_of_the_marker(
    mem: Mem, workspace: Path, command: str, inside: bool, between: str
) -> None:
    identifier, path = mem("write", "The bakery opens at seven.", "--no-dedup").rows[0][1:3]
    file = workspace.parent / path
    text = file.read_text()
    if inside:
        text = text.replace("id: ", "<<<<<<< ours\nid: ", 1).replace(
            "\ncreated", f"\n{between}>>>>>>> theirs\ncreated", 1
        )
    else:
        text += f"<<<<<<< ours\nAt eight.\n{between}At nine.\n>>>>>>> theirs\n"
    file.write_text(text)
    line = text[: text.index("<<<<<<<")].count("\n") + 1
    for name in (identifier, identifier[-6:]):
        ran = mem(command, name, *(("--replace", "seven", "eight") if command == "edit" else ()))
        if ran.code == 0:  # a whole id is read where its file was made
            assert (command, f":{line}: a git conflict marker" in ran.err) == ("read", True)
            continue
        assert (ran.code, ran.err.count("\n")) == (5, 1), ran.err
        assert f"{path.removeprefix('memory/')}:{line}: a git conflict marker" in ran.err
    assert file.read_text() == text
    assert mem(command, "mem_nowhere", *(("--replace", "a", "b") if command == "edit" else ())).code == 4
