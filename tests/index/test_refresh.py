"""A refresh reads what changed and nothing else."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memcli.index import database, file_updater, updater, writer
from memcli.index.database import verify
from memcli.index.filters import Filter
from memcli.index.index import Index, ask
from memcli.index.scan import scan
from memcli.store.workspace import Surroundings, Workspace, opened
from tests.conftest import Mem
from tests.fakes import CountingEmbedder
from tests.index.conftest import Put
from tests.index.contents import assert_as_new

HEAD = "---\nid: mem_01kajd3v7m4kq7tz\ntype: preference\ntags: [ui, Über]\ncreated_at: 2026-01-02\n---\n\n"
PATHS = (
    *("MEMORY.md", "HISTORY-2026-11.md", "notes/2026-11-21.md", "notes/ideas.md"),
    *("entries/a.md", "entries/sub.md", "entries/sub.md/c.md", "entries/sub.md/d e\n😀.md", "entries/é.md"),
    *("archive/entries/a.md", "sessions/s1/session.jsonl", "README.md", "entries/.hidden.md"),
)
TEXTS = (
    *("", " \n", "plain text\n", HEAD + "Dark mode, please.\n", HEAD + "# One\n\ntext\n\n# Two\n\n" + "words " * 300),
    *("---\ntitle: a: b\n---\nbroken\n", "---\nopen [list\n", "---\n- a list\n---\nbody\n", "---\ntitle: only\n---\n"),
    *(
        "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n",
        HEAD.replace("\n", "\r\n") + "crlf\r\n",
        "\ufeff" + HEAD + "bom",
    ),
    *("记忆是纯文本。用户喜欢深色主题。" * 80, "## 2026-11-02T10:00:00Z <!-- hist_a1 -->\n[2026-11-02 10:00] did it\n"),
    *("[14:15] User: hi | Assistant: ho\n[14:20] later\n", HEAD.replace("---\n\n", "status: superseded\n---\n")),
    *(
        '{"role": "user", "content": "hi"}\n',
        '{"role": "user", "content": "%s"}\n{"role": "assis' % ("long words " * 99),
    ),
    *(
        'tant", "content": "torn"}\n',
        '{"type": "tool_call", "content": "ls"}\n\n{"role": "assistant", "content": "no end"}',
    ),
    *("nul \x00 byte\n", "---\nid: twin\nactive: false\n---\n1\n", "---\nid: twin\ntrust: 7\n---\n2\n"),
)
BYTES = st.sampled_from([text.encode() for text in TEXTS] + [b"bad \xff utf-8\n", HEAD.encode() + b"\xe9\n"])
NAMES = st.sampled_from(PATHS)
NUMBERS = st.integers(0, 30)


class Refreshing(RuleBasedStateMachine):
    """Do to a workspace what editors, git and people do, and look after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.root = self.base / "memory"
        self.root.mkdir()
        self.zone = "UTC"
        self.connection, self.folder, _ = database.connect(database.folder_of(self.root / ".mem", self.base))
        self.connection.execute("pragma synchronous = off")

    def teardown(self) -> None:
        self.connection.close()
        shutil.rmtree(self.base)

    def workspace(self) -> Workspace:
        environ = {"HOME": str(self.base), "MEM_TIMEZONE": self.zone}
        return opened(Surroundings(self.base, environ, datetime(2026, 11, 21, tzinfo=UTC)), self.root)

    def room_for(self, name: str) -> Path:
        """Clear the way for a file: a folder of its name, or a file where a folder must be."""
        path = self.root / name
        for place in (path, *path.parents):
            if place == self.root:
                break
            if place.is_symlink() or (place.is_file() and place != path):
                place.unlink()
        if path.is_dir():
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def one(self, number: int) -> Path:
        """Pick one of the files there are."""
        found = sorted(path for path in self.root.rglob("*") if path.is_file() and ".mem" not in path.parts)
        if not found:
            found = [self.room_for("entries/a.md")]
            found[0].write_text("plain\n")
        return found[number % len(found)]

    @rule(name=NAMES, data=BYTES)
    def write(self, name: str, data: bytes) -> None:
        self.room_for(name).write_bytes(data)

    @initialize(name=NAMES, data=BYTES)
    def begin(self, name: str, data: bytes) -> None:
        self.write(name, data)

    @rule(which=NUMBERS, data=BYTES)
    def append(self, which: int, data: bytes) -> None:
        path = self.one(which)
        path.write_bytes(path.read_bytes() + data)

    @rule(which=NUMBERS, letter=st.sampled_from(b"xyz#\n"))
    def change_a_byte_and_nothing_a_listing_shows(self, which: int, letter: int) -> None:
        path = self.one(which)
        before = path.stat()
        data = bytearray(path.read_bytes() or b"-")
        data[len(data) // 2] = letter
        with path.open("r+b") as file:
            file.write(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(which=NUMBERS, folder=st.booleans())
    def delete(self, which: int, folder: bool) -> None:
        path = self.one(which)
        if folder and path.parent != self.root:
            shutil.rmtree(path.parent)
        else:
            path.unlink()

    @rule(which=NUMBERS, to=NAMES)
    def rename(self, which: int, to: str) -> None:
        path = self.one(which)
        kept = path.read_bytes()
        path.unlink()
        target = self.room_for(to)
        target.write_bytes(kept)

    @rule(which=NUMBERS, to=NAMES)
    def move(self, which: int, to: str) -> None:
        path = self.one(which)
        if path != (target := self.root / to) and path not in target.parents and target not in path.parents:
            path.rename(self.room_for(to))

    @rule(which=NUMBERS, ago=st.integers(0, 10**6))
    def touch(self, which: int, ago: int) -> None:
        os.utime(self.one(which), (1_750_000_000 - ago, 1_750_000_000 - ago))

    @rule(name=NAMES, to=NAMES)
    def link(self, name: str, to: str) -> None:
        path = self.room_for(name)
        path.unlink(missing_ok=True)
        path.symlink_to(self.root / to)

    @rule(zone=st.sampled_from(["UTC", "Asia/Kathmandu"]))
    def move_house(self, zone: str) -> None:
        self.zone = zone

    @invariant()
    def the_index_is_as_one_made_anew(self) -> None:
        assert_as_new(Index(self.workspace(), self.connection, self.folder))


Refreshing.TestCase.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)
test_any_history_of_the_files_leaves_the_same_index = Refreshing.TestCase


@pytest.fixture
def settled(mem: Mem, put: Put, embedder: CountingEmbedder) -> CountingEmbedder:
    """Index a long entry and two short ones; give the embedder with nothing counted yet."""
    put("long.md", "\n\n".join(f"# Part {number}\n\n{f'word{number} ' * 60}" for number in range(8)))
    put("one.md", "about quaggas\n")
    put("two.md", HEAD + "about okapis\n")
    assert mem("index").code == 0
    embedder.embedded.clear()
    return embedder


def counted(mem: Mem) -> tuple[int, int]:
    status = mem("index", "--status", "--json").json
    return status["embedded"], status["not_embedded"]


def test_a_rename_or_a_touch_embeds_nothing(mem: Mem, workspace: Path, settled: CountingEmbedder) -> None:
    before = counted(mem)
    (workspace / "entries" / "one.md").rename(workspace / "entries" / "moved.md")
    (workspace / "entries" / "sub").mkdir()
    (workspace / "entries" / "long.md").rename(workspace / "entries" / "sub" / "long.md")
    for path in (workspace / "entries").rglob("*.md"):
        os.utime(path, (1, 1))
    assert mem("search", "quaggas", "--json").json["hits"][0]["path"] == "entries/moved.md"
    assert settled.embedded == ["quaggas"]
    assert counted(mem) == before


def test_a_branch_and_back_embeds_nothing(mem: Mem, workspace: Path, settled: CountingEmbedder) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *who, *words], cwd=workspace, check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", "-A")
    git("commit", "-m", "one")
    git("checkout", "-b", "other")
    (workspace / "entries" / "one.md").write_text("about zebras\n")
    (workspace / "entries" / "long.md").unlink()
    git("commit", "-a", "-m", "two")
    assert mem("search", "zebras", "--json").json["hits"][0]["path"] == "entries/one.md"
    assert sorted(settled.embedded) == ["about zebras", "zebras"]
    before = counted(mem)
    settled.embedded.clear()
    git("checkout", "main")
    assert mem("search", "quaggas", "--json").json["hits"][0]["path"] == "entries/one.md"
    assert mem("search", "word5", "--json").json["hits"][0]["path"] == "entries/long.md"
    git("checkout", "other")
    assert mem("search", "zebras", "--json").json["hits"][0]["path"] == "entries/one.md"
    assert settled.embedded == ["quaggas", "word5", "zebras"]
    assert counted(mem) == before
    assert before[1] == 0


