"""Names and what they mean: one place, or a list of candidates, never a guess."""

from pathlib import Path

import pytest

from tests.conftest import Mem

ONE, TWO, THREE = "mem_01m7zxg5e0nr2z1j", "mem_01m7zxg5e0abcdef", "mem_01kajd3v7mqq2z1j"


@pytest.fixture
def zoo(workspace: Path) -> Path:
    """Keep three memories with ids that share their beginning or their end, and other places."""
    for name, identifier, text in (
        ("entries/2026-11/quagga-nr2z1j.md", ONE, "one"),
        ("entries/deep/er/okapi.md", TWO, "two"),
        ("entries/zebra.md", THREE, "three"),
    ):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"---\nid: {identifier}\n---\n{text}\n")
    (workspace / "entries" / "plain.md").write_text("four\n")
    (workspace / "MEMORY.md").write_text("# A\n\nfive\n\n# A\n\nsix\n\n## A-2\n\nseven\n")
    (workspace / "HISTORY-2026-11.md").write_text(
        "## 2026-11-02T10:00:00Z <!-- hist_a1 -->\n\neight\n\n[2026-11-03 10:00] nine\n"
    )
    (workspace / "notes").mkdir()
    (workspace / "notes" / "2026-11-21.md").write_text("[10:00] ten\n[10:05] eleven\n")
    return workspace


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (ONE, "one"),
        (TWO, "two"),
        (THREE, "three"),
        ("mem_01m7zxg5e0a", "two"),
        ("01kaj", "three"),
        ("nr2z1j", "one"),
        ("abcdef", "two"),
        ("entries/zebra.md", "three"),
        ("zebra.md", "three"),
        ("zebra", "three"),
        ("deep/er/okapi.md", "two"),
        ("memory/entries/zebra.md", "three"),
        ("entries/plain.md", "four"),
        ("MEMORY.md#a", "# A\n\nfive"),
        ("MEMORY.md#a-2", "# A\n\nsix"),
        ("MEMORY.md#a-2-2", "## A-2\n\nseven"),
        ("MEMORY.md#L3", "five"),
        ("hist_a1", "## 2026-11-02T10:00:00Z <!-- hist_a1 -->\n\neight"),
        ("HISTORY-2026-11.md#hist_a1", "## 2026-11-02T10:00:00Z <!-- hist_a1 -->\n\neight"),
        ("HISTORY-2026-11.md#L5", "[2026-11-03 10:00] nine"),
        ("notes/2026-11-21.md#10:05", "[10:05] eleven"),
        ("notes/2026-11-21.md#10:00-10:05", "[10:00] ten\n[10:05] eleven"),
    ],
)
def test_a_name_means_one_place(mem: Mem, zoo: Path, name: str, text: str) -> None:
    ran = mem("read", name)
    assert (ran.code, ran.out.strip()) == (0, text)
    assert mem("read", name, "--json").json["content"].strip() == text


@pytest.mark.parametrize("name", ["2z1j", "mem_01m7zxg5e0", "mem_", "m"])
def test_a_part_that_several_ids_have_lists_them(mem: Mem, zoo: Path, name: str) -> None:
    ran = mem("read", name)
    assert (ran.code, ran.out) == (4, "")
    assert f"{name!r} may be any of" in ran.err
    assert ran.err.count("entries/") >= 2


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "nosuch", "mem_01m7zxg5e0nr2z1k", "entries/no.md", "MEMORY.md#no", "#a", "..", "%", "a\x00b", ".md"),
        *("/etc/hostname", "../../etc/hostname", "entries", "entries/", "entries/pl", "md", "n.md", ".mem/index.db"),
    ],
)
@pytest.mark.parametrize("command", [("read",), ("forget",), ("forget", "--purge"), ("edit", "--replace", "a", "b")])
def test_what_names_nothing_changes_nothing(mem: Mem, zoo: Path, name: str, command: tuple[str, ...]) -> None:
    assert mem("index", "--status").code == 0
    before = {path: path.read_bytes() for path in zoo.rglob("*.md")}
    ran = mem(command[0], name, *command[1:]) if command[0] == "edit" else mem(*command, name)
    assert ran.code in ((2,) if (name, command) == ("", ("read",)) else (4, 5)), ran
    assert (ran.out, ran.err.count("\n")) == ("", 1)
    assert {path: path.read_bytes() for path in zoo.rglob("*.md")} == before


