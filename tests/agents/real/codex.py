"""Codex with mem.    python -m tests.agents.real.codex [SECTION…]"""

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .lab import CONSTRAINT, Finished, Lab, get_text, run_sections
from .scripted_model import LEARNED
from .terminal import Terminal

PACKAGE, PROGRAM, AGENT = "codex", "codex", "codex"
TRUST_HOOKS = "--dangerously-bypass-hook-trust"
CONFIG = """
model = "gpt-5.4"
model_provider = "scripted"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
[analytics]
enabled = false
[tui]
show_tooltips = false
"""
# Codex edits files with this command, and reports it to hooks as one of the shell.
PATCH = """\
apply_patch <<'EOF'
*** Begin Patch
*** Update File: src/cache.py
@@
-VALUE = 1
+VALUE = 2
*** End Patch
EOF"""
TRUSTED_PROJECT = '[projects."{folder}"]\ntrust_level = "trusted"\n'


def build_lab() -> Lab:
    lab = Lab(AGENT, PACKAGE, PROGRAM, {"OPENAI_API_KEY": "sk-dummy"})
    (lab.home / ".codex").mkdir()
    (lab.home / ".codex/config.toml").write_text(CONFIG.format(url=lab.url))
    trust(lab, lab.project)
    # Codex runs a login shell, which sets PATH again.
    (lab.home / ".profile").write_text(f"PATH={lab.environment['PATH']}\n")
    return lab


def trust(lab: Lab, *folders: Path) -> None:
    with (lab.home / ".codex/config.toml").open("a") as file:
        for folder in folders:
            file.write(TRUSTED_PROJECT.format(folder=folder))


def ask(
    lab: Lab, prompt: str, *options: str, folder: Path | None = None
) -> tuple[Finished, list[dict]]:
    """Run one prompt with `codex exec`. Return the process and the requests to the model."""
    mark = lab.mark
    done = lab.run_agent("exec", *options, TRUST_HOOKS, prompt, folder=folder)
    return done, lab.get_requests(mark)


def find_transcripts(lab: Lab) -> list[Path]:
    files = (lab.home / ".codex/sessions").rglob("rollout-*.jsonl")
    return sorted(files, key=lambda path: path.stat().st_mtime)


def get_session(lab: Lab) -> str:
    """Return the session of the rollout that was written last."""
    files = find_transcripts(lab)
    return files[-1].stem[-36:] if files else ""


def get_last_item(requests: list[dict]) -> str:
    return json.dumps(requests[-1]["body"]["input"][-1]) if requests else ""


def start(lab: Lab) -> None:
    """The start, the prompt moment, and what a session of one prompt leaves."""
    done = lab.run(lab.mem_program, "doctor")
    lab.check("doctor finds no error", done.returncode == 0, done.stdout + done.stderr)
    count = len(lab.read_hooks())
    lab.run_agent("exec", "Hello.")
    lab.check("without trust no hook runs", len(lab.read_hooks()) == count, lab.read_hooks())
    prompt = "Who is the release manager? [[sh mem search 'release manager']]"
    done, requests = ask(lab, prompt)
    lab.note("seconds of codex exec", round(lab.seconds, 1))
    lab.check_has("codex exec answers", done.stdout + done.stderr, "ANSWER to: Who is")
    lab.check("no warning about the hooks", "clamping" not in done.stderr, done.stderr)
    if not lab.check("the model is asked twice", len(requests) == 2, len(requests)):
        return
    text = get_text(requests[0])
    lab.check_has("the request has the protocol", text, "Use mem instead of your own memory folder")
    lab.check_has("the request has the rules", text, CONSTRAINT)
    lab.check("the request has the memories for the prompt", text.count("Dana Okafor") == 1, text)
    lab.check_has("mem search works in its shell", get_last_item(requests), "Dana Okafor")
    expected = [("user", prompt), ("assistant", "ANSWER to: Who is the release manager?")]
    messages = lab.wait_for_messages(get_session(lab), 2)
    lab.check("both messages are recorded", messages == expected, messages)
    calls = lab.wait_for(lambda: lab.read_tool_calls(get_session(lab)))
    lab.check("the tool call is recorded once", len(calls) == 1, calls)
    names = [hook["name"] for hook in lab.read_hooks()[count:]]
    expected_names = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"]
    expected_names += ["Stop", "SessionEnd"]
    lab.check("all hooks run", names == expected_names, names)
    lab.check("nothing is in the log", not lab.read_log(), lab.read_log())


def action(lab: Lab) -> None:
    """Before a command or an edit the agent reads the rules about it, once."""
    rule = "start the proxy with bin/proxy, or it hangs."
    _, requests = ask(lab, "Ship it. [[sh make release]] [[sh make release VERSION=2]]")
    text = get_text(requests[-1], "input")
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
    _, requests = ask(lab, f"Improve it. [[sh {PATCH}]]", folder=folder)
    lab.check("the edit is made", "VALUE = 2" in (folder / "src/cache.py").read_text())
    lab.check("the start does not show the rule", rule not in get_text(requests[0]))
    lab.check_has("it comes with the edit", get_text(requests[-1], "input"), rule)


