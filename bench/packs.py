"""Measure what of a pack is worth its place: `recall` on turns whose memories are known, at several cutoffs.

Usage: python -m bench packs DATA [--write]. Below DATA lie `gate-turns.jsonl` and folders of corpus.jsonl,
queries.jsonl and qrels.tsv. A turn counts where the gate lets it through. `--write` puts the table into results/.
"""

import argparse
import tempfile
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from bench import measures
from bench.retrieval.sets import collection
from bench.workspaces import fresh
from memcli.index.index import ask
from memcli.recall.pack import RELEVANT
from memcli.recall.recall import gather, select_pack
from memcli.recall.request import RecallRequest
from memcli.store.workspace import Workspace

CUTOFFS = (0.0, 0.4, 0.5, 0.6)
FOLDERS = {
    "pages of a notebook": ("gbrain-pages",),
    "files of an agent": ("openclaw_bm-medium",),
    "LoCoMo's observations": ("locomo-obs/conv-26", "locomo-obs/conv-30", "locomo-obs/conv-41"),
    "MADial's dialogues": ("madial-dialogue",),
}


class Asked(NamedTuple):
    """A turn and the names of the memories that are right for it."""

    text: str
    right: frozenset[str]

    @property
    def half(self) -> str:
        """Give the half it belongs to, by what it says."""
        return ("first", "second")[blake2b(self.text.encode()).digest()[0] % 2]


class Shown(NamedTuple):
    """What packs showed: memories, how many of those were right, the share of the right ones, and turns."""

    memories: float = 0
    right: float = 0
    share: float = 0
    turns: float = 0

    def plus(self, other: "Shown") -> "Shown":
        """Add up two halves or sets."""
        return Shown(*(one + two for one, two in zip(self, other, strict=True)))


def main() -> None:
    """Measure every set, print the table and keep it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path)
    options.add_argument("--write", action="store_true", help="keep the table in results/")
    told = options.parse_args()
    found: dict[tuple[str, str], list[Shown]] = {}
    for name, memories, turns in sets(told.data):
        with tempfile.TemporaryDirectory() as place:
            workspace, ids = filled(Path(place), memories)
            for turn in turns:
                key = (name, turn.half)
                shown = measured(workspace, ids, turn)
                before = found.get(key, [Shown()] * len(CUTOFFS))
                found[key] = [one.plus(two) for one, two in zip(before, shown, strict=True)]
    text = table(found)
    measures.show("packs", text, write=told.write)


def sets(data: Path) -> list[tuple[str, dict[str, str], list[Asked]]]:
    """Read the sets: memories by name, and turns that should get some of them."""
    rows = measures.rows(data / "gate-turns.jsonl")
    pages = {page["text"]: page["id"] for row in rows for page in row["pages"]}
    memories = {f"{name}+{number}": text for number, (text, name) in enumerate(pages.items())}
    wanted = [row for row in rows if row["should_retrieve"]]
    turns = []
    for row in wanted:
        right = {*row["gold"], *row["acceptable"]}
        turns.append(Asked(row["turn"], frozenset(one for one in memories if one.partition("+")[0] in right)))
    found = [("turns of a conversation", memories, turns)]
    for name, folders in FOLDERS.items():
        found += [(name, *read(data / folder)) for folder in folders]
    return found


def read(folder: Path) -> tuple[dict[str, str], list[Asked]]:
    """Read a set as retrieval benchmarks keep it."""
    found = collection(folder.parent.name, folder)
    rights = [frozenset(name for name, grade in one.grades.items() if grade > 0) for one in found.queries]
    turns = [Asked(one.text, right) for one, right in zip(found.queries, rights, strict=True) if right]
    return {one["id"]: one["text"] for one in found.documents}, turns


def filled(root: Path, memories: dict[str, str]) -> tuple[Workspace, dict[str, str]]:
    """Make a workspace of memories; give the name of each by its path."""
    workspace = fresh(root)
    names = {f"entries/{number:05}.md": name for number, name in enumerate(memories)}
    for path, name in names.items():
        (root / path).write_text(memories[name], encoding="utf-8")
    ask(workspace, lambda index: (index.refresh(), index.embedding.embed_missing(None)))
    return workspace, names


def measured(workspace: Workspace, names: dict[str, str], turn: Asked) -> list[Shown]:
    """Recall for a turn and count what is shown with each cutoff."""
    request = RecallRequest(turn.text, gate=True, sections=(RELEVANT,))
    found = gather([workspace], request)
    counted = []
    for cutoff in CUTOFFS:
        settings = replace(workspace.settings, values={**workspace.settings.values, "recall.cutoff": cutoff})
        pack, _ = select_pack(settings, request, found)
        right = {names[memory.path] for memory in pack.chosen} & turn.right
        most = min(len(turn.right), settings["recall.limit.semantic"])
        counted.append(Shown(len(pack.chosen), len(right), len(right) / most, 1) if pack.chosen else Shown())
    return counted


def table(found: dict[tuple[str, str], list[Shown]]) -> str:
    """Write a row for each set and half, and one for all of a half."""
    heads = " | ".join("no cutoff" if cutoff == 0 else f"{cutoff}" for cutoff in CUTOFFS)
    lines = [f"| turns | half | of them | {heads} |", f"|---|---|---|{'---|' * len(CUTOFFS)}"]
    every: dict[str, list[Shown]] = {}
    for (name, half), shown in sorted(found.items(), key=lambda one: (list(found).index(one[0]), one[0])):
        lines.append(line(name, half, shown))
        before = every.get(half, [Shown()] * len(CUTOFFS))
        every[half] = [one.plus(two) for one, two in zip(before, shown, strict=True)]
    lines += [line("all", half, shown) for half, shown in sorted(every.items())]
    return "\n".join(lines) + "\n"


def line(name: str, half: str, shown: list[Shown]) -> str:
    """Write memories a turn, share of them that are right, and share of the right ones that are there."""
    cells = []
    for one in shown:
        turns = max(one.turns, 1)
        cells.append(f"{one.memories / turns:.1f}: {one.right / max(one.memories, 1):.2f}, {one.share / turns:.2f}")
    return f"| {name} | {half} | {shown[0].turns:.0f} | {' | '.join(cells)} |"
