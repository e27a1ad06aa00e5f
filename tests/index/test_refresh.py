"""After whatever happened to the files, the index says what one made anew would say."""

import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memcli.index import database
from memcli.index.index import Index, ask
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
        self.connection, self.folder = database.connect(database.folder_of(self.root / ".mem", self.base))
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
        if path not in (target := self.root / to).parents and target not in path.parents:
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
