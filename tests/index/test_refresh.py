"""A refresh reads what changed and nothing else, whatever editors, git and people do to the files."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memcli.index import refresh as refreshing
from memcli.index.index import close_index, open_index
from memcli.index.scan import scan_workspace
from tests.helpers import make_workspace, open_again, put
from tests.index.contents import assert_like_new

HEAD = "---\nid: mem_01kajd3v7m4kq7tz\ntype: preference\ntags: [ui, Über]\ncreated_at: 2026-01-02\n---\n\n"
FORGOTTEN = (
    "---\nid: mem_01kajd3v7m4kq7ty\nstatus: forgotten\n---\n\nDark mode, please, in each editor.\n"
)
PATHS = (
    *("MEMORY.md", "HISTORY-2026-11.md", "notes/2026-11-21.md", "notes/ideas.md", "purged.txt"),
    *(
        "entries/a.md",
        "entries/sub.md",
        "entries/sub.md/c.md",
        "entries/d e\n😀.md",
        "entries/é.md",
    ),
    *("sessions/s1/session.jsonl", "README.md", "entries/.hidden.md", "inbox/x.md"),
)
TEXTS = (
    *("", " \n", "plain text\n", HEAD + "Dark mode, please, in each editor.\n", FORGOTTEN),
    *(HEAD + "# One\n\ntext\n\n# Two\n\n" + "words " * 300, "---\ntitle: a: b\n---\nbroken\n"),
    *("---\nopen [list\n", "---\n- a list\n---\nbody\n", "---\ntitle: only\n---\n"),
    *("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", HEAD.replace("\n", "\r\n") + "crlf\r\n"),
    *(
        "\ufeff" + HEAD + "bom",
        "记忆是纯文本。用户喜欢深色主题。" * 80,
        "mem_01kajd3v7m4kq7tz 2026-11-28T00:00:00Z\n",
    ),
    *("## 2026-11-02T10:00:00Z <!-- hist_a1 -->\n[2026-11-02 10:00] did it\n", "[14:15] later\n"),
    *('{"role": "user", "content": "hi there"}\n', '{"role": "user", "content": "torn'),
    *(
        "nul \x00 byte\n",
        "---\nid: twin\nactive: false\n---\n1\n",
        "---\nid: twin\ntrust: 7\n---\n2\n",
    ),
    *("token ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n", "x\n\nsee [[a]] and [b](sub.md)\n"),
)
BYTES = st.sampled_from(
    [text.encode() for text in TEXTS] + [b"bad \xff utf-8\n", HEAD.encode() + b"\xe9\n"]
)
NAMES = st.sampled_from(PATHS)
NUMBERS = st.integers(0, 30)


class Refreshing(RuleBasedStateMachine):
    """Changes files in every way that editors, git and people do, and checks the index each time."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.workspace = make_workspace(self.folder)

    def teardown(self) -> None:
        close_index(self.workspace)
        shutil.rmtree(self.folder)

    def make_room(self, name: str) -> Path:
        """Return the path of a file, without folders or files in its way."""
        path = self.workspace.root / name
        for place in (path, *path.parents):
            if place == self.workspace.root:
                break
            if place.is_symlink() or (place.is_file() and place != path):
                place.unlink()
        if path.is_dir():
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def choose(self, number: int) -> Path:
        files = [
            path
            for path in self.workspace.root.rglob("*")
            if path.is_file() and ".mem" not in path.parts
        ]
        files = sorted(path for path in files if path.name not in ("mem.yaml", ".gitignore"))
        if not files:
            files = [self.make_room("entries/a.md")]
            files[0].write_text("plain\n")
        return files[number % len(files)]

    @initialize(name=NAMES, data=BYTES)
    def begin(self, name: str, data: bytes) -> None:
        self.write(name, data)

    @rule(name=NAMES, data=BYTES)
    def write(self, name: str, data: bytes) -> None:
        self.make_room(name).write_bytes(data)

    @rule(number=NUMBERS, data=BYTES)
    def append(self, number: int, data: bytes) -> None:
        path = self.choose(number)
        path.write_bytes(path.read_bytes() + data)

    @rule(number=NUMBERS, letter=st.sampled_from(b"xyz#\n"))
    def change_a_byte_without_size_or_time(self, number: int, letter: int) -> None:
        path = self.choose(number)
        before = path.stat()
        data = bytearray(path.read_bytes() or b"-")
        data[len(data) // 2] = letter
        with path.open("r+b") as file:
            file.write(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(number=NUMBERS, whole_folder=st.booleans())
    def delete(self, number: int, whole_folder: bool) -> None:
        path = self.choose(number)
        if whole_folder and path.parent != self.workspace.root:
            shutil.rmtree(path.parent)
        else:
            path.unlink()

    @rule(number=NUMBERS, name=NAMES)
    def rename(self, number: int, name: str) -> None:
        path = self.choose(number)
        data = path.read_bytes()
        path.unlink()
        self.make_room(name).write_bytes(data)

    @rule()
    def let_another_process_refresh(self) -> None:
        other = open_again(self.workspace)
        open_index(other)
        close_index(other)

    @rule(name=NAMES, number=NUMBERS)
    def link(self, name: str, number: int) -> None:
        existing = self.choose(number)
        path = self.make_room(name)
        if path != existing and not path.exists():
            path.symlink_to(existing)

    @invariant()
    def is_like_new(self) -> None:
        assert_like_new(self.workspace, open_index(self.workspace))


Refreshing.TestCase.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)
test_an_updated_index_is_like_a_new_one = Refreshing.TestCase


HAPPENINGS = ("nothing", "a new file", "a change", "a deletion", "a rename", "a file that returns")


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("happening", HAPPENINGS)
def test_a_change_that_another_process_indexed_during_our_scan_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happening: str, is_known: bool
) -> None:
    workspace = make_workspace(tmp_path)
    for name in ("old", "other", "gone"):
        put(workspace, f"entries/{name}.md", f"about {name}\n")
    if is_known:
        open_index(workspace)
    (workspace.root / "entries/gone.md").unlink()
    put(workspace, "entries/other.md", "changed\n")
    pending = [happening]

    def scan_and_change(scanned: object) -> object:
        listing = scan_workspace(workspace)
        if pending:
            change(pending.pop())
            other = open_again(workspace)
            monkeypatch.setattr(refreshing, "scan_workspace", scan_workspace)
            open_index(other)
            close_index(other)
        return listing

    def change(name: str) -> None:
        entries = workspace.root / "entries"
        if name == "a new file":
            put(workspace, "entries/new.md", "about quaggas\n")
        elif name == "a change":
            put(workspace, "entries/old.md", "about quaggas\n")
        elif name == "a deletion":
            (entries / "old.md").unlink()
        elif name == "a rename":
            (entries / "old.md").rename(entries / "new.md")
        elif name == "a file that returns":
            put(workspace, "entries/gone.md", "about quaggas\n")

    monkeypatch.setattr(refreshing, "scan_workspace", scan_and_change)
    open_index(workspace)
    monkeypatch.undo()
    assert_like_new(workspace, open_index(workspace))


