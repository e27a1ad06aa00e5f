"""The life of memories: fading, promotion, expiry, summaries, and what `mem tend` does."""

import json
import os
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from memcli.errors import RejectedError
from memcli.store.workspace import Workspace
from memcli.upkeep.lifecycle import (
    find_fading,
    find_outdated_lines,
    find_promotable,
    has_remote_copy,
    promote,
)
from memcli.upkeep.tend import tend
from tests.helpers import get_process_environment, make_workspace, open_again, put, run_mem

ID = "mem_01kajd3v7m4kq{}"


def put_entry(workspace: Workspace, name: str, text: str, **fields: str) -> str:
    """Write an entry as an editor does, and return its id."""
    entry_id = ID.format(f"{len(list(workspace.root.rglob('*.md'))):03}")
    lines = "".join(f"{key}: {value}\n" for key, value in {"id": entry_id, **fields}.items())
    file = put(workspace, f"entries/{name}.md", f"---\n{lines}---\n\n{text}\n")
    if "created_at" in fields:
        os.utime(file, (0, 0))  # it has been here all the time
    return entry_id


def list_fading(workspace: Workspace) -> list[str]:
    return [item.entry.summary for item in find_fading(open_again(workspace))]


def tend_again(workspace: Workspace) -> list[str]:
    return [result.text for result in tend(open_again(workspace))]


