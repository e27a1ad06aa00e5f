"""Claude Code with mem.    python -m tests.agents.real.claude_code [SECTION…]"""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from os import kill
from pathlib import Path

from .lab import CHECKOUT, CONSTRAINT, Finished, Lab, get_text, run_sections
from .scripted_model import LEARNED
from .terminal import Terminal

PACKAGE, PROGRAM, AGENT = "claude", "claude", "claude-code"
KEY = "sk-ant-dummy-0123456789-0123456789-0123456789"
ENVIRONMENT = {
    "ANTHROPIC_BASE_URL": "{url}",
    "ANTHROPIC_API_KEY": KEY,
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
ALLOWED = ("Bash(mem *)", "Bash(echo *)", "Bash(make *)", "Bash(cargo-frob *)", "Bash(sleep *)")
ALLOW = ("--allowedTools", *ALLOWED, "Edit", "Write", "Read", "mcp__mem", "Agent", "Task")
FIND_TOOL = '[[tool ToolSearch {"query": "select:%s", "max_results": 5}]] '


def build_lab() -> Lab:
    lab = Lab(AGENT, PACKAGE, PROGRAM, ENVIRONMENT)
    trust(lab, lab.project)
    return lab


def trust(lab: Lab, *folders: Path) -> None:
    """Answer the questions of the first start."""
    answered = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(folder): answered for folder in folders},
    }
    (lab.home / ".claude.json").write_text(json.dumps(state))


def ask(
    lab: Lab, prompt: str, *options: str, folder: Path | None = None
) -> tuple[Finished, list[dict]]:
    """Run one prompt with `claude -p`. Return the process and the requests to the model."""
    mark = lab.mark
    done = lab.run_agent("-p", prompt, *options, *ALLOW, folder=folder)
    return done, lab.get_requests(mark)


def find_transcripts(lab: Lab) -> list[Path]:
    files = (lab.home / ".claude/projects").glob("*/*.jsonl")
    return sorted(files, key=lambda path: path.stat().st_mtime)


def get_session(lab: Lab) -> str:
    """Return the session of the transcript that was written last."""
    files = find_transcripts(lab)
    return files[-1].stem if files else ""


def get_results(requests: list[dict]) -> str:
    """Return the results of tools in the last request."""
    messages = requests[-1]["body"]["messages"] if requests else []
    parts = [part for m in messages if isinstance(m["content"], list) for part in m["content"]]
    results = [part for part in parts if part.get("type") == "tool_result"]
    return json.dumps(results, ensure_ascii=False)


def start(lab: Lab) -> None:
    """The start, the prompt moment, and what a session of one prompt leaves."""
    done = lab.run(lab.mem_program, "doctor")
    lab.check("doctor finds no error", done.returncode == 0, done.stdout + done.stderr)
    prompt = "Who is the release manager? [[sh mem search 'release manager']]"
    done, requests = ask(lab, prompt)
    lab.note("seconds of claude -p", round(lab.seconds, 1))
    lab.check_has("claude -p answers", done.stdout + done.stderr, "ANSWER to: Who is")
    if not lab.check("the model is asked twice", len(requests) == 2, len(requests)):
        return
    text = get_text(requests[0])
    lab.check_has("the request has the protocol", text, "Use mem instead of your own memory folder")
    lab.check_has("the request has the rules", text, CONSTRAINT)
    lab.check("the request has the memories for the prompt", text.count("Dana Okafor") == 1, text)
    lab.check_has("mem search works in the agent's shell", get_results(requests), "Dana Okafor")
    expected = [("user", prompt), ("assistant", "ANSWER to: Who is the release manager?")]
    messages = lab.wait_for_messages(get_session(lab), 2)
    lab.check("both messages are recorded", messages == expected, messages)
    calls = lab.wait_for(lambda: lab.read_tool_calls(get_session(lab)))
    lab.check("the tool call is recorded once", len(calls) == 1, calls)
    lab.check("nothing is in the log", not lab.read_log(), lab.read_log())


