"""Measure what long conversations cost: bringing one in, adding to it, finding what was said in it.

Usage: python -m bench sessions [--megabytes 50]. Times are of one process each, the median of three; memory is above
a bare start.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from bench.timing import PYTHON, Bench

SAID = "the index reads a long log of what was said about ports valves freezes and trains before it answers"


def transcript(path: Path, messages: int, words: int) -> None:
    """Write a transcript of Claude Code: prompts, answers, and every other one a tool call with its result."""
    said = SAID.split()
    with path.open("w", encoding="utf-8") as file:
        for number in range(messages):
            role = "assistant" if number % 2 else "user"
            text = " ".join(said[(number * 7 + place * place) % len(said)] for place in range(words)) + f" {number}"
            content: object = text
            if number % 4 == 1:
                call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"make {number}"}}
                content = [{"type": "text", "text": text}, call]
            line = {
                "type": role, "uuid": f"u{number}", "sessionId": path.stem, "timestamp": "2026-11-20T09:00:00.000Z",
                "message": {"role": role, "content": content},
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=50)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        bench = Bench(place, 1)

        def run(*words: str) -> float:
            return bench.cost([PYTHON, "-m", "memcli", *words]).elapsed / 1000

        def peak(*words: str) -> float:
            return bench.cost([PYTHON, "-m", "memcli", *words]).peak

        run("init")
        bare = peak("--version")
        transcript(place / "warm.jsonl", 10, 10)
        run("session", "import", "warm.jsonl")
        for messages in (1_000, 20_000):
            name = f"s{messages}"
            transcript(place / f"{name}.jsonl", messages, 60)
            find = ("search", "freezes", "--kind", "session", "--mode", "keyword")
            print(f"{messages:,} messages ({(place / f'{name}.jsonl').stat().st_size / 1e6:.1f} MB)")
            print(f"  import                           {run('session', 'import', f'{name}.jsonl'):6.2f} s")
            print(f"  first search of it               {run(*find):6.2f} s")
            added, after, again = [], [], []
            for number in range(3):
                added.append(run("session", "append", "--session", name, "--text", f"one more {number}"))
                after.append(run(*find))
                again.append(run(*find))
            print(f"  append                           {statistics.median(added):6.2f} s")
            print(f"  search after an append           {statistics.median(after):6.2f} s")
            print(f"  search with nothing new          {statistics.median(again):6.2f} s")
        long = place / "long.jsonl"
        transcript(long, megabytes * 1_000_000 // 560, 60)
        print(f"{long.stat().st_size / 1e6:.0f} MB")
        print(f"  import                           {run('session', 'import', 'long.jsonl'):6.2f} s")
        print(f"  imported again                   {run('session', 'import', 'long.jsonl'):6.2f} s")
        grown = peak("session", "import", "long.jsonl", "--session", "other") - bare
        print(f"  peak memory of importing it      {grown:6.0f} MB above `mem --version`")
