"""Every example in the help of a command works, in a shell, on a workspace with some memories."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from man.generate import read_examples
from memcli.cli.commands import COMMANDS
from tests.helpers import get_process_environment

ENTRY = "---\nid: mem_01m8h0h7p04kq7tz\ntype: fact\n---\n\nStaging listens on port 6543.\n"
PREPARATION = """
git init -q -b main && git commit -q --allow-empty -m 'Heat the valve body.'
mem init && mem trust
mem write 'The heating is serviced every October.' --source user
mem write 'Deploy the shop from main, and write the config for staging first.' --type lesson
mem write 'We ship on Mondays.' --key shop/day --source user
mem write 'We ship on Fridays.' --key shop/day --source inferred
mem write 'Kubernetes runs in Lisbon.' --tag shop
mem write 'The user prefers tabs.' --type preference
mem session append standup 'Remember that the standup is at nine.'
mem note 'Released v1.2 of the recipe.'
printf '%s\\n' '---' 'id: mem_01m8h0h7p0bread0' 'rating: 4' '---' '' 'A recipe for bread.' > memory/entries/bread.md
printf '%s\\n' '# Memory' '' '## Projects' '' 'The shop.' > memory/MEMORY.md
"""
# A program that could not start must not be waited for.
WAIT = "do kill -0 $! || exit 1; sleep .1; done"
START_SERVER = f"mem serve > /dev/null 2>&1 & until mem serve --stop; {WAIT}"
START_PAGE = f"{{}} > url & until [ -s url ]; {WAIT}; kill $!"
SYNC = "git init -q --bare ../hub.git && mem sync ../hub.git --scope user"
# Examples contain ids of questions and commands, and files that only the reader has.
ADAPTED = {
    "mem review 3f2a1c newer": "mem review QUESTION newer",
    "mem undo 17": "mem undo COMMAND",
    "mem forget 4kq7tz --purge": "mem forget 4kq7tz --purge --yes",
    "mem restore 4kq7tz": "mem forget 4kq7tz && mem restore 4kq7tz",
    "mem promote 4kq7tz --remove": "mem promote 4kq7tz && mem promote 4kq7tz --remove",
    "mem serve": START_SERVER,
    "mem serve --idle 0": START_SERVER,
    "mem serve --stop": START_SERVER,
    "mem ui": START_PAGE.format("mem ui"),
    "mem ui --port 8765": START_PAGE.format("mem ui --port 0"),
    "mem sync git@github.com:ana/memory.git --scope user": SYNC,
    "mem sync --scope user": f"{SYNC} && mem sync --scope user",
    "mem sync --scope user --dry-run": f"{SYNC} && mem sync --scope user --dry-run",
    "mem merge-driver base.md ours.md theirs.md 7 memory/MEMORY.md": (
        "touch base.md ours.md theirs.md"
        " && mem merge-driver base.md ours.md theirs.md 7 memory/MEMORY.md"
    ),
    "mem import memory.jsonl": "mem export memory.jsonl && mem import memory.jsonl",
    "mem import backup/ --dry-run": "mem export backup/ && mem import backup/ --dry-run",
    "mem import ~/vault": "mkdir ~/vault && echo Oak. > ~/vault/oak.md && mem import ~/vault",
    "mem import people.csv --map text=what,owner=who": (
        "printf 'who,what\\nKate,Lives in Braga\\n' > people.csv"
        " && mem import people.csv --map text=what,owner=who"
    ),
    "mem consolidate --answer answer.json": (
        "mem consolidate --ask > ask.txt"
        """ && printf '{"batch": "%s"}' "$(grep -o '"batch": "[^"]*' ask.txt | head -1 | cut -d'"' -f4)" """
        "> answer.json && mem consolidate --answer answer.json"
    ),
}
STANDARD_INPUT = "How do I deploy the shop?\n"


class Shell:
    """Runs commands as a person does, with a home and a PATH of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "home").mkdir(exist_ok=True)
        (folder / "shop").mkdir(exist_ok=True)
        program = folder / "bin" / "mem"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m memcli "$@"\n')
        program.chmod(0o755)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder / "shop",
            env={
                **get_process_environment(self.folder / "home"),
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "EDITOR": "true",
            },
            input=STANDARD_INPUT,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shell = Shell(tmp_path_factory.mktemp("examples"))
    done = shell.run(f"set -e\n{PREPARATION}")
    assert done.returncode in (0, 3), done.stderr
    (shell.folder / "shop/memory/entries/staging.md").write_text(ENTRY)
    assert not shell.run("mem note 'The last command, which undo reverts.'").returncode
    talk = shell.folder / "home/.claude/projects/shop/1c2d.jsonl"
    talk.parent.mkdir(parents=True)
    message = {"role": "user", "content": "Always run the tests before a release."}
    line = {"type": "user", "sessionId": "1c2d", "cwd": str(shell.folder / "shop")}
    line |= {"uuid": "1", "timestamp": "2026-11-20T10:00:00Z", "message": message}
    talk.write_text(json.dumps(line) + "\n")
    shutil.copytree(shell.folder, f"{shell.folder}-before", symlinks=True)
    return shell.folder


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_a_command_work(name: str, prepared: Path) -> None:
    for example in read_examples(name):
        # At the same path, because trust belongs to a path.
        shutil.rmtree(prepared)
        shutil.copytree(f"{prepared}-before", prepared, symlinks=True)
        shell = Shell(prepared)
        command = ADAPTED.get(example, example)
        if "QUESTION" in command:
            questions = json.loads(shell.run("mem review --json").stdout)["questions"]
            command = command.replace("QUESTION", questions[0]["id"])
        if "COMMAND" in command:
            commands = json.loads(shell.run("mem undo --list --json").stdout)["commands"]
            command = command.replace("COMMAND", str(commands[0]["number"]))
        done = shell.run(f"set -o pipefail\n{command}")
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
