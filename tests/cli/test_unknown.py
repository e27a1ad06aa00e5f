"""What a person types by guess: each gets the one line that says how it is done."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.tables import cases


@cases("typed", "told")
def test_a_name_that_is_not_known_gets_the_command_that_does_it(
    mem: Mem, workspace: Path, typed: str, told: str
) -> None:
    ran = mem(*typed.split())
    assert ran.code == 2
    assert ran.out == ""
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert "?:" not in ran.err


def test_a_value_or_a_text_may_look_like_an_option_with_one_dash(mem: Mem, workspace: Path) -> None:
    entry = mem("write", "The flag is -kind.", "--json").json["id"]
    assert mem("edit", entry, "--replace", "-kind", "-type").code == 0
    assert mem("search", "--json", "--", "-type").json["hits"][0]["id"] == entry
    assert mem("ls", "--key", "-key").code == 0


def test_every_command_that_a_wrong_name_leads_to_exists(mem: Mem) -> None:
    from memcli.cli.app import commands
    from memcli.cli.completion import ELSEWHERE

    assert {told.split()[0] for told in ELSEWHERE.values()} <= commands().keys()
    assert not ELSEWHERE.keys() & commands().keys()


@pytest.mark.parametrize("command", [("write", "A fact."), ("ls",), ("search", "x"), ("grep", "x"), ("export",)])
@pytest.mark.parametrize(("name", "told"), [("blah", "fact, preference"), ("prefrence", "did you mean preference?")])
def test_a_type_that_there_is_not_is_refused_by_every_command(
    mem: Mem, workspace: Path, command: tuple[str, ...], name: str, told: str
) -> None:
    ran = mem(*command, "--type", name)
    assert (ran.code, ran.out) == (2, "")
    assert f"no type '{name}'" in ran.err
    assert told in ran.err
    assert not list(workspace.glob("entries/**/*.md"))


@pytest.mark.parametrize("command", ["diff", "export", "recall"])
def test_a_format_that_there_is_not_is_refused_by_every_command(mem: Mem, workspace: Path, command: str) -> None:
    ran = mem(command, "--format", "blah")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mem: no --format 'blah': use ")


def test_a_type_of_another_tool_that_is_in_use_is_known(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "own.md").write_text("---\nid: mem_own\ntype: recipe\n---\n\nBread.\n")
    assert mem("ls", "--type", "recipe").rows[0][0] == "mem_own"
    assert mem("write", "Soup.", "--type", "recipe", "--no-dedup").code == 0


@pytest.mark.parametrize(
    "path", ["MEMORY.md", "HISTORY-2026-11.md", "notes/2026-11-21.md", "memory/MEMORY.md", "./memory/MEMORY.md"]
)
def test_write_makes_no_entry_at_the_place_of_another_file(mem: Mem, workspace: Path, path: str) -> None:
    before = (workspace / "MEMORY.md").read_bytes()
    ran = mem("write", "A fact.", "--path", path)
    assert ran.code == 5
    assert "not an entry: `mem " in ran.err
    assert not list(workspace.glob("entries/**/*.md"))
    assert (workspace / "MEMORY.md").read_bytes() == before


@pytest.mark.parametrize("name", ["MEMORY.md", "memory/MEMORY.md"])
def test_long_term_memory_is_replaced_and_patched_by_a_command(mem: Mem, workspace: Path, name: str) -> None:
    page = workspace / "MEMORY.md"
    assert mem("write", "--id", name, "-", stdin="# People\n\nKai builds boats.\n").code == 0
    assert page.read_text() == "# People\n\nKai builds boats.\n"
    patch = "--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ -1,3 +1,3 @@\n # People\n \n-Kai builds boats.\n+Kai mends boats.\n"
    assert mem("edit", name, "--patch", "-", stdin=patch).code == 0
    assert page.read_text() == "# People\n\nKai mends boats.\n"
    assert mem("edit", name, "--replace", "mends", "sells").code == 0
    assert page.read_text() == "# People\n\nKai sells boats.\n"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("import", "notes"), "`mem init notes`"),
        (("import", "memory"), "`mem export --workspace memory | mem import -`"),
        (("consolidate", "notes"), "notes is a folder"),
        (("write", "--file", "notes"), "notes is a folder"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_a_folder_in_the_place_of_a_file_is_called_one(
    mem: Mem, workspace: Path, command: tuple[str, ...], told: str
) -> None:
    (workspace.parent / "notes").mkdir()
    ran = mem(*command)
    assert ran.code == 2
    assert told in ran.err


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("hook", "install"), "Usage: mem hook install"),
        (("session", "ls"), "Usage: mem session ls"),
        (("config", "set"), "Usage: mem config set"),
        (("hook",), "Usage: mem hook"),
        (("search",), "Usage: mem search"),
    ],
    ids=" ".join,
)
def test_help_takes_the_words_of_a_command(mem: Mem, words: tuple[str, ...], shown: str) -> None:
    ran = mem("help", *words)
    assert ran.code == 0
    assert ran.out.startswith(shown)


def test_help_for_what_there_is_not_says_so(mem: Mem) -> None:
    assert mem("help", "hook", "instal").code == 2
    assert mem("help", "settings", "more").code == 2


@pytest.mark.parametrize("options", [(), ("--mode", "keyword"), ("--tag", "none"), ("--path", "MEMORY.md")])
def test_a_search_without_hits_says_so_in_a_pipe(mem: Mem, workspace: Path, options: tuple[str, ...]) -> None:
    ran = mem("search", "zebra", *options)
    assert (ran.code, ran.out, ran.err) == (1, "", "mem: nothing found\n")
    ran = mem("search", "zebra", *options, "--json")
    assert (ran.code, ran.json["hits"], ran.err) == (1, [], "")


FORMS = [
    "projects/otter.md",
    "entries/projects/otter.md",
    "memory/entries/projects/otter.md",
    "./memory/entries/projects/otter.md",
]


@pytest.mark.parametrize("form", [*FORMS, "id", "suffix", "whole"])
def test_restore_takes_what_forget_took(mem: Mem, workspace: Path, form: str) -> None:
    written = mem("write", "Otters.", "--path", "projects/otter.md", "--no-dedup", "--json").json
    names = {"id": written["id"], "suffix": written["id"][-6:], "whole": str(workspace / written["path"])}
    name = names.get(form, form)
    assert mem("forget", name).code == 0
    assert not (workspace / written["path"]).exists()
    ran = mem("restore", name)
    assert ran.code == 0, ran.err
    assert (workspace / written["path"]).exists()


def test_a_file_without_an_id_comes_back_by_the_name_it_was_forgotten_by(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    plain = workspace / "entries" / "plain.md"
    plain.write_text("Plain.\n")
    for name in ("plain.md", "plain", "entries/plain.md", "memory/entries/plain.md"):
        assert mem("forget", name).code == 0
        assert not plain.exists()
        assert mem("restore", name).code == 0
        assert plain.read_text() == "Plain.\n"


def test_grep_stops_at_its_limit_and_says_so(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    for number in range(4):
        (workspace / "entries" / f"{number}.md").write_text(f"before\nA seal, {number}.\nafter\nA seal again.\n")
    ran = mem("grep", "seal", "-n", "3")
    assert [row[0].split(":")[1] for row in ran.rows] == ["2", "4", "2"]
    assert ran.err == "mem: more than 3 match: raise --limit, or look for less\n"
    assert len(mem("grep", "seal").rows) == 8
    assert mem("grep", "seal", "-n", "8").err == ""
    assert len(mem("grep", "-l", "seal", "--limit", "2").rows) == 2
    assert len(mem("grep", "-c", "seal", "--limit", "2").rows) == 2
    ran = mem("grep", "seal", "-n", "1", "-C", "1")
    assert [row[0].rpartition("memory/entries/0.md")[2] for row in ran.rows] == [
        "-1-before",
        ":2:A seal, 0.",
        "-3-after",
    ]
    document = mem("grep", "seal", "-n", "2", "--json").json
    assert (len(document["matches"]), document["is_cut"]) == (2, True)
    assert json.loads(mem("grep", "seal", "--json").out)["is_cut"] is False


def test_a_limit_of_grep_counts_over_all_workspaces(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    user = tmp_path / "home" / ".local" / "share" / "mem"
    shutil.copytree(workspace, user)
    for root in (workspace, user):
        (root / "entries").mkdir(exist_ok=True)
        (root / "entries" / "a.md").write_text("A seal.\nAnother seal.\n")
    assert len(mem("grep", "seal", "--scope", "all").rows) == 4
    ran = mem("grep", "seal", "--scope", "all", "-n", "3")
    assert len(ran.rows) == 3
    assert "more than 3" in ran.err
    ran = mem("grep", "seal", "--scope", "all", "-n", "2")
    assert len(ran.rows) == 2
    assert "more than 2" in ran.err


def test_restoring_nothing_says_where_what_was_forgotten_is_listed(mem: Mem, workspace: Path) -> None:
    ran = mem("restore")
    assert (ran.code, ran.out) == (2, "")
    assert "`mem ls --status archived`" in ran.err
    written = mem("write", "Otters.", "--no-dedup").rows[0][1]
    assert mem("forget", written).code == 0
    assert mem("ls", "--status", "archived").rows[0][0] == written


@cases("words", "said")
def test_an_error_names_what_is_wrong_in_words_of_the_user(
    mem: Mem, workspace: Path, words: tuple[str, ...], said: str
) -> None:
    ran = mem(*words)
    assert ran.code in (2, 4)
    assert said in ran.err


def test_help_has_a_heading_for_topics(mem: Mem) -> None:
    lines = mem("help", "all").out.splitlines()
    assert lines[lines.index("Topics:") + 1].startswith("  mem help ")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("group", ["config", "history", "hook", "session"])
def test_a_family_says_what_its_commands_do_in_whole_on_a_narrow_terminal(
    mem: Mem, monkeypatch: pytest.MonkeyPatch, group: str
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = mem(group, "--help").out.splitlines()
    assert max(map(len, lines)) <= 40
    assert not [line for line in lines[lines.index("Commands:") :] if line.endswith("...")]


@pytest.mark.parametrize("command", ["read", "forget", "edit"])
def test_a_key_in_the_place_of_an_id_is_told_by_its_option(mem: Mem, workspace: Path, command: str) -> None:
    mem("write", "Staging listens on 8443.", "--key", "staging/port")
    ran = mem(command, "staging/port", *(["--replace", "a", "b"] if command == "edit" else []))
    assert (ran.code, ran.out) == (4, "")
    assert "staging/port is a key, no entry: `mem ls --key staging/port` names what fills it" in ran.err
    assert "mem search" in mem("read", "staging/host").err


@pytest.mark.parametrize("change", [("write", "--id"), ("edit",)])
def test_restore_of_a_changed_entry_names_the_way_to_its_earlier_text(
    mem: Mem, workspace: Path, change: tuple[str, ...]
) -> None:
    identifier = mem("write", "The hives stand behind the chapel.", "--no-dedup").rows[0][1]
    untouched = mem("restore", identifier)
    assert "--history" not in untouched.err
    rest = ("--replace", "chapel", "mill") if change == ("edit",) else ("The hives stand behind the mill.",)
    assert mem(*change, identifier, *rest).code == 0
    ran = mem("restore", identifier)
    assert ran.code == 5
    assert f"mem read {identifier} --history" in ran.err
    earlier = next(row for row in mem("read", identifier, "--history").rows if row[2] != identifier)
    assert mem("restore", earlier[2]).code == 0
    assert "chapel" in mem("read", identifier).out


@pytest.mark.parametrize(
    "text",
    ["-----BEGIN CERTIFICATE-----", "- buy milk", "--- a title", "-foo is a flag of bar", "---\ntitle: x\n---\nhi"],
)
def test_a_text_that_begins_with_a_dash_gets_the_way_to_write_it(mem: Mem, workspace: Path, text: str) -> None:
    ran = mem("write", text)
    assert ran.code == 2
    assert "put `--` before" in ran.err
    assert mem("write", "--no-dedup", "--", "- buy milk").code == 0


def test_an_option_with_a_value_is_taken_for_no_text(mem: Mem, workspace: Path) -> None:
    assert "put `--`" not in mem("write", "--tagg=a b", "x").err


def test_a_text_that_is_no_event_gets_the_option_for_it(mem: Mem, workspace: Path) -> None:
    ran = mem("session", "append", "--session", "s1", "--role", "user", "I like tea.")
    assert ran.code == 2
    assert "--text" in ran.err


def test_an_answer_that_names_a_memory_gets_its_question(mem: Mem, workspace: Path) -> None:
    one = mem("write", "Zuri sits by the aisle.", "--no-dedup", "--json").json["id"]
    none = mem("review", "answer", one, "newer")
    assert none.code == 4
    assert "mem review" in none.err
    mem("write", "Zuri sits by the window.", "--conflicts-with", one, "--no-dedup")
    asked = mem("review", "answer", one, "newer")
    (question,) = mem("review", "--json").json["questions"]
    assert asked.code == 4
    assert question["id"] in asked.err


@pytest.mark.parametrize("command", [("search", "storks"), ("grep", "storks"), ("ls",)])
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nosuch", "no memory's path begins with 'nosuch'"),
        ("entries/2026-11/storks.md/", "no memory's path begins with 'entries/2026-11/storks.md/'"),
        ("entries/old/", "what lies at entries/old/ is in the archive: add --archived"),
        ("entries/2026-11/", ""),
        ("MEMORY.md", ""),
    ],
)
def test_a_path_without_memories_says_so(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], path: str, told: str
) -> None:
    monkeypatch.setattr("memcli.cli.output.to_terminal", lambda stream: True)
    mem("write", "A heron.", "--path", "2026-11/storks.md")
    mem("write", "An egret.", "--path", "old/egret.md")
    mem("forget", "old/egret.md")
    ran = (
        mem(*command, "--path", path, "--mode", "keyword") if command[0] == "search" else mem(*command, "--path", path)
    )
    assert told in ran.err
    assert ("memory's path" in ran.err, "--archived" in ran.err) == ("path" in told, "--archived" in told)


@pytest.mark.parametrize("path", [".", "..", "memory", "memory/", "/", "./", "{root}", "entries", "memory/entries/"])
def test_a_folder_around_the_workspace_has_all_of_it(mem: Mem, workspace: Path, path: str) -> None:
    mem("write", "Storks nest on the mill.")
    ran = mem("search", "storks", "--path", path.format(root=workspace), "--json", "--mode", "keyword")
    assert [hit["summary"] for hit in ran.json["hits"]] == ["Storks nest on the mill."]


def test_a_comparison_without_a_repository_says_what_is_missing(mem: Mem, workspace: Path) -> None:
    ran = mem("diff")
    assert (ran.code, ran.out) == (2, "")
    fix = f"`git init {workspace}` and a commit make what can be compared"
    assert ran.err == f"mem: {workspace} is in no git repository: {fix}\n"
