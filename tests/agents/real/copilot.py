"""Copilot CLI with mem.    python -m tests.agents.real.copilot [SECTION…]"""

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .lab import CONSTRAINT, Finished, Lab, get_text, run_sections
from .terminal import Terminal

PACKAGE, PROGRAM, AGENT = "copilot", "copilot", "copilot"
ENVIRONMENT = {
    "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
    "COPILOT_PROVIDER_API_KEY": "sk-dummy",
    "COPILOT_MODEL": "gpt-4.1",
    "COPILOT_OFFLINE": "true",
    "COPILOT_AUTO_UPDATE": "false",
}


def build_lab() -> Lab:
    lab = Lab(AGENT, PACKAGE, PROGRAM, ENVIRONMENT)
    (lab.home / ".copilot").mkdir()
    trust(lab, lab.project)
    return lab


def trust(lab: Lab, folder: Path) -> None:
    path = lab.home / ".copilot/config.json"
    lines = path.read_text().splitlines() if path.exists() else ["{}"]
    config = json.loads("\n".join(line for line in lines if not line.startswith("//")))
    for key in ("trusted_folders", "trustedFolders"):
        config[key] = [*config.get(key, []), str(folder)]
    path.write_text(json.dumps({**config, "banner": "never"}))


def ask(
    lab: Lab, prompt: str, *options: str, folder: Path | None = None
) -> tuple[Finished, list[dict]]:
    """Run one prompt with `copilot -p`. Return the process and the requests to the model."""
    mark = lab.mark
    done = lab.run_agent("--allow-all-tools", *options, "-p", prompt, folder=folder)
    return done, lab.get_requests(mark)


def get_session(lab: Lab) -> str:
    """Return the session of the transcript that was written last."""
    files = (lab.home / ".copilot/session-state").glob("*/events.jsonl")
    latest = max(files, key=lambda path: path.stat().st_mtime, default=Path("x/x"))
    return latest.parent.name