def test_one_memory_alone_is_not_meant_by_nothing(mem: Mem, workspace: Path) -> None:
    path = mem("write", "the only one").rows[0][2]
    for command in (("forget",), ("forget", "--purge"), ("read",)):
        assert mem(*command, "").code in (2, 4)
    assert Path(path).exists()


def test_every_address_a_search_gives_is_read(mem: Mem, zoo: Path) -> None:
    for query in ("one two three four five six seven eight nine ten eleven", "a"):
        for hit in mem("search", query, "--mode", "keyword", "-n", "30", "--json").json["hits"]:
            ran = mem("read", hit["id"])
            assert ran.code == 0, hit
            assert hit["summary"].split(" ")[-1].strip("…") in ran.out, hit


def test_a_moved_file_is_read_by_its_id(mem: Mem, zoo: Path) -> None:
    assert mem("read", ONE).code == 0
    (zoo / "entries" / "2026-11" / "quagga-nr2z1j.md").rename(zoo / "entries" / "elsewhere.md")
    assert mem("read", ONE, "--json").json["path"] == "entries/elsewhere.md"
    (zoo / "entries" / "elsewhere.md").write_text(f"---\nid: {TWO}x\n---\nanother\n")
    assert mem("read", ONE).code == 4


def test_two_files_of_one_id_are_read_as_one_but_not_changed_as_one(mem: Mem, zoo: Path) -> None:
    twin = zoo / "entries" / "twin.md"
    twin.write_text(f"---\nid: {ONE}\n---\ntwin\n")
    assert mem("read", ONE).out == "one\n"
    for command in (("forget", ONE), ("write", "x", "--id", ONE), ("edit", ONE, "--replace", "one", "x")):
        ran = mem(*command)
        assert (ran.code, ran.out) == (4, "")
        assert "entries/twin.md" in ran.err
    assert mem("forget", "entries/twin.md").code == 0


def test_a_forgotten_memory_is_still_named_by_its_id(mem: Mem, zoo: Path) -> None:
    assert mem("forget", THREE).code == 0
    assert mem("read", THREE).out == "three\n"
    assert mem("restore", THREE).code == 0
    assert mem("read", "entries/zebra.md").out == "three\n"


@pytest.mark.parametrize("name", ["3", "mem_", "m", "qq", "0ab"])
def test_a_slip_of_the_finger_names_no_memory_to_be_changed(mem: Mem, zoo: Path, name: str) -> None:
    before = {path: path.read_bytes() for path in zoo.rglob("*.md")}
    for words in (("forget", name), ("forget", "--purge", name), ("restore", name), ("supersede", name, ONE)):
        ran = mem(*words)
        assert (ran.code, ran.out) in ((2, ""), (4, "")), words
    assert {path: path.read_bytes() for path in zoo.rglob("*.md")} == before


def test_how_much_of_an_id_it_takes_to_change_a_memory_is_said(mem: Mem, zoo: Path) -> None:
    for words in (("forget", "def"), ("edit", "mem_01k", "--replace", "three", "3"), ("supersede", "def", ONE)):
        ran = mem(*words)
        assert ran.code == 2
        assert "give 4 characters of it or more, or the path" in ran.err
    assert mem("read", "def").code == 0
    assert mem("forget", "cdef").code == 0
    assert not (zoo / "entries/deep/er/okapi.md").exists()


def test_a_short_name_of_a_file_is_enough(mem: Mem, zoo: Path) -> None:
    (zoo / "entries/qq.md").write_text("four\n")
    assert mem("forget", "qq").code == 0
    assert (zoo / "archive/entries/qq.md").exists()
