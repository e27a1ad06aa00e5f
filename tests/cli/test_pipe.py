"""What commands print in a pipe: rows for scripts on stdout, sentences on stderr."""

import io
import json
import subprocess
from pathlib import Path

import pytest

from memcli.cli.main import run
from memcli.context import CommonOptions
from tests.helpers import make_context, make_workspace, put, run_mem

QUIET = [
    *("check", "review", "decay", "consolidate", "tend", "history", "tags", "undo --list"),
    *("consolidate --dry-run", "promote --auto", "review --duplicates", "hook uninstall"),
]
FAILING = ["ls", "search x", "grep x", "session ls", "hook ls", "consolidate --ask"]


@pytest.mark.parametrize("command", [*QUIET, *FAILING])
def test_a_command_with_nothing_to_report_is_silent_or_says_why_it_fails(
    command: str, tmp_path: Path
) -> None:
    run_mem(tmp_path, "init")
    code, output, messages = run_mem(tmp_path, *command.split(), PATH="")
    assert (code, output) == (int(command in FAILING), "")
    assert messages.count("\n") == code


def test_write_names_the_memories_that_it_concerns(tmp_path: Path) -> None:
    run_mem(tmp_path, "init")
    _, output, messages = run_mem(tmp_path, "write", "The port is 6543.", "--key", "port")
    old = output.rstrip("\n").split("\t")
    assert (old[0], old[3:], messages) == ("saved", ["The port is 6543.", ""], "")
    _, output, messages = run_mem(tmp_path, "write", "The port is 7654.", "--key", "port")
    assert output.rstrip("\n").split("\t")[4] == f"replaces:{old[1]}"
    assert messages == f"mem: replaces: The port is 6543.  ({old[1][-6:]})\n"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_long_path_is_whole_in_a_pipe_and_fits_on_a_terminal(tmp_path: Path, width: int) -> None:
    path = f"entries/{'garden/' * 12}heat-pump.md"
    put(make_workspace(tmp_path), path, "The heat pump hums.\n")
    assert path in run_mem(tmp_path, "search", "heat pump")[1].split("\t")
    context = make_context(tmp_path)._replace(is_terminal=True, width=width)
    run(context, ["search", "heat pump"])
    line = context.stdout.getvalue().splitlines()[1]  # type: ignore[attr-defined]
    assert len(line) == width
    assert line.startswith("  fact · ") and line.endswith("/heat-pump.md")


def test_lists_name_the_other_project_of_a_memory(tmp_path: Path) -> None:
    run_mem(tmp_path, "write", "Ana likes tea.", "--scope", "user")
    folder = tmp_path / "home/.local/share/mem"
    (folder / "entries/rule.md").write_text("---\nproject: shop\n---\nDeploy on Fridays.\n")
    heading = "## 2026-11-27T10:00:00Z <!-- hist_1 project: shop -->"
    (folder / "HISTORY-2026-11.md").write_text(f"{heading}\n\nThe Friday deploy broke.\n")
    for command in ("ls", "search deploy", "grep deploy"):
        rows = [
            line for line in run_mem(tmp_path, *command.split())[1].splitlines() if "Fri" in line
        ]
        assert rows and all(row.endswith("\tfrom shop") for row in rows)
        context = make_context(tmp_path)._replace(is_terminal=True, common=CommonOptions())
        run(context, command.split())
        assert context.stdout.getvalue().count("from shop") == len(rows)  # type: ignore[attr-defined]


