"""Measure a one-shot run with and without hooks.   python -m tests.agents.real.measure AGENT [RUNS]

The model answers immediately, so the ratio is the worst case. Run it on a machine that is idle.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
from importlib import import_module

from .lab import isolate

PROMPT = "Who is the release manager? [[sh echo one]] [[sh echo two]]"
PAUSE = 1.5  # seconds, for what hooks do in the background


def measure(name: str, runs: int) -> None:
    isolate()
    module = import_module(f"tests.agents.real.{name}")
    folder = os.environ.get("LAB") or tempfile.mkdtemp(prefix="lab-measure-")
    labs, seconds = {}, {}
    for kind in ("with", "without"):
        os.environ["LAB"] = f"{folder}/{kind}"
        labs[kind] = lab = module.build_lab()
        # The program that records hooks takes time, too.
        shutil.copy(lab.programs / "launcher", lab.programs / "mem")
        lab.fill_memory()
        if kind == "with":
            lab.install_hooks()
        seconds[kind] = []
    for run in range(runs + 1):
        for kind, lab in labs.items():
            module.ask(lab, PROMPT)
            if run:  # the first one prepares the model
                seconds[kind].append(lab.seconds)
            time.sleep(PAUSE)
    middle = {kind: statistics.median(values) for kind, values in seconds.items()}
    for kind, values in seconds.items():
        print(f"{kind} hooks: {middle[kind]:.2f} s", [round(value, 2) for value in sorted(values)])
    print(f"{name}: ratio {middle['with'] / middle['without']:.2f}")


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7)
