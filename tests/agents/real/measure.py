"""Measure a one-shot run with and without hooks.

    python -m tests.agents.real.measure AGENT [RUNS] [KIND…]

The model answers immediately, so the ratio is the worst case. Run it on a machine that is idle.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module

from .lab import Lab, isolate, write_script

PROMPT = "Who is the release manager? [[sh echo one]] [[sh echo two]]"
PAUSE = 1.5  # seconds, for what hooks do in the background
KINDS = {
    "without": "without hooks",
    "with": "with hooks",
    "served": "with hooks, and mem serve",
    "python": "with hooks that only start Python",
    "true": "with hooks that do nothing",
}


def build_lab(module: str, kind: str) -> Lab:
    lab: Lab = import_module(module).build_lab()
    mem = lab.programs / "mem"
    # The program that records hooks takes time, too.
    shutil.copy(lab.programs / "launcher", mem)
    lab.fill_memory()
    if kind != "without":
        lab.install_hooks()
    if kind == "python":
        write_script(mem, f"#!{sys.executable} -P\n")
    elif kind == "true":
        write_script(mem, "#!/bin/true\n")
    return lab


def measure(name: str, runs: int, kinds: list[str]) -> None:
    isolate()
    module = f"tests.agents.real.{name}"
    folder = os.environ.get("LAB") or tempfile.mkdtemp(prefix="lab-measure-")
    labs, seconds = {}, {}
    servers = []
    for kind in kinds:
        os.environ["LAB"] = f"{folder}/{kind}"
        labs[kind] = lab = build_lab(module, kind)
        seconds[kind] = list[float]()
        if kind == "served":
            command = [lab.mem_program, "serve"]
            servers.append(subprocess.Popen(command, env=lab.environment, cwd=lab.project))
    for run in range(runs + 1):
        for kind, lab in labs.items():
            import_module(module).ask(lab, PROMPT)
            if run:  # the first one prepares the model
                seconds[kind].append(lab.seconds)
            time.sleep(PAUSE)
    for server in servers:
        server.kill()
    base = statistics.median(seconds["without"])
    for kind, values in seconds.items():
        median = statistics.median(values)
        print(f"{name} {KINDS[kind]}: {median:.2f} s, ratio {median / base:.2f}", sorted(values))


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[2:] if word.isdecimal()]
    measure(sys.argv[1], *(numbers or [7]), [k for k in sys.argv[2:] if k in KINDS] or list(KINDS))