def test_a_line_changed_embeds_its_piece_alone(mem: Mem, workspace: Path, settled: CountingEmbedder) -> None:
    path = workspace / "entries" / "long.md"
    path.write_text(path.read_text().replace("word5 word5", "word5 new5", 1))
    assert mem("index").code == 0
    (piece,) = settled.embedded
    assert "new5" in piece


def test_fields_changed_embed_nothing(mem: Mem, workspace: Path, settled: CountingEmbedder) -> None:
    assert mem("write", "--id", "entries/two.md", "--tag", "other", "--title", "A title").code == 0
    assert mem("search", "title", "--json").json["hits"][0]["path"] == "entries/two.md"
    assert settled.embedded == ["title"]


def test_the_same_text_in_many_files_is_embedded_once(mem: Mem, put: Put, settled: CountingEmbedder) -> None:
    for number in range(20):
        put(f"copy{number}.md", "about quaggas\n")
    assert mem("index").code == 0
    assert settled.embedded == []
    assert counted(mem)[1] == 0


def test_a_vector_is_kept_for_a_month_after_its_text_was_last_seen(
    mem: Mem, put: Put, here: Workspace, settled: CountingEmbedder
) -> None:
    def age(index: Index, days: int) -> None:
        index.connection.execute("update vectors set used = used - ?", (days * 86400,))

    ask(here, lambda index: age(index, 400))
    (here.root / "entries" / "one.md").unlink()
    assert mem("index").code == 0
    ask(here, lambda index: age(index, 29))
    assert mem("index").code == 0
    put("one.md", "about quaggas\n")
    assert mem("index").code == 0
    assert settled.embedded == []
    (here.root / "entries" / "one.md").unlink()
    assert mem("ls").code == 0
    ask(here, lambda index: age(index, 31))
    assert mem("index").code == 0
    put("one.md", "about quaggas\n")
    assert mem("index").code == 0
    assert settled.embedded == ["about quaggas"]


