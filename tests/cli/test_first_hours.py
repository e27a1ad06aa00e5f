"""What people met in their first hours with mem."""

import json
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.helpers import make_workspace, put, run_mem


def list_texts(folder: Path, *options: str) -> list[str]:
    entries = json.loads(run_mem(folder, "ls", "--json", "text", *options)[1])["entries"]
    return [entry["text"] for entry in entries]


def test_the_time_zone_of_the_environment_counts(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "mem.yaml", "")
    # The tests' clock starts at 12:00 UTC.
    for zone, hour in (("Asia/Tokyo", 21), (":no/such", 12), ("CET-1CEST", 12)):
        run_mem(tmp_path, "note", f"tea in {zone}", TZ=zone, MEM_TIMEZONE="")
        notes = workspace.root / "notes/2026-11-28.md"
        assert notes.read_text().splitlines()[-1].startswith(f"[{hour}:")


@pytest.mark.parametrize("start", ["## Summary\n\nThe sewers.", "- [ ] read it", "- [x] done"])
def test_a_note_that_starts_like_others_is_shown_by_its_title(tmp_path: Path, start: str) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", f"---\ntitle: Les Misérables\n---\n\n{start}\n")
    put(workspace, "entries/b.md", "---\ntitle: Moby\n---\n\nThe whale is white.\n")
    assert sorted(list_texts(tmp_path)) == ["Les Misérables", "The whale is white."]


@pytest.mark.parametrize(
    "condition",
    [
        "author=Victor Hugo",
        "author=[[Victor Hugo]]",
        "editor=ana",
        "shelf=blue",
        "due<next month",
        "due=this month",
        "due<in 2 weeks",
        "due<=next monday",
    ],
)
def test_a_condition_understands_links_imported_columns_and_dates(
    tmp_path: Path, condition: str
) -> None:
    workspace = make_workspace(tmp_path)
    head = 'author: ["[[Victor Hugo]]"]\neditor: "[[people/ana|Ana]]"\nmetadata: {shelf: blue}'
    put(workspace, "entries/a.md", f"---\n{head}\ndue: 2026-11-30\n---\n\nThe sewers.\n")
    put(workspace, "entries/b.md", "---\nauthor: Melville\ndue: 2026-12-20\n---\n\nThe whale.\n")
    assert list_texts(tmp_path, "--where", condition) == ["The sewers."]


