"""Try every command with every fault at every call, or at so many of them; print a table of what was tried and broken.

Usage: python -m tests.faults [--most N] [--seed N] [--fault NAME]… [--command NAME]… [--jobs N]
"""

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.faults.commands import COMMANDS
from tests.faults.disk import FAULTS, KILL
from tests.faults.trial import Trials, command_named, cuts, trials, tries

CUT = "power cut"
Tried = dict[str, tuple[int, list[str]]]
"""By fault: how many were tried, and what they broke."""


def main() -> int:
    """Try what was asked for; exit with 1 where a promise was broken."""
    asked = _arguments()
    shares: list[list[str]] = [[] for _ in range(asked.jobs)]
    for number, name in enumerate(asked.command):
        shares[number % asked.jobs].append(name)
    begun = time.monotonic()
    with ProcessPoolExecutor(asked.jobs) as pool:
        told = list(pool.map(_share, shares, *([one] * asked.jobs for one in (asked.fault, asked.seed, asked.most))))
    total = 0
    broken: list[str] = []
    print("| fault | tried | broken |\n|---|---|---|")
    for fault in asked.fault:
        count = sum(one[fault][0] for one in told)
        wrong = [line for one in told for line in one[fault][1]]
        print(f"| {fault} | {count:,} | {len(wrong)} |")
        total += count
        broken += wrong
    print(
        f"\n{total:,} in {time.monotonic() - begun:,.0f} s, over {len(asked.command)} command lines, seed {asked.seed}"
    )
    for what, number in Counter(line.split(": ")[1] for line in broken).most_common():
        print(f"{number} × {what}")
    return int(bool(broken))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    names, faults = [one.name for one in COMMANDS], [*FAULTS, CUT]
    parser.add_argument("--most", type=int, default=10**6, help="so many calls of a command and a fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", action="append", choices=faults)
    parser.add_argument("--command", action="append", choices=names)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    asked.fault, asked.command = asked.fault or faults, asked.command or names
    return asked


def _share(names: Sequence[str], faults: Sequence[str], seed: int, most: int) -> Tried:
    """Try some of the commands, in a world of their own."""
    tried: Tried = {fault: (0, []) for fault in faults}
    with trials() as ready:
        for name in names:
            for fault in faults:
                count, wrong = _tried(ready, name, fault, random.Random(f"{seed} {name} {fault}"), most)
                for line in wrong:
                    print(line, file=sys.stderr, flush=True)
                tried[fault] = (tried[fault][0] + count, tried[fault][1] + wrong)
    return tried


def _tried(ready: Trials, name: str, fault: str, luck: random.Random, most: int) -> tuple[int, list[str]]:
    trial = ready.of(command_named(name))
    ended = list(cuts(trial, luck, most) if fault == CUT else tries(trial, FAULTS.get(fault, KILL), luck, most))
    return len(ended), [line for lines in ended for line in lines]


if __name__ == "__main__":
    sys.exit(main())
