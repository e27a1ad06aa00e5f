"""Strange names and strange things in a workspace: each is named or simply works, and the rest is found."""

import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.index.conftest import Put
from tests.index.permissions import as_nobody

SOUND = "the sound one about zebras\n"


@pytest.fixture(autouse=True)
def sound(put: Put) -> Path:
    """Keep one ordinary file beside everything else."""
    return put("sound.md", SOUND)


def problems(mem: Mem) -> dict[str, str]:
    """Index and give the problems told, by path, once it is sure that the sound file is found."""
    ran = mem("index", "--status", "--json")
    told = {problem["path"]: problem["reason"] for problem in ran.json["problems"]}
    is_left_out = any(one["left_out"] or "only its beginning" in one["reason"] for one in ran.json["problems"])
    assert ran.code == (3 if told else 0)
    assert ran.err == ""
    found = mem("search", "zebras", "--mode", "keyword")
    assert (found.code, found.rows[0][4]) == (0, "memory/entries/sound.md:1")
    assert all(line.startswith("mem: ") for line in found.err.splitlines())
    assert len(found.err.splitlines()) == is_left_out
    return told


def paths_found(mem: Mem, query: str) -> list[str]:
    ran = mem("search", query, "--mode", "keyword", "-n", "20", "--json")
    return sorted(hit["path"] for hit in ran.json["hits"])


