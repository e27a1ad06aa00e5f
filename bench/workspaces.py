"""Workspaces of any size for the benchmarks: made-up memories, the same for the same seed."""

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memcli.formats.entry import TYPES, Entry, entry_fields
from memcli.formats.frontmatter.document import render
from memcli.formats.ids import new_id, slug, stamp, tail
from memcli.formats.text_lines import first_line
from memcli.store.workspace import Surroundings, Workspace, opened

WHO = (
    "the user", "Ana", "the release team", "the on-call engineer", "the customer in Porto", "the new intern",
    "Tomás",
)  # fmt: skip
DOES = (
    "prefers", "moved", "deployed", "renamed", "forgot", "measured", "rewrote", "asked about", "cancelled",
    "approved",
)  # fmt: skip
WHAT = (
    "the invoice export", "the staging database", "a dark editor theme", "the nightly backup", "the Kyoto trip",
    "the login form", "unit tests for the parser", "the heat pump firmware", "the marathon plan",
    "the photo pipeline",
)  # fmt: skip
WHY = (
    "because the old one timed out after {n} seconds",
    "with port {n} and the new certificate",
    "after {n} failed attempts in CI",
    "for the meeting on the {n}th floor",
    "so that {n} rows load in one page",
    "and wrote down error E{n} for later",
)


def fresh(root: Path) -> Workspace:
    """Make an empty workspace that is opened now, with the environment of this process."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "mem.yaml").touch()
    (root / "entries").mkdir()
    return opened(Surroundings(root, os.environ, datetime.now(UTC)), root)


def sentence(random_: random.Random) -> str:
    """Make one plausible sentence."""
    why = random_.choice(WHY).format(n=random_.randrange(2, 9999))
    words = f"{random_.choice(WHO)} {random_.choice(DOES)} {random_.choice(WHAT)} {why}"
    return words[0].upper() + words[1:] + "."


def make(root: Path, count: int, seed: int = 1) -> list[str]:
    """Fill a folder with entries as `mem write` makes them; give their ids."""
    random_ = random.Random(seed)
    root.mkdir(parents=True, exist_ok=True)
    (root / "mem.yaml").write_text("# bench\n", encoding="utf-8")
    (root / "MEMORY.md").write_text("# Memory\n\nA bench workspace.\n", encoding="utf-8")
    ids = []
    start = datetime(2025, 12, 1, tzinfo=UTC)
    for number in range(count):
        moment = start + timedelta(minutes=number * 50 % 500_000, seconds=number % 60)
        body = " ".join(sentence(random_) for _ in range(random_.choice((1, 1, 2, 2, 3, 6))))
        identifier = new_id("mem", moment, random_.randbytes(8))
        entry = Entry(
            id=identifier,
            body=body,
            type=random_.choice(TYPES[:8]),
            tags=tuple(random_.sample(("ops", "ui", "home", "travel", "db", "ci"), 2)),
            created_at=stamp(moment),
            updated_at=stamp(moment),
            source="user",
            trust=1.0,
        )
        folder = root / "entries" / f"{moment:%Y-%m}"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{slug(first_line(body))}-{tail(identifier)}.md"
        (folder / name).write_text(render(entry_fields(entry), body), encoding="utf-8")
        ids.append(identifier)
    return ids
