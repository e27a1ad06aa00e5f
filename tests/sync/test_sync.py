"""Two machines exchange a memory through git, and whatever stands in their way is named."""

import errno
import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memcli.formats.text import Problem
from memcli.store.gates import find_secret_problems
from memcli.store.workspace import Workspace
from memcli.store.writer import read_file
from tests.helpers import run_mem

TOKEN = "ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m"
HEADER = "---\nid: 7\nupdated: 2026-11-01\ncreated_at: 2026-11-01\n"  # of a person's note
HOOK = '#!/bin/sh\ntouch "$(dirname "$0")/../ran"\nexit 1\n'


def git(folder: Path, *words: str, **settings: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    environment |= settings
    names = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
    return subprocess.run(
        ["git", *names, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


class Machine:
    """A home folder with a memory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.root = folder / "home/.local/share/mem"
        self.settings = {"PATH": os.environ["PATH"], "MEM_SYNC_TIMEOUT": "10"}

    def mem(self, *words: str) -> tuple[int, str]:
        code, output, errors = run_mem(self.folder, *words, "--scope", "user", **self.settings)
        return code, output + errors

    def write(self, text: str, *options: str) -> str:
        code, output = self.mem("write", text, "--source", "user", *options)
        assert code == 0, output
        return output.split("\t")[1]

    def edit(self, memory: str, old: str, new: str) -> None:
        # `mem edit --scope user` would move the memory.
        words = ("edit", memory, "--replace", old, new, "--workspace", str(self.root))
        code, _, errors = run_mem(self.folder, *words, **self.settings)
        assert code == 0, errors

    def sync(self, *words: str, code: int = 0) -> str:
        found, output = self.mem("sync", *words)
        assert found == code, output
        return output

    def read_all(self) -> str:
        """Return the text of everything that mem stores on this machine, git's objects excepted."""
        files = [
            path for path in self.folder.rglob("*") if path.is_file() and ".git" not in path.parts
        ]
        return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a hub and machines. Next to it are copies with one more of them each."""
    world = tmp_path_factory.mktemp("sync") / "world"
    world.mkdir()
    hub = str(world / "hub.git")
    git(world, "init", "-q", "--bare", "-b", "main", hub)
    shutil.copytree(world, world.with_name("hub"), symlinks=True)
    laptop = Machine(world / "laptop")
    laptop.write("The office is in Porto.")
    laptop.sync(hub)
    shutil.copytree(world, world.with_name("laptop"), symlinks=True)
    desktop = Machine(world / "desktop")
    desktop.write("The bees are in Jena.")
    assert "had no common history: now they are one" in desktop.sync(hub)
    assert "common history" not in laptop.sync()
    shutil.copytree(world, world.with_name("desktop"), symlinks=True)
    return world


@pytest.fixture
def hub(world: Path, request: pytest.FixtureRequest) -> Path:
    # At the same path, because the machines know the hub by its path.
    names = [name for name in ("hub", "laptop", "desktop") if name in request.fixturenames]
    shutil.rmtree(world)
    shutil.copytree(world.with_name(names[-1]), world, symlinks=True)
    return world / "hub.git"


@pytest.fixture
def laptop(hub: Path) -> Machine:
    return Machine(hub.parent / "laptop")


@pytest.fixture
def desktop(hub: Path) -> Machine:
    return Machine(hub.parent / "desktop")


def test_unrelated_memories_become_one(laptop: Machine, desktop: Machine) -> None:
    for machine in (laptop, desktop):
        assert {"Porto", "Jena"} == {
            word for word in ("Porto", "Jena") if word in machine.mem("ls")[1]
        }
    assert git(laptop.root, "rev-parse", "HEAD") == git(desktop.root, "rev-parse", "HEAD")
    assert "Remember: The office is in Porto." in git(laptop.root, "log", "--format=%s")
    assert laptop.sync("--dry-run") == ""
    laptop.write("Kai is in Lisbon.")
    assert "Kai is in Lisbon" not in laptop.sync("--dry-run") + desktop.sync()


def test_notes_and_history_travel_and_conversations_only_if_wanted(
    laptop: Machine, desktop: Machine
) -> None:
    laptop.mem("note", "Fed the cat.")
    laptop.mem("history", "--add", "Released 1.2.")
    laptop.mem("session", "append", "talk", "We ship on Mondays.")
    laptop.sync()
    desktop.sync()
    assert "Fed the cat" in desktop.read_all() and "Released 1.2" in desktop.read_all()
    assert "We ship on Mondays" not in desktop.read_all()
    laptop.settings["MEM_SYNC_SESSIONS"] = "true"
    laptop.sync()
    desktop.sync()
    assert "We ship on Mondays" in desktop.mem("session", "show", "talk")[1]


def test_one_sentence_on_two_machines_is_one_memory(laptop: Machine, desktop: Machine) -> None:
    laptop.write("Lint before a commit.", "--tag", "a")
    desktop.write("Lint before a commit.", "--tag", "b")
    laptop.sync()
    desktop.sync()
    for machine in (desktop, laptop):
        assert "replaced" not in machine.sync(), "a merge is no loss"
        output = machine.mem("ls", "--json", "text,strength,tags")[1]
        assert output.count("Lint before a commit.") == 1 and '"strength": 2' in output
    assert desktop.sync() + laptop.sync() == ""


def test_one_sentence_with_and_without_a_key_is_one_memory(
    laptop: Machine, desktop: Machine
) -> None:
    laptop.write("The VPN is WireGuard.", "--key", "vpn")
    desktop.write("The VPN is WireGuard.")
    desktop.write("Lunch is at noon.", "--key", "lunch")
    laptop.sync()
    desktop.sync()
    laptop.write("Lunch is at noon.")
    laptop.sync()
    for machine in (desktop, laptop):
        entries = json.loads(machine.mem("ls", "--json", "text,key")[1])["entries"]
        keys = [entry["key"] for entry in entries if "WireGuard" in entry["text"]]
        assert keys == ["vpn"]


def test_a_key_and_a_sentence_with_two_values_are_questions(
    laptop: Machine, desktop: Machine
) -> None:
    office = laptop.write("The shop is in Porto.")
    laptop.sync()
    desktop.sync()
    laptop.write("The port is 1111.", "--key", "port")
    desktop.write("The port is 2222.", "--key", "port")
    laptop.sync()
    output = desktop.sync(code=3)
    assert "two values of port" in output and "hint: mem review" in output
    assert '"kind": "conflict"' in desktop.mem("review", "--json")[1]
    question = desktop.mem("review", "--json")[1].partition('"id": "')[2][:6]
    desktop.mem("review", question, "newer")
    desktop.sync()
    laptop.sync()
    assert '"kind": "conflict"' not in laptop.mem("review", "--json")[1]
    for machine, place in ((laptop, "Oslo"), (desktop, "Rome")):
        machine.edit(office, "Porto", place)
    laptop.sync()
    assert desktop.sync(code=3).count("\tThe shop is in Oslo.") == 1  # the copy
    assert '"kind": "conflict"' in desktop.mem("review", "--json")[1]


def test_a_question_that_was_answered_is_not_asked_again(laptop: Machine) -> None:
    """Two machines made the same copy of a memory, and one of them answered the question."""
    first = laptop.write("The shop opens at nine.", "--path", "shop")
    second = laptop.write("The shop opens at ten.", "--path", "copy")
    file = laptop.root / "entries/copy.md"
    conflict = f"source: user\nconflicts_with: [{first}]\n"
    file.write_text(file.read_text().replace("source: user\n", conflict))
    questions = laptop.mem("review", "--json")[1]
    assert first in questions and second in questions
    laptop.mem("review", questions.partition('"id": "')[2][:6], "both")
    assert "conflicts_with" not in file.read_text()
    # The next merge takes the line from the other machine.
    file.write_text(file.read_text().replace("source: user\n", conflict))
    assert '"conflict"' not in laptop.mem("review", "--json")[1]
    laptop.sync()


def test_two_answers_to_one_question_make_it_open_again(laptop: Machine, desktop: Machine) -> None:
    laptop.write("The shop opens at 9.")
    laptop.write("The shop opens at 10.")
    laptop.sync()
    desktop.sync()
    for machine, answer in ((laptop, "newer"), (desktop, "older")):
        question = machine.mem("review", "--json")[1].partition('"id": "')[2][:6]
        assert machine.mem("review", question, answer)[0] == 0
    laptop.sync()
    assert "memory that it replaced" in desktop.sync(code=3)
    laptop.sync(code=3)
    for machine in (laptop, desktop):
        output = machine.mem("ls")[1]
        assert "opens at 9" in output and "opens at 10" in output
        assert machine.mem("review", "--json")[1].count('"kind": ') == 1
    assert desktop.mem("review", "--json")[1] == laptop.mem("review", "--json")[1]


def test_a_purge_deletes_the_text_on_the_other_machine(
    hub: Path, laptop: Machine, desktop: Machine
) -> None:
    memory = laptop.write("The spare key is under the flower pot.")
    laptop.sync()
    desktop.sync()
    # The other machine has the text in many places, and changes the file itself.
    desktop.mem("note", "Told Jonas: the spare key is under the flower pot.")
    desktop.mem("session", "append", "talk", "The spare key is under the flower pot.")
    laptop.mem("note", "Told Ines: the spare key is under the flower pot.")
    hub.rename(f"{hub}.away")
    for machine in (laptop, desktop):
        machine.sync(code=6)
    os.rename(f"{hub}.away", hub)
    desktop.edit(memory, "spare key", "spare key of the shed")
    desktop.edit(memory, "spare key of the shed", "spare key")
    desktop.mem("write", "The spare key is under the flower pot.", "--source", "user")
    assert laptop.mem("forget", memory, "--purge", "--yes")[0] == 0
    laptop.sync()
    desktop.mem("note", "Jonas has it. The spare key is under the flower pot.")
    desktop.sync()
    laptop.sync()
    # Not even in an older commit than the purge of its machine.
    sent = git(hub, "log", "-p", "--all", "--", "notes")
    assert "Jonas has it" in sent
    assert "flower" not in sent
    for machine in (laptop, desktop):
        assert "flower" not in machine.read_all()
        assert "flower pot" not in git(machine.root, "grep", "-h", "Jonas", "HEAD", "--", ".")
        code, output = machine.mem(
            "write", "The spare key is under the flower pot.", "--source", "inferred"
        )
        assert code == 5, output
    # The user of another machine, which does not know of the purge, does not bring it back.
    late = Machine(hub.parent / "late")
    late.write("The spare key is under the flower pot.")
    late.sync(str(hub))
    desktop.sync()
    assert "flower pot" not in desktop.mem("search", "spare key")[1]
    # What the user says after the purge is shown on the other machine too.
    laptop.write("The spare key is under the flower pot.")
    laptop.sync()
    desktop.sync()
    assert "flower pot" in desktop.mem("search", "spare key")[1]


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("in_editor", [False, True])
def test_a_purge_deletes_what_the_other_machine_has_edited_since(
    laptop: Machine, desktop: Machine, by_hand: bool, in_editor: bool
) -> None:
    memory = laptop.write("The audit of the shop is on 3 May.")
    laptop.sync()
    desktop.sync()
    desktop.mem("note", "Told Jonas: the audit of the shop is on 3 May.")
    if in_editor:
        path = next(desktop.root.glob("entries/*/*audit*"))
        path.write_text(path.read_text().replace("3 May", "4 May"))
    else:
        desktop.edit(memory, "3 May", "4 May")
    laptop.edit(memory, "3 May", "5 May")
    laptop.sync()
    laptop.mem("forget", memory, "--purge", "--yes")
    laptop.sync()
    if by_hand:
        git(desktop.root, "add", "-A")
        git(desktop.root, "commit", "-qm", "By hand")
        with pytest.raises(subprocess.CalledProcessError):  # edited here, deleted there
            git(desktop.root, "pull", "-q", "--no-rebase", "--no-edit")
        git(desktop.root, "add", "-A")
        git(desktop.root, "commit", "-qm", "Merge")
        desktop.write("Something else.")
    desktop.sync()
    laptop.sync()
    for machine in (laptop, desktop):
        assert "is on" not in machine.read_all()
        assert "is on" not in git(machine.root, "grep", "-h", "-e", "Jonas", "-e", "Porto", "HEAD")


def test_a_purge_deletes_what_a_renamed_memory_once_said(laptop: Machine, desktop: Machine) -> None:
    memory = laptop.write("The spare key is under the flower pot.")
    laptop.sync()
    desktop.sync()
    path = next(desktop.root.glob("entries/*/*flower*"))
    path.write_text(path.read_text().replace("under the flower pot", "with Jonas"))
    path.rename(desktop.root / "entries/key.md")
    desktop.sync()
    laptop.sync()
    assert desktop.mem("forget", memory, "--purge", "--yes")[0] == 0
    desktop.sync()
    laptop.sync()
    for machine in (laptop, desktop):
        assert "flower" not in machine.read_all() and "with Jonas" not in machine.read_all()


def purge_and_pull(laptop: Machine, desktop: Machine) -> None:
    """Purge a memory on one machine, and pull that with plain git where a note repeats it."""
    memory = laptop.write("The spare key is under the flower pot.")
    laptop.sync()
    desktop.sync()
    desktop.mem("note", "Told Jonas: the spare key is under the flower pot.")
    git(desktop.root, "add", "-A")
    git(desktop.root, "commit", "-qm", "By hand")
    laptop.mem("forget", memory, "--purge", "--yes")
    laptop.sync()
    git(desktop.root, "pull", "-q", "--no-rebase", "--no-edit")


@pytest.mark.parametrize("is_tended", [False, True])
def test_a_purge_that_plain_git_brings_is_carried_out_by_the_next_command(
    laptop: Machine, desktop: Machine, is_tended: bool
) -> None:
    purge_and_pull(laptop, desktop)
    assert "flower" not in desktop.mem("search", "flower pot", "--min-score", "0")[1]
    assert "flower" not in desktop.mem("grep", "flower")[1]
    if is_tended:
        assert "purge: 1 memory" in desktop.mem("tend")[1]
        assert "purge" not in desktop.mem("tend")[1]
    else:
        desktop.write("Something else.")
    assert "flower" not in desktop.read_all(), "also not in the note, the index and the undo log"


def test_a_purge_of_a_colleague_does_not_stop_an_undo(laptop: Machine, desktop: Machine) -> None:
    memory = laptop.write("The spare key is under the flower pot.")
    laptop.sync()
    desktop.sync()
    laptop.mem("forget", memory, "--purge", "--yes")
    laptop.sync()
    desktop.write("The wiki is Confluence.")
    desktop.sync()
    code, output = desktop.mem("undo")
    assert code == 0 and "Undone 3 (write): The wiki is Confluence." in output


def test_a_purge_that_git_brings_is_not_lost_while_the_state_folder_is_full(
    laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    purge_and_pull(laptop, desktop)

    def fail(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as full_disk:
        full_disk.setattr("memcli.store.machine.save_private", fail)
        code, output = desktop.mem("grep", "Jonas")
        assert code == 0 and "flower" not in output
        assert "flower" not in desktop.mem("grep", "flower")[1]
    desktop.write("Something else.")
    assert "flower" not in desktop.read_all()


def test_a_file_that_an_editor_saves_during_the_sync_is_not_overwritten(
    laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.sync.git import Repository

    (laptop.root / "MEMORY.md").write_text("# Memory\n\n- one\n")
    laptop.sync()
    desktop.sync()
    (laptop.root / "MEMORY.md").write_text("# Memory\n\n- one\n- from the laptop\n")
    laptop.sync()
    push = Repository.push
    edits = ["# Memory\n\n- from an editor\n- one\n"]

    def push_slowly(self: Repository, *arguments: str) -> bool:
        if edits:
            (desktop.root / "MEMORY.md").write_text(edits.pop())
        return push(self, *arguments)

    desktop.write("The desktop has something to send.")
    monkeypatch.setattr(Repository, "push", push_slowly)
    desktop.sync()
    text = (desktop.root / "MEMORY.md").read_text()
    assert "from an editor" in text and "from the laptop" in text
    assert git(desktop.root, "status", "--porcelain") == ""


def test_files_that_git_could_not_write_completely_are_restored(
    laptop: Machine, desktop: Machine, hub: Path
) -> None:
    laptop.mem("history", "--add", "Released 1.2.")
    laptop.write("Ana drinks tea.")
    laptop.sync()
    desktop.sync()
    laptop.mem("history", "--add", "Released 1.3.")
    laptop.write("Kai is in Lisbon.")
    laptop.sync()
    # As a kill or a full disk leaves it in the middle of git's merge.
    git(desktop.root, "fetch", "-q", str(hub), "main:refs/mem/moving")
    names = git(desktop.root, "diff", "--name-only", "HEAD", "refs/mem/moving").split()
    new = next(name for name in names if "lisbon" in name)
    for name in names:
        text = git(desktop.root, "show", f"refs/mem/moving:{name}")
        (desktop.root / name).write_text(text[: 40 if name == new else 0])
    desktop.sync()
    laptop.sync()
    for machine in (laptop, desktop):
        assert "1.2" in machine.mem("history")[1] and "1.3" in machine.mem("history")[1]
        assert "Kai is in Lisbon" in machine.mem("ls")[1]
    assert git(hub, "log", "--format=%s", "main").count("Merge") == 1
    assert "moving" not in git(desktop.root, "for-each-ref")


def test_a_memory_of_which_git_deleted_only_the_old_name_is_not_lost(
    laptop: Machine, desktop: Machine, hub: Path
) -> None:
    path = next(laptop.root.glob("entries/*/*porto*"))
    path.rename(laptop.root / "entries/office.md")
    laptop.sync()
    # As a kill leaves it in the middle of git's merge.
    git(desktop.root, "fetch", "-q", str(hub), "main:refs/mem/moving")
    (desktop.root / path.relative_to(laptop.root)).unlink()
    desktop.sync()
    laptop.sync()
    for machine in (laptop, desktop):
        assert (machine.root / "entries/office.md").exists()
        assert len(list(machine.root.glob("entries/**/*.md"))) == 2


def test_a_program_that_stays_in_the_background_is_not_waited_for() -> None:
    from memcli.store.git import run_program

    script = "setsid sleep 9 >/dev/null & echo done"
    began = time.monotonic()
    assert run_program(["sh", "-c", script], os.environ, b"", 5) == (0, b"done\n", b"")
    assert time.monotonic() - began < 4


def test_a_purge_stays_if_somebody_reverts_its_commit(
    laptop: Machine, desktop: Machine, hub: Path, tmp_path: Path
) -> None:
    memory = laptop.write("The spare key is under the flower pot.")
    laptop.sync()
    laptop.mem("forget", memory, "--purge", "--yes")
    laptop.sync()
    git(tmp_path, "clone", "-q", str(hub), "clone")
    clone = tmp_path / "clone"
    git(clone, "revert", "--no-edit", "HEAD")
    (file,) = clone.glob("entries/*/*flower*")
    file.write_text(file.read_text().replace("flower pot", "flower box"))
    git(clone, "commit", "-qam", "Another wording")
    git(clone, "push", "-q")
    laptop.sync()
    assert "flower" not in laptop.mem("ls")[1]
    laptop.sync()
    assert "flower" not in git(hub, "ls-tree", "-r", "--name-only", "main")


def test_a_secret_and_a_conflict_marker_are_not_sent(laptop: Machine, desktop: Machine) -> None:
    (laptop.root / "entries/leak.md").write_text(f"The token is {TOKEN}\n")
    (laptop.root / "entries/marks.md").write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    (laptop.root / ".env").write_text(f"TOKEN={TOKEN}\n")
    laptop.write("Kai is in Lisbon.")
    git(laptop.root, "add", "entries", ".env")
    output = laptop.sync(code=3)
    assert "entries/leak.md: not sent" in output and "marker in line 1" in output
    assert "A  .env" in git(laptop.root, "status", "--porcelain")
    desktop.sync()
    assert "Lisbon" in desktop.read_all() and TOKEN not in desktop.read_all()


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_sent(
    laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (laptop.root / "entries/locked.md").write_text("Nobody reads this.\n")
    (laptop.root / "entries/bees.md").write_text("The bees are in Jena.\n")

    def refuse(workspace: Workspace, path: str) -> str | None:
        # As root, the tests could read a file without rights.
        if path == "entries/locked.md":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return read_file(workspace, path)

    with monkeypatch.context() as patch:
        patch.setattr("memcli.sync.files.read_file", refuse)
        output = laptop.sync(code=3)
    assert "entries/locked.md: not sent: cannot be read: Permission denied" in output
    sent = git(laptop.root, "ls-tree", "-r", "--name-only", "origin/main")
    assert "bees.md" in sent and "locked.md" not in sent
    assert "entries/locked.md" in laptop.sync(), "it can be read again, in the same state"


def test_a_folder_that_cannot_be_opened_is_named(
    laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (laptop.root / "entries/locked").mkdir()
    (laptop.root / "entries/bees.md").write_text("The bees are in Jena.\n")
    open_path = os.open

    def refuse(path: object, *options: Any, **names: Any) -> int:
        # As root, the tests could open a folder without rights.
        if str(path).endswith("entries/locked/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return open_path(path, *options, **names)  # type: ignore[arg-type]

    monkeypatch.setattr("os.open", refuse)
    output = laptop.sync(code=3)
    assert "entries/locked: not sent: cannot be opened: Permission denied" in output
    assert "bees.md" in git(laptop.root, "ls-tree", "-r", "--name-only", "origin/main")


@pytest.mark.parametrize("other_name", ["", "bureau.md"])
def test_a_renamed_memory_stays_one_file_with_the_changes_of_both(
    laptop: Machine, desktop: Machine, other_name: str
) -> None:
    path = next(laptop.root.glob("entries/*/*porto*"))
    other_path = desktop.root / path.relative_to(laptop.root)
    with path.open("a") as file:
        file.write("\nIt has four floors.\n")
    if other_name:
        path.rename(path.with_name(other_name))
    laptop.write("Kai is in Lisbon.")
    laptop.sync()
    other_path.write_text(other_path.read_text().replace("Porto", "Braga"))
    other_path.rename(other_path.with_name("office.md"))
    desktop.write("Bo is in Rome.")
    desktop.sync()
    laptop.sync()
    expected = {other_name or "office.md"}
    for machine in (laptop, desktop):
        texts = {file.name: file.read_text() for file in machine.root.glob("entries/*/*.md")}
        found = [name for name, text in texts.items() if "four floors" in text]
        assert set(found) == expected and "Braga" in texts[found[0]]
        assert len(texts) == 4 and machine.mem("check")[0] == 0


def test_a_renamed_memory_that_was_deleted_elsewhere_stays_deleted(
    laptop: Machine, desktop: Machine
) -> None:
    path = next(laptop.root.glob("entries/*/*porto*"))
    (desktop.root / path.relative_to(laptop.root)).rename(desktop.root / "entries/office.md")
    path.unlink()
    laptop.sync()
    desktop.sync()
    assert not (desktop.root / "entries/office.md").exists()


def test_a_new_memory_at_the_new_name_of_another_one_loses_no_text(
    laptop: Machine, desktop: Machine
) -> None:
    path = next(laptop.root.glob("entries/*/*porto*"))
    other_path = desktop.root / path.relative_to(laptop.root)
    other_path.rename(desktop.root / "entries/office.md")
    with path.open("a") as file:
        file.write("\nIt has four floors.\n")
    laptop.write("Kai is in Lisbon.", "--path", "entries/office.md")
    laptop.sync()
    desktop.sync()
    for text in ("Porto", "four floors", "Lisbon"):
        assert text in desktop.mem("search", text)[1]


def test_two_names_that_a_disk_takes_for_one_do_not_overwrite_each_other(
    laptop: Machine, desktop: Machine
) -> None:
    git(desktop.root, "config", "core.ignorecase", "true")  # as on macOS
    laptop.write("Kai is in Lisbon.", "--path", "entries/Kai.md")
    laptop.write("Bo is in Rome.", "--path", "entries/kai.md")
    laptop.sync()
    assert "cannot have entries/Kai.md and entries/kai.md" in desktop.sync(code=5)
    assert not list(desktop.root.glob("entries/[Kk]ai.md"))
    (laptop.root / "entries/kai.md").rename(laptop.root / "entries/bo.md")
    laptop.sync()
    desktop.sync()
    assert "Lisbon" in desktop.mem("ls")[1] and "Rome" in desktop.mem("ls")[1]


def test_hooks_filters_and_repositories_inside_do_not_break_it(
    laptop: Machine, desktop: Machine
) -> None:
    for name in (
        "pre-commit",
        "commit-msg",
        "pre-push",
        "post-merge",
        "post-checkout",
        "reference-transaction",
    ):
        hook = laptop.root / ".git/hooks" / name
        hook.write_text(HOOK)
        hook.chmod(0o755)
    git(laptop.root, "config", "commit.gpgSign", "true")
    git(laptop.root, "config", "user.signingKey", "nobody")
    git(laptop.root, "init", "-q", "entries/inner")
    laptop.write("Kai is in Lisbon.")
    laptop.sync()
    desktop.write("Bo is in Rome.")
    desktop.sync()
    laptop.sync()
    assert not (laptop.root / ".git/ran").exists()


def test_a_rewritten_history_is_not_undone(
    laptop: Machine, desktop: Machine, hub: Path, tmp_path: Path
) -> None:
    laptop.write("A secret plan for the harbour.")
    laptop.sync()
    desktop.sync()
    git(hub, "update-ref", "refs/heads/main", "main~1")  # somebody removed it from the remote
    desktop.write("Kai is in Lisbon.")
    output = desktop.sync(code=5)
    assert "was rewritten" in output and "mem sync --accept-rewrite" in output
    assert desktop.sync("--accept-rewrite")
    assert "harbour" not in desktop.mem("ls")[1] and "Lisbon" in desktop.mem("ls")[1]
    assert "harbour" not in git(hub, "log", "-p", "main")
    git(hub, "update-ref", "-d", "refs/heads/main")
    assert "was deleted" in desktop.sync(code=5)
    desktop.sync("--accept-rewrite")
    assert "Lisbon" in git(hub, "grep", "-h", "Kai", "main")


REMOTES = {
    "gone": ("/nowhere/hub.git", 6, "cannot reach origin"),
    "password": ("http://127.0.0.1:{port}/hub.git", 6, "refused access"),
    "hang": ("git://127.0.0.1:{port}/hub.git", 6, "did not answer within 1 seconds"),
}


@pytest.mark.parametrize("name", REMOTES)
def test_a_remote_that_does_not_answer_is_named(laptop: Machine, name: str) -> None:
    import socket
    import threading

    address, code, words = REMOTES[name]
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections = []

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connections.append(connection)
                if name == "password":
                    connection.recv(4096)
                    connection.sendall(
                        b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\n"
                        b"Content-Length: 0\r\nConnection: close\r\n\r\n"
                    )
                    connection.close()

        threading.Thread(target=answer, daemon=True).start()
        url = address.format(port=server.getsockname()[1])
        git(laptop.root, "remote", "set-url", "origin", url)
        laptop.settings["MEM_SYNC_TIMEOUT"] = "1" if name == "hang" else "10"
        laptop.write("Kai is in Lisbon.")
        began = time.monotonic()
        output = laptop.sync(code=code)
        assert time.monotonic() - began < 10
        server.shutdown(socket.SHUT_RDWR)
        for connection in connections:
            connection.close()
    assert words in output and len(output.splitlines()) == 2 and "hint:" in output
    # A purge of another machine may come first, so nothing is committed.
    assert "lisbon" in git(laptop.root, "status", "--porcelain")
    assert "Lisbon" in laptop.mem("ls")[1]


def test_a_wrong_address_does_not_become_the_remote(
    tmp_path: Path, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = Machine(tmp_path / "new")
    new.write("The bees are in Jena.")
    assert "cannot reach origin" in new.sync("/wrong/path.git", code=6)
    git(tmp_path, "clone", "-q", str(hub), "code")
    git(tmp_path / "code", "commit", "-q", "--allow-empty", "-m", "A project")
    git(tmp_path / "code", "push", "-q", str(hub), "HEAD:main")
    assert "contains no memory" in new.sync(str(hub), code=5)
    assert git(new.root, "remote") == ""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "free.git")

    def interrupt(*_: object) -> None:
        assert git(new.root, "remote") == "", "a kill here must not leave the wrong address"
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("memcli.sync.git.Repository.fetch", interrupt)
        new.sync("/hanging/path.git")
    assert "sent" in new.sync(str(tmp_path / "free.git"))
    (tmp_path / "free.git").rename(tmp_path / "away.git")
    new.sync(str(tmp_path / "free.git"), code=6)
    assert git(new.root, "remote") == "origin\n", "a later failure leaves it"


def test_half_a_repository_of_a_killed_git_is_completed(tmp_path: Path, hub: Path) -> None:
    new = Machine(tmp_path / "new")
    new.write("Kai is in Lisbon.")
    (new.root / ".git/refs").mkdir(parents=True)
    assert "Lisbon" in new.sync(str(hub))


def test_a_push_that_a_remote_rejects_still_receives(
    laptop: Machine, desktop: Machine, hub: Path
) -> None:
    desktop.write("Bo is in Rome.")
    desktop.sync()
    hook = hub / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho only Bo may push here >&2\nexit 1\n")
    hook.chmod(0o755)
    laptop.write("Kai is in Lisbon.")
    output = laptop.sync(code=5)
    assert "only Bo may push here" in output
    assert "Rome" in laptop.mem("ls")[1]


def test_what_is_no_memory_of_its_own_is_refused(
    laptop: Machine, desktop: Machine, tmp_path: Path
) -> None:
    shop = Machine(tmp_path / "shop")
    git(shop.folder, "init", "-q")
    run_mem(shop.folder, "init", "--shared")
    code, _, errors = run_mem(shop.folder, "sync")
    assert code == 2 and "part of a project's repository" in errors
    lamp = tmp_path / "lamp/memory"  # a repository whose top folder is a private memory
    git(tmp_path, "init", "-q", "-b", "main", str(lamp))
    run_mem(lamp, "init", ".", "--private")
    code, _, errors = run_mem(lamp, "sync", PATH=os.environ["PATH"])
    assert code == 5 and "this memory is private: git ignores it" in errors
    assert "mem init --shared" in errors
    new = Machine(tmp_path / "new")
    new.write("Nobody has this.")
    assert "not a git repository yet" in new.sync(code=4)
    (laptop.root / "package.json").write_text("{}")
    git(laptop.root, "add", "-f", "package.json")
    assert "package.json is not part of a memory" in laptop.sync(code=5)
    git(laptop.root, "rm", "-qf", "--cached", "package.json")
    (laptop.root / ".git/MERGE_HEAD").write_text(git(laptop.root, "rev-parse", "HEAD"))
    assert "a merge or rebase of git is unfinished" in laptop.sync(code=5)
    (laptop.root / ".git/MERGE_HEAD").unlink()
    (laptop.root / ".git/index.lock").touch()
    laptop.write("Kai is in Lisbon.")
    assert "another git process" in laptop.sync(code=75)
    git(tmp_path, "init", "-q", "-b", "main", "code")
    git(tmp_path / "code", "commit", "-q", "--allow-empty", "-m", "x")
    assert "no memory" in Machine(tmp_path / "third").sync(str(tmp_path / "code"), code=5)


@pytest.mark.parametrize("name", ["index.lock", "refs/remotes/origin/main.lock", "HEAD.lock"])
def test_a_lock_of_a_git_that_was_killed_is_named(
    laptop: Machine, desktop: Machine, name: str
) -> None:
    desktop.write("Bo is in Rome.")
    desktop.sync()
    lock = laptop.root / ".git" / name
    lock.touch()
    laptop.write("Kai is in Lisbon.")
    output = laptop.sync(code=75).replace("\n  ", " ")
    assert "another git process is running" in output and f"first: rm {lock}" in output
    assert lock.exists()
    lock.unlink()
    assert "Lisbon" in laptop.sync()


def test_without_its_settings_a_machine_sends_no_new_files(
    laptop: Machine, desktop: Machine, hub: Path
) -> None:
    laptop.mem("config", "set", "index.exclude", "entries/private")
    laptop.mem("config", "set", "search.limit", "5")
    laptop.sync()
    desktop.sync()
    desktop.mem("config", "set", "search.limit", "7")
    laptop.mem("config", "unset", "search.limit")
    desktop.sync()
    assert "both machines changed search.limit" in laptop.sync(code=3)
    (laptop.root / "entries/private").mkdir(parents=True)
    (laptop.root / "entries/private/gout.md").write_text("Ana has gout.\n")
    with (laptop.root / "mem.yaml").open("a") as file:
        file.write("search.limit 5\n")
    assert "mem.yaml: not sent: all settings are ignored" in laptop.sync(code=3)
    assert "gout" not in git(hub, "ls-tree", "-r", "--name-only", "main")
    assert "search.limit 5" not in git(hub, "show", "main:mem.yaml")


def test_a_lock_of_the_settings_of_git_is_named(tmp_path: Path, hub: Path) -> None:
    new = Machine(tmp_path / "new")
    new.write("Kai is in Lisbon.")
    git(new.root, "init", "-q", "-b", "main")
    lock = new.root / ".git/config.lock"
    lock.touch()
    assert f"first: rm {lock}" in new.sync(str(hub), code=75).replace("\n  ", " ")
    lock.unlink()
    new.sync(str(hub))
    assert git(new.root, "remote") == "origin\n"


def test_a_remote_without_a_memory_deletes_none(
    laptop: Machine, desktop: Machine, hub: Path
) -> None:
    git(desktop.root, "rm", "-q", "mem.yaml")
    git(desktop.root, "commit", "-qm", "Clean up")
    git(desktop.root, "push", "-q")
    for text in ("", "Kai is in Lisbon."):  # also if this machine has nothing to send
        if text:
            laptop.write(text)
        output = laptop.sync(code=5)
        assert "origin/main has no mem.yaml" in output and "or restore mem.yaml there" in output
        assert "The office is in Porto." in laptop.mem("ls")[1]
    (desktop.root / "mem.yaml").write_text("")  # without settings, it is a memory again
    git(desktop.root, "add", "mem.yaml")
    git(desktop.root, "commit", "-qm", "Bring it back")
    git(desktop.root, "push", "-q")
    laptop.sync()
    assert "Lisbon" in git(hub, "grep", "-h", "Kai", "main")


def build_vault(folder: Path, hub: Path) -> Path:
    vault = folder / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["Private/"]}')
    for path in ("Pears.md", "Private/Diary.md", "Drafts/Poem.md", "Deep/Private/Known.md"):
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(f"This is {path}.\n")
    assert run_mem(vault, "init")[0] == 0
    (vault / "mem.yaml").write_text("layout: vault\nindex.exclude: [Drafts/]\n")
    assert run_mem(vault, "sync", str(hub), PATH=os.environ["PATH"])[0] == 0
    return vault


def test_a_vault_sends_the_notes_that_mem_reads(tmp_path: Path, hub: Path) -> None:
    vault = build_vault(tmp_path, hub)
    sent = git(hub, "ls-tree", "-r", "--name-only", "main")
    assert "Pears.md" in sent and "Deep/Private/Known.md" in sent
    assert "Diary" not in sent and "Poem" not in sent
    # A note that git has already is sent, or the next change of another machine could not come in.
    git(vault, "add", "-f", "Private/Diary.md")
    git(vault, "commit", "-qm", "By hand")
    (vault / "Private/Diary.md").write_text("Changed.\n")
    assert run_mem(vault, "sync", PATH=os.environ["PATH"])[0] == 0
    assert git(hub, "show", "main:Private/Diary.md") == "Changed.\n"


def change_on_two_machines(folder: Path, hub: Path, texts: Sequence[str]) -> list[Path]:
    """Return two vaults that changed the same note. The second one synced later."""
    vaults = [build_vault(folder, hub), folder / "second"]
    git(folder, "clone", "-q", str(hub), "second")
    assert run_mem(vaults[1], "trust")[0] == 0
    for number, (vault, text) in enumerate(zip(vaults, texts, strict=True)):
        note = vault / "Pears.md"
        note.write_text(text)
        git(vault, "add", "Pears.md")
        git(vault, "commit", "-qm", "By hand", GIT_COMMITTER_DATE=f"2026-11-2{number}T10:00:00Z")
        # git does not send the time of an edit, so its order must not matter.
        os.utime(note, (2_000_000_000 - number * 1_000_000_000,) * 2)
        sync_vault(vault, code=3 if number else 0)
    return vaults


def sync_vault(vault: Path, code: int = 0) -> str:
    found, output, errors = run_mem(vault, "sync", PATH=os.environ["PATH"])
    assert found == code, errors
    return output + errors


def list_pears(vault: Path) -> dict[str, str]:
    return {note.name: note.read_text() for note in vault.glob("Pears*.md")}


@pytest.mark.parametrize(
    ("names", "text", "answer", "kept"),
    [
        ("ab", "Ripe on day {}.\n", "copy", 0),
        ("ba", "Ripe on day {}.\n", "newer", 1),
        ("ba", HEADER + "ripe: {}\n---\nPears.\n", "older", 0),
        ("ab", HEADER + "ripe: {}\n---\nPears.\n", "note", 1),
        ("ba", "---\nuuid: 4f1c\nripe: {}\n---\nPears.\n", "newer", 1),
    ],
)
def test_an_answer_changes_only_the_value_and_deletes_the_copy(
    tmp_path: Path, hub: Path, names: str, text: str, answer: str, kept: int
) -> None:
    texts = [text.format(name) for name in names]
    first, second = change_on_two_machines(tmp_path, hub, texts)
    problem = sync_vault(first, code=3)
    assert "Pears.md: “" in problem and "()" not in problem
    for vault in (first, second):
        # The note has the version that was synced later, whichever was edited later.
        assert (vault / "Pears.md").read_text() == texts[1]
        (question,) = json.loads(run_mem(vault, "review", "--json")[1])["questions"]
        assert question["answers"] == ["copy", "note", "both"]
        for name, memory in zip(names, question["memories"], strict=True):
            assert name in memory["text"].replace("Pears", "")
        if "ripe" in text:
            assert question["reason"] == f"-ripe: {names[0]}\n+ripe: {names[1]}"
    before = list_pears(second)
    code, _, errors = run_mem(second, "review", question["id"], answer)
    assert (code, errors) == (0, "")
    assert list_pears(second) == {"Pears.md": texts[kept]}
    assert run_mem(second, "undo")[0] == 0
    assert list_pears(second) == before
    assert run_mem(second, "undo", "--redo")[0] == 0
    sync_vault(second)
    sync_vault(first)
    assert list_pears(first) == list_pears(second) == {"Pears.md": texts[kept]}


@pytest.mark.parametrize("answers", ["copy note", "note copy", "copy both", "both note"])
def test_two_answers_about_a_note_leave_no_copy_with_a_question(
    tmp_path: Path, hub: Path, answers: str
) -> None:
    texts = [f"---\nripe: {day}\n---\nPears.\n" for day in "ab"]
    vaults = change_on_two_machines(tmp_path, hub, texts)
    sync_vault(vaults[0], code=3)
    for vault, answer in zip(vaults, answers.split(), strict=True):
        (question,) = json.loads(run_mem(vault, "review", "--json")[1])["questions"]
        assert run_mem(vault, "review", question["id"], answer)[0] == 0
    for vault in (*vaults, *vaults):
        sync_vault(vault)
    assert list_pears(vaults[0]) == list_pears(vaults[1])
    assert list_pears(vaults[0])["Pears.md"] == texts["copy" not in answers]
    assert len(list_pears(vaults[0])) == 1 + ("both" in answers)
    assert json.loads(run_mem(vaults[0], "review", "--json")[1]) == {"questions": []}
    assert run_mem(vaults[0], "check")[0] == 0


def test_a_purged_memory_is_not_named_by_a_sync(tmp_path: Path, laptop: Machine) -> None:
    ids = [laptop.write(text) for text in ("Kai fears dogs.", "Kai likes cats.")]
    laptop.sync()
    assert laptop.mem("forget", ids[0], "--purge", "--yes")[0] == 0
    next(laptop.root.glob("entries/*/kai-likes*")).unlink()
    sent = json.loads(laptop.sync("--json", "sent"))["sent"]
    texts = [item["text"] for item in sent if item["action"] == "deleted"]
    assert sorted(texts) == ["", "a purged memory"]


def test_settings_of_obsidian_that_are_not_committed_do_not_stop_a_sync(
    tmp_path: Path, hub: Path
) -> None:
    first = build_vault(tmp_path, hub)
    git(tmp_path, "clone", "-q", str(hub), "second")
    second = tmp_path / "second"
    (second / ".obsidian").mkdir()
    (second / ".obsidian/app.json").write_text('{"size": 2}')
    (second / "Pears.md").write_text("The pears are green.\n")
    assert run_mem(second, "trust")[0] == 0
    (first / "Pears.md").write_text("The pears are ripe.\n")
    git(first, "add", ".obsidian", "Pears.md")
    git(first, "commit", "-qm", "By hand")
    assert run_mem(first, "sync", PATH=os.environ["PATH"])[0] == 0
    code, _, errors = run_mem(second, "sync", PATH=os.environ["PATH"])
    assert code == 3 and "git show HEAD:.obsidian/app.json" in errors
    assert "Pears.md: both machines changed" in errors
    assert (second / ".obsidian/app.json").read_text() == '{"size": 2}'
    assert "ripe" in "".join(note.read_text() for note in second.glob("Pears*.md"))
    git(first, "rm", "-q", "--cached", ".obsidian/app.json")
    git(first, "commit", "-qm", "By hand")
    assert run_mem(first, "sync", PATH=os.environ["PATH"])[0] == 3
    code, _, errors = run_mem(second, "sync", PATH=os.environ["PATH"])
    assert code == 3 and "app.json: was deleted on another machine" in errors
    assert (second / ".obsidian/app.json").read_text() == '{"size": 2}'
    assert git(second, "status", "--porcelain", ".obsidian").strip() == "?? .obsidian/"


def test_a_vault_and_another_memory_do_not_become_one(tmp_path: Path, hub: Path) -> None:
    build_vault(tmp_path, hub)
    machine = Machine(tmp_path / "new")
    machine.write("Kai is in Lisbon.")
    output = machine.sync(str(hub), code=5)
    assert "in other folders" in output and "git clone" in output
    assert not (machine.root / "Pears.md").exists()
    assert "Kai" not in git(hub, "grep", "-h", "is", "main")


def test_a_forgetting_is_named_and_its_text_is_not(laptop: Machine, desktop: Machine) -> None:
    memory = laptop.write("The spare key is under the flower pot.")
    laptop.sync()
    desktop.sync()
    laptop.mem("forget", memory)
    laptop.sync()
    assert "forgotten" in desktop.sync()
    assert git(laptop.root, "log", "-1", "--format=%B").strip() == "Forget a memory"
    laptop.mem("forget", laptop.write("Bo is in Rome."))
    laptop.write("Kai is in Lisbon.")
    laptop.sync()
    message = git(laptop.root, "log", "-1", "--format=%B").strip().splitlines()
    assert message[0] == "Remember: Kai is in Lisbon."
    assert message[2:] == ["* added: Kai is in Lisbon.", "* forgotten: a memory"]


def test_a_file_that_is_not_sent_is_scanned_once(
    laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned = []

    def scan(workspace: Workspace, text: str) -> list[Problem]:
        scanned.append(text)
        return find_secret_problems(workspace, text)

    leak = laptop.root / "entries/leak.md"
    leak.write_text(f"The token is {TOKEN}\n")
    monkeypatch.setattr("memcli.sync.files.find_secret_problems", scan)
    assert "a GitHub token" in laptop.sync(code=3)
    assert len([text for text in scanned if TOKEN in text]) == 1
    leak.write_text("The token is in the safe.\n")
    laptop.sync()


def test_a_file_that_was_repaired_by_a_commit_is_sent(laptop: Machine) -> None:
    leak = laptop.root / "entries/leak.md"
    leak.write_text(f"The token is {TOKEN}\nIt is old.\n")
    assert "a GitHub token" in laptop.sync(code=3)
    # Somebody commits the line with the token by hand. The file itself stays as it is.
    line = laptop.folder / "line"
    line.write_text(f"The token is {TOKEN}\n")
    blob = git(laptop.root, "hash-object", "-w", str(line)).strip()
    git(laptop.root, "update-index", "--add", "--cacheinfo", f"100644,{blob},entries/leak.md")
    git(laptop.root, "commit", "-qm", "It is no secret")
    laptop.sync()
    assert "It is old." in git(laptop.root, "show", "HEAD:entries/leak.md")


def test_a_damaged_repository_and_another_address_are_named(
    laptop: Machine, tmp_path: Path
) -> None:
    git(laptop.root, "remote", "set-url", "origin", "https://ana:hunter2@example.org/hub.git")
    output = laptop.sync("https://example.org/other.git", code=5)
    assert "another address: https://example.org/hub.git" in output
    new = Machine(tmp_path / "new")
    new.write("Nobody has this.")
    git(new.folder, "init", "-q")
    (new.root / ".git").mkdir()
    assert "not a git repository" in new.sync(code=5)
    assert "cannot reach" in new.sync("/none/hub.git", code=6)
    above = git(new.folder, "for-each-ref") + git(new.folder, "remote")
    assert above == "", "the repository above is somebody's project"


def test_git_merges_a_shared_memory_with_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two branches of a project, whose memory plain git merges by field and record."""
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q", "-b", "main")
    program = Path(__file__).parents[2]
    monkeypatch.setattr("sys.argv", [str(program / "memcli/__main__.py")])
    monkeypatch.setenv("PYTHONPATH", str(program))
    assert run_mem(shop, "init", "--shared")[0] == 0
    code, output, _ = run_mem(
        shop, "write", "The port is 6543.", "--path", "port", "--source", "user"
    )
    assert code == 0
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "One")
    git(shop, "switch", "-qc", "work")
    entry = shop / "memory/entries/port.md"
    text = entry.read_text()
    entry.write_text(text.replace("source: user", "source: user\ntags: [a]\nstrength: 3"))
    git(shop, "commit", "-qam", "Two")
    git(shop, "switch", "-q", "main")
    entry.write_text(text.replace("source: user", "source: user\ntags: [b]\nstrength: 2"))
    git(shop, "commit", "-qam", "Three")
    git(shop, "merge", "-q", "--no-edit", "work")
    assert "tags: [b, a]" in entry.read_text() or "tags: [a, b]" in entry.read_text()
    assert "strength: 4" in entry.read_text()
    entry.write_text(entry.read_text().replace("6543", "8765"))
    git(shop, "commit", "-qam", "Four")
    git(shop, "switch", "-qc", "again", "HEAD~1")
    entry.write_text(text.replace("6543", "7654"))
    git(shop, "commit", "-qam", "Five")
    merge = ["git", "merge", "-q", "main"]
    assert subprocess.run(merge, cwd=shop, capture_output=True, check=False).returncode
    assert "<<<<<<< HEAD" in entry.read_text() and ">>>>>>> main" in entry.read_text()
    git(shop, "merge", "--abort")
    # Without the program, git marks the conflict instead of dropping a side.
    git(
        shop,
        "config",
        "merge.mem.driver",
        git(shop, "config", "merge.mem.driver").strip().replace("memcli", "gone"),
    )
    assert subprocess.run(merge, cwd=shop, capture_output=True, check=False).returncode
    assert "<<<<<<< ours" in entry.read_text()


def test_a_purge_in_a_project_deletes_what_hooks_recorded_in_the_own_memory(tmp_path: Path) -> None:
    text = "The spare key is under the flower pot."
    git(tmp_path, "init", "-q")
    assert run_mem(tmp_path, "init", "--shared")[0] == 0
    run_mem(tmp_path, "write", text, "--path", "key", "--source", "user")
    for words in (("note", text), ("history", "--add", text), ("session", "append", "talk", text)):
        assert run_mem(tmp_path, *words, "--scope", "user")[0] == 0
    run_mem(tmp_path, "write", "Something else.", "--scope", "user", "--source", "user")
    code, output, errors = run_mem(tmp_path, "forget", "key", "--purge", "--yes", "--json")
    assert code == 0, errors
    assert output.count("home/.local/share/mem/") == 3
    files = [path for path in tmp_path.rglob("*") if path.is_file() and ".git" not in path.parts]
    assert [path for path in files if b"flower pot" in path.read_bytes()] == []
    assert run_mem(tmp_path, "note", text, "--scope", "user")[0] == 5
    assert "Something else." in run_mem(tmp_path, "ls", "--scope", "user")[1]


def test_one_sentence_of_two_branches_becomes_one_memory(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    assert run_mem(tmp_path, "init", "--shared")[0] == 0
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "Start")
    for branch in ("a", "b"):
        git(tmp_path, "checkout", "-q", "-b", branch, "main")
        words = ("write", "Releases are cut on Wednesday.", "--source", "user", "--tag", branch)
        assert run_mem(tmp_path, *words)[0] == 0
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", branch)
    git(tmp_path, "merge", "-q", "-m", "Merge", "a")
    code, output, _ = run_mem(tmp_path, "check")
    assert code == 1 and "has the same words: mem check --fix merges them" in output
    # cron runs it, and a shared memory changes only by a command that somebody typed.
    assert "same words" not in run_mem(tmp_path, "tend")[1]
    run_mem(tmp_path, "check", "--fix")
    entries = json.loads(run_mem(tmp_path, "ls", "--json", "strength,tags")[1])["entries"]
    assert [(entry["strength"], sorted(entry["tags"])) for entry in entries] == [(2, ["a", "b"])]
    assert run_mem(tmp_path, "check")[0] == 0
