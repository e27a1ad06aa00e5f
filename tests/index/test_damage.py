"""Whatever happens to the files in `.mem`, a search answers as if it had not, or makes them anew; memories stay."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memcli.index import database
from memcli.index.database import verify
from memcli.index.index import Index, ask
from memcli.index.writer import Writer
from memcli.store.workspace import Workspace
from tests import processes
from tests.conftest import Mem
from tests.fakes import CountingEmbedder
from tests.index.contents import assert_as_new

ANIMALS = ("aardvark", "bison", "cheetah", "dingo", "echidna", "fennec", "gecko", "hyena", "ibis", "jackal")


@pytest.fixture
def zoo(workspace: Path) -> Path:
    """Keep ten memories that share few words, and a page."""
    (workspace / "entries").mkdir()
    for animal in ANIMALS:
        (workspace / "entries" / f"{animal}.md").write_text(
            f"---\nid: {animal}\ntype: fact\ntags: [zoo]\n---\nThe {animal} sleeps behind its own fence.\n"
        )
    (workspace / "MEMORY.md").write_text("# Keepers\n\nAnna feeds them.\n")
    return workspace


def assert_right(mem: Mem, *, told: str = "") -> None:
    """Check that every memory is listed and that a search by words and by meaning finds the one it should."""
    assert sorted(row[0] for row in mem("ls").rows) == sorted(ANIMALS)
    for query in ("hyena fence", "where does the hyena sleep"):
        ran = mem("search", query, "--json", "--explain")
        assert (ran.code, ran.json["hits"][0]["id"]) == (0, "hyena")
        assert ran.json["hits"][0]["summary"] == "The hyena sleeps behind its own fence."
        assert ran.json["hits"][0]["parts"]["vector"] > 0
        assert ran.json["not_embedded"] == 0
        assert told in ran.err
        assert len(ran.err.splitlines()) == bool(told)


def cut(keep: float) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, int(path.stat().st_size * keep))


def replaced(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "somebody's.txt").write_text("precious")


def sql(*statements: str) -> Callable[[Path], None]:
    def done(path: Path) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()

    return done


def somebody_elses(path: Path) -> None:
    path.unlink()
    sql("create table meta(key, value)", "create table bookmarks(url)")(path)


INDEX_DAMAGE = {
    "absent": Path.unlink,
    "empty": cut(0),
    "cut in its header": lambda path: os.truncate(path, 60),
    "cut after its first page": lambda path: os.truncate(path, 4096),
    "cut in the middle of a page": cut(0.377),
    "cut near its end": cut(0.97),
    "a text": replaced(b"these are not the bytes you are looking for\n" * 500),
    "a picture": replaced(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 64),
    "a folder": a_folder,
    "another database": somebody_elses,
    "not to be read": lambda path: path.chmod(0),
    "of another version": sql("pragma user_version = 7"),
    "of no version": sql("pragma user_version = 0"),
    "a table gone": sql("drop table chunks"),
    "the words gone": sql("drop table words"),
    "a column of something else": sql("update entries set tags = 'no json'"),
    "numbers that are texts": sql("update files set noted = 'soon', mtime = 'then'"),
    "texts that are others": sql("update texts set text = replace(text, 'hyena', 'hyaena')"),
    "texts that are no utf-8": sql("update texts set text = cast(x'ff' || text as text)"),
    "texts gone": sql("delete from texts"),
    "a path that is another": sql("update files set path = 'entries/hyena2.md' where path = 'entries/hyena.md'"),
    "no token": sql("delete from meta where key = 'token'"),
    "a token that is none": sql("update meta set value = 'xyz' where key = 'token'"),
    "no dimension": sql("delete from meta where key = 'dimension'"),
    "another dimension": sql("update meta set value = 65 where key = 'dimension'"),
    "rows that never were": sql(
        "update vectors set vector = vector + 1000", "update chunks set vector = vector + 1000"
    ),
    "no log of who asked": sql("delete from meta"),
}


@pytest.mark.parametrize("name", INDEX_DAMAGE)
def test_a_damaged_index_answers_or_is_made_anew(mem: Mem, zoo: Path, embedder: CountingEmbedder, name: str) -> None:
    assert_right(mem)
    before = {path: path.read_bytes() for path in zoo.rglob("*.md")}
    INDEX_DAMAGE[name](zoo / ".mem" / "index.db")
    assert_right(mem)
    assert_right(mem)
    assert {path: path.read_bytes() for path in zoo.rglob("*.md")} == before


def test_a_folder_in_the_place_of_the_index_is_put_aside(mem: Mem, zoo: Path, embedder: CountingEmbedder) -> None:
    assert_right(mem)
    a_folder(zoo / ".mem" / "index.db")
    assert_right(mem)
    assert [path.read_text() for path in zoo.glob(".mem/*/somebody's.txt")] == ["precious"]


def test_a_database_behind_a_link_is_never_touched(
    mem: Mem, zoo: Path, tmp_path: Path, embedder: CountingEmbedder
) -> None:
    theirs = tmp_path / "bookmarks.db"
    sql("create table bookmarks(url)", "insert into bookmarks values('https://example.org')")(theirs)
    before = theirs.read_bytes()
    (zoo / ".mem").mkdir(exist_ok=True)
    (zoo / ".mem" / "index.db").symlink_to(theirs)
    assert_right(mem)
    assert theirs.read_bytes() == before


def test_the_index_of_another_workspace_behind_a_link_is_not_taken_for_ours(
    mem: Mem, zoo: Path, tmp_path: Path, embedder: CountingEmbedder
) -> None:
    assert mem("init", str(tmp_path / "other")).code == 0
    assert mem("index", "--workspace", str(tmp_path / "other")).code == 0
    theirs = tmp_path / "other" / ".mem" / "index.db"
    before = theirs.read_bytes()
    (zoo / ".mem").mkdir(exist_ok=True)
    (zoo / ".mem" / "index.db").symlink_to(theirs)
    assert_right(mem)
    assert theirs.read_bytes() == before


def test_a_derived_folder_that_is_a_link_is_not_written_through(
    mem: Mem, zoo: Path, tmp_path: Path, embedder: CountingEmbedder
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    sql("create table bookmarks(url)")(theirs / "index.db")
    shutil.rmtree(zoo / ".mem", ignore_errors=True)
    (zoo / ".mem").symlink_to(theirs)
    assert mem("search", "okapi").code == 5
    assert os.listdir(theirs) == ["index.db"]


def test_a_new_release_keeps_the_vectors(mem: Mem, zoo: Path, embedder: CountingEmbedder) -> None:
    assert_right(mem)
    texts = [text for text in embedder.embedded if "fence" in text and "hyena fence" not in text]
    embedder.embedded.clear()
    sql("pragma user_version = 7", "alter table chunks add column more")(zoo / ".mem" / "index.db")
    assert_right(mem)
    assert len(texts) >= len(ANIMALS)
    assert not any(animal in text for text in embedder.embedded for animal in ANIMALS if animal != "hyena")


def matrix_of(zoo: Path) -> Path:
    (found,) = zoo.glob(".mem/vectors-*.f32")
    return found


def spoilt(value: float, *, rows: slice = slice(None)) -> Callable[[Path], None]:
    def done(path: Path) -> None:
        matrix = np.memmap(path, "<f4", "r+", offset=64, shape=((path.stat().st_size - 64) // 256, 64))
        matrix[rows] = value
        matrix.flush()

    return done


VECTOR_DAMAGE = {
    "absent": Path.unlink,
    "empty": cut(0),
    "cut in its header": lambda path: os.truncate(path, 30),
    "cut in a row": cut(0.41),
    "a text": replaced(b"no vectors at all\n" * 300),
    "a picture": replaced(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20),
    "a folder": a_folder,
    "of another dimension": lambda path: path.write_bytes(
        path.read_bytes()[:12] + (65).to_bytes(4, "little") + path.read_bytes()[16:]
    ),
    "of another generation": lambda path: path.write_bytes(path.read_bytes()[:16] + b"x" * 16 + path.read_bytes()[32:]),
    "all of it NaN": spoilt(np.nan),
    "some of it NaN": spoilt(np.nan, rows=slice(3, 9)),
    "all of it nothing": spoilt(0.0),
    "all of it huge": spoilt(1e30),
    "a hole": spoilt(0.0, rows=slice(2, 6)),
    "longer than it should be": lambda path: path.write_bytes(path.read_bytes() + b"\x7f" * 1000),
}


@pytest.mark.parametrize("name", VECTOR_DAMAGE)
def test_damaged_vectors_are_made_anew(
    mem: Mem, zoo: Path, here: Workspace, embedder: CountingEmbedder, name: str
) -> None:
    assert_right(mem)
    VECTOR_DAMAGE[name](matrix_of(zoo))
    assert_right(mem)

    def every_vector_is_of_its_text(index: Index) -> bool:
        assert_as_new(index)
        rows = index.connection.execute(
            "select vector, prefix || substr(text, start + 1, stop - start) from chunks join texts using(file)"
        ).fetchall()
        matrix = index.embedding.table.matrix()
        assert matrix is not None
        kept = matrix.take([row for row, _ in rows])
        return bool(np.allclose(kept, CountingEmbedder().embed([text for _, text in rows])))

    assert ask(here, every_vector_is_of_its_text)


FLIPS = """
import contextlib, io, os, random, shutil, sys
from pathlib import Path
from memcli.cli.app import run
from memcli.index import embeddings as embedding
from tests.fakes import CountingEmbedder

