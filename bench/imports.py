"""Measure what it costs to start with the conversations of a home: import them, find what was said, consolidate them.

Usage: python -m bench imports [--transcripts 1000] [--megabytes 50] [--like FILE ...] [--consolidate] [--keep DIR]. A
home is made with sessions of Claude Code, Codex, Gemini CLI and opencode, a quarter each. What is said in them are
the turns of real conversations with other names and numbers in every session, with code and the output of tools
between them. Then the real command line is run, each time in a process of its own.
"""

import argparse
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent

from bench.timing import PYTHON, Bench  # noqa: E402
from tests.transcripts.homes import Turn, claude_code, codex, gemini, opencode  # noqa: E402

SYLLABLES = ("ba", "con", "der", "fi", "gra", "hu", "ist", "jo", "ker", "lam", "min", "nor", "pra", "qui", "sen", "ver")
WRITERS: tuple[Callable[[Path, str, str, list[Turn]], Path], ...] = (claude_code, codex, gemini, opencode)


EVERYDAY = Path(__file__).parent / "data" / "everyday.jsonl"
RARE = "quiraminver"
"""Said once, in the middle of the home."""
_VARIED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+\b|\d+")


def said_in(path: Path) -> Iterator[list[tuple[str, str]]]:
    """Yield what was said as (prompt, reply): a conversation a line with its messages, or one of a message a line."""
    rows = [json.loads(row) for row in path.read_text().splitlines()]
    talks = [row["messages"] for row in rows] if "messages" in rows[0] else [rows]
    for talk in talks:
        spoken = [one for one in talk if one["role"] in ("user", "assistant")]
        pairs = [
            (one["content"], other["content"])
            for one, other in pairwise(spoken)
            if one["role"] == "user" != other["role"]
        ]
        if pairs:
            yield pairs


def write_home(home: Path, count: int, size: int, talks: Sequence[Sequence[tuple[str, str]]]) -> None:
    """Make conversations of about `size` bytes each."""
    chance = random.Random(7)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))  # as frequent as those of a language

    def text(length: int) -> str:
        return " ".join(chance.choices(words, cum_weights=weights, k=length // 7))

    def other(known: dict[str, str], word: str) -> str:
        new = str(chance.randrange(10 ** len(word))) if word.isdigit() else chance.choice(words).capitalize()
        return known.setdefault(word, new)

    for number in range(count):
        turns: list[Turn] = []
        left = size
        while left > 0:
            known: dict[str, str] = {}  # a name is the same all through a conversation
            for pair in chance.choice(talks):
                prompt, reply = (
                    _VARIED.sub(lambda found, known=known: other(known, found[0]), one)  # type: ignore[misc]
                    for one in pair
                )
                answer = text(max(1200, 2 * len(reply)))  # a third of a transcript is what was said
                turns.append(Turn(prompt, f"{reply}\n```\n{text(400)}\n```", f"make {text(100)}", answer))
                left -= len(prompt) + len(reply) + len(answer) + 400 + 100 + 900  # and what each tool writes around it
        if number == count // 2:
            turns.append(Turn(f"The word of the day is {RARE}.", "Noted."))
        name = f"{number:08x}-0000-4000-8000-{number:012x}"
        WRITERS[number % len(WRITERS)](home, name, f"{home}/work/project{number % 20}", turns)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transcripts", type=int, default=1000)
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--like", type=Path, nargs="+", default=[EVERYDAY], help="files of the conversations to vary")
    parser.add_argument(
        "--consolidate", action="store_true", help="consolidate all of them, too, and embed what is left"
    )
    parser.add_argument("--keep", type=Path, help="leave the home in this folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = asked.keep or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        talks = [talk for path in asked.like for talk in said_in(path)]
        write_home(home, asked.transcripts, int(asked.megabytes * 1e6 / asked.transcripts), talks)
        total = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        bench = Bench(home, 1)
        bench.environ["PYTHONPATH"] = str(ROOT)
        mem = [PYTHON, "-m", "memcli"]

        def run(what: str, *words: str) -> None:
            used = bench.cost([*mem, *words, "--scope", "user"])
            seconds, core = used.elapsed / 1000, used.processor / 1000
            print(f"  {what:28} {seconds:6.2f} s, {core:6.2f} s of one core, {used.peak:4.0f} MB")

        bench.cost([*mem, "init", str(home / ".local/share/mem")])
        print(f"{asked.transcripts:,} transcripts of four tools, {total / 1e6:.1f} MB")
        find = ("search", RARE, "--kind", "session", "--mode", "keyword")
        run("import", "session", "import", "--all")
        run("first keyword search", *find)
        run("import again, nothing new", "session", "import", "--all")
        run("second keyword search", *find)
        if asked.consolidate:
            run("consolidate by rules", "consolidate", "--all")
