"""How new memories relate to old ones: keys, trust, confirmation, forgetting, purging, undoing."""

import json
from pathlib import Path

import pytest

from memcli.store.undo_log import Change, Record, find_log_folder, save_record
from memcli.store.workspace import Workspace
from tests.helpers import make_workspace, open_again, put, run_mem

USER = ("--source", "user")
PAGE = "# Memory\n\n<!-- mem:promoted -->\n- {text} <!-- {id} -->\n<!-- /mem:promoted -->\n\nMine: {text}\n"


def mem(folder: Path, *words: str, code: int = 0) -> str:
    done, output, errors = run_mem(folder, *words)
    assert done == code, errors
    return output


def list_active(folder: Path) -> list[str]:
    output = run_mem(folder, "ls", "--json", "text")[1]
    return sorted(item["text"] for item in json.loads(output)["entries"])


def read_id(workspace: Workspace, name: str) -> str:
    return (workspace.root / "entries" / f"{name}.md").read_text().partition("id: ")[2].split()[0]


def test_the_same_words_under_two_keys_are_two_memories(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "enabled", "--key", "feature/a", *USER)
    mem(tmp_path, "write", "enabled", "--key", "feature/b", *USER)
    mem(tmp_path, "write", "enabled", "--key", "feature/a", *USER)
    assert list_active(tmp_path) == ["enabled", "enabled"]


def test_a_similar_memory_is_reported_even_if_it_was_just_written(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "I moved to Porto in May.", *USER)
    mem(tmp_path, "write", "The spare key is under the third flower pot.", *USER)
    output = mem(tmp_path, "write", "I moved to Porto in June.", *USER, "--json", "related")
    related = json.loads(output)["related"]
    assert [(item["text"], item["relation"]) for item in related] == [
        ("I moved to Porto in May.", "similar")
    ]


def test_memories_of_different_owners_never_merge(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for name in ("ana", "bruno"):
        put(
            workspace,
            f"entries/{name}.md",
            f"---\nid: mem_01kajd3v7m4kq7t{name[0]}\nowner: {name}\n---\n\nLikes tea.\n",
        )
    mem(tmp_path, "write", "Likes tea.", *USER)
    assert list_active(tmp_path) == ["Likes tea."] * 3


@pytest.mark.parametrize("way", ["write", "update", "restore"])
def test_a_key_has_one_active_value_whatever_sets_it(tmp_path: Path, way: str) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "Port 1.", "--key", "port", "--path", "one", *USER)
    mem(tmp_path, "write", "Port 2.", "--key", "port", "--path", "two", *USER)
    if way == "write":
        mem(tmp_path, "write", "Port 3.", "--supersedes", "two", *USER)
        mem(tmp_path, "write", "Port 4.", "--key", "port", *USER)
        assert list_active(tmp_path) == ["Port 4."]
    elif way == "update":
        mem(tmp_path, "write", "Port 5.", "--path", "five", *USER)
        mem(tmp_path, "write", "--id", "five", "--key", "port", *USER)
        assert list_active(tmp_path) == ["Port 5."]
    else:
        mem(tmp_path, "restore", "one")
        assert list_active(tmp_path) == ["Port 1."]


def test_a_project_may_have_another_value_of_a_key(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", "---\nkey: door\nproject: zoo\n---\n\nThe lion sleeps.\n")
    output = mem(tmp_path, "write", "Knock twice.", "--key", "Door", *USER, "--json", "related")
    (related,) = json.loads(output)["related"]
    assert (related["relation"], related["text"]) == ("same key in zoo", "The lion sleeps.")
    assert list_active(tmp_path) == ["Knock twice.", "The lion sleeps."]


@pytest.mark.parametrize("way", ["write", "supersedes", "update"])
def test_a_less_trusted_source_contradicts_and_does_not_replace(tmp_path: Path, way: str) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "Port 1.", "--key", "port", "--path", "one", *USER)
    if way == "write":
        mem(tmp_path, "write", "Port 2.", "--key", "port", "--source", "inferred")
    elif way == "supersedes":
        mem(tmp_path, "write", "Port 2.", "--supersedes", "one", "--source", "inferred")
    else:
        mem(tmp_path, "write", "Port 2.", "--path", "two", "--source", "inferred")
        mem(tmp_path, "write", "--id", "two", "--key", "port", "--source", "inferred")
    assert list_active(tmp_path) == ["Port 1.", "Port 2."]
    output = mem(tmp_path, "ls", "--json", "text,conflicts_with")
    assert [bool(item["conflicts_with"]) for item in json.loads(output)["entries"]].count(True) == 1