def test_a_file_of_vectors_that_is_mostly_dead_is_written_anew(
    mem: Mem, put: Put, here: Workspace, settled: CountingEmbedder
) -> None:
    for number in range(200):
        put(f"many{number}.md", f"short{number} life{number}\n")
    assert mem("index").code == 0
    put("late.md", "a tapir eats\n")
    assert mem("index").code == 0
    (old,) = here.derived.glob("vectors-*")
    size = old.stat().st_size
    for number in range(200):
        (here.root / "entries" / f"many{number}.md").unlink()
    assert mem("ls").code == 0
    ask(here, lambda index: index.connection.execute("update vectors set used = 1") and None)
    settled.embedded.clear()
    assert mem("index").code == 0
    for query, path in (("word5", "entries/long.md"), ("tapir", "entries/late.md")):
        (hit, *_) = mem("search", query, "--json", "--explain").json["hits"]
        assert hit["path"] == path
        assert hit["parts"]["vector"] > 0.1
    assert settled.embedded == ["word5", "tapir"]
    assert mem("index").code == 0
    (new,) = here.derived.glob("vectors-*")
    assert (new != old, new.stat().st_size < size / 2) == (True, True)
    ask(here, assert_as_new)


def test_what_only_was_looked_at_again_is_not_told_as_changed(mem: Mem, put: Put) -> None:
    put("one.md")
    first = mem("index", "--status", "--json").json
    assert (first["added"], first["changed"], first["removed"]) == (2, 0, 0)
    for _ in range(2):
        again = mem("index", "--status", "--json").json
        assert (again["added"], again["changed"], again["removed"]) == (0, 0, 0)