def test_what_lasts_does_not_fade(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    old = {"created_at": "2026-01-05"}
    put_entry(workspace, "fact", "A fact.", **old)
    put_entry(workspace, "pinned", "A pinned fact.", pinned="true", **old)
    put_entry(workspace, "rule", "A rule.", type="constraint", **old)
    put_entry(workspace, "mine", "My preference.", type="preference", source="user", **old)
    put_entry(workspace, "guess", "A guessed preference.", type="preference", **old)
    put_entry(workspace, "ends", "It has an end.", expires_at="2026-02-01", **old)
    put_entry(workspace, "new", "A new text of an old fact.", updated_at="2026-11-20", **old)
    put(workspace, "entries/broken.md", "---\ncreated_at: 2026-01-05\na: [\n---\n\nBroken.\n")
    assert list_fading(workspace) == ["A fact.", "A guessed preference."]


def test_old_memories_do_not_fade_before_anybody_could_use_them_here(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    line = json.dumps({"content": "The ferry leaves from Pico.", "created_at": "2025-03-01"})
    (tmp_path / "old.jsonl").write_text(f"{line}\n")
    run_mem(tmp_path, "import", "old.jsonl")
    (path,) = workspace.root.rglob("the-ferry*")
    shutil.rmtree(workspace.root / ".mem")  # a clone knows no import
    run_mem(tmp_path, "trust")
    assert list_fading(workspace) == []
    os.utime(path, (0, 0))
    assert list_fading(workspace) == ["The ferry leaves from Pico."]


def test_use_delays_fading(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    # 0.7 × e^(−60/30) is 0.095; shown three times it is 0.095 × (1 + ln 4).
    entry_id = put_entry(workspace, "fact", "A fact.", created_at="2026-09-29")
    assert list_fading(workspace) == ["A fact."]
    workspace.machine.count_access([entry_id] * 3)
    assert list_fading(workspace) == []


def test_an_untrusted_clone_neither_fades_nor_promotes(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, "old", "A fact.", created_at="2026-01-05", strength="5")
    put_entry(workspace, "new", "Never push.", type="constraint", source="user", strength="5")
    assert find_promotable(open_again(workspace))
    workspace.machine.save_trust(workspace.root, False)
    clone = open_again(workspace)
    assert (find_fading(clone), find_promotable(clone), find_outdated_lines(clone)) == ([], [], [])
    for command in ("decay", "promote new"):
        code, _, errors = run_mem(tmp_path, *command.split())
        assert code == 5 and "is not trusted" in errors


@pytest.mark.parametrize(
    ("fields", "is_promoted"),
    [
        ({"strength": "3"}, True),
        ({"strength": "2"}, False),
        ({"source": "user"}, False),  # said once
        ({"source": "user", "confidence": "0.8"}, True),
        ({"confidence": "0.9"}, False),  # only observed
        ({"type": "constraint", "source": "user"}, True),
        ({"type": "constraint", "source": "inferred"}, False),
        ({"strength": "3", "type": "episode"}, False),
        ({"strength": "3", "project": "shop"}, True),
        ({"strength": "3", "project": "other"}, False),
        ({"strength": "3", "expires_at": "2026-11-01"}, False),
        ({"strength": "3", "status": "faded"}, False),
        ({"strength": "3", "conflicts_with": f"[{ID.format('999')}]"}, False),
        ({"strength": "3", "metadata": "{promote: false}"}, False),
    ],
)
def test_what_is_promoted(tmp_path: Path, fields: dict[str, str], is_promoted: bool) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, "fact", "The gate opens at six.", **fields)
    workspace.project = "shop"
    assert bool(find_promotable(workspace)) == is_promoted


def test_the_own_workspace_promotes_only_what_fits_every_project(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, "a", "The gate opens at six.", strength="3", project="shop")
    put_entry(workspace, "b", "The user likes tea.", strength="3")
    workspace.project, workspace.is_own = "shop", True
    assert [entry.summary for entry in find_promotable(workspace)] == ["The user likes tea."]


def test_the_page_gets_no_sentence_twice_and_not_more_than_fits(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    page = put(workspace, "MEMORY.md", "# Memory\r\n\r\n- The gate opens at SIX\r\n")
    put_entry(workspace, "a", "The gate opens at six.", strength="3")
    for number in range(40):
        text = f"Rule {number} is {'long ' * 25}and old."
        put_entry(workspace, f"r{number}", text, type="constraint", source="user")
    code, output, errors = run_mem(tmp_path, "promote", "--auto", MEM_PAGE_BYTES="1500")
    assert code == 0 and len(output.splitlines()) == 7, errors
    assert "no room in MEMORY.md for 33 confirmed memories" in errors
    text = page.read_bytes().decode()
    assert len(text.encode()) <= 1500 and text.count("\n") == text.count("\r\n")


def test_a_program_cannot_promote_its_guess(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, "guess", "Deploys are risky.", source="inferred")
    with pytest.raises(RejectedError, match="only a person"):
        promote(workspace, ["guess"])
    assert promote(workspace, ["guess"], is_said_by_user=True).entries


def test_protected_and_broken_pages_stay(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    entry_id = put_entry(workspace, "a", "The gate opens at six.", strength="3")
    kept = f"<!-- mem:keep -->\n- The gate. <!-- {entry_id} 000000 -->\n<!-- /mem:keep -->\n"
    page = put(workspace, "MEMORY.md", kept)
    run_mem(tmp_path, "forget", "a")
    assert page.read_text() == kept
    assert "gate" not in run_mem(tmp_path, "read", "MEMORY.md")[1]
    run_mem(tmp_path, "restore", "a")
    for text in ("```\nopen code\n", "<!-- mem:promoted -->\n- A line.\n"):
        page.write_text(text)
        code, _, errors = run_mem(tmp_path, "promote", "a")
        assert (code, page.read_text()) == (5, text), errors


def test_tend_follows_memories_that_changed_without_a_command(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    names = ("edited", "expired", "forgotten", "replaced", "reworded")
    for name in names:
        put_entry(workspace, name, f"It is {name}.", source="user", type="constraint")
    newer = put_entry(workspace, "newer", "It is newer.")
    assert tend_again(workspace) == ["promote: 5 memories promoted to MEMORY.md"]
    for name, old, new in (
        ("edited", "It is edited.", "It was edited."),
        ("expired", "type:", "expires_at: 2026-11-01\ntype:"),
        ("forgotten", "type:", "status: forgotten\ntype:"),
        ("replaced", "type:", f"superseded_by: {newer}\ntype:"),
        ("reworded", "It is reworded.", "It was reworded."),
    ):
        path = workspace.root / f"entries/{name}.md"
        path.write_text(path.read_text().replace(old, new))
    page = workspace.root / "MEMORY.md"
    page.write_text(page.read_text().replace("It is reworded.", "In my words."))
    assert tend_again(workspace) == ["page: 4 lines of MEMORY.md updated"]
    statements = [line[2:].partition(" <!--")[0] for line in page.read_text().splitlines()]
    assert sorted(statements[1:-1]) == ["In my words.", "It is newer.", "It was edited."]
    assert tend_again(workspace) == []


def test_old_episodes_become_one_summary(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for day in range(1, 8):
        dates = {"created_at": f"2026-03-0{day}", "type": "episode", "project": "shop"}
        put_entry(workspace, f"e{day}", f"On day {day} we moved shelf {day * 7}.", **dates)
    put_entry(workspace, "own", "My note.", type="episode", source="user", created_at="2026-03-09")
    put_entry(workspace, "late", "It rained.", type="episode", created_at="2026-11-01")
    assert tend_again(workspace) == ["rollup: 1 month of episodes summarized"]
    listed = json.loads(run_mem(tmp_path, "ls", "--json", "type,title,project")[1])["entries"]
    summary = {"type": "summary", "title": "Summary of shop 2026-03", "project": "shop"}
    assert len(listed) == 3 and summary in listed
    assert "2026-03-06: On day 6 we moved shelf 42." in run_mem(tmp_path, "search", "shelf 42")[1]
    assert len(run_mem(tmp_path, "ls", "--status", "superseded")[1].splitlines()) == 7
    assert tend_again(workspace) == []
    assert run_mem(tmp_path, "restore", "e6")[0] == 0


def test_tend_leaves_what_git_carries_to_others(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        environment = get_process_environment(tmp_path / "home")
        subprocess.run(["git", *words], cwd=tmp_path, env=environment, check=True)

    git("init", "-q")
    workspace = make_workspace(tmp_path)
    put_entry(workspace, "old", "A fact.", created_at="2026-01-05")
    for name in ("b", "c", "d"):
        put_entry(workspace, name, f"Fact {name}.", type="constraint", source="user")
    assert tend(workspace) == []  # shared: only a command that somebody typed changes it
    (tmp_path / ".git/info/exclude").write_text("/memory/\n")
    assert not has_remote_copy(workspace)
    git("init", "-q", "memory")
    subprocess.run(["git", "remote", "add", "origin", "elsewhere"], cwd=workspace.root, check=True)
    assert has_remote_copy(workspace)
    assert tend_again(workspace) == ["promote: 3 memories promoted to MEMORY.md"]
    assert "Faded: A fact." in run_mem(tmp_path, "decay")[1] or list_fading(workspace) == []


def test_status_names_the_command_that_shows_problems_of_the_own_memory(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    home = {"HOME": str(tmp_path / "home")}
    run_mem(tmp_path, "write", "Tea at four.", "--path", "tea", "--scope", "user", **home)
    (path,) = tmp_path.glob("home/.local/share/mem/entries/**/tea.md")
    path.write_text("---\ntitle: [\n---\n")
    # As many as `mem check` lists. Two files have the same id.
    path.with_name("milk.md").write_text("---\nid: mem_01m8h0h7p0zzzzzz\n---\n\nMilk.\n")
    path.with_name("cow.md").write_text("---\nid: mem_01m8h0h7p0zzzzzz\n---\n\nCow.\n")
    status = run_mem(tmp_path, "status", **home)[1]
    _, _, command = status.partition("problems   3 (mem ")
    assert run_mem(tmp_path, *command.partition(")")[0].split(), **home)[0] == 1


def test_status_counts_ages_and_uses(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    first = put_entry(workspace, "a", "Tea at four.", created_at="2026-11-25", source="user")
    put_entry(workspace, "b", "An old fact.", created_at="2024-11-25")
    workspace.machine.count_access([first, first])
    shown = tmp_path / "home/.local/state/mem/shown"
    shown.mkdir()
    (shown / "a.json").write_text('{"tokens": 300}')
    (shown / "b.json").write_text("[1]")
    status = json.loads(run_mem(tmp_path, "status", "--json")[1])["workspaces"][0]
    assert status["statistics"]["ages"] == {"this week": 1, "older": 1}
    assert status["statistics"]["growth"] == {"2026-11": 1}
    assert status["usage"]["most_shown"] == [{"id": first, "text": "Tea at four.", "count": 2}]
    assert (status["usage"]["never_shown"], status["usage"]["tokens_per_session"]) == (1, 300)


def test_the_history_of_a_memory_has_its_commits(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, "a", "Tea at four.", created_at="2026-11-25")
    for words in (["init", "-q"], ["add", "memory"], ["commit", "-qm", "Add tea"]):
        environment = {
            **get_process_environment(tmp_path / "home"),
            "GIT_COMMITTER_DATE": "2026-11-26T10:00:00Z",
            "GIT_AUTHOR_DATE": "2026-11-26T10:00:00Z",
        }
        subprocess.run(["git", *words], cwd=tmp_path, env=environment, check=True)
    run_mem(tmp_path, "forget", "a", "--reason", "too old")
    events = json.loads(run_mem(tmp_path, "read", "a", "--history", "--json")[1])["history"]
    assert [(event["action"], event["text"]) for event in events] == [
        ("forgotten", "too old"),
        ("committed", "Add tea (Ana)"),
        ("created", "Tea at four."),
    ]


def test_a_note_without_a_date_was_only_changed_on_disk(tmp_path: Path) -> None:
    put(make_workspace(tmp_path), "entries/a.md", "Tea at four.\n")
    events = json.loads(run_mem(tmp_path, "read", "a", "--history", "--json")[1])["history"]
    assert [event["action"] for event in events] == ["changed on disk"]
    run_mem(tmp_path, "edit", "a", "--replace", "four", "five")
    # The clock of the tests is not that of the disk.
    logged = json.loads(run_mem(tmp_path, "read", "a", "--history", "--json")[1])["history"][-1]
    seconds = datetime.fromisoformat(logged["time"]).timestamp()
    os.utime(tmp_path / "memory/entries/a.md", (seconds, seconds))
    events = json.loads(run_mem(tmp_path, "read", "a", "--history", "--json")[1])["history"]
    assert [event["action"] for event in events] == ["edited"]


def test_links_among_conversations_stop_nothing(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "sessions/a/session.jsonl", '{"role": "user", "content": "Hello."}\n{"ro')
    put(workspace, "sessions/b/notes.txt", "")
    (workspace.root / "sessions/b/session.jsonl").symlink_to("/etc/passwd")
    (workspace.root / "sessions/c").symlink_to("a")
    output = run_mem(tmp_path, "check", "--fix")[1]
    assert "sessions/a/session.jsonl:2\tfixed: an incomplete line" in output
    assert "sessions/b/session.jsonl:1\ta symbolic link" in output
    assert run_mem(tmp_path, "tend")[0] == 0


def test_a_fix_loses_no_relation_and_no_line(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    here = put_entry(workspace, "b", "Tea at five.")
    put_entry(workspace, "a", "Tea at four.", conflicts_with=f"[mem_1, {here}, mem_2]")
    events = '{"role": "user", "content": "One\u2028two.", "id": "1"}\n{"role": "assis'
    session = put(workspace, "sessions/s/session.jsonl", f"{events}\nno JSON\n[1]\n")
    gone = f"- In my words. <!-- {ID.format('999')} 000000 -->\n"
    page = put(workspace, "MEMORY.md", gone)
    code, output, _ = run_mem(tmp_path, "check", "--fix")
    assert "sessions/s/session.jsonl:2\tfixed: an incomplete line" in output
    text = (workspace.root / "entries/a.md").read_text()
    assert f"conflicts_with: [{here}]\n" in text
    assert session.read_text() == f"{events.partition(chr(10))[0]}\nno JSON\n[1]\n"
    assert page.read_text() == "- In my words.\n"
    assert code == 1  # lines that are no events are still reported


def test_two_memories_that_replace_each_other_are_a_question_again(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    ids = [ID.format(f"{number:03}") for number in range(3)]
    for number, other in ((0, ids[1]), (1, ids[0]), (2, ids[0])):
        put_entry(workspace, f"rent{number}", f"The rent is 1,{number}50.", superseded_by=other)
    root = ["--workspace", str(workspace.root)]
    code, output, _ = run_mem(tmp_path, "check", *root)
    assert code == 1 and output.count("replace each other") == 2, output
    assert run_mem(tmp_path, "check", "--fix", *root)[0] == 0
    code, output, _ = run_mem(tmp_path, "ls", *root)
    assert "1,050" in output and "1,150" in output and "1,250" not in output
    assert '"conflict"' in run_mem(tmp_path, "review", "--json", *root)[1]


def test_a_second_value_of_a_key_that_git_brought_is_found(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, "one", "The port is 6543.", key="port")
    root = ["--workspace", str(workspace.root)]
    assert run_mem(tmp_path, "check", *root)[0] == 0
    put_entry(workspace, "two", "The port is 7654.", key="Port")
    code, output, _ = run_mem(tmp_path, "check", *root)
    assert code == 1 and "another value of port: mem review" in output


def test_a_check_reads_the_files_that_are_no_memories(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    conflict = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
    put(workspace, "purged.txt", f"mem_1 2026-11-28\n{conflict}")
    put(workspace, "mem.yaml", f"# mine\n{conflict}")
    code, output, _ = run_mem(tmp_path, "check")
    assert code == 1
    assert "mem.yaml:2\ta git conflict marker\n" in output
    assert "purged.txt:2\ta git conflict marker\n" in output


def test_the_check_of_a_commit_finds_what_the_check_in_ci_finds(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    put(workspace, "entries/list.md", "---\ntype: [fact\n---\n\nThe valve is green.\n")
    put(workspace, "entries/trust.md", "---\ntrust: high\n---\n\nThe valve is red.\n")
    put(workspace, "notes/2026-11-28.md", "---\ntype: [fact\n---\n")
    put(workspace, "../entries/page.md", "---\ntype: [fact\n---\n\nA page of the project.\n")
    put(workspace, "../entries/test.py", "token = ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n")
    subprocess.run(["git", "add", "memory", "entries"], cwd=tmp_path, check=True)
    put(workspace, "entries/mine.md", "token = ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n")
    put(workspace, ".secretsignore", "mine.md\n")
    # git carries these too, although mem does not read them.
    for path in ("README.txt", "entries/runner.yaml", "entries/X.MD"):
        put(workspace, path, "token = ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n")
    put(workspace, "entries/valve.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
    subprocess.run(["git", "add", "memory"], cwd=tmp_path, check=True)
    staged = run_mem(tmp_path, "check", "--staged")
    everything = run_mem(tmp_path, "check")
    assert staged[0] == everything[0] == 1
    assert sorted(staged[1].splitlines()) == sorted(
        f"memory/{line}" for line in everything[1].splitlines()
    )
    assert len(staged[1].splitlines()) == 5
    # Another branch has no memory yet.
    shutil.rmtree(workspace.root)
    assert run_mem(tmp_path, "check", "--staged") == (0, "", "")


def test_the_check_of_a_commit_covers_every_memory_of_the_repository(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    make_workspace(tmp_path / "services/a")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for folder in (tmp_path, tmp_path / "services/a"):
        entries = folder / "memory/entries"
        (entries / "k.md").write_text("key ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n")
        # A memory that is not staged yet.
        (entries / "later.md").write_text("key ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n")
        subprocess.run(["git", "add", entries / "k.md"], cwd=tmp_path, check=True)
    # git runs its hook at the top.
    for folder in (tmp_path, tmp_path / "services/a", tmp_path / "services"):
        code, output, _ = run_mem(folder, "check", "--staged", MEM_WORKSPACE=str(tmp_path))
        assert code == 1
        lines = [line.partition(":")[0] for line in output.splitlines()]
        assert lines == ["memory/entries/k.md", "services/a/memory/entries/k.md"]


def test_a_memory_written_by_hand_needs_no_id(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    soup = put(workspace, "entries/soup.md", "---\nrating: 5\n---\n\nKale soup.\n")
    assert run_mem(tmp_path, "check")[:2] == (0, "")
    assert "got a new id" in run_mem(tmp_path, "check", "--fix")[1]
    assert "id: mem_" in soup.read_text()


def test_status_counts_each_open_question_once(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_entry(workspace, "old-rent", "The rent is 1,150 euros a month.")
    put_entry(workspace, "new-rent", "The rent is 1,240 euros a month now.")
    old = put_entry(workspace, "old-port", "Staging listens on port 6543.", key="port")
    put_entry(workspace, "port", "Staging listens on 7654.", key="port", conflicts_with=f"[{old}]")
    assert "  questions  2 open (mem review)\n" in run_mem(tmp_path, "status")[1]
    pending = json.loads(run_mem(tmp_path, "status", "--json")[1])["workspaces"][0]["pending"]
    assert (pending["questions"], pending["conflicts"], pending["inbox"]) == (2, 1, 0)
    assert len(run_mem(tmp_path, "review")[1].splitlines()) == 2