def test_a_script_that_rewords_the_users_memory_lowers_its_source(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "Tea at four.", "--path", "tea", *USER)
    mem(tmp_path, "edit", "tea", "--replace", "four", "five")
    assert '"source": "inferred", "trust": 0.5' in mem(tmp_path, "ls", "--json", "source,trust")


def test_a_promoted_line_follows_its_memory(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", "Tea at four o'clock.", "--path", "tea", *USER)
    page = put(
        workspace,
        "MEMORY.md",
        PAGE.format(text="Tea at four o'clock.", id=read_id(workspace, "tea")),
    )
    mem(tmp_path, "edit", "tea", "--replace", "four", "five")
    assert "- Tea at five o'clock. <!--" in page.read_text()
    mem(tmp_path, "write", "Tea at six o'clock.", "--supersedes", "tea", *USER)
    assert "- Tea at six o'clock. <!--" in page.read_text()
    mem(tmp_path, "undo")
    mem(tmp_path, "forget", "tea")
    assert "- Tea" not in page.read_text()
    mem(tmp_path, "undo")
    assert "- Tea at five o'clock. <!--" in page.read_text()


def test_a_forgotten_memory_is_not_found_by_its_name(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "Ana is allergic to nuts.", "--path", "allergy", *USER)
    mem(tmp_path, "forget", "allergy")
    assert mem(tmp_path, "search", "allergy", "--min-score", "0", code=1) == ""
    assert "nuts" in mem(tmp_path, "search", "allergy", "--status", "forgotten")


def test_the_user_can_say_it_again_and_nobody_else(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "The office is in Porto since May.", "--path", "office", *USER)
    mem(tmp_path, "write", "A line.", "--path", "line", *USER)
    mem(tmp_path, "forget", "office")
    text = "The office is in Porto since May"
    mem(tmp_path, "write", text, "--source", "observed", code=5)
    mem(tmp_path, "write", text, "--id", "line", "--source", "observed", code=5)
    mem(tmp_path, "write", text, *USER)
    assert "The office is in Porto since May." in list_active(tmp_path)


def test_a_purge_leaves_the_text_in_no_file_of_ours(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = "The spare key is under the third pot."
    mem(tmp_path, "write", "Invoices go out on Monday.", *USER)
    mem(tmp_path, "write", text, "--path", "key", *USER)
    put(workspace, "MEMORY.md", PAGE.format(text=text, id=read_id(workspace, "key")))
    put(
        workspace,
        "notes/2026-11-20.md",
        f"[10:00] {text} And ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m\n[11:00] {text}\n",
    )
    put(
        workspace,
        "HISTORY-2026-11.md",
        f"## 2026-11-20T10:00:00Z <!-- hist_1 -->\n\n[2026-11-20 10:00] {text}\n\n",
    )
    events = [
        json.dumps({"role": "user", "content": text}),
        json.dumps({"role": "user", "content": f"a/b {text}"}).replace("a/b", "a\\/b"),
    ]
    session = put(workspace, "sessions/s/session.jsonl", "\n".join(events) + "\n")
    mem(tmp_path, "edit", "key", "--replace", "third", "third")
    mem(tmp_path, "note", f"remember: {text}")
    mem(tmp_path, "forget", "key", "--purge", "--yes")
    for path in workspace.root.rglob("*"):
        assert not path.is_file() or b"third pot" not in path.read_bytes(), path
    assert [json.loads(line)["role"] for line in session.read_text().splitlines()] == [
        "user",
        "user",
    ]
    assert (workspace.root / "notes/2026-11-20.md").read_text().startswith("[10:00]")
    assert "hist_1" not in (workspace.root / "HISTORY-2026-11.md").read_text()
    # Typos are still found: the words of other texts are not lost.
    assert "Invoices" in mem(tmp_path, "search", "invoce", "--mode", "keyword")
    mem(tmp_path, "write", text, "--source", "inferred", code=5)


def test_a_memory_purged_on_another_machine_is_hidden_and_then_deleted(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", "The boiler code is seven four nine.", "--path", "boiler", *USER)
    put(workspace, "purged.txt", f"{read_id(workspace, 'boiler')} 2026-11-28T10:00:00Z\n")
    assert list_active(tmp_path) == []
    assert mem(tmp_path, "search", "boiler code", "--min-score", "0", code=1) == ""
    mem(tmp_path, "note", "hello")
    assert not (workspace.root / "entries/boiler.md").exists()
    log = find_log_folder(open_again(workspace))
    assert log is not None
    assert all(b"seven four" not in path.read_bytes() for path in log.iterdir())
    mem(tmp_path, "undo")
    assert not (workspace.root / "entries/boiler.md").exists()


def test_a_rejected_forgetting_is_an_error(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "Tea at four.", "--path", "tea", *USER)
    mem(tmp_path, "forget", "tea", "--reason", "ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m", code=5)
    assert list_active(tmp_path) == ["Tea at four."]


def test_two_undos_and_two_redos_end_where_they_began(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "One.", *USER)
    mem(tmp_path, "write", "Two.", *USER)
    for words in (["undo"], ["undo"]):
        mem(tmp_path, *words)
    assert list_active(tmp_path) == []
    assert "One." in mem(tmp_path, "undo", "--redo")
    assert "Two." in mem(tmp_path, "undo", "--redo")
    assert list_active(tmp_path) == ["One.", "Two."]
    mem(tmp_path, "undo", "--redo", code=4)


def test_undo_moves_on_from_a_command_whose_file_is_gone(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", "One.", "--path", "one", *USER)
    mem(tmp_path, "write", "Two.", "--path", "two", *USER)
    (workspace.root / "entries/two.md").unlink()
    mem(tmp_path, "undo")
    assert "One." in mem(tmp_path, "undo")


def test_reverting_a_killed_command_leaves_other_edits_alone(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "notes/a.md", "edited after the crash\n")
    log = find_log_folder(workspace)
    assert log is not None
    changes = (
        Change("notes/a.md", "before\n", "after\n"),
        Change("notes/gone.md", "old\n", "new\n"),
    )
    save_record(log, Record(1, "edit", "", "2026-11-28T10:00:00Z", changes), "pending")
    mem(tmp_path, "note", "hello")
    names = sorted(path.name for path in (workspace.root / "notes").iterdir())
    assert names == ["2026-11-28.md", "a.md"]
    assert (workspace.root / "notes/a.md").read_text() == "edited after the crash\n"


def test_a_damaged_record_of_the_undo_log_stops_nothing(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", "Tea at four o'clock.", "--path", "tea", *USER)
    log = find_log_folder(workspace)
    assert log is not None
    (log / "2.json").write_text("{}")
    (log / "3.pending").write_text("[1")
    mem(tmp_path, "forget", "tea", "--purge", "--yes")
    mem(tmp_path, "note", "hello")
    mem(tmp_path, "undo", "--list")


def test_commands_that_read_create_no_workspace(tmp_path: Path) -> None:
    for words in (["config", "list"], ["check"], ["undo"], ["forget", "x"], ["trust"], ["status"]):
        mem(tmp_path, *words, code=4)
    assert not (tmp_path / "home").exists()


def test_a_list_of_two_workspaces_is_cut_once(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "Of the project.", *USER)
    mem(tmp_path, "write", "My own.", "--scope", "user", *USER)
    assert len(mem(tmp_path, "ls", "-n", "1").splitlines()) == 1
    assert (
        len(mem(tmp_path, "search", "project own", "-n", "1", "--min-score", "0").splitlines()) == 1
    )


def test_grep_all_also_searches_other_files(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "note", "the falcon nests here")
    assert "falcon" in mem(tmp_path, "grep", "falcon", "--all")


@pytest.mark.parametrize(
    "path", [".hidden/x", "../MEMORY", "a/../../x", "ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m"]
)
def test_a_path_that_would_hide_a_memory_is_refused(tmp_path: Path, path: str) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", "Tea at four.", "--path", path, code=5)
    assert list(workspace.root.rglob("*.md")) == []


def test_an_unknown_field_is_refused_before_anything_is_saved(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "Tea at four.", "--json=nonsense", code=2)
    assert mem(tmp_path, "ls", code=1) == ""


def test_the_own_workspace_labels_memories_with_the_project(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    mem(tmp_path / "shop", "write", "Tea at four.", *USER)
    assert '"project": "shop"' in mem(
        tmp_path / "shop", "ls", "--scope", "user", "--json", "project"
    )


def test_undoing_half_of_a_move_names_the_other_half(tmp_path: Path) -> None:
    """A move changes two workspaces, and each of them has its own undo log."""
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", "Tea at four.", *USER)
    mem(tmp_path, "edit", "tea", "--scope", "user")
    message = run_mem(tmp_path, "undo")[2]
    assert message.startswith(f"mem: the command also changed {tmp_path}/home/")
    assert message.endswith(": mem undo 1 --scope user\n")
    # Both halves are undone then, so nothing is left to say.
    assert run_mem(tmp_path, "undo", "1", "--scope", "user")[2] == ""
    assert mem(tmp_path, "ls", "--scope", "user", code=1) == ""
    message = run_mem(tmp_path, "undo", "--redo", "--scope", "user")[2]
    _, _, command = message.rstrip().partition(f"{workspace.root}: mem ")
    assert run_mem(tmp_path, *command.split())[2] == ""
    assert mem(tmp_path, "ls", "--scope", "project", code=1) == ""
    assert mem(tmp_path, "ls", "--scope", "user").count("Tea at four.") == 1