def failure(lab: Lab) -> None:
    """After a failed command the agent reads the lesson from the same failure."""
    _, requests = ask(lab, "Build it. [[sh cargo-frob --all]]")
    text = get_text(requests[-1], "input")
    lab.check_has("the lesson comes with the failure", text, "run bin/setup-frob first")


def remember(lab: Lab) -> None:
    """A request to remember is done immediately, and the person sees a line."""
    _, requests = ask(lab, "remember this: the canary region is eu-west-3")
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
    """`resume --last`: one conversation, and only what is new."""
    first = (
        "We chose the green theme for the dashboard because the blue one failed contrast checks."
    )
    ask(lab, first)
    session = get_session(lab)
    lab.wait_for_messages(session, 2)
    lab.mem("write", "The dashboard font is Inter.", "--type", "constraint", "--source", "user")
    count = len(lab.read_hooks())
    _, requests = ask(lab, "And which font?", "resume", "--last")
    sessions = {hook["event"].get("session_id") for hook in lab.read_hooks()[count:]}
    lab.check("resume --last stays in the session", sessions == {session}, sessions)
    messages = lab.wait_for_messages(session, 4)
    expected = [
        ("user", first),
        ("assistant", f"ANSWER to: {first}"),
        ("user", "And which font?"),
        ("assistant", "ANSWER to: And which font?"),
    ]
    lab.check("the session has all four messages", messages == expected, messages)
    text = get_text(requests[0]) if requests else ""
    lab.check("a resumed session is not shown the rules again", text.count(CONSTRAINT) == 1, text)
    lab.check_has("but what is new", text, "The dashboard font is Inter.")


def mcp(lab: Lab) -> None:
    """The MCP server next to the hooks."""
    command = ("mem", "mcp", "--workspace", str(lab.project / "memory"))
    done = lab.run_agent("mcp", "add", "mem", "--", *command)
    lab.check("codex mcp add", done.returncode == 0, done.stdout + done.stderr)
    done = lab.run_agent("mcp", "list")
    lab.check_has("codex mcp list", done.stdout + done.stderr, "mem")
    search = '[[tool memory_search {"query": "who is the release manager"}]]'
    _, requests = ask(lab, f"Look it up. [[sh sleep 5]] {search}")
    tools = json.dumps(requests[0]["body"]["tools"]) if requests else ""
    lab.check_has("the first request has the tools", tools, "mcp__mem")
    lab.check_has("memory_search answers", get_last_item(requests), "Dana Okafor")
    arguments = {
        "path": "entries/printer.md",
        "content": "The printer on floor 3 is named Gutenberg.",
        "tags": ["office"],
        "metadata": {},
    }
    write = f"[[tool memory_write {json.dumps(arguments)}]]"
    _, requests = ask(lab, f"Save it. [[sh sleep 5]] {write}")
    lab.check("memory_write writes", "Gutenberg" in lab.mem("ls"), get_last_item(requests))
    lab.run_agent("mcp", "remove", "mem")


def terminal(lab: Lab) -> None:
    """A conversation in the terminal: hooks are trusted, /compact, /clear, Esc, /quit."""
    screen = lab.open_terminal("--no-daemon")
    try:
        review = screen.wait_for("Hooks need review")
        lab.check("Codex asks about the new hooks", review, screen.read_screen())
        lab.keep_screen(screen)
        screen.press("2")
        time.sleep(1)
        if "Hooks need review" in screen.read_screen():
            screen.press("Enter")
        time.sleep(4)
        compaction(lab, screen)
        clear(lab, screen)
        escape(lab, screen)
        screen.type("/quit")
        lab.check("/quit ends it", screen.wait_for_end(), screen.read_screen())
        lab.keep_screen(screen)
    finally:
        screen.close()
    shown = "\n".join(lab.screens)
    is_clean = not re.search(r"hook.{0,20}(?:error|failed)|Traceback", shown)
    lab.check("no error is shown", is_clean, shown)


def say(lab: Lab, screen: Terminal, prompt: str) -> str:
    """Type a prompt, wait for the answer, and return the text of the last request."""
    mark = lab.mark
    plain = re.sub(r" ?\[\[.*?\]\]", "", prompt)
    screen.type(prompt)
    has_answer = screen.wait_for(re.escape(f"ANSWER to: {plain[:40]}"))
    lab.check(f"an answer to: {plain[:40]}", has_answer, screen.read_screen())
    requests = lab.find_requests(mark, plain, "input")
    return get_text(requests[0]) if requests else ""


