"""Four agents take turns in one project.    python -m tests.agents.real.together [SECTION…]"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import ModuleType
from typing import NamedTuple

from . import claude_code, codex, copilot, gemini
from .lab import CONSTRAINT, Lab, get_text, isolate, make_lab_folder

PACKAGE, PROGRAM = claude_code.PACKAGE, claude_code.PROGRAM
MODULES = (claude_code, codex, gemini, copilot)


class Team(NamedTuple):
    """The labs of several agents, which share the home and the project of the first one."""

    labs: Mapping[ModuleType, Lab]

    @property
    def first(self) -> Lab:
        return self.labs[MODULES[0]]


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


def take_turns(team: Team) -> None:
    """Each agent knows the rules, and what the agent before it was asked."""
    texts: dict[str, str] = {}
    for module, lab in team.labs.items():
        name = lab.agent
        done, requests = module.ask(lab, f"This goes to {name}: the lamp of {name} is {name}-blue.")
        lab.check(f"{name} answers", done.returncode == 0, done.stderr[-500:])
        texts[name] = get_text(requests[0]) if requests else ""
        lab.check_has(f"{name} knows the rules", texts[name], CONSTRAINT)
        lab.wait_for(lambda name=name: len(find_said(team, name)) >= 2)
        time.sleep(4)  # for a message that must not come
    names = list(texts)
    for earlier, later in pairwise(names):
        name = f"{later} knows what {earlier} was asked just before"
        team.first.check_has(name, texts[later], f"This goes to {earlier}")
    for name in names:
        said = find_said(team, name)
        # Copilot also runs the hooks of Claude Code.
        is_once = [role for role, _ in said] == ["user", "assistant"]
        team.first.check(f"the prompt to {name} and the answer are recorded once", is_once, said)
    log = team.first.read_log()
    team.first.check("nothing is in the log", not log, log)


def find_said(team: Team, name: str) -> list[tuple[str, str]]:
    """Return the messages about an agent in all conversations."""
    sessions = team.first.read_sessions()
    messages = [message for session in sessions for message in team.first.read_messages(session)]
    return [(role, text) for role, text in messages if f"goes to {name}:" in text]


def share_page(team: Team) -> None:
    """Codex and Copilot read one page, which stays until both are disconnected."""
    page = team.first.project / "AGENTS.md"
    before = page.read_text()
    team.first.mem("hook", "uninstall", "codex", "--project")
    is_same = page.exists() and page.read_text() == before
    team.first.check("the page stays for the other agent", is_same)
    team.first.mem("hook", "uninstall", "copilot", "--project")
    team.first.check("the page is removed with the last agent", not page.exists())


SECTIONS: dict[str, Callable[[Team], None]] = {"turns": take_turns, "page": share_page}
FAST = tuple(SECTIONS)


def main() -> int:
    team = build_team()
    team.first.fill_memory()
    for lab in team.labs.values():
        team.first.mem("hook", "install", lab.agent, "--project")
    for name in sys.argv[1:] or SECTIONS:
        print(f"\n# {name}", flush=True)
        SECTIONS[name](team)
    return max([lab.finish() for lab in team.labs.values()])


if __name__ == "__main__":
    sys.exit(main())
