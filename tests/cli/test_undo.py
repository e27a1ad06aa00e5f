"""Whatever command changed files, `mem undo` brings back what was there before, or says why not and changes nothing."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.cli.app import commands
from tests.cli.json_scenes import Answer, Ask
from tests.conftest import Mem
from tests.scenes import commit, git
from tests.stage import Stage

CHAT = "User: From now on, always test a restore on Mondays.\nAssistant: Noted.\nUser: The backup runs at 03:30.\n"
BUNDLE = '{"id": "mem_01kajd3v7m4kq7tz", "type": "fact", "content": "The quagga sleeps at noon."}\n'


def files(root: Path) -> dict[str, tuple[bytes, int]]:
    """Return the bytes and the mode of every file of the user's."""
    found = [path for path in root.rglob("*") if path.is_file() and ".mem" not in path.relative_to(root).parts]
    return {path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mode) for path in found}


def folders(root: Path) -> set[str]:
    """Return the folders of the user's."""
    found = [path for path in root.rglob("*") if path.is_dir() and ".mem" not in path.relative_to(root).parts]
    return {path.relative_to(root).as_posix() for path in found}


def written(mem: Mem, text: str, *options: str) -> str:
    """Write an entry and return its id."""
    ran = mem("write", text, "--no-dedup", "--json", *options)
    assert ran.code == 0, ran.err
    return str(ran.json["id"])


