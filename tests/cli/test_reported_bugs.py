"""Situations from public bug reports of other memory tools and note apps.

Each name tells the situation; the comment names the report.
"""

import json
import subprocess
import unicodedata
from pathlib import Path

import pytest

from memcli.store import Replace, commit_one
from tests.helpers import get_process_environment, make_workspace, put, run_mem


def find(folder: Path, *words: str) -> str:
    return run_mem(folder, "search", *words)[1]


def fill(folder: Path, *texts: str) -> None:
    workspace = make_workspace(folder)
    for number, text in enumerate(texts):
        put(workspace, f"entries/x/e{number}.md", f"{text}\n")


def make_vault(folder: Path, **notes: str) -> Path:
    vault = folder / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    for name, text in notes.items():
        (vault / f"{name}.md").write_text(text)
    assert run_mem(vault, "init")[0] == 0
    return vault


def test_a_linked_worktree_of_an_own_repository_is_trusted(tmp_path: Path) -> None:
    # Digital-Process-Tools/claude-remember#56
    environment = {"HOME": str(tmp_path / "home")}
    main = tmp_path / "repo"
    main.mkdir()

    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", *arguments],
            cwd=main,
            env=get_process_environment(tmp_path / "home"),
            check=True,
        )

    git("init", "-q", "-b", "main")
    run_mem(main, "init", "--shared", **environment)
    run_mem(main, "write", "User prefers flatpak.", "--pinned", "--source", "user", **environment)
    git("add", "-A")
    git("commit", "-qm", "memory")
    git("worktree", "add", "-q", "../wt", "-b", "feature")
    listed = json.loads(run_mem(tmp_path / "wt", "ls", "--json", **environment)[1])["entries"]
    assert [(entry["source"], entry["pinned"]) for entry in listed] == [("user", True)]


def test_properties_with_capitals_are_read(tmp_path: Path) -> None:
    # notmuhammad/obsidian-frontmatter-alias-display#9
    note = "---\nTitle: Weekly numbers\nAliases: [WNUM, Wochenzahlen]\n---\n\nThey are due every Monday.\n"
    vault = make_vault(tmp_path, numbers=note)
    assert run_mem(vault, "read", "Wochenzahlen")[0] == 0
    assert run_mem(vault, "read", "weekly NUMBERS")[0] == 0
    assert "numbers.md" in find(vault, "WNUM", "--mode", "keyword")


def test_a_name_is_the_same_in_every_unicode_form(tmp_path: Path) -> None:
    # basicmachines-co/basic-memory#1275
    name = "Café Müller"
    vault = make_vault(tmp_path, visit=f"We go to [[{name}]] on Fridays.\n")
    (vault / f"{unicodedata.normalize('NFD', name)}.md").write_text("The terrace opens in May.\n")
    code, output, _ = run_mem(vault, "read", unicodedata.normalize("NFC", name))
    assert code == 0
    assert "terrace" in output and "Linked from: visit.md" in output


def test_the_name_of_a_tamil_memory_keeps_its_words(tmp_path: Path) -> None:
    # jekyll/jekyll#7973
    make_workspace(tmp_path)
    output = run_mem(tmp_path, "write", "மல்லிப்பூ வகைகள்")[1]
    assert "மல்லிப்பூ-வகைகள்" in output.split("\t")[2]