embedder = CountingEmbedder()
embedding.open_embedder = lambda *args, **options: embedder
embedding.built_in_name = lambda: embedder.model
animals = sys.argv[2].split(",")
derived = Path("memory/.mem")

def mem(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(words))
    return code, out.getvalue()

os.chdir(sys.argv[1])
mem("index")
right = mem("search", "where does the hyena sleep"), mem("ls", "--sort", "path"), mem("grep", "sleeps")
shutil.copytree(derived, "sound")
for seed in range(40):
    random.seed(seed)
    shutil.rmtree(derived)
    shutil.copytree("sound", derived)
    for file in derived.glob("index.db" if seed % 4 else "vectors*"):
        data = bytearray(file.read_bytes())
        for _ in range(random.choice((1, 4, 64))):
            data[random.randrange(len(data))] = random.randrange(256)
        file.write_bytes(data)
    for words in (("search", "hyena"), ("search", "where does the hyena sleep"), ("ls",), ("grep", "sleeps")):
        code, out = mem(*words)
        assert code in (0, 1), (seed, words, code)
    code, out = mem("index")
    assert code == 0, (seed, out)
    again = mem("search", "where does the hyena sleep"), mem("ls", "--sort", "path"), mem("grep", "sleeps")
    if again != right:
        print(seed, again[:2])
