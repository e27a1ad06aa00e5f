"""Four agents share one project.    python -m tests.agents.real.together [SECTION…]"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import ModuleType
from typing import NamedTuple

from . import claude_code, codex, copilot, gemini
from .lab import CONSTRAINT, Lab, get_text, isolate, make_lab_folder

PACKAGE, PROGRAM = claude_code.PACKAGE, claude_code.PROGRAM
MODULES = (claude_code, codex, gemini, copilot)
PROTOCOL = "Use mem instead of your own memory folder"
SETTINGS = (
    ".claude/settings.json",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".copilot/hooks/mem.json",
)
PAGES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", "copilot-instructions.md")
# What the user asks each agent to remember at the same time.
FACTS = (
    "the canary region is eu-west-3",
    "the printer on floor 3 is named Gutenberg",
    "Otto repairs the coffee machine",
    "the badge office closes at 16:10",
)
ABOUT_ALL = (
    "Tell me the canary region, the name of the printer, who repairs the coffee machine,"
    " and when the badge office closes."
)


class Team(NamedTuple):
    """The labs of several agents, which share the home and the project of the first one."""

    labs: Mapping[ModuleType, Lab]

    @property
    def first(self) -> Lab:
        return self.labs[MODULES[0]]

    def connect(self, *options: str) -> None:
        for lab in self.labs.values():
            self.first.mem("hook", "install", lab.agent, *options)

    def disconnect(self, *options: str) -> None:
        for lab in self.labs.values():
            self.first.mem("hook", "uninstall", lab.agent, *options)

    def read_settings(self) -> dict[str, bytes]:
        """Return the files in the home folder that an installation may change."""
        files = self.first.take_snapshot(self.first.home)
        return {path: data for path, data in files.items() if path.endswith((*SETTINGS, *PAGES))}

    def find_said(self, text: str) -> dict[str, list[tuple[str, str]]]:
        """Return the messages with a text, by conversation."""
        found = {}
        for session in self.first.read_sessions():
            said = [item for item in self.first.read_messages(session) if text in item[1]]
            if said:
                found[session] = said
        return found

    def check_said_once(self, name: str, prompt: str, count: int = 1) -> None:
        """Check that so many conversations have a prompt and its answer, each of them once."""
        # Copilot also runs the hooks of Claude Code.
        expected = [[("user", prompt), ("assistant", f"ANSWER to: {prompt}")]] * count
        self.first.wait_for(lambda: list(self.find_said(prompt).values()) == expected)
        said = list(self.find_said(prompt).values())
        self.first.check(f"{name} and the answer are recorded once", said == expected, said)

    def check_log(self) -> None:
        log = self.first.read_log()
        self.first.check("nothing is in the log", not log, log)


def build_team() -> Team:
    isolate()
    root = make_lab_folder("together")
    labs: dict[ModuleType, Lab] = {}
    for module in MODULES:
        os.environ["LAB"] = str(root / module.AGENT)
        labs[module] = module.build_lab()
    team = Team(labs)
    for module, lab in labs.items():
        if lab is not team.first:
            share_home(lab, team.first)
            module.trust(lab, lab.project)
    return team


def share_home(lab: Lab, first: Lab) -> None:
    """Move the settings of an agent to the home of the first one, and its work to that project."""
    shutil.copytree(lab.home, first.home, dirs_exist_ok=True)
    lab.home, lab.project = first.home, first.project
    lab.programs, lab.mem_program = first.programs, first.mem_program
    lab.environment["PATH"] = first.environment["PATH"]
    lab.environment["HOME"] = str(first.home)


def use_user_hooks(team: Team) -> None:
    """With hooks in the user's settings, agents take turns. Later the settings are as before."""
    before = team.read_settings()
    team.connect()
    take_turns(team, "user")
    team.disconnect()
    after = team.read_settings()
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    team.first.check("uninstall leaves the user's files as they were", not changed, changed)


def use_project_hooks(team: Team) -> None:
    """The same with hooks in the settings of the project, whose page two agents share."""
    project = team.first.project
    before = team.first.take_snapshot(project)
    team.connect("--project")
    take_turns(team, "project")
    report_twice(team)
    page = project / "AGENTS.md"
    text = page.read_text()
    team.first.mem("hook", "uninstall", "codex", "--project")
    is_same = page.exists() and page.read_text() == text
    team.first.check("the page stays for the other agent", is_same)
    team.first.mem("hook", "uninstall", "copilot", "--project")
    team.first.check("the page is removed with the last agent", not page.exists())
    team.disconnect("--project")
    after = team.first.take_snapshot(project)
    team.first.check("the project is as it was", before == after, set(before) ^ set(after))


