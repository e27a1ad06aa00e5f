"""opencode with mem.    python -m tests.agents.real.opencode [SECTION…]

opencode has no hooks: it reads the protocol on its page, and memories over MCP.
"""

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .lab import Finished, Lab, get_text, run_sections

PACKAGE, PROGRAM, AGENT = "opencode", "opencode", "opencode"
ENVIRONMENT = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_SHARE": "1",
}
FAKE_MODEL = {"name": "fake", "limit": {"context": 100_000, "output": 8_000}}


def build_lab() -> Lab:
    lab = Lab(AGENT, PACKAGE, PROGRAM, ENVIRONMENT)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{lab.url}/v1", "apiKey": "sk-dummy"},
        "models": {"fake-model": FAKE_MODEL},
    }
    settings = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "provider": {"fake": provider},
    }
    path = get_settings(lab)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(settings))
    return lab


def get_settings(lab: Lab) -> Path:
    return lab.home / ".config/opencode/opencode.json"


def ask(
    lab: Lab, prompt: str, *options: str, folder: Path | None = None
) -> tuple[Finished, list[dict]]:
    """Run one prompt with `opencode run`. Return the process and the requests to the model."""
    mark = lab.mark
    # opencode puts quotes around a prompt that is an argument.
    done = lab.run(lab.program, "run", *options, stdin=prompt, folder=folder)
    return done, lab.get_requests(mark)


def get_last_message(requests: list[dict]) -> str:
    """Return the last message of the last request, such as the result of a tool."""
    return json.dumps(requests[-1]["body"]["messages"][-1]) if requests else ""


def start(lab: Lab) -> None:
    """The page with the protocol, and `mem search` in the agent's shell."""
    done = lab.run(lab.mem_program, "doctor")
    lab.check("doctor finds no error", done.returncode == 0, done.stdout + done.stderr)
    prompt = "Who is the release manager? [[sh mem search 'release manager']]"
    done, requests = ask(lab, prompt)
    lab.check_has("opencode run answers", done.stdout + done.stderr, "ANSWER to: Who is")
    if not lab.check("the model is asked twice", len(requests) == 2, len(requests)):
        return
    text = get_text(requests[0])
    lab.check_has("the request has the protocol", text, "Use mem instead of your own memory")
    lab.check_has("mem search works in its shell", get_last_message(requests), "Dana Okafor")


def mcp(lab: Lab) -> None:
    """The MCP server that `mem hook install` writes into the settings."""
    done = lab.run_agent("mcp", "list")
    lab.check("opencode mcp list", re.search("mem.*onnected", done.stdout + done.stderr), done)
    search = '[[tool memory_search {"query": "who is the release manager"}]]'
    _, requests = ask(lab, f"Look it up. {search}")
    tools = json.dumps(requests[0]["body"]["tools"]) if requests else ""
    lab.check_has("the first request has the tools", tools, "memory_search")
    lab.check_has("memory_search answers", get_last_message(requests), "Dana Okafor")
    arguments = {
        "path": "entries/printer.md",
        "content": "The printer on floor 3 is named Gutenberg.",
        "tags": ["office"],
        "metadata": {},
    }
    _, requests = ask(lab, f"Save it. [[tool memory_write {json.dumps(arguments)}]]")
    lab.check("memory_write writes", "Gutenberg" in lab.mem("ls"), get_last_message(requests))


def import_(lab: Lab) -> None:
    """`mem session import` reads the database of this version, and `opencode export`."""
    folder = lab.make_repository(lab.root / "imported")
    lab.create_memory(folder)
    first = (
        "Zeile eins – Umlaute äöü ✓\nsecond line with `code` & <b>tags</b>\n\nthird line. "
        "[[sh echo tool-output-1; echo tool-output-2]] [[sh mem search 'nothing at all']]"
    )
    second = "Goes on after a while. [[sh false && echo never]]"
    task = {"description": "look", "prompt": "Inner question.", "subagent_type": "general"}
    third = f"With a subagent. [[tool task {json.dumps(task)}]]"
    ask(lab, first, folder=folder)
    ask(lab, second, "--continue", folder=folder)
    ask(lab, third, "--continue", folder=folder)
    lab.mem("session", "import", "--all", folder=folder)
    sessions = lab.read_sessions(folder)
    lab.check("only the user's session is read", len(sessions) == 1, list(sessions))
    session = next(iter(sessions), "")
    messages = lab.read_messages(session, folder)
    plain = " ".join(re.sub(r"\[\[.*?\]\]", "", first).split())
    expected = [
        ("user", first),
        ("assistant", f"ANSWER to: {plain}"),
        ("user", second),
        ("assistant", "ANSWER to: Goes on after a while."),
        ("user", third),
        ("assistant", "ANSWER to: With a subagent."),
    ]
    lab.check("every message is read once, in order", messages == expected, messages)
    calls = lab.read_tool_calls(session, folder)
    commands = [call["arguments"].get("command") for call in calls][:3]
    wanted = re.findall(r"\[\[sh (.*?)\]\]", first + second)
    if lab.check("the tool calls are read", commands == wanted, commands):
        lab.check_has("with results", str(calls[0].get("result")), "tool-output-1\ntool-output-2")
        lab.check("a failed one as failed", calls[2].get("isError") is True, calls[2])
    again = json.loads(lab.mem("session", "import", "--all", "--json", folder=folder))
    lab.check("a second import adds nothing", again["added"] == 0, again)
    ask(lab, "One more.", "--continue", folder=folder)
    later = json.loads(lab.mem("session", "import", "--all", "--json", folder=folder))
    lab.check("a later import adds what followed", later["added"] == 2, later)
    check_export(lab, folder, session)


