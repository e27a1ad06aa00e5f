"""Run benches, and write their tables to bench/results.

    python -m bench.results all [--data sets=FOLDER …] [--data base=CHECKOUT]

A page has the date, the commit, the commands without paths of this machine, and their tables. A
command in SUBJECTS with a word such as {sets} needs data and is left out without it.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

TREE = Path(__file__).parents[1]
RESULTS = TREE / "bench" / "results"
AGENTS = ("claude_code", "codex", "gemini", "copilot", "opencode", "together", "mcp_next_to_hooks")
SUBJECTS: dict[str, list[str]] = {
    "secrets": ["python -m bench.secrets"],
    "forgotten": ["python -m bench.forgotten"],
    "updates": [
        f"python -m bench.updates bench/data/{name}.jsonl"
        for name in ("updates", "updates-second", "updates-third")
    ],
    "learning": ["python -m bench.learning bench/data/everyday.jsonl bench/data/talks*.jsonl"],
    "recall": [
        "python -m bench.recall --asking bench/data --start fixtures/workspace",
        "python -m bench.recall --prompts {prompts}",
        "python -m bench.recall --noise {noise}",
    ],
    "actions": [
        f"python -m bench.actions bench/data/{name}.jsonl"
        for name in ("actions", "actions-second", "actions-third", "actions-fourth")
    ],
    "month": ["python -m bench.month"],
    "truth": ["python -m bench.truth {facts}"],
    "retrieval": ["python -m bench.retrieval {sets}"],
    "replies": ["python -m bench.replies {replies}"],
    "hooks": ["python -m bench.hooks"],
    "page": ["python -m bench.page"],
    "speed": ["python -m bench.speed {base} ."],
    "serve": ["python -m bench.serve"],
    "team": ["python -m bench.team --entries 10000", "python -m bench.team --leaks 20000"],
    "cases": ["python -m bench.cases {cases}"],
    "agents": [f"AGENTS={{agents}} python -m tests.agents.real.{name}" for name in AGENTS],
    "clones": ["MEM_LONG=1 MEM_SEEDS='1 2 3 4' python -m pytest -q tests/clones/test_clones.py"],
}
# Of a long output, the lines that say how it went.
KEPT = {"agents": re.compile(r"^FAIL|passed,"), "clones": re.compile(r"^(seed|conflicts)|passed")}
PATHS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")  # of files of this machine


def main() -> int:
    parser = argparse.ArgumentParser(description="Run benches, and write their tables.")
    parser.add_argument("names", nargs="+", choices=["all", *SUBJECTS], metavar="NAME")
    parser.add_argument("--data", action="append", default=[], metavar="NAME=PATH")
    options = parser.parse_args()
    data = defaultdict(list)
    for item in options.data:
        name, _, path = item.partition("=")
        data[name].append(shlex.quote(str(Path(path).resolve())))
    has_failed = False
    for name in SUBJECTS if "all" in options.names else options.names:
        began = time.monotonic()
        has_failed |= write_page(name, data)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    return int(has_failed)


def write_page(name: str, data: Mapping[str, Sequence[str]]) -> bool:
    """Run the commands of a subject, and write its page. Return whether one failed."""
    git = ("git", "log", "-1", "--format=%h")
    commit = subprocess.run(git, cwd=TREE, capture_output=True, text=True, check=True).stdout
    page = f"# {name.capitalize()}\n\n{datetime.now(UTC):%Y-%m-%d}, commit {commit}"
    # Programs of this environment come first: python and mem.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    codes = []
    for command in SUBJECTS[name]:
        needed = re.findall(r"\{(\w+)\}", command)
        if not set(needed) <= set(data):
            print(f"left out without --data {', '.join(needed)}: {command}", file=sys.stderr)
            continue
        script = command.format(**{key: " ".join(data[key]) for key in needed})
        bash = ["bash", "-c", script]
        done = subprocess.run(bash, cwd=TREE, env=environment, capture_output=True, text=True)
        print(done.stderr, end="", file=sys.stderr)
        shown = command.format(**{key: key.upper() for key in needed})
        page += f"\n    {shown}\n\n{build_table(done.stdout, KEPT.get(name, re.compile('')))}"
        page += f"\nexit code {done.returncode}\n" if done.returncode else ""
        codes.append(done.returncode)
    if codes:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.md").write_text(page, "utf-8")
    return any(codes)


def build_table(output: str, kept: re.Pattern[str]) -> str:
    """Return Markdown as it is, and lines with a label and a result as rows of a table."""
    lines: list[str] = []
    for line in filter(kept.search, PATHS.sub("", output).splitlines()):
        label, _, result = re.sub(r": | · |\s{2,}", "\t", line.strip(), count=1).partition("\t")
        if result and not line.startswith("|"):
            if not lines or not lines[-1].startswith("|"):
                lines += ["", "| what | result |", "|---|---|"]
            line = f"| {label} | {re.sub(r'  +', ' · ', result.strip(' ·')).replace('|', '/')} |"
        elif lines and line.startswith("|") != lines[-1].startswith("|"):
            lines.append("")
        lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