def test_a_condition_does_not_guess_whether_a_date_is_past(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", "---\ndue: 2026-11-30\n---\n\nThe sewers.\n")
    for date in ("2 weeks", "friday"):
        code, _, error = run_mem(tmp_path, "ls", "--where", f"due<{date}")
        assert code == 2 and "in 2 weeks, 2 weeks ago" in error


def test_a_link_copied_from_a_note_names_it(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/Chess.md", "Thursdays at seven.\n")
    assert "seven" in run_mem(tmp_path, "read", "[[Chess]]")[1]


def test_the_refusal_of_personal_data_names_its_setting(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    words = ("note", "Pay the rent to DE89 3704 0044 0532 0130 00.")
    code, _, message = run_mem(tmp_path, *words)
    assert code == 5
    command = message.strip().partition("allow it: mem ")[2]
    assert run_mem(tmp_path, *command.split())[0] == 0
    assert run_mem(tmp_path, *words)[0] == 0


def test_a_correction_without_the_key_is_the_new_value_of_the_key(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    user = ("--source", "user")
    key = ("--key", "payments/provider")
    run_mem(tmp_path, "write", "The payment provider is Adyen.", *key, *user)
    run_mem(tmp_path, "write", "The provider is Stripe.", "--supersedes", "adyen", *user)
    run_mem(tmp_path, "write", "The payment provider is Mollie.", *key, *user)
    assert list_texts(tmp_path) == ["The payment provider is Mollie."]


def test_a_purge_deletes_an_earlier_value_that_was_the_same(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for port in (8443, 9443, 8443):
        text = f"Staging listens on port {port}."
        run_mem(tmp_path, "write", text, "--key", "staging/port", "--source", "user")
    run_mem(tmp_path, "forget", "staging/port", "--purge", "--yes")
    files = [path for path in workspace.root.rglob("*") if path.is_file()]
    assert not [path for path in files if b"8443" in path.read_bytes()]


def test_a_name_with_old_versions_matches_the_active_memories(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for number in range(4):
        status = "status: superseded\n" if number > 1 else ""
        put(workspace, f"entries/tea-{number}.md", f"---\n{status}---\n\nTea {number}.\n")
    message = run_mem(tmp_path, "read", "tea")[2]
    assert "matches 2 memories" in message


def test_a_purge_leaves_no_problem_in_what_the_memory_had_replaced(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    for port in (8443, 9443):
        text = f"Staging listens on port {port}."
        run_mem(tmp_path, "write", text, "--key", "staging/port", "--source", "user")
    run_mem(tmp_path, "forget", "staging/port", "--purge", "--yes")
    assert run_mem(tmp_path, "check")[:2] == (0, "")


def test_a_file_without_a_type_gets_the_one_that_mem_guesses(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", "Never run terraform import on prod.\n")
    put(workspace, "entries/b.md", "---\ntype: constraints\n---\n\nNever rename an invoice.\n")
    put(workspace, "entries/c.md", "---\ntype: book\n---\n\nNever Let Me Go.\n")
    put(workspace, "entries/d.md", "Repairs pottery wheels, only on Thursdays.\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/e.md").write_text("Always tag a release.\n")
    assert run_mem(tmp_path, "import", "notes")[0] == 0
    rules = list_texts(tmp_path, "--where", "type=constraint")
    assert rules == list_texts(tmp_path, "--type", "constraint")
    assert sorted(rules) == [
        "Always tag a release.",
        "Never rename an invoice.",
        "Never run terraform import on prod.",
    ]
    assert run_mem(tmp_path, "check")[1] == "entries/b.md:2\ttype should be constraint\n"


def test_a_script_that_changes_a_memory_hears_whose_it_is_now(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    run_mem(tmp_path, "write", "Tea at four.", "--path", "tea", "--source", "user")
    assert (
        "its source is inferred now"
        in run_mem(tmp_path, "edit", "tea", "--replace", "four", "five")[1]
    )
    assert "source" not in run_mem(tmp_path, "edit", "tea", "--replace", "five", "six")[1]


def test_the_list_of_commands_names_the_one_that_undo_reverts(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    assert run_mem(tmp_path, "undo", "--list")[2] == ""
    run_mem(tmp_path, "write", "Ana likes tea.", "--scope", "user")
    message = run_mem(tmp_path, "undo", "--list")[2]
    assert "Ana likes tea." in run_mem(tmp_path, *message.split("memory: mem ")[1].split())[1]


@pytest.mark.parametrize("command", [("recall", "who sells fridge thermometers"), ("context",)])
def test_an_agent_sees_the_title_of_a_memory(tmp_path: Path, command: tuple[str, ...]) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", "---\ntitle: Anke Richter\n---\n\nSells fridge thermometers.\n")
    assert "Anke Richter: Sells fridge thermometers." in run_mem(tmp_path, *command)[1]


def test_a_workspace_that_is_shared_later_is_seen_by_git(tmp_path: Path) -> None:
    run_git = partial(subprocess.check_output, cwd=tmp_path, text=True)
    run_git(["git", "init", "-q"])
    run_mem(tmp_path, "init", "--yes")
    shutil.rmtree(tmp_path / "memory")
    run_mem(tmp_path, "init", "--shared")
    assert "memory/" in run_git(["git", "status", "--short"])


def test_a_memory_with_more_than_the_corrected_statement_is_asked_about(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    old = "The staging database listens on port 6543 and restarts every Monday."
    run_mem(tmp_path, "write", old, "--source", "user")
    run_mem(tmp_path, "session", "append", "a", "Connect to staging.")
    said = "The staging database listens on port 6543."
    run_mem(tmp_path, "session", "append", "a", said, "--role", "assistant")
    run_mem(tmp_path, "session", "append", "a", "no, the port is 6544")
    run_mem(tmp_path, "session", "end", "a")
    run_mem(tmp_path, "consolidate")
    assert sorted(list_texts(tmp_path)) == [old, said.replace("6543", "6544")]
    assert run_mem(tmp_path, "review", "--json")[1].count('"kind": "conflict"') == 1
