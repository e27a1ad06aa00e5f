"""What becomes of the second text of a labelled pair: merged, superseded, flagged or kept.

Each pair has a workspace of its own. What is right is told by the labels.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.beliefs.workspace import Workspace, is_kept

AGAINST = ("update", "conflict")
ACTIONS = ("merged", "superseded", "flagged", "kept")
PAIRS = (
    "| pairs | | same: merged, merged or flagged | updates, conflicts: merged | superseded or flagged"
    " | distinct: touched | superseded wrongly | texts lost |"
)
GERMAN = re.compile(r"(?i)[äöüß]|\b(der|die|das|und|ist|nicht|wird|den|ein|eine|im|zum|mit|hat|bei|jetzt|auf)\b")


@dataclass(frozen=True)
class Judged:
    """A pair and what became of it."""

    label: str
    old: str
    new: str
    action: str
    lost: int  # texts that stand in no file

    @property
    def is_wrong(self) -> bool:
        """Tell whether it should have become something else."""
        return self.badness > 0

    @property
    def badness(self) -> int:
        """Give how bad an error it is: a fact hidden, a false confirmation, a false flag, a miss."""
        if self.lost or (self.action == "superseded" and self.label not in AGAINST):
            return 4
        if self.action == "merged" and self.label != "same":
            return 3
        if self.action == "flagged" and self.label == "distinct":
            return 2
        return int(self.action == "kept" and self.label != "distinct")


def judged_pairs(path: Path) -> list[Judged]:
    """Write the old and the new text of every pair into a workspace of its own."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or line.count("\t") < 2:
            continue
        label, old, new = line.split("\t")[:3]
        with tempfile.TemporaryDirectory() as folder:
            workspace = Workspace(Path(folder) / "memory")
            workspace.write(old)
            action = action_of(workspace.write(new))
            entries = workspace.entries()
        found.append(Judged(label, old, new, action, sum(not is_kept(entries, text) for text in (old, new))))
    return found


def action_of(answer: dict[str, Any]) -> str:
    """Tell what a write did."""
    if answer["action"] != "created":
        return "merged"
    return "superseded" if answer.get("supersedes") else "flagged" if answer.get("conflicts_with") else "kept"


def language(pair: Judged) -> str:
    """Tell the language of a pair, roughly."""
    text = f"{pair.old} {pair.new}"
    if re.search(r"[\u3040-\u30ff]", text):
        return "Japanese"
    if re.search(r"[\u4e00-\u9fff]", text):
        return "Chinese"
    return "German" if len(GERMAN.findall(text)) > 1 else "English and others"


def pair_rows(name: str, pairs: Sequence[Judged]) -> Iterator[str]:
    """Give a row for all pairs and one for each language."""
    languages = [one for one, count in Counter(map(language, pairs)).most_common() if count > 9]
    groups = [(name, list(pairs))]
    groups += [(f"{name}, {one}", [pair for pair in pairs if language(pair) == one]) for one in languages]
    for title, rows in groups:
        same = [pair for pair in rows if pair.label == "same"]
        against = [pair for pair in rows if pair.label in AGAINST]
        others = [pair for pair in rows if pair.label == "distinct"]
        cells = [
            f"{share(same, 'merged')}, {share(same, 'merged', 'flagged')}",
            share(against, "merged"),
            share(against, "superseded", "flagged"),
            share(others, "merged", "superseded", "flagged"),
            str(sum(pair.action == "superseded" and pair.label not in AGAINST for pair in rows)),
            str(sum(pair.lost for pair in rows)),
        ]
        yield f"| {title} | {len(rows)} | {' | '.join(cells)} |"


def share(pairs: Sequence[Judged], *actions: str) -> str:
    """Give the share of pairs that became one of some things."""
    count = sum(pair.action in actions for pair in pairs)
    return f"{count / len(pairs):.2f} ({count} of {len(pairs)})" if pairs else "–"


def confusion(pairs: Sequence[Judged]) -> list[str]:
    """Give the table of labels against what became of them."""
    counts = Counter((pair.label, pair.action) for pair in pairs)
    lines = [f"| | {' | '.join(ACTIONS)} |", f"|---|{'---|' * len(ACTIONS)}"]
    rows = {label: [str(counts[label, action]) for action in ACTIONS] for label in ("same", *AGAINST, "distinct")}
    return [*lines, *(f"| {label} | {' | '.join(cells)} |" for label, cells in rows.items())]


def worst(pairs: Sequence[Judged], count: int = 20) -> None:
    """Print the worst errors."""
    for pair in sorted((pair for pair in pairs if pair.is_wrong), key=lambda pair: -pair.badness)[:count]:
        print(f"{pair.label} → {pair.action}: {pair.old} | {pair.new}")
