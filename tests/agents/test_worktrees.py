"""Lives of worktrees: what an agent learns in one is there in all, and outlives it."""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from memcli.agents.events import parse_event
from memcli.agents.hooks import respond
from memcli.context import CommonOptions
from tests.helpers import get_process_environment, make_context, run_mem

LIVES = 500 if os.environ.get("MEM_LONG") else 10
ENDS = (
    ("worktree", "remove", "--force", "../wt"),
    ("worktree", "remove", "../wt"),
    ("merge", "-q", "--no-edit", "feature"),
    ("prune",),
)


def git(folder: Path, *words: str) -> None:
    home = folder.parent / "home"
    environment = get_process_environment(home)
    subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)


def say(folder: Path, home: Path, session: str, prompt: str) -> str:
    """Send a prompt to the hook in a folder, and return its answer."""
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": str(folder)}
    parsed = parse_event(json.dumps({**event, "prompt": prompt}).encode())
    assert parsed is not None
    context = make_context(home.parent)._replace(folder=folder, common=CommonOptions())
    return respond(parsed, "claude-code", context)


def make_repository(folder: Path, options: str) -> Path:
    main = folder / "repo"
    main.mkdir()
    git(main, "init", "-q", "-b", "main")
    (main / "a.txt").write_text("a\n")
    git(main, "add", "-A")
    git(main, "commit", "-qm", "begin")
    assert run_mem(main, "init", options, HOME=str(folder / "home"))[0] == 0
    git(main, "add", "-A")
    git(main, "commit", "-q", "--allow-empty", "-m", "memory")
    return main


def end_worktree(main: Path, end: tuple[str, ...]) -> None:
    """End the life of a worktree in one of the ways that git knows."""
    worktree = main.parent / "wt"
    (worktree / "b.txt").write_text(f"{random.random()}\n")
    git(worktree, "add", "-A")
    git(worktree, "commit", "-qm", "work")
    if end == ("prune",):
        # The user deletes the folder, and git notices later.
        subprocess.run(["rm", "-r", str(worktree)], check=True)
    else:
        git(main, *end)
    if worktree.exists():
        git(main, "worktree", "remove", "--force", "../wt")
    git(main, "worktree", "prune")
    git(main, "branch", "-qD", "feature")


@pytest.mark.parametrize("options", ["--private", "--shared"])
def test_no_memory_is_lost_with_its_worktree(tmp_path: Path, options: str) -> None:
    main, worktree, home = make_repository(tmp_path, options), tmp_path / "wt", tmp_path / "home"
    noise = random.Random(7)
    learned = []
    for life in range(LIVES // 2):
        git(main, "worktree", "add", "-q", "../wt", "-b", "feature")
        for folder, place in ((worktree, "linked"), (main, "main")):
            text = f"The {place} port of customer {life} is {noise.randrange(10**6, 10**7)}."
            answer = say(folder, home, f"{place}{life}", f"Remember: {text}")
            assert text in answer
            learned.append(text)
        end_worktree(main, noise.choice(ENDS))
        assert not worktree.exists()
    listed = run_mem(main, "ls", "-n", "100000", "--json", "text", HOME=str(home))[1]
    texts = {entry["text"] for entry in json.loads(listed)["entries"]}
    assert [text for text in learned if text not in texts] == []
    sessions = [*tmp_path.rglob("session.jsonl")]
    said = "".join(path.read_text("utf-8") for path in sessions)
    assert [text for text in learned if text not in said] == []


def test_a_worktree_knows_what_the_main_one_learned(tmp_path: Path) -> None:
    main, home = make_repository(tmp_path, "--private"), tmp_path / "home"
    git(main, "worktree", "add", "-q", "../wt", "-b", "feature")
    say(main, home, "s1", "Remember that the printer on floor 3 is named Gutenberg.")
    answer = say(tmp_path / "wt", home, "s2", "What is the name of the printer on floor 3?")
    assert "Gutenberg" in answer
