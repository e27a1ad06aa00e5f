"""Machines that sync end with the same memories, and nothing of anybody else's is committed, changed or pushed."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.machines import Machine, first_machine, git, other_machine


def settle(*machines: Machine) -> None:
    """Sync until all machines have everything."""
    for machine in (*machines, *machines):
        machine.sync()


def test_what_each_machine_kept_is_on_both(laptop: Machine, desktop: Machine) -> None:
    laptop.write("The staging port is 8080.")
    laptop.mem("note", "Fed the cat.")
    laptop.mem("history", "add", "Moved the shop to Fly.")
    desktop.write("Backups run at three.")
    desktop.mem("note", "Watered the plants.")
    desktop.mem("history", "add", "Rotated the keys.")
    settle(laptop, desktop)
    assert laptop.texts() == desktop.texts()
    told = b"".join(laptop.texts().values()).decode()
    for text in ("8080", "at three", "the cat", "plants", "to Fly", "the keys"):
        assert told.count(text) == 1
    assert laptop.mem("check").out == desktop.mem("check").out == ""
    assert laptop.git("status", "--porcelain") == desktop.git("status", "--porcelain") == ""


def test_the_message_says_what_happened_to_memory(laptop: Machine) -> None:
    assert laptop.log == ["memory: 1 new, 1 on the page, 1 in settings, 2 in other files"]
    old = laptop.write("The port is 1.")
    kai = laptop.write("Kai is in Lisbon.")
    laptop.mem("note", "One.")
    laptop.mem("note", "Two.")
    laptop.sync()
    assert laptop.log[0] == "memory: 2 new, 1 in notes"
    new = laptop.write("The port is 2.")
    laptop.mem("supersede", old, new)
    laptop.mem("history", "add", "Ports moved.")
    laptop.sync()
    assert laptop.log[0] == "memory: 1 new, 1 superseded, 1 in history"
    laptop.mem("edit", new, "--replace", "is 2", "is 3")
    laptop.mem("forget", kai)
    laptop.sync()
    assert laptop.log[0] == "memory: 1 changed, 1 forgotten"


def test_nothing_new_makes_no_commit_and_asks_nothing(laptop: Machine, desktop: Machine) -> None:
    before = laptop.git("rev-parse", "HEAD")
    for machine in (laptop, desktop, laptop):
        assert machine.synced() | {"repository": ""} == {
            "repository": "",
            "branch": "main",
            "remote": "origin",
            "state": "synced",
            "committed": "",
            "received": "",
            "is_merge": False,
            "sent": 0,
            "clashes": [],
            "notices": [],
            "problems": [],
            "ignored": [],
            "dry_run": False,
        }
    assert laptop.git("rev-parse", "HEAD") == before
    assert laptop.sync("--quiet").out == laptop.sync("--quiet").err == ""


def test_reading_makes_no_commit_and_a_confirmation_does(laptop: Machine, desktop: Machine) -> None:
    count = len(laptop.log)
    for _ in range(3):
        laptop.mem("search", "tabs")
        laptop.mem("recall", "what does Lena prefer")
        laptop.mem("read", laptop.mem("ls", "--json").json["entries"][0]["id"])
        laptop.sync()
    assert len(laptop.log) == count
    for machine in (laptop, desktop, desktop):
        machine.mem("write", "Lena prefers tabs.")
    settle(laptop, desktop)
    assert "1 confirmed" in "".join(laptop.log)
    assert laptop.texts() == desktop.texts()
    entry = next(text for path, text in laptop.texts().items() if path.startswith("entries/"))
    assert b"strength: 4\n" in entry
    assert b"access_count: " in entry  # it goes with what is committed anyway
    count = len(laptop.log)
    settle(laptop, desktop, laptop)
    assert len(laptop.log) == count


def test_what_others_staged_and_changed_stays_as_it_is(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    (project.top / "app.py").write_text("one\n")
    (project.top / "notes.txt").write_text("one\n")
    project.git("add", "app.py", "notes.txt")
    project.git("commit", "-qm", "Begin")
    project.git("push", "-qu", "origin", "main")
    (project.top / "app.py").write_text("two\n")
    project.git("add", "app.py")
    (project.top / "app.py").write_text("three\n")
    (project.top / "notes.txt").write_text("two\n")
    (project.top / "new.py").write_text("new\n")
    project.git("add", "-N", "new.py")
    (project.root / "drawing.svg").write_text("<svg/>\n")
    project.write("The app has three parts.")
    assert project.synced()["sent"] == 1
    names = project.git("show", "--format=", "--name-only", "HEAD").split()
    assert all(name.startswith("memory/") and not name.endswith(".svg") for name in names)
    status = project.git("status", "--porcelain").splitlines()
    assert status == ["MM app.py", " A new.py", " M notes.txt", "?? memory/drawing.svg"]
    assert project.git("diff", "--cached", "app.py").count("+two") == 1


def test_unpushed_work_of_a_person_is_neither_merged_nor_pushed(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    (project.top / "app.py").write_text("one\n")
    project.commit("Begin", "app.py")
    project.git("push", "-qu", "origin", "main")
    project.sync()
    other = other_machine(mem, world / "other", hub, "memory")
    other.write("Deploys are on Mondays.")
    other.sync()
    (project.top / "app.py").write_text("not ready\n")
    project.git("commit", "-qam", "Try something")
    project.write("The app has three parts.")
    found = project.sync(code=3)
    assert "app.py" in found.err
    assert "git push" in found.err
    assert len(found.err.splitlines()) == 1
    assert project.log[:2] == ["memory: 1 new", "Try something"]
    assert git(hub, "log", "--format=%s", "main").count("Try") == 0
    project.git("pull", "-q", "--no-rebase", "--no-edit")
    project.git("push", "-q")
    settle(project, other)
    assert project.texts() == other.texts()


def test_changed_files_of_a_person_are_never_merged_over(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    (project.top / "app.py").write_text("one\n")
    project.commit("Begin", "app.py")
    project.sync(code=3)  # the first commit is the person's to push
    project.git("push", "-qu", "origin", "main")
    other = other_machine(mem, world / "other", hub, "memory")
    (other.top / "app.py").write_text("theirs\n")
    other.git("commit", "-qam", "Change the app")
    other.git("push", "-q")
    (project.top / "app.py").write_text("mine, not committed\n")
    found = project.sync(code=5)
    assert "app.py" in found.err
    assert "stash" in found.err
    assert (project.top / "app.py").read_text() == "mine, not committed\n"
    project.git("stash", "-q")
    project.sync()
    assert (project.top / "app.py").read_text() == "theirs\n"


def test_one_sentence_changed_on_both_sides_waits_for_a_person_and_all_else_is_there(
    laptop: Machine, desktop: Machine
) -> None:
    path = laptop.write("The shop runs on Fly.")
    settle(laptop, desktop)
    laptop.mem("edit", path, "--replace", "Fly", "Hetzner")
    laptop.write("Kai is in Lisbon.")
    laptop.mem("note", "Fed the cat.")
    laptop.sync()
    desktop.mem("edit", path, "--replace", "Fly", "a Pi")
    desktop.mem("note", "Watered the plants.")
    found = desktop.sync(code=5)
    assert f"{path}:" in found.err
    assert "mem sync" in found.err
    texts = desktop.texts()
    assert b"<<<<<<<" in texts[path]
    assert not any(b"<<<<<<<" in text for name, text in texts.items() if name != path)
    assert b"Lisbon" in b"".join(texts.values())
    unmerged = {line.partition("\t")[2] for line in desktop.git("ls-files", "-u").splitlines()}
    assert unmerged == {path}
    again = desktop.sync(code=5)
    assert again.err == found.err
    said = (desktop.root / path).read_text()
    before, _, rest = said.partition("<<<<<<<")
    (desktop.root / path).write_text(
        f"{before}The shop runs on a Pi, and on Hetzner at night.\n" + rest.partition("theirs\n")[2]
    )
    settle(desktop, laptop)
    assert laptop.texts() == desktop.texts()
    assert b"on Hetzner at night" in laptop.texts()[path]
    assert desktop.git("status", "--porcelain") == ""


def test_what_a_person_staged_does_not_go_into_the_merge_they_settle(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    (project.top / "app.py").write_text("one\n")
    path = project.write("The shop runs on Fly.")
    project.commit("Begin")
    project.git("push", "-qu", "origin", "main")
    other = other_machine(mem, world / "other", hub, "memory")
    for machine, place in ((project, "Hetzner"), (other, "a Pi")):
        machine.mem("edit", path, "--replace", "Fly", place)
        (machine.top / "app.py").write_text("not ready\n")
        machine.git("add", "app.py")
        machine.sync(code=5 if machine == other else 0)
    text = (other.root / path).read_text()
    (other.root / path).write_text(text.partition("<<<<<<<")[0] + "The shop runs on both.\n")
    found = other.sync(code=5)
    assert "app.py is staged" in found.err
    other.git("restore", "--staged", "app.py")
    settle(other, project)
    assert project.texts() == other.texts()
    assert git(hub, "show", "main:app.py") == "one\n"
    assert [one.git("status", "--porcelain") for one in (other, project)] == [" M app.py\n", "M  app.py\n"]


def test_what_one_forgot_and_the_other_changed_is_kept_as_it_was_changed(laptop: Machine, desktop: Machine) -> None:
    paths = [laptop.write(f"The port of service {number} is 80{number}0.") for number in range(3)]
    settle(laptop, desktop)
    laptop.mem("forget", paths[0])
    laptop.mem("forget", paths[1], "--purge")
    laptop.mem("forget", paths[2], "--purge")
    desktop.mem("edit", paths[0], "--replace", "8000", "9000")
    desktop.mem("edit", paths[1], "--replace", "8010", "9010")
    desktop.mem("write", "The port of service 2 is 8020.")  # said again, and no other words
    laptop.sync()
    found = desktop.sync()
    assert paths[0] in found.err
    assert paths[1] in found.err
    assert f"{paths[2]}: deleted on one side and said again on the other: it is gone" in found.err
    laptop.sync()
    assert laptop.texts() == desktop.texts()
    texts = laptop.texts()
    for path, port in ((paths[0], b"9000"), (paths[1], b"9010")):
        assert path not in texts
        assert port in texts[f"archive/{path}"]
    assert paths[2] not in texts
    assert f"archive/{paths[2]}" not in texts
    assert laptop.mem("check").out == ""


def test_a_memory_moved_to_two_places_is_one_memory(laptop: Machine, desktop: Machine) -> None:
    path = laptop.write("The queue is called ingest.")
    settle(laptop, desktop)
    (laptop.root / "entries/work").mkdir()
    (laptop.root / path).rename(laptop.root / "entries/work/queue.md")
    desktop.mem("forget", path)
    settle(laptop, desktop)
    assert laptop.texts() == desktop.texts()
    assert [name for name, text in laptop.texts().items() if b"ingest" in text and name.endswith(".md")] == [
        f"archive/{path}"
    ]
    assert laptop.mem("check").out == ""


def test_like_memories_are_not_taken_for_each_other(laptop: Machine, desktop: Machine) -> None:
    """git takes the new one for the deleted one, renamed, and puts what the other side wrote into it."""
    path = laptop.write("The retry limit of the importer is 3 and it waits 5 seconds.")
    settle(laptop, desktop)
    laptop.mem("forget", path, "--purge")
    new = laptop.write("The retry limit of the exporter is 3 and it waits 5 seconds.")
    desktop.mem("edit", path, "--replace", "is 3", "is 7")
    settle(laptop, desktop)
    assert laptop.texts() == desktop.texts()
    assert b"is 3" in laptop.texts()[new]
    assert b"is 7" in laptop.texts()[f"archive/{path}"]


def test_a_folder_one_machine_emptied_takes_nothing_of_the_other_along(laptop: Machine, desktop: Machine) -> None:
    old = [laptop.write(f"Old port {number}.", "--path", f"deep/old-{number}.md") for number in range(3)]
    settle(laptop, desktop)
    laptop.mem("forget", *old)
    new = desktop.write("The kettle is broken.", "--path", "deep/new.md")
    settle(laptop, desktop)
    assert laptop.texts() == desktop.texts()
    assert new in laptop.texts()


def test_a_secret_a_conflict_and_an_emptied_file_are_named_and_left_out(laptop: Machine) -> None:
    kept = laptop.write("Kai is in Lisbon.")
    empty = laptop.write("The shop runs on Fly.")
    laptop.sync()
    new = laptop.write("Deploys are on Mondays.")
    leak = laptop.root / "entries/leak.md"
    leak.write_text("The token is ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B\n")
    marked = (laptop.root / kept).read_text() + "\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    (laptop.root / kept).write_text(marked)
    (laptop.root / empty).write_text("")
    found = laptop.synced(code=3)
    assert {one["path"] for one in found["problems"]} == {"entries/leak.md", kept, empty}
    assert "ghp_" not in json.dumps(found)
    assert found["committed"] == "1 new"
    names = laptop.git("show", "--format=", "--name-only").split()
    assert names == [new]
    assert laptop.git("log", "-p", "--all").count("ghp_") == 0
    leak.unlink()
    laptop.git("checkout", "--", kept, empty)
    laptop.sync()


@pytest.mark.parametrize("way", ["a secret", "ignored", "a conflict"])
def test_a_memory_that_moved_to_a_file_git_does_not_get_is_deleted_nowhere(
    laptop: Machine, desktop: Machine, way: str
) -> None:
    path = laptop.write("The bees are in Jena.")
    settle(laptop, desktop)
    if way == "ignored":
        (laptop.root / ".git/info/exclude").write_text("archive/\n")
    laptop.mem("forget", path)
    assert not (laptop.root / path).exists()
    if way != "ignored":
        more = {
            "a secret": "ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B",
            "a conflict": "<<<<<<< a\nb\n=======\nc\n>>>>>>> d",
        }
        with (laptop.root / "archive" / path).open("a") as file:
            file.write(f"\n{more[way]}\n")
    found = laptop.synced(code=3)
    assert path in {one["path"] for one in found["problems"]}
    desktop.sync()
    assert "The bees are in Jena." in (desktop.root / path).read_text()


def test_memories_that_superseded_each_other_are_in_use_again_and_flagged(laptop: Machine, desktop: Machine) -> None:
    one, other = (Path(laptop.write(text)).stem[-6:] for text in ("Bees live in Jena.", "Hens live in Kassel."))
    settle(laptop, desktop)
    laptop.mem("supersede", one, other)
    desktop.mem("supersede", other, one)
    settle(laptop, desktop)
    for machine in (laptop, desktop):
        assert {one, other} <= {row[0][-6:] for row in machine.mem("ls").rows}
        assert machine.mem("review", "--json").json["questions"]


def test_a_memory_that_became_a_link_is_named_and_stays_elsewhere(laptop: Machine, desktop: Machine) -> None:
    path = laptop.write("The bees are in Jena.")
    settle(laptop, desktop)
    (laptop.root / path).unlink()
    (laptop.root / path).symlink_to("/etc/hostname")
    assert [one["path"] for one in laptop.synced(code=3)["problems"]] == [path]
    desktop.sync()
    assert not (desktop.root / path).is_symlink()


def test_a_memory_that_vanished_from_the_disk_is_not_deleted_everywhere(laptop: Machine, desktop: Machine) -> None:
    for number in range(12):
        laptop.write(f"Fact number {number} of the shop.")
    settle(laptop, desktop)
    for path in (laptop.root / "entries").rglob("*.md"):
        path.unlink()
    found = laptop.sync(code=5)
    assert "13 of 13 memories gone" in found.err
    assert "git restore" in found.err
    assert len(desktop.mem("ls").rows) == 13
    laptop.git("restore", ".")
    laptop.sync()


def test_a_change_of_the_same_length_in_the_second_of_a_checkout_is_committed(laptop: Machine) -> None:
    """git tells such files by the time of its index, which a copy of the index has to keep."""
    path = laptop.write("The ports are open.")
    laptop.sync()
    file = laptop.root / path
    text = file.read_text().replace("ports", "doors")
    file.unlink()
    while time.time() % 1 > 0.3:
        time.sleep(0.01)
    laptop.git("checkout", "--", path)
    file.write_text(text)
    while time.time() % 1 < 0.5:
        time.sleep(0.01)
    time.sleep(0.6)
    assert laptop.synced()["committed"] == "1 changed"


def test_ids_that_check_gives_are_a_change_and_no_deletion(laptop: Machine, desktop: Machine) -> None:
    for number in range(12):
        (laptop.root / f"entries/by-hand-{number}.md").write_text(f"Fact number {number} of the shop.\n")
    settle(laptop, desktop)
    laptop.mem("check", "--fix")
    assert laptop.synced()["committed"] == "12 changed"
    assert desktop.synced()["received"] == "12 changed"
    assert laptop.texts() == desktop.texts()


@pytest.mark.parametrize(
    ("rule", "count", "named"),
    [("notes/\n", 1, "notes/"), ("*.md\n", 3, ".md"), ("/entries/**/kai*\n", 1, "entries/2026-11/kai")],
)
def test_memory_that_git_ignores_is_named_once_and_not_to_cron(
    rule: str, count: int, named: str, laptop: Machine
) -> None:
    (laptop.root / ".git/info/exclude").write_text(rule)
    laptop.write("Kai is in Lisbon.")
    laptop.write("The shop runs on Fly.")
    laptop.mem("note", "Fed the cat.")
    found = laptop.sync()
    (said,) = (line for line in found.err.splitlines() if "ignore" in line)
    assert f"git is told to ignore {count} file{'s' * (count > 1)} of memory" in said
    assert named in said
    assert len(laptop.synced()["ignored"]) == count
    assert laptop.sync("--quiet").err == ""


def test_conversations_and_what_is_of_this_machine_are_not_told_as_ignored(laptop: Machine) -> None:
    (laptop.root / "sessions/2026-11-21").mkdir(parents=True)
    (laptop.root / "sessions/2026-11-21/talk.jsonl").write_text('{"role": "user", "text": "Hello."}\n')
    laptop.mem("ls")
    assert laptop.synced()["ignored"] == []


def test_a_dry_run_tells_and_changes_nothing(laptop: Machine, desktop: Machine) -> None:
    desktop.write("Backups run at three.")
    desktop.sync()
    laptop.write("The staging port is 8080.")
    before = laptop.texts(), laptop.git("rev-parse", "HEAD"), laptop.git("status", "--porcelain")
    found = laptop.synced("--dry-run")
    assert (found["committed"], found["received"], found["is_merge"], found["sent"]) == ("1 new", "1 new", True, 2)
    assert before == (laptop.texts(), laptop.git("rev-parse", "HEAD"), laptop.git("status", "--porcelain"))
    assert len(desktop.log) == 2


def test_a_linked_worktree_exchanges_its_own_branch(laptop: Machine, desktop: Machine, world: Path) -> None:
    laptop.git("worktree", "add", "-q", "-b", "try", str(world / "tree"))
    tree = Machine(laptop.run, world / "tree", world / "tree")
    assert laptop.run("trust", str(tree.root)).code == 0
    tree.write("An idea that is not settled.")
    found = tree.sync(code=5)
    assert "no branch try" in found.err
    tree.git("push", "-qu", "origin", "try")
    tree.write("Another idea.")
    assert tree.synced()["sent"] == 1
    laptop.write("The staging port is 8080.")
    settle(laptop, desktop)
    assert desktop.texts() == laptop.texts()
    assert not any(b"idea" in text for text in laptop.texts().values())


def test_counters_of_two_machines_add_up(laptop: Machine, desktop: Machine) -> None:
    name = laptop.mem("ls", "--json").json["entries"][0]["id"]
    for machine, times in ((laptop, 2), (desktop, 3)):
        for _ in range(times):
            machine.mem("read", name)
        machine.mem("note", f"{times} reads.")
    settle(laptop, desktop)
    entry = next(text for path, text in desktop.texts().items() if path.startswith("entries/"))
    assert b"access_count: 5\n" in entry
    assert laptop.texts() == desktop.texts()


def test_two_values_of_one_key_are_both_kept_and_asked_about(laptop: Machine, desktop: Machine) -> None:
    """The clock of one machine is behind, and who is right cannot be told by it."""
    laptop.write("The shop runs on Fly.", "--key", "shop/host")
    settle(laptop, desktop)
    ids = []
    for machine, place in ((laptop, "Hetzner"), (desktop, "a Pi")):
        found = machine.mem("write", f"The shop runs on {place}.", "--key", "shop/host", "--json").json
        ids.append(found["id"])
        machine.sync()
    assert "flagged" in desktop.log[0]
    settle(laptop, desktop)
    for machine in (laptop, desktop):
        questions = machine.mem("review", "--json").json["questions"]
        assert [{memory["id"] for memory in one["memories"]} for one in questions] == [set(ids)]
    assert laptop.texts() == desktop.texts()
    assert laptop.git("status", "--porcelain") == ""


def test_a_merge_of_many_memories_asks_git_no_more_often_than_one_of_few(
    laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of git for each file made a merge of a thousand take minutes."""
    began: list[object] = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, words: list[str], **more: Any) -> None:
            began.append(words)
            super().__init__(words, **more)

    counts = []
    for number in (2, 120):  # git keeps up to a hundred new objects as files, and more of them in a pack
        paths = [laptop.write(f"Service {number}/{one} is up.\n\nIt has {one} ports.") for one in range(number)]
        settle(laptop, desktop)
        for path in paths:
            for machine, old, new in ((laptop, "is up", "was down"), (desktop, "ports", "doors")):
                file = machine.root / path
                file.write_text(file.read_text().replace(old, new))
        laptop.sync()
        began.clear()
        with monkeypatch.context() as patched:
            patched.setattr(subprocess, "Popen", Counted)
            assert desktop.synced()["is_merge"]
        counts.append(len(began))
        assert all("was down" in (text := (desktop.root / path).read_text()) and "doors" in text for path in paths)
        desktop.git("fsck", "--strict")
    assert 0 < counts[1] <= counts[0]