def report_twice(team: Team) -> None:
    """Copilot also runs the project's hooks of Claude Code, and shows and records nothing twice."""
    lab = team.labs[copilot]
    count = len(team.first.read_hooks())
    _, requests = copilot.ask(lab, "Who is the release manager?")
    text = get_text(requests[0])
    lab.check("a memory for a prompt is shown once", text.count("Dana Okafor") == 1, text)
    _, requests = copilot.ask(lab, "Ship it. [[sh make release]]")
    text = get_text(requests[-1])
    lab.check("a rule for a command is shown once", text.count("bin/proxy, or it") == 1, text)
    starts = [hook for hook in team.first.read_hooks()[count:] if hook["name"] == "SessionStart"]
    lab.check("two hooks report each start", len(starts) == 4, len(starts))
    session = copilot.get_session(lab)
    calls = team.first.wait_for(lambda: team.first.read_tool_calls(session))
    time.sleep(2)  # for a call that must not come
    calls = team.first.read_tool_calls(session)
    lab.check("the tool call is recorded once", len(calls) == 1, calls)


def take_turns(team: Team, scope: str) -> None:
    """Each agent knows the rules, and what the agent before it was asked."""
    texts: dict[str, str] = {}
    prompts: dict[str, str] = {}
    for module, lab in team.labs.items():
        name = lab.agent
        prompts[name] = f"This goes to {name}: the {scope} lamp of {name} is {name}-blue."
        done, requests = module.ask(lab, prompts[name])
        lab.check(f"{name} answers", done.returncode == 0, done.stderr[-500:])
        text = texts[name] = get_text(requests[0]) if requests else ""
        lab.check_has(f"{name} has the protocol", text, PROTOCOL)
        lab.check(f"{name} is shown the rules once", text.count(CONSTRAINT) == 1, text)
        team.first.wait_for(lambda text=prompts[name]: len([*team.find_said(text).values()]) == 1)
        time.sleep(4)  # for a message that must not come
    for earlier, later in pairwise(texts):
        name = f"{later} knows what {earlier} was asked just before"
        team.first.check_has(name, texts[later], prompts[earlier])
    for name, prompt in prompts.items():
        team.check_said_once(f"the prompt to {name}", prompt)
    team.check_log()


def work_together(team: Team) -> None:
    """Four agents that work at the same time share one memory, and lose nothing."""
    team.connect()
    prompts = [f"remember this: {fact}" for fact in FACTS]
    ask_all(team, prompts)
    for prompt, lab in zip(prompts, team.labs.values(), strict=True):
        team.check_said_once(f"the prompt to {lab.agent}", prompt)
    memories = [entry["text"] for entry in json.loads(team.first.mem("ls", "--json"))["entries"]]
    for fact in FACTS:
        count = memories.count(f"{fact[0].upper()}{fact[1:]}.")
        team.first.check(f"saved once: {fact}", count == 1, memories)
    for lab, text in zip(team.labs.values(), ask_all(team, [ABOUT_ALL] * 4), strict=True):
        counts = {fact: text.count(fact[1:]) for fact in FACTS}
        lab.check(f"{lab.agent} is shown each memory once", set(counts.values()) == {1}, counts)
    team.check_said_once("the same prompt to all", ABOUT_ALL, len(team.labs))
    team.check_log()
    team.disconnect()


def ask_all(team: Team, prompts: list[str]) -> list[str]:
    """Ask all agents at the same time. Return the text of the first request of each."""
    with ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(module.ask, lab, prompt)
            for (module, lab), prompt in zip(team.labs.items(), prompts, strict=True)
        ]
    texts = []
    for lab, future in zip(team.labs.values(), asked, strict=True):
        done, requests = future.result()
        lab.check(f"{lab.agent} answers", done.returncode == 0, done.stderr[-500:])
        texts.append(get_text(requests[0]) if requests else "")
    return texts


SECTIONS: dict[str, Callable[[Team], None]] = {
    "user": use_user_hooks,
    "same-time": work_together,
    "project": use_project_hooks,
}
FAST = ("user", "same-time")


def main() -> int:
    team = build_team()
    team.first.fill_memory()
    for name in sys.argv[1:] or SECTIONS:
        print(f"\n# {name}", flush=True)
        SECTIONS[name](team)
    return max([lab.finish() for lab in team.labs.values()])


if __name__ == "__main__":
    sys.exit(main())
