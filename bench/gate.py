"""Measure which turns of a conversation get memories: the gate of `recall`, over the turns of a data folder.

Prompts of strangers, in four languages, go through `mem recall --gate`: half of them need a memory they do not ask
for, half need none (`bench/data/strangers`, the first author's were in sight when the gate was chosen).

Usage: python -m bench gate DATA [--write]. DATA is `gate-turns.jsonl` or its folder: {turn, pages, should_retrieve} a
line. Pages of all turns are one workspace, since a memory is never that of one conversation alone. `--write` puts the
curve into results/.
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench import measures, truth
from bench.workspaces import fresh
from memcli.index.filters import Filter
from memcli.index.index import Index, ask
from memcli.search.index_search import SearchRequest, search_index
from memcli.search.query import asks_memory, thresholds
from memcli.store.workspace import Workspace

STRANGERS = Path(__file__).parent / "data" / "strangers"
STEPS = [round(0.05 + 0.025 * step, 3) for step in range(15)]


class Turn(NamedTuple):
    """A turn, whether it should get memories, and the relevance of the best one."""

    text: str
    should: bool
    relevance: float


def main() -> None:
    """Build the workspace, ask it every turn, print the curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    told = parser.parse_args()
    file = told.data / "gate-turns.jsonl" if told.data.is_dir() else told.data
    rows = measures.rows(file)
    with tempfile.TemporaryDirectory() as place:
        workspace = build(rows, Path(place))
        by_mode = {mode: ask(workspace, partial(asked, rows, mode)) for mode in ("hybrid", "keyword")}
    table = "\n".join(
        [f"{len(rows)} turns, {sum(row['should_retrieve'] for row in rows)} of which should.", "", *curve(by_mode)]
    )
    table += "\n".join(["", "", *of_strangers()])
    measures.show("gate", table, write=told.write)


def of_strangers() -> list[str]:
    """Return a table of the prompts of each author: of those that need a memory, how many get it, and of the others."""
    lines = ["| author | need it: get it | found, ungated | need none: get some |", "|---|---|---|---|"]
    for author in ("first", "second"):
        given, found, noisy = recalled(STRANGERS / author)
        lines.append(f"| {author} | {given:.2f} | {found:.2f} | {noisy:.2f} |")
    return lines


def recalled(folder: Path) -> tuple[float, float, float]:
    """Write the memories of an author and recall their prompts; return the three shares."""
    prompts = measures.rows(folder / "gate-prompts.jsonl")
    with truth.workspace():
        memories = measures.rows(folder / "gate-memories.jsonl")
        ids = {row["id"]: truth.mem("write", "--no-dedup", "--", row["text"])["id"] for row in memories}
        truth.mem("index")
        packs = [
            [
                [memory["id"] for memory in truth.mem("recall", *gate, "--", row["prompt"])["chosen"]]
                for gate in (("--gate",), ())
            ]
            for row in prompts
        ]
    need = [
        [ids[row["needs"]] in pack for pack in both] for row, both in zip(prompts, packs, strict=True) if row["needs"]
    ]
    none = [bool(both[0]) for row, both in zip(prompts, packs, strict=True) if not row["needs"]]
    given, found = zip(*need, strict=True)
    return measures.mean(given), measures.mean(found), measures.mean(none)


def build(rows: list[dict[str, object]], root: Path) -> Workspace:
    """Write every page of every turn once."""
    workspace = fresh(root)
    pages = {page["text"]: page["id"] for row in rows for page in row["pages"]}  # type: ignore[attr-defined]
    for number, (text, name) in enumerate(pages.items()):
        (root / "entries" / f"{name.replace('/', '-')}-{number}.md").write_text(text, encoding="utf-8")
    return workspace


def asked(rows: list[dict[str, object]], mode: str, index: Index) -> tuple[list[Turn], str]:
    """Search for every turn; give the model's name too."""
    index.refresh()
    model = ""
    if mode == "hybrid":
        index.embedding.embed_missing(None)
    turns = []
    for row in rows:
        text = str(row["turn"])
        found = search_index(index, SearchRequest(text, 1, Filter(kinds=("entry",)), mode))
        model = found.model or model
        turns.append(Turn(text, bool(row["should_retrieve"]), found.hits[0].relevance if found.hits else 0.0))
    return turns, model


def curve(by_mode: dict[str, tuple[list[Turn], str]]) -> list[str]:
    """Give for each threshold the share of turns it fires for, of those that should and of the others."""
    lines = ["| threshold | hybrid: should | others | by words: should | others |", "|---|---|---|---|---|"]
    for step in STEPS:
        cells = [f"{share:.2f}" for turns, _ in by_mode.values() for share in fired(turns, step)]
        lines.append(f"| {step:.3f} | " + " | ".join(cells) + " |")
    cells = [f"**{share:.2f}**" for turns, model in by_mode.values() for share in fired(turns, thresholds(model).gate)]
    chosen = " and ".join(f"{thresholds(model).gate:.2f}" for _, model in by_mode.values())
    return [*lines, f"| chosen: {chosen} | " + " | ".join(cells) + " |"]


def fired(turns: list[Turn], threshold: float) -> tuple[float, float]:
    """Give the two shares at a threshold."""

    def share(should: bool) -> float:
        of = [turn for turn in turns if turn.should == should]
        return sum(asks_memory(turn.text, turn.relevance, threshold) for turn in of) / len(of)

    return share(True), share(False)