def start(lab: Lab) -> None:
    """The start, the prompt moment, and what a session of one prompt leaves."""
    done = lab.run(lab.mem_program, "doctor")
    lab.check("doctor finds no error", done.returncode == 0, done.stdout + done.stderr)
    prompt = "Who is the release manager? [[sh mem search 'release manager']]"
    count = len(lab.read_hooks())
    done, requests = ask(lab, prompt)
    lab.note("seconds of copilot -p", round(lab.seconds, 1))
    lab.check_has("copilot -p answers", done.stdout + done.stderr, "ANSWER to: Who is")
    if not lab.check("the model is asked twice", len(requests) == 2, len(requests)):
        return
    text = get_text(requests[0])
    lab.check_has("the request has the protocol", text, "Use mem instead of your own memory folder")
    lab.check_has("the request has the rules", text, CONSTRAINT)
    lab.check("the request has the memories for the prompt", text.count("Dana Okafor") == 1, text)
    lab.check_has("mem search works in its shell", get_text(requests[1]), "Dana Okafor")
    expected = [("user", prompt), ("assistant", "ANSWER to: Who is the release manager?")]
    messages = lab.wait_for_messages(get_session(lab), 2)
    lab.check("both messages are recorded", messages == expected, messages)
    calls = lab.wait_for(lambda: lab.read_tool_calls(get_session(lab)))
    lab.check("the tool call is recorded once", len(calls) == 1, calls)
    names = {hook["name"] for hook in lab.read_hooks()[count:]}
    expected_names = {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"}
    lab.check("all hooks run", names == expected_names, names)
    lab.check("nothing is in the log", not lab.read_log(), lab.read_log())


def failure(lab: Lab) -> None:
    """After a failed command the agent reads the lesson from the same failure."""
    _, requests = ask(lab, "Build it. [[sh cargo-frob --all]]")
    text = get_text(requests[-1], "messages")
    lab.check_has("the lesson comes with the failure", text, "run bin/setup-frob first")


def remember(lab: Lab) -> None:
    """A request to remember is done immediately."""
    _, requests = ask(lab, "remember this: the canary region is eu-west-3")
    text = get_text(requests[0]) if requests else ""
    lab.check_has("the agent is told the result", text, "The canary region is eu-west-3.")
    lab.check_has("it is a memory", lab.mem("search", "canary region"), "eu-west-3")
    _, requests = ask(lab, "Which region do we use for the canary?")
    lab.check_has("the next session recalls it", get_text(requests[0]), "eu-west-3")


def resume(lab: Lab) -> None:
    """`--continue`: one conversation, with the rules, which Copilot does not store."""
    first = (
        "We chose the green theme for the dashboard because the blue one failed contrast checks."
    )
    ask(lab, first)
    session = get_session(lab)
    lab.wait_for_messages(session, 2)
    lab.mem("write", "The dashboard font is Inter.", "--type", "constraint", "--source", "user")
    count = len(lab.read_hooks())
    _, requests = ask(lab, "And which font?", "--continue")
    sessions = {hook["event"].get("session_id") for hook in lab.read_hooks()[count:]}
    lab.check("--continue stays in the session", sessions == {session}, sessions)
    messages = lab.wait_for_messages(session, 4)
    expected = [
        ("user", first),
        ("assistant", f"ANSWER to: {first}"),
        ("user", "And which font?"),
        ("assistant", "ANSWER to: And which font?"),
    ]
    lab.check("the session has all four messages", messages == expected, messages)
    text = get_text(requests[0]) if requests else ""
    lab.check("a resumed session is shown the rules once", text.count(CONSTRAINT) == 1, text)
    lab.check_has("and what is new", text, "The dashboard font is Inter.")


def mcp(lab: Lab) -> None:
    """The MCP server next to the hooks."""
    command = ("mem", "mcp", "--workspace", str(lab.project / "memory"))
    done = lab.run_agent("mcp", "add", "mem", "--", *command)
    lab.check("copilot mcp add", done.returncode == 0, done.stdout + done.stderr)
    done = lab.run_agent("mcp", "list")
    lab.check_has("copilot mcp list", done.stdout + done.stderr, "mem")
    search = '[[tool memory_search {"query": "who is the release manager"}]]'
    _, requests = ask(lab, f"Look it up. {search}")
    tools = json.dumps(requests[0]["body"]["tools"]) if requests else ""
    lab.check_has("the first request has the tools", tools, "memory_search")
    text = json.dumps(requests[-1]["body"]["messages"][-1]) if requests else ""
    lab.check_has("memory_search answers", text, "Dana Okafor")
    arguments = {
        "path": "entries/printer.md",
        "content": "The printer on floor 3 is named Gutenberg.",
        "tags": ["office"],
        "metadata": {},
    }
    _, requests = ask(lab, f"Save it. [[tool memory_write {json.dumps(arguments)}]]")
    lab.check("memory_write writes", "Gutenberg" in lab.mem("ls"), get_text(requests[-1])[-900:])
    lab.run_agent("mcp", "remove", "mem")


def terminal(lab: Lab) -> None:
    """A conversation in the terminal: /compact, /clear, /exit."""
    screen = lab.open_terminal("--allow-all-tools")
    try:
        lab.check("it starts", screen.wait_for(r"❯|Type"), screen.read_screen())
        time.sleep(4)
        compaction(lab, screen)
        session = get_session(lab)
        screen.type("/clear")
        time.sleep(5)
        text = say(lab, screen, "Name the Gradle of the mobile team.")
        lab.check_has("after /clear the rules are there again", text, CONSTRAINT)
        lab.check_has("and the memories for the prompt", text, "Gradle 8.10")
        lab.check("after /clear there is another session", get_session(lab) != session)
        screen.type("/exit")
        lab.check("/exit ends it", screen.wait_for_end(), screen.read_screen())
        lab.keep_screen(screen)
    finally:
        screen.close()
    shown = "\n".join(lab.screens)
    is_clean = not re.search(r"hook.{0,20}(?:error|failed)|Traceback", shown)
    lab.check("no error is shown", is_clean, shown)


def say(lab: Lab, screen: Terminal, prompt: str) -> str:
    """Type a prompt, wait for the answer, and return the text of its last request."""
    mark = lab.mark
    plain = re.sub(r" ?\[\[.*?\]\]", "", prompt)
    screen.type(prompt)
    has_answer = screen.wait_for(re.escape(f"ANSWER to: {plain[:40]}"))
    lab.check(f"an answer to: {plain[:40]}", has_answer, screen.read_screen())
    requests = lab.find_requests(mark, plain, "messages")
    return get_text(requests[-1]) if requests else ""


def compaction(lab: Lab, screen: Terminal) -> None:
    first = "Tell me when backups of the wiki run. [[sh echo hello-from-tool]]"
    text = say(lab, screen, first)
    lab.check_has("the request has the rules", text, CONSTRAINT)
    lab.check_has("the prompt has its memory", text, "02:15 UTC")
    lab.keep_screen(screen)
    session = get_session(lab)
    screen.type("/compact")
    lab.check("/compact", screen.wait_for(r"[Cc]ompact(?:ed|ion)"), screen.read_screen())
    time.sleep(2)
    lab.keep_screen(screen)
    text = say(lab, screen, "Say what I asked you first.")
    lab.check_has("after a compaction the rules are there again", text, CONSTRAINT)
    messages = lab.wait_for_messages(session, 4)
    expected = [
        ("user", first),
        ("assistant", "ANSWER to: Tell me when backups of the wiki run."),
        ("user", "Say what I asked you first."),
        ("assistant", "ANSWER to: Say what I asked you first."),
    ]
    lab.check("the session has all that was said", messages == expected, messages)
    text = say(lab, screen, "And again, tell me when backups of the wiki run.")
    lab.check_has("a memory for a prompt comes again", text, "Backups of the wiki run at 02:15")


def import_(lab: Lab) -> None:
    """`mem session import --all` reads the transcripts of this version, without and after hooks."""
    lab.mem("hook", "uninstall", AGENT)
    folder = lab.make_repository(lab.root / "imported")
    trust(lab, folder)
    lab.create_memory(folder)
    first = (
        "Zeile eins – Umlaute äöü ✓\nsecond line with `code` & <b>tags</b>\n\nthird line. "
        "[[sh echo tool-output-1; echo tool-output-2]] [[sh mem search 'nothing at all']]"
    )
    second = "Goes on after a while. [[sh false && echo never]]"
    ask(lab, first, folder=folder)
    ask(lab, second, "--continue", folder=folder)
    session = get_session(lab)
    lab.mem("session", "import", "--all", folder=folder)
    messages = lab.read_messages(session, folder)
    plain = " ".join(re.sub(r"\[\[.*?\]\]", "", first).split())
    expected = [
        ("user", first),
        ("assistant", f"ANSWER to: {plain}"),
        ("user", second),
        ("assistant", "ANSWER to: Goes on after a while."),
    ]
    lab.check("every message is read once, in order", messages == expected, messages)
    calls = lab.read_tool_calls(session, folder)
    commands = [call["arguments"].get("command") for call in calls]
    wanted = re.findall(r"\[\[sh (.*?)\]\]", first + second)
    lab.check("the tool calls are read", commands == wanted, commands)
    lab.check_has("with results", str(calls[0].get("result")), "tool-output-1\ntool-output-2")
    lab.check("a failed one as failed", calls[2].get("isError") is True, calls[2:3])
    again = json.loads(lab.mem("session", "import", "--all", "--json", folder=folder))
    lab.check("a second import adds nothing", again["added"] == 0, again)
    lab.install_hooks()
    ask(lab, "What does the log of the lathe say? [[sh echo lathe-ok]]")
    before = lab.wait_for_messages(get_session(lab), 2)
    lab.mem("session", "import", "--all")
    after = lab.read_messages(get_session(lab))
    lab.check("an import next to hooks adds no message", before == after, after)


def uninstall(lab: Lab) -> None:
    """Installing and uninstalling leaves the settings as they were, byte by byte."""
    lab.mem("hook", "uninstall", AGENT)
    settings = lab.home / ".copilot/hooks/mem.json"
    own = b'{"version": 1, "hooks": {"Stop": [{"type": "command", "bash": "true"}]}}'
    for number, text in enumerate((own, b'{"version": 1, "hooks": {}}')):
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_bytes(text)
        lab.install_hooks()
        count = len(lab.read_hooks())
        done, _ = ask(lab, f"Hello {number}")
        lab.check_has(f"copilot runs with settings {number}", done.stdout, "ANSWER to")
        lab.check("with the hooks", len(lab.read_hooks()) > count, settings.read_text())
        lab.mem("hook", "uninstall", AGENT)
        is_same = settings.read_bytes() == text
        lab.check(f"uninstall restores every byte {number}", is_same, settings.read_bytes())
    settings.unlink()
    settings.parent.rmdir()
    lab.install_hooks()
    lab.mem("hook", "uninstall", AGENT)
    lab.check("uninstall leaves no new file or folder", not settings.parent.exists())
    before = lab.take_snapshot(lab.project)
    lab.install_hooks("--project")
    lab.mem("hook", "uninstall", AGENT, "--project")
    after = lab.take_snapshot(lab.project)
    lab.check("nor in a project", before == after, set(after) ^ set(before))
    lab.install_hooks()


SECTIONS: dict[str, Callable[[Lab], None]] = {
    "start": start,
    "failure": failure,
    "remember": remember,
    "resume": resume,
    "mcp": mcp,
    "terminal": terminal,
    "import": import_,
    "uninstall": uninstall,
}
FAST = ("start", "failure", "remember")

if __name__ == "__main__":
    sys.exit(run_sections(build_lab(), SECTIONS, sys.argv[1:]))