def test_a_file_changed_in_the_moment_it_was_noted_is_read_again(
    put: Put, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts(index: Index) -> list[str]:
        index.refresh()
        return [text for _, text in index.texts(Filter(kinds=("entry",)))]

    put("a.md", "one\n")
    listing = scan(here.root, here.layout)
    monkeypatch.setattr(updater, "scan", lambda *args: listing)  # a change that no stat shows
    monkeypatch.setattr(updater.time, "time_ns", lambda: max(listing.stats["entries/a.md"][:2]) + 10**7)
    assert ask(here, texts) == ["one\n"]
    put("a.md", "two\n")
    assert ask(here, texts) == ["two\n"]


@pytest.mark.parametrize(
    ("modified", "noted", "read"), [(0.5, 0.51, True), (0.5, 0.6, False), (0, 1.9, True), (0, 2.1, False)]
)
def test_a_file_is_read_again_until_it_has_settled(
    put: Put, here: Workspace, monkeypatch: pytest.MonkeyPatch, modified: float, noted: float, read: bool
) -> None:
    begin = 4_000_000_000  # later than any clock that could have stamped the folder
    path = put("a.md", "one\n")
    (here.root / "MEMORY.md").unlink()
    os.utime(path, (begin + modified, begin + modified))
    monkeypatch.setattr(updater.time, "time_ns", lambda: int((begin + noted) * 10**9))
    ask(here, Index.refresh)
    looked = []
    monkeypatch.setattr(file_updater, "try_bytes", lambda workspace, path: looked.append(path) or "not now")
    ask(here, Index.refresh)
    assert looked == ["entries/a.md"] * read


def test_another_time_zone_moves_what_is_written_in_local_time(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "notes").mkdir()
    (workspace / "notes" / "2026-11-21.md").write_text("[14:15] User: quaggas\n")
    assert (
        mem("search", "quaggas", "--mode", "keyword", "--json").json["hits"][0]["timestamp"] == "2026-11-21T14:15:00Z"
    )
    monkeypatch.setenv("MEM_TIMEZONE", "Asia/Kathmandu")
    assert (
        mem("search", "quaggas", "--mode", "keyword", "--json").json["hits"][0]["timestamp"] == "2026-11-21T08:30:00Z"
    )


def test_another_layout_gives_files_another_kind(mem: Mem, workspace: Path) -> None:
    (workspace / "memory").mkdir()
    (workspace / "memory" / "2026-11-21.md").write_text("about quaggas\n")
    (workspace / "entries").mkdir()
    (workspace / "entries" / "x.md").write_text("about quaggas\n")
    (hit,) = mem("search", "quaggas", "--mode", "keyword", "--json").json["hits"]
    assert (hit["kind"], hit["path"]) == ("entry", "entries/x.md")
    with (workspace / "mem.yaml").open("a") as file:
        file.write("layout: golemcore\n")
    (hit,) = mem("search", "quaggas", "--mode", "keyword", "--json").json["hits"]
    assert (hit["kind"], hit["path"]) == ("note", "memory/2026-11-21.md")
    assert mem("grep", "-c", "quaggas").out == "memory/memory/2026-11-21.md:1\n"


def test_what_a_refresh_has_seen_is_noted_once_nothing_is_new(put: Put, here: Workspace) -> None:
    put("a.md")
    here.derived.mkdir(exist_ok=True)
    time.sleep(0.03)
    with closing(database.connect(here.derived)[0]) as connection:
        updater.refresh(connection, here)
        assert not seen(connection)
        updater.refresh(connection, here)
        assert seen(connection)
        assert updater.refresh(connection, here).files == 2
        put("b.md")
        assert updater.refresh(connection, here).added == 1
        assert not seen(connection)


def test_a_refresh_does_not_note_what_another_has_overtaken(
    put: Put, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.md")
    here.derived.mkdir(exist_ok=True)
    time.sleep(0.03)
    with closing(database.connect(here.derived)[0]) as one, closing(database.connect(here.derived)[0]) as other:
        updater.refresh(one, here)

        def noted(*args: Any) -> None:
            monkeypatch.undo()
            put("b.md")
            updater.refresh(other, here)
            updater._note_seen(*args)

        monkeypatch.setattr(updater, "_note_seen", noted)
        updater.refresh(one, here)
        assert not seen(one)
        (here.root / "entries" / "b.md").unlink()
        assert updater.refresh(one, here).removed == 1


def test_a_refresh_does_not_wait_to_note_what_it_has_seen(put: Put, here: Workspace) -> None:
    put("a.md")
    here.derived.mkdir(exist_ok=True)
    time.sleep(0.03)
    with closing(database.connect(here.derived)[0]) as one, closing(database.connect(here.derived)[0]) as other:
        updater.refresh(one, here)
        other.execute("begin immediate")
        assert updater.refresh(one, here).files == 2
        other.execute("rollback")
        assert not seen(one)
        assert one.execute("pragma busy_timeout").fetchone() == (250,)


def seen(connection: sqlite3.Connection) -> list[tuple[str]]:
    return connection.execute("select key from meta where key like 'seen%'").fetchall()


def taken_in(index: Index) -> None:
    """Refresh the index and look it through."""
    index.refresh()
    verify(index)


def test_words_are_written_in_as_many_goes_as_it_takes(
    here: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_HELD", 30)
    for number in range(7):
        put(f"{number}.md", f"text number {number} of some\n")
    ask(here, taken_in)
    for number in range(3):
        put(f"{number}.md", f"another text, number {number}\n")
    (here.root / "entries/5.md").unlink()
    ask(here, taken_in)
    ask(here, assert_as_new)


def test_words_that_cannot_be_written_leave_the_index_as_it_was(
    here: Workspace, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.md", "the first text\n")
    ask(here, taken_in)
    put("b.md", "the second text\n")

    def failing(self: writer.WordRows) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(writer.WordRows, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            ask(here, taken_in)
    ask(here, taken_in)
    ask(here, assert_as_new)