def linked(to: Path | str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(to)


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(path.parent):  # the whole path may be too long
        one.bind(path.name)


@pytest.mark.parametrize(
    ("name", "make", "reason"),
    [
        ("out.md", linked("/etc/hostname"), "leaves the workspace"),
        ("far", linked("/etc"), "leaves the workspace"),
        ("gone.md", linked("nowhere"), "to nothing"),
        ("self.md", linked("self.md"), "to nothing"),
        ("code", linked("../code"), "a symbolic link to a folder: not followed"),
        ("pipe.md", os.mkfifo, "no regular file"),
        ("socket.md", bound, "no regular file"),
        ("device.md", linked("/dev/null"), "leaves the workspace"),
        ("link-to-pipe.md", linked("../code/pipe"), "no regular file"),
        ("bytes.md", lambda path: path.write_bytes(b"\xe9"), "not UTF-8 (byte 0xe9)"),
        ("nul.md", lambda path: path.write_bytes(b"one\ntwo\0\n"), "a NUL byte"),
        ("merge.md", lambda path: path.write_text("<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n"), "conflict marker"),
        ("open.md", lambda path: path.write_text("---\ntitle: x\n"), "no later `---` line closes"),
        ("colon.md", lambda path: path.write_text("---\ntitle: a: b\n---\n"), "quote the value"),
        ("list.md", lambda path: path.write_text("---\n- a\n---\n"), "a list"),
        ("date.md", lambda path: path.write_text("---\ncreated_at: 2026-02-30\n---\nx\n"), "not a date that exists"),
    ],
)
def test_what_cannot_be_a_memory_is_named_and_the_rest_is_found(
    mem: Mem, workspace: Path, name: str, make: Callable[[Path], None], reason: str
) -> None:
    (workspace / "code").mkdir()
    os.mkfifo(workspace / "code" / "pipe")
    make(workspace / "entries" / name)
    told = problems(mem)
    assert told.keys() == {f"entries/{name}"}
    assert reason in told[f"entries/{name}"]


@pytest.mark.parametrize(
    "name",
    [
        "a b  c.md",
        "two\nlines.md",
        "😀 日記.md",
        "-rf.md",
        "c#.md",
        'it\'s "quoted".md',
        "%s [x].md",
        "a" * 251 + ".md",
    ],
)
def test_a_strange_name_is_as_good_as_any(mem: Mem, put: Put, name: str) -> None:
    path = put(name, "about quaggas\n")
    assert problems(mem) == {}
    (hit,) = mem("search", "quaggas", "--mode", "keyword", "--json").json["hits"]
    assert hit["path"] == f"entries/{name}"
    assert mem("read", hit["id"]).out == "about quaggas\n"
    assert mem("grep", "-F", "quaggas", "--json").json["matches"][0]["path"] == f"entries/{name}"
    path.unlink()
    assert mem("search", "quaggas", "--mode", "keyword").code == 1


def test_a_name_that_is_not_utf8_is_named_as_often_as_there_are_such_files(mem: Mem, workspace: Path) -> None:
    for name in (b"caf\xe9.md", b"caf\xe8.md"):
        Path(os.fsdecode(os.fsencode(workspace / "entries") + b"/" + name)).write_text("quaggas\n")
    for _ in range(3):
        assert problems(mem) == {"entries/caf\ufffd.md": "its name is not UTF-8: rename it"}
        assert len(mem("index", "--status", "--json").json["problems"]) == 1
    os.symlink("nowhere", os.fsencode(workspace / "entries") + b"/\xff.md")
    os.symlink("/etc", os.fsencode(workspace / "entries") + b"/\xfe")
    assert len(problems(mem)) == 3


def test_names_that_differ_only_in_case_are_two_files(mem: Mem, put: Put) -> None:
    put("Twin.md", "first quagga\n")
    put("twin.md", "second quagga\n")
    assert problems(mem) == {}
    assert paths_found(mem, "quagga") == ["entries/Twin.md", "entries/twin.md"]


def test_a_folder_called_like_a_file_is_looked_into(mem: Mem, put: Put, workspace: Path) -> None:
    put("x.md/inner.md", "about quaggas\n")
    (workspace / "MEMORY.md").unlink()
    (workspace / "MEMORY.md").mkdir()
    assert problems(mem) == {}
    assert paths_found(mem, "quaggas") == ["entries/x.md/inner.md"]


def test_hidden_and_unfinished_files_are_passed_over(mem: Mem, put: Put) -> None:
    for name in (".hidden.md", ".mem-tmp-123.md", ".git/x.md", ".obsidian/y.md", "notes.txt", "x.md~", "x.markdown"):
        put(name, "about quaggas\n")
    assert problems(mem) == {}
    assert mem("grep", "-F", "quaggas").code == 1


def test_a_link_to_a_listed_file_is_no_second_memory(mem: Mem, put: Put, workspace: Path) -> None:
    put("real.md", "---\nid: mem_01kajd3v7m4kq7tz\n---\nabout quaggas\n")
    (workspace / "entries" / "alias.md").symlink_to("real.md")
    (workspace / "entries" / "latest").symlink_to(".")
    assert problems(mem) == {}
    assert paths_found(mem, "quaggas") == ["entries/real.md"]
    assert mem("forget", "mem_01kajd3v7m4kq7tz").code == 0


def test_a_link_to_another_file_of_the_workspace_is_followed(mem: Mem, workspace: Path) -> None:
    (workspace / "docs").mkdir()
    (workspace / "docs" / "zoo.md").write_text("about quaggas\n")
    (workspace / "entries" / "zoo.md").symlink_to("../docs/zoo.md")
    assert problems(mem) == {}
    assert paths_found(mem, "quaggas") == ["entries/zoo.md"]
    (workspace / "docs" / "zoo.md").write_text("about okapis\n")
    assert paths_found(mem, "okapis") == ["entries/zoo.md"]


def test_folders_that_lead_in_a_circle_end(mem: Mem, workspace: Path) -> None:
    (workspace / "entries" / "a").mkdir()
    (workspace / "entries" / "a" / "up").symlink_to("..")
    (workspace / "entries" / "one").symlink_to("two")
    (workspace / "entries" / "two").symlink_to("one")
    assert problems(mem) == {}


@pytest.mark.parametrize("folder", ["notes", "archive", "sessions"])
def test_a_whole_folder_of_memories_elsewhere_is_not_followed(
    mem: Mem, workspace: Path, tmp_path: Path, folder: str
) -> None:
    outside = tmp_path / "outside" / "entries"
    outside.mkdir(parents=True)
    (outside / "secret.md").write_text("about quaggas\n")
    (workspace / folder).symlink_to(outside.parent)
    told = problems(mem)
    assert told
    assert all(path.startswith(folder) and "leaves the workspace" in reason for path, reason in told.items())
    assert mem("grep", "-F", "quaggas", "--archived").code == 1


@pytest.mark.parametrize("text", ["", " \n\t\n", "\ufeff", "---\n---\n", "---\n\n---"])
def test_a_file_that_says_nothing_is_no_trouble(mem: Mem, put: Put, text: str) -> None:
    put("blank.md", text)
    assert problems(mem) == {}
    assert [row[0] for row in mem("ls", "blank").rows] == ["entries/blank.md"]
    assert mem("read", "entries/blank.md").code == 0


def test_a_text_of_seven_megabytes_is_found_to_its_end(mem: Mem, put: Put) -> None:
    line = "the quick brown fox jumps over the lazy dog and says nothing of note today\n"
    put("long.md", line * 90_000 + "about quaggas\n")
    (hit,) = mem("search", "quaggas", "--mode", "keyword", "--json").json["hits"]
    assert hit["path"] == "entries/long.md"
    assert mem("grep", "-c", "-F", "quaggas").out == "memory/entries/long.md:1\n"


def test_a_file_larger_than_the_limit_is_indexed_to_the_limit(
    mem: Mem, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.index.file_reader.LONGEST", 100)
    put("long.md", "okapi " + "é" * 60 + " quagga\n")
    told = problems(mem)
    assert list(told.values()) == ["larger than 0 MiB: split it; only its beginning is indexed"]
    assert paths_found(mem, "okapi") == ["entries/long.md"]


def test_two_files_of_one_id_are_both_found_and_the_second_is_named(mem: Mem, put: Put) -> None:
    head = "---\nid: mem_01kajd3v7m4kq7tz\n---\n"
    put("one.md", head + "first quagga\n")
    put("two.md", head + "second quagga\n")
    told = problems(mem)
    assert told == {"entries/two.md": "has the id mem_01kajd3v7m4kq7tz of entries/one.md: give one of them another"}
    assert paths_found(mem, "quagga") == ["entries/one.md", "entries/two.md"]


def test_a_problem_in_a_name_with_a_newline_is_still_one_line(mem: Mem, put: Put) -> None:
    put("two\nlines.md", b"\xff")
    assert list(problems(mem)) == ["entries/two\nlines.md"]
    assert mem("check").out.startswith("memory/entries/two\\nlines.md:1: not UTF-8")


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_folder_that_cannot_be_read_is_named_and_what_was_known_of_it_stays(
    mem: Mem, open_folder: Path, mode: int
) -> None:
    assert mem("init").code == 0
    entries = open_folder / "memory" / "entries"
    (entries / "private").mkdir(parents=True)
    (entries / "private" / "zoo.md").write_text("about quaggas\n")
    (entries / "sound.md").write_text(SOUND)
    with as_nobody(open_folder):
        assert problems(mem) == {}
        (entries / "private").chmod(mode)
        for _ in range(2):
            told = problems(mem)
            assert [path for path in told if path.startswith("entries/private/")] == list(told) != []
            assert all("Permission denied" in reason for reason in told.values())
            assert paths_found(mem, "quaggas") == ["entries/private/zoo.md"]
        (entries / "private").chmod(0o755)
        (entries / "private" / "zoo.md").unlink()
        assert problems(mem) == {}
        assert paths_found(mem, "quaggas") == []


def test_a_file_that_cannot_be_read_is_named_until_it_can_be(mem: Mem, open_folder: Path) -> None:
    assert mem("init").code == 0
    entries = open_folder / "memory" / "entries"
    entries.mkdir()
    (entries / "sound.md").write_text(SOUND)
    (entries / "zoo.md").write_text("about quaggas\n")
    with as_nobody(open_folder):
        (entries / "zoo.md").chmod(0)
        for _ in range(2):
            assert problems(mem) == {"entries/zoo.md": "cannot be read: Permission denied"}
        (entries / "zoo.md").chmod(0o644)
        assert problems(mem) == {}
        assert paths_found(mem, "quaggas") == ["entries/zoo.md"]


def test_a_row_shows_a_path_as_it_is(mem: Mem, put: Put) -> None:
    put("two  blanks.md", "about quaggas\n")
    assert mem("ls", "two").rows[0][3] == "memory/entries/two  blanks.md"
    assert mem("search", "quaggas", "--mode", "keyword").rows[0][4] == "memory/entries/two  blanks.md:1"


@pytest.mark.parametrize(
    ("folder", "shown"),
    [
        (".", "memory/entries/zoo.md"), ("memory", "entries/zoo.md"), ("memory/entries", "zoo.md"),
        ("memory/notes", "../entries/zoo.md"),
    ],
)  # fmt: skip
def test_a_path_is_shown_from_the_folder_one_is_in(
    mem: Mem, put: Put, workspace: Path, monkeypatch: pytest.MonkeyPatch, folder: str, shown: str
) -> None:
    put("zoo.md", "about quaggas\n")
    (workspace / "notes").mkdir()
    monkeypatch.chdir(workspace.parent / folder)
    assert mem("grep", "quaggas").out == f"{shown}:1:about quaggas\n"
