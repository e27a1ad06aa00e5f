"""The help of every command ends with two examples, and each of them does something when it is copied."""

import shlex
import subprocess
from pathlib import Path

import pytest

from memcli.cli.app import _whole, commands, examples
from tests.conftest import Mem
from tests.contract.test_frozen import commands as every_command
from tests.stage import Stage

NAMES = sorted({*commands(), *(name for name, _ in every_command())})
STAYING = {"ui", "mcp", "serve"}
"""Commands that do not end by themselves."""
GONE = "status: archived\nforgotten_at: 2026-11-20T10:00:00Z"
ENTRIES = {
    "entries/2026-11/dark.md": "id: mem_01kh5zpjgkbz6vpb\ntype: preference\n---\n\nUser prefers dark mode.\n",
    "entries/2026-11/light.md": "id: mem_01kh5zpjgkbz7aaa\ntype: preference\n---\n\nThe user uses a light editor.\n",
    "entries/2026-11/port.md": "id: mem_01kh5zpjgkbz8bbb\nkey: staging/port\n---\n\nE2007: staging listens on 8080.\n",
    "entries/2026-11/retries.md": "id: mem_01kh5zpjgkbz9ccc\ntype: lesson\n---\n\nA retry limit of 3 is enough.\n",
    "entries/2026-11/shop.md": "id: mem_01kh5zpjgkbzaddd\ntype: episode\nproject: shop\n---\n\nThe shop moved.\n",
    "entries/2026-11/walnuts.md": "id: mem_01kh5zpjgkbzbeee\n---\n\nWalnuts are fine.\n",
    "archive/entries/2026-11/quagga.md": f"id: mem_01m7zxg5e0nr2z1j\n{GONE}\n---\n\nA quagga.\n",
    "archive/entries/2026-11/zebra.md": f"id: mem_01m7zxg5e0nr2z2k\n{GONE}\n---\n\nA zebra.\n",
}
EVENT = '{"hook_event_name": "SessionStart", "session_id": "one", "cwd": "."}'
FILES = {
    "talk.jsonl": '{"role": "user", "content": "Hello."}\n{"role": "assistant", "content": "Good morning."}\n',
    "memory.jsonl": '{"content": "The kettle is broken."}\n',
    "event.json": EVENT,
    "call.json": '{"command": "view", "path": "/memories"}',
    **dict.fromkeys(("base.md", "ours.md", "theirs.md"), "# Memory\n"),
}


def words_of(example: str) -> tuple[list[str], str]:
    """Return the words of `mem` in an example, and its standard input."""
    before, _, call = f" {example}".partition(" mem ")
    before = before.replace(" source <(mem ", "")
    if not call:
        call = example.partition("<(mem ")[2].rstrip(")")
    words = shlex.split(call)
    source = words.pop(words.index("<") + 1) if "<" in words else ""
    words = [
        str(Path(word).expanduser()) for word in words[: words.index(">") if ">" in words else None] if word != "<"
    ]
    piped = shlex.split(before.rstrip(" |"))
    given = FILES[source] if source else piped[1] if piped[:1] == ["echo"] else "Fix the port." if piped else ""
    return words, given


@pytest.mark.parametrize("name", NAMES)
def test_help_ends_with_two_examples_that_its_parser_takes(mem: Mem, name: str) -> None:
    lines = examples(name)
    assert len(set(lines)) == 2
    assert max(map(len, lines)) <= 78
    assert mem(*name.split(), "--help").out.endswith("\nExamples:\n  " + "\n  ".join(lines) + "\n")
    assert any(f" mem {name}" in f" {line.replace('(', ' ')}" for line in lines)
    for line in lines:
        command, (words, _) = _whole(), words_of(line)
        context = command.make_context("mem", words)
        while hasattr(command, "commands"):  # a group parses the first word alone
            _, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
            context = command.make_context(words[0] if words else "", list(words), parent=context)


@pytest.fixture(autouse=True)
def world(world: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand where all tests of this module do."""
    return stage.enter(monkeypatch)


@pytest.fixture
def scene(mem: Mem, world: Path, stage: Stage) -> Path:
    """Stand in a repository whose workspace has what the examples name; return the folder."""
    stage.furnished(lambda: furnish(mem, world))
    return world


def furnish(mem: Mem, world: Path) -> None:
    assert mem("init").code == 0
    workspace = world / "memory"
    for path, text in ENTRIES.items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text(f"---\n{text}")
    for name, text in FILES.items():
        (world / name).write_text(text)
    (workspace / "MEMORY.md").write_text("# Memory\n\nStaging listens on port 8080.\n")
    assert mem("init", str(Path.home() / "memory")).code == 0
    assert mem("session", "append", "--session", "planning", "--text", "We ship on Friday.").code == 0
    assert mem("session", "append", "--session", "planning", "--role", "assistant", "--text", "Noted.").code == 0
    for step in (
        "init -q -b main .",
        "config user.name Kai",
        "config user.email kai@example.org",
        "add memory",
        "commit -q -m one",
        "commit -q --allow-empty -m two",
        "init -q --bare -b main remote.git",
        "remote add origin remote.git",
    ):
        subprocess.run(["git", *step.split()], cwd=world, check=True)


@pytest.mark.parametrize("name", sorted(set(NAMES) - STAYING))
def test_an_example_works_where_there_is_what_it_names(mem: Mem, scene: Path, name: str) -> None:
    for line in examples(name):
        words, given = words_of(line)
        ran = mem(*words, stdin=given)
        done = (0, 1) if line.startswith("mem hook doctor") else (0,)  # 1: it found that no hooks are installed
        assert ran.code in done, f"{line}: {ran.err}{ran.out}"
