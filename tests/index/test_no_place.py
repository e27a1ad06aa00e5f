"""Where nothing can be kept, everything is still found, and nothing is left lying about."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.fakes import CountingEmbedder
from tests.index.permissions import as_nobody, close, reopen


@pytest.fixture
def zoo(mem: Mem, open_folder: Path, tmp_path: Path, embedder: CountingEmbedder) -> Path:
    """Keep two memories in a folder that anybody can reach."""
    assert mem("init").code == 0
    entries = open_folder / "memory" / "entries"
    entries.mkdir()
    (entries / "a.md").write_text("---\nid: mem_01kajd3v7m4kq7tz\n---\nthe quagga sleeps\n")
    (entries / "b.md").write_text("the okapi wakes\n")
    (open_folder / ".cache").mkdir()
    # Root's interpreter may be where others cannot read it: load what the tests need.
    shutil.copytree(open_folder / "memory", tmp_path / "warm")
    for words in (("index",), ("ls",), ("grep", "the"), ("search", "a"), ("read", "entries/a.md"), ("write", "x")):
        assert mem(*words, "--workspace", str(tmp_path / "warm")).code == 0
    embedder.embedded.clear()
    return open_folder / "memory"


def assert_right(mem: Mem, *, kept: bool) -> None:
    for query, path in (("quagga", "entries/a.md"), ("who wakes", "entries/b.md")):
        ran = mem("search", query, "--json")
        assert (ran.code, ran.json["hits"][0]["path"], ran.json["problems"]) == (0, path, [])
        assert (ran.json["not_embedded"] == 0) == kept
        assert ran.err.count("\n") == (not kept)
    assert len(mem("ls").rows) == 2
    assert mem("grep", "-c", "the").out == "memory/entries/a.md:1\nmemory/entries/b.md:1\n"
    assert mem("read", "mem_01kajd3v7m4kq7tz").out == "the quagga sleeps\n"
    assert mem("read", "4kq7tz").out == "the quagga sleeps\n"


def everything(root: Path) -> list[Path]:
    return sorted(root.rglob("*"))


@pytest.mark.parametrize("indexed", [False, True], ids=["new", "indexed before"])
def test_a_read_only_workspace_keeps_its_index_in_the_users_cache(
    mem: Mem, zoo: Path, embedder: CountingEmbedder, indexed: bool
) -> None:
    with as_nobody(zoo.parent):
        if indexed:
            assert mem("index").code == 0
        close(zoo)
        before = everything(zoo)
        assert_right(mem, kept=True)
        embedder.embedded.clear()
        assert_right(mem, kept=True)
        assert embedder.embedded == ["quagga", "who wakes"]
        assert mem("index", "--rebuild").code == 0
        assert everything(zoo) == before
        assert list((zoo.parent / ".cache").rglob("index.db"))
        reopen(zoo)
        (zoo / "entries" / "b.md").chmod(0o644)
        (zoo / "entries" / "b.md").write_text("the zebra wakes\n")
        assert mem("search", "zebra", "--mode", "keyword").rows[0][1] == "entries/b.md"


@pytest.mark.parametrize("home", ["closed", "absent", "a file", "unset"])
def test_without_any_place_the_index_lives_as_long_as_the_command(
    mem: Mem, zoo: Path, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    def nobodys() -> Path:
        raise RuntimeError("Could not determine home directory.")

    if home == "unset":
        monkeypatch.delenv("HOME")
        monkeypatch.setattr(Path, "home", nobodys)
    elif home != "closed":
        monkeypatch.setenv("HOME", str(zoo / "MEMORY.md") if home == "a file" else "/nonexistent/home")
    with as_nobody(zoo.parent):
        close(zoo.parent)
        before = everything(zoo.parent)
        assert_right(mem, kept=False)
        assert mem("index", "--status").code == 0
        assert everything(zoo.parent) == before


def test_an_index_that_may_not_be_written_is_read_and_kept_up_in_memory(
    mem: Mem, zoo: Path, embedder: CountingEmbedder
) -> None:
    with as_nobody(zoo.parent):
        assert mem("index").code == 0
        for file in (zoo / ".mem").iterdir():
            file.chmod(0o444)
        assert_right(mem, kept=True)
        (zoo / "entries" / "c.md").write_text("the zebra dreams\n")
        assert mem("search", "zebra", "--json").json["hits"][0]["path"] == "entries/c.md"
        assert len(mem("ls").rows) == 3


def test_writing_where_nothing_can_be_written_is_refused_in_one_line(mem: Mem, zoo: Path) -> None:
    with as_nobody(zoo.parent):
        close(zoo)
        ran = mem("write", "a new one")
    assert (ran.code, ran.out, ran.err.count("\n")) == (5, "", 1)
    assert "permission denied" in ran.err
