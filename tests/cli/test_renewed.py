"""A memory is as young as its text, by whatever it was changed; git, marks and counters make nothing young."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Mem

ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}
SHAPES = {
    "created_at alone": "id: {0}\ntype: fact\ncreated_at: 2026-01-02\n",
    "of another tool": "id: {0}\ntype: fact\ncreatedAt: 2026-01-02T10:00:00Z\n",
    "a date": "id: {0}\ntype: fact\ndate: 2026-01-02\n",
    "both": "id: {0}\ntype: fact\ncreated_at: 2026-01-02\nupdated_at: 2026-01-03\n",
}


def git(folder: Path, *words: str, day: str = "") -> None:
    dates = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"} if day else {}
    subprocess.run(["git", *words], cwd=folder, env=ENVIRON | dates, capture_output=True, check=True)


def switch(workspace: Path, branch: str, path: Path) -> None:
    """Check a branch out, as was done on the tenth: git gives a file it writes the time of day."""
    git(workspace, "switch", "-q", branch)
    day = 1794268800  # 2026-11-10
    os.utime(path, (day, day))


def put(workspace: Path, name: str, head: str, body: str = "The kettle stands in the hall.") -> Path:
    path = workspace / f"entries/{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\n{head.format(name)}---\n\n{body}\n")
    os.utime(path, (1.76e9, 1.76e9))
    return path


def age(mem: Mem, name: str) -> float:
    (found,) = (one for one in mem("decay", "--json").json["entries"] if one["id"] == name)
    return float(found["age_days"])


def by_editor(path: Path, text: str, day: str = "2026-11-20") -> None:
    """Change a file as an editor does: the frontmatter says nothing of it."""
    path.write_text(path.read_text().replace("in the hall", text))
    moment = int(subprocess.run(["date", "-d", f"{day}T12:00:00Z", "+%s"], capture_output=True, check=True).stdout)
    os.utime(path, (moment, moment))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "words",
    [
        ("edit", "one", "--replace", "hall", "kitchen"),
        ("write", "The kettle stands in the kitchen.", "--id", "one"),
        ("write", "The kettle stands in the kitchen.", "--id", "one", "--tag", "house"),
    ],
)
def test_a_rewritten_memory_is_not_archived_as_faded_the_same_day(
    mem: Mem, workspace: Path, shape: str, words: tuple[str, ...]
) -> None:
    path = put(workspace, "one", SHAPES[shape])
    assert age(mem, "one") > 300
    ran = mem(*words)
    assert ran.code == 0, ran.err
    assert age(mem, "one") < 1
    assert mem("decay", "--apply", "--max-fraction", "1").code == 0
    assert path.exists()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_persons_edit_in_an_editor_renews(mem: Mem, workspace: Path, shape: str) -> None:
    path = put(workspace, "one", SHAPES[shape])
    assert age(mem, "one") > 300
    by_editor(path, "in the kitchen")
    assert 1 < age(mem, "one") < 2
    assert mem("stats", "--json").code == 0
    before = path.read_text()
    assert mem("decay", "--apply", "--max-fraction", "1").code == 0
    assert path.read_text() == before, "its place and its text are as the person left them"


def test_what_does_not_change_the_text_renews_nothing(mem: Mem, workspace: Path) -> None:
    path = put(workspace, "one", SHAPES["both"])
    other = put(workspace, "two", SHAPES["both"], "The toaster stands in the cellar.")
    assert age(mem, "one") > 300
    path.touch()
    other.write_text(other.read_text().replace("type: fact\n", "type: fact\ntags: [house]\n"))
    mem("read", "two")
    assert age(mem, "one") > 300
    assert age(mem, "two") > 300


def test_git_checkout_renews_nothing_and_a_commit_of_somebody_does(mem: Mem, workspace: Path) -> None:
    path = put(workspace, "one", SHAPES["both"])
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", "one", day="2026-01-04")
    git(workspace, "switch", "-q", "-c", "old-text")
    path.write_text(path.read_text().replace("in the hall", "in the attic"))
    git(workspace, "commit", "-q", "-a", "-m", "attic", day="2026-02-04")
    switch(workspace, "main", path)
    assert age(mem, "one") > 300
    switch(workspace, "old-text", path)
    assert "attic" in path.read_text()
    assert 280 < age(mem, "one") < 291, "of the commit in February, not of the checkout"
    switch(workspace, "main", path)
    assert age(mem, "one") > 300
    by_editor(path, "in the kitchen")
    assert 1 < age(mem, "one") < 2, "not committed yet"
    git(workspace, "commit", "-q", "-a", "-m", "kitchen", day="2026-11-19")
    assert 2 < age(mem, "one") < 3
    path.write_text(path.read_text().replace("kitchen", "bath"))
    mem("ls")
    git(workspace, "checkout", "-q", "--", "entries/one.md")
    assert 2 < age(mem, "one") < 3, "what git put back is as old as its commit"


def test_a_fresh_clone_makes_nothing_young(mem: Mem, workspace: Path, world: Path) -> None:
    put(workspace, "one", SHAPES["both"])
    git(workspace, "init", "-q")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", "one", day="2026-01-04")
    git(world, "clone", "-q", "memory", "clone")
    entries = mem("decay", "--workspace", "clone", "--json").json["entries"]
    assert [one["age_days"] > 300 for one in entries] == [True]
