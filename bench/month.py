"""Play a month of 44 conversations through the command line, and compare memory with the truth.

    python -m bench.month [--show]

The person works in three repositories. One has a memory of its own; the others share the person's. Every conversation is
recorded, ended and consolidated at its own time, without a language model. Each night `mem tend`
runs, which also finds the two conversations that never ended.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
# Built here, because servers refuse files that contain a token.
TOKEN = "ghp_" + "q7Zt2LwVx94RbKe1NfYs8UhDm3JcPo6GaTi5"
UNFINISHED = ("s17", "s36")
SHOWN = 6  # memories that an answer may consist of


class Player:
    """Runs `mem` in the home of one person."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = ""

    def run(self, project: str, *words: str, stdin: str = "") -> str:
        """Run a command in a project, and return its output."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "PYTHONPATH": str(Path(__file__).parent.parent),
            "MEM_NOW": self.now,
            "MEM_TIMEZONE": "UTC",
        }
        done = subprocess.run(
            [sys.executable, "-m", "memcli", *words],
            cwd=self.folder / project,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            print(f"mem {' '.join(words)}: exit {done.returncode}: {done.stderr}", file=sys.stderr)
        return done.stdout


def play(player: Player) -> None:
    """Hold all conversations, each at its time."""
    lines = (DATA / "month.jsonl").read_text().replace("ghp_TOKEN", TOKEN).splitlines()
    sessions = [json.loads(line) for line in lines]
    player.now = "2026-11-02T09:00:00Z"
    player.run("harbor", "init", "--private")
    night = datetime(2026, 11, 3, 3, tzinfo=UTC)
    for session in sorted(sessions, key=lambda item: item["messages"][-1]["timestamp"]):
        last = datetime.fromisoformat(session["messages"][-1]["timestamp"])
        while night < last:
            player.now = night.isoformat()
            tend(player)
            night += timedelta(days=1)
        player.now = (last + timedelta(minutes=1)).isoformat()
        project, name = session["project"], session["session"]
        events = "".join(json.dumps(message) + "\n" for message in session["messages"])
        player.run(project, "session", "append", name, "-", stdin=events)
        if name not in UNFINISHED:
            player.run(project, "session", "end", name)
            player.run(project, "consolidate", name)
    player.now = "2026-12-01T03:00:00Z"
    tend(player)
    player.now = "2026-12-01T09:00:00Z"


def tend(player: Player) -> None:
    player.run("harbor", "tend")
    player.run("quill", "tend")


def has_words(text: str, words: Sequence[str]) -> bool:
    folded = text.replace(TOKEN, "ghp_TOKEN").casefold()
    return all(word.casefold() in folded for word in words)


def count_matches(items: Sequence[dict[str, Any]], texts: Sequence[str]) -> int:
    return sum(any(has_words(text, item["words"]) for text in texts) for item in items)


def measure(player: Player) -> None:
    gold = json.loads((DATA / "month-gold.json").read_text())
    listing = player.run("harbor", "ls", "--json", "-n", "1000", "--scope", "all")
    entries = json.loads(listing)["entries"]
    texts = [entry["text"] for entry in entries if entry["type"] not in ("episode", "summary")]
    known = [*gold["keep"], *gold["either"]]
    said = [item for item in gold["keep"] if item["said_by"] == "user"]
    extra = [text for text in texts if not any(has_words(text, item["words"]) for item in known)]
    outdated = [
        item
        for item in gold["outdated"]
        for text in texts
        if has_words(text, item["words"]) and not has_words(text, item["replaced_by"])
    ]
    history = "".join(path.read_text() for path in sorted(player.folder.rglob("HISTORY-*.md")))
    files = [path for path in player.folder.rglob("*") if path.is_file()]
    everything = b"".join(path.read_bytes() for path in files).decode("utf-8", "replace")
    print(f"stored memories: {len(texts)}")
    print(f"  of what the person said and is worth it: {count_matches(said, texts)} of {len(said)}")
    print(
        f"  in memories or history: {count_matches(gold['keep'], [*texts, history])} of {len(gold['keep'])}"
    )
    print(f"  neither worth it nor allowed: {len(extra)}")
    print(f"  outdated and still active: {len(outdated)} of {len(gold['outdated'])}")
    print(f"  forgotten and still active: {count_matches(gold['forgotten'], texts)} of 4")
    print(
        f"  questions, session-only wishes, quotes, secrets: {count_matches(gold['never'], texts)} of 19"
    )
    print(f"secret on disk: {TOKEN in everything}")
    answered = 0
    for item in gold["questions"]:
        pack = player.run(item["project"], "recall", item["prompt"], "--format", "block")
        answered += has_words(pack, item["words"])
    print(f"questions whose answer recall shows: {answered} of {len(gold['questions'])}")
    for project in ("harbor", "quill", "atlas"):
        start = player.run(project, "context")
        foreign = [text for text in find_foreign_rules(entries, project) if text in start]
        size = len(start.encode()) // 4
        print(f"start of {project}: {size} tokens; rules of other projects in it: {len(foreign)}")


def find_foreign_rules(entries: Sequence[dict[str, Any]], project: str) -> list[str]:
    return [entry["text"] for entry in entries if entry["project"] not in ("", project)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the files at the end")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for project in ("harbor", "quill", "atlas"):
            subprocess.run(["git", "init", "-q", folder / project], check=True)
        (folder / "home").mkdir()
        player = Player(folder)
        play(player)
        measure(player)
        if options.show:
            for path in (*sorted(folder.rglob("MEMORY.md")), *sorted(folder.rglob("HISTORY-*.md"))):
                print(f"\n===== {path.relative_to(folder)}\n{path.read_text()}")
            for project in ("harbor", "quill", "atlas"):
                print(f"\n===== start of {project}\n{player.run(project, 'context')}")
            for entry in json.loads(
                player.run(
                    "harbor", "ls", "--json", "-n", "999", "--status", "all", "--scope", "all"
                )
            )["entries"]:
                print(entry["status"], entry["type"], entry["project"], entry["text"], sep=" | ")


if __name__ == "__main__":
    main()