def compaction(lab: Lab, screen: Terminal) -> None:
    count = len(lab.read_hooks())
    first = "When do backups of the wiki run? [[sh echo hello-from-tool]]"
    text = say(lab, screen, first)
    lab.check("the trusted hooks run", len(lab.read_hooks()) > count, screen.read_screen())
    lab.check_has("the request has the rules", text, CONSTRAINT)
    lab.check_has("the prompt has its memory", text, "02:15 UTC")
    lab.keep_screen(screen)
    session = get_session(lab)
    screen.type("/compact")
    lab.check("/compact", screen.wait_for("[Cc]ompacted"), screen.read_screen())
    lab.keep_screen(screen)
    text = say(lab, screen, "What did I ask you first?")
    lab.check_has("after a compaction the rules are there again", text, CONSTRAINT)
    lab.check("the protocol too, once", text.count("# mem: your long-term memory") == 1, text)
    lab.check_has("and what the user said last", text, "When do backups of the wiki run")
    messages = lab.wait_for_messages(session, 4)
    expected = [
        ("user", first),
        ("assistant", "ANSWER to: When do backups of the wiki run?"),
        ("user", "What did I ask you first?"),
        ("assistant", "ANSWER to: What did I ask you first?"),
    ]
    lab.check("the session has all that was said", messages == expected, messages)
    text = say(lab, screen, "And again: when do backups of the wiki run?")
    lab.check("a memory for a prompt comes again", "Backups of the wiki run at 02:15" in text, text)


def clear(lab: Lab, screen: Terminal) -> None:
    screen.type("/clear")
    time.sleep(3)
    text = say(lab, screen, "Which Gradle does the mobile team build with?")
    lab.check_has("after /clear the rules are there again", text, CONSTRAINT)
    lab.check_has("and the memories for the prompt", text, "Gradle 8.10")


def escape(lab: Lab, screen: Terminal) -> None:
    session = get_session(lab)
    mark = lab.mark
    screen.type("This one is stopped. [[slow 30]]")
    lab.wait_for(lambda: lab.find_requests(mark, "This one is stopped", "input"))
    screen.press("Escape")
    time.sleep(2)
    lab.keep_screen(screen)
    screen.press("C-u")
    say(lab, screen, "And this one is answered.")
    said = lab.wait_for_messages(session, 5)
    stopped = ("assistant", "ANSWER to: This one is stopped.")
    lab.check("a prompt that Esc stops has no answer", stopped not in said, said)
    expected = ("assistant", "ANSWER to: And this one is answered.")
    lab.check("the next one has", said[-1] == expected, said)


def import_(lab: Lab) -> None:
    """`mem session import --all` reads the rollouts of this version, without and after hooks."""
    lab.mem("hook", "uninstall", AGENT)
    folder = lab.make_repository(lab.root / "imported")
    lab.create_memory(folder)
    first = (
        "Zeile eins – Umlaute äöü ✓\nsecond line with `code` & <b>tags</b>\n\nthird line. "
        "[[sh echo tool-output-1; echo tool-output-2]] [[sh mem search 'nothing at all']]"
    )
    second = "Goes on after a while. [[sh false && echo never]]"
    ask(lab, first, folder=folder)
    ask(lab, second, "resume", "--last", folder=folder)
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
    commands = [call["arguments"].get("cmd") for call in calls]
    wanted = re.findall(r"\[\[sh (.*?)\]\]", first + second)
    lab.check("the tool calls are read", commands == wanted, commands)
    result = str(calls[0].get("result"))
    lab.check("with results", result.strip() == "tool-output-1\ntool-output-2", calls[:1])
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
    settings = lab.home / ".codex/hooks.json"
    texts = (
        b'{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}\n',
        b"{}",
    )
    for number, text in enumerate(texts):
        settings.write_bytes(text)
        lab.install_hooks()
        count = len(lab.read_hooks())
        done, _ = ask(lab, f"Hello {number}")
        lab.check_has(f"codex runs with settings {number}", done.stdout + done.stderr, "ANSWER to")
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


def llm(lab: Lab) -> None:
    """Codex as mem's own language model."""
    config = lab.home / ".config/mem/config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    command = f"{lab.program} exec --skip-git-repo-check -"
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


def worktree(lab: Lab) -> None:
    """In a linked worktree the agent has the memory of the main one, which outlives it."""
    folder = lab.root / "feature"
    lab.git("worktree", "add", "-q", str(folder), "-b", "feature")
    _, requests = ask(lab, "Remember that the worktree port is 6611.", folder=folder)
    lab.check_has("it knows the rules", get_text(requests[0]), CONSTRAINT)
    messages = lab.wait_for_messages(get_session(lab), 2)
    lab.check("the conversation is recorded in the main worktree", len(messages) == 2, messages)
    lab.git("worktree", "remove", "--force", str(folder))
    lab.check_has("the memory outlives it", lab.mem("search", "worktree port"), "6611")


SECTIONS: dict[str, Callable[[Lab], None]] = {
    "start": start,
    "action": action,
    "failure": failure,
    "remember": remember,
    "resume": resume,
    "mcp": mcp,
    "terminal": terminal,
    "import": import_,
    "uninstall": uninstall,
    "llm": llm,
    "worktree": worktree,
}
FAST = ("start", "action", "failure", "remember")

if __name__ == "__main__":
    sys.exit(run_sections(build_lab(), SECTIONS, sys.argv[1:]))
