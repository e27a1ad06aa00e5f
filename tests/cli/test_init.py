import io
import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.cli import init as init_module
from memcli.cli import main
from memcli.cli.main import run
from memcli.context import Context


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Keys(Terminal):
    """A person who answers one question after the other, and then presses Ctrl-C."""

    def readline(self, *_: object) -> str:  # type: ignore[override]
        line = super().readline()
        if not line:
            raise KeyboardInterrupt
        return line


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a remote, Claude Code on the machine, and one past conversation."""
    shop = tmp_path / "shop"
    (shop / ".git" / "info").mkdir(parents=True)
    (shop / ".git" / "config").write_text('[remote "origin"]\n\turl = https://example.org/x\n')
    talks = tmp_path / "home/.claude/projects/shop"
    talks.mkdir(parents=True)
    message = {
        "type": "user",
        "message": {"role": "user", "content": "Always run make lint before a commit."},
        "uuid": "u1",
        "timestamp": "2026-11-20T10:00:00Z",
        "cwd": str(shop),
        "sessionId": "s1",
    }
    (talks / "s1.jsonl").write_text(json.dumps(message) + "\n")
    return shop


def make_terminal(shop: Path, keys: str) -> Context:
    output = Terminal()
    return Context(
        environment={"HOME": str(shop.parent / "home"), "PATH": "/nonexistent"},
        folder=shop,
        stdin=Keys(keys) if keys else io.StringIO(),
        stdout=output,
        stderr=output,
        read_clock=lambda: datetime(2026, 11, 28, 12, tzinfo=UTC),
        noise=random.Random(1),
        is_terminal=True,
    )


def run_init(shop: Path, keys: str, *options: str) -> tuple[int, str]:
    context = make_terminal(shop, keys)
    code = run(context, ["init", *options])
    return code, context.stdout.getvalue()  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memcli.cli.hook_install.find_program", lambda _: ["/usr/bin/mem"])


def test_it_says_that_a_conversation_may_still_be_running(shop: Path) -> None:
    talk = shop.parent / "home/.claude/projects/shop/s1.jsonl"
    talk.write_text(talk.read_text().replace("11-20T10:00", "11-28T11:55"))
    assert "mem learns later from conversations that may still be" in run_init(shop, "\n\n\n")[1]


def test_it_asks_three_questions_and_enter_accepts(shop: Path) -> None:
    code, output = run_init(shop, "\n\n\n")
    assert code == 0
    assert "Commit this memory with the code? [y/N]" in output
    assert "Connect Claude Code? [Y/n]" in output
    assert "Import 1 past conversation of this project? [Y/n]" in output
    assert "Imported 1 conversation: 1 memory found." in output
    assert (
        "/usr/bin/mem hook run claude-code"
        in (shop.parent / "home/.claude/settings.json").read_text()
    )
    assert (shop / "memory/mem.yaml").exists()
    assert "/memory/" in (shop / ".git/info/exclude").read_text()


def test_it_says_that_a_shared_memory_gets_no_imported_conversations(shop: Path) -> None:
    output = run_init(shop, "", "--shared", "--yes")[1]
    assert "Imported 1 conversation into your own memory: 1 memory found." in output


def test_ctrl_c_at_a_question_changes_nothing(shop: Path) -> None:
    for keys in ("\n", "\n\n"):
        with pytest.raises(KeyboardInterrupt):
            run_init(shop, keys)
        assert [path.name for path in shop.iterdir()] == [".git"]
        assert not (shop.parent / "home/.claude/settings.json").exists()


def test_ctrl_c_begins_a_line_for_its_message(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = make_terminal(shop, "\n")
    monkeypatch.setattr(main, "build_process_context", lambda: context)
    assert main.run_process(["init"]) == 130
    output = context.stderr.getvalue()  # type: ignore[attr-defined]
    assert output.endswith("Connect Claude Code? [Y/n] \nmem: interrupted\n")


def test_ctrl_c_while_it_works_leaves_a_whole_workspace(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(init_module, "learn_from_transcripts", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_init(shop, "\n\n\n")
    assert (shop / "memory/mem.yaml").exists()
    monkeypatch.undo()
    code, output = run_init(shop, "", "--yes")
    assert "already a workspace" in output and "Imported 1 conversation" in output


def test_it_asks_no_second_time_for_past_conversations(shop: Path) -> None:
    run_init(shop, "\n\n\n")
    code, output = run_init(shop, "\n")
    assert "Try: mem write" not in output  # it has memories
    assert code == 0
    assert "Import" not in output


def test_ctrl_c_while_it_creates_leaves_nothing(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("memcli.store.init.write_atomically", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_init(shop, "n\nn\nn\n")
    assert [path.name for path in shop.iterdir()] == [".git"]


def test_a_script_says_whether_git_may_carry_it(shop: Path) -> None:
    assert run_init(shop, "")[0] == 2
    assert not (shop / "memory").exists()
    assert run_init(shop, "", "--yes")[0] == 0
    assert "/memory/" in (shop / ".git/info/exclude").read_text()


def test_a_folder_of_notes_is_read_in_place_if_the_user_agrees(tmp_path: Path) -> None:
    for answer, layout in (("\n", "vault"), ("n\n", "standard")):
        folder = tmp_path / layout
        folder.mkdir()
        for name in ("tea", "coffee", "milk"):
            (folder / f"{name}.md").write_text(f"About {name}.\n")
        code, output = run_init(folder, answer)
        assert code == 0 and "Read them where they are" in output
        place = folder if layout == "vault" else folder / "memory"
        assert ("layout: vault" in (place / "mem.yaml").read_text()) == (layout == "vault")


@pytest.mark.parametrize(
    ("answer", "notes", "is_vault"),
    [("\n", 1, True), ("n\n", 1, False), ("", 1, False), ("", 3, True)],
)
def test_a_few_notes_are_read_in_place_only_if_the_user_agrees(
    tmp_path: Path, answer: str, notes: int, is_vault: bool
) -> None:
    for number in range(notes):
        (tmp_path / f"soup {number}.md").write_text("Kale soup.\n")
    code, output = run_init(tmp_path, answer)
    assert code == 0
    assert ("Read them where they are" in output) == bool(answer)
    assert (tmp_path / "mem.yaml").exists() == is_vault
    assert (tmp_path / "memory/mem.yaml").exists() != is_vault


def test_a_memory_that_syncs_by_itself_is_not_shared_with_the_code(shop: Path) -> None:
    assert run_init(shop, "", "--private")[0] == 0
    (shop / "memory/.git").mkdir()
    code, output = run_init(shop, "", "--shared")
    assert code == 5
    assert "a separate git repository" in output
