"""Three clones that change memory at random and meet end with the same, and a person settles true clashes alone.

`make soak` runs it long, with the table that docs/reliability.md shows.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.machines import write_config
from tests.three_clones import Clones

ROUNDS, PULLS = (200, 300) if os.environ.get("SOAK") else (50, 60)
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "1 2" if os.environ.get("SOAK") else "1").split()]
MOST_CLASHES = 3
"""In 300 exchanges; by plain git there were 40."""


@pytest.mark.parametrize("seed", SEEDS)
def test_three_clones_end_with_the_same_memories(
    seed: int, tmp_path: Path, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_config(Path(os.environ["HOME"]))
    clones = Clones(tmp_path / "work", seed)
    table = clones.run(ROUNDS, PULLS)
    if os.environ.get("SOAK"):
        with capsys.disabled():
            sys.stdout.write("\n".join([f"\nseed {seed}", str(table), *table.clashes, *table.problems, ""]))
    assert not table.false
    assert len(table.clashes) <= MOST_CLASHES
    assert (table.lost, table.doubled, table.archived, table.different, table.problems) == ([], [], [], [], [])
    assert min(table.counts[kind] for kind in ("write", "edit", "forget", "note", "history", "confirm", "syncs")) > 2