def check_export(lab: Lab, folder: Path, session: str) -> None:
    """`opencode export` is read like the database."""
    listed = lab.run_agent("session", "list", folder=folder)
    name = re.search(r"ses_\w+", listed.stdout)
    if not lab.check("opencode lists the session", name, listed.stdout + listed.stderr):
        return
    export = lab.root / "export.json"
    export.write_text(lab.run_agent("export", str(name and name[0]), folder=folder).stdout, "utf-8")
    before = lab.read_messages(session, folder)
    again = json.loads(lab.mem("session", "import", str(export), "--json", folder=folder))
    lab.check("an export of it adds nothing", again["added"] == 0, again)
    lab.mem("session", "delete", session, "--yes", folder=folder)
    lab.mem("session", "import", str(export), folder=folder)
    after = lab.read_messages(session, folder)
    lab.check("an export alone has the same messages", before == after, after)


def terminal(lab: Lab) -> None:
    """A conversation in the terminal with /compact, and its import."""
    screen = lab.open_terminal()
    try:
        time.sleep(8)
        screen.type("Say hello to the wiki. [[sh echo hello-from-tool]]")
        lab.check("it answers", screen.wait_for("ANSWER to: Say hello"), screen.read_screen())
        lab.keep_screen(screen)
        time.sleep(2)
        screen.type("/compact")
        time.sleep(8)
        lab.keep_screen(screen)
        screen.type("And after it.")
        has_answer = screen.wait_for("ANSWER to: And after it")
        lab.check("it answers after a compaction", has_answer, screen.read_screen())
        lab.keep_screen(screen)
        screen.type("/exit")
        lab.check("/exit ends it", screen.wait_for_end(), screen.read_screen())
    finally:
        screen.close()
    lab.mem("session", "import", "--all")
    messages = [text for name in lab.read_sessions() for _, text in lab.read_messages(name)]
    said = [text for text in messages if re.search("hello to the wiki|after it|SUMMARY", text)]
    expected = [
        "Say hello to the wiki. [[sh echo hello-from-tool]]",
        "ANSWER to: Say hello to the wiki.",
        "And after it.",
        "ANSWER to: And after it.",
    ]
    lab.check("the import has all that was said, and no summary", said == expected, said)


def uninstall(lab: Lab) -> None:
    """Installing and uninstalling leaves the settings and the page as they were."""
    lab.mem("hook", "uninstall", AGENT)
    settings, page = get_settings(lab), get_settings(lab).parent / "AGENTS.md"
    lab.check("uninstall leaves no new page", not page.exists())
    bare = json.loads(settings.read_text())
    for number, text in enumerate((json.dumps(bare, indent="\t"), json.dumps({**bare, "mcp": {}}))):
        settings.write_bytes(text.encode())
        page.write_bytes(b"# Page\r\nwith CRLF\r\n" if number else b"no newline")
        before = lab.take_snapshot(settings, page)
        lab.install_hooks()
        done, _ = ask(lab, f"Hello {number}")
        lab.check_has(f"opencode runs with settings {number}", done.stdout, "ANSWER to: Hello")
        lab.mem("hook", "uninstall", AGENT)
        after = lab.take_snapshot(settings, page)
        lab.check(f"uninstall restores every byte {number}", before == after, after)
    page.unlink()
    lab.install_hooks()


SECTIONS: dict[str, Callable[[Lab], None]] = {
    "start": start,
    "mcp": mcp,
    "import": import_,
    "terminal": terminal,
    "uninstall": uninstall,
}
FAST = ("start", "mcp")

if __name__ == "__main__":
    sys.exit(run_sections(build_lab(), SECTIONS, sys.argv[1:]))
