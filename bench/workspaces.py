"""Workspaces of any size for the benchmarks: made-up memories, the same for the same seed.

Most are of one to three sentences and a few of a page, a sixth is not English, one in twelve took the place of an
earlier one, and there is a record of every day in the history.
"""

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memcli.formats.entry import TYPES, Entry, entry_fields
from memcli.formats.frontmatter.document import render
from memcli.formats.history import render as render_record
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
ABROAD = (
    "Der Bäcker in Porto stellt die Rechnung über {n} Euro auf Papier um",
    "Das Team für die Auslieferung hat den nächtlichen Lauf auf Port {n} verlegt",
    "La reunión del equipo es en la sala {n} porque la otra está en obras",
    "Le serveur de recette écoute sur le port {n} depuis la panne de mai",
    "ステージング環境のデータベースはポート{n}で動いている",
)
SENTENCES = (1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 6, 6, 25)
"""How many a memory has, each as likely as the others."""


def fresh(root: Path) -> Workspace:
    """Make an empty workspace that is opened now, with the environment of this process."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "mem.yaml").touch()
    (root / "entries").mkdir()
    return opened(Surroundings(root, os.environ, datetime.now(UTC)), root)


def sentence(random_: random.Random) -> str:
    """Make one plausible sentence."""
    if random_.randrange(6) == 0:
        return f"{random_.choice(ABROAD).format(n=random_.randrange(2, 9999))}."
    why = random_.choice(WHY).format(n=random_.randrange(2, 9999))
    words = f"{random_.choice(WHO)} {random_.choice(DOES)} {random_.choice(WHAT)} {why}"
    return words[0].upper() + words[1:] + "."


def make(root: Path, count: int, seed: int = 1) -> list[str]:
    """Fill a folder with entries as `mem write` makes them; give their ids."""
    random_ = random.Random(seed)
    root.mkdir(parents=True, exist_ok=True)
    (root / "mem.yaml").write_text("# bench\n", encoding="utf-8")
    (root / "MEMORY.md").write_text("# Memory\n\nA bench workspace.\n", encoding="utf-8")
    ids: list[str] = []
    days: dict[str, str] = {}
    start = datetime(2025, 12, 1, tzinfo=UTC)
    for number in range(count):
        moment = start + timedelta(minutes=number * 50 % 500_000, seconds=number % 60)
        body = " ".join(sentence(random_) for _ in range(random_.choice(SENTENCES)))
        identifier = new_id("mem", moment, random_.randbytes(8))
        is_earlier = number % 12 == 0 and number + 1 < count
        entry = Entry(
            id=identifier,
            body=body,
            type=random_.choice(TYPES[:8]),
            tags=tuple(random_.sample(("ops", "ui", "home", "travel", "db", "ci"), 2)),
            created_at=stamp(moment),
            updated_at=stamp(moment),
            source="user",
            trust=1.0,
            key=f"slot/{number // 12}" if number % 12 < 2 else "",
            status="superseded" if is_earlier else "active",
            superseded_at=stamp(moment + timedelta(minutes=50)) if is_earlier else "",
        )
        folder = root / "entries" / f"{moment:%Y-%m}"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{slug(first_line(body))}-{tail(identifier)}.md"
        (folder / name).write_text(render(entry_fields(entry), body), encoding="utf-8")
        ids.append(identifier)
        days.setdefault(f"{moment:%Y-%m-%d}", first_line(body))
    for day, text in days.items():
        moment = datetime.fromisoformat(f"{day}T18:00:00+00:00")
        with open(root / f"HISTORY-{day[:7]}.md", "a", encoding="utf-8") as history:
            history.write(f"{render_record(new_id('hist', moment, random_.randbytes(8)), moment, text, UTC)}\n")
    return ids
