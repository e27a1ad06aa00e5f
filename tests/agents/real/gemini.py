"""Gemini CLI with mem.    python -m tests.agents.real.gemini [SECTION…]"""

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .lab import CONSTRAINT, Finished, Lab, get_text, run_sections
from .scripted_model import LEARNED
from .terminal import Terminal

PACKAGE, PROGRAM, AGENT = "gemini", "gemini", "gemini"
ENVIRONMENT = {
    "GEMINI_API_KEY": "dummy-key",
    "GOOGLE_GEMINI_BASE_URL": "{url}",
    "GEMINI_TELEMETRY_ENABLED": "false",
    "COLORTERM": "truecolor",
}
MODEL = ("-m", "gemini-2.5-pro")
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": True}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}


def build_lab() -> Lab:
    lab = Lab(AGENT, PACKAGE, PROGRAM, ENVIRONMENT)
    (lab.home / ".gemini").mkdir()
    (lab.home / ".gemini/settings.json").write_text(json.dumps(SETTINGS))
    trust(lab, lab.project)
    return lab


def trust(lab: Lab, folder: Path) -> None:
    path = lab.home / ".gemini/trustedFolders.json"
    trusted = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**trusted, str(folder): "TRUST_FOLDER"}))


def ask(
    lab: Lab, prompt: str, *options: str, folder: Path | None = None
) -> tuple[Finished, list[dict]]:
    """Run one prompt with `gemini -p`. Return the process and the requests to the model."""
    mark = lab.mark
    done = lab.run_agent(*MODEL, "--yolo", *options, "-p", prompt, folder=folder)
    return done, lab.get_requests(mark)


def get_session(lab: Lab) -> str:
    """Return the session that a hook reported last."""
    sessions = [hook["event"].get("session_id") for hook in lab.read_hooks()]
    return str(sessions[-1]) if sessions else ""


def get_last_content(requests: list[dict]) -> str:
    """Return the last message of the last request, such as the result of a tool."""
    return json.dumps(requests[-1]["body"]["contents"][-1]) if requests else ""


def start(lab: Lab) -> None:
    """The start, the prompt moment, and what a session of one prompt leaves."""
    done = lab.run(lab.mem_program, "doctor")
    lab.check("doctor finds no error", done.returncode == 0, done.stdout + done.stderr)
    prompt = "Who is the release manager? [[sh mem search 'release manager']]"
    count = len(lab.read_hooks())
    done, requests = ask(lab, prompt)
    lab.note("seconds of gemini -p", round(lab.seconds, 1))
    lab.check_has("gemini -p answers", done.stdout + done.stderr, "ANSWER to: Who is")
    if not lab.check("the model is asked twice", len(requests) == 2, len(requests)):
        return
    text = get_text(requests[0])
    lab.check_has("the request has the protocol", text, "Use mem instead of your own memory folder")
    lab.check_has("the request has the rules", text, CONSTRAINT)
    lab.check("the request has the memories for the prompt", text.count("Dana Okafor") == 1, text)
    moments = [hook["answer"] for hook in lab.read_hooks() if hook["name"] == "BeforeAgent"]
    lab.check_has("they come with the prompt", moments[-1], "Dana Okafor")
    lab.check("and only what fits the prompt", moments[-1].count("<memory id") == 1, moments)
    lab.check_has("mem search works in its shell", get_last_content(requests), "Dana Okafor")
    learned = lab.mem("ls")
    lab.check("the question itself is no memory", "Who is the release" not in learned, learned)
    expected = [("user", prompt), ("assistant", "ANSWER to: Who is the release manager?")]
    messages = lab.wait_for_messages(get_session(lab), 2)
    lab.check("both messages are recorded, and nothing else", messages == expected, messages)
    hooks = lab.read_hooks()[count:]
    names = [hook["name"] for hook in hooks if hook["name"] != "PreCompress"]
    expected_names = ["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"]
    lab.check("all hooks run", names == expected_names, names)
    answers = [hook["answer"] for hook in hooks if hook["answer"].strip()]
    lab.check("an answer is JSON only", all(json.loads(answer) for answer in answers), answers)
    compactions = [hook["answer"] for hook in hooks if hook["name"] == "PreCompress"]
    lab.check("a request that compresses nothing has no answer", not any(compactions), compactions)
    lab.check("nothing is in the log", not lab.read_log(), lab.read_log())


def remember(lab: Lab) -> None:
    """A request to remember is done immediately."""
    _, requests = ask(lab, "remember this: the canary region is eu-west-3")
    text = get_text(requests[0]) if requests else ""
    lab.check_has("the agent is told the result", text, "The canary region is eu-west-3.")
    lab.check_has("it is a memory", lab.mem("search", "canary region"), "eu-west-3")
    _, requests = ask(lab, "Which region do we use for the canary?")
    lab.check_has("the next session recalls it", get_text(requests[0]), "eu-west-3")