def action(lab: Lab) -> None:
    """Before a command or an edit the agent reads the rules about it, once."""
    rule = "start the proxy with bin/proxy, or it hangs."
    _, requests = ask(lab, "Ship it. [[sh make release]] [[sh make release VERSION=2]]")
    text = get_text(requests[-1], "messages")
    before = get_text(requests[0])
    lab.check("the rule is not there before the command", rule not in before, before)
    lab.check("the rule comes with the command, in full, once", text.count(rule) == 1, text)
    folder = lab.make_repository(lab.root / "edits")
    lab.create_memory(folder)
    rule = "src/cache.py must stay free of locks, because signal handlers call it."
    # The start shows the latest memory of each type first.
    for text in (rule, "Never mock the clock in integration tests."):
        lab.mem("write", text, "--type", "lesson", "--source", "user", folder=folder)
        time.sleep(1.1)  # files store seconds
    lab.add_other_memories(folder)
    (folder / "src").mkdir()
    (folder / "src/cache.py").write_text("VALUE = 1\n")
    path = str(folder / "src/cache.py")
    read = json.dumps({"file_path": path})
    edit = json.dumps({"file_path": path, "old_string": "VALUE = 1", "new_string": "VALUE = 2"})
    _, requests = ask(lab, f"Improve it. [[tool Read {read}]] [[tool Edit {edit}]]", folder=folder)
    lab.check("the edit is made", "VALUE = 2" in (folder / "src/cache.py").read_text())
    lab.check("the start does not show the rule", rule not in get_text(requests[0]))
    lab.check_has("it comes with the edit", get_text(requests[-1], "messages"), rule)


def failure(lab: Lab) -> None:
    """After a failed command the agent reads the lesson from the same failure."""
    _, requests = ask(lab, "Build it. [[sh cargo-frob --all]]")
    text = get_text(requests[-1], "messages")
    lab.check_has("the lesson comes with the failure", text, "run bin/setup-frob first")


def remember(lab: Lab) -> None:
    """A request to remember is done immediately, and the person sees a line."""
    done, requests = ask(lab, "remember this: the canary region is eu-west-3")
    text = get_text(requests[0]) if requests else ""
    lab.check_has("the agent is told the result", text, "The canary region is eu-west-3.")
    lab.check_has("it is a memory", lab.mem("search", "canary region"), "eu-west-3")
    hooks = [hook["answer"] for hook in lab.read_hooks() if hook["name"] == "UserPromptSubmit"]
    message = json.loads(hooks[-1] or "{}").get("systemMessage", "")
    line = 'mem: saved "The canary region is eu-west-3." (mem undo)'
    lab.check("there is a line for the person", message == line, message)
    _, requests = ask(lab, "Which region do we use for the canary?")
    lab.check_has("the next session recalls it", get_text(requests[0]), "eu-west-3")


def resume(lab: Lab) -> None:
    """--continue and --resume --fork-session: one conversation, and only what is new."""
    first = (
        "We chose the green theme for the dashboard because the blue one failed contrast checks."
    )
    ask(lab, first)
    session = get_session(lab)
    lab.wait_for_messages(session, 2)
    lab.mem("write", "The dashboard font is Inter.", "--type", "constraint", "--source", "user")
    _, requests = ask(lab, "And which font?", "--continue")
    text = get_text(requests[0]) if requests else ""
    lab.check("--continue stays in the session", get_session(lab) == session, get_session(lab))
    messages = lab.wait_for_messages(session, 4)
    expected = [
        ("user", first),
        ("assistant", f"ANSWER to: {first}"),
        ("user", "And which font?"),
        ("assistant", "ANSWER to: And which font?"),
    ]
    lab.check("the session has all four messages", messages == expected, messages)
    lab.check("a resumed session is not shown the rules again", text.count(CONSTRAINT) == 1, text)
    lab.check_has("but what is new", text, "The dashboard font is Inter.")
    _, requests = ask(lab, "And which size?", "--resume", session, "--fork-session")
    text = get_text(requests[0]) if requests else ""
    lab.check("nor is a forked one", text.count(CONSTRAINT) == 1, text)
    fork = get_session(lab)
    lab.check("--fork-session starts another session", fork != session, fork)
    messages = lab.wait_for_messages(fork, 2)
    expected = [("user", "And which size?"), ("assistant", "ANSWER to: And which size?")]
    lab.check("the fork has its own messages", messages[-2:] == expected, messages)