def test_a_settled_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", "one\n")
    time.sleep(0.05)
    open_index(workspace)
    open_index(workspace)
    read = []
    monkeypatch.setattr("memcli.index.writer.refresh_file", lambda *given: read.append(given))
    open_index(workspace)
    assert read == []


def test_a_file_changed_in_the_moment_it_was_read_is_read_again(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    file = put(workspace, "entries/a.md", "one\n")
    index = open_index(workspace)
    before = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    index.refresh()
    assert index.read_text("entries/a.md") == "two\n"


def test_a_file_that_was_noted_before_the_clock_was_set_back_can_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace(tmp_path)
    file = put(workspace, "entries/a.md", "one\n")
    tomorrow = time.time_ns() + 86_400 * 10**9
    with monkeypatch.context() as patch:
        patch.setattr("time.time_ns", lambda: tomorrow)
        index = open_index(workspace)
    assert len(index.list_entries()) == 1
    file.unlink()
    index.refresh()
    assert index.list_entries() == []


def test_a_rename_embeds_nothing(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    file = put(workspace, "entries/a.md", "The kiln is hot.\n")
    index = open_index(workspace)
    index.embed_missing(None)
    file.rename(file.with_name("b.md"))
    index.refresh()
    assert index.run("select count(*) from chunks where vector is null").fetchone() == (0,)


def test_another_time_zone_moves_the_notes(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "notes/2026-11-21.md", "[00:30] late\n")
    open_index(workspace)
    workspace.context.environment["MEM_TIMEZONE"] = "Asia/Tokyo"  # type: ignore[index]
    other = open_again(workspace)
    assert_like_new(other, open_index(other))
    assert open_index(other).run("select timestamp from chunks").fetchone() == (
        "2026-11-20T15:30:00Z",
    )


def test_a_locked_index_answers_from_a_copy_that_knows_the_latest_change(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", "one\n")
    holder = open_index(open_again(workspace))
    holder.run("begin immediate")
    put(workspace, "entries/a.md", "two\n")
    index = open_index(workspace)
    assert index.read_text("entries/a.md") == "two\n"
    assert index.database.folder is None
    holder.run("rollback")


def test_a_damaged_index_is_made_again(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", "one\n")
    open_index(workspace)
    close_index(workspace)
    assert workspace.machine.folder is not None
    (workspace.machine.folder / "index.db").write_bytes(b"not a database at all" * 100)
    assert open_index(workspace).read_text("entries/a.md") == "one\n"


def test_conversations_may_be_left_for_the_next_refresh(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    line = '{"type": "message", "role": "user", "content": "The kiln is red.", "id": "m1"}'
    put(workspace, "sessions/s1/session.jsonl", line + "\n")
    put(workspace, "entries/kiln.md", "The kiln is blue.\n")
    index = open_index(workspace, with_sessions=False)
    paths = "select path from files order by path"
    assert index.run(paths).fetchall() == [("entries/kiln.md",)]
    assert open_index(workspace).run(paths).fetchall()[-1] == ("sessions/s1/session.jsonl",)


def test_a_memory_returns_if_its_purge_was_reverted_before_it_was_carried_out(
    tmp_path: Path,
) -> None:
    workspace = make_workspace(tmp_path)
    index = open_index(workspace)
    put(workspace, "entries/a.md", "---\nid: mem_01kajd3v7m4kq7tz\n---\n\nDark mode.\n")
    for text in ("mem_01kajd3v7m4kq7tz 2026-11-28T00:00:00Z\n", ""):
        put(workspace, "purged.txt", text)
        index.refresh()
        assert_like_new(workspace, index)