def resume(lab: Lab) -> None:
    """`--resume latest`: one conversation, with the rules, which Gemini leaves out."""
    first = (
        "We chose the green theme for the dashboard because the blue one failed contrast checks."
    )
    ask(lab, first)
    session = get_session(lab)
    lab.wait_for_messages(session, 2)
    lab.mem("write", "The dashboard font is Inter.", "--type", "constraint", "--source", "user")
    _, requests = ask(lab, "And which font?", "--resume", "latest")
    lab.check("--resume stays in the session", get_session(lab) == session, get_session(lab))
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
    done = lab.run_agent("mcp", "add", "mem", "mem", "mcp")
    lab.check("gemini mcp add", done.returncode == 0, done.stdout + done.stderr)
    done = lab.run_agent("mcp", "list")
    lab.check("gemini mcp list", re.search("mem.*onnected", done.stdout + done.stderr), done)
    search = '[[tool memory_search {"query": "who is the release manager"}]]'
    _, requests = ask(lab, f"Look it up. {search}")
    tools = json.dumps(requests[0]["body"]["tools"]) if requests else ""
    lab.check_has("the first request has the tools", tools, "memory_search")
    lab.check_has("memory_search answers", get_last_content(requests), "Dana Okafor")
    arguments = {
        "path": "entries/printer.md",
        "content": "The printer on floor 3 is named Gutenberg.",
        "tags": ["office"],
        "metadata": {},
    }
    _, requests = ask(lab, f"Save it. [[tool memory_write {json.dumps(arguments)}]]")
    lab.check("memory_write writes", "Gutenberg" in lab.mem("ls"), get_last_content(requests))
    hooks = (lab.home / ".gemini/settings.json").read_text()
    lab.check("the hooks are still there", hooks.count("hook run gemini") == 5, hooks)
    lab.run_agent("mcp", "remove", "mem")


def terminal(lab: Lab) -> None:
    """A conversation in the terminal: /compress, /clear, /quit."""
    screen = lab.open_terminal(*MODEL, "--yolo")
    try:
        lab.check("it starts", screen.wait_for("Type your message|YOLO"), screen.read_screen())
        time.sleep(4)
        compaction(lab, screen)
        session = get_session(lab)
        screen.type("/clear")
        time.sleep(5)
        text = say(lab, screen, "Name the Gradle of the mobile team.")
        lab.check_has("after /clear the rules are there again", text, CONSTRAINT)
        lab.check_has("and the memories for the prompt", text, "Gradle 8.10")
        lab.check("after /clear there is another session", get_session(lab) != session)
        screen.type("/quit")
        lab.check("/quit ends it", screen.wait_for_end(), screen.read_screen())
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
    requests = lab.find_requests(mark, plain, "contents")
    return get_text(requests[-1], "contents") if requests else ""


def compaction(lab: Lab, screen: Terminal) -> None:
    first = "Tell me when backups of the wiki run. [[sh echo hello-from-tool]] [[usage 90000]]"
    text = say(lab, screen, first)
    lab.check_has("the request has the rules", text, CONSTRAINT)
    lab.check_has("the prompt has its memory", text, "02:15 UTC")
    lab.keep_screen(screen)
    session = get_session(lab)
    screen.type("/compress")
    lab.check("/compress", screen.wait_for("[Cc]ompressed|compression"), screen.read_screen())
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
    # Gemini compresses before the next request if the last one had more than half a million tokens.
    say(lab, screen, "This is the long one. [[usage 600000]]")
    text = say(lab, screen, "This is answered from a summary.")
    lab.check("a summary replaces the rules", text and CONSTRAINT not in text, text)
    text = say(lab, screen, "Tell me which rules you know.")
    lab.check("the next prompt has the rules again, once", text.count(CONSTRAINT) == 1, text)