def subagent(lab: Lab) -> None:
    """A subagent knows the rules, and nothing that it says is the user's word."""
    inner = {
        "description": "look it up",
        "prompt": "Find the port. ((sh make release)) ((say SUBAGENT-SAYS-5433))",
        "subagent_type": "general-purpose",
    }
    _, requests = ask(lab, f"Ask somebody. [[tool Agent {json.dumps(inner)}]]")
    inside = [
        request
        for request in requests
        if "Find the port." in get_text(request, "messages")
        and "Ask somebody" not in get_text(request, "messages")
    ]
    if lab.check("a subagent runs", inside, [request["reply"] for request in requests]):
        lab.check_has("the subagent knows the rules", get_text(inside[0]), CONSTRAINT)
        text = get_text(inside[-1])
        lab.check_has("it reads the rule about its command", text, "bin/proxy, or it hangs")
    messages = lab.wait_for_messages(get_session(lab), 2)
    answers = [text for _, text in messages[1:]]
    lab.check("its words are not recorded", "SUBAGENT-SAYS" not in str(answers), messages)
    lab.check("its notice is not recorded", "task-notification" not in str(messages), messages)


def mcp(lab: Lab) -> None:
    """The MCP server next to the hooks."""
    command = ("mem", "mcp", "--workspace", str(lab.project / "memory"))
    done = lab.run_agent("mcp", "add", "mem", "--", *command)
    lab.check("claude mcp add", done.returncode == 0, done.stdout + done.stderr)
    done = lab.run_agent("mcp", "list")
    lab.check_has("the server connects", done.stdout + done.stderr, "onnected")
    find = FIND_TOOL % "mcp__mem__memory_search,mcp__mem__memory_write"
    search = '[[tool memory_search {"query": "who is the release manager"}]]'
    # Claude Code offers the tools of a slow server only to those who search for them.
    for prompt in (f"Look it up. {search}", f"Look it up. {find}{search}"):
        _, requests = ask(lab, prompt)
        if "No such tool" not in get_results(requests):
            break
    names = {tool.get("name", "") for request in requests for tool in request["body"]["tools"]}
    lab.note("tools", sorted(name for name in names if "mem" in name))
    lab.check_has("memory_search answers", get_results(requests), "Dana Okafor")
    arguments = {
        "path": "entries/printer.md",
        "content": "The printer on floor 3 is named Gutenberg.",
        "tags": ["office"],
        "metadata": {},
    }
    _, requests = ask(lab, f"Save it. {find}[[tool memory_write {json.dumps(arguments)}]]")
    lab.check("memory_write writes", "Gutenberg" in lab.mem("ls"), get_results(requests))
    find = FIND_TOOL % "ReadMcpResourceTool"
    page = '[[tool ReadMcpResourceTool {"server": "mem", "uri": "mem://start"}]]'
    _, requests = ask(lab, f"Read it. {find}{page}")
    lab.check_has("the start is a resource", get_results(requests), CONSTRAINT)
    lab.run_agent("mcp", "remove", "mem")
    check_next_to_server(lab)


