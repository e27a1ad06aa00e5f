"""Other processes read, write, lock and die while an index is asked: answers stay right and the tables sound."""

import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memcli.index import database, updater
from memcli.index import scan as scanning
from memcli.index.embeddings import Embedding
from memcli.index.filters import Filter
from memcli.index.index import Index, ask
from memcli.index.scan import scan
from memcli.store.workspace import Workspace
from tests import processes
from tests.conftest import Mem
from tests.fakes import CountingEmbedder
from tests.index.conftest import Put
from tests.index.contents import assert_as_new


def paths_found(mem: Mem, query: str, *words: str) -> list[str]:
    ran = mem("search", query, "-n", "20", "--json", *words)
    return sorted(hit["path"] for hit in ran.json["hits"])


@pytest.fixture
def meanwhile(here: Workspace, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something happen once, right after a refresh has looked at the disk, and another process index it all."""

    def plan(happening: Callable[[], object]) -> None:
        planned = [happening]

        def scanned(*args: Any) -> Any:
            listing = scan(*args)
            if planned:
                planned.pop()()
                ask(here, Index.refresh)
            return listing

        monkeypatch.setattr(updater, "scan", scanned)

    return plan


HAPPENINGS: dict[str, Callable[[Put, Path], object]] = {
    "nothing": lambda put, entries: None,
    "a new file": lambda put, entries: put("new.md", "about quaggas\n"),
    "a change": lambda put, entries: put("old.md", "about quaggas\n"),
    "a loss": lambda put, entries: (entries / "old.md").unlink(),
    "a loss and a new file": lambda put, entries: ((entries / "old.md").unlink(), put("new.md", "about quaggas\n")),
    "a new name": lambda put, entries: (entries / "old.md").rename(entries / "new.md"),
    "a return": lambda put, entries: put("gone.md", "about quaggas\n"),
}


@pytest.mark.parametrize("known", [False, True], ids=["a first look", "a later look"])
@pytest.mark.parametrize("name", HAPPENINGS)
def test_what_another_process_indexed_meanwhile_is_neither_lost_nor_doubled(
    put: Put,
    workspace: Path,
    here: Workspace,
    meanwhile: Callable[[Callable[[], object]], None],
    name: str,
    known: bool,
) -> None:
    for old in ("old.md", "other.md", "gone.md"):
        put(old, f"about {old}\n")
    if known:
        ask(here, Index.refresh)
    (workspace / "entries" / "gone.md").unlink()
    put("other.md", "changed\n")
    meanwhile(lambda: HAPPENINGS[name](put, workspace / "entries"))

    def texts(index: Index) -> dict[str, str]:
        index.refresh()
        return dict(index.connection.execute("select path, text from files join texts using(file)"))

    told = ask(here, texts)
    on_disk = {path.relative_to(workspace).as_posix(): path.read_text() for path in workspace.rglob("*.md")}
    # Each file as it was at some moment of the question; nothing the other process has indexed is taken out again.
    assert on_disk.items() <= told.items()
    ask(here, assert_as_new)


def test_what_is_taken_out_between_finding_and_showing_is_found_again(
    mem: Mem, put: Put, here: Workspace, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.md", "the quagga sleeps\n")
    assert mem("index").code == 0
    nearest = Embedding.nearest
    others = [lambda: (put("a.md", "the quagga wakes\n"), put("b.md", "an okapi\n"), ask(here, Index.refresh))]

    def interrupted(self: Embedding, *args: Any, **options: Any) -> Any:
        found = nearest(self, *args, **options)
        if others:
            others.pop()()
        return found

    monkeypatch.setattr(Embedding, "nearest", interrupted)
    (hit,) = mem("search", "quagga", "-n", "1", "--json").json["hits"]
    assert (hit["path"], hit["summary"]) == ("entries/a.md", "the quagga wakes")


@pytest.fixture
def locked(workspace: Path, mem: Mem) -> Iterator[sqlite3.Connection]:
    """Hold the index's write lock as another process would."""
    assert mem("index", "--status").code == 0
    other = sqlite3.connect(workspace / ".mem" / "index.db", isolation_level=None)
    other.execute("begin immediate")
    other.execute("delete from files")
    yield other
    other.execute("rollback")
    other.close()


def test_a_locked_index_answers_from_a_copy_that_knows_the_latest_change(
    mem: Mem, put: Put, embedder: CountingEmbedder, locked: sqlite3.Connection
) -> None:
    path = put("new.md", "about quaggas\n")
    assert paths_found(mem, "quaggas") == ["entries/new.md"]
    path.write_text("about okapis\n")
    assert paths_found(mem, "okapis") == ["entries/new.md"]
    assert mem("search", "quaggas", "--mode", "keyword").code == 1
    assert mem("grep", "okapis").out == "memory/entries/new.md:1:about okapis\n"
    assert [row[0] for row in mem("ls").rows] == ["entries/new.md"]
    path.unlink()
    assert mem("ls").out == ""


@pytest.mark.parametrize("known", [False, True], ids=["a new text", "a known text"])
def test_indexing_while_another_process_writes_says_what_is_left(
    mem: Mem, put: Put, workspace: Path, embedder: CountingEmbedder, known: bool
) -> None:
    assert mem("ls").code == 0
    put("new.md", "about quaggas\n")
    if known:
        assert mem("ls").code == 0
    with closing(sqlite3.connect(workspace / ".mem" / "index.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        ran = mem("index")
        assert ran.code == 75
        assert "another process writes the index" in ran.err
        assert mem("index", "--status").code == 0
        other.execute("rollback")
    assert mem("index").code == 0
    assert embedder.embedded[-1:] == ["about quaggas"]


def test_an_index_that_cannot_be_opened_for_a_lock_is_busy_and_not_unavailable(
    mem: Mem, put: Put, workspace: Path, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("new.md", "about quaggas\n")
    assert mem("index").code == 0
    with closing(sqlite3.connect(workspace / ".mem" / "index.db", isolation_level=None)) as other:
        other.execute("pragma journal_mode = delete")
        monkeypatch.setattr("memcli.index.database.LOCK_WAIT", 0.05)
        other.execute("begin exclusive")
        assert mem("index").code == 75
        assert mem("search", "quaggas", "--mode", "keyword").code == 0
        other.execute("rollback")
    assert mem("index").code == 0


@pytest.mark.parametrize("changed", [False, True], ids=["as it is", "in a copy"])
def test_a_locked_index_of_another_model_mixes_no_vectors(
    mem: Mem, put: Put, workspace: Path, embedder: CountingEmbedder, changed: bool
) -> None:
    put("new.md", "about quaggas\n")
    assert mem("index").code == 0
    other = sqlite3.connect(workspace / ".mem" / "index.db", isolation_level=None)
    other.execute("begin immediate")
    embedder.model = "other-64@11111111"
    if changed:
        put("other.md", "about something else\n")
    ran = mem("search", "quaggas", "--json", "--explain")
    other.execute("rollback")
    other.close()
    assert ran.json["hits"][0]["path"] == "entries/new.md"
    assert ran.json["hits"][0]["parts"]["vector"] == 0
    assert ran.json["notices"]


def test_a_locked_index_with_damaged_vectors_still_answers(
    mem: Mem, put: Put, workspace: Path, embedder: CountingEmbedder
) -> None:
    put("new.md", "about quaggas\n")
    assert mem("index").code == 0
    (matrix,) = workspace.glob(".mem/vectors-*.f32")
    data = matrix.read_bytes()
    matrix.write_bytes(data[:64] + b"\xff" * (len(data) - 64))
    other = sqlite3.connect(workspace / ".mem" / "index.db", isolation_level=None)
    other.execute("begin immediate")
    assert paths_found(mem, "quaggas")[0] == "entries/new.md"
    other.execute("rollback")
    other.close()
    assert mem("search", "quaggas", "--explain", "--json").json["hits"][0]["parts"]["vector"] > 0


SEARCH = """
import os
from memcli.cli.app import run
from memcli.index import embeddings as embedding
from tests.fakes import CountingEmbedder

embedding.open_embedder = lambda *args, **options: CountingEmbedder()
embedding.built_in_name = lambda: CountingEmbedder().model
os.chdir(sys.argv[2])
sys.exit(run(["search", "quagga", "--json", "-n", "100"]))
"""


def test_processes_that_index_at_once_all_answer_right(put: Put, workspace: Path, here: Workspace) -> None:
    import json

    for number in range(60):
        put(f"{number}.md", f"the quagga of number {number}\n\n" + f"word{number} " * 200)
    for _ in range(2):
        for ended in processes.race(SEARCH, 5, workspace.parent):
            assert ended.code == 0, ended.err
            found = {hit["path"] for hit in json.loads(ended.out)["hits"]}
            assert {f"entries/{number}.md" for number in range(60)} <= found
        ask(here, assert_as_new)
        (workspace / ".mem" / "index.db").unlink()


KILLED = """
import contextlib, io, json, os, random, signal, sys, time
from datetime import UTC, datetime
from pathlib import Path
from memcli.cli.app import run
from memcli.index import embeddings as embedding
from memcli.index.index import ask
from memcli.store.workspace import Surroundings, opened
from tests.fakes import CountingEmbedder
from tests.index.contents import assert_as_new

embedding.open_embedder = lambda *args, **options: CountingEmbedder()
embedding.built_in_name = lambda: CountingEmbedder().model
os.chdir(sys.argv[1])
entries = Path("memory/entries")
entries.mkdir()
here = opened(Surroundings(Path.cwd(), os.environ, datetime.now(UTC)), Path("memory").resolve())

def mem(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(words))
    return code, out.getvalue(), err.getvalue()

def work(seed):
    chance = random.Random(seed)
    while True:
        for number in range(12):
            text = f"number{number} " + "quagga okapi zebra ".split(" ")[chance.randrange(3)] * chance.randrange(1, 90)
            entries.joinpath(f"{number}.md").write_text(text)
        entries.joinpath(f"{chance.randrange(12)}.md").unlink()
        if chance.random() < 0.2:
            mem("index", "--rebuild")
        elif chance.random() < 0.5:
            mem("index")
        else:
            mem("search", "quagga")

mem("index")
for seed in range(30):
    child = os.fork()
    if child == 0:
        try:
            work(seed)
        finally:
            os._exit(9)
    time.sleep(random.Random(seed).uniform(0.0, 0.12))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "it ended by itself"
    expected = sorted(f"entries/{path.name}" for path in entries.iterdir() if "number" in path.read_text())
    words = " ".join(f"number{number}" for number in range(12))
    code, out, err = mem("search", words, "-n", "40", "--min-score", "0", "--json")
    found = sorted({hit["path"] for hit in json.loads(out)["hits"] if hit["path"] != "MEMORY.md"})
    assert (code, found) == (0 if expected else 1, expected), (seed, code, found, expected, err)
    ask(here, assert_as_new)
    if seed % 5 == 0:
        code, out, err = mem("index", "--json")
        assert (code, json.loads(out)["not_embedded"]) == (0, 0), (seed, out, err)
        assert len(list(Path("memory/.mem").glob("vectors-*"))) == 1, seed
"""


def test_a_process_killed_while_it_indexes_leaves_nothing_wrong_behind(workspace: Path) -> None:
    ended = processes.run(KILLED, workspace.parent)
    assert (ended.code, ended.out, ended.err) == (0, "", "")


FULL = """
import contextlib, io, json, os, resource, shutil, sys
from pathlib import Path
from memcli.cli.app import run
from memcli.index import embeddings as embedding
from tests.fakes import CountingEmbedder

embedding.open_embedder = lambda *args, **options: CountingEmbedder()
embedding.built_in_name = lambda: CountingEmbedder().model
os.chdir(sys.argv[1])

def mem(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(words))
    return code, out.getvalue(), err.getvalue()

def check(size, told):
    code, out, err = mem("search", "quagga", "--json", "-n", "100")
    found = {hit["path"] for hit in json.loads(out)["hits"] if hit["path"] != "MEMORY.md"}
    assert (code, len(found)) == (0, len(list(Path("memory/entries").iterdir()))), (size, code, out, err)
    assert len(err.splitlines()) <= 1 or not told, err

unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
for kept in (False, True):
    for size in (0, 1, 100, 4096, 20_000, 40_000, 100_000, 150_000):
        if not kept:
            shutil.rmtree("memory/.mem", ignore_errors=True)
        Path(f"memory/entries/{kept}{size}.md").write_text(f"the quagga {size} " * 100)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, unlimited[1]))
        check(size, True)
        code, out, err = mem("index", "--json")
        assert code in (0, 6), (size, code, err)
        assert err.count("\\n") <= 2, err
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        check(size, False)
code, out, err = mem("index", "--json")
assert (code, json.loads(out)["not_embedded"]) == (0, 0)
"""


def test_a_full_disk_keeps_nobody_from_an_answer(put: Put, workspace: Path) -> None:
    for number in range(30):
        put(f"{number}.md", f"the quagga of number {number}\n\n" + f"word{number} " * 100)
    ended = processes.run(FULL, workspace.parent)
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_an_index_that_could_not_be_opened_leaves_the_vectors_alone(
    mem: Mem, put: Put, workspace: Path, here: Workspace, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("new.md", "about quaggas\n")
    assert mem("index").code == 0
    before = sorted(workspace.glob(".mem/vectors-*"))

    def refused(path: Path) -> sqlite3.Connection:
        if path == ":memory:":
            return real(path)
        raise sqlite3.OperationalError("unable to open database file")

    real = database._connection
    monkeypatch.setattr(database, "_connection", refused)
    assert paths_found(mem, "quaggas") == ["entries/new.md"]
    assert sorted(workspace.glob(".mem/vectors-*")) == before


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> Iterator[Thread]:
    """Give what looks at the disk for the forks of a warm process, to be started."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    thread = Thread(target=scanning.help_others, args=(theirs,))
    monkeypatch.setattr(scanning, "helper", ours)
    with theirs:
        with ours:
            yield thread
        if thread.ident:
            thread.join()


def write_beside(index: Index) -> None:
    assert index.folder
    with closing(sqlite3.connect(index.folder / database.FILE, isolation_level=None)) as other:
        other.execute("insert or replace into meta values('beside', 1)")


@pytest.mark.parametrize("helps", [True, False], ids=["it helps", "it never answers"])
@pytest.mark.parametrize("change", ["none", "new", "edited", "removed", "the index"])
def test_a_question_is_asked_again_where_the_disk_is_not_as_it_was_taken_to_be(
    here: Workspace, put: Put, helper: Thread, helps: bool, change: str
) -> None:
    paths = [put(name, f"about {name}\n") for name in ("one.md", "two.md")]
    while not ask(here, lambda index: (index.refresh(), index.meta("seen"))[1]):
        time.sleep(0.03)  # until a file could not change any more without its times showing it
    if change == "new":
        put("three.md")
    elif change == "edited":
        paths[0].write_text("About one.md\n")
    elif change == "removed":
        paths[0].unlink()
    if helps:
        helper.start()
    answers: list[list[tuple[str, str]]] = []

    def question(index: Index) -> list[tuple[str, str]]:
        refreshed = index.refresh()
        assert (refreshed.snapshot is None) == (not answers)
        if change == "the index" and not answers:
            write_beside(index)
        answers.append(sorted(index.texts(Filter(kinds=("entry",)))))
        return answers[-1]

    files = sorted((here.root / "entries").glob("*.md"))
    assert ask(here, question, may_guess=True) == [(f"entries/{path.name}", path.read_text()) for path in files]
    assert len(answers) == 1 + (change != "none")


def test_a_question_whose_second_look_meets_a_lock_is_answered_though_it_took_the_disk_for_granted(
    here: Workspace, put: Put, helper: Thread
) -> None:
    put("one.md", "about quaggas\n")
    while not ask(here, lambda index: (index.refresh(), index.meta("seen"))[1]):
        time.sleep(0.03)
    (here.root / "sessions" / "talk").mkdir(parents=True)
    (here.root / "sessions" / "talk" / "session.jsonl").write_text("")
    helper.start()

    def question(index: Index) -> list[tuple[str, str]]:
        index.refresh()
        assert index.workspace.derived
        with closing(sqlite3.connect(index.workspace.derived / database.FILE, isolation_level=None)) as other:
            other.execute("begin immediate")
            index.refresh(talk=True)
            other.execute("rollback")
        return list(index.texts(Filter(kinds=("entry",))))

    made = ask(here, lambda index: index.meta("made"))
    assert ask(here, question, may_guess=True) == [("entries/one.md", "about quaggas\n")]
    assert ask(here, lambda index: index.meta("made")) == made, "the index was thrown away"


def test_a_helper_is_asked_nothing_longer_than_it_reads(here: Workspace, helper: Thread) -> None:
    assert scanning.ask_helper(here.root, replace(here.layout, ignore="drafts/\n" * 10_000)) is None
    answer = scanning.ask_helper(here.root, here.layout)
    assert answer is not None
    answer.close()