"""


def test_flipped_bytes_crash_nothing_and_are_mended_by_the_next_indexing(zoo: Path) -> None:
    ended = processes.run(FLIPS, zoo.parent, ",".join(ANIMALS))
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_an_index_that_reads_wrong_is_noticed_when_it_is_verified(mem: Mem, zoo: Path, here: Workspace) -> None:
    assert mem("ls").code == 0
    ask(here, verify)
    for damage in ("update texts set text = text || 'x'", "update words_content set c2 = 'weasel' where id = 1"):
        index = Index(here, *database.connect(here.derived))
        index.connection.execute(damage)
        if "texts" in damage:
            index.connection.execute("update texts set text = 'x' || text")
        with pytest.raises(sqlite3.DatabaseError):
            verify(index)
        index.close()
        ask(here, verify)
        assert sorted(row[0] for row in mem("ls").rows) == sorted(ANIMALS)


def test_what_fails_in_the_middle_of_a_file_is_taken_back(
    mem: Mem, zoo: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mem("ls").code == 0
    (zoo / "entries" / "hyena.md").write_text("The hyena laughs.\n")
    insert = Writer._keep_chunk

    def failing(self: Writer, *args: Any) -> int:
        if self.connection.execute("pragma database_list").fetchone()[2]:  # not in memory
            raise sqlite3.OperationalError("disk I/O error")
        return insert(self, *args)

    with monkeypatch.context() as broken:
        broken.setattr(Writer, "_keep_chunk", failing)
        assert mem("search", "laughs", "--mode", "keyword").rows[0][4] == "memory/entries/hyena.md:1"
    ask(here, assert_as_new)


def test_what_fails_on_a_new_index_too_is_our_fault_and_costs_no_index(mem: Mem, zoo: Path, here: Workspace) -> None:
    assert mem("ls").code == 0
    before = (zoo / ".mem" / "index.db").stat().st_ino

    def broken(index: Index) -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        ask(here, broken)
    assert (zoo / ".mem" / "index.db").stat().st_ino == before


def test_rebuilding_makes_everything_anew(mem: Mem, zoo: Path, embedder: CountingEmbedder) -> None:
    assert_right(mem)
    shutil.copy(zoo / ".mem" / "index.db", zoo / "old")
    embedder.embedded.clear()
    ran = mem("index", "--rebuild", "--json")
    assert (ran.code, ran.json["added"], ran.json["not_embedded"]) == (0, len(ANIMALS) + 1, 0)
    assert len(embedder.embedded) == len(ANIMALS) + 1
    assert_right(mem)
