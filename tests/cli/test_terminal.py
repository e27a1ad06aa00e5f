"""Questions, the pager and `mem status` on a terminal."""

import io
import os
from pathlib import Path

import pytest

from memcli.cli.main import run
from memcli.cli.terminal import ask
from memcli.context import Context
from tests.helpers import make_context, make_workspace, run_mem


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def make_terminal(folder: Path, answers: str = "", **environment: str) -> Context:
    """Return a context on a terminal of 80 columns and 24 rows, which chooses its workspace."""
    context = make_context(folder, **environment)
    return context._replace(
        is_terminal=True,
        height=24,
        stdin=Terminal(answers),
        common=context.common._replace(workspace=""),
    )


@pytest.mark.parametrize(
    ("answers", "default", "is_agreed", "questions"),
    [
        ("y\n", False, True, 1),
        ("YES\n", False, True, 1),
        ("n\n", True, False, 1),
        ("\n", True, True, 1),
        (" \n", False, False, 1),
        ("", True, False, 1),
        ("?\nwhat\ny\n", False, True, 3),
        ("what\nno\n", True, False, 2),
        ("what", True, False, 2),
    ],
)
def test_a_stray_answer_is_asked_again(
    tmp_path: Path, answers: str, default: bool, is_agreed: bool, questions: int
) -> None:
    context = make_terminal(tmp_path, answers)
    assert ask(context, "Delete it?", default=default) is is_agreed
    errors = context.stderr.getvalue()  # type: ignore[attr-defined]
    assert errors.count("Delete it?") == questions


@pytest.mark.parametrize("words", [["--help"], ["help"], [], ["search", "--help"]])
def test_a_long_help_goes_to_the_pager(tmp_path: Path, words: list[str]) -> None:
    shown = tmp_path / "shown"
    context = make_terminal(tmp_path, MEM_PAGER=f"tee {shown}")
    assert run(context, words) == 0
    assert shown.read_text().startswith("Usage: mem ")
    assert context.stdout.getvalue() == ""  # type: ignore[attr-defined]


def test_status_names_the_own_workspace_in_its_hints_and_the_tokens_once(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    own = {"HOME": str(tmp_path / "home")}
    run_mem(tmp_path, "write", "A new fact.", "--scope", "user", **own)
    folder = tmp_path / "home/.local/share/mem/entries"
    head = "---\nid: mem_01kajd3v7m4kq7tz\ncreated_at: 2026-01-05\n---\n\n"
    (folder / "old.md").write_text(f"{head}An old fact.\n")
    os.utime(folder / "old.md", (0, 0))
    sessions = tmp_path / "home/.local/state/mem/shown"
    sessions.mkdir()
    (sessions / "a.json").write_text('{"tokens": 300}')
    status = run_mem(tmp_path, "status", **own)[1]
    assert status.count("mem adds 300 tokens to an agent's session (median)") == 1
    _, _, command = status.partition("fading     1 memory (mem ")
    words = command.partition(")")[0].split()
    assert "An old fact." in run_mem(tmp_path, *words, **own)[1]


def test_lists_fit_on_a_terminal_and_are_whole_in_a_pipe(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    text = f"The old pump of {'the long and narrow garden behind ' * 3}the house hums."
    entry_id = run_mem(tmp_path, "write", text)[1].split("\t")[1]
    for words in (["undo", "--list"], ["ls"]):
        assert text in run_mem(tmp_path, *words)[1]
    commands = show(tmp_path, "undo", "--list")
    assert [len(line) <= 80 for line in commands] == [True] and commands[0].endswith("…")
    shown, details = show(tmp_path, "ls")
    assert shown == text and details.startswith("  (") and details.endswith(f"{entry_id[-6:]})")


def show(folder: Path, *words: str) -> list[str]:
    context = make_terminal(folder)._replace(height=0)
    assert run(context, words) == 0
    return context.stdout.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


def test_a_purge_shows_the_whole_text_before_it_asks(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    run_mem(tmp_path, "write", "The boiler hums. It is serviced in May.", "--path", "boiler")
    context = make_terminal(tmp_path, "n\n")
    assert run(context, ["forget", "boiler", "--purge"]) == 1
    errors = context.stderr.getvalue()  # type: ignore[attr-defined]
    assert "Delete: The boiler hums. It is serviced in May." in errors
