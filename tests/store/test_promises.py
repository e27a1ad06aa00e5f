"""Sixteen ways in, two unwanted things: a secret and a forgotten text are never stored by mem, shown or found."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli import api
from memcli.errors import MemError
from memcli.formats.records import format_history_record
from memcli.recall.lookup import Shown
from memcli.recall.prompt import build_prompt_context
from memcli.recall.start import build_start
from memcli.reconcile.admit import Draft, write_memories
from memcli.reconcile.edit import replace_passage
from memcli.store.workspace import Workspace
from memcli.store.writer import Append, commit_one
from tests.helpers import NOW, get_process_environment, make_workspace, put, run_mem

SECRET = "ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m"
FORGOTTEN = "The spare key of the beach house is under the third flower pot"
UNWANTED = {
    "secret": f"The deploy token is {SECRET} now.",
    "forgotten": f"Remember this. {FORGOTTEN}.",
}
NEEDLE = {"secret": SECRET, "forgotten": "third flower pot"}


def run_git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=get_process_environment(folder),
        capture_output=True,
        check=True,
    )


def pull_with_git(workspace: Workspace, path: str, text: str, *, merge: bool) -> None:
    """Let the text arrive from another clone, by a fast-forward or by a merge."""
    root = workspace.root
    clone = root.parent / "clone"
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "one")
    subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True, capture_output=True)
    (clone / path).parent.mkdir(parents=True, exist_ok=True)
    (clone / path).write_text(text)
    run_git(clone, "add", "-A")
    run_git(clone, "commit", "-qm", "two")
    if merge:
        put(workspace, "entries/own.md", "Something of our own.\n")
        run_git(root, "add", "-A")
        run_git(root, "commit", "-qm", "three")
    run_git(root, "pull", "-q", "--no-rebase", "--no-edit", str(clone), "main")


def write_session(workspace: Workspace, text: str) -> None:
    event = {"role": "user", "content": text, "timestamp": "2026-11-27T10:00:00Z"}
    put(workspace, "sessions/s1/session.jsonl", json.dumps(event) + "\n")


def edit_existing(workspace: Workspace, text: str) -> None:
    put(workspace, "entries/plain.md", "---\nid: mem_01kajd3v7m4kq7tz\n---\n\nA plain line.\n")
    replace_passage(workspace, "plain", "A plain line.", text)


def update_by_command(workspace: Workspace, text: str) -> None:
    put(workspace, "entries/plain.md", "---\nid: mem_01kajd3v7m4kq7tz\n---\n\nA plain line.\n")
    run_mem(workspace.root.parent, "write", text, "--id", "plain", "--source", "inferred")


def copy_file(workspace: Workspace, text: str) -> None:
    """Let a file of another tool arrive, as an import by hand does."""
    put(
        workspace,
        "entries/imported/note.md",
        f"---\ntitle: From elsewhere\ncreatedAt: 2026-01-01\n---\n{text}\n",
    )


WAYS: dict[str, Callable[[Workspace, str], object]] = {
    "mem write": lambda w, text: run_mem(w.root.parent, "write", text, "--source", "inferred"),
    "mem write -": lambda w, text: run_mem(w.root.parent, "write", "-", stdin=text),
    "mem write --no-dedup": lambda w, text: run_mem(w.root.parent, "write", text, "--no-dedup"),
    "mem write --id": update_by_command,
    "mem write --title": lambda w, text: run_mem(w.root.parent, "write", "Body.", "--title", text),
    "mem note": lambda w, text: run_mem(w.root.parent, "note", text),
    "mem history --add": lambda w, text: run_mem(w.root.parent, "history", "--add", text),
    "Python write": lambda w, text: api.write(w, text),
    "Python drafts": lambda w, text: write_memories(w, [Draft(text), Draft("Something else.")]),
    "mem edit --replace": edit_existing,
    "the writer itself": lambda w, text: commit_one(
        w, "x", [Append("notes/2026-11-28.md", f"[10:00] {text}\n")]
    ),
    "an editor, MEMORY.md": lambda w, text: put(w, "MEMORY.md", f"# Memory\n\n- {text}\n"),
    "an editor, history": lambda w, text: put(
        w, "HISTORY-2026-11.md", format_history_record("hist_1", NOW, w.zone, text)
    ),
    "an agent's file tool": copy_file,
    "a conversation": write_session,
    "git pull": lambda w, text: pull_with_git(w, "entries/pulled.md", f"{text}\n", merge=False),
    "git merge": lambda w, text: pull_with_git(w, "MEMORY.md", f"# Memory\n\n{text}\n", merge=True),
}
# These bypass the writer, so the text is in a file; it must not leave it.
WITHOUT_WRITER = {
    "an editor, MEMORY.md",
    "an editor, history",
    "an agent's file tool",
    "a conversation",
    "git pull",
    "git merge",
}


@pytest.mark.parametrize("kind", UNWANTED)
@pytest.mark.parametrize("way", WAYS)
def test_unwanted_text_is_neither_stored_nor_shown_nor_found(
    tmp_path: Path, way: str, kind: str
) -> None:
    workspace = make_workspace(tmp_path)
    api.write(workspace, f"{FORGOTTEN}.", source="user", path="key")
    assert run_mem(tmp_path, "forget", "key")[0] == 0
    try:
        WAYS[way](workspace, UNWANTED[kind])
    except MemError as error:
        assert error.exit_code == 5
    needle = NEEDLE[kind]
    stored = [
        path.relative_to(workspace.root).as_posix()
        for path in workspace.root.rglob("*")
        if path.is_file()
        and ".git" not in path.parts
        and path.name != "key.md"
        and needle.encode() in path.read_bytes()
    ]
    if way not in WITHOUT_WRITER:
        # The undo log has the forgotten text of the command that forgot it.
        assert [path for path in stored if kind == "secret" or ".mem/" not in path] == []
    else:
        # The index must not have it, in any of its files.
        assert [path for path in stored if "index.db" in path and kind == "secret"] == []
    for words in (
        ["search", "spare key beach house deploy token", "--min-score", "0"],
        [
            "search",
            needle,
            "--kind",
            "session",
            "--kind",
            "note",
            "--kind",
            "memory",
            "--kind",
            "history",
        ],
        ["search", "deploy token spare key", "--json"],
        ["grep", needle],
        ["grep", "deploy token"],
        ["ls"],
        ["ls", "--json"],
        ["history"],
        ["read", "MEMORY.md"],
        ["read", "imported/note.md"],
        ["read", "notes/2026-11-28.md"],
        ["read", "sessions/s1/session.jsonl"],
        ["status", "--all"],
        ["tags"],
        ["recall", "where is the spare key of the beach house and the deploy token?"],
        ["recall", needle, "--format", "json", "--explain"],
        ["context"],
        ["context", "--explain"],
    ):
        code, output, errors = run_mem(tmp_path, *words)
        assert needle not in output + errors, words
        assert "Traceback" not in errors


def test_twenty_forgotten_memories_are_shown_to_no_agent(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    things = [f"cellar {number} is painted in colour {number * 37}" for number in range(20)]
    for number, thing in enumerate(things):
        text = f"The door of {thing}."
        api.write(workspace, text, source="user", type="constraint", path=f"door{number}")
        assert run_mem(tmp_path, "forget", f"door{number}")[0] == 0
    sentences = "".join(f"- The door of {thing}.\n" for thing in things)
    put(workspace, "MEMORY.md", f"# Memory\n\n{sentences}")
    put(workspace, "notes/2026-11-28.md", f"[10:00] Doors\n{sentences}")
    put(workspace, "entries/list.md", f"Our doors, all of them:\n\n{sentences}")
    put(
        workspace,
        "HISTORY-2026-11.md",
        format_history_record("hist_1", NOW, workspace.zone, sentences),
    )
    write_session(workspace, sentences)
    for thing in things:
        prompt = f"Remind me what we said about the door of {thing.partition(' is')[0]}"
        assert "painted" not in build_prompt_context([workspace], prompt, Shown("", {}))
        assert "painted" not in run_mem(tmp_path, "recall", prompt)[1]
    assert "painted" not in build_start([workspace], Shown("", {})).text
