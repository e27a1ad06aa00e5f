"""Clones that meet in a random order end with the same memories. MEM_LONG=1 runs 300 exchanges."""

import os
import sys
from pathlib import Path

import pytest

from tests.clones.clones import Clones

ROUNDS, PULLS = (200, 300) if os.environ.get("MEM_LONG") else (16, 20)
SEEDS = [int(seed) for seed in os.environ.get("MEM_SEEDS", "1").split()]
BY_HAND = float(os.environ.get("MEM_BY_HAND", "0.2"))  # share of plain git
MOST_CONFLICTS = 2


@pytest.mark.parametrize("seed", SEEDS)
def test_clones_lose_nothing_and_bring_nothing_back(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Clones(tmp_path / "clones", seed, by_hand=BY_HAND).run(ROUNDS, PULLS)
    if os.environ.get("MEM_LONG"):
        with capsys.disabled():
            questions = f"questions: {table.questions}, conflicts: {table.conflicts}"
            sys.stdout.write(f"\nseed {seed}: {dict(table.counts)}\n{questions}\n")
    assert (table.lost, table.doubled, table.returned, table.different) == ([], [], [], [])
    assert len(table.questions) + len(table.conflicts) <= MOST_CONFLICTS
