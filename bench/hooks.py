"""Time the hooks that an agent waits for, as multiples of `python -c pass`, interleaved.

python -m bench.hooks [--entries 10000] [--runs 15]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.speed import make_workspace

RULES = {
    "no-reset": "Never run `git reset --hard`; stash first.",
    "migrations": "Never edit files under db/migrations by hand.",
}
EVENTS: dict[str, dict[str, Any]] = {
    "action: edit": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": "db/migrations/0012_add_vat.py"},
    },
    "action: command": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "cd web && npm run build && git reset --hard origin/main"},
    },
    "failure": {
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "git reset --hard"},
        "error": "Exit code 128\nfatal: ambiguous argument 'valve': unknown revision in backup",
    },
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "When is the backup checked?"},
    "start": {"hook_event_name": "SessionStart", "source": "startup"},
    "stop": {"hook_event_name": "Stop", "last_assistant_message": "Every night."},
}


def run(command: list[str], environment: Mapping[str, str], folder: Path, stdin: str = "") -> float:
    began = time.perf_counter()
    subprocess.run(
        command,
        input=stdin.encode(),
        env=dict(environment),
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        home, project = Path(temporary) / "home", Path(temporary) / "project"
        memory, empty = project / "memory", Path(temporary) / "empty"
        for folder in (home, memory, empty):
            folder.mkdir(parents=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }
        make_workspace(memory, arguments.entries)
        for name, text in RULES.items():
            (memory / "entries" / f"{name}.md").write_text(
                f"---\nid: mem_{name}\ntype: constraint\nsource: user\n---\n\n{text}\n"
            )
        time.sleep(0.1)
        mem = [sys.executable, "-m", "memcli"]
        run([*mem, "trust"], environment, project)
        run([*mem, "index"], environment, project)
        hook = [*mem, "hook", "run", "claude-code"]
        seconds: dict[str, list[float]] = {}
        for number in range(arguments.runs):
            # One event of the session notes the workspaces for the quick ones.
            for name, event in {"noted": EVENTS["action: edit"], **EVENTS}.items():
                stdin = json.dumps({"session_id": f"s{number}", "cwd": str(project), **event})
                seconds.setdefault(name, []).append(run(hook, environment, project, stdin))
            stdin = json.dumps({"session_id": "s", "cwd": str(empty), **EVENTS["prompt"]})
            seconds.setdefault("no workspace", []).append(run(hook, environment, empty, stdin))
            bare = [sys.executable, "-c", "pass"]
            seconds.setdefault("python -c pass", []).append(run(bare, environment, empty))
        base = statistics.median(seconds["python -c pass"])
        for name, times in seconds.items():
            median = statistics.median(times)
            print(f"{name:16} {1000 * median:7.1f} ms  {median / base:5.2f} x")


if __name__ == "__main__":
    main()
