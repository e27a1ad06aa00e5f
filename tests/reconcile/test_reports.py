"""Defects that a reviewer and a first user reported, each with the commands that showed it."""

import json
from pathlib import Path

import pytest

from tests.helpers import make_workspace, put, run_mem

USER = ("--source", "user")
SECRET = "ghp_a8Jk3Lm9Qw2Er5Ty7Ui1Op4As6Df8Gh0Zx3C"
SALARY = "Alice earns ninety thousand euros a year"


def mem(folder: Path, *words: str, code: int = 0) -> str:
    done, output, errors = run_mem(folder, *words)
    assert done == code, errors
    return output


def read_first_id(folder: Path) -> str:
    return str(json.loads(mem(folder, "ls", "--json", "id"))["entries"][0]["id"])


def test_a_file_that_replaced_a_purged_one_is_not_deleted(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", SALARY, "--path", "a", *USER)
    entry_id = read_first_id(tmp_path)
    put(workspace, "purged.txt", f"{entry_id} 2026-11-28T00:00:00Z\n")
    mem(tmp_path, "ls", code=1)
    put(workspace, "entries/a.md", "Something else that I typed.\n")
    mem(tmp_path, "note", "hello")
    assert (workspace.root / "entries/a.md").read_text() == "Something else that I typed.\n"


def test_a_memory_purged_elsewhere_cannot_be_read_by_its_id(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", SALARY, *USER)
    entry_id = read_first_id(tmp_path)
    put(workspace, "purged.txt", f"{entry_id} 2026-11-28T00:00:00Z\n")
    assert "Alice" not in mem(tmp_path, "read", entry_id, code=4)


def test_edit_prints_and_logs_no_secret_and_no_forgotten_text(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", SALARY, "--path", "a", *USER)
    mem(tmp_path, "forget", "a")
    put(workspace, "entries/token.md", f"The token is {SECRET} here.\n\nColour is blue.\n")
    put(workspace, "entries/salary.md", f"{SALARY}, says Bob.\n\nColour is blue.\n")
    for name in ("token", "salary"):
        output = mem(tmp_path, "edit", f"entries/{name}.md", "--replace", "blue", "green")
        output += mem(tmp_path, "read", f"entries/{name}.md", "--history")
        assert SECRET not in output
        assert "Alice" not in output
    assert SECRET not in mem(tmp_path, "undo", "--list")


def test_undo_keeps_a_line_of_a_page_that_looks_like_a_time_of_change(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "MEMORY.md", "# Page\n\nupdated_at: old\nx\ny\nlast\n")
    output = mem(
        tmp_path, "edit", "MEMORY.md", "--replace", "updated_at: old", "updated_at: new", "--json"
    )
    mem(tmp_path, "edit", "MEMORY.md", "--replace", "last", "LAST")
    mem(tmp_path, "undo", str(json.loads(output)["undo"]))
    assert (workspace.root / "MEMORY.md").read_text() == "# Page\n\nupdated_at: old\nx\ny\nLAST\n"


def test_undo_follows_a_renamed_memory(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", "Port is 1.", "--key", "port", *USER)
    mem(tmp_path, "write", "Port is 2.", "--key", "port", "--path", "two", *USER)
    (workspace.root / "entries/two.md").rename(workspace.root / "entries/renamed.md")
    mem(tmp_path, "undo")
    assert not (workspace.root / "entries/renamed.md").exists()
    assert "Port is 1." in mem(tmp_path, "ls")


def test_a_memory_that_is_only_a_title_is_forgotten_and_purged(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/a.md", f"---\nid: mem_01kajd3v7m4kq7tz\ntitle: {SALARY}\n---\n")
    mem(tmp_path, "note", SALARY)
    mem(tmp_path, "forget", "entries/a.md")
    mem(tmp_path, "write", SALARY, "--source", "inferred", code=5)
    mem(tmp_path, "grep", "ninety", code=1)
    mem(tmp_path, "forget", "entries/a.md", "--purge", "--yes")
    assert not [path for path in workspace.root.rglob("*.md") if "ninety" in path.read_text()]


def test_an_escaped_title_does_not_show_a_forgotten_text(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = "Müller verdient neunzigtausend Euro im Jahr"
    mem(tmp_path, "write", text, "--path", "a", *USER)
    mem(tmp_path, "forget", "a")
    escaped = text.replace("ü", "\\xFC")
    put(workspace, "entries/b.md", f'---\ntitle: "{escaped}"\ntype: fact\n---\n\nOther words.\n')
    assert "neunzig" not in mem(tmp_path, "ls", "--json", "title")
    assert "title" in mem(tmp_path, "ls", "--json", "title")


@pytest.mark.parametrize(
    "event",
    [
        '{"role":"user","name":"Bob \\ud83d","id":"m\\ud83d","content":"hello trains"}',
        f'{{"role":"user","name":"{SECRET}","id":"{SECRET}","content":"hello trains"}}',
    ],
)
def test_the_names_in_a_conversation_are_checked_too(tmp_path: Path, event: str) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "sessions/a/session.jsonl", event + "\n")
    output = mem(tmp_path, "search", "trains", "--kind", "session", "--json")
    assert SECRET not in output + mem(tmp_path, "read", "sessions/a/session.jsonl")


def test_a_purge_reaches_lines_that_cannot_be_parsed(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    deep = "[" * 500 + json.dumps(SALARY) + "]" * 500
    put(workspace, "sessions/a/session.jsonl", f'{deep}\n{{"content": "{SALARY}"\n')
    mem(tmp_path, "write", SALARY, "--path", "a", *USER)
    mem(tmp_path, "forget", "a", "--purge", "--yes")
    assert "ninety" not in (workspace.root / "sessions/a/session.jsonl").read_text()


def test_a_purge_leaves_other_headings_and_times_alone(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    log = f"## Decisions\n\n## 2026-11-28 10:00\n\n{SALARY}.\n\n## Plans\n\n## 2026-11-28 11:00\n\nKeep me.\n"
    put(workspace, "HISTORY-2026-11.md", log)
    put(workspace, "notes/2026-11-28.md", f"[10:04] {SALARY}\n[10:05]\n  indented\n")
    mem(tmp_path, "write", SALARY, "--path", "a", *USER)
    mem(tmp_path, "forget", "a", "--purge", "--yes")
    kept = "## Decisions\n\n## Plans\n\n## 2026-11-28 11:00\n\nKeep me.\n"
    assert (workspace.root / "HISTORY-2026-11.md").read_text() == kept
    assert (workspace.root / "notes/2026-11-28.md").read_text() == "[10:05]\n  indented\n"


def test_a_purge_does_not_store_the_name_of_a_note(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "Talk with Ana.md").write_text(f"{SALARY}\n")
    mem(tmp_path, "init")
    mem(tmp_path, "forget", "Talk with Ana.md", "--purge", "--yes")
    assert not (tmp_path / "Talk with Ana.md").exists()
    assert not list(tmp_path.rglob("purged.txt"))


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_long_file_does_not_crowd_out_other_hits(tmp_path: Path, mode: str) -> None:
    workspace = make_workspace(tmp_path)
    sections = [f"## Port {i}\n" + f"Server {i} has port {i}.\n" * 12 for i in range(80)]
    put(workspace, "entries/ports.md", "\n".join(sections))
    for i in range(5):
        put(workspace, f"entries/h{i}.md", f"Somebody mentioned the port of Hamburg {i}.\n")
    output = mem(tmp_path, "search", "port", "-n", "5", "--mode", mode, "--json", "path")
    assert len(json.loads(output)["hits"]) == 5


def test_forgetting_a_copy_names_the_memory_that_it_hides(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    mem(tmp_path, "write", "Staging listens on port 9999.", "--path", "a", *USER)
    put(workspace, "entries/copy.md", (workspace.root / "entries/a.md").read_text())
    hint = run_mem(tmp_path, "forget", read_first_id(tmp_path))
    assert hint[0] == 2
    assert "entries/a.md" in hint[2]
    assert "entries/copy.md" in hint[2]
    code, _, errors = run_mem(tmp_path, "forget", "entries/copy.md")
    assert code == 0
    assert "also hides the same text in entries/a.md" in errors
    # Many files have such lines.
    put(workspace, "entries/log.md", "Log\n")
    put(workspace, "entries/day.md", "Sunny.\n\n## Log\n\n- [ ] Log\n")
    assert "also hides" not in run_mem(tmp_path, "forget", "entries/log.md")[2]


def test_a_note_without_frontmatter_is_restored_as_it_was(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/boiler.md", "The boiler is old.\n")
    mem(tmp_path, "forget", "entries/boiler.md")
    mem(tmp_path, "restore", "entries/boiler.md")
    assert (workspace.root / "entries/boiler.md").read_text() == "The boiler is old.\n"
    # A property of its user is not changed, and mem says that it has no place for the reason.
    put(workspace, "entries/boiler.md", "---\nReason: mine\n---\n\nThe boiler is old.\n")
    _, _, errors = run_mem(tmp_path, "forget", "entries/boiler.md", "--reason", "sold")
    assert "already has a property named reason, so your reason was not saved" in errors


def test_a_section_is_read_by_its_heading(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/Boiler.md", "# Boiler\n\nOld.\n\n## Spare Parts\n\nIn the shed.\n")
    for name in ("Boiler#Spare Parts", "Boiler.md#spare-parts"):
        assert mem(tmp_path, "read", name).strip().endswith("In the shed.")
        assert "Old." not in mem(tmp_path, "read", name)


def test_mistakes_in_filters_and_queries_are_errors(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    mem(tmp_path, "write", "Tea.", "--type", "preference", *USER)
    mem(tmp_path, "ls", "--status", "foo", code=2)
    mem(tmp_path, "search", "", code=2)
    assert "Tea." in mem(tmp_path, "ls", "--type", "Preference")
    assert "did you mean: --tag" in run_mem(tmp_path, "write", "abc", "--tagg", "x")[2]


def test_a_secret_is_found_in_the_text_before_the_name_of_its_file(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    text = "Note on gitlab: glpat-9fJ2kLmQ8rT5vXyZ1aB3"
    code, _, errors = run_mem(tmp_path, "write", text)
    assert code == 5 and "this looks like a GitLab token (gitlab-token, column 17)" in errors
    code, _, errors = run_mem(tmp_path, "write", "Note.", "--path", text)
    assert code == 5 and "the name of the file contains a secret\nhint: choose another" in errors


def test_a_memory_with_a_secret_is_confirmed_by_its_masked_text(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = f"The deploy key is {SECRET}"
    masked = "The deploy key is [REDACTED:github-token]"
    output = mem(tmp_path, "write", text, "--path", "a", "--allow-secret", "--json", "text", *USER)
    assert json.loads(output) == {"text": masked}
    mem(tmp_path, "promote", "a")
    words = ("--id", "a", "--allow-secret", "--json", "text", *USER)
    output = mem(tmp_path, "write", f"{text} now", *words, *USER)
    assert json.loads(output) == {"text": f"{masked} now"}
    assert f"- {masked} now <!--" in (workspace.root / "MEMORY.md").read_text()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("postgres://ana:kq7-Tz9xW@db.pond.org/app", "a password in a URL (url-password"),
        ("npm_a8Jk3Lm9Qw2Er5Ty7Ui1Op4As6Df8Gh0Zx3C", "a token of npm (npm-token"),
    ],
)
def test_a_kind_of_secret_has_its_article(text: str, kind: str, tmp_path: Path) -> None:
    make_workspace(tmp_path)
    code, _, errors = run_mem(tmp_path, "write", f"We use {text} here.")
    assert code == 5 and f"this looks like {kind}" in errors