def import_(lab: Lab) -> None:
    """`mem session import --all` reads the transcripts of this version, hooks' texts left out."""
    folder = lab.make_repository(lab.root / "imported")
    trust(lab, folder)
    lab.create_memory(folder)
    first = (
        "Zeile eins – Umlaute äöü ✓\nsecond line with `code` & <b>tags</b>\n\nthird line. "
        "[[sh echo tool-output-1; echo tool-output-2]] [[sh mem search 'nothing at all']]"
    )
    second = "Goes on after a while. [[sh false && echo never]]"
    count = len(lab.read_hooks())
    ask(lab, first, folder=folder)
    ask(lab, second, "--resume", "latest", folder=folder)
    session = get_session(lab)
    # Hooks have recorded it, too: now only the transcript is left.
    lab.check("hooks ran", len(lab.read_hooks()) > count)
    delete = (lab.mem_program, "session", "delete", session, "--yes")
    # Gemini does not wait until the session's end is recorded, and meanwhile nothing is deleted.
    is_deleted = lab.wait_for(lambda: lab.run(*delete, folder=folder).returncode == 0)
    lab.check("they can be deleted", is_deleted and session not in lab.read_sessions(folder))
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
    if lab.check("the tool calls are read", commands == wanted, commands):
        lab.check_has("with results", str(calls[0].get("result")), "tool-output-1\ntool-output-2")
        lab.check("a failed one as failed", calls[2].get("isError") is True, calls[2])
    again = json.loads(lab.mem("session", "import", "--all", "--json", folder=folder))
    lab.check("a second import adds nothing", again["added"] == 0, again)
    ask(lab, "What does the log of the lathe say? [[sh echo lathe-ok]]")
    before = lab.wait_for_messages(get_session(lab), 2)
    lab.mem("session", "import", "--all")
    after = lab.read_messages(get_session(lab))
    lab.check("an import next to hooks adds no message", before == after, after)
    said = str([event for events in lab.read_sessions().values() for event in events])
    has_context = "hook_context" in said or "memory-context" in said
    lab.check("no shown memory is recorded as a statement", not has_context)


def uninstall(lab: Lab) -> None:
    """Installing and uninstalling leaves the settings as they were, byte by byte."""
    lab.mem("hook", "uninstall", AGENT)
    settings = lab.home / ".gemini/settings.json"
    original = settings.read_bytes()
    tabs = json.dumps({**SETTINGS, "ui": {"hideTips": True}}, indent="\t").encode()
    for number, text in enumerate((tabs, json.dumps({**SETTINGS, "hooks": {}}).encode())):
        settings.write_bytes(text)
        lab.install_hooks()
        count = len(lab.read_hooks())
        done, _ = ask(lab, f"Hello {number}")
        lab.check_has(f"gemini runs with settings {number}", done.stdout + done.stderr, "ANSWER to")
        lab.check("with the hooks", len(lab.read_hooks()) > count, settings.read_text())
        lab.mem("hook", "uninstall", AGENT)
        is_same = settings.read_bytes() == text
        lab.check(f"uninstall restores every byte {number}", is_same, settings.read_bytes())
    settings.unlink()
    lab.install_hooks()
    lab.mem("hook", "uninstall", AGENT)
    lab.check("uninstall leaves no new file", not settings.exists())
    settings.write_bytes(original)
    page, project_settings = lab.project / "GEMINI.md", lab.project / ".gemini/settings.json"
    check_project(lab, "nor in a project")
    project_settings.parent.mkdir(exist_ok=True)
    project_settings.write_bytes(b'{\n\t"ui": {"hideTips": true}\n}')
    for text in (b"# Page\r\nwith CRLF\r\n", b"no newline"):
        page.write_bytes(text)
        check_project(lab, f"nor in a project with the page {text!r}")
    page.unlink()
    project_settings.unlink()
    lab.install_hooks()


def check_project(lab: Lab, name: str) -> None:
    before = lab.take_snapshot(lab.project)
    lab.install_hooks("--project")
    done, requests = ask(lab, "Hello there")
    text = get_text(requests[0]) if requests else done.stderr
    lab.check("the hooks of a project are used", CONSTRAINT in text, text)
    lab.mem("hook", "uninstall", AGENT, "--project")
    after = lab.take_snapshot(lab.project)
    lab.check(name, before == after, {p: (before.get(p), after.get(p)) for p in before | after})


def llm(lab: Lab) -> None:
    """Gemini CLI as mem's own language model."""
    config = lab.home / ".config/mem/config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    command = f"{lab.program} {' '.join(MODEL)} --skip-trust"
    config.write_text(f"llm.command: {command}\nllm.timeout: 120\n")
    lab.mem("session", "append", "by-llm", "The cafeteria closes at 14:30, somebody said.")
    count, sessions = len(lab.read_hooks()), set(lab.read_sessions())
    output = lab.mem("consolidate", "by-llm")
    config.unlink()
    lab.check_has("its answer is a memory", lab.mem("ls") + output, LEARNED)
    answers = [hook["answer"] for hook in lab.read_hooks()[count:] if hook["answer"]]
    lab.check("no hook answers inside", not answers, answers)
    lab.mem("session", "import", "--all", "--scope", "user")
    recorded = [lab.read_messages(name) for name in set(lab.read_sessions()) - sessions]
    asked = [messages for messages in recorded if LEARNED[:-1] in str(messages)]
    lab.check("mem's own question is no conversation", not asked, asked)


SECTIONS: dict[str, Callable[[Lab], None]] = {
    "start": start,
    "remember": remember,
    "resume": resume,
    "mcp": mcp,
    "terminal": terminal,
    "import": import_,
    "uninstall": uninstall,
    "llm": llm,
}
FAST = ("start", "remember")

if __name__ == "__main__":
    sys.exit(run_sections(build_lab(), SECTIONS, sys.argv[1:]))
