"""Measure what it costs to start with the conversations of a home: import them all, find what was said in them.

Usage: imports.py [--transcripts 1000] [--megabytes 50] [--keep DIR]. A home is made with sessions of Claude Code,
Codex, Gemini CLI and opencode, a quarter each; then the real command line is run, each time in a process of its own.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.transcripts.homes import Turn, claude_code, codex, gemini, opencode  # noqa: E402

PEAK = """
import resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
SYLLABLES = ("ba", "con", "der", "fi", "gra", "hu", "ist", "jo", "ker", "lam", "min", "nor", "pra", "qui", "sen", "ver")
WRITERS: tuple[Callable[[Path, str, str, list[Turn]], Path], ...] = (claude_code, codex, gemini, opencode)


def write_home(home: Path, count: int, size: int) -> None:
    """Make conversations of about `size` bytes each, of 20,000 words that are as frequent as those of a language."""
    chance = random.Random(7)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))

    def text(length: int) -> str:
        return " ".join(chance.choices(words, cum_weights=weights, k=length // 7))

    turn = 2200 + 900  # bytes: what is said, and what each tool writes around it
    for number in range(count):
        said = [Turn(text(200), text(700), f"make {text(100)}", text(1200)) for _ in range(max(size // turn, 1))]
        name = f"{number:08x}-0000-4000-8000-{number:012x}"
        WRITERS[number % len(WRITERS)](home, name, f"{home}/work/project{number % 20}", said)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transcripts", type=int, default=1000)
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--keep", type=Path, help="leave the home in this folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = asked.keep or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        write_home(home, asked.transcripts, int(asked.megabytes * 1e6 / asked.transcripts))
        total = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        environ = {**os.environ, "HOME": str(home), "CI": "1", "PYTHONPATH": str(ROOT)}
        for name in ("XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "PYTHONDONTWRITEBYTECODE"):
            environ.pop(name, None)
        mem = [sys.executable, "-m", "memcli"]

        def run(what: str, *words: str) -> None:
            command = [sys.executable, "-c", PEAK, *mem, *words, "--scope", "user"]
            told = subprocess.run(command, env=environ, cwd=home, capture_output=True, check=True, text=True).stdout
            code, seconds, used, peak = told.split()
            if code not in ("0", "1"):
                raise SystemExit(f"mem {' '.join(words)} ended with {code}")
            print(f"  {what:28} {float(seconds):6.2f} s, {float(used):6.2f} s of one core, {float(peak):4.0f} MB")

        made = [*mem, "init", str(home / ".local/share/mem")]
        subprocess.run(made, env=environ, cwd=home, check=True, capture_output=True)
        print(f"{asked.transcripts:,} transcripts of four tools, {total / 1e6:.1f} MB")
        find = ("search", "quiraminver", "--kind", "session", "--mode", "keyword")
        run("import", "session", "import", "--all")
        run("first keyword search", *find)
        run("import again, nothing new", "session", "import", "--all")
        run("second keyword search", *find)


if __name__ == "__main__":
    main()