def test_a_picture_in_a_note_is_not_text(tmp_path: Path) -> None:
    # engram-app/Engram#1619
    picture = "iVBORw0KGgoAAAANSUhEUgAA" * 5000
    fill(
        tmp_path,
        f"The guest network is Birch.\n\n![x](data:image/png;base64,{picture})\n\nThe admin page is at 192.168.2.1.",
    )
    assert "192.168.2.1" in find(tmp_path, "admin page")
    status = json.loads(run_mem(tmp_path, "status", "--all", "--json")[1])
    assert status["workspaces"][0]["statistics"]["texts"] <= 2


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Schlueter", "Frau Schlüter leitet die Buchhaltung."),  # voc/voctoweb#112
        ("Gartenstrasse", "Der Bus hält in der Gartenstraße."),
        ("Köln", "Herr Groesser kommt aus Koeln."),
        ("Lodz", "Das Lager liegt in Łódź."),
        ("Tromso", "Der Kunde sitzt in Tromsø."),
        ("按钮", "結帳頁面的按鈕顏色要改成綠色。"),  # siyuan-note/siyuan#13304
        ("图书馆", "會議改到週四，地點在圖書館。"),
        ("Käse", "Oma backt am Sonntag Käsekuchen."),
        ("Kiosk", "Die Tickets gibt es am Reichsbrückenkiosk."),  # danielnaber/jwordsplitter#6
        ("Verbrennung", "Die Besichtigung der Müllverbrennungsanlage ist am 4. Mai."),
        ("invoce", "Invoices are sent with the accounting tool."),  # vshulcz/deja-vu#131
        ("e-mail", "The email goes out on Monday."),
        ("userPassword", "The field user password is hashed."),
    ],
)
def test_other_spellings_of_a_word_are_found(tmp_path: Path, query: str, text: str) -> None:
    others = (
        "The choir meets at 19:00.",
        "De fietsenstalling is achter het station.",
        "결제 화면은 토스를 쓴다.",
    )
    fill(tmp_path, text, *others)
    assert text in find(tmp_path, query, "--mode", "keyword", "-n", "1")


def test_a_note_with_an_impossible_time_has_the_day_of_its_file(tmp_path: Path) -> None:
    # jrnl-org/jrnl#614
    workspace = make_workspace(tmp_path)
    put(workspace, "notes/2026-03-04.md", "The kiln reached 1,240 degrees.\n")
    put(workspace, "notes/2026-03-05.md", "[25:99] is the ratio of clay to sand for the kites.\n")
    words = ["clay to sand", "--kind", "note", "--mode", "keyword"]
    (hit,) = json.loads(find(tmp_path, *words, "--json"))["hits"]
    assert hit["timestamp"].startswith("2026-03-05")
    assert "2026-03-05" in find(tmp_path, *words, "--until", "2026-03-31")


def test_an_editor_that_leaves_an_empty_file_deletes_nothing(tmp_path: Path) -> None:
    # zk-org/zk#107
    workspace = make_workspace(tmp_path)
    run_mem(tmp_path, "write", "The first text about gaskets.", "--path", "a")
    editor = tmp_path / "empty"
    editor.write_text('#!/bin/sh\n: > "$1"\n')
    editor.chmod(0o755)
    code, _, errors = run_mem(tmp_path, "edit", "a", EDITOR=str(editor))
    assert code == 5
    assert "nothing was changed" in errors
    assert "gaskets" in (workspace.root / "entries/a.md").read_text()


def test_a_key_with_a_dot_in_it_is_a_secret(tmp_path: Path) -> None:
    # NousResearch/hermes-agent#113901
    make_workspace(tmp_path)
    text = "It answered 401 with sk-sp-Kd7Hq2LmZx81Vb4TnR0c.q8Wm3ZtY6Lk2Jh5Gf9Ds yesterday."
    assert run_mem(tmp_path, "write", text)[0] == 5


def test_a_query_that_starts_with_a_dash_gets_a_hint(tmp_path: Path) -> None:
    # arabold/docs-mcp-server#262
    fill(tmp_path, "The flag --error-on-warnings is set in CI only.")
    assert "`--`" in run_mem(tmp_path, "search", "--error-on-warnings")[2]
    assert "CI only" in find(tmp_path, "--", "--error-on-warnings")


def test_a_linked_folder_that_is_not_searched_is_named(tmp_path: Path) -> None:
    # srid/emanote#252
    (tmp_path / "lectures").mkdir()
    (tmp_path / "lectures/l1.md").write_text("The lecture is about falcons.\n")
    vault = make_vault(tmp_path, a="Nothing here.\n")
    (vault / "lectures").symlink_to("../lectures")
    assert "lectures" in run_mem(vault, "search", "falcons")[2]


