"""git merges memories by `mem merge-driver`; whatever becomes of that process, nobody's text is lost."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memcli.formats.frontmatter.document import parse
from memcli.git import merge_driver
from tests.tables import cases
from tests.two_branches import OURS, THEIRS, Repository

ENTRY = "entries/2026-11/a.md"
BASE = "---\nid: mem_a\ntags: [x]\nupdated_at: 2026-11-21T10:00:00Z\n---\n\nFirst.\n\nSecond.\n"
HERE = BASE.replace("[x]", "[x, here]").replace("First", "Erst").replace("T10", "T11")
THERE = BASE.replace("[x]", "[x, there]").replace("Second", "Zwei").replace("T10", "T12")
BOTH = BASE.replace("[x]", "[x, there, here]").replace("First", "Erst").replace("Second", "Zwei").replace("T10", "T12")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "it's a repo")


def program(folder: Path, script: str) -> None:
    """Make a program `mem` that does something else, and let git find it as the driver."""
    path = folder / "mem"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def with_driver(repository: Repository, script: str, at: Path) -> None:
    program(at, script)
    command = repository.git("config", "merge.mem.driver").strip()
    mem = merge_driver.mem_path()
    assert mem in command
    repository.git("config", "merge.mem.driver", command.replace(mem, str(at / "mem")))


def test_fields_that_two_machines_changed_merge(repository: Repository) -> None:
    assert repository.merged(ENTRY, BASE, HERE, THERE) == (BOTH.encode(), True)


def test_a_merge_on_either_machine_makes_the_same_commit(repository: Repository) -> None:
    repository.merged(ENTRY, BASE, HERE, THERE)
    one = repository.git("rev-parse", "HEAD^{tree}")
    repository.git("reset", "-q", "--hard", "HEAD^")
    assert repository.merge(OURS, THEIRS)
    assert repository.git("rev-parse", "HEAD^{tree}") == one


def test_line_ends_and_the_mark_of_windows_editors_stay(repository: Repository) -> None:
    base, here, there, both = (f"\ufeff{text}".replace("\n", "\r\n") for text in (BASE, HERE, THERE, BOTH))
    assert repository.merged(ENTRY, base, here, there) == (both.encode(), True)


@cases("name")
def test_a_name_that_a_shell_would_read_merges_as_any_other(repository: Repository, name: str) -> None:
    path = f"entries/{name}"
    assert repository.merged(path, BASE, HERE, THERE) == (BOTH.encode(), True)
    assert not list(repository.top.rglob("gone"))


@pytest.mark.parametrize("folder", [".", "memory", "a/b c/memory"])
def test_a_workspace_may_lie_anywhere_in_the_repository(tmp_path: Path, folder: str) -> None:
    assert Repository(tmp_path / "repo", folder).merged(ENTRY, BASE, HERE, THERE) == (BOTH.encode(), True)


def test_the_layout_of_the_workspace_says_what_a_file_is(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repo")
    (repository.root / "mem.yaml").write_text("format: 1\nlayout: openclaw\npaths.entries: facts\n")
    assert repository.merged("facts/a.md", BASE, HERE, THERE) == (BOTH.encode(), True)
    lines = ["[10:00] a\n", "[11:00] b\n", "[12:00] c\n"]
    path = "memory/2026-11-21.md"
    assert repository.merged(path, lines[0], lines[0] + lines[2], lines[0] + lines[1]) == (
        "".join(lines).encode(),
        True,
    )


def test_both_clones_may_have_made_one_file(repository: Repository) -> None:
    lines = ["[10:00] a\n", "[11:00] b\n", "[12:00] c\n"]
    assert repository.merged("notes/2026-11-21.md", None, lines[0] + lines[2], lines[1]) == (
        "".join(lines).encode(),
        True,
    )


def test_a_sentence_that_both_changed_is_for_a_person_and_the_rest_is_merged(repository: Repository) -> None:
    found, is_clean = repository.merged(ENTRY, BASE, HERE, THERE.replace("First.", "Premier."))
    assert not is_clean
    expected = BOTH.replace("Erst.\n", "<<<<<<< ours\nErst.\n=======\nPremier.\n>>>>>>> theirs\n")
    assert found == expected.encode()


@cases("script")
def test_a_driver_that_fails_leaves_the_merge_to_git(repository: Repository, tmp_path: Path, script: str) -> None:
    with_driver(repository, script, tmp_path)
    found, is_clean = repository.merged(ENTRY, BASE, HERE, THERE)
    assert not is_clean
    text = found.decode()
    assert {"Erst.", "Zwei.", "tags: [x, here]", "tags: [x, there]", "<<<<<<< ours", ">>>>>>> theirs"} <= {
        *text.split("\n")
    }
    repository.git("merge", "--abort")
    body = (
        BASE.replace("First", "Erst"),
        BASE.replace("Second", "Zwei"),
        BASE.replace("First", "Erst").replace("Second", "Zwei"),
    )
    repository.git("checkout", "-q", "main")
    assert repository.merged("entries/b.md", BASE, body[0], body[1]) == (body[2].encode(), True)


def test_a_clone_without_the_driver_gets_the_conflicts_of_git(tmp_path: Path) -> None:
    found, is_clean = Repository(tmp_path / "repo", has_driver=False).merged(ENTRY, BASE, HERE, THERE)
    assert not is_clean
    assert b"<<<<<<< " in found


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("entries/x.md", (b"a\n\0", b"b\n\0", b"c\n\0")),
        ("entries/latin.md", (b"caf\xe9\none\n", b"caf\xe9!\none\n", b"caf\xe9?\none\n")),
        ("README.md", (b"a\n", b"b\n", b"c\n")),
    ],
)
def test_what_is_no_memory_is_merged_by_git_itself(
    repository: Repository, path: str, texts: tuple[bytes, bytes, bytes]
) -> None:
    found, is_clean = repository.merged(path, *texts)
    assert not is_clean
    if b"\0" in texts[0]:
        assert found == texts[1]
    else:
        assert all(line in found for text in texts[1:] for line in text.splitlines())


def test_a_broken_frontmatter_keeps_every_line(repository: Repository) -> None:
    base = BASE.replace("[x]", "[x")
    found, _ = repository.merged(ENTRY, base, base.replace("First", "Erst"), base.replace("First", "Premier"))
    assert b"Erst.\n=======\nPremier." in found


def test_a_huge_file_is_merged(repository: Repository) -> None:
    lines = "".join(f"line {number}\n" for number in range(200_000))
    found, is_clean = repository.merged(ENTRY, BASE + lines, HERE + lines, THERE + lines)
    assert is_clean
    assert found == (BOTH + lines).encode()


def test_a_driver_killed_at_its_last_step_leaves_ours_whole(tmp_path: Path) -> None:
    for name, text in (("o", BASE), ("a", HERE), ("b", THERE)):
        (tmp_path / name).write_text(text)
    script = (
        "import os,sys; os.replace = lambda *names: os.kill(os.getpid(), 9)\n"
        "from memcli.git import merge_driver\nmerge_driver.run(sys.argv[1:])"
    )
    names = [str(tmp_path / name) for name in "oab"]
    done = subprocess.run([sys.executable, "-c", script, *names, "7", "entries/a.md"], check=False)
    assert done.returncode == -9
    assert (tmp_path / "a").read_text() == HERE


def test_a_full_disk_leaves_ours_whole_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("o", BASE), ("a", HERE), ("b", THERE)):
        (tmp_path / name).write_text(text)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    names = [str(tmp_path / name) for name in "oab"]
    assert merge_driver.run([*names, "7", "entries/a.md"]) == merge_driver.NOT_OURS
    told = "mem: cannot merge entries/a.md: no space left on device: git merges it by lines\n"
    assert capsys.readouterr().err == told
    assert (tmp_path / "a").read_text() == HERE
    assert not [name for name in os.listdir(tmp_path) if name.startswith((".mem", "a."))]


def test_installing_twice_writes_once_and_uninstalling_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repo", has_driver=False)
    config = repository.top / ".git" / "config"
    before = config.read_bytes()
    assert merge_driver.install(repository.root)
    first = config.stat().st_mtime_ns, config.read_bytes()
    assert merge_driver.install(repository.top)
    assert (config.stat().st_mtime_ns, config.read_bytes()) == first
    assert merge_driver.uninstall(repository.root)
    assert config.read_bytes() == before
    assert not merge_driver.uninstall(repository.root)
    assert not merge_driver.install(tmp_path)


@cases("told", "added")
def test_what_a_person_says_of_merging_stays(tmp_path: Path, told: str, added: str) -> None:
    (tmp_path / ".gitattributes").write_text(told)
    assert merge_driver.attributes_to_add(tmp_path) == added


def test_longer_markers_are_made_where_git_asks_for_them(tmp_path: Path) -> None:
    for name, text in (("o", "a\n"), ("a", "b\n"), ("b", "c\n")):
        (tmp_path / name).write_text(text)
    assert merge_driver.run([*(str(tmp_path / name) for name in "oab"), "11", "entries/a.md"]) == merge_driver.CLASHES
    assert (tmp_path / "a").read_text() == f"{'<' * 11} ours\nb\n{'=' * 11}\nc\n{'>' * 11} theirs\n"


def test_the_driver_loads_little(tmp_path: Path) -> None:
    for name, text in (("o", BASE), ("a", HERE), ("b", THERE)):
        (tmp_path / name).write_text(text)
    script = (
        "import sys; sys.argv[0] = 'mem'\nfrom memcli.__main__ import main\ntry: main()\nfinally: print(*sys.modules)"
    )
    words = [*(str(tmp_path / name) for name in "oab"), "7", "entries/a.md"]
    done = subprocess.run(
        [sys.executable, "-c", script, "merge-driver", *words], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert parse((tmp_path / "a").read_text()).fields["tags"] == ["x", "there", "here"]
    assert not loaded & {
        "typer",
        "yaml",
        "ruamel.yaml",
        "numpy",
        "subprocess",
        "sqlite3",
        "filelock",
        "memcli.git.run",
    }
