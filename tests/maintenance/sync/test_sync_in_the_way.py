"""What stands in the way of a sync is said in one line with what to do, and nothing is lost, changed or half done."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import memcli
from memcli.maintenance import sync
from memcli.store.lock import locked
from tests.conftest import NOW, Mem, Ran
from tests.machines import CONFIG, Machine, exchanged, first_machine, git, other_machine, program, refused, write_config


def test_a_remote_that_is_gone_costs_nothing_and_is_tried_again(laptop: Machine, desktop: Machine, hub: Path) -> None:
    away = hub.rename(hub.with_name("away"))
    laptop.write("Kai is in Lisbon.")
    refused(laptop, 6, "origin", "cannot be reached", "hub.git", "git ls-remote")
    assert laptop.log[0] == "memory: 1 new"
    refused(laptop, 6, "cannot be reached")
    away.rename(hub)
    exchanged(laptop, desktop)


def test_a_remote_that_refuses_says_why(laptop: Machine, desktop: Machine, hub: Path) -> None:
    hook = program(hub / "hooks", "pre-receive", "echo 'no memories on Sundays' >&2", "exit 1")
    laptop.write("Kai is in Lisbon.")
    refused(laptop, 5, "refuses the push", "no memories on Sundays")
    hook.unlink()
    exchanged(laptop, desktop)


def test_a_remote_whose_branch_is_checked_out_is_named(mem: Mem, world: Path, laptop: Machine) -> None:
    other = other_machine(mem, world / "other", laptop.top)
    other.write("Kai is in Lisbon.")
    refused(other, 5, "no bare repository", "git init --bare")


def test_a_history_that_was_rewritten_is_not_merged_back(laptop: Machine, desktop: Machine) -> None:
    laptop.write("Kai is in Lisbon.")
    exchanged(laptop, desktop)
    laptop.git("commit", "-q", "--amend", "-m", "another history")
    laptop.git("push", "-q", "--force")
    desktop.write("The shop runs on Fly.")
    before = len(desktop.log)
    for _ in range(2):
        said = refused(desktop, 5, "rewritten", "git merge ", "git reset --hard ")
    assert len(desktop.log) == before + 1
    desktop.git("merge", "-q", "--no-edit", said.partition("`git merge ")[2].partition("`")[0])
    exchanged(desktop, laptop)


def test_unrelated_histories_are_not_thrown_together(mem: Mem, world: Path, hub: Path, laptop: Machine) -> None:
    other = first_machine(mem, world / "other", hub)
    other.write("Another beginning.")
    refused(other, 5, "no commit in common", "git merge --allow-unrelated-histories")


def test_without_a_branch_nothing_is_done(laptop: Machine) -> None:
    laptop.git("checkout", "-q", "--detach")
    laptop.write("Kai is in Lisbon.")
    refused(laptop, 5, "no branch is checked out", "git switch")


@pytest.mark.parametrize("name", ["rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD"])
def test_what_a_person_is_in_the_middle_of_is_left_alone(name: str, laptop: Machine) -> None:
    place = laptop.top / ".git" / name
    place.write_text(laptop.git("rev-parse", "HEAD")) if name.isupper() else place.mkdir()
    laptop.write("Kai is in Lisbon.")
    count = len(laptop.log)
    found = laptop.sync(code=5)
    assert "is under way" in found.err
    assert "--abort" in found.err
    assert len(laptop.log) == count


def test_a_real_rebase_that_stopped_is_left_alone(laptop: Machine, desktop: Machine) -> None:
    path = laptop.write("The shop runs on Fly.")
    exchanged(laptop, desktop)
    for machine, place in ((laptop, "Hetzner"), (desktop, "a Pi")):
        machine.mem("edit", path, "--replace", "Fly", place)
        machine.git("commit", "-qam", place)
    laptop.git("push", "-q")
    desktop.git("config", "merge.mem.driver", "false")
    desktop.git("pull", "-q", "--rebase", code=1)
    refused(desktop, 5, "a rebase is under way", "git rebase --abort")
    desktop.git("rebase", "--abort")
    assert desktop.sync(code=5).err.count(path)


def test_a_shallow_clone_syncs(mem: Mem, world: Path, hub: Path, laptop: Machine, desktop: Machine) -> None:
    laptop.write("Kai is in Lisbon.")
    exchanged(laptop, desktop)
    shallow = other_machine(mem, world / "shallow", f"file://{hub}", "", "--depth", "1")
    shallow.write("The shop runs on Fly.")
    desktop.write("Backups run at three.")
    exchanged(desktop, laptop)
    exchanged(shallow, laptop)


def test_a_shallow_clone_without_what_both_sides_have_in_common_says_so(
    mem: Mem, world: Path, hub: Path, laptop: Machine
) -> None:
    shallow = other_machine(mem, world / "shallow", f"file://{hub}", "", "--depth", "1")
    git(world, "clone", "-q", "--depth", "1", f"file://{hub}", "empty")
    laptop.write("Kai is in Lisbon.")
    laptop.sync()
    shallow.write("The shop runs on Fly.")
    shallow.git("fetch", "-q", "--depth", "1")
    refused(shallow, 5, "shallow clone", "git fetch --unshallow")
    shallow.git("fetch", "-q", "--unshallow")
    exchanged(shallow, laptop)


def test_submodules_stay_where_they_are(mem: Mem, world: Path, hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_config(world.parent / "home", CONFIG + '[protocol "file"]\n\tallow = always\n[submodule]\n\trecurse = true\n')
    git(world, "init", "-q", "--bare", "library.git")
    git(world, "clone", "-q", "library.git", "library")
    git(world / "library", "commit", "-q", "--allow-empty", "-m", "One")
    git(world / "library", "push", "-q")
    project = first_machine(mem, world / "project", hub, "memory")
    project.git("submodule", "add", "-q", str(world / "library.git"), "library")
    project.git("commit", "-qm", "Begin")
    project.git("push", "-qu", "origin", "main")
    project.sync()
    other = other_machine(mem, world / "other", hub, "memory", "--recurse-submodules")
    git(other.top / "library", "commit", "-q", "--allow-empty", "-m", "not pushed")
    here = git(other.top / "library", "rev-parse", "HEAD")
    project.write("Kai is in Lisbon.")
    project.sync()
    other.write("The shop runs on Fly.")
    other.sync()
    assert git(other.top / "library", "rev-parse", "HEAD") == here
    project.sync()
    assert project.texts() == other.texts()


def test_a_workspace_in_a_submodule_is_exchanged_by_the_submodule(
    mem: Mem, world: Path, laptop: Machine, hub: Path
) -> None:
    write_config(world.parent / "home", CONFIG + '[protocol "file"]\n\tallow = always\n')
    git(world, "init", "-q", "project")
    git(world / "project", "submodule", "add", "-q", str(hub), "memory")
    inner = Machine(mem, world / "project/memory", world / "project/memory")
    assert mem("trust", str(inner.root)).code == 0
    inner.write("Kai is in Lisbon.")
    exchanged(inner, laptop)
    inner.git("checkout", "-q", "--detach")  # as `git submodule update` leaves it
    inner.write("The shop runs on Fly.")
    refused(inner, 5, "no branch is checked out")


def test_memory_that_a_filter_keeps_in_another_form_is_not_merged(laptop: Machine, desktop: Machine) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize 9\\n"
    for machine in (laptop, desktop):
        clean = program(machine.top / ".git", "clean", f"printf '{pointer}' \"$(sha256sum | cut -c1-64)\"")
        machine.git("config", "filter.lfs.clean", str(clean))
        machine.git("config", "filter.lfs.smudge", "cat")
    path = laptop.write("The shop runs on Fly.")
    with (laptop.root / ".gitattributes").open("a") as file:
        file.write("entries/** filter=lfs\n")
    laptop.sync()
    desktop.sync()
    text = (laptop.root / path).read_text()
    for machine, place in ((laptop, "Hetzner"), (desktop, "a Pi")):
        (machine.root / path).write_text(text.replace("Fly", place))
    laptop.sync()
    refused(desktop, 5, path, "filter", ".gitattributes")


def test_a_filter_that_is_not_installed_stops_the_commit_with_its_name(laptop: Machine) -> None:
    laptop.git("config", "filter.lfs.clean", "git-lfs-that-is-not-here clean")
    laptop.git("config", "filter.lfs.required", "true")
    (laptop.root / ".gitattributes").write_text("entries/** filter=lfs\n")
    laptop.write("Kai is in Lisbon.")
    refused(laptop, 5, "git-lfs-that-is-not-here")


def test_line_ends_that_git_converts_make_no_commits_and_no_conflicts(laptop: Machine, desktop: Machine) -> None:
    desktop.git("config", "core.autocrlf", "true")
    desktop.git("config", "core.safecrlf", "true")
    path = laptop.write("The shop runs on Fly.\n\nIt costs five.")
    laptop.sync()
    desktop.sync()
    assert b"\r\n" in desktop.texts()[path]
    count = len(desktop.log)
    desktop.sync()
    assert len(desktop.log) == count
    laptop.mem("edit", path, "--replace", "Fly", "Hetzner")
    desktop.mem("edit", path, "--replace", "five", "six")
    desktop.mem("note", "Fed the cat.")
    for machine in (laptop, desktop, laptop, desktop):
        machine.sync()
    assert laptop.git("rev-parse", "HEAD") == desktop.git("rev-parse", "HEAD")
    assert laptop.git("status", "--porcelain") == desktop.git("status", "--porcelain") == ""
    assert b"Hetzner.\n\nIt costs six" in laptop.texts()[path]


def test_two_names_that_are_one_file_here_are_not_merged_into_one(laptop: Machine, desktop: Machine) -> None:
    desktop.git("config", "core.ignoreCase", "true")
    laptop.write("Kai is in Lisbon.", "--path", "Kai.md")
    laptop.write("A kai is a wharf.", "--path", "kai.md")
    laptop.sync()
    refused(desktop, 5, "entries/Kai.md", "entries/kai.md", "rename")
    (laptop.root / "entries/kai.md").rename(laptop.root / "entries/wharf.md")
    exchanged(laptop, desktop)


def test_a_hook_that_fails_stops_the_commit_and_nothing_stays_staged(laptop: Machine, desktop: Machine) -> None:
    (laptop.root / "mine.txt").write_text("mine\n")
    laptop.git("add", "mine.txt")
    hook = program(laptop.top / ".git/hooks", "pre-commit", "echo 'lint: line too long' >&2", "exit 1")
    laptop.write("Kai is in Lisbon.")
    before = laptop.git("status", "--porcelain")
    count = len(laptop.log)
    refused(laptop, 5, "a hook", "lint: line too long", "--no-verify")
    assert laptop.git("status", "--porcelain") == before
    assert len(laptop.log) == count
    hook.unlink()
    laptop.sync()
    assert laptop.git("status", "--porcelain") == "A  mine.txt\n"
    assert laptop.git("show", "--name-only", "--format=").split()[0].startswith("entries/")


@pytest.mark.parametrize("name", ["post-commit", "post-merge", "post-checkout", "post-index-change"])
def test_a_hook_that_fails_afterwards_does_no_harm(name: str, laptop: Machine, desktop: Machine) -> None:
    program(laptop.top / ".git/hooks", name, "exit 1")
    desktop.write("The shop runs on Fly.")
    desktop.sync()
    laptop.write("Kai is in Lisbon.")
    exchanged(laptop, desktop)


def test_a_hook_that_fails_before_the_push_is_named_and_the_memory_committed(laptop: Machine) -> None:
    program(laptop.top / ".git/hooks", "pre-push", "echo 'not from this network' >&2", "exit 1")
    laptop.write("Kai is in Lisbon.")
    refused(laptop, 5, "push", "not from this network")
    assert laptop.log[0] == "memory: 1 new"


def test_a_hook_that_syncs_does_not_run_for_ever(laptop: Machine, world: Path) -> None:
    """The hook's own sync finds the lock, and neither takes git's variables for its own nor keeps the first waiting."""
    told = world / "told"
    run = f"{sys.executable} -m memcli sync -q --workspace {laptop.root}"
    program(
        laptop.top / ".git/hooks", "post-commit", f"PYTHONPATH={Path(memcli.__file__).parent.parent} {run} 2>>{told}"
    )
    laptop.write("Kai is in Lisbon.")
    laptop.sync()
    assert "busy" in told.read_text()
    assert len(laptop.log) == 2


def test_our_own_hooks_let_a_sync_pass(laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for hook in ("pre-commit", "post-commit", "post-merge"):
        program(laptop.top / ".git/hooks", hook, f'[ -n "$MEM_INSIDE_HOOK" ] && exit 0; echo {hook} ran >&2; exit 1')
    desktop.write("The shop runs on Fly.")
    desktop.sync()
    laptop.write("Kai is in Lisbon.")
    exchanged(laptop, desktop)


def test_who_has_no_name_is_told_how_to_get_one(laptop: Machine, world: Path) -> None:
    write_config(world.parent / "home", "[user]\n\tuseConfigOnly = true\n")
    laptop.write("Kai is in Lisbon.")
    refused(laptop, 2, "who you are", "git config --global user.name", "user.email")
    write_config(world.parent / "home")
    laptop.sync()


def test_a_lock_of_gits_that_was_left_behind_is_named(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memcli.git.repository._PATIENCE", 0.1)
    lock = laptop.top / ".git/index.lock"
    lock.write_text("")
    laptop.write("Kai is in Lisbon.")
    refused(laptop, 75, "index.lock", "delete that file")
    lock.unlink()
    (laptop.top / ".git/refs/heads/main.lock").write_text("")
    refused(laptop, 75, "main.lock", "delete that file")
    (laptop.top / ".git/refs/heads/main.lock").unlink()
    laptop.sync()


def test_a_lock_that_another_git_gives_up_is_waited_for(laptop: Machine) -> None:
    lock = laptop.top / ".git/index.lock"
    lock.write_text("")
    threading.Timer(0.5, lock.unlink).start()
    laptop.write("Kai is in Lisbon.")
    laptop.sync()


@pytest.mark.parametrize("driver", ["kill -9 $$", "/nowhere/mem merge-driver", "exit 2", "echo rubbish >%A; exit 0"])
def test_a_merge_driver_that_is_broken_does_not_matter(driver: str, laptop: Machine, desktop: Machine) -> None:
    desktop.git("config", "merge.mem.driver", driver)
    path = laptop.write("The shop runs on Fly.")
    exchanged(laptop, desktop)
    laptop.mem("edit", path, "--replace", "Fly", "Hetzner")
    laptop.mem("note", "Fed the cat.")
    laptop.sync()
    desktop.mem("write", "The shop runs on Fly.", "--id", path, "--tag", "infra")
    desktop.mem("note", "Watered the plants.")
    exchanged(desktop, laptop)
    assert b"Hetzner" in desktop.texts()[path]
    assert b"infra" in desktop.texts()[path]


def test_clocks_a_day_apart_lose_nothing(laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = laptop.write("The shop runs on Fly.\n\nIt costs five.")
    exchanged(laptop, desktop)
    for machine, now, old, new in (
        (laptop, "2026-11-21T09:00:00Z", "Fly", "Hetzner"),
        (desktop, "2026-11-20T09:00:00Z", "five", "six"),
    ):
        monkeypatch.setenv("MEM_NOW", now)
        machine.mem("edit", path, "--replace", old, new)
        machine.mem("history", "add", f"It was {old}.")
        machine.mem("note", f"Now {new}.")
    exchanged(laptop, desktop)
    text = laptop.texts()[path].decode()
    assert "Hetzner.\n\nIt costs six" in text
    assert "updated_at: 2026-11-21T09:00:00Z" in text
    assert laptop.mem("check").out == ""


def test_a_commit_that_deletes_the_workspace_is_not_merged(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    project.write("Kai is in Lisbon.")
    (project.top / "app.py").write_text("one\n")
    project.commit("Begin")
    project.git("push", "-qu", "origin", "main")
    other = other_machine(mem, world / "other", hub, "memory")
    project.git("rm", "-rq", "memory")
    project.git("commit", "-qm", "Tidy up")
    project.git("push", "-q")
    for _ in range(2):
        refused(other, 5, "has deleted the workspace", "git merge ")
    other.write("The shop runs on Fly.")
    refused(other, 5, "has deleted the workspace")
    project.git("revert", "--no-edit", "HEAD")
    project.git("push", "-q")
    exchanged(other, project)


@pytest.mark.parametrize("has_clash", [False, True])
@pytest.mark.parametrize("name", ["notes/2026-11-21.md", "sessions/2026-11-21/talk.jsonl", "mine.txt"])
def test_a_file_that_git_ignores_is_not_overwritten_by_one_that_comes_in(
    name: str, has_clash: bool, laptop: Machine, desktop: Machine
) -> None:
    path = laptop.write("The shop runs on Fly.")
    exchanged(laptop, desktop)
    (desktop.root / ".git/info/exclude").write_text("notes/\nmine.txt\n")
    for machine in (laptop, desktop):
        (machine.root / name).parent.mkdir(parents=True, exist_ok=True)
        (machine.root / name).write_text(f'{{"role": "user", "text": "Kept on the {machine.root.name}."}}\n')
    laptop.git("add", "--force", name)
    laptop.git("commit", "-qm", "By hand")
    laptop.git("push", "-q")
    if has_clash:
        laptop.mem("edit", path, "--replace", "Fly", "Hetzner")
        laptop.sync()
        desktop.mem("edit", path, "--replace", "Fly", "a Pi")
    refused(desktop, 5, name, "move them away")
    assert "desktop" in (desktop.root / name).read_text()
    (desktop.root / name).unlink()
    desktop.sync(code=5 if has_clash else 0)
    assert "laptop" in (desktop.root / name).read_text()


@pytest.mark.parametrize("to", ["known", "docs/memory"])
@pytest.mark.parametrize("has_more", [False, True])
def test_a_workspace_that_was_moved_is_told_as_moved(to: str, has_more: bool, mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    path = project.write("Kai is in Lisbon.")
    (project.top / "app.py").write_text("one\n")
    project.commit("Begin")
    project.git("push", "-qu", "origin", "main")
    other = other_machine(mem, world / "other", hub, "memory")
    (project.top / to).parent.mkdir(exist_ok=True)
    project.git("mv", "memory", to)
    project.git("commit", "-qm", "Tidy up")
    project.git("push", "-q")
    if has_more:
        other.mem("edit", path, "--replace", "Lisbon", "Porto")
    said = refused(other, 5, f"has moved the workspace {other.root} to {other.top / to}", "mem trust")
    other.git(*said.partition("`git ")[2].partition("`")[0].split(), "--no-edit")
    moved = [Machine(mem, machine.top / to, machine.top) for machine in (other, project)]
    for machine in moved:
        assert mem("trust", str(machine.root)).code == 0
    if has_more:
        assert "yours to push" in moved[0].sync(code=3).err
        other.git("push", "-q", "origin", "main")
    exchanged(*moved)
    assert (b"Porto" in moved[0].texts()[path]) == has_more


def test_nobody_is_asked_for_a_password(laptop: Machine, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = world / "asked"
    ssh = program(
        world,
        "ssh",
        f"(echo hello >/dev/tty) 2>/dev/null && echo tty >>{asked}",
        "echo 'Permission denied (publickey).' >&2",
        "exit 255",
    )
    for name in ("SSH_ASKPASS", "GIT_ASKPASS"):
        monkeypatch.setenv(name, str(program(world, "ask", f"echo {name} >>{asked}", "echo secret")))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    laptop.git("remote", "set-url", "origin", "ssh://rita@example.org/hub.git")
    refused(laptop, 6, "cannot be reached", "Permission denied")
    assert not asked.exists()


def test_a_password_in_an_address_is_never_shown(laptop: Machine) -> None:
    laptop.git("remote", "set-url", "origin", "http://rita:hunter22secret@127.0.0.1:9/hub.git")
    found = laptop.sync(code=6)
    again = laptop.sync("--remote", "http://x-token:hunter22secret@127.0.0.1:9/hub.git", "--json", code=6)
    assert "hunter22secret" not in found.err + found.out + again.err + again.out
    assert "127.0.0.1" in found.err


def test_a_remote_over_ssh_is_exchanged_with(
    mem: Mem, world: Path, hub: Path, laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = program(world, "ssh", 'shift "$(($# - 1))"', 'exec sh -c "$1"')
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    desktop = other_machine(mem, world / "desktop", f"ssh://rita@example.org{hub}")
    desktop.write("Kai is in Lisbon.")
    laptop.write("The shop runs on Fly.")
    exchanged(desktop, laptop)


def test_a_remote_that_hangs_is_given_up_and_nothing_goes_on_running(
    laptop: Machine, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = world / "pid"
    ssh = program(world, "ssh", f"echo $$ >{number}", "trap '' HUP", "sleep 600")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    laptop.git("remote", "set-url", "origin", "ssh://rita@example.org/hub.git")
    for seconds in (1, 8, 64):  # a busy machine may not have begun it after one
        monkeypatch.setenv("MEM_SYNC_TIMEOUT", str(seconds))
        begun = time.monotonic()
        refused(laptop, 6, f"more than {seconds} s", "mem sync")
        assert time.monotonic() - begun < seconds + 60
        if number.exists():
            break
    ended = Path("/proc", number.read_text().strip(), "cmdline")
    assert not ended.exists() or not ended.read_bytes()  # a zombie until somebody asks how it ended


def test_nothing_is_signed_by_surprise(laptop: Machine, desktop: Machine, world: Path) -> None:
    evil = program(world, "gpg", f"touch {world}/signed", "exit 1")
    for setting in ("commit.gpgSign", "tag.gpgSign", "push.gpgSign"):
        laptop.git("config", setting, "true")
    laptop.git("config", "gpg.program", str(evil))
    desktop.write("The shop runs on Fly.")
    desktop.sync()
    laptop.write("Kai is in Lisbon.")
    exchanged(laptop, desktop)
    assert not (world / "signed").exists()


def test_no_editor_and_no_pager_is_opened(
    laptop: Machine, desktop: Machine, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = program(world, "editor", f"touch {world}/opened", "exit 1")
    for name in ("GIT_EDITOR", "VISUAL", "EDITOR", "PAGER", "GIT_PAGER"):
        monkeypatch.setenv(name, str(evil))
    laptop.git("config", "core.editor", str(evil))
    laptop.git("config", "core.pager", str(evil))
    laptop.git("config", "merge.ff", "false")
    laptop.git("config", "commit.verbose", "true")
    desktop.write("The shop runs on Fly.")
    desktop.sync()
    laptop.write("Kai is in Lisbon.")
    exchanged(laptop, desktop)
    assert not (world / "opened").exists()


def test_a_workspace_that_git_ignores_is_named(mem: Mem, world: Path, hub: Path) -> None:
    project = first_machine(mem, world / "project", hub, "memory")
    (project.top / ".gitignore").write_text("*.log\n/memory/\n")
    project.commit("Begin", ".gitignore")
    refused(project, 5, "git ignores", ".gitignore:2")


def test_a_folder_without_a_repository_is_told_what_to_do(mem: Mem, workspace: Path) -> None:
    ran = mem("sync")
    assert ran.code == 2
    assert "git init" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_repository_without_a_remote_is_committed_to_and_says_so(mem: Mem, workspace: Path) -> None:
    git(workspace, "init", "-q")
    ran = mem("sync")
    assert ran.code == 3
    assert ran.out == "committed\t1 on the page, 1 in settings, 2 in other files\n"
    assert "git remote add origin" in ran.err
    assert git(workspace, "log", "--format=%s") == "memory: 1 on the page, 1 in settings, 2 in other files\n"


def test_a_clone_that_is_not_trusted_runs_nothing(mem: Mem, world: Path, laptop: Machine, hub: Path) -> None:
    git(world, "clone", "-q", str(hub), "clone")
    program(world / "clone/.git/hooks", "pre-commit", f"touch {world}/ran")
    ran = mem("sync", "--workspace", str(world / "clone"))
    assert ran.code == 5
    assert "mem trust" in ran.err
    assert not (world / "ran").exists()


@pytest.mark.parametrize("name", ["nobody", "--upload-pack=touch /tmp/x"])
def test_a_remote_that_there_is_not_is_a_slip_of_the_pen(name: str, laptop: Machine) -> None:
    ran = laptop.run("sync", f"--remote={name}", "--workspace", str(laptop.root))
    assert ran.code in (2, 6)
    assert len(ran.err.splitlines()) == 1


def test_a_second_sync_of_the_same_workspace_waits_for_another_time(laptop: Machine) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(laptop.root / ".mem" / "sync", command="mem sync", now=NOW):
            held.set()
            done.wait(60)

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(60)
    refused(laptop, 75, "busy", "mem sync")
    done.set()
    other.join()


def test_a_memory_written_while_it_syncs_is_not_lost(
    laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent changes the very file that comes in, between the commit and the merge."""
    path = laptop.write("The shop runs on Fly.\n\nIt costs five.")
    exchanged(laptop, desktop)
    desktop.mem("edit", path, "--replace", "Fly", "Hetzner")
    desktop.sync()
    fetched: Callable[..., str] = sync.fetched
    changes = iter(["six", "seven"])

    def meanwhile(*args: object) -> str:
        found = fetched(*args)
        for value in changes:
            text = (laptop.root / path).read_text()
            (laptop.root / path).write_text(text[: text.index("costs")] + f"costs {value}.\n")
            break
        return found

    monkeypatch.setattr(sync, "fetched", meanwhile)
    laptop.sync()
    monkeypatch.setattr(sync, "fetched", fetched)
    exchanged(laptop, desktop)
    assert b"Hetzner.\n\nIt costs seven" in desktop.texts()[path]


def test_machines_that_sync_at_the_same_moment_all_get_through(
    mem: Mem, world: Path, hub: Path, laptop: Machine
) -> None:
    machines = [laptop, *(other_machine(mem, world / f"other{number}", hub) for number in range(3))]
    for round_ in range(2):
        for number, machine in enumerate(machines):
            machine.write(f"Machine {number} saw event {round_} of the day.")
            machine.mem("note", f"Machine {number} was here {round_}.")
        command = [sys.executable, "-m", "memcli", "sync", "--workspace"]
        running = [
            subprocess.Popen([*command, str(machine.root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for machine in machines
        ]
        ended = [Ran(process.wait(), *process.communicate()) for process in running]
        assert [ran.code for ran in ended] == [0] * 4, ended
    for machine in machines:
        machine.sync()
    assert len({tuple(machine.texts().items()) for machine in machines}) == 1
    told = b"".join(machines[0].texts().values())
    for number in range(4):
        for round_ in range(2):
            assert told.count(f"Machine {number} saw event {round_}".encode()) == 1
            assert told.count(f"Machine {number} was here {round_}".encode()) == 1