def test_imported_conversations_of_a_shared_project_are_learned(tmp_path: Path) -> None:
    # `mem session ls` listed them, but `mem consolidate` and the timer looked elsewhere.
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    home = {"HOME": str(tmp_path / "home")}
    run_mem(project, "init", "--shared", **home)
    for name, verb, program in (("a", "import", "lint"), ("b", "session import", "test")):
        (tmp_path / f"{name}.txt").write_text(
            f"User: Always run {program} first.\nAssistant: OK.\n"
        )
        assert run_mem(project, *verb.split(), f"../{name}.txt", **home)[0] == 0
    run_mem(project, "session", "append", "c", "Always run mypy first.", **home)
    assert not (project / "memory/sessions").exists()
    listed = json.loads(run_mem(project, "session", "ls", "--json", **home)[1])["sessions"]
    first = next(item["id"] for item in listed if item["id"].startswith("a"))
    assert "Always run lint first." in run_mem(project, "consolidate", first, **home)[1]
    run_mem(project, "session", "end", "c", **home)
    timer = ("tend", "--workspace", str(project / "memory"))
    assert "consolidate: 1 conversation, 1 memory" in run_mem(tmp_path, *timer, **home)[1]
    assert "Always run test first." in run_mem(project, "consolidate", "--all", **home)[1]
    entries = json.loads(run_mem(project, "ls", "--json", **home)[1])["entries"]
    assert {entry["project"] for entry in entries} == {"shop"} and len(entries) == 3


def test_settings_of_the_user_need_no_workspace(tmp_path: Path) -> None:
    words = ("--user", "timezone")
    assert run_mem(tmp_path, "config", "set", *words, "Asia/Tokyo") == (
        0,
        "timezone: Asia/Tokyo\n",
        "",
    )
    assert (tmp_path / "home/.config/mem/config.yaml").read_text() == "timezone: Asia/Tokyo\n"
    assert run_mem(tmp_path, "config", "unset", *words)[0] == 0
    assert run_mem(tmp_path, "config", "set", "timezone", "UTC")[0] == 4
    assert not (tmp_path / "home/.local").exists()


def test_an_undo_says_that_it_reverts_no_sync(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    run_mem(tmp_path, "write", "I like coffee.", "--source", "user")
    commit_one(workspace, "sync", [Replace(".gitattributes", None, "x\n")], actor="hook")
    assert "2 (sync): other machines have its memories too" in run_mem(tmp_path, "undo", "2")[2]
    _, out, err = run_mem(tmp_path, "undo")
    assert out.startswith("Undone 1 (write)")
    assert "were not undone: 2 (sync)" in err


def test_an_undo_reverts_the_last_command_of_both_memories(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    user = ("--source", "user")
    run_mem(tmp_path, "write", "The database is MySQL.", *user)
    run_mem(tmp_path, "write", "I prefer tabs.", *user, "--scope", "user")
    assert run_mem(tmp_path, "undo")[1] == "Undone 1 (write) in your own memory: I prefer tabs.\n"
    assert run_mem(tmp_path, "undo")[1] == "Undone 1 (write): The database is MySQL.\n"
    assert run_mem(tmp_path, "undo", "--redo")[1] == "Redone 1 (write): The database is MySQL.\n"
    assert "I prefer tabs" in run_mem(tmp_path, "undo", "--redo")[1]
    # A number is one of the project's list.
    assert "MySQL" in run_mem(tmp_path, "undo", "--list")[1]
    secret = "The key is ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m"
    assert run_mem(tmp_path, "write", secret)[0] == 5
    assert "the last command (write) failed" in run_mem(tmp_path, "undo")[2]
    run_mem(tmp_path, "write", "I prefer tea.", *user, "--scope", "user")
    assert "I prefer tea" in run_mem(tmp_path, "undo")[1]


def test_a_forgotten_sentence_in_the_history_is_no_problem(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = "The launch code of the rocket is banana split."
    memory_id = json.loads(run_mem(tmp_path, "write", text, "--source", "user", "--json")[1])["id"]
    run_mem(tmp_path, "history", "--add", text)
    assert run_mem(tmp_path, "forget", memory_id)[0] == 0
    assert run_mem(tmp_path, "check")[0] == 0
    put(workspace, "notes/2026-11-28.md", f"[09:00] {text}\n")
    assert "repeats a forgotten memory" in run_mem(tmp_path, "check")[1]