def check_next_to_server(lab: Lab) -> None:
    """A search and a hook are answered while a server runs that has loaded the model."""
    server = subprocess.Popen(
        [lab.mem_program, "mcp"],
        cwd=lab.project,
        env=lab.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    info = {"protocolVersion": "2025-06-18", "capabilities": {}}
    info["clientInfo"] = {"name": "lab", "version": "1"}
    search = {"name": "memory_search", "arguments": {"query": "release manager"}}
    messages = (
        {"id": 1, "method": "initialize", "params": info},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": search},
    )
    assert server.stdin and server.stdout
    for message in messages:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
    lab.check_has("the server answers", server.stdout.readline() + server.stdout.readline(), "Dana")
    for number in range(3):
        text = f"Shelf {number} holds spare fans.\n"
        (lab.project / f"memory/entries/by-hand-{number}.md").write_text(text)
    output = lab.mem("search", "Who is the release manager?")
    lab.check_has("a search next to it is answered", output, "Dana Okafor")
    lab.check("soon", lab.seconds < 20, lab.seconds)
    _, requests = ask(lab, "Who is the release manager?")
    lab.check_has("and a prompt", get_text(requests[0]), "Dana Okafor")
    server.stdin.close()
    lab.check("the server ends with its input", server.wait(30) == 0)
    server.stdout.close()


def terminal(lab: Lab) -> None:
    """A conversation in the terminal: /compact, /clear, Esc, /exit."""
    screen = lab.open_terminal(*ALLOW)
    try:
        lab.check("it starts", screen.wait_for("❯"), screen.read_screen())
        time.sleep(2)
        compaction(lab, screen)
        clear(lab, screen)
        escape(lab, screen)
        screen.type("/exit")
        lab.check("/exit ends it", screen.wait_for_end(), screen.read_screen())
        lab.keep_screen(screen)
    finally:
        screen.close()
    shown = "\n".join(lab.screens)
    lab.check("no error is shown", not re.search(r"hook error|failed|Traceback", shown), shown)


def say(lab: Lab, screen: Terminal, prompt: str) -> str:
    """Type a prompt, wait for the answer, and return the text of the last request."""
    mark = lab.mark
    plain = re.sub(r" ?\[\[.*?\]\]", "", prompt)
    screen.type(prompt)
    has_answer = screen.wait_for(re.escape(f"ANSWER to: {plain[:40]}"))
    lab.check(f"an answer to: {plain[:40]}", has_answer, screen.read_screen())
    requests = lab.find_requests(mark, plain, "messages")
    return get_text(requests[0]) if requests else ""


def compaction(lab: Lab, screen: Terminal) -> None:
    first = "When do backups of the wiki run? [[sh echo hello-from-tool]]"
    text = say(lab, screen, first)
    lab.check_has("the prompt has its memory", text, "02:15 UTC")
    lab.keep_screen(screen)
    session = get_session(lab)
    screen.type("/compact")
    lab.check("/compact", screen.wait_for("Compacted"), screen.read_screen())
    lab.keep_screen(screen)
    text = say(lab, screen, "What did I ask you first?")
    lab.check_has("after a compaction the rules are there again", text, CONSTRAINT)
    lab.check("the protocol too, once", text.count("# mem: your long-term memory") == 1, text)
    lab.check_has("and what the user said last", text, "When do backups of the wiki run")
    messages = lab.wait_for_messages(session, 4)
    said = [text for _, text in messages]
    expected = [
        first,
        "ANSWER to: When do backups of the wiki run?",
        "What did I ask you first?",
        "ANSWER to: What did I ask you first?",
    ]
    lab.check("the session has all that was said", said == expected, messages)
    text = say(lab, screen, "And again: when do backups of the wiki run?")
    lab.check("a memory for a prompt comes again", "Backups of the wiki run at 02:15" in text, text)


def clear(lab: Lab, screen: Terminal) -> None:
    session = get_session(lab)
    screen.type("/clear")
    count = len(lab.read_hooks())
    lab.wait_for(lambda: any(h["name"] == "SessionStart" for h in lab.read_hooks()[count - 1 :]))
    time.sleep(2)
    text = say(lab, screen, "Which Gradle does the mobile team build with?")
    lab.check_has("after /clear the rules are there again", text, CONSTRAINT)
    lab.check_has("and the memories for the prompt", text, "Gradle 8.10")
    lab.check("/clear starts another session", get_session(lab) != session)


def escape(lab: Lab, screen: Terminal) -> None:
    session = get_session(lab)
    mark = lab.mark
    screen.type("This one is stopped. [[slow 30]]")
    lab.wait_for(lambda: lab.find_requests(mark, "This one is stopped", "messages"))
    screen.press("Escape")
    time.sleep(2)
    lab.keep_screen(screen)
    screen.press("C-u")  # the prompt is back in the input line
    say(lab, screen, "And this one is answered.")
    said = lab.wait_for_messages(session, 5)
    stopped = ("assistant", "ANSWER to: This one is stopped.")
    lab.check("a prompt that Esc stops has no answer", stopped not in said, said)
    expected = ("assistant", "ANSWER to: And this one is answered.")
    lab.check("the next one has", said[-1] == expected, said)


def typed_meanwhile(lab: Lab) -> None:
    """A prompt typed while the agent works, and a terminal that is closed."""
    screen = lab.open_terminal(*ALLOW)
    try:
        screen.wait_for("❯")
        time.sleep(2)
        screen.type("This takes a while. [[sh sleep 8]]")
        screen.wait_for("Running|sleep 8")
        screen.type("And this was typed meanwhile.")
        screen.wait_for("ANSWER to: [^T]")
        session = get_session(lab)
        messages = lab.wait_for_messages(session, 3)
        typed = [text for role, text in messages if role == "user" and "meanwhile" in text]
        lab.check("a prompt typed meanwhile is recorded once", len(typed) == 1, messages)
        count = len(lab.read_hooks())
        kill(screen.get_process_id(), signal.SIGHUP)  # as a closed terminal does
        lab.wait_for(lambda: any(h["name"] == "SessionEnd" for h in lab.read_hooks()[count:]), 30)
        names = [hook["name"] for hook in lab.read_hooks()[count:]]
        lab.check("a closed terminal ends the session", "SessionEnd" in names, names)
    finally:
        screen.close()
    folder = lab.make_repository(lab.root / "read-again")
    lab.create_memory(folder)
    path = next(path for path in find_transcripts(lab) if path.stem == session)
    lab.mem("session", "import", str(path), folder=folder)
    imported = lab.read_messages(session, folder)
    lab.check("its transcript says the same", sorted(imported) == sorted(messages), imported)


def import_(lab: Lab) -> None:
    """`mem session import --all` reads the transcripts of this version, without and after hooks."""
    lab.mem("hook", "uninstall", AGENT)
    folder = lab.make_repository(lab.root / "imported")
    lab.create_memory(folder)
    first = (
        "Zeile eins – Umlaute äöü ✓\nsecond line with `code` & <b>tags</b>\n\nthird line. "
        "[[sh echo tool-output-1; echo tool-output-2]] [[sh mem search 'nothing at all']]"
    )
    second = "Goes on after a while. [[sh false && echo never]]"
    inner = {
        "description": "look it up",
        "prompt": "Inner question.",
        "subagent_type": "general-purpose",
    }
    third = f"With a subagent. [[tool Agent {json.dumps(inner)}]]"
    allow = ("--allowedTools", "Bash", "Agent", "Task")
    for number, prompt in enumerate((first, second, third)):
        more = ("--continue",) if number else ()
        lab.run_agent("-p", prompt, *more, *allow, folder=folder)
    session = get_session(lab)
    lab.mem("session", "import", "--all", folder=folder)
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
    lab.check("every message is read once, in order", messages[:6] == expected, messages)
    is_rest_said = all(role == "assistant" for role, _ in messages[6:])
    lab.check("nothing else is read as said", is_rest_said, messages[6:])
    lab.check("nor what the subagent said", "ANSWER to: Inner" not in str(messages), messages)
    calls = lab.read_tool_calls(session, folder)
    commands = [call["arguments"].get("command") for call in calls]
    wanted = re.findall(r"\[\[sh (.*?)\]\]", first + second)
    lab.check("the tool calls are read", commands[:3] == wanted, commands)
    lab.check("with results", calls[0].get("result") == "tool-output-1\ntool-output-2", calls[:1])
    lab.check("a failed one as failed", calls[2].get("isError") is True, calls[2:3])
    again = json.loads(lab.mem("session", "import", "--all", "--json", folder=folder))
    lab.check("a second import adds nothing", again["added"] == 0, again)
    lab.install_hooks()
    ask(lab, "What does the log of the lathe say? [[sh echo lathe-ok]]")
    before = lab.wait_for_messages(get_session(lab), 2)
    lab.mem("session", "import", "--all")
    after = lab.read_messages(get_session(lab))
    lab.check("an import next to hooks adds no message", before == after, after)
    calls = lab.read_tool_calls(get_session(lab))
    lab.check("and no tool call", len(calls) == 1, calls)


def uninstall(lab: Lab) -> None:
    """Installing and uninstalling leaves the user's settings as they were, byte by byte."""
    lab.mem("hook", "uninstall", AGENT)
    settings = lab.home / ".claude/settings.json"
    texts = (
        b'{\n\t"permissions": {"allow": ["Bash(ls *)"]},\n\t"env": {"A": "\\u00e4"}\n}',
        b'{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]},"model":"opus"}\n',
        b"{}",
    )
    for number, text in enumerate(texts):
        settings.write_bytes(text)
        lab.install_hooks()
        count = len(lab.read_hooks())
        done, _ = ask(lab, f"Hello {number}")
        lab.check_has(f"claude runs with settings {number}", done.stdout + done.stderr, "ANSWER to")
        lab.check("with the hooks", len(lab.read_hooks()) > count, settings.read_text())
        lab.mem("hook", "uninstall", AGENT)
        is_same = settings.read_bytes() == text
        lab.check(f"uninstall restores every byte {number}", is_same, settings.read_bytes())
    settings.unlink()
    lab.install_hooks()
    lab.mem("hook", "uninstall", AGENT)
    lab.check("uninstall leaves no new file", not settings.exists())
    before = lab.take_snapshot(lab.project)
    lab.install_hooks("--project")
    lab.mem("hook", "uninstall", AGENT, "--project")
    after = lab.take_snapshot(lab.project)
    lab.check("nor in a project", before == after, set(after) ^ set(before))
    lab.install_hooks()


def plugin(lab: Lab) -> None:
    """The plugin instead of the user's settings: hooks, skill, MCP server, removal."""
    lab.mem("hook", "uninstall", AGENT)
    settings = lab.home / ".claude/settings.json"
    text_before = json.dumps({"permissions": {"allow": ["Bash(ls *)"]}}, indent=2) + "\n"
    settings.write_text(text_before)
    folder = lab.root / "plugin"
    subprocess.run([sys.executable, "man/plugin.py", folder], cwd=CHECKOUT, check=True)
    done = lab.run_agent("plugin", "validate", str(folder))
    lab.check_has("it is valid", done.stdout + done.stderr, "Validation passed")
    for words in (("marketplace", "add", str(folder)), ("install", "mem@mem")):
        done = lab.run_agent("plugin", *words)
        lab.check(f"claude plugin {words[0]}", not done.returncode, done.stdout + done.stderr)
    before = len(lab.read_hooks())
    server = "mcp__plugin_mem_mem"
    find = FIND_TOOL % f"{server}__memory_search"
    search = f'Look. {find}[[tool {server}__memory_search {{"query": "release manager"}}]]'
    done, requests = ask(lab, search, "--allowedTools", server)
    names = {hook["name"] for hook in lab.read_hooks()[before:]}
    lab.check("its hooks run", {"SessionStart", "UserPromptSubmit"} <= names, names)
    text = get_text(requests[0])
    lab.check("the rules are shown, once", text.count(CONSTRAINT) == 1, text)
    lab.check_has("the skill is listed", json.dumps(requests), "mem:mem-memory")
    lab.check_has("the MCP server answers", get_results(requests), "Dana Okafor")
    check_plugin_moments(lab, server)
    lab.install_hooks()
    before = len(lab.read_hooks())
    _, requests = ask(lab, "Who is the release manager?")
    names = [hook["name"] for hook in lab.read_hooks()[before:]]
    lab.check("with installed hooks, both run", names.count("UserPromptSubmit") == 2, names)
    lab.check("the rules are shown once", get_text(requests[0]).count(CONSTRAINT) == 1)
    messages = lab.wait_for_messages(get_session(lab), 2)
    lab.check("and the messages are recorded once", len(messages) == 2, messages)
    lab.mem("hook", "uninstall", AGENT)
    # Without mem, the person is told, and nothing else changes.
    mem = lab.programs / "mem"
    mem.rename(lab.programs / "away")
    done, _ = ask(lab, "Hello", "--output-format", "stream-json", "--verbose")
    mem.with_name("away").rename(mem)
    lab.check_has("Claude answers without mem", done.stdout, "ANSWER to: Hello")
    lab.check_has("and says that it is missing", done.stdout, "mem is not installed")
    done = lab.run_agent("plugin", "uninstall", "mem@mem")
    before = len(lab.read_hooks())
    ask(lab, "Hello again")
    lab.check("claude plugin uninstall", len(lab.read_hooks()) == before, done.stderr)
    lab.run_agent("plugin", "marketplace", "remove", "mem")
    # Claude Code itself leaves two empty keys: its list of plugins and its list of marketplaces.
    own = re.sub(r',\s*"(?:enabledPlugins|extraKnownMarketplaces)": \{\}', "", settings.read_text())
    lab.check("the settings are restored, byte by byte", own == text_before, settings.read_text())
    lab.install_hooks()


def check_plugin_moments(lab: Lab, server: str) -> None:
    """The plugin's hooks recall and remember; its skill and its server save memories."""
    prompt = "When do backups of the wiki run? [[sh make release]] [[sh cargo-frob --all]]"
    _, requests = ask(lab, prompt)
    first, last = get_text(requests[0]), get_text(requests[-1], "messages")
    lab.check_has("a prompt brings its memories", first, "Backups of the wiki run at 02:15")
    rule = "start the proxy with bin/proxy, or it hangs."
    lab.check("a command brings its rule, once", last.count(rule) == 1, last)
    lab.check_has("a failure brings its lesson", last, "run bin/setup-frob first")
    arguments = {"path": "entries/kiln.md", "content": "The kiln is in hall C.", "tags": []}
    write = f"{server}__memory_write"
    call = f"{FIND_TOOL % write}[[tool {write} {json.dumps(arguments)}]]"
    _, requests = ask(lab, f"Save it. {call}", "--allowedTools", server)
    lab.check_has("the server saves a memory", lab.mem("ls"), "The kiln is in hall C.")
    skill = '[[tool Skill {"skill": "mem:mem-memory"}]] '
    call = "[[sh mem write 'The glaze is in hall D.']]"
    _, requests = ask(lab, f"Save it. {skill}{call}", "--allowedTools", "Skill")
    lab.check_has("the skill explains mem", json.dumps(requests[-1]), "## Commands")
    lab.check_has("and its command saves a memory", lab.mem("ls"), "The glaze is in hall D.")
    _, requests = ask(lab, "Remember that the kiln is fired on Mondays.")
    lab.check_has("a request is remembered", lab.mem("ls"), "kiln is fired on Mondays")


def permission(lab: Lab) -> None:
    """A permission granted in the terminal goes into the file that has the project's hooks."""
    settings = lab.project / ".claude/settings.local.json"
    lab.mem("hook", "uninstall", AGENT)
    lab.install_hooks("--project")
    screen = lab.open_terminal("--permission-mode", "default")
    try:
        screen.wait_for("❯")
        time.sleep(2)
        screen.type("Touch it. [[sh touch made-by-claude]]")
        asks = screen.wait_for("ask again|always allow|Yes, and")
        lab.check("Claude Code asks", asks, screen.read_screen())
        screen.press("Down", "Enter")
        lab.check("it goes on", screen.wait_for("ANSWER to: Touch it"), screen.read_screen())
        screen.type("/exit")
        screen.wait_for_end()
    finally:
        screen.close()
    is_granted = "touch" in settings.read_text("utf-8")
    lab.note("the permission is in this file", is_granted)
    lab.check("the hooks are still there", "hook run claude-code" in settings.read_text("utf-8"))
    lab.mem("hook", "uninstall", AGENT, "--project")
    text = settings.read_text("utf-8") if settings.exists() else ""
    is_clean = ("touch" in text) == is_granted and "hook run" not in text
    lab.check("uninstall leaves the permission and no hook", is_clean, text)
    lab.install_hooks()


def llm(lab: Lab) -> None:
    """Claude Code as mem's own language model."""
    config = lab.home / ".config/mem/config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"llm.command: {lab.program} -p\nllm.timeout: 120\n")
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


def worktree(lab: Lab) -> None:
    """In a linked worktree the agent has the memory of the main one, which outlives it."""
    folder = lab.root / "feature"
    lab.git("worktree", "add", "-q", str(folder), "-b", "feature")
    _, requests = ask(lab, "Remember that the worktree port is 6611.", folder=folder)
    lab.check_has("it knows the rules", get_text(requests[0]), CONSTRAINT)
    session = get_session(lab)
    messages = lab.wait_for_messages(session, 2)
    lab.check("the conversation is recorded in the main worktree", len(messages) == 2, messages)
    lab.check("and not in the linked one", not (folder / "memory").exists())
    lab.git("worktree", "remove", "--force", str(folder))
    lab.check_has("the memory outlives it", lab.mem("search", "worktree port"), "6611")
    _, requests = ask(lab, "What is the worktree port?")
    lab.check_has("and is recalled", get_text(requests[0]), "6611")


def shared(lab: Lab) -> None:
    """A shared workspace has memories only; conversations go to the user's own workspace."""
    folder = lab.make_repository(lab.root / "shared")
    lab.mem("init", "--shared", folder=folder)
    rule = "Never rename a column of the invoice table."
    lab.mem("write", rule, "--type", "constraint", "--source", "user", folder=folder)
    lab.git("add", "-A", folder=folder)
    lab.git("commit", "-qm", "memory", folder=folder)
    _, requests = ask(lab, "Remember that the invoice port is 7711.", folder=folder)
    lab.check_has("the agent knows the shared rules", get_text(requests[0]), rule)
    session = get_session(lab)
    own = lab.home / ".local/share/mem/sessions" / session / "session.jsonl"
    lab.check("the user's workspace has the conversation", lab.wait_for(own.is_file), own)
    lab.check("git sees no change", not lab.git("status", "--porcelain", folder=folder))
    _, requests = ask(lab, "What is the invoice port?", folder=folder)
    lab.check_has("it is recalled here", get_text(requests[0]), "7711")
    _, requests = ask(lab, "What is the invoice port?")
    lab.check("and not in another project", "7711" not in get_text(requests[0]))


SECTIONS: dict[str, Callable[[Lab], None]] = {
    "start": start,
    "action": action,
    "failure": failure,
    "remember": remember,
    "resume": resume,
    "subagent": subagent,
    "mcp": mcp,
    "terminal": terminal,
    "typed_meanwhile": typed_meanwhile,
    "import": import_,
    "uninstall": uninstall,
    "plugin": plugin,
    "permission": permission,
    "llm": llm,
    "worktree": worktree,
    "shared": shared,
}
FAST = ("start", "action", "failure", "remember")

if __name__ == "__main__":
    sys.exit(run_sections(build_lab(), SECTIONS, sys.argv[1:]))
