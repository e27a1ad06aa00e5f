"""Commands with --json that between them show every field there is: the schema is held against what they answer.

The test module of a new command shows its own: a function `json_scenes(ask)` in it is called after these, in the same
folder, and yields what `ask` returns.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.conftest import Mem, Ran

Answer = tuple[str, Any]
Ask = Callable[..., Answer]
"""Takes the name of a document, the words of the command where they are others, `stdin`, and the `codes` expected."""

CHAT = "User: From now on, always test a restore on Mondays.\nAssistant: Noted.\nUser: The backup runs at 03:30.\n"
EVENT = '{"role": "user", "content": "The token is ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B, keep it."}'
CALL = '{"role": "assistant", "type": "tool_call", "name": "bash", "content": "ls"}'


def answers(mem: Mem, world: Path) -> Iterator[Answer]:
    """Yield the name of a document and one example of it, over and over."""

    def ask(name: str, *arguments: str, stdin: str = "", codes: tuple[int, ...] = (0,)) -> Answer:
        ran: Ran = mem(*(arguments or name.split()), "--json", stdin=stdin)
        assert ran.code in codes, (arguments or name, ran.code, ran.err)
        return name, json.loads(ran.out)

    yield from _answers(ask, mem, world)
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if "\ndef json_scenes(" in path.read_text(encoding="utf-8"):
            yield from import_module(f"tests.cli.{path.stem}").json_scenes(ask)


def _answers(ask: Ask, mem: Mem, world: Path) -> Iterator[Answer]:
    yield ask("init")
    workspace = world / "memory"
    port = ask("write", "write", "The staging port is 8080.", "--tag", "infra", "--project", "shop")
    yield port
    yield ask("write", "write", "The staging port is 8080.")
    other = ask("write", "write", "User uses vim.", "--type", "preference", "--no-dedup")
    yield other
    yield ask("write", "write", "User uses emacs.", "--type", "preference", "--conflicts-with", other[1]["id"])
    yield ask("write", "write", "User uses helix.", "--supersedes", other[1]["id"])
    yield ask("write", "write", "The staging port is 9090.", "--source", "inferred")
    retries = ask("write", "write", "The retry limit is 3.")
    yield retries
    yield ask("write", "write", "The retry limit is 5.", "--conflicts-with", retries[1]["id"])
    yield ask("write", "write", "The retry limit is 5!", "--source", "inferred")
    yield ask("write", "write", "Staging runs on host b.", "--key", "staging/host")
    yield ask("write", "write", "Staging runs on host a.", "--key", "staging/host", "--created-at", "2020-01-01")
    yield ask("write", "write", "Staging runs on host c.", "--key", "staging/host", "--source", "inferred")
    queue = ask("review")
    yield queue
    question = queue[1]["questions"][0]["id"]
    yield ask("review answer", "review", "answer", question, "older")
    yield ask("review")
    yield ask("edit", "edit", port[1]["id"], "--replace", "8080", "8081")
    for source in ("inferred", "user"):  # the more trusted takes in the other
        other_source = "user" if source == "inferred" else "inferred"
        yield ask("write", "write", f"Tea at ten: {source}.", "--source", other_source, "--no-dedup")
        twin = ask("write", "write", "Tea at nine.", "--source", source, "--no-dedup")
        words = ("--replace", "nine.", f"ten: {source}.", "--source", source)
        yield ask("edit", "edit", twin[1]["id"], *words)
    yield ask("note", "note", "Fed the cat.")
    yield ask("history add", "history", "add", "The token was ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B.")
    yield ask("history show", "history", "show")
    (workspace / "entries" / "broken.md").write_text("---\ntags: [a\n---\n\nBroken penguin.\n")
    for options in (("--explain",), ("--kind", "all")):
        yield ask("search", "search", "which port has staging", *options)
    for options in ((), ("-C", "1"), ("-l",), ("-c",)):
        yield ask("grep", "grep", "port", *options)
    yield ask("ls")
    yield ask("ls", "ls", "--conflicts")
    yield ask("read", "read", port[1]["id"])
    yield ask("read", "read", "broken.md")
    yield ask("read --history", "read", other[1]["id"], "--history")
    yield ask("read --key --history", "read", "--key", "staging/host", "--history")
    yield ask("recall", "recall", "which port has staging", "--session", "s")
    yield ask("context", "context")
    again = ask("write", "write", "User uses helix now.", "--no-dedup")
    yield ask("supersede", "supersede", again[1]["id"], port[1]["id"], "--dry-run")
    yield ask("supersede", "supersede", again[1]["id"], port[1]["id"])
    yield ask("promote", "promote", port[1]["id"])
    yield ask("promote", "promote", "--demote", port[1]["id"])
    yield ask("promote", "promote", "--auto")
    yield ask("session append", "session", "append", "-", "--session", "talk", stdin=f"{EVENT}\n{CALL}\n")
    (world / "chat.txt").write_text(CHAT)
    yield ask("session import", "session", "import", "chat.txt")
    yield ask("session ls")
    yield ask("session show", "session", "show", "talk")
    yield ask("session stats", "session", "stats", "talk")
    yield ask("session recap", "session", "recap", "talk")
    yield ask("consolidate", "consolidate", "chat", "--dry-run")
    yield ask("consolidate --ask", "consolidate", "chat", "--ask")
    yield ask("session handoff", "session", "handoff", "chat")
    yield ask("consolidate")
    chat = next(row["id"] for row in ask("ls")[1]["entries"] if "restore" in row["summary"])
    yield ask("read --source", "read", chat, "--source")
    yield ask("session compact", "session", "compact", "chat", "--force", "--keep", "1")
    yield ask("session clear", "session", "clear", "chat")
    yield ask("session delete", "session", "delete", "talk")
    episode = ("write", "Shop day.", "--type", "episode", "--project", "shop", "--no-dedup")
    yield ask("write", *episode, "--path", "episodes/2026-11-20/shop.md")
    yield ask("session rollup", "session", "rollup", "shop", "--dry-run")
    yield ask("session rollup", "session", "rollup", "shop")
    for text in ("Tea is at five.", "tea is at five"):
        ask("write", "write", text, "--no-dedup")
    yield ask("dedup")
    yield ask("dedup", "dedup", "--apply")
    ask("write", "write", "A sale.", "--expires-at", "2026-11-21", "--created-at", "2026-01-01", "--no-dedup")
    yield ask("decay")
    yield ask("decay", "decay", "--apply", "--max-fraction", "1", codes=(0, 3))
    (world / "api.py").write_text("retries = 9\n")
    yield ask("write", "write", "Retries stop after nine.", "--about", "api.py:1")
    (world / "api.py").write_text("retries = 8\n")
    yield ask("search", "search", "when do retries stop")
    yield ask("check", "check", "--cited", codes=(1,))
    yield ask("check", codes=(1,))
    yield ask("check", "check", "--fix", "--dry-run", codes=(1, 3))
    yield ask("stats")
    yield ask("tend")
    yield ask("trust")
    yield ask("index", "index", codes=(3,))
    yield ask("move", "move", port[1]["id"], "--to", "user")
    yield ask("move", "move", port[1]["id"], "--to", "project")
    yield ask("forget", "forget", port[1]["id"], "MEMORY.md", codes=(3,))
    yield ask("restore", "restore", port[1]["id"])
    gone = mem("write", "The kettle is blue", "--no-dedup", "--json").json["id"]
    yield ask("forget", "forget", "--purge", gone)
    yield ask("export", "export", "-o", "all.jsonl")
    lines = (world / "all.jsonl").read_text()
    assert mem("init", "other").code == 0
    yield ask("import", "--workspace", "other", "import", "-", stdin=lines, codes=(0, 3))
    yield ask("memory-tool", "memory-tool", stdin='{"command": "view", "path": "/memories"}')
    yield ask("config get", "config", "get", "search.limit")
    yield ask("config set", "config", "set", "search.limit", "4")
    with (workspace / "mem.yaml").open("a") as file:
        file.write("nobody: 1\n")
    yield ask("config list")
    for verb in ("install", "status", "doctor", "uninstall"):
        yield ask(f"hook {verb}", "hook", verb, "claude-code", codes=(0, 1))
    for verb in ("install", "uninstall"):
        yield ask(f"hook {verb}", "hook", verb, "systemd", "--dry-run")
    yield ask("hook skill", "hook", "skill", "--dry-run")
    for words in (("init",), ("add", "-A"), ("commit", "-m", "x")):
        subprocess.run(
            ["git", "-c", "user.name=r", "-c", "user.email=r@example.org", *words], check=True, capture_output=True
        )
    ask("write", "write", "Staging runs on host c.", "--key", "staging/host")
    yield ask("diff")
    ran = mem("read", "nobody", "--json")
    yield "error", json.loads(ran.err)