def test_a_text_in_a_pipe_needs_a_dash(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    code, output, messages = run_mem(tmp_path, "write", stdin="Tea at four.\n")
    assert (code, output) == (2, "")
    assert "hint: `mem write -` reads it from standard input\n" in messages
    assert run_mem(tmp_path, "write", "-", stdin="Tea at four.\n")[0] == 0


def test_a_purge_names_the_commits_that_still_have_the_text(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/tea.md", "Tea at four.\n")
    git = ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", "memory/entries"], ["commit", "-qm", "Tea"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.check_output([*git, "log", "--format=%h"], text=True).strip()
    code, output, messages = run_mem(tmp_path, "forget", "tea", "--purge", "--yes")
    assert (code, output.split("\t")[0]) == (0, "purged")
    assert f"mem: git still has the text in {commit}\n" in messages


def test_the_first_text_in_your_own_memory_is_announced(tmp_path: Path) -> None:
    place = (
        "mem: saved in your own memory, ~/.local/share/mem; `mem init` creates a memory for this"
    )
    assert run_mem(tmp_path, "note", "A walk.")[2] == f"{place} folder\n"
    assert run_mem(tmp_path, "write", "Ana likes tea.")[2] == ""
    # A project without a memory is more likely a mistake.
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert run_mem(tmp_path, "write", "Ana likes milk.")[2].startswith(f"{place} project\n")
    assert run_mem(tmp_path, "write", "Kites need wind.", "--scope", "user")[2] == ""
    assert run_mem(tmp_path, "init")[0] == 0
    assert run_mem(tmp_path, "write", "We ship on Fridays.")[2] == ""


def test_a_memory_about_the_user_has_no_project(tmp_path: Path) -> None:
    def list_projects(name: str) -> set[str]:
        listed = run_mem(tmp_path, "ls", "--scope", "user", "--json", "title,project")[1]
        return {item["project"] for item in json.loads(listed)["entries"] if item["title"] == name}

    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    run_mem(tmp_path, "write", "Kites need wind.", "--title", "Kites")
    run_mem(tmp_path, "write", "My editor is Helix.", "--title", "Editor", "--scope", "user")
    assert list_projects("Kites") == {tmp_path.name}
    assert list_projects("Editor") == {""}


def test_your_own_memories_are_marked(tmp_path: Path) -> None:
    run_mem(tmp_path, "write", "Ana likes tea.")
    assert run_mem(tmp_path, "ls")[1].endswith("\tuser\n")
    run_mem(tmp_path, "init")
    run_mem(tmp_path, "write", "Kites need wind.")
    own = run_mem(tmp_path, "ls", "--scope", "user", "--json", "id")[1]
    own_id = own.split('"')[5]
    assert [line[-4:] for line in run_mem(tmp_path, "ls")[1].splitlines()] == ["ject", "user"]
    assert run_mem(tmp_path, "search", "tea", "-n", "1")[1].endswith("\tuser\n")
    code, _, messages = run_mem(tmp_path, "forget", own_id)
    assert code == 4
    assert "is in your own memory\nhint: add --workspace" in messages.replace("mem: ", "")


def test_an_agent_without_a_connection_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "home/.claude").mkdir(parents=True)
    assert run_mem(tmp_path, "hook", "ls", PATH="")[1] == "claude-code\tnot connected\t\t\t\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_whoever_waits_for_files_to_be_read_sees_how_many_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.cli.terminal.PROGRESS_DELAY", -1)
    monkeypatch.setattr("memcli.cli.terminal.PROGRESS_INTERVAL", -1)
    workspace = make_workspace(tmp_path)
    for number in range(3):
        put(workspace, f"entries/{number}.md", f"The shed has {number} bicycles.\n")
    context = make_context(tmp_path, TERM="xterm")._replace(stderr=Terminal())
    run(context, ["tags"])
    messages = context.stderr.getvalue()  # type: ignore[attr-defined]
    assert "\rreading " in messages and "1 of 3" in messages
    assert messages.endswith("\033[K")
    # A pipe, and a terminal that cannot delete a line.
    for stream, term in ((io.StringIO(), "xterm"), (Terminal(), "dumb")):
        put(workspace, f"entries/{term}.md", f"The shed has a {term}.\n")
        run(make_context(tmp_path, TERM=term)._replace(stderr=stream), ["tags"])
        assert stream.getvalue() == ""


def test_forget_about_asks_on_a_terminal(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/tea.md", "Tea is in the shed.\n")
    for answer, code in (("n\n", 1), ("y\n", 0)):
        context = make_context(tmp_path)._replace(stdin=Terminal(answer), is_terminal=True)
        assert run(context, ["forget", "--about", "shed"]) == code
        question = context.stderr.getvalue()  # type: ignore[attr-defined]
        assert question.startswith("Forget: Tea is in the shed.  (entries/tea.md)\nForget them?")