@pytest.fixture(autouse=True)
def world(world: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand where all tests of this module do."""
    return stage.enter(monkeypatch)


@pytest.fixture
def furnished(mem: Mem, workspace: Path, stage: Stage) -> dict[str, str]:
    """Furnish a workspace with something of each kind; return ids by the name the table gives them."""
    return dict(stage.furnished(lambda: furnish(mem, workspace)))


def furnish(mem: Mem, workspace: Path) -> dict[str, str]:
    ids = {"tabs": written(mem, "User prefers tabs.", "--type", "preference")}
    ids["again"] = written(mem, "User  prefers tabs")
    ids["port"] = written(mem, "The staging port is 8080.", "--key", "staging/port", "--project", "shop")
    ids["gone"] = written(mem, "The old office was in Bern.")
    assert mem("forget", ids["gone"]).code == 0
    ids["old"], ids["new"] = written(mem, "User uses vim."), written(mem, "User uses helix.")
    ids["over"] = written(mem, "User uses nano.")
    assert mem("supersede", ids["over"], ids["new"]).code == 0
    assert mem("write", "--id", ids["port"], "The staging port is 8081.").code == 0
    assert mem("note", "Fed the cat.").code == 0
    assert mem("history", "add", "Moved the office.").code == 0
    assert mem("session", "append", "--session", "talk", "--text", "Say hello.").code == 0
    assert mem("session", "import", "-", "--session", "chat", stdin=CHAT).code == 0
    written(mem, "It rained.", "--type", "episode", "--project", "shop")
    assert mem("promote", ids["new"]).code == 0
    (workspace / "entries" / "by-hand.md").write_bytes(b"\xef\xbb\xbfNo frontmatter here.\r\n")
    (workspace / "entries" / "by-hand.md").chmod(0o640)
    sure = "---\ntype: preference\nsource: user\nstrength: 3\n---\n\nUser drinks green tea.\n"
    (workspace / "entries" / "sure.md").write_text(sure)
    assert mem("config", "set", "consolidate.window", "1").code == 0
    assert mem("config", "set", "consolidate.keep", "0").code == 0
    (workspace.parent / "bundle.jsonl").write_text(BUNDLE)
    ids["hand"] = "entries/by-hand.md"
    return ids


COMMANDS: dict[str, tuple[str, ...]] = {
    "write": ("write", "The sky is blue."),
    "write without looking": ("write", "The sky is blue.", "--no-dedup"),
    "write with the key of another": ("write", "The staging port is 9090.", "--key", "staging/port"),
    "write in place of another": ("write", "User uses emacs.", "--supersedes", "{old}"),
    "write that flags": ("write", "User uses emacs.", "--conflicts-with", "{old}"),
    "write by id": ("write", "--id", "{tabs}", "User prefers spaces.", "--title", "Indentation"),
    "edit": ("edit", "{tabs}", "--replace", "tabs", "spaces"),
    "edit a page": ("edit", "MEMORY.md", "--replace", "Memory", "Everything"),
    "edit a file of a person's": ("edit", "{hand}", "--replace", "here", "at all"),
    "edit notes": ("edit", "notes/2026-11-21.md", "--replace", "cat", "dog"),
    "forget": ("forget", "{tabs}"),
    "forget several": ("forget", "{tabs}", "{old}", "{hand}"),
    "restore": ("restore", "{gone}"),
    "restore what was superseded": ("restore", "{over}"),
    "supersede": ("supersede", "{old}", "{new}"),
    "note": ("note", "Walked the dog."),
    "history add": ("history", "add", "Bought a plant."),
    "session append": ("session", "append", "--session", "talk", "--text", "Hello."),
    "session append to a new one": ("session", "append", "--session", "fresh", "--text", "Hello."),
    "session import": ("session", "import", "-", "--session", "other"),
    "session compact": ("session", "compact", "chat", "--keep", "1", "--force"),
    "session clear": ("session", "clear", "chat"),
    "session delete": ("session", "delete", "chat"),
    "consolidate": ("consolidate", "chat"),
    "session handoff": ("session", "handoff", "chat"),
    "session rollup": ("session", "rollup", "shop"),
    "dedup": ("dedup", "--apply"),
    "promote": ("promote", "{tabs}"),
    "demote": ("promote", "--demote", "{new}"),
    "promote by rule": ("promote", "--auto", "--apply"),
    "decay": ("decay", "--apply", "--as-of", "2031-01", "--max-fraction", "1"),
    "check": ("check", "--fix"),
    "import": ("import", "bundle.jsonl"),
    "config set": ("config", "set", "search.limit", "8"),
    "tend": ("tend",),
}
"""A line for each command that changes files, and for each way of it that changes other files."""


@pytest.mark.parametrize("name", COMMANDS)
def test_undo_brings_back_every_byte_and_redo_does_it_again(
    mem: Mem, workspace: Path, furnished: dict[str, str], name: str
) -> None:
    words = [word.format(**furnished) for word in COMMANDS[name]]
    before, folders_before = files(workspace), folders(workspace)
    mem(*words, stdin=CHAT if "-" in words else "")
    after = files(workspace)
    assert after != before, "the line of the table shows nothing"
    newest = mem("undo", "--list", "--json").json["commands"][0]
    assert words[0] in newest["command"]

    shown = mem("undo", str(newest["id"]), "--dry-run")
    assert (shown.code, files(workspace)) == (0, after)
    ran = mem("undo", str(newest["id"]))
    assert ran.code == 0, ran.err
    assert files(workspace) == before
    assert folders(workspace) == folders_before

    redone = mem("undo", str(mem("undo", "--list", "--json").json["commands"][0]["id"]))
    assert redone.code == 0, redone.err
    assert files(workspace) == after


def test_every_command_is_in_the_table_or_changes_no_file_that_undo_could_bring_back(mem: Mem) -> None:
    passing = {"init", "search", "grep", "read", "ls", "recall", "context", "stats", "index", "export", "trust"}
    passing |= {
        "hook",
        "mcp",
        "serve",
        "ui",
        "memory-tool",
        "completion",
        "help",
        "undo",
        "review",
    }  # shown below
    passing |= {"diff", "merge-driver", "sync"}  # what git brings is undone with git
    passing |= {"move"}  # and a move by another one, see test_shared.py
    assert set(commands()) - passing - {words[0] for words in COMMANDS.values()} == set()


def test_undo_again_and_again_goes_back_to_the_start(mem: Mem, workspace: Path) -> None:
    start = files(workspace)
    first = written(mem, "User prefers tabs.")
    mem("edit", first, "--replace", "tabs", "spaces")
    mem("note", "Fed the cat.")
    mem("note", "And the dog.")
    mem("forget", first)
    for _ in range(5):
        assert mem("undo").code == 0
    assert files(workspace) == start
    ran = mem("undo")
    assert ran.code == 4
    assert "nothing to take back" in ran.err


def test_what_a_person_changed_since_stands_in_the_way_and_nothing_changes(mem: Mem, workspace: Path) -> None:
    one, other = written(mem, "User prefers tabs."), written(mem, "User uses vim.")
    mem("forget", one, other)
    changed = next((workspace / "archive" / "entries").rglob("user-uses-vim*"))
    changed.write_text(changed.read_text() + "And emacs.\n")
    before = files(workspace)
    ran = mem("undo")
    assert ran.code == 5
    assert changed.relative_to(workspace).as_posix() in ran.err
    assert "user-prefers-tabs" not in ran.err
    assert files(workspace) == before
    told = mem("undo", "--list", "--json").json["commands"][0]
    assert not told["can_be_undone"]
    assert "changed since" in told["state"]


def test_a_later_command_on_the_same_file_is_named_and_taken_back_first(mem: Mem, workspace: Path) -> None:
    one = written(mem, "User prefers tabs.")
    mem("edit", one, "--replace", "tabs", "spaces")
    ran = mem("undo", "1")
    assert ran.code == 5
    assert "`mem edit` (2)" in ran.err
    assert mem("undo", "2").code == 0
    assert mem("undo", "1").code == 0
    assert mem("undo", "1").code == 5


@pytest.mark.parametrize("stuck", ["purged", "by hand"])
def test_where_the_last_command_cannot_be_taken_back_the_last_one_that_can_is_named(
    mem: Mem, workspace: Path, stuck: str
) -> None:
    written(mem, "User prefers tabs.", "--path", "tabs.md")
    written(mem, "User prefers tea.", "--path", "tea.md")
    if stuck == "purged":
        assert mem("forget", "--purge", "tea.md").code == 0
    else:
        (workspace / "entries" / "tea.md").write_text("Coffee, after all.\n")
    ran = mem("undo")
    assert ran.code == 5
    assert ran.err.endswith("`mem undo 1` takes back the last one that can be (write: 1 new: User prefers tabs.)\n")
    assert mem("undo", "1").code == 0
    assert not (workspace / "entries" / "tabs.md").exists()
    assert "takes back the last one" not in mem("undo").err


def test_lines_that_others_added_to_the_same_file_are_not_cut(mem: Mem, workspace: Path) -> None:
    mem("note", "Fed the cat.")
    mem("note", "Fed the dog.")
    page = workspace / "notes" / "2026-11-21.md"
    page.write_text(page.read_text() + "[20:16] by hand\n")
    assert mem("undo").code == 5
    assert page.read_text().endswith("by hand\n")
    page.write_text(page.read_text().replace("[20:16] by hand\n", ""))
    assert mem("undo").code == 0
    assert page.read_text() == "[20:15] Fed the cat.\n"
    assert not (workspace / ".mem" / "access").exists(), "nothing was confirmed"


def test_a_confirmation_is_taken_back_and_not_the_command_before_it(mem: Mem, workspace: Path) -> None:
    mem("write", "User prefers tabs.")
    assert mem("write", "User prefers tabs", "--json").json["strength"] == 2
    start = files(workspace)
    ran = mem("undo")
    assert "confirmed" in ran.out
    assert files(workspace) == start
    assert mem("write", "user prefers tabs", "--json").json["strength"] == 2


@pytest.mark.parametrize("words", [(), ("--as-of", "2031-01", "--max-fraction", "1")], ids=["folded", "archived"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_confirmation_is_taken_back_after_a_decay(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], times: int
) -> None:
    mem("write", "The standup is at 9:30.")
    start = files(workspace)
    for number in range(times):
        monkeypatch.setenv("MEM_NOW", f"2026-11-21T21:0{number}:00Z")
        assert mem("write", "The standup is at 9:30", "--json").json["strength"] == 2 + number
    assert mem("decay", "--apply", *words).code == 0
    after = files(workspace)
    last = times + 2
    if not words:
        assert f".mem/access: changed since by `mem decay` ({last})" in mem("undo", str(last - 1)).err
    assert mem("undo").code == 0
    assert mem("undo", str(last + 1)).code == 0  # the decay again
    assert files(workspace) == after
    assert mem("undo", str(last + 2)).code == 0
    for _ in range(times):
        assert mem("undo").code == 0
    assert files(workspace) == start
    assert mem("write", "the standup is at 9:30", "--json").json["strength"] == 2


def test_what_was_deleted_for_good_is_in_no_record_and_not_brought_back(mem: Mem, workspace: Path) -> None:
    secret = "The safe behind the painting opens at dawn"
    one = written(mem, f"{secret}.")
    mem("edit", one, "--replace", "dawn", "dusk")
    mem("edit", one, "--replace", "dusk", "dawn")
    mem("promote", one)
    mem("promote", "--demote", one)
    log = workspace / ".mem" / "undo"
    assert any(secret in path.read_text() for path in log.iterdir())
    assert mem("forget", "--purge", one).code == 0
    assert not any(secret in path.read_text() for path in log.iterdir())
    before = files(workspace)
    ran = mem("undo")
    assert ran.code == 5
    assert "deleted for good" in ran.err
    assert files(workspace) == before


def test_a_purged_conversation_is_in_no_record(mem: Mem, workspace: Path) -> None:
    mem("session", "import", "-", "--session", "chat", stdin=CHAT)
    mem("session", "compact", "chat", "--keep", "1", "--force")
    log = workspace / ".mem" / "undo"
    assert any("restore on Mondays" in path.read_text() for path in log.iterdir())
    assert mem("session", "delete", "chat", "--purge").code == 0
    assert not any("restore on Mondays" in path.read_text() for path in log.iterdir())


def test_a_redacted_secret_is_in_no_record(mem: Mem, workspace: Path) -> None:
    token = "ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
    one = written(mem, f"The token is {token}.", "--allow-secret")
    mem("edit", one, "--replace", "The token", "Our token", "--allow-secret")
    log = workspace / ".mem" / "undo"
    assert any(token in path.read_text() for path in log.iterdir())
    ran = mem("edit", one, "--replace", "Our", "My", "--redact")
    assert ran.code == 0
    assert not any(token in path.read_text() for path in log.iterdir())


def test_a_record_that_came_with_a_clone_is_never_applied(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    written(mem, "User prefers tabs.")
    record = workspace / ".mem" / "undo" / "1.jsonl"
    page = workspace / "MEMORY.md"
    row = {"op": "set", "path": "mem.yaml", "was": None, "now": "0" * 32}
    record.write_text(record.read_text() + f"{'0' * 32} {json.dumps(row)}\n")
    assert mem("undo", "--list", "--json").json["commands"][0]["did"].startswith("1 new")
    lines = record.read_text().splitlines(keepends=True)
    (record.parent / "2.jsonl").write_text("".join(line.replace("entries/", "notes/") for line in lines))
    (record.parent / "3.jsonl").symlink_to(record)
    told = mem("undo", "--list", "--json").json
    assert [one["id"] for one in told["commands"]] == [1]
    assert told["strangers"] == 2
    os.environ["XDG_STATE_HOME"] = str(tmp_path / "another-user")
    try:
        assert mem("trust", str(workspace)).code == 0
        assert mem("undo", "--list", "--json").json["commands"] == []
    finally:
        del os.environ["XDG_STATE_HOME"]
    assert page.exists()


def test_the_records_are_private_and_bounded(mem: Mem, workspace: Path) -> None:
    for number in range(55):
        mem("note", f"Line {number}.")
    log = workspace / ".mem" / "undo"
    assert len(list(log.iterdir())) == 50
    assert {path.stat().st_mode & 0o777 for path in log.iterdir()} == {0o600}
    assert len(mem("undo", "--list").rows) == 50


def test_hooks_push_no_command_of_a_person_out_and_are_not_what_a_plain_undo_means(mem: Mem, workspace: Path) -> None:
    from memcli import open_workspace
    from memcli.api.agents import flush_turns, keep_turn

    one = written(mem, "User prefers tabs.")
    for number in range(25):
        where = open_workspace(workspace)
        keep_turn(where, "talk", "user", f"Hello {number}.")
        flush_turns(where)
    listed = mem("undo", "--list", "--json").json["commands"]
    assert [row["command"] for row in listed] == ["hook turns"] * 20 + ["write"]
    ran = mem("undo")
    assert ran.rows[0][2] == "write"
    assert "hook" not in ran.out
    assert mem("read", one).code == 4
    assert mem("undo", str(listed[0]["id"])).code == 0


def test_a_command_whose_record_cannot_be_written_succeeds(mem: Mem, workspace: Path) -> None:
    (workspace / ".mem").mkdir(exist_ok=True)
    (workspace / ".mem" / "undo").write_text("in the way")
    assert mem("write", "User prefers tabs.").code == 0
    assert mem("note", "Fed the cat.").code == 0
    assert mem("undo").code == 4


def test_a_change_too_large_to_keep_is_told_as_such(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memcli.store.undo_log.LARGEST", 4096)
    one = written(mem, "word " * 2000)
    assert mem("write", "--id", one, "User prefers tabs.").code == 0
    ran = mem("undo")
    assert ran.code == 5
    assert "changed too much" in ran.err


def test_an_undone_forgetting_does_not_fade_again_at_once(mem: Mem, workspace: Path) -> None:
    one = written(mem, "User prefers tabs.", "--created-at", "2020-01-01")
    assert mem("decay", "--apply", "--max-fraction", "1").code == 0
    assert mem("undo").code == 0
    told = {row["id"]: row["verdict"] for row in mem("decay", "--json").json["entries"]}
    assert told[one] != "archive"


def test_answers_of_a_review_are_undone(mem: Mem, workspace: Path) -> None:
    old = written(mem, "User uses vim.", "--type", "preference")
    mem("write", "User uses emacs.", "--type", "preference", "--conflicts-with", old)
    before = files(workspace)
    question = mem("review", "--json").json["questions"][0]["id"]
    assert mem("review", "answer", question, "newer", "--source", "user").code == 0
    assert files(workspace) != before
    assert mem("undo").code == 0
    assert files(workspace) == before


@pytest.mark.parametrize(
    "call",
    [
        {"command": "create", "path": "/memories/entries/plan.md", "file_text": "Ship on Monday.\n"},
        {"command": "str_replace", "path": "/memories/MEMORY.md", "old_str": "Memory", "new_str": "Everything"},
        {"command": "insert", "path": "/memories/MEMORY.md", "insert_line": 1, "insert_text": "A line.\n"},
        {"command": "delete", "path": "/memories/entries/topic"},
        {"command": "delete", "path": "/memories/entries/topic/one.md"},
        {"command": "rename", "old_path": "/memories/entries/topic", "new_path": "/memories/entries/theme"},
    ],
    ids=lambda call: "-".join(list(call.values())[:2]).replace("/", "-"),
)
def test_what_an_agent_does_with_the_memory_tool_is_undone_one_by_one(
    mem: Mem, workspace: Path, call: dict[str, str]
) -> None:
    topic = workspace / "entries" / "topic" / "deep"
    topic.mkdir(parents=True)
    (topic.parent / "one.md").write_text("One.\n")
    (topic / "two.md").write_text("Two.\n")
    before = files(workspace)
    ran = mem("memory-tool", stdin=json.dumps(call))
    assert ran.code == 0, ran.err
    assert files(workspace) != before
    ran = mem("undo")
    assert ran.code == 0, ran.err
    assert files(workspace) == before


def test_what_a_sync_changed_is_left_to_git(mem: Mem, workspace: Path) -> None:
    from memcli import open_workspace
    from memcli.api.workspace import recording
    from memcli.store import entries

    one = written(mem, "User prefers tabs.")
    with recording("sync"):
        where = open_workspace(workspace)
        path = next(workspace.glob("entries/*/*.md")).relative_to(workspace).as_posix()
        entries.edit(where, path, lambda text: text.replace("tabs", "spaces"))
    before = files(workspace)
    ran = mem("undo", "2")
    assert ran.code == 5
    assert "git" in ran.err
    assert files(workspace) == before
    assert mem("read", one).out == "User prefers spaces.\n"


def json_scenes(ask: Ask) -> Iterator[Answer]:
    """Show the documents of `mem undo`."""
    ask("write", "write", "A quagga walks by.", "--no-dedup")
    yield ask("undo")
    yield ask("undo --list", "undo", "--list")


def test_an_undo_that_git_brought_back_can_be_made_again(mem: Mem, workspace: Path) -> None:
    written(mem, "Tea is at five.", "--path", "tea.md")
    git(workspace, "init", "-q")
    mem("edit", "tea.md", "--replace", "five", "six")
    commit(workspace, "six")
    assert mem("undo").rows[0][:3] == ["taken back", "2", "edit"]
    git(workspace, "checkout", "-q", "HEAD", "--", ".")
    assert mem("undo", "3").code == 5
    assert mem("undo").rows[0][:3] == ["taken back", "2", "edit"]
    assert "five" in (workspace / "entries" / "tea.md").read_text()


def test_what_was_put_away_and_changed_by_git_is_told_with_how_it_comes_back(mem: Mem, workspace: Path) -> None:
    written(mem, "Tea is at five.", "--path", "tea.md")
    mem("forget", "tea.md")
    file = workspace / "archive" / "entries" / "tea.md"
    file.write_text(file.read_text().replace("five", "nine"))
    ran = mem("undo")
    assert ran.code == 5
    assert "(`mem restore archive/entries/tea.md` brings it back as it is)" in ran.err
    assert mem("restore", "archive/entries/tea.md").code == 0


def test_what_a_merge_left_between_marks_is_called_by_its_name(mem: Mem, workspace: Path) -> None:
    written(mem, "Tea is at five.", "--path", "tea.md")
    mem("edit", "tea.md", "--replace", "five", "six")
    (workspace / "entries" / "tea.md").write_text("<<<<<<< ours\nTea is at six.\n=======\nAt ten.\n>>>>>>> theirs\n")
    assert [one["did"] for one in mem("undo", "--list", "--json").json["commands"]] == [
        "1 changed: tea.md",
        "1 new: Tea is at five.",
    ]
